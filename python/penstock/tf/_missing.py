"""Names that are not ours: those of the installed TensorFlow, if it is there."""

from __future__ import annotations

import difflib
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
            f"Install tensorflow, and the name is taken from there; "
            f"{_advice(path, name, dotted)}."
        ) from None
    for part in [*path.split("."), name] if path else [name]:
        try:
            found = getattr(found, part)
        except AttributeError:
            raise AttributeError(
                f"{dotted} is neither in penstock.tf nor in TensorFlow"
                f"{_question(_meant(path, name))}"
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
    **dict.fromkeys(
        (
            "tf.keras",
            "tf.GradientTape",
            "tf.Module",
            "tf.estimator",
            "tf.initializers",
            "tf.lite",
            "tf.losses",
            "tf.metrics",
            "tf.optimizers",
            "tf.saved_model",
            "tf.tpu",
            "tf.xla",
        ),
        "models are a library's of their own: give it the arrays of the pipeline",
    ),
    **dict.fromkeys(
        ("tf.profiler", "tf.summary"),
        "`penstock.doctor(ds)` and `penstock.trace(path)` show what a pipeline does",
    ),
    **dict.fromkeys(
        (
            "tf.Session",
            "tf.placeholder",
            "tf.compat.v1.Session",
            "tf.compat.v1.placeholder",
            "tf.compat.v1.global_variables_initializer",
            "tf.compat.v1.get_default_graph",
        ),
        "nothing needs a session here: iterate over the dataset",
    ),
    "tf.Variable": "keep state in `Dataset.scan`, or in Python",
    "tf.load_op_library": "`penstock.load_op_library` takes operations of your own",
    "tf.types": "annotate with tf.Tensor",
    "tf.test": "compare `.numpy()` of values with NumPy's own tests",
    "tf.py_func": "use tf.py_function",
    "tf.to_float": "use tf.cast(x, tf.float32)",
    "tf.to_int32": "use tf.cast(x, tf.int32)",
    "tf.to_int64": "use tf.cast(x, tf.int64)",
    "tf.python_io": "use tf.io.TFRecordWriter, and tf.data.TFRecordDataset to read",
}

# Where a name of TensorFlow 1 may be now.
_MODULES = "io", "image", "math", "strings", "random", "nn", "linalg", "sparse", "data"


def _meant(path: str, name: str) -> str | None:
    """A name that we have, and that may have been meant."""
    ours: Any = importlib.import_module("penstock.tf")
    if not path:
        for module in _MODULES:
            # `tf.random_uniform` is `tf.random.uniform` now, `tf.log` `tf.math.log`.
            for short in (name, name.removeprefix(f"{module.removesuffix('s')}_")):
                found = vars(getattr(ours, module)).get(short)
                if str(getattr(found, "__module__", "")).startswith("penstock"):
                    return f"tf.{module}.{short}"
    for part in path.split(".") if path else ():
        ours = getattr(ours, part)
    known = [n for n in vars(ours) if not n.startswith("_")]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    return ".".join(filter(None, ("tf", path, close[0]))) if close else None


def _question(meant: str | None) -> str:
    return "" if meant is None else f"; did you mean {meant}?"


def _advice(path: str, name: str, dotted: str) -> str:
    for known, instead in _INSTEAD.items():
        if dotted == known or dotted.startswith(f"{known}."):
            return f"or: {instead}"
    meant = _meant(path, name)
    if meant is not None:
        return f"or did you mean {meant}"
    return "or compute it with NumPy in a function of map(), which runs as Python"
