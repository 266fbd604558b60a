"""NumPy's functions on traced values: shapes, reductions, selection."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock._trace_errors import refuse
from penstock._trace_numpy import (
    as_constant,
    cast,
    constant_call,
    emit,
    fresh,
    is_weak,
    lift,
    placed,
    strong,
    ufunc,
)
from penstock._trace_value import Traced, current

# Sums of arrays that need a cast are added in chunks of NumPy's buffer.
_BUFFER = 8192


def dtype_of(dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        refuse(f"{dtype!r} is not a NumPy dtype")
    return found


def plain_ints(values: Any, what: str) -> tuple[int, ...]:
    if isinstance(values, Traced):
        if not values.is_constant:
            refuse(f"{what} depends on data")
        values = values._value.tolist()
    if isinstance(values, (int, np.integer)):
        values = (values,)
    if not isinstance(values, (tuple, list)):
        refuse(f"{what} must be integers")
    return tuple(_plain_int(v, what) for v in values)


def _plain_int(value: Any, what: str) -> int:
    # NumPy takes no truth for a number here.
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        refuse(f"{what} must be integers")
    return int(value.__index__())


def _view(x: Traced, out: Traced, contiguous: bool, c_order: bool) -> Traced:
    """Marks `out` as what NumPy makes a view of `x`."""
    x._owned = False
    out._owned = False
    out._contiguous = contiguous
    out._c_order = c_order
    if out._dims is not None and out.ndim == 0:
        # Of a NumPy scalar its methods give a scalar.
        out._zero_d = x._zero_d or x.ndim > 0
    return out


def _as_array(x: Traced) -> Traced:
    """Marks what NumPy gives as an array where it has no dimensions, too.

    A front end's own tensors are no NumPy scalars in the first place.
    """
    if x.ndim == 0 and current().dialect is None:
        x._zero_d = True
    return x


def _only_constants(*values: Any) -> bool:
    return not builtins.any(isinstance(v, Traced) and not v.is_constant for v in values)


# --- shapes -----------------------------------------------------------------


def reshape(x: Any, *shape: Any, order: str = "C", **kwargs: Any) -> Traced:
    if kwargs.keys() - {"shape", "newshape"} or order != "C":
        refuse("reshape in another order than C")
    if kwargs:
        shape = (next(iter(kwargs.values())),)
    x = strong(x)
    if len(shape) == 1 and isinstance(shape[0], (tuple, list, Traced)):
        dims = plain_ints(shape[0], "a shape")
    else:
        dims = plain_ints(shape, "a shape")
    if x.is_constant:
        return constant_call(lambda a: np.reshape(a, dims), [x])
    out = emit("reshape", x, ints=dims)
    if not x._contiguous:
        # A copy in NumPy, or a view with strides; neither is to be written to.
        x._owned = out._owned = False
        return out
    return _view(x, out, True, True)


def ravel(x: Any, order: str = "C") -> Traced:
    if order != "C":
        refuse("ravel in another order than C")
    return reshape(x, -1)


def flatten(x: Any, order: str = "C") -> Traced:
    return copy(ravel(x, order))


def copy(x: Any, order: str = "C") -> Traced:
    x = strong(x)
    return x if x.is_constant else fresh(x)


def transpose(x: Any, *axes: Any) -> Traced:
    x = strong(x)
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = tuple(axes[0] or ())
    rank = x.ndim
    perm = plain_ints(tuple(axes), "axes") or tuple(reversed(range(rank)))
    if len(perm) != rank:
        refuse("axes do not match the array")
    perm = tuple(a + rank if a < 0 else a for a in perm)
    if x.is_constant:
        return constant_call(lambda a: np.transpose(a, perm), [x])
    if perm == tuple(range(rank)):
        return _view(x, fresh(x), x._contiguous, x._c_order)
    return _view(x, emit("transpose", x, ints=perm), False, False)


def swapaxes(x: Any, axis1: Any, axis2: Any) -> Traced:
    x = strong(x)
    perm = list(range(x.ndim))
    (a,), (b,) = _places(x, axis1), _places(x, axis2)
    perm[a], perm[b] = perm[b], perm[a]
    return transpose(x, tuple(perm))


def moveaxis(x: Any, source: Any, destination: Any) -> Traced:
    x = strong(x)
    rank = x.ndim
    sources, targets = _places(x, source), _places(x, destination)
    if len(sources) != len(targets):
        refuse("moveaxis of as many axes as places")
    order = [a for a in range(rank) if a not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return transpose(x, tuple(order))


def expand_dims(x: Any, axis: Any) -> Traced:
    x = strong(x)
    axes = plain_ints(axis, "axis")
    if x.is_constant:
        return constant_call(lambda a: np.expand_dims(a, axes), [x])
    out = emit("expand_dims", x, ints=axes)
    return _view(x, out, x._contiguous, x._c_order)


def squeeze(x: Any, axis: Any = None) -> Traced:
    x = strong(x)
    if axis is None:
        axes = tuple(i for i, d in enumerate(x.dims()) if d == 1)
    else:
        axes = plain_ints(axis, "axis")
    if x.is_constant:
        return constant_call(lambda a: np.squeeze(a, axes), [x])
    out = emit("squeeze", x, ints=axes)
    return _view(x, out, x._contiguous, x._c_order)


def broadcast_to(x: Any, shape: Any) -> Traced:
    x = strong(x)
    dims = plain_ints(shape, "a shape")
    if x.is_constant:
        return constant_call(lambda a: np.broadcast_to(a, dims), [x])
    return _as_array(_view(x, emit("broadcast_to", x, ints=dims), False, False))


def flip(x: Any, axis: Any = None) -> Traced:
    x = strong(x)
    chosen = _axes(x, axis)
    steps = (-1 if i in chosen else None for i in range(x.ndim))
    flipped: Traced = x[tuple(slice(None, None, step) for step in steps)]
    return flipped


def _places(x: Traced, axes: Any) -> tuple[int, ...]:
    """Axes counted from the front."""
    found = plain_ints(axes, "axes")
    for a in found:
        if not -x.ndim <= a < x.ndim:
            refuse(f"axis {a} is out of bounds")
    return tuple(a % x.ndim for a in found)


def fliplr(x: Any) -> Traced:
    return flip(x, 1)


def flipud(x: Any) -> Traced:
    return flip(x, 0)


# --- several arrays -----------------------------------------------------------


def _common(values: Sequence[Any]) -> list[Traced]:
    """Operands in the dtype that np.result_type gives them together."""
    lifted = [strong(v) for v in values]
    if not lifted:
        refuse("an empty list of arrays")
    dtype = np.result_type(*(x.dtype for x in lifted))
    return [cast(x, dtype) for x in lifted]


def concatenate(arrays: Any, axis: Any = 0) -> Traced:
    if isinstance(arrays, Traced):
        arrays = list(arrays)
    if axis is None:
        if builtins.any(is_weak(a) for a in arrays):
            refuse("np.concatenate of Python numbers, which are weak there")
        arrays, axis = [ravel(a) for a in arrays], 0
    parts = _common(arrays)
    if _only_constants(*parts):
        return as_constant(np.concatenate([p._value for p in parts], axis=axis))
    out = emit("concat", *parts, ints=plain_ints(axis, "axis"))
    # NumPy chooses the layout by the inputs': C unless all are transposed.
    return placed(out, parts)


def stack(arrays: Any, axis: int = 0) -> Traced:
    if isinstance(arrays, Traced):
        arrays = list(arrays)
    parts = [strong(a) for a in arrays]
    for part in parts:
        if part._dims != parts[0]._dims:
            refuse("arrays of different shapes are stacked")
    return concatenate([expand_dims(fresh_or(p), axis) for p in parts], axis)


def fresh_or(x: Traced) -> Traced:
    """So that a view for internal use does not count as one."""
    if x.is_constant:
        return x
    out = fresh(x)
    out._contiguous, out._c_order = x._contiguous, x._c_order
    return out


def split(x: Any, sections: Any, axis: int = 0) -> list[Traced]:
    x = strong(x)
    axis = _places(x, axis)[0]
    size = x.shape[axis]
    if isinstance(sections, Traced) and sections.is_constant:
        sections = sections._value.tolist()
    if isinstance(sections, int):
        sections = _plain_int(sections, "sections")
        if sections <= 0 or size % sections:
            refuse("array split does not result in an equal division")
        bounds = [size // sections * i for i in range(1, sections)]
    else:
        bounds = list(plain_ints(sections, "sections"))
    edges = [0, *bounds, size]
    lead = (slice(None),) * axis
    return [x[(*lead, slice(edges[i], edges[i + 1]))] for i in range(len(edges) - 1)]


def array(values: Any, dtype: Any = None, **kwargs: Any) -> Traced:
    if kwargs:
        refuse(f"np.array with {', '.join(kwargs)}")
    kind = None if dtype is None else dtype_of(dtype)
    if isinstance(values, (list, tuple)):
        return _array_of(values, kind)
    out = fresh_or(values) if isinstance(values, Traced) else strong(values)
    if kind is not None:
        if not isinstance(values, Traced):
            return as_constant(np.array(values, dtype=kind))
        out = cast(out, kind)
    return _as_array(out)


def _array_of(values: Any, dtype: np.dtype[Any] | None) -> Traced:
    """A list as an array. NumPy casts each of its values to a dtype that is given,
    not all of them to their common one first."""
    parts = [_array_of(v, dtype) if isinstance(v, (list, tuple)) else v for v in values]
    if not builtins.any(isinstance(p, Traced) for p in parts):
        return as_constant(np.array(parts, dtype=dtype))
    if dtype is not None:
        parts = [_item(p, dtype) for p in parts]
    return stack(parts)


def _item(value: Any, dtype: np.dtype[Any]) -> Traced:
    """A value of a list that NumPy makes an array of this dtype."""
    if not isinstance(value, (Traced, np.generic, np.ndarray)):
        try:
            return as_constant(np.array(value, dtype=dtype))
        except (OverflowError, ValueError) as error:
            refuse(str(error))
    value = strong(value)
    scalar = value.ndim == 0 and not value._zero_d
    if scalar and dtype.kind == "i" and not np.can_cast(value.dtype, dtype, "safe"):
        refuse(f"np.array of {value.dtype} as {dtype}: one that does not fit raises")
    return cast(value, dtype)


def copied(x: Any, order: str = "K") -> Traced:
    """np.copy, which gives an array of a scalar, and keeps an array's layout."""
    if order != "K":
        refuse("np.copy in another order than K")
    return array(x)


