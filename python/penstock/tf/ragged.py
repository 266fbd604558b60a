"""`tf.ragged`: rows of different length.

>>> import penstock.tf as tf
>>> tf.ragged.constant([[1], [2, 3]]).row_splits.numpy().tolist()
[0, 1, 3]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._ragged import Ragged
from penstock.tf import _missing
from penstock.tf._dtypes import numpy_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._values import list_to_array, wrap


def constant(pylist: Any, dtype: Any = None, **more: Any) -> Any:
    """A ragged tensor of nested lists."""
    level = list(pylist)
    splits: list[Any] = []
    while any(isinstance(row, (list, tuple)) for row in level):
        lengths = [len(row) for row in level]
        splits.append(np.cumsum([0, *lengths]).astype(np.int64))
        level = [item for row in level for item in row]
    values = list_to_array(level, None if dtype is None else numpy_dtype(dtype))
    if not splits:
        return wrap(values)
    return RaggedTensor._of(Ragged(values, tuple(splits)))


def stack(values: Any, axis: int = 0, name: str | None = None) -> RaggedTensor:
    """Tensors as the rows of a ragged tensor."""
    rows = [np.asarray(v) for v in values]
    flat = np.concatenate(rows) if rows else np.zeros(0, np.float32)
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return RaggedTensor._of(Ragged(flat, (ends,)))


def __getattr__(name: str) -> Any:
    return _missing.resolve("ragged", name)


__all__ = ["RaggedTensor", "constant", "stack"]
