"""Functions of `tf` on ragged tensors: reductions and concatenation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._dtypes import as_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._values import wrap


def reduced(
    reduce: Callable[..., Any], rows: RaggedTensor, axis: Any, keepdims: bool
) -> Any:
    """`reduce` over all values, across the rows or within them."""
    if axis is None:
        return reduce(rows.flat_values, None, keepdims)
    if np.ndim(axis) > 0:
        # The last first, so that the others keep their places.
        made: Any = rows
        for one in sorted(_place(reduce.__name__, rows, a) for a in axis)[::-1]:
            made = reduce(made, one, keepdims)
        return made
    place = _place(reduce.__name__, rows, axis)
    if place > 1:
        return rows.with_values(reduce(rows.values, place - 1, keepdims))
    lengths = np.asarray(rows.row_lengths())
    if place == 0:
        columns = np.concatenate([np.arange(n) for n in lengths] or [lengths])
        made = _gathered(reduce, rows.values, columns, int(lengths.max(initial=0)))
        return _rows_of(made, [len(made)]) if keepdims else made
    owners = np.repeat(np.arange(len(lengths)), lengths)
    made = _gathered(reduce, rows.values, owners, len(lengths))
    return _rows_of(made, np.ones(len(lengths), np.int64)) if keepdims else made


# What numbers are folded with, one into the other.
_FOLDS = {
    "reduce_sum": np.add,
    "reduce_prod": np.multiply,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
    "reduce_any": np.logical_or,
    "reduce_all": np.logical_and,
}


def _gathered(
    reduce: Callable[..., Any], values: Any, owners: np.ndarray[Any, Any], count: int
) -> Any:
    """Values of equal owner reduced to one: `count` of them, ragged if values are."""
    if not isinstance(values, RaggedTensor):
        data = np.asarray(values)
        empty = _of_nothing(reduce.__name__, as_dtype(data.dtype))
        out = np.full((count, *data.shape[1:]), empty, data.dtype)
        _FOLDS[reduce.__name__].at(out, owners, data)
        return wrap(out)
    lengths = np.asarray(values.row_lengths())
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, owners, lengths)
    starts = np.cumsum(longest) - longest
    places = [np.arange(n) + starts[o] for o, n in zip(owners, lengths)]
    owned = np.concatenate([np.zeros(0, np.int64), *places])
    made = _gathered(reduce, values.values, owned, int(longest.sum()))
    return _rows_of(made, longest)


def _rows_of(values: Any, lengths: Any) -> RaggedTensor:
    return RaggedTensor.from_row_lengths(values, np.asarray(lengths, np.int64))


def _place(op: str, rows: RaggedTensor, axis: Any) -> int:
    """An axis counted from the front."""
    rank = rows.shape.rank
    assert rank is not None
    place = int(axis) + rank if int(axis) < 0 else int(axis)
    if not 0 <= place < rank:
        raise InvalidArgumentError(
            f"{op}: axis of a ragged tensor of {rank} dimensions must be {-rank} to "
            f"{rank - 1}, got {axis}"
        )
    return place


def _of_nothing(name: str, kind: Any) -> Any:
    """What a row without values reduces to."""
    if name in ("reduce_max", "reduce_min"):
        return kind.min if name == "reduce_max" else kind.max
    return kind.as_numpy_dtype(name in ("reduce_prod", "reduce_all"))


def concat(values: list[Any], axis: int) -> RaggedTensor:
    """Ragged and dense tensors one behind the other, by rows or within them."""
    parts = [
        v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v)
        for v in values
    ]
    if axis != 0 and _place("concat", parts[0], axis) != 1:
        raise InvalidArgumentError(
            f"concat: ragged tensors are joined along axis 0 or 1, got {axis}"
        )
    lengths = np.concatenate([np.asarray(p.row_lengths()) for p in parts])
    inner = [p.values for p in parts]
    flat: Any = (
        concat(inner, 0)
        if any(isinstance(v, RaggedTensor) for v in inner)
        else wrap(np.concatenate([np.asarray(v) for v in inner]))
    )
    below = RaggedTensor.from_row_lengths(flat, lengths)
    if axis == 0:
        return below
    counts = {len(p) for p in parts}
    if len(counts) > 1:
        raise InvalidArgumentError(
            f"concat: the tensors have {sorted(counts)} rows along axis 0"
        )
    rows = len(parts[0])
    splits = np.asarray(below.row_splits)
    places = [
        np.concatenate(
            [np.arange(splits[j], splits[j + 1]) for j in range(i, len(below), rows)]
        )
        for i in range(rows)
    ]
    return below._picked(places)
