"""`tf.math`: arithmetic, comparisons, reductions. Also found in `tf` itself.

>>> import penstock.tf as tf
>>> tf.math.log(tf.constant([1.0])).numpy(), tf.reduce_sum([1, 2, 3]).numpy()
(array([0.], dtype=float32), np.int32(6))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock import _ops as engine_ops
from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced
from penstock.tf import _missing, _ragged_ops
from penstock.tf._apply import (
    apply,
    axes,
    eager_only,
    is_traced,
    numpy_of,
    operand,
    traceable,
)
from penstock.tf._dtypes import int32, int64, numpy_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._ragged_values import over_values
from penstock.tf._special import (
    accumulate_n as accumulate_n,
)
from penstock.tf._special import (
    confusion_matrix as confusion_matrix,
)
from penstock.tf._special import (
    cumulative_logsumexp as cumulative_logsumexp,
)
from penstock.tf._special import (
    erf as erf,
)
from penstock.tf._special import (
    erfc as erfc,
)
from penstock.tf._special import (
    in_top_k as in_top_k,
)
from penstock.tf._special import (
    invert_permutation as invert_permutation,
)
from penstock.tf._special import (
    is_non_decreasing as is_non_decreasing,
)
from penstock.tf._special import (
    is_strictly_increasing as is_strictly_increasing,
)
from penstock.tf._special import (
    lgamma as lgamma,
)
from penstock.tf._special import (
    log_sigmoid as log_sigmoid,
)
from penstock.tf._special import (
    log_softmax as log_softmax,
)
from penstock.tf._special import (
    multiply_no_nan as multiply_no_nan,
)
from penstock.tf._special import (
    nextafter as nextafter,
)
from penstock.tf._special import (
    polyval as polyval,
)
from penstock.tf._special import (
    reciprocal_no_nan as reciprocal_no_nan,
)
from penstock.tf._special import (
    scalar_mul as scalar_mul,
)
from penstock.tf._special import (
    softsign as softsign,
)
from penstock.tf._special import (
    truncatemod as truncatemod,
)
from penstock.tf._special import (
    unsorted_segment_max as unsorted_segment_max,
)
from penstock.tf._special import (
    unsorted_segment_mean as unsorted_segment_mean,
)
from penstock.tf._special import (
    unsorted_segment_min as unsorted_segment_min,
)
from penstock.tf._special import (
    unsorted_segment_prod as unsorted_segment_prod,
)
from penstock.tf._special import (
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
)
from penstock.tf._special import (
    unsorted_segment_sum as unsorted_segment_sum,
)
from penstock.tf._special import (
    xdivy as xdivy,
)
from penstock.tf._special import (
    xlog1py as xlog1py,
)
from penstock.tf._special import (
    xlogy as xlogy,
)
from penstock.tf._special import (
    zero_fraction as zero_fraction,
)
from penstock.tf._values import _SMALL, convert_to_tensor, wrap


def _unary(name: str, np_name: str, what: str) -> Any:
    def function(x: Any, name: str | None = None) -> Any:
        return apply(np_name, convert_to_tensor(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, of each value."
    return traceable(function)


def _binary(name: str, np_name: str, what: str) -> Any:
    def function(x: Any, y: Any, name: str | None = None) -> Any:
        x = operand(x, y)
        y = operand(y, x)
        if isinstance(x, bytes) or isinstance(y, bytes):
            return wrap(_text_operation(np_name, x, y))
        if getattr(x, "dtype", None) == object or getattr(y, "dtype", None) == object:
            return wrap(_text_operation(np_name, x, y))
        return apply(np_name, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, value by value."
    return traceable(function)


def _text_operation(np_name: str, x: Any, y: Any) -> Any:
    if np_name not in ("equal", "not_equal", "add"):
        raise TypeError(f"{np_name} of strings")
    if isinstance(x, bytes) and isinstance(y, bytes):
        if np_name == "add":
            return bytes(x) + bytes(y)
        return np.bool_((x == y) == (np_name == "equal"))
    a, b = np.asarray(x, dtype=object), np.asarray(y, dtype=object)
    made = getattr(np, np_name)(a, b)
    return made if np_name == "add" else np.asarray(made, dtype=bool)


# --- elementwise ------------------------------------------------------------

abs = _unary("abs", "absolute", "The absolute value")
acos = _unary("acos", "arccos", "The inverse cosine")
acosh = _unary("acosh", "arccosh", "The inverse hyperbolic cosine")
asin = _unary("asin", "arcsin", "The inverse sine")
asinh = _unary("asinh", "arcsinh", "The inverse hyperbolic sine")
atan = _unary("atan", "arctan", "The inverse tangent")
atanh = _unary("atanh", "arctanh", "The inverse hyperbolic tangent")
ceil = _unary("ceil", "ceil", "The least whole number that is not less")
cos = _unary("cos", "cos", "The cosine")
cosh = _unary("cosh", "cosh", "The hyperbolic cosine")
exp = _unary("exp", "exp", "e to the power")
expm1 = _unary("expm1", "expm1", "e to the power, less 1")
floor = _unary("floor", "floor", "The greatest whole number that is not more")
is_finite = _unary("is_finite", "isfinite", "Whether it is finite")
is_inf = _unary("is_inf", "isinf", "Whether it is infinite")
is_nan = _unary("is_nan", "isnan", "Whether it is no number")
log = _unary("log", "log", "The natural logarithm")
log1p = _unary("log1p", "log1p", "The natural logarithm of 1 more")
logical_not = _unary("logical_not", "logical_not", "Whether it is false")
negative = _unary("negative", "negative", "The value with its sign changed")
rint = _unary("rint", "rint", "The nearest whole number, even on ties")
sign = _unary("sign", "sign", "-1, 0 or 1")
sin = _unary("sin", "sin", "The sine")
sinh = _unary("sinh", "sinh", "The hyperbolic sine")
sqrt = _unary("sqrt", "sqrt", "The square root")
square = _unary("square", "square", "The square")
tan = _unary("tan", "tan", "The tangent")
tanh = _unary("tanh", "tanh", "The hyperbolic tangent")

add = _binary("add", "add", "x + y")
_angle = _binary("atan2", "arctan2", "The angle of the point (y, x)")
equal = _binary("equal", "equal", "x == y")
floordiv = _binary("floordiv", "floor_divide", "x // y")
floormod = _binary("floormod", "remainder", "x % y")
greater = _binary("greater", "greater", "x > y")
greater_equal = _binary("greater_equal", "greater_equal", "x >= y")
less = _binary("less", "less", "x < y")
less_equal = _binary("less_equal", "less_equal", "x <= y")
logical_and = _binary("logical_and", "logical_and", "x and y")
logical_or = _binary("logical_or", "logical_or", "x or y")
logical_xor = _binary("logical_xor", "logical_xor", "Whether one of them is true")
maximum = _binary("maximum", "maximum", "The larger one")
minimum = _binary("minimum", "minimum", "The smaller one")
multiply = _binary("multiply", "multiply", "x * y")
not_equal = _binary("not_equal", "not_equal", "x != y")
subtract = _binary("subtract", "subtract", "x - y")
mod = floormod


@traceable
def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y: integers are divided as floats.

    >>> import penstock.tf as tf
    >>> tf.math.truediv(tf.constant(7, tf.uint8), 2).numpy()
    np.float32(3.5)
    """
    x = operand(x, y)
    y = operand(y, x)
    kinds = [v.dtype for v in (x, y) if hasattr(v, "dtype")]
    if kinds and all(kind in _SMALL for kind in kinds):
        x, y = (
            v.astype(np.float32) if hasattr(v, "dtype") else np.float32(v)
            for v in (x, y)
        )
    return apply("divide", x, y)


