"""Functions of `tf` on ragged tensors: reductions and concatenation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._ragged import RaggedTensor
from penstock.tf._values import wrap


def reduced(
    reduce: Callable[..., Any], rows: RaggedTensor, axis: Any, keepdims: bool
) -> Any:
    """`reduce` over all values, or within the rows."""
    if axis is None:
        return reduce(rows.flat_values, None, keepdims)
    place = inner_axis(reduce.__name__, rows, axis)
    if place > 1:
        return rows.with_values(reduce(rows.values, place - 1, keepdims))
    if rows.ragged_rank > 1:
        raise InvalidArgumentError(
            f"{reduce.__name__}: of ragged rows only the innermost axis can be reduced"
        )
    kind = rows.flat_values.dtype
    empty = _of_nothing(reduce.__name__, kind)
    made = [np.asarray(reduce(row, 0) if len(row) else empty) for row in rows]
    flat = np.array(made, kind).reshape(len(made), *rows.flat_values.shape[1:])
    if not keepdims:
        return wrap(flat)
    return RaggedTensor.from_row_lengths(flat, np.ones(len(flat), np.int64))


def inner_axis(op: str, rows: RaggedTensor, axis: Any) -> int:
    """An axis counted from the front; the first is not within rows."""
    rank = rows.shape.rank
    assert rank is not None
    place = int(axis) + rank if int(axis) < 0 else int(axis)
    if not 0 < place < rank:
        raise InvalidArgumentError(
            f"{op}: axis of a ragged tensor of {rank} dimensions must be 1 to "
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
    if axis != 0 and inner_axis("concat", parts[0], axis) != 1:
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
