"""Dicts that differ in the order of their keys alone.

To Python they are equal; the columns of a block have one order. Where several
datasets become one, the others' keys are put in the order of the first's, by a
native map that moves no data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock._dataset import Dataset


def in_one_key_order(datasets: tuple[Dataset, ...]) -> tuple[Dataset, ...]:
    """`datasets`, with the keys of all in the order of the first's."""
    return tuple(with_keys_as(datasets[0], d) for d in datasets)


def with_keys_as(first: Dataset, other: Dataset) -> Dataset:
    """`other`, with its keys in the order of those of `first`."""
    wanted, given = first.element_spec, other.element_spec
    if _nest(wanted) == _nest(given) or _nest(wanted, dict) != _nest(given, dict):
        return other
    ordered = _orderer(wanted)
    if type(wanted) is tuple:
        return other.map(lambda *parts: ordered(parts))
    return other.map(ordered)


def _nest(spec: Any, items: Callable[[Any], Any] = tuple) -> Any:
    """Keys and tuples; `items`: how the items of a dict are compared."""
    if type(spec) is dict:
        return "dict", items((k, _nest(v, items)) for k, v in spec.items())
    if type(spec) is tuple:
        return "tuple", tuple(_nest(v, items) for v in spec)
    return "leaf"


def _orderer(spec: Any) -> Callable[[Any], Any]:
    """A function that can be traced and gives elements in the order of `spec`."""
    if type(spec) is dict:
        items = {k: _orderer(v) for k, v in spec.items()}
        return lambda value: {k: ordered(value[k]) for k, ordered in items.items()}
    if type(spec) is tuple:
        parts = tuple(_orderer(v) for v in spec)
        return lambda value: tuple(ordered(v) for ordered, v in zip(parts, value))
    return lambda value: value
