"""Values of a trace for the spec alone, and the functions that give them.

What a function of TensorFlow gives that has no native form is an `Opaque`: a
dtype and what is known of the shape. Dtypes must be those that the function gives
when it runs: elements are held against the spec.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._spec import UNKNOWN_SPEC
from penstock._spec import TensorSpec as EngineSpec
from penstock._trace_errors import refuse
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes, untraced
from penstock.tf import (
    _control,
    _functions,
    _layout,
    _making,
    _scatter,
    _selection,
    _structure,
    debugging,
    image,
    io,
    linalg,
    nn,
    sparse,
    strings,
)
from penstock.tf import math as tf_math
from penstock.tf._dataset import Dataset
from penstock.tf._dtypes import as_dtype
from penstock.tf._ragged import SparseTensor
from penstock.tf._shapes import (
    RaggedTensorSpec,
    TensorShape,
    TensorSpec,
    spec_from_tf,
)
from penstock.tf._values import _SMALL, convert_to_tensor, wrap
from penstock.tf.lookup import StaticHashTable, StaticVocabularyTable


class Foreign:
    """Something that a trace may name and must not use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Foreign(f"{self._name}.{name}")

    def _no(self, *_: Any, **__: Any) -> Any:
        refuse(f"uses {self._name}")

    __call__ = __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = _no
    __enter__ = __exit__ = __contains__ = __array__ = __index__ = __float__ = _no


class Opaque:
    """A tensor of which only this is known."""

    __array_ufunc__ = None

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        self._shape = self._shape.merge_with(_static(shape))

    def _no(self, *_: Any, **__: Any) -> Any:
        refuse("uses a value that no trace has")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"uses .{name} of a value that no trace has")

    def __getitem__(self, key: Any) -> Opaque:
        """One of a row, as of a shape."""
        dims = self._shape.dims
        if type(key) is not int or dims is None or not dims:
            refuse("takes a part of a value that no trace has")
        return Opaque(self.dtype, dims[1:])

    __iter__ = __len__ = __bool__ = __setitem__ = __call__ = _no
    __array__ = __index__ = __int__ = __float__ = _no

    def _with(self, other: Any, divides: bool = False) -> Opaque:
        """The result of arithmetic, of which NumPy says the dtype."""
        dims = self._shape.dims
        if isinstance(other, (Opaque, Traced)):
            dims = _broadcast(dims, _known(other)[1])
            other = np.dtype(other.dtype.name)
        elif type(other) not in (int, float):
            refuse("computes with a value that no trace has")
        mine = np.dtype(self.dtype.name)
        if mine.kind not in "iuf":
            refuse(f"computes with {mine} that no trace has")
        made = np.result_type(mine, other)
        if divides and made.kind in "iu":
            made = np.dtype(np.float32 if made in _SMALL else np.float64)
        return Opaque(made, dims)

    def __add__(self, other: Any) -> Opaque:
        return self._with(other)

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __truediv__(self, other: Any) -> Opaque:
        return self._with(other, divides=True)

    __rtruediv__ = __truediv__


def _broadcast(a: Any, b: Any) -> Any:
    """The shape of two operands together, None if it is not known."""
    if a is None or b is None or None in (*a, *b):
        return a if b == () else b if a == () else None
    try:
        return np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        refuse("shapes that do not fit")


class OpaqueRagged(Foreign):
    """A ragged tensor of which only the spec is known."""

    def __init__(self, spec: RaggedTensorSpec) -> None:
        super().__init__("a ragged value that no trace has")
        self.spec = spec