@traceable
def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, as Python divides."""
    return truediv(x, y)


@traceable
def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, and 0 where y is 0."""
    x = operand(x, y)
    y = operand(y, x)
    zero = apply("equal", y, 0)
    quotient = truediv(x, y)
    return apply("where", zero, apply("zeros_like", quotient), quotient)


@traceable
def pow(x: Any, y: Any, name: str | None = None) -> Any:
    """x ** y."""
    x = operand(x, y)
    y = operand(y, x)
    if is_traced(x, y):
        return x**y
    with np.errstate(all="ignore"):
        return wrap(numpy_of(x) ** numpy_of(y))


@traceable
def rsqrt(x: Any, name: str | None = None) -> Any:
    """1 / sqrt(x)."""
    return apply("reciprocal", sqrt(x))


@traceable
def reciprocal(x: Any, name: str | None = None) -> Any:
    """1 / x."""
    return apply("reciprocal", convert_to_tensor(x))


@traceable
def sigmoid(x: Any, name: str | None = None) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(negative(x)))


@traceable
def softplus(features: Any, name: str | None = None) -> Any:
    """log(1 + exp(x))."""
    return log1p(exp(features))


@traceable
def squared_difference(x: Any, y: Any, name: str | None = None) -> Any:
    """(x - y) * (x - y)."""
    return square(subtract(x, y))


