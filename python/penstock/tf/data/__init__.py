"""`tf.data`: datasets, readers and options.

>>> import penstock.tf as tf
>>> ds = tf.data.Dataset.range(4).shuffle(4).batch(2)
>>> ds = ds.prefetch(tf.data.AUTOTUNE)
>>> len(list(ds))
2
"""

from __future__ import annotations

from typing import Any

from penstock._options import AUTOTUNE
from penstock._options import INFINITE as INFINITE_CARDINALITY
from penstock._options import UNKNOWN as UNKNOWN_CARDINALITY
from penstock.tf import _missing
from penstock.tf._dataset import Dataset
from penstock.tf._iterator import Iterator, NumpyIterator
from penstock.tf._options import Options, ThreadingOptions
from penstock.tf._readers import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from penstock.tf._shapes import DatasetSpec
from penstock.tf.data import experimental


def __getattr__(name: str) -> Any:
    return _missing.resolve("data", name)


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
