"""`tf.compat`: text and bytes, whichever is wanted.

>>> import penstock.tf as tf
>>> tf.compat.as_bytes("cat"), tf.compat.as_str(b"dog")
(b'cat', 'dog')
"""

from __future__ import annotations

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
    return _missing.resolve("compat", name)
