"""Operations on arrays for functions: native when traced, NumPy when not.

Inside a function that runs natively they become part of its program; anywhere
else they are NumPy's functions under the names that input pipelines use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock import _penstock
from penstock._errors import ArgumentTypeError, InvalidArgumentError

F = TypeVar("F", bound=Callable[..., Any])


def traceable(function: F) -> F:
    """Marks a function of this package that traced functions may call."""
    function.__penstock_traceable__ = True  # type: ignore[attr-defined]
    return function


def _traced(*values: Any) -> bool:
    from penstock._trace_value import Traced, TracedBytes, current_or_none

    if current_or_none() is None:
        return False
    for value in values:
        if isinstance(value, (Traced, TracedBytes)):
            return True
        if isinstance(value, (list, tuple)) and _traced(*value):
            return True
    return False


def _form(name: str, *values: Any) -> Any:
    """The traced or NumPy's function of that name."""
    if _traced(*values):
        from penstock import _trace_inspect

        return _trace_inspect.traced_form(getattr(np, name))
    return getattr(np, name)


def _axes(axis: Any) -> Any:
    """NumPy's functions take several axes as a tuple."""
    return tuple(axis) if isinstance(axis, list) else axis


def _array(x: Any) -> Any:
    """`x` with a shape: a list is an array."""
    if hasattr(x, "shape"):
        return x
    return stack(x) if _traced(x) else np.asarray(x)


def _numpy_dtype(op: str, dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind not in "biuf" and found.kind != "V":
        raise InvalidArgumentError(f"{op}: dtype must be a number's, got {dtype!r}")
    return found


@traceable
def cast(x: Any, dtype: Any) -> Any:
    """`x` in another dtype.

    >>> import numpy as np, penstock as ps
    >>> ps.cast(np.array([1.7, -1.7]), ps.int32)
    array([ 1, -1], dtype=int32)
    """
    kind = _numpy_dtype("cast", dtype)
    if _traced(x):
        return x.astype(kind)
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(kind)[()]


@traceable
def reshape(x: Any, shape: Any) -> Any:
    """`x` with another shape; one dimension may be -1.

    >>> import numpy as np, penstock as ps
    >>> ps.reshape(np.arange(6), (2, -1)).shape
    (2, 3)
    """
    return _form("reshape", x)(x, shape)


@traceable
def transpose(x: Any, perm: Any = None) -> Any:
    """`x` with its axes in another order, reversed by default.

    >>> import numpy as np, penstock as ps
    >>> ps.transpose(np.zeros((2, 3))).shape
    (3, 2)
    """
    return _form("transpose", x)(x, perm)


@traceable
def expand_dims(x: Any, axis: Any) -> Any:
    """`x` with an axis of size 1 more.

    >>> import numpy as np, penstock as ps
    >>> ps.expand_dims(np.zeros(3), -1).shape
    (3, 1)
    """
    return _form("expand_dims", x)(x, axis)


@traceable
def squeeze(x: Any, axis: Any = None) -> Any:
    """`x` without axes of size 1.

    >>> import numpy as np, penstock as ps
    >>> ps.squeeze(np.zeros((1, 3, 1))).shape
    (3,)
    """
    return _form("squeeze", x)(x, _axes(axis))


@traceable
def stack(values: Any, axis: int = 0) -> Any:
    """Arrays of one shape along a new axis.

    >>> import penstock as ps
    >>> ps.stack([1, 2, 3])
    array([1, 2, 3])
    """
    return _form("stack", values)(values, axis)


@traceable
def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """The slices of `x` along an axis.

    >>> import numpy as np, penstock as ps
    >>> len(ps.unstack(np.zeros((4, 2))))
    4
    """
    x = _array(x)
    rank = len(x.shape)
    if rank == 0:
        raise InvalidArgumentError("unstack: x must have an axis, got a scalar")
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"unstack: axis must be from {-rank} to {rank - 1}, got {axis}"
        )
    size = x.shape[axis]
    if num is not None and num != size:
        raise InvalidArgumentError(f"unstack: num must be {size}, got {num}")
    lead = (slice(None),) * (axis % rank)
    return [x[(*lead, i)] for i in range(size)]


