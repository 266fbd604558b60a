"""NumPy's functions on traced values: ufuncs and operators.

The dtypes of a ufunc's loop are asked of NumPy, operands are cast to them, and
the program gets the strictly typed operation. Python scalars are weak, as in
NumPy 2, and must fit the dtype they meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._trace_errors import refuse
from penstock._trace_value import Traced, TracedBytes, current

# Ufuncs whose program operation has the same name.
UFUNCS = (
    "negative absolute sign invert square reciprocal sqrt floor ceil trunc rint "
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
    "tanh arcsinh arccosh arctanh cbrt logical_not isnan isinf isfinite signbit add "
    "subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift copysign power arctan2 "
    "hypot logaddexp equal not_equal less less_equal greater greater_equal "
    "logical_and logical_or logical_xor"
).split()
_COMPARISONS = frozenset(
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
)
# Of the math library: NumPy computes them by another path, with other bits,
# where the values do not lie side by side.
_MATH = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
    "tanh arcsinh arccosh arctanh cbrt power arctan2 hypot logaddexp fmax fmin".split()
)
_INTEGERS_KEEP = frozenset(("floor", "ceil", "trunc"))


def as_constant(value: Any) -> Traced:
    """A NumPy array or scalar as a constant, by value."""
    array = np.array(value, copy=True, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        refuse(f"an array of {array.dtype} has no native form")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array.flags.writeable = False
    traced = Traced(None, array.dtype, array.shape, array)
    if isinstance(value, np.ndarray):
        if not (value.flags.c_contiguous or value.size == 0):
            traced._contiguous = traced._c_order = False
        traced._zero_d = value.ndim == 0
    return traced


def is_weak(value: Any) -> bool:
    return type(value) in (int, float)


def lift(value: Any) -> Any:
    """A Traced, or a Python number as it is."""
    if isinstance(value, Traced) or is_weak(value):
        return value
    if isinstance(value, (bool, np.generic, np.ndarray)):
        return as_constant(value)
    if isinstance(value, (list, tuple)):
        from penstock._trace_methods import array

        return array(value)
    if isinstance(value, TracedBytes):
        refuse("computes with a string")
    refuse(f"computes with a {type(value).__name__}")


def strong(value: Any) -> Traced:
    """A Traced; Python numbers as NumPy's default dtypes."""
    value = lift(value)
    return value if isinstance(value, Traced) else as_constant(np.asarray(value))


def emit(
    op: str,
    *inputs: Traced,
    ints: tuple[int, ...] = (),
    dtype: Any = None,
    keepdims: bool = False,
) -> Traced:
    """One operation of the program."""
    tracer = current()
    number = tracer.add(op, tuple(x._id for x in inputs), ints, dtype, keepdims)
    out_dtype, shape = tracer.program.describe(number)
    out = Traced(number, out_dtype, shape)
    out._owned = True
    return out


def cast(x: Traced, dtype: Any) -> Traced:
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if x.is_constant:
        with np.errstate(all="ignore"):
            out = as_constant(x._value.astype(dtype))
        out._zero_d = False
    else:
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            refuse(f"{dtype} has no native form")
        if x.dtype.kind == "f" and dtype == np.uint32 and (x.ndim or x._zero_d):
            # Single values and arrays differ in NumPy where they do not fit.
            refuse("a float array as uint32")
        out = emit("cast", x, dtype=dtype)
    out._contiguous = out._c_order = x._c_order
    return out


def fit(value: Any, dtype: np.dtype[Any]) -> Traced:
    """An operand in the dtype of the loop."""
    if isinstance(value, Traced):
        return cast(value, dtype)
    try:
        with np.errstate(all="ignore"):
            return as_constant(np.array(value, dtype=dtype))
    except OverflowError as error:
        refuse(str(error))


def ufunc(name: str, *args: Any) -> Traced:
    """np.<name>(*args)."""
    function = getattr(np, name)
    operands = [lift(a) for a in args]
    if not any(isinstance(a, Traced) and not a.is_constant for a in operands):
        return constant_call(function, operands)
    kinds = tuple(a.dtype if isinstance(a, Traced) else type(a) for a in operands)
    try:
        dtypes = function.resolve_dtypes(kinds + (None,) * function.nout)
    except TypeError as error:
        refuse(str(error))
    loop = dtypes[: function.nin]
    if any(d != loop[-1] for d in loop):
        refuse(f"{name} of {' and '.join(map(str, loop))} has no native form")
    if loop[0].kind not in "biuf" or loop[0].itemsize > 8:
        refuse(f"{name} of {loop[0]} has no native form")
    if name in ("fmax", "fmin"):
        if loop[0].kind in "biu":
            name = {"fmax": "maximum", "fmin": "minimum"}[name]
        elif loop[0].itemsize > 2:
            refuse(f"{name}: which zero NumPy gives depends on its neighbours")
    operands = [fit(a, d) for a, d in zip(operands, loop)]
    if name in _MATH and loop[0].kind == "f":
        if any(x.ndim and not x._contiguous for x in operands):
            refuse(f"{name} of an array that is not contiguous")
        if name == "power":
            base, exponent = operands
            return _float_power(
                base,
                exponent,
                casts=any(isinstance(k, np.dtype) and k != loop[0] for k in kinds),
            )
    if name == "positive" or (name in _INTEGERS_KEEP and loop[0].kind in "biu"):
        out = fresh(operands[0])
    else:
        out = emit(name, *operands)
    return placed(out, operands)


