"""Names that are not ours: those of the installed TensorFlow, if it is there."""

from __future__ import annotations

import importlib
from typing import Any


def resolve(path: str, name: str) -> Any:
    """`tf.<path>.<name>` of TensorFlow, or an AttributeError that helps."""
    dotted = f"tf.{path}.{name}" if path else f"tf.{name}"
    if name.startswith("__"):
        raise AttributeError(f"{dotted} does not exist")
    try:
        found: Any = importlib.import_module("tensorflow")
    except ImportError:
        raise AttributeError(
            f"{dotted} is not part of penstock.tf, and TensorFlow is not installed. "
            "Install tensorflow, and the name is taken from there; or compute it with "
            "NumPy in a function of map(), which runs as Python."
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
