"""Random values of a function, keyed to its element: traced and plain.

A call draws from the stream (seed, epoch, element, number of the call), so a
traced function and the same function called by Python draw the same values.
"""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from penstock import _penstock
from penstock._dtypes import float32
from penstock._errors import ArgumentTypeError, InvalidArgumentError


def _shape(op: str, shape: Any) -> tuple[int, ...]:
    given = (shape,) if isinstance(shape, (int, np.integer)) else shape
    try:
        dims = tuple(map(operator.index, given))
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: shape must be whole numbers, got {shape!r}"
        ) from None
    if any(d < 0 for d in dims):
        raise InvalidArgumentError(f"{op}: shape must be >= 0, got {dims}")
    return dims


def _draw(kind: str, dtype: Any, shape: tuple[int, ...], bound: Any = None) -> Any:
    """The values of the next call: an array, or a traced one."""
    from penstock._trace_value import Traced, current_or_none

    tracer = current_or_none()
    if tracer is not None:
        from penstock._trace_numpy import cast, strong

        kinds = ("uniform", "normal", "below", "permutation")
        inputs: tuple[int, ...] = ()
        if bound is not None:
            inputs = (cast(strong(bound), np.dtype(dtype))._id,)
        number = tracer.add(
            "random",
            inputs,
            (kinds.index(kind), tracer.next_draw(), *shape),
            np.dtype(dtype),
        )
        out = Traced(number, *tracer.program.describe(number))
        out._owned = True
        return out
    draw = _penstock.next_draw()
    key, call = draw or (int.from_bytes(os.urandom(8), "little"), 0)
    limit = 1 if bound is None else int(bound)
    if limit <= 0:
        raise InvalidArgumentError("random: maxval must be above minval")
    if limit >= 2**63:
        limit -= 2**64  # the same bits
    return _penstock.random_values(kind, np.dtype(dtype), key, call, limit, list(shape))


def _float_dtype(op: str, dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found not in (np.float32, np.float64):
        raise InvalidArgumentError(
            f"{op}: dtype must be float32 or float64, got {found}"
        )
    return found


def _whole(value: Any) -> int | None:
    """A number that is known now; None for a traced one."""
    from penstock._trace_value import Traced

    if isinstance(value, Traced):
        if not value.is_constant:
            return None
        value = value._value[()]
    try:
        return operator.index(value)
    except TypeError:
        return None


def _integers(
    dtype: np.dtype[Any], shape: tuple[int, ...], minval: Any, maxval: Any
) -> Any:
    """Whole numbers in [minval, maxval), computed modulo 2**64."""
    from penstock import _ops

    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    low, high = _whole(minval), _whole(maxval)
    for name, value, end in (("minval", low, most), ("maxval", high, most + 1)):
        if value is not None and not least <= value <= end:
            raise InvalidArgumentError(
                f"uniform: {name} must be from {least} to {end} for {dtype}, "
                f"got {value}"
            )
    u64 = np.dtype(np.uint64)
    with np.errstate(over="ignore"):
        if low is not None and high is not None:
            if high <= low:
                raise InvalidArgumentError(
                    "uniform: maxval must be above minval, got "
                    f"minval={minval}, maxval={maxval}"
                )
            if high - low == 2**64:
                upper = _draw("below", u64, shape, np.uint64(2**32))
                lower = _draw("below", u64, shape, np.uint64(2**32))
                return _ops.cast(upper * np.uint64(2**32) + lower, dtype)
            values = _draw("below", u64, shape, np.uint64(high - low))
            return _ops.cast(values + np.uint64(low % 2**64), dtype)
        # A range that is empty, or reaches out of the dtype, has no numbers.
        wide = u64 if dtype == u64 else np.dtype(np.int64)
        first, end = (_ops.cast(v, wide) for v in (minval, maxval))
        some = end > first
        if wide != u64 and dtype != np.int64:
            some = some & (first >= least) & (end <= most + 1)
        reach = _ops.cast(end, u64) - _ops.cast(first, u64)
        values = _draw("below", u64, shape, _ops.where(some, reach, np.uint64(0)))
        return _ops.cast(values + _ops.cast(first, u64), dtype)


def uniform(
    shape: Any = (),
    minval: Any = 0.0,
    maxval: Any = 1.0,
    dtype: Any = float32,
) -> Any:
    """Values in [minval, maxval); integers need a maxval that is one.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(3).map(lambda x: ps.random.uniform((2,)))
    >>> ds.element_spec
    TensorSpec(shape=(2,), dtype=penstock.float32)
    """
    kind = np.dtype(dtype)
    dims = _shape("uniform", shape)
    from penstock import _ops

    if kind.kind in "iu":
        if maxval is None or isinstance(maxval, float):
            raise InvalidArgumentError(
                "uniform: maxval must be given as an integer for integers, "
                f"got {maxval}"
            )
        return _integers(kind, dims, minval, maxval)
    kind = _float_dtype("uniform", dtype)
    values = _draw("uniform", kind, dims)
    if maxval is None:
        maxval = 1
    if type(minval) in (int, float) and type(maxval) in (int, float):
        if minval == 0 and maxval == 1:
            return values
    low, high = _ops.cast(minval, kind), _ops.cast(maxval, kind)
    return values * (high - low) + low


def normal(
    shape: Any = (), mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32
) -> Any:
    """Normally distributed values.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(2).map(lambda x: ps.random.normal((3,), stddev=2.0))
    >>> ds.element_spec
    TensorSpec(shape=(3,), dtype=penstock.float32)
    """
    from penstock import _ops

    kind = _float_dtype("normal", dtype)
    values = _draw("normal", kind, _shape("normal", shape))
    return values * _ops.cast(stddev, kind) + _ops.cast(mean, kind)


def permutation(n: int) -> Any:
    """The numbers 0 .. n - 1 in random order.

    >>> import penstock as ps
    >>> sorted(int(i) for i in ps.random.permutation(4))
    [0, 1, 2, 3]
    """
    try:
        count = operator.index(n)
    except TypeError:
        raise ArgumentTypeError(
            f"permutation: n must be a whole number, got {n!r}"
        ) from None
    if count < 0:
        raise InvalidArgumentError(f"permutation: n must be >= 0, got {count}")
    return _draw("permutation", np.int64, (count,))


def shuffle(x: Any) -> Any:
    """The rows of an array in random order, as a new array.

    >>> import numpy as np, penstock as ps
    >>> sorted(int(v) for v in ps.random.shuffle(np.array([3, 1, 2])))
    [1, 2, 3]
    """
    from penstock import _ops

    return _ops.gather(x, permutation(len(x)))


for _function in (uniform, normal, permutation, shuffle):
    setattr(_function, "__penstock_traceable__", True)  # noqa: B010
