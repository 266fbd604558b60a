"""Functions of `tf` itself on shapes, selection and making of tensors."""

from __future__ import annotations

import builtins
import itertools
from typing import Any

import numpy as np

from penstock import _ops as engine_ops
from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced, TracedBytes
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
from penstock.tf._dtypes import as_dtype, bool_, float32, int32, numpy_dtype
from penstock.tf._shapes import TensorShape
from penstock.tf._values import (
    Bytes,
    check_shape,
    convert_to_tensor,
    list_dtype,
    wrap,
)


@traceable
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` in another dtype.

    >>> import penstock.tf as tf
    >>> tf.cast([1.7, -1.7], tf.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    x = convert_to_tensor(x)
    if isinstance(x, (bytes, TracedBytes)) or x.dtype == object:
        if as_dtype(dtype).name == "string":
            return x
        raise TypeError(f"cast: a string cannot be cast to {as_dtype(dtype).name}")
    kind = numpy_dtype(dtype)
    if isinstance(x, Traced):
        return engine_ops.cast(x, kind)
    return wrap(engine_ops.cast(numpy_of(x), kind))


@traceable
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """`value` in another dtype, between its least and largest value.

    >>> import penstock.tf as tf
    >>> tf.saturate_cast([300, -5], tf.uint8).numpy()
    array([255,   0], dtype=uint8)
    """
    value = convert_to_tensor(value)
    kind = as_dtype(dtype)
    source = as_dtype(value.dtype)
    if kind.is_integer and source.is_numeric:
        low, high = kind.min, kind.max
        if source.is_integer:
            low, high = max(low, source.min), min(high, source.max)
        value = clip_by_value(value, low, high)
    return cast(value, kind)


@traceable
def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """The bits of `input` as another dtype of the same size."""
    eager_only("bitcast", input)
    array = np.asarray(convert_to_tensor(input))
    return wrap(array.view(numpy_dtype(type))[()])


@traceable
def identity(input: Any, name: str | None = None) -> Any:
    """`input` as a tensor."""
    return convert_to_tensor(input)


@traceable
def stop_gradient(input: Any, name: str | None = None) -> Any:
    """`input`; there are no gradients here."""
    return convert_to_tensor(input)


# --- shapes -------------------------------------------------------------------


@traceable
def shape(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """The shape as a tensor of int32.

    >>> import penstock.tf as tf
    >>> tf.shape([[1, 2, 3]]).numpy()
    array([1, 3], dtype=int32)
    """
    x = convert_to_tensor(input)
    kind = np.int32 if out_type is None else numpy_dtype(out_type)
    sizes = () if isinstance(x, bytes) else tuple(x.shape)
    return wrap(np.array([int(d) for d in sizes], dtype=kind))


@traceable
def size(input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    """The number of values."""
    x = convert_to_tensor(input)
    count = 1 if isinstance(x, bytes) else x.size
    return convert_to_tensor(int(count), out_type)


@traceable
def rank(input: Any, name: str | None = None) -> Any:
    """The number of dimensions."""
    x = convert_to_tensor(input)
    return convert_to_tensor(0 if isinstance(x, bytes) else int(x.ndim))


@traceable
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """`tensor` with another shape; one dimension may be -1.

    >>> import penstock.tf as tf
    >>> tf.reshape([1, 2, 3, 4], [2, -1]).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    x = convert_to_tensor(tensor)
    sizes = dims(shape)
    if isinstance(x, bytes):
        return wrap(np.array([bytes(x)], dtype=object).reshape(sizes)[()])
    if isinstance(x, Traced):
        return apply("reshape", x, sizes)
    try:
        return wrap(np.reshape(np.asarray(x), sizes)[()])
    except ValueError:
        raise InvalidArgumentError(
            f"reshape: Input to reshape is a tensor with {x.size} values, but the "
            f"requested shape is {list(sizes)}"
        ) from None


@traceable
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """`x`, whose shape must be the given one."""
    x = convert_to_tensor(x)
    if isinstance(x, Traced):
        x.set_shape(TensorShape(shape).dims)
    else:
        try:
            check_shape(x.shape, shape)
        except ValueError as error:
            raise InvalidArgumentError(f"ensure_shape: {error}") from None
    return x


@traceable
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """`input` with an axis of size 1 more.

    >>> import penstock.tf as tf
    >>> tf.expand_dims([1, 2], -1).shape
    TensorShape([2, 1])
    """
    x = convert_to_tensor(input)
    if isinstance(x, bytes):
        return wrap(np.array([bytes(x)], dtype=object))
    return apply("expand_dims", x, axes(axis))


@traceable
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """`input` without axes of size 1."""
    chosen = axes(axis)
    if chosen == ():
        chosen = None
    made = apply("squeeze", convert_to_tensor(input), axis=chosen)
    return made if is_traced(made) else wrap(np.asarray(made)[()])


@traceable
def transpose(
    a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None
) -> Any:
    """`a` with its axes in another order, reversed by default."""
    order = None if perm is None else dims(perm)
    return apply("transpose", convert_to_tensor(a), order)


@traceable
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """`input` repeated to fill a shape."""
    return apply("broadcast_to", convert_to_tensor(input), dims(shape))


@traceable
def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Tensors of one shape along a new axis.

    >>> import penstock.tf as tf
    >>> tf.stack([tf.constant([1, 2]), [3, 4]]).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    return apply("stack", _parts(values), axis=int(axis))


@traceable
def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Tensors one behind the other along an axis.

    >>> import penstock.tf as tf
    >>> tf.concat([[1, 2], [3]], 0).numpy()
    array([1, 2, 3], dtype=int32)
    """
    if isinstance(values, (np.ndarray, Traced)):
        values = list(values)
    if not isinstance(values, (list, tuple)):
        return convert_to_tensor(values)
    return apply("concatenate", _parts(values), axis=int(known(axis)))


def _parts(values: Any) -> list[Any]:
    """Tensors of one dtype; Python's numbers take that of the others."""
    items = list(values)
    texts = (bytes, str, TracedBytes)
    if any(isinstance(v, texts) for v in items):
        return [np.array(bytes(convert_to_tensor(v)), dtype=object) for v in items]
    kind = list_dtype(items)
    if kind is None or kind == object:
        return [convert_to_tensor(v) for v in items]
    return [
        convert_to_tensor(v, kind) if not hasattr(v, "dtype") else convert_to_tensor(v)
        for v in items
    ]


@traceable
def unstack(
    value: Any, num: Any = None, axis: Any = 0, name: str | None = None
) -> list[Any]:
    """The slices of `value` along an axis.

    >>> import penstock.tf as tf
    >>> [x.numpy().tolist() for x in tf.unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    x = convert_to_tensor(value)
    at = int(axis)
    lead = (slice(None),) * (at % x.ndim)
    count = x.shape[at]
    if num is not None and int(num) != count:
        raise ValueError(f"unstack: num must be {count}, got {num}")
    return [x[(*lead, i)] for i in builtins.range(count)]


@traceable
def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: Any = None,
    name: str | None = None,
) -> list[Any]:
    """`value` in equal parts, or in parts of the given sizes.

    >>> import penstock.tf as tf
    >>> [part.numpy().tolist() for part in tf.split([1, 2, 3], [1, -1])]
    [[1], [2, 3]]
    """
    x = convert_to_tensor(value)
    at = int(axis)
    total = int(x.shape[at])
    given = known(num_or_size_splits)
    if np.ndim(given) == 0:
        count = int(given)
        if count <= 0 or total % count:
            raise InvalidArgumentError(
                f"split: the size {total} of axis {at} is no multiple of {count}"
            )
        sizes = [total // count] * count
    else:
        sizes = [int(known(s)) for s in given]
        if -1 in sizes:
            sizes[sizes.index(-1)] = total - sum(sizes) - 1
        if sum(sizes) != total:
            raise InvalidArgumentError(
                f"split: sizes must add up to {total}, got {sizes}"
            )
    lead = (slice(None),) * (at % x.ndim)
    ends = np.cumsum([0, *sizes]).tolist()
    return [x[(*lead, slice(a, b))] for a, b in itertools.pairwise(ends)]


@traceable
def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """`input` repeated along its axes.

    >>> import penstock.tf as tf
    >>> tf.tile([1, 2], [2]).numpy()
    array([1, 2, 1, 2], dtype=int32)
    """
    x = convert_to_tensor(input)
    counts = dims(multiples)
    if not isinstance(x, Traced):
        return wrap(np.tile(np.asarray(x), counts))
    for axis, count in enumerate(counts):
        if count != 1:
            x = apply("concatenate", [x] * count, axis=axis)
    return x


@traceable
def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Any:
    """Values repeated one by one."""
    x = convert_to_tensor(input)
    if isinstance(x, Traced):
        return apply("repeat", x, int(known(repeats)), axis=axes(axis))
    return wrap(np.repeat(np.asarray(x), np.asarray(repeats), axes(axis)))


@traceable
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """`tensor` with the order along some axes reversed."""
    chosen = axes(axis)
    made = apply("flip", convert_to_tensor(tensor), chosen)
    return made if is_traced(made) else wrap(np.ascontiguousarray(made))


@traceable
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Values moved along an axis, those pushed out coming in again."""
    x = convert_to_tensor(input)
    if isinstance(x, Traced):
        at, by = int(known(axis)), int(known(shift))
        order = np.roll(np.arange(int(x.shape[at])), by)
        return apply("take", x, order, axis=at)
    return wrap(np.roll(np.asarray(x), axes(shift), axes(axis)))


@traceable
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """`tensor` with values before and behind, along each axis.

    >>> import penstock.tf as tf
    >>> tf.pad([1, 2], [[1, 2]]).numpy()
    array([0, 1, 2, 0, 0], dtype=int32)
    """
    x = convert_to_tensor(tensor)
    widths = [tuple(int(known(w)) for w in known(pair)) for pair in known(paddings)]
    kind = mode.upper()
    if kind not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    if not isinstance(x, Traced):
        array = np.asarray(x)
        if kind == "CONSTANT":
            fill: Any = numpy_of(constant_values)
            if array.dtype == object and fill == 0:
                fill = b""
            return wrap(np.pad(array, widths, constant_values=fill))
        return wrap(np.pad(array, widths, mode=kind.lower()))  # type: ignore[call-overload]
    for axis, (before, behind) in enumerate(widths):
        if kind != "CONSTANT":
            order = np.pad(
                np.arange(int(x.shape[axis])),
                (before, behind),
                mode=kind.lower(),  # type: ignore[call-overload]
            )
            x = apply("take", x, order, axis=axis)
            continue
        sizes = [int(d) for d in x.shape]
        parts: list[Any] = [x]
        for count, place in ((before, 0), (behind, len(parts))):
            if count:
                edge = list(sizes)
                edge[axis] = count
                filled = np.full(edge, numpy_of(constant_values), x.dtype)
                parts.insert(0 if place == 0 else len(parts), filled)
        if len(parts) > 1:
            x = apply("concatenate", parts, axis=axis)
    return x


# --- selection ------------------------------------------------------------------


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
    condition = convert_to_tensor(condition)
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
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


@traceable
def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Any:
    """(the values, each once where it is first seen; for each its number)."""
    eager_only("unique", x)
    array = np.asarray(convert_to_tensor(x))
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return (
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
    places = np.searchsorted(
        np.asarray(convert_to_tensor(sorted_sequence)),
        np.asarray(convert_to_tensor(values)),
        side,  # type: ignore[call-overload]
    )
    return wrap(np.asarray(places).astype(numpy_dtype(out_type))[()])


@traceable
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Any:
    """True for the first `lengths` places of each row.

    >>> import penstock.tf as tf
    >>> tf.sequence_mask([1, 3], 3).numpy().astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    x = convert_to_tensor(lengths)
    if maxlen is None:
        eager_only("sequence_mask without maxlen", x)
        maxlen = np.asarray(x).max(initial=0)
    places = np.arange(int(known(maxlen)))
    mask = apply("less", places, apply("expand_dims", x, -1))
    return cast(mask, dtype)


# --- making ----------------------------------------------------------------------


@traceable
def zeros(
    shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None
) -> Any:
    """Zeros, or empty strings.

    >>> import penstock.tf as tf
    >>> tf.zeros([2]).numpy()
    array([0., 0.], dtype=float32)
    """
    return _full(shape, b"" if as_dtype(dtype).name == "string" else 0, dtype)


@traceable
def ones(
    shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None
) -> Any:
    """Ones."""
    return _full(shape, 1, dtype)


def _full(shape: Any, value: Any, dtype: Any) -> Any:
    return wrap(np.full(dims(shape), value, numpy_dtype(dtype))[()])


@traceable
def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """A value in every place.

    >>> import penstock.tf as tf
    >>> tf.fill([2], 7).numpy()
    array([7, 7], dtype=int32)
    """
    from penstock.tf._apply import dims as sizes

    value = convert_to_tensor(value)
    if isinstance(value, Traced):
        return apply("broadcast_to", value, sizes(dims))
    if isinstance(value, Bytes):
        return wrap(np.full(sizes(dims), bytes(value), object)[()])
    return wrap(np.full(sizes(dims), numpy_of(value))[()])


@traceable
def zeros_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Any:
    """Zeros of the shape and dtype of `input`."""
    return _like("zeros_like", input, dtype)


@traceable
def ones_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Any:
    """Ones of the shape and dtype of `input`."""
    return _like("ones_like", input, dtype)


def _like(np_name: str, input: Any, dtype: Any) -> Any:
    x = convert_to_tensor(input)
    if isinstance(x, bytes):
        return Bytes(b"")
    if x.dtype == object and dtype is None:
        return wrap(np.full(np.shape(x), b"", object))
    made = apply(np_name, x, dtype=x.dtype if dtype is None else numpy_dtype(dtype))
    return made if is_traced(made) else wrap(np.asarray(made)[()])


@traceable
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """Ones on the diagonal, zeros elsewhere."""
    columns = None if num_columns is None else int(known(num_columns))
    made = np.eye(int(known(num_rows)), columns, dtype=numpy_dtype(dtype))
    if batch_shape is not None:
        made = np.broadcast_to(made, (*dims(batch_shape), *made.shape)).copy()
    return wrap(made)


@traceable
def range(*args: Any, **kwargs: Any) -> Any:
    """``range(limit)`` or ``range(start, limit[, delta])``, as a tensor.

    >>> import penstock.tf as tf
    >>> tf.range(3).numpy(), tf.range(1.0, 2.0, 0.5).numpy()
    (array([0, 1, 2], dtype=int32), array([1. , 1.5], dtype=float32))
    """
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("name", None)
    if kwargs:
        named = {k: kwargs.pop(k) for k in ("start", "limit", "delta") if k in kwargs}
        args = (*args, *named.values())
    if kwargs or not 1 <= len(args) <= 3:
        raise TypeError("range takes start, limit, delta, dtype and name")
    values = [known(a) for a in args]
    if dtype is None:
        kind = list_dtype(values)
    else:
        kind = numpy_dtype(dtype)
    assert kind is not None
    return wrap(np.arange(*[np.asarray(v).item() for v in values]).astype(kind))


@traceable
def linspace(
    start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0
) -> Any:
    """`num` values at equal distances."""
    first, last = (known(v) for v in (start, stop))
    kind = list_dtype([first, last]) or np.dtype(np.float32)
    if kind.kind != "f":
        kind = np.dtype(np.float64)
    made = np.linspace(
        np.asarray(first, kind), np.asarray(last, kind), int(known(num)), axis=axis
    )
    return wrap(made.astype(kind))


def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Coordinates of a grid."""
    indexing = kwargs.pop("indexing", "xy")
    arrays = [np.asarray(convert_to_tensor(a)) for a in args]
    return [
        wrap(np.ascontiguousarray(g)) for g in np.meshgrid(*arrays, indexing=indexing)
    ]
