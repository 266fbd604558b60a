"""Functions of `tf` that select values: gather, slices, bounds and order."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from penstock import _ops as engine_ops
from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced
from penstock.tf._apply import (
    apply,
    axes,
    dims,
    eager_only,
    is_traced,
    known,
    numpy_of,
    operand,
    traceable,
)
from penstock.tf._dtypes import float32, int32, numpy_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._ragged_values import map_values, over_values
from penstock.tf._values import (
    convert_to_tensor,
    list_dtype,
    wrap,
)


@traceable
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """Slices of `params` at `indices`.

    >>> import penstock.tf as tf
    >>> tf.gather([10, 20, 30], [2, 0]).numpy()
    array([30, 10], dtype=int32)
    """
    if isinstance(indices, RaggedTensor):
        picked = gather(params, indices.flat_values, axis=axis)
        return indices.with_flat_values(picked)
    if isinstance(params, RaggedTensor):
        return _gather_rows(params, indices, axis, batch_dims)
    x, places = convert_to_tensor(params), convert_to_tensor(indices)
    leading = int(batch_dims)
    if leading < 0:
        leading += places.ndim
    at = int(batch_dims) if axis is None else int(axes(axis))
    if leading:
        eager_only("gather with batch_dims", x, places)
        return wrap(_gather_batch(np.asarray(x), np.asarray(places), at, leading))
    if is_traced(x, places):
        return apply("take", x, places, axis=at)
    array, where_ = np.asarray(x), np.asarray(places)
    count = array.shape[at]
    if where_.size and not (0 <= where_.min() and where_.max() < count):
        bad = where_[(where_ < 0) | (where_ >= count)].reshape(-1)[0]
        raise InvalidArgumentError(f"gather: index {bad} is not in [0, {count})")
    return wrap(np.take(array, where_, axis=at))


def _gather_rows(params: RaggedTensor, indices: Any, axis: Any, dims: int) -> Any:
    """Rows of a ragged tensor."""
    places = np.asarray(convert_to_tensor(indices))
    if axis not in (None, 0) or dims or places.ndim > 1:
        raise ValueError("gather: of a ragged tensor only rows, by number or in a list")
    if places.size and not (0 <= places.min() and places.max() < len(params)):
        raise InvalidArgumentError(f"gather: an index is not in [0, {len(params)})")
    return params[int(places)] if places.ndim == 0 else params._rows(places)


def _gather_batch(array: Any, places: Any, at: int, leading: int) -> Any:
    """`gather` with the first `leading` axes taken together."""
    if at < 0:
        at += array.ndim
    shape = array.shape[:leading]
    if places.shape[:leading] != shape or at < leading:
        raise InvalidArgumentError(
            f"gather: batch_dims={leading}: params {array.shape} and indices "
            f"{places.shape} differ in them, or axis {at} is one of them"
        )
    rows = [np.take(array[i], places[i], axis=at - leading) for i in np.ndindex(*shape)]
    return np.stack(rows).reshape(shape + rows[0].shape)


@traceable
def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Slices of `params` at points; the last axis of `indices` is a point."""
    eager_only("gather_nd", params, indices)
    array, points = np.asarray(convert_to_tensor(params)), np.asarray(indices)
    leading = int(batch_dims)
    if leading < 0:
        leading += points.ndim
    sizes = np.array(array.shape[leading : leading + points.shape[-1]])
    if ((points < 0) | (points >= sizes)).any():
        bad = points[((points < 0) | (points >= sizes)).any(-1)][0]
        raise InvalidArgumentError(
            f"gather_nd: indices {bad.tolist()} do not index into {array.shape}"
        )
    if not leading:
        return wrap(array[tuple(np.moveaxis(points, -1, 0))])
    shape = array.shape[:leading]
    rows = [array[i][tuple(np.moveaxis(points[i], -1, 0))] for i in np.ndindex(*shape)]
    return wrap(np.stack(rows).reshape(shape + np.shape(rows[0])))


@traceable
def boolean_mask(
    tensor: Any, mask: Any, axis: Any = None, name: str | None = None
) -> Any:
    """The values where `mask` is true."""
    eager_only("boolean_mask", tensor, mask)
    at = 0 if axis is None else int(axis)
    array, chosen = np.asarray(convert_to_tensor(tensor)), np.asarray(mask)
    return wrap(array[(slice(None),) * at + (chosen,)])


@traceable
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`x` where the condition holds, else `y`; without them, where it holds.

    >>> import penstock.tf as tf
    >>> tf.where([True, False], 1, 2).numpy()
    array([1, 2], dtype=int32)
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is not None and any(isinstance(v, RaggedTensor) for v in (condition, x, y)):
        return map_values(where, condition, x, y)
    condition = convert_to_tensor(condition)
    if x is None:
        eager_only("where without x and y", condition)
        return wrap(np.argwhere(np.asarray(condition)).astype(np.int64))
    x, y = operand(x, y), operand(y, x)
    if not is_traced(condition, x, y):
        kind = list_dtype([x, y])
        if kind is None or kind == object:
            x, y = (np.asarray(numpy_of(v), dtype=object) for v in (x, y))
        else:
            x, y = (np.asarray(numpy_of(v)).astype(kind, copy=False) for v in (x, y))
        return wrap(np.where(np.asarray(condition), x, y)[()])
    kind = list_dtype([x, y])
    fixed = [
        v if hasattr(v, "dtype") else np.asarray(v).astype(kind)[()] for v in (x, y)
    ]
    return apply("where", condition, *fixed)