@traceable
def round(x: Any, name: str | None = None) -> Any:
    """The nearest whole number, even on ties."""
    x = convert_to_tensor(x)
    return x if x.dtype.kind in "biu" else apply("rint", x)


@traceable
def truncatediv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, rounded towards zero."""
    x = operand(x, y)
    y = operand(y, x)
    quotient = apply("floor_divide", x, y)
    inexact = apply("not_equal", apply("multiply", quotient, y), x)
    return apply("where", (quotient < 0) & inexact, quotient + 1, quotient)


@traceable
def add_n(inputs: Any, name: str | None = None) -> Any:
    """The sum of tensors.

    >>> import penstock.tf as tf
    >>> tf.math.add_n([[1, 2], [3, 4]]).numpy()
    array([4, 6], dtype=int32)
    """
    total = convert_to_tensor(inputs[0])
    for value in inputs[1:]:
        total = add(total, value)
    return total


# --- reductions ---------------------------------------------------------------


def _reduction(name: str, np_name: str, what: str, keeps_dtype: bool) -> Any:
    def function(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool = False,
        name: str | None = None,
    ) -> Any:
        if isinstance(input_tensor, RaggedTensor):
            return _ragged_ops.reduced(function, input_tensor, axis, bool(keepdims))
        x = convert_to_tensor(input_tensor)
        kwargs: dict[str, Any] = {"axis": axes(axis), "keepdims": bool(keepdims)}
        if keeps_dtype:
            kwargs["dtype"] = x.dtype
        return apply(np_name, x, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what} over all axes or some."
    return traceable(function)


reduce_sum = _reduction("reduce_sum", "sum", "The sum", True)
reduce_prod = _reduction("reduce_prod", "prod", "The product", True)
reduce_max = _reduction("reduce_max", "max", "The largest value", False)
reduce_min = _reduction("reduce_min", "min", "The least value", False)
reduce_any = _reduction("reduce_any", "any", "Whether any is true", False)
reduce_all = _reduction("reduce_all", "all", "Whether all are true", False)


@traceable
def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The mean over all axes or some; of integers an integer.

    >>> import penstock.tf as tf
    >>> tf.reduce_mean([1, 2]).numpy(), tf.reduce_mean([1.0, 2.0]).numpy()
    (np.int32(1), np.float32(1.5))
    """
    if isinstance(input_tensor, RaggedTensor):
        ones = input_tensor.with_flat_values(
            apply("ones_like", input_tensor.flat_values)
        )
        total, count = (reduce_sum(t, axis, keepdims) for t in (input_tensor, ones))
        with np.errstate(invalid="ignore"):
            return total / count
    x = convert_to_tensor(input_tensor)
    if x.dtype.kind not in "iu":
        return apply("mean", x, axis=axes(axis), keepdims=bool(keepdims))
    total = reduce_sum(x, axis, keepdims)
    chosen = range(x.ndim) if axis is None else np.atleast_1d(axes(axis))
    count = int(np.prod([x.shape[a] for a in chosen], dtype=np.int64))
    return truncatediv(total, np.asarray(count).astype(x.dtype)[()])


@traceable
def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The variance over all axes or some."""
    x = convert_to_tensor(input_tensor)
    centre = reduce_mean(x, axis, True)
    return reduce_mean(square(x - centre), axis, keepdims)


@traceable
def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The standard deviation over all axes or some."""
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


