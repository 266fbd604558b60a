"""Functions in a trace for the spec alone.

What a function of TensorFlow gives that has no native form is an `Opaque`
(`tf/_opaque_value.py`): a dtype and what is known of the shape. Dtypes must be
those that the function gives when it runs: elements are held against the spec.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._trace_errors import TraceRefused, refuse
from penstock._trace_inspect import Kind
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import (
    ShapeTuple,
    Traced,
    TracedBytes,
    current,
    untraced,
)
from penstock.tf import (
    _control,
    _functions,
    _layout,
    _making,
    _mutable_tables,
    _scatter,
    _selection,
    _structure,
    audio,
    debugging,
    image,
    io,
    linalg,
    lookup,
    nn,
    random,
    signal,
    sparse,
    strings,
)
from penstock.tf import math as tf_math
from penstock.tf._opaque_value import Foreign, Opaque, broadcast, known, static
from penstock.tf._parsed import Listed
from penstock.tf._ragged import SparseTensor
from penstock.tf._shapes import RaggedTensorSpec, TensorSpec
from penstock.tf._values import convert_to_tensor, wrap


class OpaqueRagged(Foreign):
    """A ragged tensor of which only the spec is known."""

    __penstock_ragged__ = True

    def __init__(self, spec: RaggedTensorSpec) -> None:
        super().__init__("a ragged value that no trace has")
        self.spec = spec
        self.dtype = spec.dtype

    def _dims(self) -> list[Any]:
        dims = self.spec.shape.dims
        if dims is None:
            refuse("a ragged value of unknown rank")
        return list(dims)

    @property
    def shape(self) -> Any:
        return ShapeTuple(self._dims())

    @property
    def flat_values(self) -> Any:
        return Opaque(self.dtype, [None, *self._dims()[self.spec.ragged_rank + 1 :]])

    @property
    def values(self) -> Any:
        if self.spec.ragged_rank == 1:
            return self.flat_values
        return self._like([None, *self._dims()[2:]], self.spec.ragged_rank - 1)

    def _like(self, dims: Any, rank: int, dtype: Any = None) -> OpaqueRagged:
        return OpaqueRagged(RaggedTensorSpec(dims, dtype or self.dtype, rank))

    def of(self, dtype: Any) -> OpaqueRagged:
        """The same rows of values of another dtype."""
        return self._like(self._dims(), self.spec.ragged_rank, dtype)

    def to_tensor(
        self, default_value: Any = None, name: Any = None, shape: Any = None
    ) -> Opaque:
        made = Opaque(self.dtype, self._dims())
        if shape is not None:
            made.set_shape(shape)
        return made

    def row_lengths(self, axis: int = 1, name: Any = None) -> Opaque:
        if axis != 1:
            refuse("lengths of inner rows")
        return Opaque("int64", self._dims()[:1])

    def with_flat_values(self, values: Any) -> OpaqueRagged:
        return self.of(known(values)[0])

    def _with(self, other: Any) -> OpaqueRagged:
        other = Opaque(other.dtype, ()) if isinstance(other, OpaqueRagged) else other
        return self.of(Opaque(self.dtype, ())._with(other).dtype)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _with

    def reduced(self, axis: Any, dtype: Any) -> Opaque:
        """What a reduction over an axis has."""
        if axis is None:
            return Opaque(dtype, ())
        if type(axis) is not int or self.spec.ragged_rank != 1:
            refuse("a reduction of several ragged dimensions")
        dims = self._dims()
        place = axis % len(dims)
        if place == 1:
            return Opaque(dtype, [dims[0], *dims[2:]])
        refuse("a reduction across ragged rows")

    def __getitem__(self, key: Any) -> Any:
        keys = list(key) if type(key) is tuple else [key]
        if not all(type(k) is slice for k in keys) or len(keys) > len(self._dims()):
            refuse("a part of a ragged value that no trace has")
        whole = slice(None)
        dims = [d if k == whole else None for k, d in zip(keys, self._dims())]
        return self._like([*dims, *self._dims()[len(keys) :]], self.spec.ragged_rank)

    def nrows(self, out_type: Any = "int64", name: Any = None) -> Opaque:
        return Opaque(out_type, ())


def _promised(spec: Any) -> Any:
    """The value of a `Tout`."""
    if isinstance(spec, RaggedTensorSpec):
        return OpaqueRagged(spec)
    return Opaque(getattr(spec, "dtype", spec))


def _called(inp: Any, Tout: Any) -> Any:
    for value in inp or ():
        if isinstance(value, Foreign) and not isinstance(value, OpaqueRagged):
            refuse("hands something else than tensors on")
    if Tout is None or (isinstance(Tout, (list, tuple)) and not Tout):
        return ()
    if isinstance(Tout, (list, tuple)):
        return [_promised(t) for t in Tout]
    return _promised(Tout)


def _py_function(
    func: Any = None, inp: Any = None, Tout: Any = None, name: Any = None
) -> Any:
    return _called(inp, Tout)


def _numpy_function(
    func: Any = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: Any = None,
) -> Any:
    return _called(inp, Tout)


def _ensure_shape(x: Any, shape: Any, name: Any = None) -> Any:
    if not isinstance(x, Opaque):
        return _layout.ensure_shape(x, shape)
    return Opaque(x.dtype, x.shape.merge_with(static(shape)))


def _reshape(tensor: Any, shape: Any, name: Any = None) -> Any:
    if not isinstance(tensor, (Opaque, TracedBytes)):
        return _layout.reshape(tensor, shape)
    return Opaque(known(tensor)[0], static(shape))


def _cast(x: Any, dtype: Any, name: Any = None) -> Any:
    return Opaque(dtype, x.shape) if isinstance(x, Opaque) else _making.cast(x, dtype)


def depends(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(depends(v) for v in value)
    return isinstance(value, (Opaque, TracedBytes)) or (
        isinstance(value, Traced) and not value.is_constant
    )


def _like_first(dtype: Any = None) -> Callable[..., Any]:
    """A function whose result has the shape of its first argument."""

    def form(*args: Any, **named: Any) -> Any:
        first = args[0] if args else next(iter(named.values()), None)
        own, shape = known(first)
        return Opaque(own if dtype is None else dtype, shape)

    return form


def _native_or(real: Any, form: Any) -> Callable[..., Any]:
    """A native function, or its form where the argument is opaque."""

    def either(*args: Any, **named: Any) -> Any:
        if _has_opaque((*args, *named.values())):
            return form(*args, **named)
        tracer = current()
        refused = tracer.refused
        try:
            return real(*args, **named)
        except TraceRefused:
            # Not native as it is called here; its form may say enough.
            tracer.refused = refused
            return form(*args, **named)

    return either


def _drawn(real: Any) -> Callable[..., Any]:
    """A stateless random function: the values of its seed do not matter here."""
    tried = _tried(real)

    def known_seed(value: Any) -> Any:
        if isinstance(value, Opaque) and value.dtype.name in ("int32", "int64"):
            if value.shape.rank == 1:
                return convert_to_tensor([1, 2])
        return value

    def form(*args: Any, **named: Any) -> Any:
        args = tuple(known_seed(a) for a in args)
        named = {k: known_seed(a) for k, a in named.items()}
        return (tried if _has_opaque((*args, *named.values())) else real)(
            *args, **named
        )

    return form


def _has_opaque(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_opaque(v) for v in value)
    return isinstance(value, Opaque)


_MOST_SAMPLES = 1 << 20  # values that a function is tried with


def _tried(real: Any) -> Callable[..., Any]:
    """A function of ours whose result's shape follows from its arguments.

    It computes with samples: of two sizes where a dimension is not known, of two
    values where a shape may depend on one. What differs then is not known, nor is
    what comes to nothing in samples that may be too small for it.
    """

    def form(*args: Any, **named: Any) -> Any:
        if not depends([*args, *named.values()]):
            return real(*args, **named)
        small, large = _sizes([*args, *named.values()])
        with untraced():
            results = [
                real(
                    *[_sample(a, size, value) for a in args],
                    **{k: _sample(a, size, value) for k, a in named.items()},
                )
                for size, value in ((small, 1), (large, 1), (small, 2))
            ]
        return _common(results)

    return form


def _sizes(values: Any) -> tuple[int, int]:
    """What unknown dimensions are tried with: room for kernels, strides and counts."""
    unknown = max((_unknown_dims(v) for v in values), default=0)
    return (31, 127) if unknown <= 2 else (13, 31) if unknown <= 4 else (5, 7)


def _unknown_dims(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return max(map(_unknown_dims, value), default=0)
    if not isinstance(value, (Opaque, Traced, TracedBytes)):
        return 0
    _, dims = known(value)
    return 0 if dims is None else sum(d is None for d in dims)


def _sample(value: Any, size: int, fill: int) -> Any:
    """A value of the kind that a trace has."""
    if isinstance(value, Traced) and value.is_constant:
        return wrap(np.asarray(value._value)[()])
    if isinstance(value, (list, tuple)):
        return type(value)([_sample(v, size, fill) for v in value])
    if isinstance(value, (Foreign, TracedRagged)):
        refuse("a value that no trace has")
    if not isinstance(value, (Opaque, Traced, TracedBytes)):
        return value
    dtype, dims = known(value)
    if dims is None:
        refuse("a value of unknown shape")
    shape = [size if d is None else int(d) for d in dims]
    if math.prod(shape) > _MOST_SAMPLES:
        refuse("a value that is too large to be tried")
    if dtype.name == "string":
        return wrap(np.full(shape, b"a" * fill, object)[()])
    return wrap(np.full(shape, fill, dtype.name)[()])


def _common(results: list[Any]) -> Any:
    """What several results have in common."""
    first = results[0]
    if isinstance(first, (list, tuple)):
        items = [_common(list(part)) for part in zip(*results, strict=True)]
        return items if type(first) is list else _structure.encode_tuple(first, items)
    kinds, shapes = zip(*(known(r) for r in results))
    if len(set(kinds)) > 1:
        refuse("results of several dtypes")
    if len({len(s) for s in shapes}) > 1:
        return Opaque(kinds[0])
    dims = [
        sizes[0] if len(set(sizes)) == 1 and sizes[0] else None
        for sizes in zip(*shapes)
    ]
    return Opaque(kinds[0], dims)


def _pieces(dtype: str) -> Callable[..., Any]:
    """A function that gives a list of the pieces of a string."""

    def form(input: Any, *_: Any, **__: Any) -> Any:
        _, shape = known(input)
        if shape is None:
            refuse("pieces of strings of unknown rank")
        if not shape:
            return Opaque(dtype, [None])
        return OpaqueRagged(RaggedTensorSpec([*shape, None], dtype, len(shape)))

    return form


def _shape(input: Any, out_type: Any = None, name: Any = None) -> Any:
    _, shape = known(input)
    if shape is not None and None not in tuple(shape):
        return _layout.shape(input, out_type)
    dtype = "int32" if out_type is None else out_type
    return Opaque(dtype, [None if shape is None else len(shape)])


def _size(input: Any, out_type: Any = None, name: Any = None) -> Any:
    _, shape = known(input)
    if shape is not None and None not in tuple(shape):
        return _layout.size(input, "int32" if out_type is None else out_type)
    return Opaque("int32" if out_type is None else out_type, ())


def _fill(dims: Any, value: Any, name: Any = None, layout: Any = None) -> Any:
    if not depends(dims):
        if not isinstance(value, Opaque):
            return _making.fill(dims, value)
        dims = static(dims)
    elif isinstance(dims, (list, tuple)):
        dims = [None if depends(d) else operator.index(d) for d in dims]
    else:
        _, shape = known(dims)
        if shape is None or len(shape) != 1 or shape[0] is None:
            refuse("dims of unknown rank")
        dims = [None] * shape[0]
    return Opaque(known(value)[0], dims)


def _alike(input: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    kind, shape = known(input)
    return Opaque(kind if dtype is None else dtype, shape)


def _reduced(real: Any, dtype: Any = None) -> Callable[..., Any]:
    """A reduction, also of a ragged value."""
    otherwise = _native_or(real, _tried(real))

    def form(*args: Any, **named: Any) -> Any:
        first = args[0] if args else named.get("input_tensor")
        if not isinstance(first, OpaqueRagged):
            return otherwise(*args, **named)
        if len(args) > 2 or named.get("keepdims"):
            refuse("a reduction that keeps dimensions")
        axis = args[1] if len(args) > 1 else named.get("axis")
        return first.reduced(axis, first.dtype if dtype is None else dtype)

    return form


def _concat(values: Any, axis: Any, name: Any = None) -> Any:
    if not isinstance(values, (list, tuple)) or not any(
        isinstance(v, OpaqueRagged) for v in values
    ):
        return _native_or(_layout.concat, _tried(_layout.concat))(values, axis)
    first = next(v for v in values if isinstance(v, OpaqueRagged))
    kinds = {v.dtype if isinstance(v, OpaqueRagged) else known(v)[0] for v in values}
    dims = first._dims()
    if len(kinds) != 1 or type(axis) is not int:
        refuse("rows of several dtypes")
    if axis % len(dims) == 0:
        dims = [None, *dims[1:]]
    return first._like(dims, first.spec.ragged_rank)


def _filled(real: Any) -> Callable[..., Any]:
    """`tf.zeros` and `tf.ones`."""

    def form(shape: Any, dtype: Any = "float32", *_: Any, **__: Any) -> Any:
        if not depends(shape):
            return real(shape, dtype)
        return Opaque(dtype, _fill(shape, 0).shape)

    return form


def _joined(inputs: Any, separator: Any = "", name: Any = None) -> Any:
    whole = Opaque("string", ())
    for part in inputs:
        whole = whole._joined(part)
    return whole


def _scan(fn: Any, elems: Any, initializer: Any = None, *_: Any, **__: Any) -> Any:
    state, count = _folded(fn, elems, initializer)
    kind, shape = known(state)
    return Opaque(kind, None if shape is None else [count, *shape])


def _fold(fn: Any, elems: Any, initializer: Any = None, *_: Any, **__: Any) -> Any:
    return _folded(fn, elems, initializer)[0]


def _folded(fn: Any, elems: Any, initializer: Any) -> tuple[Any, Any]:
    """What a state becomes, and of how many rows."""
    if not isinstance(elems, (Traced, Opaque)):
        refuse("rows of something else than one tensor")
    _, shape = known(elems)
    if not shape:
        refuse("rows of unknown shape")
    state = elems[0] if initializer is None else initializer
    made = fn(state, elems[0])
    if isinstance(made, (list, tuple, dict)):
        refuse("a state of several tensors")
    return _either(state, made), shape[0]


def _decode_wav(
    contents: Any,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: Any = None,
) -> Any:
    sizes = [n if n > 0 else None for n in (desired_samples, desired_channels)]
    return Opaque("float32", sizes), Opaque("int32", ())


def _range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: Any = None,
    name: Any = "range",
) -> Any:
    given = [start, delta] if limit is None else [start, limit, delta]
    if not depends(given):
        return _making.range(start, limit, delta, dtype)
    if dtype is None:
        kinds = {known(v)[0] for v in given if type(v) not in (int, float)}
        if len(kinds) != 1 or float in map(type, given):
            refuse("a range of several dtypes")
        (dtype,) = kinds
    return Opaque(dtype, [None])


def _where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    if x is not None or y is not None:
        if not _has_opaque((condition, x, y)):
            return _selection.where(condition, x, y)
        shapes = [known(v)[1] for v in (condition, x, y)]
        whole = functools.reduce(broadcast, shapes)
        typed = [v for v in (x, y) if type(v) not in (int, float)]
        kinds = {known(v)[0] for v in typed}
        if len(kinds) != 1:
            refuse("a choice between several dtypes")
        return Opaque(kinds.pop(), whole)
    _, shape = known(condition)
    return Opaque("int64", [None, None if shape is None else len(shape)])


def _squeeze(input: Any, axis: Any = None, name: Any = None) -> Any:
    dtype, shape = known(input)
    if shape is None or axis is None:
        return Opaque(dtype)
    gone = {int(a) % len(shape) for a in np.atleast_1d(axis)}
    return Opaque(dtype, [d for i, d in enumerate(shape) if i not in gone])


def _random_crop(value: Any, size: Any, seed: Any = None, name: Any = None) -> Any:
    dtype, _ = known(value)
    if depends(size):
        return Opaque(dtype, _fill(size, 0).shape)
    return Opaque(dtype, static(size))


def _gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = "float32", *_: Any, **__: Any
) -> Any:
    if not all(v is None or type(v) in (int, float) for v in (alpha, beta)):
        refuse("draws by several parameters")
    return Opaque(dtype, _fill(shape, 0).shape)


def _boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: Any = None) -> Any:
    dtype, shape = known(tensor)
    _, places = known(mask)
    if shape is None or places is None or axis not in (None, 0):
        return Opaque(dtype)
    return Opaque(dtype, [None, *shape[len(places) :]])


def _cond(
    pred: Any, true_fn: Any = None, false_fn: Any = None, name: Any = None
) -> Any:
    """Either of two values that are alike."""
    if not isinstance(pred, (Traced, Opaque)):
        refuse("a condition that no trace has")
    return _either(true_fn(), false_fn())


def _either(a: Any, b: Any) -> Any:
    if type(a) is type(b) and isinstance(a, (tuple, list)) and len(a) == len(b):
        return type(a)(_either(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return {k: _either(a[k], b[k]) for k in a}
    (kind, one), (other, two) = known(a), known(b)
    if kind != other:
        refuse("a condition between several dtypes")
    if one is None or two is None or len(one) != len(two):
        return Opaque(kind)
    return Opaque(kind, [x if x == y else None for x, y in zip(one, two)])


def _case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: Any = "case",
) -> Any:
    branches = [fn for _, fn in pred_fn_pairs]
    return _any_of([*branches, default] if default is not None else branches)


def _switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: Any = "switch_case"
) -> Any:
    branches = [fn[1] if isinstance(fn, tuple) else fn for fn in branch_fns]
    return _any_of([*branches, default] if default is not None else branches)


def _any_of(branches: list[Any]) -> Any:
    made = [fn() for fn in branches]
    return functools.reduce(_either, made) if len(made) > 1 else made[0]


def _while_loop(
    cond: Any, body: Any, loop_vars: Any, shape_invariants: Any = None, **_: Any
) -> Any:
    """The variables, as far as one turn leaves them alike."""
    before = list(loop_vars)
    made = body(*before)
    after = list(made) if isinstance(made, (list, tuple)) else [made]
    if len(before) != len(after) or shape_invariants is not None:
        refuse("a loop whose variables change")
    return type(loop_vars)(_either(a, b) for a, b in zip(before, after))


def _map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: Any = True,
    swap_memory: Any = False,
    infer_shape: Any = True,
    name: Any = None,
    fn_output_signature: Any = None,
) -> Any:
    return _mapped(fn, elems)


def _vectorized_map(fn: Any, elems: Any, *_: Any, **__: Any) -> Any:
    return _mapped(fn, elems)


def _mapped(fn: Any, elems: Any) -> Any:
    count: list[Any] = []
    row = _row(elems, count)
    if not count:
        refuse("no rows")
    return _stacked(fn(row), next((n for n in count if n is not None), None))


def _row(elems: Any, count: list[Any]) -> Any:
    """The first rows of tensors in a structure; how many there are goes to `count`."""
    if isinstance(elems, (list, tuple)):
        items = [_row(e, count) for e in elems]
        return items if type(elems) is list else _structure.encode_tuple(elems, items)
    if isinstance(elems, dict):
        return {k: _row(e, count) for k, e in elems.items()}
    if not isinstance(elems, (Traced, Opaque)):
        refuse("rows of something else than tensors")
    _, shape = known(elems)
    if not shape:
        refuse("rows of unknown shape")
    count.append(shape[0])
    return elems[0]


def _stacked(made: Any, count: Any) -> Any:
    if isinstance(made, (list, tuple)):
        items = [_stacked(m, count) for m in made]
        return items if type(made) is list else _structure.encode_tuple(made, items)
    if isinstance(made, dict):
        return {k: _stacked(m, count) for k, m in made.items()}
    kind, row = known(made)
    return Opaque(kind, None if row is None else [count, *row])


def _random(dtype: Any = "float32", at: int = 3) -> Callable[..., Any]:
    """Random values of a shape; `at` is where the dtype stands."""

    def form(*args: Any, **named: Any) -> Any:
        shape = args[0] if args else named["shape"]
        bounds = (named.get(n) for n in ("minval", "maxval", "mean", "stddev"))
        if any(v is not None and known(v)[1] != () for v in (*args[1:at], *bounds)):
            refuse("draws by several parameters")
        wanted = args[at] if len(args) > at else named.get("dtype", dtype)
        return Opaque(wanted, _fill(shape, 0).shape)

    return form


def _categorical(
    logits: Any, num_samples: Any, dtype: Any = "int64", *_: Any, **__: Any
) -> Any:
    _, shape = known(_made_tensor(logits))
    if shape is None or len(shape) != 2:
        refuse("logits of unknown rank")
    drawn = None if depends(num_samples) else operator.index(num_samples)
    return Opaque(dtype, [shape[0], drawn])


def _made_tensor(value: Any) -> Any:
    return value if depends(value) else convert_to_tensor(value)


def _numbers(input: Any, out_type: Any = "float32", name: Any = None) -> Any:
    return Opaque(out_type, known(input)[1])


def _pad_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Any:
    dtype, shape = known(image)
    if shape is None or len(shape) < 3:
        refuse("pictures of unknown rank")
    size = [None if depends(n) else int(n) for n in (target_height, target_width)]
    return Opaque(dtype, [*shape[:-3], *size, shape[-1]])


def _to_dense(sp_input: Any, *args: Any, **named: Any) -> Any:
    """Of a sparse tensor whose parts are those of an element."""
    if isinstance(sp_input, Listed) or not hasattr(sp_input, "dense_shape"):
        return sparse.to_dense(sp_input, *args, **named)
    dtype, _ = known(sp_input.values)
    _, shape = known(sp_input.dense_shape)
    if shape is None or shape[0] is None:
        refuse("a sparse tensor of unknown rank")
    return Opaque(dtype, [None] * shape[0])


def _parse_tensor(serialized: Any, out_type: Any, name: Any = None) -> Any:
    return Opaque(out_type)


def _sparse(indices: Any, values: Any, dense_shape: Any) -> Any:
    """A sparse tensor, as the parts that it travels as."""
    dtype, _ = known(values)
    _, shape = known(dense_shape)
    if shape is None or len(shape) != 1:
        refuse("a sparse tensor of unknown rank")
    return _sparse_parts(dtype, shape[0])


def _from_dense(tensor: Any, name: Any = None) -> Any:
    dtype, shape = known(tensor)
    if shape is None:
        refuse("a sparse tensor of unknown rank")
    return _sparse_parts(dtype, len(shape))


def _sparse_parts(dtype: Any, rank: int | None) -> Any:
    return _structure.carrier(SparseTensor)(
        Opaque("int64", [None, rank]), Opaque(dtype, [None]), Opaque("int64", [rank])
    )


class Table:
    """A table to look up in."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype

    def lookup(self, keys: Any, name: Any = None) -> Any:
        if isinstance(keys, OpaqueRagged):
            return keys.of(self._dtype)
        return Opaque(self._dtype, known(keys)[1])

    __getitem__ = lookup