@traceable
def concat(values: Any, axis: int = 0) -> Any:
    """Arrays one behind the other along an axis.

    >>> import penstock as ps
    >>> ps.concat([[1, 2], [3]], 0)
    array([1, 2, 3])
    """
    return _form("concatenate", values)(values, axis)


@traceable
def split(x: Any, num_or_size_splits: Any, axis: int = 0) -> list[Any]:
    """`x` in equal parts, or in parts of the given sizes.

    >>> import numpy as np, penstock as ps
    >>> [len(p) for p in ps.split(np.zeros(5), [2, 3])]
    [2, 3]
    """
    if isinstance(num_or_size_splits, int):
        return list(_form("split", x)(x, num_or_size_splits, axis))
    sizes = list(num_or_size_splits)
    x = _array(x)
    total = x.shape[axis]
    if sum(sizes) != total:
        raise InvalidArgumentError(f"split: sizes must add up to {total}, got {sizes}")
    bounds = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return list(_form("split", x)(x, bounds, axis))


@traceable
def gather(params: Any, indices: Any, axis: int = 0) -> Any:
    """Slices of `params` at `indices`.

    >>> import numpy as np, penstock as ps
    >>> ps.gather(np.array([10, 20, 30]), [2, 0])
    array([30, 10])
    """
    return _form("take", params, indices)(params, indices, axis)