class OpaqueDataset(Foreign):
    """A dataset of which only the spec of its elements is known."""

    def __init__(self, spec: Any) -> None:
        super().__init__("a dataset that no trace has")
        if spec is None or spec is UNKNOWN_SPEC:
            refuse("a dataset of unknown elements")
        self.spec = spec

    def _alike(self, *_: Any, **__: Any) -> OpaqueDataset:
        return OpaqueDataset(self.spec)

    take = skip = repeat = shuffle = prefetch = cache = shard = _alike
    filter = ignore_errors = with_options = take_while = _alike

    def batch(
        self, batch_size: Any, drop_remainder: Any = False, *_: Any, **__: Any
    ) -> OpaqueDataset:
        exact = drop_remainder is True and type(batch_size) is int
        return OpaqueDataset(_stacked(self.spec, batch_size if exact else None))

    def enumerate(self, start: Any = 0, name: Any = None) -> OpaqueDataset:
        return OpaqueDataset((EngineSpec((), "int64"), self.spec))

    def map(self, map_func: Any, *_: Any, **__: Any) -> OpaqueDataset:
        from penstock.tf._foretell import spec_of_result

        given = _value_of(self.spec)
        args = given if type(given) is tuple else (given,)
        return OpaqueDataset(spec_of_result(map_func(*args)))

    def get_single_element(self, name: Any = None) -> Any:
        return _value_of(self.spec)

    def reduce(self, initial_state: Any, reduce_func: Any, name: Any = None) -> Any:
        if isinstance(initial_state, (tuple, list, dict)):
            refuse("a state of several values")
        return Opaque(_known(initial_state)[0])  # its shape may change


class OpaqueSources(Foreign):
    """`tf.data.Dataset`: what a generator gives is known if it is declared."""

    def __init__(self) -> None:
        super().__init__("Dataset")

    def from_generator(
        self,
        generator: Any,
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: Any = None,
    ) -> OpaqueDataset:
        from penstock.tf._sources import _signature

        if output_types is not None:
            output_signature = _signature(output_types, output_shapes)
        if output_signature is None:
            refuse("a generator without a signature")
        return OpaqueDataset(spec_from_tf(output_signature))

    def from_tensors(self, tensors: Any, name: Any = None) -> OpaqueDataset:
        from penstock.tf._foretell import spec_of_result

        return OpaqueDataset(spec_of_result(tensors))


