"""Values of a trace for the spec alone, and the functions that give them.

What a function of TensorFlow gives that has no native form is an `Opaque`: a
dtype and what is known of the shape. Dtypes must be those that the function gives
when it runs: elements are held against the spec.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._spec import UNKNOWN_SPEC
from penstock._spec import TensorSpec as EngineSpec
from penstock._trace_errors import refuse
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes
from penstock.tf import (
    _control,
    _functions,
    _layout,
    _making,
    _selection,
    _structure,
    debugging,
    io,
    sparse,
    strings,
)
from penstock.tf._dataset import Dataset
from penstock.tf._dtypes import as_dtype
from penstock.tf._ragged import SparseTensor
from penstock.tf._shapes import (
    RaggedTensorSpec,
    TensorShape,
    TensorSpec,
    spec_from_tf,
)
from penstock.tf._values import _SMALL, convert_to_tensor
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
        if isinstance(other, (Opaque, Traced)):
            other = np.dtype(other.dtype.name)
        elif type(other) not in (int, float):
            refuse("computes with a value that no trace has")
        mine = np.dtype(self.dtype.name)
        if mine.kind not in "iuf":
            refuse(f"computes with {mine} that no trace has")
        made = np.result_type(mine, other)
        if divides and made.kind in "iu":
            made = np.dtype(np.float32 if made in _SMALL else np.float64)
        return Opaque(made)

    def __add__(self, other: Any) -> Opaque:
        return self._with(other)

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __truediv__(self, other: Any) -> Opaque:
        return self._with(other, divides=True)

    __rtruediv__ = __truediv__


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
        opaque = any(isinstance(a, Opaque) for a in (*args, *named.values()))
        return (form if opaque else real)(*args, **named)

    return either


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
        _control.print_: lambda *_, **__: None,
    }
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