@traceable
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The root of the sum of squares over all axes or some."""
    return sqrt(reduce_sum(square(input_tensor), axis, keepdims))


@traceable
def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """log(sum(exp(x))) over all axes or some."""
    x = convert_to_tensor(input_tensor)
    peak = reduce_max(x, axis, True)
    total = log(reduce_sum(exp(x - peak), axis, True)) + peak
    if keepdims:
        return total
    chosen = tuple(range(x.ndim)) if axis is None else axes(axis)
    return apply("squeeze", total, axis=chosen)


@traceable
def real(input: Any, name: str | None = None) -> Any:
    """The real part."""
    return _part("real", input, np.real)


@traceable
def imag(input: Any, name: str | None = None) -> Any:
    """The imaginary part."""
    return _part("imag", input, np.imag)


@traceable
def conj(x: Any, name: str | None = None) -> Any:
    """With the sign of the imaginary part changed."""
    return _part("conj", x, np.conj)


@traceable
def angle(input: Any, name: str | None = None) -> Any:
    """The angle of complex values; 0 or pi of real ones."""
    return _part("angle", input, np.angle)


def _part(op: str, value: Any, function: Any) -> Any:
    eager_only(op, value)
    values = np.asarray(convert_to_tensor(value))
    return wrap(np.asarray(function(values))[()])


@traceable
def complex_(real: Any, imag: Any, name: str | None = None) -> Any:
    """Complex values of two parts."""
    eager_only("complex", real, imag)
    parts = [np.asarray(convert_to_tensor(v)) for v in (real, imag)]
    wide = any(p.dtype == np.float64 for p in parts)
    made = parts[0] + 1j * parts[1]
    return wrap(np.asarray(made).astype(np.complex128 if wide else np.complex64)[()])


@traceable
def atan2(y: Any, x: Any, name: str | None = None) -> Any:
    """The angle of the point (y, x), value by value."""
    return _angle(y, x)


@traceable
def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = int64,
    name: str | None = None,
) -> Any:
    """How many values are not zero."""
    hits = apply("not_equal", convert_to_tensor(input), 0)
    counts = hits.astype(numpy_dtype(dtype))
    return reduce_sum(counts, axis, bool(keepdims))


def _arg(np_name: str, input: Any, axis: Any, output_type: Any) -> Any:
    x = convert_to_tensor(input)
    found = apply(np_name, x, axis=0 if axis is None else axes(axis))
    kind = numpy_dtype(output_type)
    if isinstance(found, Traced):
        return found.astype(kind)
    return wrap(np.asarray(found).astype(kind)[()])


@traceable
def argmax(
    input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None
) -> Any:
    """Where the largest value is, along axis 0 by default.

    >>> import penstock.tf as tf
    >>> tf.argmax([3, 9, 2]).numpy()
    np.int64(1)
    """
    return _arg("argmax", input, axis, output_type)


@traceable
def argmin(
    input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None
) -> Any:
    """Where the least value is, along axis 0 by default."""
    return _arg("argmin", input, axis, output_type)


# --- more ---------------------------------------------------------------------


def _cumulative(np_name: str, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    eager_only(np_name, x)
    values = np.asarray(convert_to_tensor(x))
    at = int(axis)
    if reverse:
        values = np.flip(values, at)
    made = getattr(np, np_name)(values, axis=at, dtype=values.dtype)
    if exclusive and made.size:
        made = np.roll(made, 1, at)
        first: list[Any] = [slice(None)] * made.ndim
        first[at] = 0
        made[tuple(first)] = 0 if np_name == "cumsum" else 1
    if reverse:
        made = np.flip(made, at)
    return wrap(np.ascontiguousarray(made))


@traceable
def cumsum(
    x: Any,
    axis: Any = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Sums of all values up to each.

    >>> import penstock.tf as tf
    >>> tf.cumsum([1, 2, 3], exclusive=True).numpy()
    array([0, 1, 3], dtype=int32)
    """
    return _cumulative("cumsum", x, axis, exclusive, reverse)