# Functions that run as Python, of which arguments tell the shape.
_SHAPED: list[tuple[Any, str]] = [
    (_selection, "sort argsort searchsorted clip_by_norm"),
    (tf_math, "cumsum cumprod top_k in_top_k"),
    (_scatter, "einsum tensordot norm scatter_nd reverse_sequence"),
    (_scatter, "tensor_scatter_nd_add tensor_scatter_nd_sub"),
    (_scatter, "tensor_scatter_nd_update tensor_scatter_nd_max"),
    (linalg, "diag diag_part trace"),
    (image, "sobel_edges extract_patches crop_and_resize ssim psnr"),
    (nn, "avg_pool2d max_pool2d depthwise_conv2d conv2d depth_to_space"),
    (nn, "space_to_depth"),
    (signal, "frame stft rfft mfccs_from_log_mel_spectrograms"),
]
# Whose results depend on data, draw random values, or read what samples are not.
_NOT_TRIED = (
    "_", "bincount", "boolean_mask", "cast", "constant", "convert_to_tensor",
    "decode", "encode", "ensure_shape", "extract_jpeg", "fill", "is_", "random",
    "range", "reshape", "segment", "shape", "size", "stateless", "unique",
    "unsorted", "where", "zeros", "ones", "dims", "eye", "known", "apply",
)  # fmt: skip


