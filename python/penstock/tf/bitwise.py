"""`tf.bitwise`: the bits of whole numbers.

>>> import penstock.tf as tf
>>> tf.bitwise.bitwise_and([5, 6], 4).numpy()
array([4, 4], dtype=int32)
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing
from penstock.tf.math import _binary, _unary

bitwise_and = _binary("bitwise_and", "bitwise_and", "The bits that both have")
bitwise_or = _binary("bitwise_or", "bitwise_or", "The bits that one or both have")
bitwise_xor = _binary("bitwise_xor", "bitwise_xor", "The bits that only one has")
left_shift = _binary("left_shift", "left_shift", "x, y bits to the left")
right_shift = _binary("right_shift", "right_shift", "x, y bits to the right")
invert = _unary("invert", "invert", "All bits the other way")


def __getattr__(name: str) -> Any:
    return _missing.resolve("bitwise", name)
