"""`tf.dtypes`: the dtypes, and the functions that change them.

>>> import penstock.tf as tf
>>> tf.dtypes.cast([1.5], tf.dtypes.int32).numpy()
array([1], dtype=int32)
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing
from penstock.tf._dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from penstock.tf._dtypes import bool_ as bool
from penstock.tf._making import cast, saturate_cast
from penstock.tf.math import complex_ as complex

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex128",
    "complex64",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "saturate_cast",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]


def __getattr__(name: str) -> Any:
    return _missing.resolve("dtypes", name)
