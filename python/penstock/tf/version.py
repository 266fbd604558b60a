"""`tf.version`: the TensorFlow whose names and meaning these are.

>>> import penstock.tf as tf
>>> tf.version.VERSION == tf.__version__
True
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing

VERSION = "2.21.0"
GIT_VERSION = f"v{VERSION}"


def __getattr__(name: str) -> Any:
    return _missing.resolve("version", name)


__all__ = ["GIT_VERSION", "VERSION"]
