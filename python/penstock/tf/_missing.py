"""Names that are not ours: those of the installed TensorFlow, if it is there."""

from __future__ import annotations

import importlib
from typing import Any


def resolve(path: str, name: str) -> Any:
    """`tf.<path>.<name>` of TensorFlow, or an AttributeError that helps."""
    dotted = f"tf.{path}.{name}" if path else f"tf.{name}"
    if name.startswith("_"):
        # Ours alone: `from penstock.tf import _template` asks for the name first.
        raise AttributeError(f"{dotted} does not exist")
    try:
        found: Any = importlib.import_module("tensorflow")
    except ImportError:
        if dotted in _STAND_INS:
            return importlib.import_module(f"penstock.tf._{name}")
        raise AttributeError(
            f"{dotted} is not part of penstock.tf, and TensorFlow is not installed. "
            f"Install tensorflow, and the name is taken from there; {_advice(dotted)}."
        ) from None
    for part in [*path.split("."), name] if path else [name]:
        try:
            found = getattr(found, part)
        except AttributeError:
            raise AttributeError(
                f"{dotted} is neither in penstock.tf nor in TensorFlow "
                f"{getattr(found, '__version__', '')}".rstrip()
            ) from None
    return found


# What programs set up before their pipeline; real where TensorFlow is installed,
# because there it also runs the model.
_STAND_INS = frozenset(("tf.config", "tf.distribute"))

# What to use for what will not come.
_INSTEAD = {
    "tf.data.experimental.service": "one process per host reads its own `shard`",
    "tf.data.experimental.distributed_save": "`Dataset.save` writes from one process",
    **dict.fromkeys(
        (
            "tf.data.experimental.make_saveable_from_iterator",
            "tf.train.Checkpoint",
            "tf.train.CheckpointManager",
        ),
        "`it.state_dict()` and `it.load_state_dict(state)` keep where an iterator is",
    ),
    "tf.keras": "models are Keras's own: give them the arrays of the pipeline",
    "tf.Variable": "keep state in `Dataset.scan`, or in Python",
    "tf.py_func": "use tf.py_function",
}


def _advice(dotted: str) -> str:
    for name, instead in _INSTEAD.items():
        if dotted == name or dotted.startswith(f"{name}."):
            return f"or: {instead}"
    return "or compute it with NumPy in a function of map(), which runs as Python"