_TABLES = (
    lookup.StaticHashTable,
    lookup.StaticVocabularyTable,
    _mutable_tables.MutableHashTable,
    _mutable_tables.DenseHashTable,
)


@functools.cache
def _forms() -> dict[int, Any]:
    forms: dict[Any, Any] = {
        TensorSpec: TensorSpec,
        RaggedTensorSpec: RaggedTensorSpec,
        _functions.py_function: _py_function,
        _functions.numpy_function: _numpy_function,
        _layout.ensure_shape: _ensure_shape,
        _layout.reshape: _reshape,
        _layout.shape: _shape,
        _making.cast: _cast,
        _making.fill: _fill,
        _making.range: _range,
        _selection.where: _where,
        _selection.boolean_mask: _boolean_mask,
        _control.cond: _cond,
        debugging.check_numerics: _like_first(),
        io.parse_tensor: _parse_tensor,
        SparseTensor: Kind("tf.SparseTensor", SparseTensor.__penstock_kind__, _sparse),
        sparse.from_dense: _from_dense,
        strings.bytes_split: _pieces("string"),
        strings.unicode_split: _pieces("string"),
        strings.unicode_decode: _pieces("int32"),
        strings.unicode_script: _like_first("int32"),
        random.gamma: _gamma,
        random.uniform: _native_or(random.uniform, _random()),
        random.normal: _native_or(random.normal, _random()),
        random.truncated_normal: _random(),
        random.categorical: _categorical,
        random.shuffle: _native_or(random.shuffle, _like_first()),
        strings.to_number: _native_or(strings.to_number, _numbers),
        image.pad_to_bounding_box: _native_or(
            image.pad_to_bounding_box, _pad_to_bounding_box
        ),
        sparse.to_dense: _to_dense,
        _layout.squeeze: _native_or(_layout.squeeze, _squeeze),
        image.random_crop: _native_or(image.random_crop, _random_crop),
        strings.regex_full_match: _like_first("bool"),
        strings.unicode_transcode: _like_first("string"),
        strings.format: lambda *_, **__: Opaque("string", ()),
        strings.join: _native_or(strings.join, _joined),
        strings.length: _native_or(strings.length, _like_first("int32")),
        io.encode_base64: _like_first("string"),
        io.decode_base64: _like_first("string"),
        audio.decode_wav: _decode_wav,
        _making.zeros: _filled(_making.zeros),
        _making.ones: _filled(_making.ones),
        _layout.concat: _concat,
        **{
            getattr(tf_math, f"reduce_{name}"): _reduced(
                getattr(tf_math, f"reduce_{name}"), dtype
            )
            for name, dtype in (
                ("sum", None),
                ("prod", None),
                ("max", None),
                ("min", None),
                ("any", "bool"),
                ("all", "bool"),
            )
        },
        _making.zeros_like: _native_or(_making.zeros_like, _alike),
        _making.ones_like: _native_or(_making.ones_like, _alike),
        _control.scan: _scan,
        _control.foldl: _fold,
        _control.foldr: _fold,
        _layout.size: _size,
        _control.case: _case,
        _control.switch_case: _switch_case,
        _control.while_loop: _while_loop,
        _control.map_fn: _map_fn,
        _control.vectorized_map: _vectorized_map,
        _control.print_: lambda *_, **__: None,
    }
    for name, real in vars(debugging).items():
        if name.lower().startswith("assert"):
            forms[real] = lambda *_, **__: None
    forms[debugging.assert_all_finite] = forms[debugging.assert_scalar] = _like_first()
    for module, names in _SHAPED:
        for name in names.split():
            real = getattr(module, name)
            forms.setdefault(real, _tried(real))
    for module in (tf_math, nn, image, _layout, _selection, _making):
        for name, real in vars(module).items():
            native = getattr(real, "__penstock_traceable__", False)
            if isinstance(real, type):
                continue
            if native and not name.startswith(_NOT_TRIED):
                forms.setdefault(real, _native_or(real, _tried(real)))
    for name, real in vars(image).items():
        if name.startswith("random_"):
            forms.setdefault(real, _native_or(real, _like_first()))
    for module in (image, random):
        for name, real in vars(module).items():
            if name.startswith("stateless"):
                forms[real] = _drawn(real)
    forms[random.split] = _native_or(random.split, _tried(random.split))
    forms[random.fold_in] = _native_or(random.fold_in, _tried(random.fold_in))
    for name in "lower upper strip substr".split():
        real = getattr(strings, name)
        forms[real] = _native_or(real, _like_first("string"))
    forms[strings.split] = _native_or(strings.split, _pieces("string"))
    forms[strings.regex_replace] = forms[strings.as_string] = _like_first("string")
    for name in "to_hash_bucket_fast to_hash_bucket_strong".split():
        forms[getattr(strings, name)] = _like_first("int64")
    return {id(function): form for function, form in forms.items()}


def form_of(value: Any) -> Any:
    """What stands for `value` in such a trace, None if it stands for itself."""
    from penstock.tf._opaque_objects import object_form

    if isinstance(value, _TABLES):
        return Table(value.value_dtype)
    if isinstance(value, (TensorSpec, RaggedTensorSpec)):
        return value
    made = object_form(value)
    return _forms().get(id(value)) if made is None else made
