"""TensorFlow's input pipeline on Penstock: change one import line.

    import penstock.tf as tf          # was: import tensorflow as tf

>>> import penstock.tf as tf
>>> ds = tf.data.Dataset.range(6).map(lambda x: tf.cast(x, tf.float32) / 2)
>>> for batch in ds.batch(3):
...     print(batch.numpy())
[0.  0.5 1. ]
[1.5 2.  2.5]

Functions run natively where they can, and as Python otherwise; nothing runs on
an accelerator. A name that is not here is taken from the installed TensorFlow.
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing, errors
from penstock.tf import data as data
from penstock.tf._dtypes import (
    DType,
    as_dtype,
    bfloat16,
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
from penstock.tf._functions import function, numpy_function, py_function
from penstock.tf._shapes import RaggedTensorSpec, TensorShape, TensorSpec
from penstock.tf._values import Tensor, constant, convert_to_tensor, is_tensor

def __getattr__(name: str) -> Any:
    return _missing.resolve("", name)