@traceable
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`.

    >>> import numpy as np, penstock as ps
    >>> ps.where(np.array([True, False]), 1, 2)
    array([1, 2])
    """
    return _form("where", condition, x, y)(condition, x, y)


@traceable
def clip_by_value(x: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """`x` between two bounds.

    >>> import numpy as np, penstock as ps
    >>> ps.clip_by_value(np.array([-2, 7]), 0, 5)
    array([0, 5])
    """
    form = _form("clip", x, clip_value_min, clip_value_max)
    return form(x, clip_value_min, clip_value_max)


@traceable
def one_hot(
    indices: Any,
    depth: int,
    on_value: Any = 1,
    off_value: Any = 0,
    axis: int = -1,
    dtype: Any = "float32",
) -> Any:
    """A one for each index, zeros elsewhere, along a new axis.

    >>> import penstock as ps
    >>> ps.one_hot(2, 4)
    array([0., 0., 1., 0.], dtype=float32)
    """
    kind = _numpy_dtype("one_hot", dtype)
    if depth < 0:
        raise InvalidArgumentError(f"one_hot: depth must be >= 0, got {depth}")
    if not _traced(indices):
        indices = np.asarray(indices)
    rank = len(indices.shape) + 1
    shape = [1] * rank
    shape[axis] = depth
    numbers = np.arange(depth).reshape(shape)
    hit = _form("equal", indices)(_form("expand_dims", indices)(indices, axis), numbers)
    on, off = (np.asarray(v).astype(kind) for v in (on_value, off_value))
    return _form("where", hit)(hit, on, off)


@traceable
def matmul(a: Any, b: Any) -> Any:
    """The product of two matrices or vectors, summed in order.

    >>> import numpy as np, penstock as ps
    >>> ps.matmul(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    if _traced(a, b):
        from penstock import _trace_methods

        return _trace_methods.product(a, b)
    program = _penstock.Program((_penstock.spec_of(a), _penstock.spec_of(b)))
    from penstock._trace import product_program

    return product_program(program).run((a, b))


def _reduction(name: str, np_name: str, what: str, example: str) -> Any:
    def reduction(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return _form(np_name, x)(x, axis=_axes(axis), keepdims=keepdims)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = (
        f"{what} over all axes or some.\n\n"
        "    >>> import numpy as np, penstock as ps\n"
        f"    >>> {example}\n"
    )
    return traceable(reduction)


_X = "np.array([[1, 2], [3, 4]])"
reduce_sum = _reduction(
    "reduce_sum", "sum", "The sum", f"ps.reduce_sum({_X}, axis=0)\n    array([4, 6])"
)
reduce_prod = _reduction(
    "reduce_prod", "prod", "The product", f"int(ps.reduce_prod({_X}))\n    24"
)
reduce_mean = _reduction(
    "reduce_mean", "mean", "The mean", f"float(ps.reduce_mean({_X}))\n    2.5"
)
reduce_max = _reduction(
    "reduce_max", "max", "The largest value", f"int(ps.reduce_max({_X}))\n    4"
)
reduce_min = _reduction(
    "reduce_min", "min", "The least value", f"int(ps.reduce_min({_X}))\n    1"
)
reduce_any = _reduction(
    "reduce_any",
    "any",
    "Whether any is true",
    f"bool(ps.reduce_any({_X} > 3))\n    True",
)
reduce_all = _reduction(
    "reduce_all",
    "all",
    "Whether all are true",
    f"bool(ps.reduce_all({_X} > 3))\n    False",
)


# Operations whose arguments are files or records, and what they call them.
_OF_BYTES = ("image.decode_", "image.extract_", "io.decode_", "io.parse_")
_PARAMETERS = {
    "image.decode_": "contents",
    "image.extract_": "contents",
    "image.": "image",
    "io.decode_": "bytes",
    "io.parse_": "serialized",
    "io.serialize_": "tensor",
    "strings.": "input",
}


def _bytes_of(value: Any) -> Any:
    """Buffers of bytes as bytes."""
    if isinstance(value, np.void) and value.dtype.names is None:
        return value.tobytes()
    if isinstance(value, memoryview) and value.format in ("B", "b", "c"):
        return value.tobytes()
    return value


def _named(name: str, args: tuple[Any, ...], error: InvalidArgumentError) -> Any:
    """The error of an operation that was called at once, with its name."""
    op = name.rpartition(".")[2]
    for value in args:
        kind = type(value).__name__
        if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
            kind = type(value[()]).__name__
        elif not (value is None or isinstance(value, (tuple, dict))):
            continue
        if kind in ("bytes", "str"):
            continue
        parameter = next(
            (p for prefix, p in _PARAMETERS.items() if name.startswith(prefix)),
            "an argument",
        )
        expected = "bytes" if name.startswith(_OF_BYTES) else "an array"
        return ArgumentTypeError(f"{op}: {parameter} must be {expected}, got {kind}")
    return error if op in str(error) else type(error)(f"{op}: {error}")


def native(name: str, *args: Any, random: bool = False, **attributes: Any) -> Any:
    """Calls the native operation `name`: at once, or in the traced function.

    `args` are tensors, `attributes` constants. An operation that draws random
    values says so, and counts as a draw. Several results come as a tuple.
    """
    from penstock._trace_value import Traced, TracedBytes, current_or_none

    tracer = current_or_none()
    if tracer is None:
        key, call = 0, 0
        if random:
            draw = _penstock.next_draw()
            if draw is None:
                import os

                draw = (int.from_bytes(os.urandom(8), "little"), 0)
            key, call = draw
        if name.startswith(_OF_BYTES):
            args = tuple(map(_bytes_of, args))
        try:
            return _penstock.call_native(name, args, attributes, key, call)
        except InvalidArgumentError as error:
            raise _named(name, args, error) from None

    from penstock._trace_numpy import strong

    def number(value: Any) -> int:
        if isinstance(value, TracedBytes):
            return value._id
        if isinstance(value, (str, bytes)):
            return int(tracer.program.constant(value))
        return strong(value)._id

    call = tracer.next_draw() if random else 0
    node = tracer.add(
        "native",
        tuple(number(a) for a in args),
        (call,),
        None,
        False,
        name,
        attributes,
    )
    results: list[Any] = []
    for i in range(tracer.program.num_results(node)):
        result = tracer.add("result", (node,), (i,))
        dtype, shape = tracer.program.describe(result)
        if dtype == np.dtype(object):
            results.append(TracedBytes(result, shape))
        else:
            traced = Traced(result, dtype, shape)
            traced._owned = True
            results.append(traced)
    return results[0] if len(results) == 1 else tuple(results)


traceable(native)

__all__ = [
    "cast",
    "clip_by_value",
    "concat",
    "expand_dims",
    "gather",
    "matmul",
    "one_hot",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "transpose",
    "unstack",
    "where",
]