def asarray(values: Any, dtype: Any = None) -> Traced:
    if isinstance(values, Traced) and (
        dtype is None or values.dtype == dtype_of(dtype)
    ):
        scalar = values.ndim == 0 and not values._zero_d
        return array(values) if scalar else values
    return array(values, dtype)


# --- reductions -----------------------------------------------------------------


def _axes(x: Traced, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    if isinstance(axis, list):
        refuse("axis must be an integer or a tuple")
    return tuple(sorted(_places(x, axis)))


def _check(out: Any, where: Any = None, initial: Any = None) -> None:
    if out is not None or where is not None or initial is not None:
        refuse("a reduction with out, where or initial")


def _check_order(x: Traced, name: str) -> None:
    if x.dtype.kind == "f" and not x._contiguous:
        refuse(
            f"{name} of a float array that is not contiguous: the order of "
            "additions would differ"
        )


def _reduce(name: str, x: Traced, axes: tuple[int, ...], keepdims: bool) -> Traced:
    return emit(name, x, ints=axes, keepdims=bool(keepdims))


def sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    where: Any = None,
    initial: Any = None,
) -> Traced:
    return _accumulate("sum", np.add, x, axis, dtype, out, keepdims, where, initial)


def prod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    where: Any = None,
    initial: Any = None,
) -> Traced:
    return _accumulate(
        "prod", np.multiply, x, axis, dtype, out, keepdims, where, initial
    )


