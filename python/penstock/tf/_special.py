"""More of `tf.math`: special functions, segments, checks. They run as Python."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import apply, eager_only, operand, traceable
from penstock.tf._dtypes import int32, numpy_dtype
from penstock.tf._values import convert_to_tensor, wrap


def array_of(op: str, *values: Any) -> Any:
    """The arrays of tensors; a traced function that needs them is refused."""
    eager_only(op, *values)
    made = [np.asarray(convert_to_tensor(v)) for v in values]
    return made[0] if len(made) == 1 else made


def _each(name: str, what: str, function: Callable[[float], float]) -> Any:
    compute = np.vectorize(function, otypes=[np.float64])

    def call(x: Any, name: str | None = None) -> Any:
        values = array_of(call.__name__, x)
        return wrap(np.asarray(compute(values)).astype(values.dtype)[()])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{what}, of each value."
    return traceable(call)


def _lgamma(x: float) -> float:
    try:
        return python_math.lgamma(x)
    except (OverflowError, ValueError):
        return float("inf")


erf = _each("erf", "The error function", python_math.erf)
erfc = _each("erfc", "1 minus the error function", python_math.erfc)
lgamma = _each("lgamma", "The logarithm of the gamma function", _lgamma)


def _no_zero(name: str, what: str, function: Callable[[Any, Any], Any]) -> Any:
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        a, b = array_of(call.__name__, operand(x, y), operand(y, x))
        kind = np.result_type(a, b)
        with np.errstate(all="ignore"):
            made = function(a.astype(kind), b.astype(kind))
        return wrap(np.asarray(made).astype(kind)[()])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = what
    return traceable(call)


xlogy = _no_zero(
    "xlogy",
    "x * log(y), and 0 where x is.",
    lambda x, y: np.where(x == 0, 0, x * np.log(y)),
)
xlog1py = _no_zero(
    "xlog1py",
    "x * log1p(y), and 0 where x is.",
    lambda x, y: np.where(x == 0, 0, x * np.log1p(y)),
)
xdivy = _no_zero(
    "xdivy", "x / y, and 0 where x is.", lambda x, y: np.where(x == 0, 0, x / y)
)
multiply_no_nan = _no_zero(
    "multiply_no_nan",
    "x * y, and 0 where y is.",
    lambda x, y: np.where(y == 0, 0, x * y),
)
_next = _no_zero("nextafter", "The next number towards y.", np.nextafter)


@traceable
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Any:
    """The next number from x1 towards x2."""
    return _next(x1, x2)


@traceable
def reciprocal_no_nan(x: Any, name: str | None = None) -> Any:
    """1 / x, and 0 where x is."""
    values = array_of("reciprocal_no_nan", x)
    with np.errstate(all="ignore"):
        made = np.where(values == 0, 0, 1 / values)
    return wrap(made.astype(values.dtype)[()])


@traceable
def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """The logarithm of the softmax along an axis, the last by default."""
    from penstock.tf import math

    at = -1 if axis is None else axis
    x = convert_to_tensor(logits)
    shifted = x - math.reduce_max(x, at, True)
    return shifted - math.log(math.reduce_sum(math.exp(shifted), at, True))


@traceable
def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """The logarithm of the sigmoid."""
    from penstock.tf import math

    return -math.softplus(-convert_to_tensor(x))


@traceable
def softsign(features: Any, name: str | None = None) -> Any:
    """x / (1 + |x|)."""
    x = convert_to_tensor(features)
    return x / (apply("absolute", x) + 1)


@traceable
def zero_fraction(value: Any, name: str | None = None) -> Any:
    """The share of zeros."""
    values = array_of("zero_fraction", value)
    return wrap(np.float32(np.mean(values == 0) if values.size else np.nan))


@traceable
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """`x` times a number."""
    return apply("multiply", operand(scalar, x), convert_to_tensor(x))


@traceable
def polyval(coeffs: Any, x: Any, name: str | None = None) -> Any:
    """A polynomial, by its coefficients from the highest power."""
    x = convert_to_tensor(x)
    if not coeffs:
        return apply("multiply", x, 0)
    total = convert_to_tensor(coeffs[0])
    for coefficient in coeffs[1:]:
        total = total * x + coefficient
    return total


@traceable
def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Any:
    """The sum of tensors."""
    total = convert_to_tensor(inputs[0])
    for x in inputs[1:]:
        total = total + convert_to_tensor(x)
    return total


@traceable
def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Whether no value is smaller than the one before."""
    flat = array_of("is_non_decreasing", x).reshape(-1)
    return wrap(np.bool_(np.all(flat[1:] >= flat[:-1])))


