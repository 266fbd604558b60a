"""`tf.sparse`: what parsed Examples need.

>>> import penstock.tf as tf
>>> s = tf.sparse.from_dense([[0, 7]])
>>> s.indices.numpy().tolist(), tf.sparse.to_dense(s).numpy().tolist()
([[0, 1]], [[0, 7]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import DataLossError, InvalidArgumentError
from penstock.tf import _missing
from penstock.tf._apply import traceable
from penstock.tf._parsed import Listed
from penstock.tf._ragged import RaggedTensor, SparseTensor
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


def stack_elements(elements: list[Any]) -> Any:
    """Elements as one batch: arrays stacked, sparse tensors with one axis more."""
    first = elements[0]
    if isinstance(first, SparseTensor):
        return _stack_sparse(elements)
    if isinstance(first, dict):
        return {k: stack_elements([e[k] for e in elements]) for k in first}
    if isinstance(first, tuple):
        parts = [stack_elements(list(p)) for p in zip(*elements, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    arrays = [np.asarray(e) for e in elements]
    if isinstance(first, bytes):
        arrays = [np.array(bytes(e), object) for e in elements]
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        raise InvalidArgumentError(
            f"Cannot batch tensors with different shapes: {sorted(shapes)}"
        )
    return wrap(np.stack(arrays))


def rows_of(tensors: Any) -> list[Any] | None:
    """The rows of a structure that has sparse or ragged tensors, or None."""
    if isinstance(tensors, SparseTensor):
        places = np.asarray(tensors.indices)
        values, shape = np.asarray(tensors.values), np.asarray(tensors.dense_shape)
        found = []
        for i in range(int(shape[0])):
            own = places[:, 0] == i
            found.append(SparseTensor(places[own][:, 1:], wrap(values[own]), shape[1:]))
        return found
    if isinstance(tensors, RaggedTensor):
        return list(tensors)
    if not isinstance(tensors, (dict, tuple)):
        return None
    parts = list(tensors.values()) if isinstance(tensors, dict) else list(tensors)
    rows = [rows_of(p) for p in parts]
    if all(r is None for r in rows):
        return None
    columns = [
        list(convert_to_tensor(p)) if r is None else r for p, r in zip(parts, rows)
    ]
    if len({len(c) for c in columns}) > 1:
        raise ValueError(
            "from_tensor_slices: the components must have one number of rows, got "
            f"{[len(c) for c in columns]}"
        )
    if isinstance(tensors, dict):
        return [dict(zip(tensors, row)) for row in zip(*columns)]
    if hasattr(tensors, "_fields"):
        return [type(tensors)(*row) for row in zip(*columns)]
    return list(zip(*columns))


def _stack_sparse(rows: list[SparseTensor]) -> SparseTensor:
    ranks = {len(r.dense_shape) for r in rows}
    if len(ranks) > 1:
        raise InvalidArgumentError(
            f"Cannot batch sparse tensors of different ranks: {sorted(ranks)}"
        )
    places = [
        np.column_stack([np.full(len(r.indices), i), np.asarray(r.indices)])
        for i, r in enumerate(rows)
    ]
    sizes = np.max([np.asarray(r.dense_shape) for r in rows], axis=0)
    values = np.concatenate([np.asarray(r.values) for r in rows])
    return SparseTensor(np.concatenate(places), wrap(values), [len(rows), *sizes])


def __getattr__(name: str) -> Any:
    return _missing.resolve("sparse", name)


__all__ = ["SparseTensor", "from_dense", "to_dense"]