@traceable
def cumprod(
    x: Any,
    axis: Any = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Products of all values up to each."""
    return _cumulative("cumprod", x, axis, exclusive, reverse)


class TopKV2(NamedTuple):
    """What `top_k` gives."""

    values: Any
    indices: Any


@traceable
def top_k(
    input: Any,
    k: Any = 1,
    sorted: bool = True,
    index_type: Any = int32,
    name: str | None = None,
) -> Any:
    """The k largest values of the last axis, and where they are.

    >>> import penstock.tf as tf
    >>> values, places = tf.math.top_k([1, 9, 4], k=2)
    >>> values.numpy().tolist(), places.numpy().tolist()
    ([9, 4], [1, 2])
    """
    eager_only("top_k", input, k)
    x = np.asarray(convert_to_tensor(input))
    order = np.argsort(
        -x.astype(np.float64) if x.dtype.kind == "u" else -x, kind="stable"
    )
    places = order[..., : int(k)]
    return TopKV2(
        wrap(np.take_along_axis(x, places, -1)),
        wrap(places.astype(numpy_dtype(index_type))),
    )


@traceable
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = int32,
    name: str | None = None,
    axis: Any = None,
    binary_output: bool = False,
) -> Any:
    """How often each whole number from 0 occurs, in each row with ``axis=-1``.

    >>> import penstock.tf as tf
    >>> tf.math.bincount([[0, 1], [1, 1]], axis=-1).numpy().tolist()
    [[1, 1], [0, 2]]
    """
    eager_only("bincount", arr, weights)
    ragged = isinstance(arr, RaggedTensor)
    values = np.asarray(arr.flat_values if ragged else convert_to_tensor(arr))
    if values.size and values.min() < 0:
        raise InvalidArgumentError(
            f"bincount: arr must not be negative, got {values.min()}"
        )
    kind, heavy = numpy_dtype(dtype), None
    if weights is not None:
        given = weights.flat_values if isinstance(weights, RaggedTensor) else weights
        heavy = np.asarray(convert_to_tensor(given)).ravel()
        kind = heavy.dtype
    size = max(int(values.max(initial=-1)) + 1, int(minlength or 0))
    if maxlength is not None:
        size = min(size, int(maxlength))
    by_row = axis in (-1, 1) and (ragged or values.ndim == 2)
    if not by_row:
        rows, shape = np.zeros(values.size, np.int64), (1, size)
    elif ragged:
        rows, shape = np.asarray(arr.value_rowids()), (int(arr.nrows()), size)
    else:
        rows, shape = np.arange(values.size) // values.shape[1], (len(values), size)
    numbers = values.ravel()
    kept = numbers < size
    made = np.zeros(shape, kind)
    if binary_output:
        made[rows[kept], numbers[kept]] = 1
    else:
        add = 1 if heavy is None else heavy[kept]
        np.add.at(made, (rows[kept], numbers[kept]), add)
    return wrap(made if by_row else made[0])


@traceable
def l2_normalize(
    x: Any,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Any:
    """`x` divided by its Euclidean norm."""
    x = convert_to_tensor(x)
    total = reduce_sum(square(x), dim if axis is None else axis, True)
    return x * rsqrt(maximum(total, epsilon))


def _segments(reduce: Any, empty: Any, data: Any, segment_ids: Any) -> Any:
    eager_only("segments", data, segment_ids)
    values, ids = np.asarray(convert_to_tensor(data)), np.asarray(segment_ids)
    count = int(ids.max(initial=-1)) + 1
    out = np.full((count, *values.shape[1:]), empty, values.dtype)
    for i in range(count):
        rows = values[ids == i]
        if len(rows):
            out[i] = reduce(rows, axis=0)
    return wrap(out)


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Sums of rows of equal segment."""
    return _segments(np.sum, 0, data, segment_ids)


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Largest values of rows of equal segment."""
    return _segments(np.max, 0, data, segment_ids)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Smallest values of rows of equal segment."""
    return _segments(np.min, 0, data, segment_ids)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Products of rows of equal segment."""
    return _segments(np.prod, 1, data, segment_ids)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Means of rows of equal segment."""
    return _segments(np.mean, 0, data, segment_ids)


@traceable
def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """exp(x) divided by its sum along an axis, the last by default."""
    at = -1 if axis is None else axis
    x = convert_to_tensor(logits)
    powers = exp(x - reduce_max(x, at, True))
    return powers / reduce_sum(powers, at, True)


@traceable
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    """The product of matrices.

    >>> import penstock.tf as tf
    >>> tf.matmul([[1, 2]], [[3], [4]]).numpy().tolist()
    [[11]]
    """
    for letter, turn, adjoin in (
        ("a", transpose_a, adjoint_a),
        ("b", transpose_b, adjoint_b),
    ):
        if turn and adjoin:
            raise ValueError(
                f"Only one of `transpose_{letter}` and `adjoint_{letter}` can be True."
            )
    a, b = operand(a, b), operand(b, a)
    # Of real numbers the adjoint is the transpose.
    if transpose_a or adjoint_a:
        a = apply("swapaxes", a, -1, -2)
    if transpose_b or adjoint_b:
        b = apply("swapaxes", b, -1, -2)
    kind = None if output_type is None else numpy_dtype(output_type)
    if is_traced(a, b):
        made = engine_ops.matmul(a, b)
        return made if kind is None else made.astype(kind)
    if kind is not None:
        return wrap(np.matmul(np.asarray(a).astype(kind), np.asarray(b).astype(kind)))
    return wrap(np.matmul(np.asarray(a), np.asarray(b)))


over_values(
    globals(),
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor is_finite "
    "is_inf is_nan log log1p logical_not negative rint sign sin sinh sqrt square tan "
    "tanh add equal floordiv floormod greater greater_equal less less_equal "
    "logical_and logical_or logical_xor maximum minimum multiply not_equal subtract "
    "mod truediv divide divide_no_nan pow rsqrt reciprocal sigmoid softplus "
    "squared_difference round truncatediv atan2",
)


def __getattr__(name: str) -> Any:
    return _missing.resolve("math", name)
