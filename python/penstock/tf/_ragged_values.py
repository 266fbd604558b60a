"""Functions of single values, on ragged tensors: rows stay, values change."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.tf._ragged import RaggedTensor


def over_values(namespace: dict[str, Any], names: str) -> None:
    """Functions of a module take ragged tensors, too."""
    for name in names.split():
        namespace[name] = _over_values(namespace[name])


def _is_ragged(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(type(v) is RaggedTensor for v in value)
    return type(value) is RaggedTensor


def _over_values(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if any(map(_is_ragged, args)) or any(map(_is_ragged, named.values())):
            return map_values(function, *args, **named)
        return function(*args, **named)

    return call


def map_values(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """`function` of the values of ragged arguments, in their rows."""
    rows = _first([*args, *named.values()])
    flat = rows._flat_of
    return rows.with_flat_values(
        function(*map(flat, args), **{k: flat(v) for k, v in named.items()})
    )


def _first(values: Any) -> Any:
    for value in values:
        if type(value) is RaggedTensor:
            return value
        if isinstance(value, (list, tuple)) and _is_ragged(value):
            return _first(value)
    return None
