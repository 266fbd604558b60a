"""Checks of arguments, with the operator and parameter in the message."""

from __future__ import annotations

import numbers
import operator
import os
from typing import Any

from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._options import GLOBAL
from penstock._spec import UNKNOWN_SPEC, DatasetSpec, RaggedSpec, TensorSpec


def integer(op: str, parameter: str, value: Any) -> int:
    """Any integer but bool; the engine checks its range."""
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            if -(2**63) <= number < 2**63:
                return number
            raise InvalidArgumentError(
                f"{op}: {parameter} must fit into 64 bits, got {number}"
            )
    raise ArgumentTypeError(f"{op}: {parameter} must be an int, got {value!r}")


def optional_integer(op: str, parameter: str, value: Any) -> int | None:
    return None if value is None else integer(op, parameter, value)


def budget(op: str, parameter: str, value: Any, stop: int = 2**63) -> int | None:
    count = optional_integer(op, parameter, value)
    if count is not None and not 1 <= count < stop:
        raise InvalidArgumentError(
            f"{op}: {parameter} must be >= 1"
            + (f" and < {stop}" if count > 0 else "")
            + f", got {count}"
        )
    return count


def optional_number(op: str, parameter: str, value: Any) -> float | None:
    return None if value is None else number(op, parameter, value)


def number(op: str, parameter: str, value: Any) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise ArgumentTypeError(f"{op}: {parameter} must be a number, got {value!r}")


def boolean(op: str, parameter: str, value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise ArgumentTypeError(f"{op}: {parameter} must be a bool, got {value!r}")


def optional_boolean(op: str, parameter: str, value: Any) -> bool | None:
    return None if value is None else boolean(op, parameter, value)


def seed(op: str, value: Any) -> int | None:
    """Any int, of which the last 64 bits count."""
    if value is None:
        return None
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return operator.index(value) % 2**64
    return integer(op, "seed", value)


def text(op: str, parameter: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ArgumentTypeError(f"{op}: {parameter} must be a str, got {value!r}")


def stage_name(op: str, value: Any) -> str:
    return "" if value is None else text(op, "name", value)


def texts(op: str, parameter: str, value: Any) -> list[str]:
    """A str, several of them, or None for none."""
    if isinstance(value, str):
        return [value]
    try:
        return [text(op, parameter, item) for item in value or ()]
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: {parameter} must be a list of str, got {value!r}"
        ) from None


def path(op: str, parameter: str, value: Any) -> str:
    try:
        name = os.fsdecode(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: {parameter} must be a path, got {value!r}"
        ) from None
    if "\0" in name:  # the system would stop there, and take another file
        raise InvalidArgumentError(f"{op}: {parameter} has a NUL byte, got {value!r}")
    return name


def paths(op: str, parameter: str, value: Any) -> list[str]:
    """One path, or a sequence of them."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return [path(op, parameter, value)]
    try:
        items = list(value)
    except TypeError:
        items = [value]
    return [path(op, parameter, item) for item in items]


def window(op: str, value: Any) -> int:
    """A buffer size, or GLOBAL."""
    if isinstance(value, str) and value == "global":
        return GLOBAL
    size = integer(op, "buffer_size", value)
    if size < 1 and size != GLOBAL:
        raise InvalidArgumentError(
            f"{op}: buffer_size must be >= 1 or ps.GLOBAL, got {size}"
        )
    return size


def floats(op: str, parameter: str, values: Any) -> list[float]:
    if values is None:
        return []
    try:
        return [float(v) for v in values]
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{op}: {parameter} must be a sequence of numbers, got {values!r}"
        ) from None


def integers(op: str, parameter: str, values: Any) -> list[int]:
    try:
        items = list(values)
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: {parameter} must be a sequence of int, got {values!r}"
        ) from None
    return [integer(op, parameter, v) for v in items]


# Values leaf by leaf and how they nest, where the elements do not tell; each as
# the engine takes them.
Leaves = tuple[list[Any], Any]


def leaf_shapes(op: str, shapes: Any, spec: Any) -> Leaves:
    """Padded shapes leaf by leaf; `spec` says how they nest."""
    if shapes is None:
        return [], None
    from penstock._spec import as_shape

    leaves, nested = _leaves(op, "padded_shapes", shapes, spec, _is_shape)
    return [as_shape(shape) for shape in leaves], nested


def leaf_values(op: str, values: Any, spec: Any) -> Leaves:
    """Padding values leaf by leaf; one in place of a component is for all of it."""
    if values is None:
        return [], None
    return _leaves(op, "padding_values", values, spec, _is_value)


def _is_shape(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, (str, bytes, dict)):
        return False
    try:
        return all(d is None or hasattr(d, "__index__") for d in value)
    except TypeError:
        return False


def _is_value(value: Any) -> bool:
    return not isinstance(value, (tuple, list, dict))


def _leaves(op: str, parameter: str, given: Any, spec: Any, is_leaf: Any) -> Leaves:
    leaves: list[Any] = []
    if spec is UNKNOWN_SPEC:
        nested = _nesting(given, leaves, is_leaf)
        return leaves, None if isinstance(nested, int) else nested
    _flatten(op, parameter, given, spec, leaves, is_leaf)
    return leaves, None


def _nesting(given: Any, leaves: list[Any], is_leaf: Any) -> Any:
    """Tuples and dicts as in `given`, around 0 in place of the leaves."""
    if is_leaf(given):
        leaves.append(given)
        return 0
    if isinstance(given, dict):
        return {key: _nesting(v, leaves, is_leaf) for key, v in given.items()}
    return tuple(_nesting(item, leaves, is_leaf) for item in given)


def _flatten(
    op: str, parameter: str, given: Any, spec: Any, leaves: list[Any], is_leaf: Any
) -> None:
    if isinstance(spec, (TensorSpec, RaggedSpec, DatasetSpec)):
        if not is_leaf(given):
            raise ArgumentTypeError(
                f"{op}: {parameter} must nest like the elements, got {given!r} "
                f"for {spec!r}"
            )
        leaves.append(given)
    elif spec is None:
        return
    elif parameter == "padding_values" and is_leaf(given):
        children = spec.values() if isinstance(spec, dict) else spec
        for child in children:
            _flatten(op, parameter, given, child, leaves, is_leaf)
    elif isinstance(spec, dict):
        if not isinstance(given, dict) or set(given) != set(spec):
            raise ArgumentTypeError(
                f"{op}: {parameter} must be a dict with the keys "
                f"{sorted(spec)}, got {given!r}"
            )
        for key, child in spec.items():
            _flatten(op, parameter, given[key], child, leaves, is_leaf)
    elif isinstance(spec, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(spec):
            raise ArgumentTypeError(
                f"{op}: {parameter} must have {len(spec)} components like the "
                f"elements, got {given!r}"
            )
        for item, child in zip(given, spec):
            _flatten(op, parameter, item, child, leaves, is_leaf)