def _value_of(spec: Any) -> Any:
    """An element of a spec."""
    if isinstance(spec, dict):
        return {k: _value_of(s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        return _structure.encode_tuple(spec, [_value_of(s) for s in spec])
    if not isinstance(spec, EngineSpec) or spec.dtype.name == "unknown":
        refuse("an element that no trace has")
    return Opaque(spec.dtype, spec.shape)


def _stacked(spec: Any, size: int | None) -> Any:
    if isinstance(spec, dict):
        return {k: _stacked(s, size) for k, s in spec.items()}
    if isinstance(spec, tuple):
        return _structure.encode_tuple(spec, [_stacked(s, size) for s in spec])
    if not isinstance(spec, EngineSpec):
        refuse("a batch that no trace has")
    shape = None if spec.shape is None else (size, *spec.shape)
    return EngineSpec(shape, spec.dtype)


def _promised(spec: Any) -> Any:
    """The value of a `Tout`."""
    if isinstance(spec, RaggedTensorSpec):
        return OpaqueRagged(spec)
    return Opaque(getattr(spec, "dtype", spec))


def _static(shape: Any) -> Any:
    """A shape that does not depend on data, for TensorShape."""
    if shape is None or isinstance(shape, TensorShape):
        return shape
    try:
        return [None if d is None or d == -1 else operator.index(d) for d in shape]
    except TypeError:
        refuse("a shape that depends on data")


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
    return Opaque(x.dtype, x.shape.merge_with(_static(shape)))


def _reshape(tensor: Any, shape: Any, name: Any = None) -> Any:
    if not isinstance(tensor, Opaque):
        return _layout.reshape(tensor, shape)
    return Opaque(tensor.dtype, _static(shape))


def _cast(x: Any, dtype: Any, name: Any = None) -> Any:
    return Opaque(dtype, x.shape) if isinstance(x, Opaque) else _making.cast(x, dtype)


def _known(value: Any) -> tuple[Any, Any]:
    """(dtype, shape) of a value in a trace; the shape may be None."""
    if isinstance(value, Opaque):
        return value.dtype, value.shape.dims
    if isinstance(value, Traced):
        return as_dtype(value.dtype), value._dims
    if isinstance(value, TracedBytes):
        return as_dtype("string"), value.shape
    if isinstance(value, (Foreign, TracedRagged)):
        refuse("a value that no trace has")
    tensor = convert_to_tensor(value)
    if isinstance(tensor, (Traced, TracedBytes)):
        return _known(tensor)
    return tensor.dtype, tuple(tensor.shape)


def _depends(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_depends(v) for v in value)
    return isinstance(value, Opaque) or (
        isinstance(value, Traced) and not value.is_constant
    )


def _like_first(dtype: Any = None) -> Callable[..., Any]:
    """A function whose result has the shape of its first argument."""

    def form(*args: Any, **named: Any) -> Any:
        first = args[0] if args else next(iter(named.values()), None)
        own, shape = _known(first)
        return Opaque(own if dtype is None else dtype, shape)

    return form


def _native_or(real: Any, form: Any) -> Callable[..., Any]:
    """A native function, or its form where the argument is opaque."""

    def either(*args: Any, **named: Any) -> Any:
        opaque = _has_opaque((*args, *named.values()))
        return (form if opaque else real)(*args, **named)

    return either


def _has_opaque(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_opaque(v) for v in value)
    return isinstance(value, Opaque)


_MOST_SAMPLES = 1 << 20  # values that a function is tried with


def _tried(real: Any) -> Callable[..., Any]:
    """A function of ours whose result's shape follows from its arguments.

    It computes with samples: of two sizes where a dimension is not known, of two
    values where a shape may depend on one. What differs then is not known.
    """

    def form(*args: Any, **named: Any) -> Any:
        if not _depends([*args, *named.values()]):
            return real(*args, **named)
        with untraced():
            results = [
                real(
                    *[_sample(a, size, value) for a in args],
                    **{k: _sample(a, size, value) for k, a in named.items()},
                )
                for size, value in ((2, 1), (3, 1), (2, 2))
            ]
        return _common(results)

    return form


def _sample(value: Any, size: int, fill: int) -> Any:
    """A value of the kind that a trace has."""
    if isinstance(value, Traced) and value.is_constant:
        return wrap(np.asarray(value._value)[()])
    if isinstance(value, (list, tuple)):
        return type(value)([_sample(v, size, fill) for v in value])
    if isinstance(value, (Foreign, TracedBytes, TracedRagged)):
        refuse("a value that no trace has")
    if not isinstance(value, (Opaque, Traced)):
        return value
    dtype, dims = _known(value)
    if dims is None or dtype.name == "string":
        refuse("a value of unknown shape")
    shape = [size if d is None else int(d) for d in dims]
    if math.prod(shape) > _MOST_SAMPLES:
        refuse("a value that is too large to be tried")
    return wrap(np.full(shape, fill, dtype.name)[()])


def _common(results: list[Any]) -> Any:
    """What several results have in common."""
    first = results[0]
    if isinstance(first, (list, tuple)):
        items = [_common(list(part)) for part in zip(*results, strict=True)]
        return items if type(first) is list else _structure.encode_tuple(first, items)
    kinds, shapes = zip(*(_known(r) for r in results))
    if len(set(kinds)) > 1:
        refuse("results of several dtypes")
    if len({len(s) for s in shapes}) > 1:
        return Opaque(kinds[0])
    dims = [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes)]
    return Opaque(kinds[0], dims)


def _pieces(dtype: str) -> Callable[..., Any]:
    """A function that gives a list of the pieces of a string."""

    def form(input: Any, *_: Any, **__: Any) -> Any:
        _, shape = _known(input)
        if shape is None or tuple(shape) != ():
            refuse("pieces of several strings")
        return Opaque(dtype, [None])

    return form


def _shape(input: Any, out_type: Any = None, name: Any = None) -> Any:
    _, shape = _known(input)
    if shape is not None and None not in tuple(shape):
        return _layout.shape(input, out_type)
    dtype = "int32" if out_type is None else out_type
    return Opaque(dtype, [None if shape is None else len(shape)])


def _size(input: Any, out_type: Any = None, name: Any = None) -> Any:
    _, shape = _known(input)
    if shape is not None and None not in tuple(shape):
        return _layout.size(input, "int32" if out_type is None else out_type)
    return Opaque("int32" if out_type is None else out_type, ())


def _fill(dims: Any, value: Any, name: Any = None, layout: Any = None) -> Any:
    if not _depends(dims):
        if not isinstance(value, Opaque):
            return _making.fill(dims, value)
        dims = _static(dims)
    elif isinstance(dims, (list, tuple)):
        dims = [None if _depends(d) else operator.index(d) for d in dims]
    else:
        _, shape = _known(dims)
        if shape is None or len(shape) != 1 or shape[0] is None:
            refuse("dims of unknown rank")
        dims = [None] * shape[0]
    return Opaque(_known(value)[0], dims)


def _range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: Any = None,
    name: Any = "range",
) -> Any:
    given = [start, delta] if limit is None else [start, limit, delta]
    if not _depends(given):
        return _making.range(start, limit, delta, dtype)
    if dtype is None:
        kinds = {_known(v)[0] for v in given if type(v) not in (int, float)}
        if len(kinds) != 1 or float in map(type, given):
            refuse("a range of several dtypes")
        (dtype,) = kinds
    return Opaque(dtype, [None])


