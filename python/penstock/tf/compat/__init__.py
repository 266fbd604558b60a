"""`tf.compat`: text and bytes, whichever is wanted, and the names of TensorFlow 1.

>>> import penstock.tf as tf
>>> tf.compat.as_bytes("cat"), tf.compat.as_str(b"dog")
(b'cat', 'dog')
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from penstock.tf import _missing


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes."""
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def dimension_value(dimension: Any) -> Any:
    """A dimension of a shape as a number, None where it is not known."""
    return None if dimension is None else int(dimension)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Anything as text."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as text."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def __getattr__(name: str) -> Any:
    # They need all of `penstock.tf`, which imports this module.
    if name == "v1":
        return importlib.import_module("penstock.tf.compat.v1")
    if name == "v2":
        return importlib.import_module("penstock.tf")
    return _missing.resolve("compat", name)
