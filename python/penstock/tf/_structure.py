"""Structures of tensors: what travels through the engine and what users see.

The engine carries tuples, named tuples, dicts and None. Dataclasses and attrs
classes travel as named tuples of their fields and arrive as themselves.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import namedtuple
from collections.abc import Callable
from typing import Any

_lock = threading.Lock()
_carriers: dict[type, Any] = {}


def field_names(cls: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or attrs class, None for other classes."""
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls))
    attributes = getattr(cls, "__attrs_attrs__", None)
    if attributes is not None:
        return tuple(a.name for a in attributes)
    names: tuple[str, ...] | None = cls.__dict__.get("__penstock_fields__")
    return names


def carrier(cls: type) -> Any:
    """The named tuple that carries a class, None if none is needed."""
    made = _carriers.get(cls)
    if made is not None:
        return made
    names = field_names(cls)
    if names is None:
        return None
    with _lock:
        if cls not in _carriers:
            make: Any = namedtuple
            tuple_class = make(cls.__name__, names, rename=True, module=cls.__module__)
            tuple_class.__qualname__ = f"{cls.__qualname__}.<fields>"
            tuple_class.carried = cls
            tuple_class.names = names
            tuple_class.__reduce__ = _reduce
            _carriers[cls] = tuple_class
    return _carriers[cls]


def _reduce(value: Any) -> Any:
    return _carry, (type(value).carried, tuple(value))


def _carry(cls: type, items: tuple[Any, ...]) -> Any:
    return carrier(cls)(*items)


def encode_fields(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """An instance of a class with fields, for the engine."""
    tuple_class = carrier(type(value))
    if tuple_class is None:
        raise TypeError(f"{value!r} is no structure of TensorSpec objects")
    return tuple_class(*(leaf(getattr(value, n)) for n in tuple_class.names))


def encode_tuple(like: Any, items: list[Any]) -> Any:
    """`items` in a tuple of the class of `like`."""
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items)


def rebuild(like: Any, items: list[Any]) -> Any:
    """The same for users: carried classes become themselves again."""
    carried = getattr(type(like), "carried", None)
    if carried is None:
        return encode_tuple(like, items)
    made = object.__new__(carried)
    for name, item in zip(type(like).names, items):
        object.__setattr__(made, name, item)
    return made


def is_carried(value: Any) -> bool:
    """Whether a tuple of the engine's stands for an object of some class."""
    return getattr(type(value), "carried", None) is not None


def decode(value: Any) -> Any:
    """A structure as users see it; its leaves stay."""
    if isinstance(value, tuple):
        return rebuild(value, [decode(v) for v in value])
    if type(value) is dict:
        return {k: decode(v) for k, v in value.items()}
    return value


def flatten(value: Any) -> list[Any]:
    """The leaves in order; dicts by key, as TensorFlow has it."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flatten(item)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flatten(value[key])]
    names = field_names(type(value))
    if names is not None:
        return [leaf for n in names for leaf in flatten(getattr(value, n))]
    return [] if value is None else [value]


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """`function` of corresponding leaves, in the structure of the first."""
    first = structures[0]
    if isinstance(first, (tuple, list)):
        items = [map_structure(function, *group) for group in zip(*structures)]
        return items if isinstance(first, list) else encode_tuple(first, items)
    if isinstance(first, dict):
        return type(first)(
            (k, map_structure(function, *(s[k] for s in structures))) for k in first
        )
    if first is None:
        return None
    names = field_names(type(first))
    if names is not None:
        made = object.__new__(type(first))
        for n in names:
            parts = [getattr(s, n) for s in structures]
            object.__setattr__(made, n, map_structure(function, *parts))
        return made
    return function(*structures)
