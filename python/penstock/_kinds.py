"""What a value is, told without running code of the user's.

Whether it is the user's or a library's, how deep one must look into it for what
cannot be written, what its attributes, members and captured variables are.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Iterator, MutableMapping, MutableSequence, MutableSet
from typing import Any

import numpy as np

from penstock._look import has_own_lookup, in_class, intercepts, look, state_of

CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.generic, range)
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
_HEAP_TYPE = 1 << 9  # of type.__flags__: made by a class statement
MAX_DEPTH = 8
MAX_ITEMS = 10_000  # that are looked into


def items_in(container: Any) -> list[Any]:
    """What a container holds, but for plain values."""
    if isinstance(container, dict):
        return items_in(container.keys()) + items_in(container.values())
    if set(map(type, container)) <= _PLAIN:
        return []
    return [item for item in container if type(item) not in _PLAIN]


def level_of(value: Any, depth: int = 0) -> int:
    """How many times one must look into `value` for what cannot be written."""
    if intercepts(type(value)):
        return 1
    if isinstance(value, (MutableSequence, MutableMapping, MutableSet)):
        writable = 1
    elif isinstance(value, (tuple, frozenset)):
        writable = 0
    else:
        return 0
    if not _is_looked_into(value):
        return writable
    items = items_in(value)
    if depth == MAX_DEPTH or len(items) > MAX_ITEMS:
        return MAX_DEPTH
    inner = max((level_of(item, depth + 1) for item in items), default=0)
    return inner + 1 if inner > 0 else writable


def is_object(value: Any) -> bool:
    """Whether all of its classes are the user's, written in Python."""
    return type(value) is not object and all(
        _is_python_class(c) for c in type(value).__mro__ if c is not object
    )


def _is_python_class(kind: type) -> bool:
    if not kind.__flags__ & _HEAP_TYPE or is_library(module_of(kind)):
        return False
    return not any(
        isinstance(v, (types.MethodDescriptorType, types.WrapperDescriptorType))
        for v in vars(kind).values()
    )


def module_of(kind: type) -> str:
    # With a slot of that name, as some compiled classes have on 3.10, it is none.
    module = kind.__module__
    return module if isinstance(module, str) else "builtins"


def home_of(module: Any) -> str:
    return str(look(module, "__name__", ""))


def is_library(module: str) -> bool:
    """Whether it came with Python, with this package or was installed."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    name = module.partition(".")[0]
    return name == "penstock" or name in sys.stdlib_module_names or "-packages/" in file


def own_bases(kind: type) -> list[type]:
    """The user's classes among it, its bases and those of its class."""
    meta: Any = type(kind)
    bases: list[type] = [*kind.__mro__, *meta.__mro__]
    return [base for base in bases if not is_library(module_of(base))]


def members_in(held: Any, attribute: str) -> Iterator[tuple[types.FunctionType, str]]:
    """The user's functions in what a class holds; what their first argument is."""
    bound = "class" if attribute == "__new__" else "object"
    if isinstance(held, (staticmethod, classmethod)):
        bound = "class" if isinstance(held, classmethod) else ""
        held = held.__func__
    parts = [held]
    if isinstance(held, property):
        parts = [held.fget, held.fset, held.fdel]
    elif isinstance(held, (functools.cached_property, functools.partialmethod)):
        parts = [held.func]
    elif isinstance(held, functools._lru_cache_wrapper):
        parts = [held.__wrapped__]
    for part in parts:
        if not isinstance(part, types.FunctionType):
            continue
        if not is_library(str(part.__globals__.get("__name__"))):
            yield part, bound
            continue
        for _, inner in captured_by(part):  # a library's function around it
            if isinstance(inner, types.FunctionType):
                yield from members_in(inner, attribute)


def is_users(value: Any) -> bool:
    """Whether it is a function, method or class of the user's."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    return isinstance(value, (types.FunctionType, type)) and not is_library(
        str(look(value, "__module__", ""))
    )


def captured_by(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for variable, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            yield variable, cell.cell_contents
        except ValueError:
            continue


def defaults_of(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    values = fn.__defaults__ or ()
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    yield from zip(names[len(names) - len(values) :], values)
    yield from (fn.__kwdefaults__ or {}).items()


def holds_array(value: Any) -> bool:
    return _is_looked_into(value) and any(
        isinstance(item, np.ndarray) or holds_array(item) for item in items_in(value)
    )


def _is_looked_into(value: Any) -> bool:
    return type(value) in (frozenset, list, set, dict) or isinstance(value, tuple)


UNKNOWN = object()  # an attribute that code would make


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute, found without running code of the user's."""
    if issubclass(type(owner), types.ModuleType):
        held = state_of(owner)
        if name in held:
            return held[name]
        if is_library(home_of(owner)):
            return getattr(owner, name, None)  # some load their parts when asked
        return UNKNOWN if has_own_lookup(owner) else None
    if issubclass(type(owner), type):
        return _class_attribute(owner, name)
    held = state_of(owner)
    if name in held:
        return held[name]
    found = in_class(type(owner), name, UNKNOWN)
    if found is UNKNOWN:
        return owner  # who knows
    if isinstance(found, types.MemberDescriptorType):
        return look(owner, name)
    return _method(found, owner, type(owner))


_FIELDS = frozenset(
    (
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        type(in_class(collections.namedtuple("_Fields", "a"), "a")),
    )
)


def field_of(value: Any, name: str) -> Any:
    """What a named tuple holds as `name`; UNKNOWN if it is none, or has no such."""
    found: Any = in_class(type(value), name) if isinstance(value, tuple) else None
    return found.__get__(value) if type(found) in _FIELDS else UNKNOWN


def _class_attribute(owner: type, name: str) -> Any:
    if is_library(module_of(owner)):
        return getattr(owner, name, None)
    found = in_class(owner, name, UNKNOWN)
    if type(found) in _FIELDS:
        return None  # each object has its own
    if isinstance(found, types.DynamicClassAttribute):  # of an Enum
        return found.fget if is_users(found.fget) else None
    if found is not UNKNOWN:
        return _method(found, None, owner)
    found = in_class(type(owner), name, UNKNOWN)  # of its metaclass
    if found is not UNKNOWN:
        return _method(found, owner, type(owner))
    return UNKNOWN if has_own_lookup(owner) else None


def _method(found: Any, owner: Any, kind: type) -> Any:
    """What a class holds, as `owner` gets it; None: as the class does."""
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        found, owner = found.__func__, kind
    if owner is not None and isinstance(found, types.FunctionType):
        return types.MethodType(found, owner)
    return found
