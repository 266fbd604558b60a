"""`tf.compat.v1.data`: the datasets of `tf.data`, and iterators by function.

>>> import penstock.tf as tf
>>> ds = tf.compat.v1.data.Dataset.range(2)
>>> tf.compat.v1.data.get_output_types(ds)
tf.int64
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing, _structure
from penstock.tf.data import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
    FixedLengthRecordDataset,
    Iterator,
    Options,
    TextLineDataset,
    TFRecordDataset,
    experimental,
)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """``iter(dataset)``."""
    return iter(dataset)


def make_initializable_iterator(dataset: Dataset, shared_name: Any = None) -> Iterator:
    """An error, as where TensorFlow runs eagerly."""
    raise RuntimeError(
        "make_initializable_iterator is not supported when functions run eagerly. Use "
        "`for element in dataset` instead."
    )


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the elements, in their structure."""
    spec = dataset_or_iterator.element_spec
    return _structure.map_structure(lambda leaf: leaf.dtype, spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of the elements, in their structure."""
    spec = dataset_or_iterator.element_spec
    return _structure.map_structure(lambda leaf: leaf.shape, spec)


def __getattr__(name: str) -> Any:
    return _missing.resolve("compat.v1.data", name)


__all__ = [
    "AUTOTUNE",
    "Dataset",
    "FixedLengthRecordDataset",
    "INFINITE_CARDINALITY",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "UNKNOWN_CARDINALITY",
    "experimental",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