def _float_power(a: Traced, b: Traced, casts: bool) -> Traced:
    """np.power of floats, which squares where it sees one exponent of 2.

    It sees that in the strides of its inner loop, which are known here for
    single values, constant exponents and arrays of one shape.
    """
    single = all(x.ndim == 0 or x._dims == (1,) * x.ndim for x in (a, b))
    if single:
        two = as_constant(np.array(2, a.dtype))
        plain = emit("power", a, b)
        squared = emit("square", a)
        return placed(where_equal(b, two, squared, plain), [a, b])
    if casts:
        refuse("power of an array that NumPy casts in chunks")
    same = a._dims == b._dims and None not in (a._dims or (None,))
    if not same and not (b.is_constant and b.ndim == 0):
        refuse("power of arrays of different shapes")
    return placed(emit("power", a, b), [a, b])


def where_equal(x: Traced, y: Traced, yes: Traced, no: Traced) -> Traced:
    return emit("where", emit("equal", x, y), yes, no)


def fresh(x: Traced) -> Traced:
    """The same values as a new array."""
    out = Traced(x._id, x.dtype, x._dims)
    out._owned = True
    return out


def placed(out: Traced, operands: list[Any]) -> Traced:
    """Marks how NumPy would lay out the result of an elementwise operation."""
    ordered = all(x._c_order for x in operands if isinstance(x, Traced))
    out._contiguous = out._c_order = ordered
    return out


def constant_call(function: Any, operands: list[Any]) -> Traced:
    values = [a._value[()] if isinstance(a, Traced) else a for a in operands]
    try:
        with np.errstate(all="ignore"):
            result = function(*values)
    except Exception as error:
        refuse(f"{type(error).__name__}: {error}")
    return as_constant(result)


def operator(name: str, a: Any, b: Any) -> Any:
    """a <op> b, as Python's operators on NumPy values."""
    for value in (a, b):
        if getattr(type(value), "__penstock_tensor__", False):
            return NotImplemented  # it knows what comes of it
        if value is None or isinstance(value, (str, bytes, dict, TracedBytes)):
            refuse(f"computes with a {type(value).__name__}")
    dialect = current().dialect
    if dialect is not None:
        a, b = dialect.operands(name, a, b)
    elif name == "multiply" and _repeats(a, b):
        refuse("repeats a list as often as data says")
    if name == "power":
        return _power(a, b)
    return ufunc(name, a, b)


def _repeats(a: Any, b: Any) -> bool:
    """Whether Python repeats a list or tuple instead of computing with it."""
    if isinstance(a, (list, tuple)):
        a, b = b, a
    return isinstance(b, (list, tuple)) and not (a.ndim or a._zero_d)


def _power(a: Any, b: Any) -> Any:
    a, b = lift(a), lift(b)
    array = any(isinstance(x, Traced) and (x.ndim or x._zero_d) for x in (a, b))
    if array:
        # NumPy computes these exponents of float arrays without pow().
        if isinstance(a, Traced) and is_weak(b) and a.dtype.kind == "f":
            short = {2: "square", 1: "positive", -1: "reciprocal", 0.5: "sqrt"}
            if b in short and a.ndim:
                return ufunc(short[b], a)
        if (
            isinstance(a, Traced)
            and is_weak(b)
            and b == 2
            and a.ndim
            and isinstance(b, int)
            and a.dtype.kind in "biu"
        ):
            return ufunc("square", a)
        return ufunc("power", a, b)
    if not any(isinstance(x, Traced) and not x.is_constant for x in (a, b)):
        return constant_call(lambda x, y: x**y, [a, b])
    kinds = tuple(x.dtype if isinstance(x, Traced) else type(x) for x in (a, b))
    try:
        loop = np.power.resolve_dtypes((*kinds, None))
    except TypeError as error:
        refuse(str(error))
    # NumPy's scalars compute it themselves, with the C library, where one of
    # them has the result's dtype; its ufunc does otherwise.
    own = any(isinstance(x, Traced) and x.dtype == loop[0] for x in (a, b))
    if loop[0].kind != "f" or loop[0].itemsize == 2 or not own:
        return ufunc("power", a, b)
    return emit("scalar_power", fit(a, loop[0]), fit(b, loop[1]))


def inplace(name: str, x: Traced, other: Any) -> Any:
    """x <op>= other. NumPy scalars are rebound, arrays written."""
    if x._dims is not None and x.ndim == 0 and not x._zero_d:
        return operator(name, x, other)
    if not x._owned:
        refuse("writes into an array that it did not make, or that has views")
    result = operator(name, x, other)
    if not np.can_cast(result.dtype, x.dtype, "same_kind"):
        refuse(f"cannot write {result.dtype} into an array of {x.dtype}")
    if result._dims != x._dims:
        refuse("writes a result of another shape into an array")
    result = cast(result, x.dtype)
    x._number = result._id
    x._value = None
    return x
