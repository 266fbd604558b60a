"""`tf.sparse`: what parsed Examples need.

>>> import penstock.tf as tf
>>> s = tf.sparse.from_dense([[0, 7]])
>>> s.indices.numpy().tolist(), tf.sparse.to_dense(s).numpy().tolist()
([[0, 1]], [[0, 7]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import DataLossError
from penstock.tf import _missing
from penstock.tf._apply import traceable
from penstock.tf._parsed import Listed
from penstock.tf._ragged import SparseTensor
from penstock.tf._shapes import TensorShape
from penstock.tf._values import convert_to_tensor, wrap


@traceable
def to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """A sparse tensor as an array, with a value where it has none."""
    if isinstance(sp_input, Listed):
        return sp_input.dense(default_value)
    if not isinstance(sp_input, SparseTensor):
        return convert_to_tensor(sp_input)
    values = np.asarray(sp_input.values)
    fill = default_value
    if fill is None:
        fill = b"" if values.dtype == object else 0
    elif isinstance(fill, str):
        fill = fill.encode()
    out = np.full([int(d) for d in sp_input.dense_shape], fill, values.dtype)
    if len(values):
        out[tuple(np.asarray(sp_input.indices).T)] = values
    return wrap(out)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """An array as a sparse tensor of what is not zero."""
    array = np.asarray(convert_to_tensor(tensor))
    empty: Any = b"" if array.dtype == object else 0
    places = np.argwhere(array != empty)
    return SparseTensor(places, array[tuple(places.T)], array.shape)


def stack_rows(rows: list[Any], row_shape: tuple[Any, ...]) -> SparseTensor:
    """Dense rows of different shapes as one sparse batch."""
    arrays = [np.asarray(row) for row in rows]
    places, values = [], []
    for i, array in enumerate(arrays):
        if array.ndim != len(row_shape) or any(
            size is not None and n > size for n, size in zip(array.shape, row_shape)
        ):
            raise DataLossError(
                f"sparse_batch: an element of shape {array.shape} does not fit into "
                f"rows of {TensorShape(row_shape)}"
            )
        own = np.argwhere(np.ones(array.shape, bool))
        places.append(np.column_stack([np.full(len(own), i), own]))
        values.append(array.reshape(-1))
    sizes = [
        max((a.shape[axis] for a in arrays), default=0) if size is None else size
        for axis, size in enumerate(row_shape)
    ]
    return SparseTensor(
        np.concatenate(places), np.concatenate(values), [len(rows), *sizes]
    )


def __getattr__(name: str) -> Any:
    return _missing.resolve("sparse", name)


__all__ = ["SparseTensor", "from_dense", "to_dense"]
