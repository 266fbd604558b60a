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
from penstock.tf._apply import axes, traceable
from penstock.tf._dtypes import float32, numpy_dtype
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
    places = np.asarray(sp_input.indices)
    _check_places(places, out.shape, validate_indices)
    if len(values):
        out[tuple(places.T)] = values
    return wrap(out)


def _check_places(places: Any, shape: tuple[int, ...], in_order: bool) -> None:
    """Raises for what lies outside, and for what is not in order."""
    outside = ((places < 0) | (places >= shape)).any(axis=1)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise InvalidArgumentError(
            f"to_dense: indices[{i}] = {places[i].tolist()} is out of bounds: need "
            f"0 <= index < {list(shape)}"
        )
    if in_order and len(places) > 1:
        flat = np.ravel_multi_index(tuple(places.T), shape)
        wrong = np.flatnonzero(np.diff(flat) <= 0)
        if len(wrong):
            i = int(wrong[0]) + 1
            what = "repeated" if flat[i] == flat[i - 1] else "out of order"
            raise InvalidArgumentError(
                f"to_dense: indices[{i}] = {places[i].tolist()} is {what}; use "
                "tf.sparse.reorder, or validate_indices=False"
            )


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """An array as a sparse tensor of what is not zero."""
    array = np.asarray(convert_to_tensor(tensor))
    empty: Any = b"" if array.dtype == object else 0
    places = np.argwhere(array != empty)
    return SparseTensor(places, array[tuple(places.T)], array.shape)


def _parts(sp_input: SparseTensor) -> tuple[Any, Any, Any]:
    given = sp_input.indices, sp_input.values, sp_input.dense_shape
    places, values, shape = (np.asarray(g) for g in given)
    return places, values, shape


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The same with its values in the order of rows."""
    places, values, shape = _parts(sp_input)
    order = np.lexsort(places.T[::-1])
    return SparseTensor(places[order], wrap(values[order]), shape)


def reshape(
    sp_input: SparseTensor, shape: Any, name: str | None = None
) -> SparseTensor:
    """The same values in another shape; one dimension may be -1."""
    places, values, old = _parts(sp_input)
    wanted = np.asarray(convert_to_tensor(shape)).astype(np.int64)
    total = int(np.prod(old))
    if -1 in wanted.tolist():
        rest = int(-np.prod(wanted))
        wanted = np.where(wanted == -1, total // max(rest, 1), wanted)
    if int(np.prod(wanted)) != total:
        raise InvalidArgumentError(f"sparse.reshape: {old} has no shape {wanted}")
    flat = np.ravel_multi_index(tuple(places.T), tuple(old)) if len(places) else []
    made = np.stack(np.unravel_index(flat, tuple(wanted)), -1) if len(places) else None
    if made is None:
        made = np.zeros((0, len(wanted)), np.int64)
    return SparseTensor(made, wrap(values), wanted)


def transpose(
    sp_input: SparseTensor, perm: Any = None, name: str | None = None
) -> SparseTensor:
    """With its dimensions in another order."""
    places, values, shape = _parts(sp_input)
    order = np.arange(len(shape))[::-1] if perm is None else np.asarray(perm)
    made = SparseTensor(places[:, order], wrap(values), shape[order])
    return reorder(made)


def expand_dims(
    sp_input: SparseTensor, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """With a dimension of 1 more."""
    places, values, shape = _parts(sp_input)
    at = len(shape) if axis is None else int(axis)
    at = at + len(shape) + 1 if at < 0 else at
    wider = np.insert(places, at, 0, axis=1)
    return SparseTensor(wider, wrap(values), np.insert(shape, at, 1))


def concat(
    axis: int,
    sp_inputs: Any,
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Several along one dimension."""
    inputs = [_parts(s) for s in sp_inputs]
    at = int(axis) % len(inputs[0][2])
    others = {tuple(np.delete(shape, at).tolist()) for _, _, shape in inputs}
    if len(others) > 1 and not expand_nonconcat_dims:
        raise InvalidArgumentError(
            f"sparse.concat: the other dimensions differ: {sorted(others)}; "
            "expand_nonconcat_dims=True takes the largest"
        )
    places, offset = [], 0
    for own, _, shape in inputs:
        moved = own.copy()
        moved[:, at] += offset
        places.append(moved)
        offset += int(shape[at])
    sizes = np.max([shape for _, _, shape in inputs], axis=0)
    sizes[at] = offset
    values = np.concatenate([v for _, v, _ in inputs])
    return reorder(SparseTensor(np.concatenate(places), wrap(values), sizes))


def retain(sp_input: SparseTensor, to_retain: Any) -> SparseTensor:
    """Only the values that are marked."""
    places, values, shape = _parts(sp_input)
    kept = np.asarray(convert_to_tensor(to_retain)).astype(bool)
    return SparseTensor(places[kept], wrap(values[kept]), shape)


def slice(  # noqa: A001 (TensorFlow's name)
    sp_input: SparseTensor, start: Any, size: Any, name: str | None = None
) -> SparseTensor:
    """A part of it."""
    places, values, shape = _parts(sp_input)
    first = np.asarray(convert_to_tensor(start)).astype(np.int64)
    sizes = np.minimum(np.asarray(convert_to_tensor(size)), shape - first)
    kept = ((places >= first) & (places < first + sizes)).all(1)
    return SparseTensor(places[kept] - first, wrap(values[kept]), sizes)