def _accumulate(
    name: str,
    function: Any,
    x: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    where: Any,
    initial: Any,
) -> Traced:
    _check(out, where, initial)
    x = strong(x)
    axes = _axes(x, axis)
    if dtype is None:
        wanted = x.dtype
        if x.dtype.kind in "bi" and x.dtype.itemsize < 8:
            wanted = np.dtype(np.int64)
        elif x.dtype.kind == "u" and x.dtype.itemsize < 8:
            wanted = np.dtype(np.uint64)
    else:
        wanted = dtype_of(dtype)
    if x.is_constant:
        return constant_call(
            lambda a: function.reduce(a, axis=axes, dtype=wanted, keepdims=keepdims),
            [x],
        )
    _check_order(x, name)
    if wanted.kind == "f" and (wanted != x.dtype or wanted.itemsize == 2):
        if wanted.itemsize == 2 or x.size > _BUFFER or len(axes) != x.ndim:
            if x.ndim:
                refuse(f"{name} of {x.dtype} as {wanted}: NumPy adds it in chunks")
    return _reduce(name, cast(x, wanted), axes, keepdims)


def mean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    where: Any = None,
) -> Traced:
    _check(out, where)
    x = strong(x)
    axes = _axes(x, axis)
    if x.is_constant:
        numpy_mean: Any = np.mean
        return constant_call(
            lambda a: numpy_mean(a, axis=axes, dtype=dtype, keepdims=keepdims), [x]
        )
    if dtype is not None:
        refuse("mean with a dtype")
    count = 1
    for a in axes:
        count *= x.shape[a]
    if x.dtype.kind in "biu":
        # Exact in any order while the sum fits 53 bits, which NumPy does too.
        if x.dtype.itemsize == 8 and x.ndim:
            wide = cast(x, np.float64)
            if x.size > _BUFFER or len(axes) != x.ndim:
                refuse("mean of 64-bit integers: NumPy adds it in chunks")
        else:
            wide = cast(x, np.float64)
        total = _reduce("sum", wide, axes, keepdims)
    elif x.dtype == np.float16:
        if x.ndim:
            refuse("mean of float16: NumPy adds it in chunks")
        total = _reduce("sum", cast(x, np.float32), axes, keepdims)
    else:
        _check_order(x, "mean")
        total = _reduce("sum", x, axes, keepdims)
    kept = total.dtype
    divided = ufunc("divide", cast(total, np.float64), float(count))
    result = cast(cast(divided, kept), np.float16 if x.dtype == np.float16 else kept)
    return result


