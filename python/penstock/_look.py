"""Attributes of a user's objects, looked at without running the user's code.

`getattr` runs `__getattr__`, properties and other descriptors. Of a config that
makes values of any name, or of a mock, every probe would succeed; others count,
fail, or never end. When a graph is built nothing of that may happen: what only
such code could give is not there.
"""

from __future__ import annotations

import types
from typing import Any

_mro = type.__dict__["__mro__"].__get__
_vars = type.__dict__["__dict__"].__get__
_ABSENT = object()
# Attributes of these are read by the interpreter alone.
_PLAIN = frozenset((types.FunctionType, types.BuiltinFunctionType, types.MethodType))
# Descriptors that run nothing of the user's.
_BINDS = frozenset(
    (
        types.FunctionType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.MethodDescriptorType,
        types.ClassMethodDescriptorType,
        types.WrapperDescriptorType,
        staticmethod,
    )
)


def look(value: Any, name: str, default: Any = None) -> Any:
    """``getattr(value, name, default)``, as far as no code of the user's runs."""
    kind = type(value)
    if kind is types.MethodType and name not in ("__func__", "__self__"):
        return look(value.__func__, name, default)
    if kind in _PLAIN:
        return getattr(value, name, default)
    found = in_class(kind, name, _ABSENT)
    own = in_class(value, name, _ABSENT) if issubclass(kind, type) else _ABSENT
    if not _is_quiet(found) or not _is_quiet(own):
        return default
    if not has_own_lookup(value):
        return getattr(value, name, default)
    if own is not _ABSENT:
        return _bound(own, None, value)
    state = {} if issubclass(kind, type) else state_of(value)
    if name in state:
        return state[name]
    return default if found is _ABSENT else _bound(found, value, kind)


def in_class(kind: Any, name: str, default: Any = None) -> Any:
    """What a class or one of its bases holds under `name`, as it stands there."""
    for base in _mro(kind):
        held = _vars(base)
        if name in held:
            return held[name]
    return default


def state_of(value: Any) -> dict[str, Any]:
    """The `__dict__` of an object, empty if it has none."""
    found = in_class(type(value), "__dict__")
    if type(found) not in (types.GetSetDescriptorType, types.MemberDescriptorType):
        return {}  # none, or a property
    state = found.__get__(value)
    return state if isinstance(state, dict) else {}


def has_own_lookup(value: Any) -> bool:
    """Whether asking for any attribute may run code of its class or module."""
    kind = type(value)
    if in_class(kind, "__getattr__") is not None or intercepts(kind):
        return True
    return issubclass(kind, types.ModuleType) and "__getattr__" in state_of(value)


def intercepts(kind: type) -> bool:
    """Whether a class of Python's decides about every attribute, `__class__` too.

    Even isinstance asks for that.
    """
    return type(in_class(kind, "__getattribute__")) is not types.WrapperDescriptorType


def _bound(found: Any, value: Any, kind: Any) -> Any:
    if in_class(type(found), "__get__") is None:
        return found
    return found.__get__(value, kind)


def _is_quiet(found: Any) -> bool:
    """Whether an attribute that a class holds so is got without running code."""
    kind = type(found)
    if kind in _BINDS or in_class(kind, "__get__") is None:
        return True
    if kind is classmethod:
        return type(found.__func__) is types.FunctionType
    # Our own may run: of a dataset its fingerprint.
    return kind is property and (
        type(found.fget) is types.FunctionType
        and str(found.fget.__globals__.get("__name__")).partition(".")[0] == "penstock"
    )
