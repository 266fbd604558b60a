"""How functions of this package call native operations.

A parameter that is a constant becomes an attribute of the operation; one that a
traced function computes becomes an argument ("operand"), named in order.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._ops import native
from penstock._trace_value import Traced


def computed(value: Any) -> bool:
    """Whether a traced function computes `value` for each element."""
    if isinstance(value, Traced):
        return not value.is_constant
    if isinstance(value, (tuple, list)):
        return any(computed(v) for v in value)
    return False


def plain(value: Any) -> Any:
    """A constant in Python's own types."""
    if isinstance(value, Traced):
        value = value._value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return tuple(plain(v) for v in value)
    return value


def call(
    name: str,
    *args: Any,
    random: bool = False,
    params: dict[str, Any] | None = None,
    **attributes: Any,
) -> Any:
    """Calls the operation; `params` may be computed, `attributes` not."""
    operands: list[str] = []
    values: list[Any] = []
    for key, value in (params or {}).items():
        if computed(value):
            operands.append(key)
            values.append(_as_tensor(value))
        else:
            attributes[key] = plain(value)
    if operands:
        attributes["operands"] = tuple(operands)
    return native(name, *args, *values, random=random, **attributes)


def _as_tensor(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        from penstock._ops import stack

        return stack([_as_tensor(v) for v in value])
    return value


def number(op: str, name: str, value: Any) -> Any:
    """A float, or a value that is computed."""
    if computed(value):
        return value
    value = plain(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{op}: {name} must be a number, got {value!r}"
        ) from None


def integer(op: str, name: str, value: Any) -> Any:
    """An int, or a value that is computed."""
    if computed(value):
        return value
    value = plain(value)
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: {name} must be a whole number, got {value!r}"
        ) from None


def pair(op: str, name: str, value: Any) -> Any:
    """(low, high), floats."""
    value = plain(value)
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{op}: {name} must be (low, high), got {value!r}"
        ) from None
    return number(op, name, low), number(op, name, high)


def numbers(op: str, name: str, value: Any) -> Any:
    """One number or several."""
    if computed(value):
        return value
    value = plain(value)
    listed = value if isinstance(value, tuple) else (value,)
    return tuple(number(op, name, v) for v in listed)


def size_of(op: str, size: Any) -> Any:
    """(height, width)."""
    if isinstance(size, Traced) and computed(size):
        return size
    size = plain(size) if not computed(size) else tuple(size)
    try:
        height, width = size
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{op}: size must be (height, width), got {size!r}"
        ) from None
    return integer(op, "size", height), integer(op, "size", width)


def seeded(op: str, seed: Any) -> dict[str, Any]:
    """The parameter `seed`: a whole number or several; None: the element's key."""
    if seed is None:
        return {}
    if isinstance(seed, Traced) and computed(seed):
        return {"seed": seed}
    if not isinstance(seed, (tuple, list)) and not computed(seed):
        seed = plain(seed)
    listed = seed if isinstance(seed, (tuple, list)) else (seed,)
    return {"seed": tuple(integer(op, "seed", s) for s in listed)}


def dtype_of(op: str, dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ArgumentTypeError(f"{op}: dtype must be one, got {dtype!r}") from None
    return found


def method_of(op: str, method: Any) -> str:
    """A method of resizing by name."""
    name = getattr(method, "value", method)
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{op}: method must be a name, got {method!r}")
    return name.lower()


def pixels(image: Any) -> Any:
    """Nested lists and other arrays as NumPy's."""
    if isinstance(image, (np.ndarray, Traced)):
        return image
    return np.asarray(image)
