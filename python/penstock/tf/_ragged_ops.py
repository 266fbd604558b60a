"""Functions of `tf` on ragged tensors: reductions and concatenation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._dtypes import as_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._values import convert_to_tensor, wrap


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
    if not keepdims:
        return made
    if not isinstance(made, RaggedTensor):
        return wrap(np.expand_dims(np.asarray(made), 1))
    return _rows_of(made, np.ones(len(lengths), np.int64))


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


def _concat_inside(parts: list[Any], place: int) -> RaggedTensor:
    """`concat` along an axis within rows that are cut alike."""
    first: RaggedTensor = parts[0]
    if any(not np.array_equal(p.row_splits, first.row_splits) for p in parts[1:]):
        raise InvalidArgumentError(
            f"concat: along axis {place} the rows of all tensors must be alike"
        )
    inner = [p.values for p in parts]
    if any(isinstance(v, RaggedTensor) for v in inner):
        return first.with_values(concat(inner, place - 1))
    arrays = [np.asarray(v) for v in inner]
    return first.with_values(wrap(np.concatenate(arrays, place - 1)))


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


def expand_dims(rows: RaggedTensor, axis: int) -> RaggedTensor:
    """With an axis of size 1 more."""
    rank: Any = rows.shape.rank
    place = axis + rank + 1 if axis < 0 else axis
    if not 0 <= place <= rank:
        raise InvalidArgumentError(
            f"expand_dims: axis must be {-rank - 1} to {rank}, got {axis}"
        )
    if place == 0:
        return _rows_of(rows, [len(rows)])
    if place == 1:
        return _rows_of(rows, np.ones(len(rows)))
    if isinstance(rows.values, RaggedTensor):
        return rows.with_values(expand_dims(rows.values, place - 1))
    return rows.with_values(wrap(np.expand_dims(np.asarray(rows.values), place - 1)))


def squeeze(rows: RaggedTensor, axis: Any) -> Any:
    """Without axes of size 1."""
    if axis is None:
        raise ValueError("squeeze: a ragged tensor needs an axis")
    made: Any = rows
    places = [_place("squeeze", rows, a) for a in np.atleast_1d(axis)]
    for place in sorted(places, reverse=True):
        made = _without(made, place)
    return made


def _without(rows: Any, place: int) -> Any:
    if not isinstance(rows, RaggedTensor):
        return wrap(np.squeeze(np.asarray(rows), place))
    if place > 1:
        return rows.with_values(_without(rows.values, place - 1))
    sizes = [len(rows)] if place == 0 else np.asarray(rows.row_lengths()).tolist()
    if any(size != 1 for size in sizes):
        raise InvalidArgumentError(
            f"squeeze: axis {place} of a ragged tensor is not of size 1"
        )
    return rows[0] if place == 0 else rows.values


def reverse(rows: RaggedTensor, axis: Any) -> RaggedTensor:
    """With the order along some axes reversed."""
    made = rows
    for one in axis:
        place = _place("reverse", rows, one)
        made = made[(*[slice(None)] * place, slice(None, None, -1))]
    return made


def tile(rows: RaggedTensor, multiples: Any) -> RaggedTensor:
    """Repeated along its axes."""
    first, *rest = (int(m) for m in multiples)
    inner = rows.values
    if len(rest) > 1 and any(m != 1 for m in rest[1:]):
        counts = (1, *rest[1:])
        rows = rows.with_values(
            tile(inner, counts)
            if isinstance(inner, RaggedTensor)
            else wrap(np.tile(np.asarray(inner), counts))
        )
    made = concat([rows] * rest[0], 1) if rest[0] else rows[:, :0]
    return concat([made] * first, 0) if first else made[:0]


def stack(values: list[Any], axis: int) -> Any:
    """Ragged and dense tensors along a new axis."""
    parts = [v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values]
    dense = not any(isinstance(p, RaggedTensor) for p in parts)
    ranks = {p.shape.rank for p in parts}
    if len(ranks) > 1:
        raise InvalidArgumentError(
            f"stack: tensors must have one rank, got {sorted(map(str, ranks))}"
        )
    rank: Any = ranks.pop() if ranks else 1
    place = axis + rank + 1 if axis < 0 else axis
    if not parts or (dense and place == rank):
        return wrap(np.stack([np.asarray(p) for p in parts], place))
    if place > 1 or rank == 0:
        raise InvalidArgumentError(
            f"stack: ragged tensors are stacked along axis 0 or 1, got {axis}"
        )
    if rank == 1:
        lengths = [len(p) for p in parts]
        return _rows_of(wrap(np.concatenate([np.asarray(p) for p in parts])), lengths)
    below = concat([_all_ragged(p) for p in parts], 0)
    counts = [len(p) for p in parts]
    if place == 0:
        return _rows_of(below, counts)
    if len(set(counts)) > 1:
        raise InvalidArgumentError(
            f"stack: the tensors have {sorted(set(counts))} rows along axis 0"
        )
    turned = np.arange(len(below)).reshape(len(parts), -1).T.ravel()
    return _rows_of(below._rows(turned), np.full(counts[0], len(parts)))


def _all_ragged(value: Any) -> RaggedTensor:
    """With every dimension ragged."""
    if isinstance(value, RaggedTensor):
        inner = value.values
        if isinstance(inner, RaggedTensor) or np.ndim(inner) > 1:
            return value.with_values(_all_ragged(inner))
        return value
    array = np.asarray(value)
    inner = wrap(array.reshape(-1, *array.shape[2:]))
    rows = _rows_of(inner, np.full(len(array), array.shape[1]))
    return _all_ragged(rows) if array.ndim > 2 else rows


def concat(values: list[Any], axis: int) -> RaggedTensor:
    """Ragged and dense tensors one behind the other, by rows or within them."""
    parts = [
        v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v)
        for v in values
    ]
    place = _place("concat", parts[0], axis)
    if place > 1:
        return _concat_inside(parts, place)
    lengths = np.concatenate([np.asarray(p.row_lengths()) for p in parts])
    inner = [p.values for p in parts]
    flat: Any = (
        concat(inner, 0)
        if any(isinstance(v, RaggedTensor) for v in inner)
        else wrap(np.concatenate([np.asarray(v) for v in inner]))
    )
    below = RaggedTensor.from_row_lengths(flat, lengths)
    if place == 0:
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