def _extreme(name: str, x: Any, axis: Any, out: Any, keepdims: bool) -> Traced:
    _check(out)
    x = strong(x)
    axes = _axes(x, axis)
    if x.is_constant:
        return constant_call(
            lambda a: getattr(np, name)(a, axis=axes, keepdims=keepdims), [x]
        )
    return _reduce(name, x, axes, keepdims)


def max(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Traced:
    return _extreme("max", x, axis, out, keepdims)


def min(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Traced:
    return _extreme("min", x, axis, out, keepdims)


def any(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Traced:
    return _extreme("any", x, axis, out, keepdims)


def all(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Traced:
    return _extreme("all", x, axis, out, keepdims)


def _arg(name: str, x: Any, axis: Any, out: Any, keepdims: bool) -> Traced:
    _check(out)
    if keepdims:
        refuse(f"{name} with keepdims")
    x = strong(x)
    if x.is_constant:
        return constant_call(lambda a: getattr(np, name)(a, axis=axis), [x])
    if axis is None:
        return emit(name, emit("reshape", x, ints=(-1,)), ints=(0,))
    return emit(name, x, ints=_axes(x, axis))


def argmax(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Traced:
    return _arg("argmax", x, axis, out, keepdims)


def argmin(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Traced:
    return _arg("argmin", x, axis, out, keepdims)


# --- selection --------------------------------------------------------------------


def astype(x: Any, dtype: Any, copy: bool = True, **kwargs: Any) -> Traced:
    if (
        kwargs.keys() - {"order", "casting"}
        or kwargs.get("casting", "unsafe") != "unsafe"
    ):
        refuse("astype with these options")
    x = strong(x)
    out = cast(x, dtype_of(dtype))
    if out is x and copy and not x.is_constant:
        out = fresh_or(x)
    if out is not x:
        out._zero_d = x._zero_d
    return out


def where(condition: Any, *choices: Any) -> Traced:
    if len(choices) != 2:
        refuse("where() of a condition alone has a shape that depends on data")
    condition = strong(condition)
    if condition.dtype != np.bool_:
        condition = ufunc(
            "not_equal", condition, as_constant(np.zeros((), condition.dtype))
        )
    yes, no = (lift(c) for c in choices)
    dtype = np.result_type(
        *(c.dtype if isinstance(c, Traced) else c for c in (yes, no))
    )
    operands = [condition]
    for choice in (yes, no):
        if is_weak(choice):
            try:
                choice = as_constant(np.array(choice, dtype=dtype))
            except OverflowError as error:
                refuse(str(error))
        operands.append(cast(choice, dtype))
    if _only_constants(*operands):
        return constant_call(np.where, operands)
    return _as_array(placed(emit("where", *operands), operands))


def clip(x: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Traced:
    a_min = kwargs.pop("min", a_min)
    a_max = kwargs.pop("max", a_max)
    if kwargs:
        refuse("clip with out or a dtype")
    x = strong(x)
    if a_min is None and a_max is None:
        refuse("clip without bounds")
    if a_max is None:
        return ufunc("maximum", x, a_min)
    if a_min is None:
        return ufunc("minimum", x, a_max)
    low, high = lift(a_min), lift(a_max)
    kinds = tuple(v.dtype if isinstance(v, Traced) else type(v) for v in (x, low, high))
    clip_ufunc = np._core.umath.clip  # type: ignore[attr-defined]
    try:
        dtype = clip_ufunc.resolve_dtypes((*kinds, None))[0]
    except TypeError as error:
        refuse(str(error))
    if _only_constants(x, low, high):
        return constant_call(np.clip, [x, low, high])
    operands = []
    for value in (x, low, high):
        if is_weak(value):
            # Bounds beyond the dtype are no bounds to NumPy.
            try:
                value = as_constant(np.array(value, dtype=dtype))
            except OverflowError:
                refuse("clip bounds do not fit the dtype")
        operands.append(cast(value, dtype))
    bounds = operands[1:]
    if dtype.kind == "f" and current().dialect is None:
        if builtins.any(bound.ndim for bound in bounds):
            # It keeps the value's zero beside single bounds, the bound's else.
            refuse("clip: which zero NumPy gives depends on how bounds lie")
    return placed(emit("clip", *operands), operands)


def round(x: Any, decimals: int = 0, out: Any = None) -> Traced:
    _check(out)
    x = strong(x)
    if x.is_constant:
        return constant_call(lambda a: np.round(a, decimals), [x])
    if x.dtype.kind == "b":
        refuse("round of bool")
    if x.dtype.kind in "iu":
        if decimals < 0:
            refuse("round of integers to tens")
        return fresh_or(x)
    if decimals == 0:
        return ufunc("rint", x)
    scale = float(10 ** builtins.abs(decimals))
    if decimals > 0:
        return ufunc("divide", ufunc("rint", ufunc("multiply", x, scale)), scale)
    return ufunc("multiply", ufunc("rint", ufunc("divide", x, scale)), scale)


def take(
    x: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise"
) -> Traced:
    _check(out)
    if mode != "raise":
        refuse("take with a mode")
    x = strong(x)
    indices = strong(indices)
    if indices.dtype.kind not in "iu":
        refuse("indices must be integers")
    if _only_constants(x, indices):
        return constant_call(lambda a, i: np.take(a, i, axis=axis), [x, indices])
    if axis is None:
        x, axis = ravel(x), 0
    if indices.dtype == np.uint64:
        refuse("indices of uint64")
    return emit("gather", x, cast(indices, np.int64), ints=plain_ints(axis, "axis"))


def repeat(x: Any, repeats: Any, axis: Any = None) -> Traced:
    x = strong(x)
    if axis is None:
        x, axis = ravel(x), 0
    count = plain_ints(repeats, "repeats")
    if len(count) != 1:
        refuse("repeat with several counts")
    size = x.shape[axis % x.ndim]
    return take(x, np.repeat(np.arange(size), count[0]), axis=axis)


def matmul(a: Any, b: Any) -> Traced:
    a, b = strong(a), strong(b)
    if _only_constants(a, b):
        return constant_call(np.matmul, [a, b])
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind == "f":
        refuse(
            "the bits of NumPy's product of float matrices depend on its "
            "library; ps.matmul has a native form"
        )
    return product(a, b)


def product(a: Any, b: Any) -> Traced:
    """The program's own product of matrices and vectors."""
    a, b = strong(a), strong(b)
    dtype = np.result_type(a.dtype, b.dtype)
    if not 1 <= a.ndim <= 2 or not 1 <= b.ndim <= 2:
        refuse("products of more than two dimensions")
    left = expand_dims(fresh_or(a), 0) if a.ndim == 1 else a
    right = expand_dims(fresh_or(b), 1) if b.ndim == 1 else b
    out = emit("matmul", cast(left, dtype), cast(right, dtype))
    axes = tuple(axis for axis, x in ((0, a), (1, b)) if x.ndim == 1)
    if axes:
        out = emit("squeeze", out, ints=axes)
    out._zero_d = False
    return out


def zeros_like(x: Any, dtype: Any = None) -> Traced:
    return _full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> Traced:
    return _full_like(x, 1, dtype)


def full_like(x: Any, value: Any, dtype: Any = None) -> Traced:
    if isinstance(value, Traced):
        refuse("full_like with a traced value")
    return _full_like(x, value, dtype)


def _full_like(x: Any, value: Any, dtype: Any) -> Traced:
    x = strong(x)
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return as_constant(np.full(x.dims(), value, dtype=kind))


def shape(x: Any) -> Any:
    return strong(x).shape


def ndim(x: Any) -> int:
    return strong(x).ndim


def size(x: Any) -> int:
    return strong(x).size
