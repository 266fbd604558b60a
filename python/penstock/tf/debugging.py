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
from penstock.tf._values import convert_to_tensor


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
assert_none_equal = _comparison("assert_none_equal", "not_equal")
assert_greater = _comparison("assert_greater", "greater")
assert_greater_equal = _comparison("assert_greater_equal", "greater_equal")
assert_less = _comparison("assert_less", "less")
assert_less_equal = _comparison("assert_less_equal", "less_equal")


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


def assert_positive(x: Any, message: Any = None, **more: Any) -> None:
    """Checks that all values are above 0."""
    assert_greater(x, np.zeros((), _plain(x).dtype), message)


def assert_non_negative(x: Any, message: Any = None, **more: Any) -> None:
    """Checks that no value is below 0."""
    assert_greater_equal(x, np.zeros((), _plain(x).dtype), message)


def assert_all_finite(x: Any, message: Any = "", name: Any = None) -> Any:
    """`x`, of which all values must be finite."""
    if not np.all(np.isfinite(_plain(x))):
        raise InvalidArgumentError(f"assert_all_finite: {message}: {_plain(x)}")
    return x


check_numerics = assert_all_finite


def assert_rank(x: Any, rank: Any, message: Any = None, name: Any = None) -> None:
    """Checks the number of dimensions."""
    if _plain(x).ndim != int(rank):
        raise ValueError(
            f"assert_rank: {message or ''} rank must be {rank}, got shape "
            f"{_plain(x).shape}"
        )


def assert_shapes(shapes: Any, data: Any = None, **more: Any) -> None:
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


def __getattr__(name: str) -> Any:
    return _missing.resolve("debugging", name)
