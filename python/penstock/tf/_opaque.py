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
    random,
    sparse,
    strings,
)
from penstock.tf import math as tf_math
from penstock.tf._opaque_value import Foreign, Opaque, known, static
from penstock.tf._ragged import SparseTensor
from penstock.tf._shapes import RaggedTensorSpec, TensorSpec
from penstock.tf._values import convert_to_tensor, wrap
from penstock.tf.lookup import StaticHashTable, StaticVocabularyTable


class OpaqueRagged(Foreign):
    """A ragged tensor of which only the spec is known."""

    def __init__(self, spec: RaggedTensorSpec) -> None:
        super().__init__("a ragged value that no trace has")
        self.spec = spec


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
    if not isinstance(tensor, Opaque):
        return _layout.reshape(tensor, shape)
    return Opaque(tensor.dtype, static(shape))


def _cast(x: Any, dtype: Any, name: Any = None) -> Any:
    return Opaque(dtype, x.shape) if isinstance(x, Opaque) else _making.cast(x, dtype)


def depends(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(depends(v) for v in value)
    return isinstance(value, Opaque) or (
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
        opaque = _has_opaque((*args, *named.values()))
        return (form if opaque else real)(*args, **named)

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
    values where a shape may depend on one. What differs then is not known.
    """

    def form(*args: Any, **named: Any) -> Any:
        if not depends([*args, *named.values()]):
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
    dtype, dims = known(value)
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
    kinds, shapes = zip(*(known(r) for r in results))
    if len(set(kinds)) > 1:
        refuse("results of several dtypes")
    if len({len(s) for s in shapes}) > 1:
        return Opaque(kinds[0])
    dims = [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes)]
    return Opaque(kinds[0], dims)


def _pieces(dtype: str) -> Callable[..., Any]:
    """A function that gives a list of the pieces of a string."""

    def form(input: Any, *_: Any, **__: Any) -> Any:
        _, shape = known(input)
        if shape is None or tuple(shape) != ():
            refuse("pieces of several strings")
        return Opaque(dtype, [None])

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
        return _selection.where(condition, x, y)
    _, shape = known(condition)
    return Opaque("int64", [None, None if shape is None else len(shape)])


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
    if not isinstance(elems, (Traced, Opaque)):
        refuse("rows of something else than one tensor")
    _, shape = known(elems)
    if not shape:
        refuse("rows of unknown shape")
    made = fn(elems[0])
    if isinstance(made, (list, tuple, dict)):
        refuse("rows of several tensors")
    kind, row = known(made)
    return Opaque(kind, None if row is None else [shape[0], *row])


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

    if isinstance(value, (StaticHashTable, StaticVocabularyTable)):
        return Table(value.value_dtype)
    if isinstance(value, (TensorSpec, RaggedTensorSpec)):
        return value
    made = object_form(value)
    return _forms().get(id(value)) if made is None else made