def map_values(op: Any, *args: Any, **kwargs: Any) -> SparseTensor:
    """`op` of the values, in their places."""
    first = next(a for a in args if isinstance(a, SparseTensor))
    plain = [a.values if isinstance(a, SparseTensor) else a for a in args]
    return first.with_values(op(*plain, **kwargs))


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum; sparse where both are."""
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        return wrap(np.asarray(to_dense(a)) + np.asarray(to_dense(b)))
    places = np.concatenate([_parts(a)[0], _parts(b)[0]])
    values = np.concatenate([_parts(a)[1], _parts(b)[1]])
    unique, inverse = np.unique(places, axis=0, return_inverse=True)
    total = np.zeros(len(unique), values.dtype)
    np.add.at(total, inverse.reshape(-1), values)
    kept = np.abs(total) > threshold if threshold else np.ones(len(total), bool)
    return SparseTensor(unique[kept], wrap(total[kept]), a.dense_shape)


def reduce_sum(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Sums, as an array, or as a sparse tensor."""
    over = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    dense = np.asarray(to_dense(sp_input))
    total = np.sum(dense, axis=over, keepdims=bool(keepdims))
    made = wrap(np.asarray(total).astype(dense.dtype)[()])
    return from_dense(made) if output_is_sparse else made


def reduce_max(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest of the values that are there; 0 where there are none."""
    made = _largest(sp_input, axis, bool(keepdims))
    return from_dense(made) if output_is_sparse else made


def _largest(sp_input: SparseTensor, axis: Any, keepdims: bool) -> Any:
    places, values, shape = _parts(sp_input)
    sizes = tuple(int(s) for s in shape)
    low = -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min
    full = np.full(sizes, low, values.dtype)
    there = np.zeros(sizes, bool)
    np.maximum.at(full, tuple(places.T), values)
    there[tuple(places.T)] = True
    over = None if axis is None else axes(axis)
    made = full.max(axis=over, keepdims=keepdims)
    found = there.any(axis=over, keepdims=keepdims)
    return wrap(np.where(found, made, np.zeros((), values.dtype))[()])


def fill_empty_rows(
    sp_input: SparseTensor, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """(with a value in each row that had none, which rows these are)."""
    places, values, shape = _parts(sp_input)
    empty = np.bincount(places[:, 0], minlength=int(shape[0])) == 0
    rows = np.flatnonzero(empty)
    added = np.zeros((len(rows), len(shape)), np.int64)
    added[:, 0] = rows
    fill = default_value.encode() if isinstance(default_value, str) else default_value
    more = np.full(len(rows), fill, values.dtype)
    made = SparseTensor(
        np.concatenate([places, added]), wrap(np.concatenate([values, more])), shape
    )
    return reorder(made), wrap(empty)


def to_indicator(
    sp_input: SparseTensor, vocab_size: Any, name: str | None = None
) -> Any:
    """True at the numbers that each row has."""
    places, values, shape = _parts(sp_input)
    out = np.zeros((*shape[:-1], int(vocab_size)), bool)
    kept = values < int(vocab_size)
    out[(*places[kept][:, :-1].T, values[kept])] = True
    return wrap(out)


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


def reset_shape(sp_input: SparseTensor, new_shape: Any = None) -> SparseTensor:
    """The same values in another shape; by default the smallest one."""
    places, values, shape = _parts(sp_input)
    least = places.max(0, initial=-1) + 1
    sizes = least if new_shape is None else np.asarray(convert_to_tensor(new_shape))
    if len(sizes) != len(shape) or (new_shape is not None and (sizes < shape).any()):
        raise InvalidArgumentError(
            f"reset_shape: {sizes.tolist()} must not be smaller than {shape.tolist()}"
        )
    return SparseTensor(places, wrap(values), sizes)


def eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = float32, name: Any = None
) -> SparseTensor:
    """Ones on the diagonal."""
    rows = int(num_rows)
    columns = rows if num_columns is None else int(num_columns)
    count = np.arange(min(rows, columns))
    values = np.ones(len(count), numpy_dtype(dtype))
    return SparseTensor(np.column_stack([count, count]), wrap(values), [rows, columns])


def split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: Any = None
) -> list[SparseTensor]:
    """Parts along a dimension; the first ones are longer by one where needed."""
    places, values, shape = _parts(sp_input)
    at, count = int(axis) % len(shape), int(num_split)
    size, more = divmod(int(shape[at]), count)
    made, start = [], 0
    for i in range(count):
        end = start + size + (i < more)
        kept = (places[:, at] >= start) & (places[:, at] < end)
        own, sizes = places[kept].copy(), shape.copy()
        own[:, at] -= start
        sizes[at] = end - start
        made.append(SparseTensor(own, wrap(values[kept]), sizes))
        start = end
    return made


def sparse_dense_matmul(
    sp_a: Any,
    b: Any,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Any:
    """A sparse matrix times a dense one."""
    first = np.asarray(to_dense(sp_a, validate_indices=False))
    second = np.asarray(convert_to_tensor(b))
    return wrap((first.T if adjoint_a else first) @ (second.T if adjoint_b else second))


def __getattr__(name: str) -> Any:
    return _missing.resolve("sparse", name)


__all__ = [
    "SparseTensor",
    "add",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "slice",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
