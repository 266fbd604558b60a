"""Parts of tensors put together anew: scatter, partition, products, histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import dims, eager_only, signed, traceable
from penstock.tf._dtypes import int32, numpy_dtype
from penstock.tf._values import convert_to_tensor, wrap


def _array(value: Any) -> Any:
    tensor = convert_to_tensor(value)
    if isinstance(tensor, bytes):
        return np.array(bytes(tensor), object)
    return np.asarray(tensor)


def _places(op: str, indices: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    points = _array(indices)
    depth = points.shape[-1]
    sizes = np.array(shape[:depth])
    if points.size and ((points < 0) | (points >= sizes)).any():
        bad = points[((points < 0) | (points >= sizes)).any(-1)][0]
        raise InvalidArgumentError(
            f"{op}: indices {bad.tolist()} are not in a tensor of shape {shape}"
        )
    return tuple(np.moveaxis(points, -1, 0))


def _scatter(name: str, what: str, write: Callable[[Any, Any, Any], None]) -> Any:
    def function(tensor: Any, indices: Any, updates: Any, *policy: Any) -> Any:
        eager_only(name, tensor, indices, updates)
        out = _array(tensor).copy()
        places = _places(name, indices, out.shape)
        write(out, places, _array(updates).astype(out.dtype, copy=False))
        return wrap(out)

    policy = "" if write is _set else "bad_indices_policy='', "
    parameters = f"tensor, indices, updates, {policy}name=None"
    said = f"`tensor` with `updates` {what} at `indices`."
    return signed(function, name, parameters, said)


def _set(out: Any, places: Any, updates: Any) -> None:
    out[places] = updates


tensor_scatter_nd_update = _scatter("tensor_scatter_nd_update", "written", _set)
tensor_scatter_nd_add = _scatter("tensor_scatter_nd_add", "added", np.add.at)
tensor_scatter_nd_sub = _scatter("tensor_scatter_nd_sub", "taken away", np.subtract.at)
tensor_scatter_nd_max = _scatter("tensor_scatter_nd_max", "if larger", np.maximum.at)
tensor_scatter_nd_min = _scatter("tensor_scatter_nd_min", "if smaller", np.minimum.at)


@traceable
def scatter_nd(
    indices: Any,
    updates: Any,
    shape: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Any:
    """Zeros of `shape` with `updates` added at `indices`.

    >>> import penstock.tf as tf
    >>> tf.scatter_nd([[1], [3]], [5, 7], [4]).numpy()
    array([0, 5, 0, 7], dtype=int32)
    """
    eager_only("scatter_nd", indices, updates)
    values = _array(updates)
    out = np.zeros(dims(shape), values.dtype)
    np.add.at(out, _places("scatter_nd", indices, out.shape), values)
    return wrap(out)


@traceable
def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """The rows of each of several groups.

    >>> import penstock.tf as tf
    >>> [p.numpy().tolist() for p in tf.dynamic_partition([5, 6, 7], [1, 0, 1], 2)]
    [[6], [5, 7]]
    """
    eager_only("dynamic_partition", data, partitions)
    values, groups = _array(data), _array(partitions)
    return [wrap(values[groups == i]) for i in range(int(num_partitions))]


@traceable
def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Any:
    """Rows at the places that are given for them; the last of a place counts."""
    eager_only("dynamic_stitch", indices, data)
    places = [_array(i) for i in indices]
    parts = [_array(d) for d in data]
    size = 1 + max((int(i.max(initial=-1)) for i in places), default=-1)
    inner = parts[0].shape[places[0].ndim :]
    out = np.zeros((size, *inner), parts[0].dtype)
    for place, part in zip(places, parts, strict=True):
        out[place] = part
    return wrap(out)


@traceable
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Any:
    """Each row with its first values, as many as its length, turned around.

    >>> import penstock.tf as tf
    >>> tf.reverse_sequence([[1, 2, 3]], [2], seq_axis=1).numpy().tolist()
    [[2, 1, 3]]
    """
    eager_only("reverse_sequence", input, seq_lengths)
    out = _array(input).copy()
    rows = np.moveaxis(out, (batch_axis or 0, seq_axis or 0), (0, 1))
    for row, length in zip(rows, _array(seq_lengths), strict=True):
        row[:length] = row[:length][::-1].copy()
    return wrap(out)


class UniqueWithCounts(NamedTuple):
    """What `tf.unique_with_counts` gives."""

    y: Any
    idx: Any
    count: Any


@traceable
def unique_with_counts(x: Any, out_idx: Any = int32, name: str | None = None) -> Any:
    """(values in the order they come, place of each, how often it occurs)."""
    from penstock.tf._selection import unique

    values, places = unique(x, out_idx)
    counts = np.bincount(np.asarray(places), minlength=len(values))
    return UniqueWithCounts(values, places, wrap(counts.astype(numpy_dtype(out_idx))))


@traceable
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """The coordinates of flat places."""
    eager_only("unravel_index", indices, dims)
    flat = _array(indices)
    made = np.unravel_index(flat, tuple(int(d) for d in _array(dims)))
    return wrap(np.stack(made).astype(flat.dtype))


@traceable
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Sums of products, by Einstein's convention.

    >>> import penstock.tf as tf
    >>> tf.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7], dtype=int32)
    """
    eager_only("einsum", *inputs)
    return wrap(np.einsum(equation, *[_array(x) for x in inputs])[()])


@traceable
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """The sum of products over axes."""
    eager_only("tensordot", a, b)
    over = axes if isinstance(axes, int) else tuple(_array(axes).tolist())
    return wrap(np.tensordot(_array(a), _array(b), over)[()])


@traceable
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Any:
    """The norm of a vector or matrix."""
    eager_only("norm", tensor)
    x = _array(tensor)
    over = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    kept = bool(keepdims)
    if ord in ("euclidean", "fro") or (axis is None and ord == 2):
        total = np.sqrt(np.sum(x * x, over, keepdims=kept))
        return wrap(np.asarray(total).astype(x.dtype)[()])
    if over is None:
        x = x.reshape(-1)
    return wrap(np.asarray(np.linalg.norm(x, ord, over, kept)).astype(x.dtype)[()])


def _bins(values: Any, value_range: Any, nbins: Any) -> Any:
    x, (low, high) = _array(values), _array(value_range)
    scaled = (x - low) / (high - low) * int(nbins)
    return np.clip(np.floor(scaled), 0, int(nbins) - 1)


@traceable
def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = int32,
    name: str | None = None,
) -> Any:
    """The bin of each value; what lies outside is in the first or the last."""
    eager_only("histogram_fixed_width_bins", values, value_range)
    return wrap(_bins(values, value_range, nbins).astype(numpy_dtype(dtype))[()])


@traceable
def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = int32,
    name: str | None = None,
) -> Any:
    """How many values are in each bin."""
    eager_only("histogram_fixed_width", values, value_range)
    found = _bins(values, value_range, nbins).astype(np.int64).reshape(-1)
    return wrap(np.bincount(found, minlength=int(nbins)).astype(numpy_dtype(dtype)))


@traceable
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape that two shapes become together."""
    from penstock.tf._shapes import TensorShape

    return TensorShape(np.broadcast_shapes(tuple(shape_x), tuple(shape_y)))


@traceable
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The same as a tensor."""
    made = np.broadcast_shapes(dims(shape_x), dims(shape_y))
    return wrap(np.array(made, np.int32))
