"""Functions of `tf` on shapes: reshaping, joining, splitting and padding."""

from __future__ import annotations

import builtins
import itertools
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced, TracedBytes
from penstock.tf import _ragged_ops
from penstock.tf._apply import (
    apply,
    axes,
    dims,
    is_traced,
    known,
    numpy_of,
    traceable,
)
from penstock.tf._dtypes import int32, numpy_dtype
from penstock.tf._ragged import RaggedTensor, SparseTensor, _padded
from penstock.tf._shapes import TensorShape
from penstock.tf._values import (
    check_shape,
    convert_to_tensor,
    list_dtype,
    wrap,
)


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
def size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """The number of values."""
    if isinstance(input, SparseTensor):
        count: Any = np.prod(np.asarray(input.dense_shape))
        return convert_to_tensor(int(count), int32 if out_type is None else out_type)
    ragged = isinstance(input, RaggedTensor)
    x = convert_to_tensor(input.flat_values if ragged else input)
    count = 1 if isinstance(x, bytes) else x.size
    return convert_to_tensor(int(count), int32 if out_type is None else out_type)


@traceable
def rank(input: Any, name: str | None = None) -> Any:
    """The number of dimensions."""
    if isinstance(input, RaggedTensor):
        return convert_to_tensor(input.shape.rank)
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
    if isinstance(x, (Traced, TracedBytes)):
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
    if isinstance(input, RaggedTensor):
        return _ragged_ops.expand_dims(input, int(axis))
    x = convert_to_tensor(input)
    if isinstance(x, bytes):
        return wrap(np.array([bytes(x)], dtype=object))
    return apply("expand_dims", x, axes(axis))


@traceable
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """`input` without axes of size 1."""
    if isinstance(input, RaggedTensor):
        return _ragged_ops.squeeze(input, axes(axis))
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
    if isinstance(values, (list, tuple)) and any(
        isinstance(v, RaggedTensor) for v in values
    ):
        return _ragged_ops.stack(list(values), int(axis))
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
    if any(isinstance(v, RaggedTensor) for v in values):
        return _ragged_ops.concat(list(values), int(known(axis)))
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
    if isinstance(input, RaggedTensor):
        return _ragged_ops.tile(input, dims(multiples))
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
    values = np.array(bytes(x), object) if isinstance(x, bytes) else np.asarray(x)
    return wrap(np.repeat(values, np.asarray(repeats), axes(axis)))


@traceable
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """`tensor` with the order along some axes reversed."""
    if isinstance(tensor, RaggedTensor):
        return _ragged_ops.reverse(tensor, np.atleast_1d(axes(axis)))
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
            if array.dtype == object:
                return wrap(_padded(array, widths, fill))
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