@traceable
def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """`size` values along each axis, from `begin`; all that is left for -1.

    >>> import penstock.tf as tf
    >>> tf.slice([1, 2, 3, 4], [1], [2]).numpy()
    array([2, 3], dtype=int32)
    """
    x = convert_to_tensor(input_)
    starts, counts = dims(begin), dims(size)
    key = tuple(
        slice(b, None if n == -1 else b + n) for b, n in builtins.zip(starts, counts)
    )
    return x[key]


@traceable
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Any:
    """Like ``input_[begin:end:strides]`` along each axis; masks have a bit each.

    >>> import penstock.tf as tf
    >>> x = tf.constant([[1, 2, 3], [4, 5, 6]])
    >>> tf.strided_slice(x, [1, 0], [2, 2], shrink_axis_mask=1).numpy()
    array([4, 5], dtype=int32)
    """
    x = convert_to_tensor(input_)
    starts, ends = dims(begin), dims(end)
    steps = (1,) * len(starts) if strides is None else dims(strides)
    key: list[Any] = []
    for i, (start, stop, step) in enumerate(
        builtins.zip(starts, ends, steps, strict=True)
    ):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(start)
        else:
            key.append(
                slice(
                    None if begin_mask & bit else start,
                    None if end_mask & bit else stop,
                    step,
                )
            )
    return x[tuple(key)]


@traceable
def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Any:
    """`t` between two bounds.

    >>> import penstock.tf as tf
    >>> tf.clip_by_value([-2, 7], 0, 5).numpy()
    array([0, 5], dtype=int32)
    """
    t = convert_to_tensor(t)
    low, high = operand(clip_value_min, t), operand(clip_value_max, t)
    if isinstance(t, Traced):
        return apply("clip", t, low, high)
    array = np.asarray(t)
    made = np.clip(array, numpy_of(low), numpy_of(high))
    return wrap(np.asarray(made).astype(array.dtype, copy=False)[()])


@traceable
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
    """`t` scaled so that its norm is not above `clip_norm`."""
    from penstock.tf import math

    t = convert_to_tensor(t)
    norm = math.reduce_euclidean_norm(t, axes, True)
    return t * clip_norm / math.maximum(norm, clip_norm)


@traceable
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """A one for each index, zeros elsewhere, along a new axis.

    >>> import penstock.tf as tf
    >>> tf.one_hot(2, 4).numpy()
    array([0., 0., 1., 0.], dtype=float32)
    """
    if dtype is None:
        given = [v for v in (on_value, off_value) if v is not None]
        dtype = convert_to_tensor(given[0]).dtype if given else float32
    places = convert_to_tensor(indices)
    made = engine_ops.one_hot(
        places if isinstance(places, Traced) else np.asarray(places),
        int(known(depth)),
        1 if on_value is None else numpy_of(known(on_value)),
        0 if off_value is None else numpy_of(known(off_value)),
        -1 if axis is None else int(axis),
        numpy_dtype(dtype),
    )
    return made if is_traced(made) else wrap(made)


@traceable
def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: Any = None
) -> Any:
    """`values` in order along an axis."""
    eager_only("sort", values)
    made = np.sort(np.asarray(convert_to_tensor(values)), axis=int(axis))
    if direction == "DESCENDING":
        made = np.ascontiguousarray(np.flip(made, int(axis)))
    return wrap(made)


@traceable
def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: Any = None,
) -> Any:
    """Where the values in order are, along an axis."""
    eager_only("argsort", values)
    array = np.asarray(convert_to_tensor(values))
    if direction == "DESCENDING":
        array = -(array.astype(np.int64) if array.dtype.kind in "bu" else array)
    return wrap(np.argsort(array, axis=int(axis), kind="stable").astype(np.int32))


class Unique(NamedTuple):
    """What `tf.unique` gives."""

    y: Any
    idx: Any


@traceable
def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Any:
    """(the values, each once where it is first seen; for each its number).

    >>> import penstock.tf as tf
    >>> tf.unique([7, 5, 7]).idx.numpy()
    array([0, 1, 0], dtype=int32)
    """
    eager_only("unique", x)
    array = np.asarray(convert_to_tensor(x))
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return Unique(
        wrap(array[first[order]]),
        wrap(number[inverse.reshape(-1)].astype(numpy_dtype(out_idx))),
    )


@traceable
def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = int32,
    name: str | None = None,
) -> Any:
    """Where values would be put into a sorted sequence."""
    eager_only("searchsorted", sorted_sequence, values)
    rows = np.asarray(convert_to_tensor(sorted_sequence))
    wanted = np.asarray(convert_to_tensor(values))
    if rows.ndim < 2:
        places: Any = np.searchsorted(rows, wanted, side)  # type: ignore[call-overload]
    else:
        if rows.shape[:-1] != wanted.shape[:-1]:
            raise InvalidArgumentError(
                f"searchsorted: the leading dimensions must be equal, got {rows.shape} "
                f"and {wanted.shape}"
            )
        flat = rows.reshape(-1, rows.shape[-1])
        asked = wanted.reshape(-1, wanted.shape[-1])
        found = [
            np.searchsorted(row, own, side)  # type: ignore[call-overload]
            for row, own in zip(flat, asked)
        ]
        places = np.reshape(found, wanted.shape)
    return wrap(np.asarray(places).astype(numpy_dtype(out_type))[()])


over_values(
    globals(),
    "clip_by_value one_hot",
)
