"""`tf.ragged`: rows of different length.

>>> import penstock.tf as tf
>>> tf.ragged.constant([[1], [2, 3]]).row_splits.numpy().tolist()
[0, 1, 3]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._ragged import Ragged
from penstock.tf import _missing, _ragged_ops
from penstock.tf._apply import dims
from penstock.tf._dtypes import int64, numpy_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._values import convert_to_tensor, list_dtype, list_to_array, wrap


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """A ragged tensor of nested lists.

    Of them `ragged_rank` levels are ragged, all by default; what is inside has
    one shape.

    >>> import penstock.tf as tf
    >>> tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).shape
    TensorShape([2, None, 2])
    """
    level = list(pylist)
    splits: list[Any] = []
    if inner_shape is not None and ragged_rank is None:
        ragged_rank = _depth(level) - 1 - len(dims(inner_shape))
    while len(splits) != ragged_rank and any(
        isinstance(row, (list, tuple)) for row in level
    ):
        lengths = [len(row) for row in level]
        splits.append(np.cumsum([0, *lengths]).astype(np.int64))
        level = [item for row in level for item in row]
    values = list_to_array(level, None if dtype is None else numpy_dtype(dtype))
    if not splits:
        return wrap(values)
    return RaggedTensor._of(Ragged(values, tuple(splits)))


def _depth(pylist: Any) -> int:
    """How many lists are in each other."""
    if not isinstance(pylist, (list, tuple)):
        return 0
    return 1 + max(map(_depth, pylist), default=0)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Tensors as the rows of a ragged tensor.

    >>> import penstock.tf as tf
    >>> tf.ragged.stack([[1, 2], [3]]).to_list()
    [[1, 2], [3]]
    """
    given = list(values)
    if not given:
        raise ValueError("stack: values must not be empty")
    return _ragged_ops.stack(given, int(axis))


def _of_rows(rows: list[Any], kind: Any) -> RaggedTensor:
    flat = np.concatenate([np.zeros(0, kind), *rows]).astype(kind)
    return RaggedTensor.from_row_lengths(wrap(flat), [len(row) for row in rows])


def range(  # noqa: A001 (TensorFlow's name)
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> RaggedTensor:
    """Rows of numbers in steps.

    >>> import penstock.tf as tf
    >>> tf.ragged.range([0, 3], [2, 5]).to_list()
    [[0, 1], [3, 4]]
    """
    first, last = (0, starts) if limits is None else (starts, limits)
    given = [first, last, deltas]
    kind = list_dtype(given) if dtype is None else numpy_dtype(dtype)
    parts = [np.atleast_1d(convert_to_tensor(v, kind)) for v in given]
    rows = [np.arange(*row, dtype=kind) for row in zip(*np.broadcast_arrays(*parts))]
    return _of_rows(rows, kind)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values where `mask` is true, as rows; with one value for a row, rows.

    >>> import penstock.tf as tf
    >>> rows = tf.ragged.constant([["a", "b"], ["c"]])
    >>> tf.ragged.boolean_mask(rows, [[True, False], [True]]).to_list()
    [[b'a'], [b'c']]
    """
    if not isinstance(mask, RaggedTensor):
        mask = constant(mask, dtype="bool")
    if not isinstance(data, RaggedTensor):
        data = constant(data) if isinstance(data, (list, tuple)) else data
    if not isinstance(mask, RaggedTensor) and np.ndim(mask) == 1:
        chosen = np.flatnonzero(np.asarray(mask))
        if isinstance(data, RaggedTensor):
            return data._rows(chosen)
        return wrap(np.asarray(convert_to_tensor(data))[chosen])
    kept = [boolean_mask(row, own) for row, own in zip(data, mask, strict=True)]
    if any(isinstance(row, RaggedTensor) for row in kept):
        return _ragged_ops.stack(kept, 0)
    kind = data.flat_values.dtype if isinstance(data, RaggedTensor) else data.dtype
    return _of_rows([np.asarray(row) for row in kept], numpy_dtype(kind))


def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """`op` of the values of ragged tensors, in their rows."""
    ragged = [a for a in (*args, *kwargs.values()) if isinstance(a, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)

    def flat(value: Any) -> Any:
        return value.flat_values if isinstance(value, RaggedTensor) else value

    made = op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()})
    return ragged[0].with_flat_values(made)


def row_splits_to_segment_ids(
    splits: Any, name: Any = None, out_type: Any = None
) -> Any:
    """The row of each value."""
    lengths = np.diff(np.asarray(convert_to_tensor(splits)))
    return wrap(np.repeat(np.arange(len(lengths)), lengths).astype(np.int64))


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: Any = None
) -> Any:
    """Where the rows are cut."""
    ids = np.asarray(convert_to_tensor(segment_ids))
    counts = np.bincount(ids, minlength=int(num_segments or 0))
    return wrap(np.cumsum([0, *counts]).astype(np.int64))


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: Any = None
) -> RaggedTensor:
    """The values of each of several groups, as rows."""
    values = np.asarray(convert_to_tensor(data))
    groups = np.asarray(convert_to_tensor(partitions))
    numbers = np.arange(int(num_partitions))
    return _of_rows([values[groups == i] for i in numbers], values.dtype)


def __getattr__(name: str) -> Any:
    return _missing.resolve("ragged", name)


__all__ = [
    "RaggedTensor",
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]
