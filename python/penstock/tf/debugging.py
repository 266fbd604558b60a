"""`tf.debugging`: checks that raise `tf.errors.InvalidArgumentError`.

A function that uses them runs as Python.

>>> import penstock.tf as tf
>>> tf.debugging.assert_equal(tf.constant(2), 2)
>>> tf.debugging.assert_less(3, 2, message="too large")
Traceback (most recent call last):
...
penstock._errors.InvalidArgumentError: assert_less: too large: 3 and 2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf import _missing
from penstock.tf._dtypes import as_dtype
from penstock.tf._values import convert_to_tensor, is_tensor


def _plain(value: Any) -> Any:
    tensor = convert_to_tensor(value)
    if isinstance(tensor, bytes):
        return np.array(bytes(tensor), dtype=object)
    return np.asarray(tensor)


def _comparison(name: str, np_name: str) -> Any:
    def check(
        x: Any, y: Any, message: Any = None, summarize: Any = None, name: Any = None
    ) -> None:
        a, b = _plain(x), _plain(y)
        if not np.all(getattr(np, np_name)(a, b)):
            note = f"{message}: " if message else ""
            raise InvalidArgumentError(f"{check.__name__}: {note}{a} and {b}")

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Checks that ``np.{np_name}(x, y)`` holds everywhere."
    return check


assert_equal = _comparison("assert_equal", "equal")
_none_equal = _comparison("assert_none_equal", "not_equal")
assert_greater = _comparison("assert_greater", "greater")
assert_greater_equal = _comparison("assert_greater_equal", "greater_equal")
assert_less = _comparison("assert_less", "less")
assert_less_equal = _comparison("assert_less_equal", "less_equal")


def assert_none_equal(
    x: Any, y: Any, summarize: Any = None, message: Any = None, name: Any = None
) -> None:
    """Checks that no two values are equal."""
    _none_equal(x, y, message)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: Any = None,
    summarize: Any = None,
    name: Any = None,
) -> None:
    """Checks that values are close."""
    a, b = _plain(x), _plain(y)
    step = 10 * float(np.finfo(a.dtype).eps) if a.dtype.kind == "f" else 0.0
    near = np.allclose(
        a,
        b,
        step if rtol is None else float(rtol),
        step if atol is None else float(atol),
    )
    if not near:
        raise InvalidArgumentError(f"assert_near: {message or ''} {a} and {b}")


def assert_positive(
    x: Any, message: Any = None, summarize: Any = None, name: Any = None
) -> None:
    """Checks that all values are above 0."""
    assert_greater(x, np.zeros((), _plain(x).dtype), message)


def assert_non_negative(
    x: Any, message: Any = None, summarize: Any = None, name: Any = None
) -> None:
    """Checks that no value is below 0."""
    assert_greater_equal(x, np.zeros((), _plain(x).dtype), message)


def assert_all_finite(x: Any, message: Any = "", name: Any = None) -> Any:
    """`x`, of which all values must be finite."""
    if not np.all(np.isfinite(_plain(x))):
        raise InvalidArgumentError(f"assert_all_finite: {message}: {_plain(x)}")
    return convert_to_tensor(x)


def check_numerics(tensor: Any, message: Any = "", name: Any = None) -> Any:
    """`tensor`, of which all values must be finite."""
    return assert_all_finite(tensor, message)


def assert_rank(x: Any, rank: Any, message: Any = None, name: Any = None) -> None:
    """Checks the number of dimensions."""
    if _plain(x).ndim != int(rank):
        raise ValueError(
            f"assert_rank: {message or ''} rank must be {rank}, got shape "
            f"{_plain(x).shape}"
        )


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: Any = None,
    message: Any = None,
    name: Any = None,
) -> None:
    """Checks shapes; a name stands for the same size everywhere."""
    sizes: dict[str, int] = {}
    pairs = shapes.items() if isinstance(shapes, dict) else shapes
    for tensor, shape in pairs:
        found = _plain(tensor).shape
        wanted = list(shape)
        if len(found) != len(wanted):
            raise ValueError(f"assert_shapes: {found} is not {wanted}")
        for size, want in zip(found, wanted):
            if isinstance(want, str):
                want = sizes.setdefault(want, size)
            if want is not None and size != want:
                raise ValueError(f"assert_shapes: {found} is not {wanted}")


def assert_type(
    tensor: Any, tf_type: Any, message: Any = None, name: Any = None
) -> None:
    """Checks the dtype."""
    if tf_type != _plain(tensor).dtype:
        raise TypeError(f"assert_type: {message or ''} must be {tf_type!r}")


def Assert(condition: Any, data: Any, summarize: Any = None, name: Any = None) -> None:
    """Checks that a condition holds."""
    if not np.all(_plain(condition)):
        raise InvalidArgumentError(f"Assert: assertion failed: {data}")


def assert_negative(
    x: Any, message: Any = None, summarize: Any = None, name: Any = None
) -> None:
    """Checks that all values are below 0."""
    assert_less(x, 0, message)


def assert_non_positive(
    x: Any, message: Any = None, summarize: Any = None, name: Any = None
) -> None:
    """Checks that no value is above 0."""
    assert_less_equal(x, 0, message)


def _rank(op: str, x: Any, fits: Any, wanted: str, message: Any) -> None:
    found = _plain(x).ndim
    if not fits(found):
        note = f"{message}: " if message else ""
        raise ValueError(f"{op}: {note}rank must be {wanted}, got {found}")


def assert_rank_at_least(
    x: Any, rank: Any, message: Any = None, name: Any = None
) -> None:
    """Checks that there are so many dimensions, or more."""
    least = int(rank)
    _rank("assert_rank_at_least", x, lambda n: n >= least, f">= {least}", message)


def assert_rank_in(x: Any, ranks: Any, message: Any = None, name: Any = None) -> None:
    """Checks that the number of dimensions is one of several."""
    allowed = [int(r) for r in ranks]
    _rank("assert_rank_in", x, lambda n: n in allowed, f"one of {allowed}", message)


def assert_scalar(tensor: Any, message: Any = None, name: Any = None) -> Any:
    """Checks that there are no dimensions; gives the tensor."""
    _rank("assert_scalar", tensor, lambda n: n == 0, "0", message)
    return convert_to_tensor(tensor)


def assert_integer(x: Any, message: Any = None, name: Any = None) -> None:
    """Checks that the dtype is one of whole numbers."""
    kind = _plain(x).dtype
    if kind.kind not in "iu":
        raise TypeError(f"assert_integer: {message or 'expected integers'}, got {kind}")


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """Checks that all have one dtype of floats; gives it."""
    found = {convert_to_tensor(t).dtype for t in tensors or ()}
    if dtype is not None:
        found.add(as_dtype(dtype))
    if len(found) > 1 or not all(f.is_floating for f in found):
        raise ValueError(f"expected one float dtype, got {sorted(map(str, found))}")
    return found.pop() if found else as_dtype("float32")


def assert_proper_iterable(values: Any) -> None:
    """Checks for a list or the like: no tensor, no string."""
    if isinstance(values, (str, bytes, np.ndarray)) or not hasattr(values, "__iter__"):
        raise TypeError(f"expected argument `values` to be a list, got {type(values)}")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers."""
    return is_tensor(tensor) and as_dtype(tensor.dtype).is_numeric


def enable_check_numerics(
    stack_height_limit: int = 30, path_length_limit: int = 50
) -> None:
    """Accepted: use `tf.debugging.check_numerics` where it matters."""


def disable_check_numerics() -> None:
    """Accepted."""


def enable_traceback_filtering() -> None:
    """Accepted: tracebacks are Python's."""


def disable_traceback_filtering() -> None:
    """Accepted: tracebacks are Python's."""


def is_traceback_filtering_enabled() -> bool:
    """Tracebacks are Python's."""
    return False


def set_log_device_placement(enabled: bool) -> None:
    """Accepted: everything is on the host."""


def get_log_device_placement() -> bool:
    """Everything is on the host."""
    return False


def __getattr__(name: str) -> Any:
    return _missing.resolve("debugging", name)