@traceable
def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Whether every value is larger than the one before."""
    flat = array_of("is_strictly_increasing", x).reshape(-1)
    return wrap(np.bool_(np.all(flat[1:] > flat[:-1])))


@traceable
def invert_permutation(x: Any, name: str | None = None) -> Any:
    """Where each number from 0 is.

    >>> import penstock.tf as tf
    >>> tf.math.invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    order = array_of("invert_permutation", x)
    if sorted(order.tolist()) != list(range(len(order))):
        raise InvalidArgumentError(f"invert_permutation: {order} is no permutation")
    return wrap(np.argsort(order).astype(order.dtype))


@traceable
def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Any:
    """Whether the target is among the `k` largest predictions of its row."""
    wanted, scores = array_of("in_top_k", targets, predictions)
    own = scores[np.arange(len(wanted)), wanted]
    larger = (scores > own[:, None]).sum(-1)
    return wrap((larger < int(k)) & np.isfinite(own))


@traceable
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Any:
    """How often each label was predicted as each class."""
    rows, columns = array_of("confusion_matrix", labels, predictions)
    count = int(num_classes or 1 + max(rows.max(initial=-1), columns.max(initial=-1)))
    out = np.zeros((count, count), numpy_dtype(dtype))
    np.add.at(out, (rows, columns), 1 if weights is None else np.asarray(weights))
    return wrap(out)


@traceable
def cumulative_logsumexp(
    x: Any,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """log(sum(exp(x))) of all values up to each."""
    values = np.moveaxis(array_of("cumulative_logsumexp", x), int(axis), 0)
    if reverse:
        values = values[::-1]
    made = np.logaddexp.accumulate(values, 0).astype(values.dtype)
    if exclusive:
        lowest = np.full_like(made[:1], np.finfo(made.dtype).min)
        made = np.concatenate([lowest, made[:-1]])
    return wrap(np.moveaxis(made[::-1] if reverse else made, 0, int(axis)))


# --- segments -------------------------------------------------------------------------


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


def _unsorted(name: str, what: str, ufunc: Any, empty: Callable[[Any], Any]) -> Any:
    def call(
        data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
    ) -> Any:
        values, ids = array_of(call.__name__, data, segment_ids)
        inner = values.shape[ids.ndim :]
        out = np.full((int(num_segments), *inner), empty(values.dtype), values.dtype)
        chosen = ids.reshape(-1) >= 0  # negative ones are left out
        flat = values.reshape((-1, *inner))
        ufunc.at(out, ids.reshape(-1)[chosen], flat[chosen])
        return wrap(out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{what} of the rows of each segment, in any order."
    return traceable(call)


unsorted_segment_sum = _unsorted(
    "unsorted_segment_sum", "Sums", np.add, lambda dtype: 0
)
unsorted_segment_prod = _unsorted(
    "unsorted_segment_prod", "Products", np.multiply, lambda dtype: 1
)
unsorted_segment_max = _unsorted(
    "unsorted_segment_max", "Largest values", np.maximum, _lowest
)
unsorted_segment_min = _unsorted(
    "unsorted_segment_min", "Smallest values", np.minimum, _highest
)


def _counts(data: Any, ids: Any, num_segments: Any) -> Any:
    ids = np.asarray(ids)
    counts = np.bincount(ids[ids >= 0].reshape(-1), minlength=int(num_segments))
    inner = np.asarray(convert_to_tensor(data)).ndim - ids.ndim
    return np.maximum(counts, 1).reshape((-1,) + (1,) * inner)


@traceable
def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Means of the rows of each segment, in any order."""
    total = np.asarray(unsorted_segment_sum(data, segment_ids, num_segments))
    made = total / _counts(data, segment_ids, num_segments)
    return wrap(made.astype(total.dtype))


@traceable
def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Sums divided by the root of how many there are."""
    total = np.asarray(unsorted_segment_sum(data, segment_ids, num_segments))
    made = total / np.sqrt(_counts(data, segment_ids, num_segments))
    return wrap(made.astype(total.dtype))


@traceable
def truncatemod(x: Any, y: Any, name: str | None = None) -> Any:
    """What is left of a division that cuts off: it has the sign of `x`."""
    a, b = array_of("truncatemod", operand(x, y), operand(y, x))
    return wrap(np.asarray(np.fmod(a, b))[()])
