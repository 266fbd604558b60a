"""Calls of NumPy's functions on tensors: at once, or in a traced function."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock import _trace_inspect
from penstock._trace_errors import refuse
from penstock._trace_value import Traced, TracedBytes
from penstock.tf._values import (
    Bytes,
    alike,
    convert_to_tensor,
    has_traced,
    list_dtype,
    wrap,
)

F = TypeVar("F", bound=Callable[..., Any])


def traceable(function: F) -> F:
    """Marks a function that traced functions may call."""
    function.__penstock_traceable__ = True  # type: ignore[attr-defined]
    return function


def signed(
    function: Callable[..., Any], name: str, parameters: str, what: str
) -> Callable[..., Any]:
    """`function` of its values in order, under a name and with these parameters.

    `parameters` are written as in a definition; a last one, `name`, is taken and
    not given on.
    """
    made, empty = [], inspect.Parameter.empty
    for text in parameters.split(", "):
        parameter, _, default = text.partition("=")
        made.append(
            inspect.Parameter(
                parameter,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=ast.literal_eval(default) if default else empty,
            )
        )
    signature = inspect.Signature(made)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        bound.arguments.pop("name", None)
        return function(*bound.arguments.values())

    call.__name__ = call.__qualname__ = name
    call.__doc__ = what
    call.__signature__ = signature  # type: ignore[attr-defined]
    return traceable(call)


def is_number(x: Any) -> bool:
    """A Python number: it takes the dtype of what it meets."""
    return isinstance(x, (int, float)) and not isinstance(x, (bool, np.generic))


def is_traced(*values: Any) -> bool:
    return any(has_traced(v) for v in values)


def known(x: Any) -> Any:
    """A value that is needed now: a shape, an axis, a count."""
    if isinstance(x, Traced):
        if not x.is_constant:
            refuse("a shape, an axis or a count depends on data")
        return x._value[()]
    if isinstance(x, TracedBytes):
        refuse("computes with a string")
    return x


def dims(shape: Any) -> tuple[int, ...]:
    """A shape: a number, a list (also of tensors) or a tensor."""
    shape = known(shape)
    if isinstance(shape, np.ndarray):
        return tuple(int(d) for d in np.atleast_1d(np.asarray(shape)))
    if isinstance(shape, (list, tuple)):
        return tuple(-1 if d is None else int(known(d)) for d in shape)
    return (int(shape),)


def axes(axis: Any) -> Any:
    """An axis, several, or None."""
    if axis is None:
        return None
    if isinstance(axis, (list, tuple, np.ndarray)) and np.ndim(axis):
        return dims(axis)
    return int(known(axis))


def operand(x: Any, like: Any = None) -> Any:
    """A tensor; a Python number stays one beside a tensor."""
    if is_number(x) and like is not None and not is_number(like):
        return x
    kind = getattr(like, "dtype", None)
    listed = isinstance(x, (list, tuple)) and not has_traced(x)
    if (is_number(x) or listed) and (
        is_number(like) or isinstance(like, (list, tuple))
    ):
        return convert_to_tensor(x, list_dtype([x, like]))
    if listed and kind is not None and kind.kind in "biuf":
        return convert_to_tensor(x, kind)
    return convert_to_tensor(alike(like, x))


def numpy_of(x: Any) -> Any:
    """Plain NumPy of a tensor."""
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    return bytes(x) if isinstance(x, bytes) else x


def apply(name: str, *args: Any, **kwargs: Any) -> Any:
    """np.<name>(*args, **kwargs)."""
    function = getattr(np, name)
    if is_traced(*args):
        try:
            form = _trace_inspect.traced_form(function)
        except KeyError:
            refuse(f"{name} has no native form")
        return form(*args, **kwargs)
    with np.errstate(all="ignore"):
        return wrap(function(*[_plain(a) for a in args], **kwargs))


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([numpy_of(v) for v in value])
    return numpy_of(value)


def eager_only(what: str, *values: Any) -> None:
    """Runs as Python, where a traced function would need it natively."""
    if is_traced(*values):
        refuse(f"{what} has no native form")


def each_string(function: Callable[..., Any], dtype: Any, *inputs: Any) -> Any:
    """`function` of every string; results as a tensor of `dtype`."""
    eager_only("this function of strings", *inputs)
    values = [convert_to_tensor(x) for x in inputs]
    if all(not len(getattr(v, "shape", ())) for v in values):
        made = function(
            *[
                numpy_of(v)[()] if isinstance(v, np.ndarray) else numpy_of(v)
                for v in values
            ]
        )
        return Bytes(made) if dtype is object else wrap(np.asarray(made, dtype)[()])
    arrays = [
        np.array(bytes(v), dtype=object) if isinstance(v, bytes) else np.asarray(v)
        for v in values
    ]
    grid = np.broadcast_arrays(*arrays)
    out = np.empty(grid[0].shape, object if dtype is object else dtype)
    flat = out.reshape(-1)
    columns = [g.reshape(-1) for g in grid]
    for i in range(len(flat)):
        flat[i] = function(*[c[i] for c in columns])
    return wrap(out)