def _where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    if x is not None or y is not None:
        return _selection.where(condition, x, y)
    _, shape = _known(condition)
    return Opaque("int64", [None, None if shape is None else len(shape)])


def _boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: Any = None) -> Any:
    dtype, shape = _known(tensor)
    _, places = _known(mask)
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
    (kind, one), (other, two) = _known(a), _known(b)
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
    if not isinstance(elems, (Traced, Opaque)):
        refuse("rows of something else than one tensor")
    _, shape = _known(elems)
    if not shape:
        refuse("rows of unknown shape")
    made = fn(elems[0])
    if isinstance(made, (list, tuple, dict)):
        refuse("rows of several tensors")
    kind, row = _known(made)
    return Opaque(kind, None if row is None else [shape[0], *row])


def _parse_tensor(serialized: Any, out_type: Any, name: Any = None) -> Any:
    return Opaque(out_type)


def _sparse(indices: Any, values: Any, dense_shape: Any) -> Any:
    """A sparse tensor, as the parts that it travels as."""
    dtype, _ = _known(values)
    _, shape = _known(dense_shape)
    if shape is None or len(shape) != 1:
        refuse("a sparse tensor of unknown rank")
    return _sparse_parts(dtype, shape[0])


def _from_dense(tensor: Any, name: Any = None) -> Any:
    dtype, shape = _known(tensor)
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
        return Opaque(self._dtype, _known(keys)[1])

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
]
# Whose results depend on data, draw random values, or read what samples are not.
_NOT_TRIED = (
    "_", "bincount", "boolean_mask", "cast", "constant", "convert_to_tensor",
    "decode", "encode", "ensure_shape", "extract_jpeg", "fill", "is_", "random",
    "range", "reshape", "segment", "shape", "size", "stateless", "unique",
    "unsorted", "where", "zeros", "ones", "dims", "eye", "known", "apply",
)  # fmt: skip


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
        SparseTensor: _sparse,
        sparse.from_dense: _from_dense,
        strings.bytes_split: _pieces("string"),
        strings.unicode_split: _pieces("string"),
        strings.unicode_decode: _pieces("int32"),
        strings.unicode_script: _like_first("int32"),
        _layout.size: _size,
        _control.case: _case,
        _control.switch_case: _switch_case,
        _control.while_loop: _while_loop,
        _control.map_fn: _map_fn,
        _control.vectorized_map: _vectorized_map,
        _control.print_: lambda *_, **__: None,
    }
    for module, names in _SHAPED:
        for name in names.split():
            real = getattr(module, name)
            forms.setdefault(real, _tried(real))
    for module in (tf_math, nn, image, _layout, _selection, _making):
        for name, real in vars(module).items():
            native = getattr(real, "__penstock_traceable__", False)
            if native and not name.startswith(_NOT_TRIED):
                forms.setdefault(real, _native_or(real, _tried(real)))
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
    if isinstance(value, (StaticHashTable, StaticVocabularyTable)):
        return Table(value.value_dtype)
    if isinstance(value, (TensorSpec, RaggedTensorSpec)):
        return value
    if value is Dataset:
        return OpaqueSources()
    return _forms().get(id(value))
