"""What tells functions apart in a graph's fingerprint.

Equal in another process that runs the same program: code, defaults and captured
values count, memory addresses do not. So do the user's own functions and classes
that the code reaches by global names, also through modules, and the constants it
reads there: numbers and text, and lists, dicts and arrays that it only reads
(`_purity`). What an installed library does counts by name alone.

Everything is only looked at, never called, and at most so deep and so much of it
as the limits below say.
"""

from __future__ import annotations

import array
import collections
import contextlib
import dataclasses
import dis
import enum
import functools
import hashlib
import operator
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock._by_value import plain_name
from penstock._dtypes import DType
from penstock._kinds import is_library
from penstock._look import in_class, intercepts, look, state_of
from penstock._purity import only_reads
from penstock._spec import TensorSpec

_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic, enum.Enum)
_TEXT = (bool, int, float, complex, str, bytes, type(None))  # shown by repr
_CONTAINERS = (tuple, frozenset, list, dict, set, np.ndarray)
_SHOWN_WHOLE = frozenset("datetime decimal fractions pathlib uuid".split())
_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_MAX_DEPTH = 16
_MAX_HELPERS = 10_000  # functions and classes
# Of a global: a larger array is told by its shape, a longer list by its length.
_MAX_BYTES = 64 << 20
_MAX_ITEMS = 100_000


def function_identity(fn: Any) -> str:
    """A name and a digest; of a tuple of functions and values as of one."""
    name = look(fn, "__qualname__") or type(fn).__qualname__
    return f"{name}:{_Identity(fn).digest()[:16]}"


class _Identity:
    def __init__(self, fn: Any) -> None:
        self._given = fn
        self._hash = hashlib.sha256()
        self._seen: set[int] = set()
        self._left = _MAX_HELPERS
        # What names of a scope stand for, and the names that some function on the
        # way assigns, of any scope (0) for attributes: those are no constants.
        self._constants: list[tuple[int, str, Any]] = []
        self._assigned: set[tuple[int, str]] = set()

    def digest(self) -> str:
        self._add(self._given, 0)
        # Grows on the way, where constants hold functions.
        for scope, name, value in self._constants:
            if {(scope, name), (0, name)} & self._assigned:
                continue
            self._text(f"{plain_name(name)}=")
            if isinstance(value, np.ndarray) and value.nbytes > _MAX_BYTES:
                self._text(f"{value.dtype}{value.shape};")
            elif isinstance(value, np.ndarray):
                self._add(value, 1)
            elif isinstance(value, _CONTAINERS) and len(value) > _MAX_ITEMS:
                self._text(f"{type(value).__name__}{len(value)};")
            else:
                self._add(value, 1)
        return self._hash.hexdigest()

    def _text(self, text: str) -> None:
        self._hash.update(text.encode())

    def _add(self, value: Any, depth: int) -> None:
        """Adds what identifies `value`, by content where that is known."""
        if intercepts(type(value)):
            if depth > _MAX_DEPTH or id(value) in self._seen:
                self._text("again;")
                return
            self._seen.add(id(value))
            self._add_object(value, depth)
            return
        if isinstance(value, enum.Enum):
            self._text(f"{type(value).__qualname__}.{value._name_};")
            return
        if isinstance(value, _TEXT):
            self._text(f"{type(value).__name__}:{_shown(value)};")
            return
        if isinstance(value, np.generic):
            self._hash.update(f"{value.dtype}:".encode() + value.tobytes())
            return
        # Whether equal constants are one object is the compiler's choice.
        once = not isinstance(value, (tuple, frozenset, types.CodeType))
        if (once and id(value) in self._seen) or depth > _MAX_DEPTH:
            self._text("again;")
            return
        if once:
            self._seen.add(id(value))
        if isinstance(value, types.ModuleType):
            self._text(f"module {value.__name__};")
        elif isinstance(value, types.CodeType):
            self._hash.update(value.co_code)
            names = tuple(map(plain_name, value.co_names))
            self._text(repr((names, value.co_varnames)))
            for constant in value.co_consts:
                self._add(constant, depth + 1)
        elif isinstance(value, types.FunctionType):
            self._add_function(value, depth)
        elif isinstance(value, types.MethodType):
            self._add(value.__func__, depth + 1)
            self._add(value.__self__, depth + 1)
        elif isinstance(value, type):
            self._add_class(value, depth)
        elif isinstance(value, np.ndarray):
            self._text(f"{value.dtype}{value.shape}")
            if value.dtype != object:
                self._hash.update(np.ascontiguousarray(value).view(np.uint8).data)
            else:
                for item in value.ravel():
                    self._add(item, depth + 1)
        elif isinstance(value, (tuple, list, set, frozenset)):
            ordered = isinstance(value, (tuple, list))
            items = _items(value)
            self._text(f"{type(value).__name__}{len(items)}[")
            for item in items if ordered else sorted(items, key=_shown):
                self._add(item, depth + 1)
            self._text("]")
        elif isinstance(value, dict):
            self._add_items(value, depth)
        elif isinstance(value, functools.partial):
            for part in _parts(value):
                self._add(part, depth + 1)
        else:
            self._add_object(value, depth)

    def _add_items(self, value: dict[Any, Any], depth: int) -> None:
        """Of a dict that may be gone soon: another may have its id then."""
        for key, item in dict.items(value):
            self._add(key, depth + 1)
            self._add(item, depth + 1)

    def _add_object(self, value: Any, depth: int) -> None:
        fingerprint = look(value, "fingerprint")
        if type(fingerprint) is str:
            self._text(fingerprint)
            return
        kind = type(value)
        name, module = look(value, "__qualname__"), look(value, "__module__", "")
        self._text(f"{_word(module)}.{_word(name)}:")
        self._text(f"{kind.__module__}.{kind.__qualname__};")
        wrapped = look(value, "__wrapped__")  # by functools.lru_cache
        if type(wrapped) is types.FunctionType:
            self._add(wrapped, depth + 1)
        if issubclass(kind, types.BuiltinMethodType):
            owner = value.__self__  # of a bound method: PATTERN.match
            if not isinstance(owner, (types.ModuleType, type(None))):
                self._add(owner, depth + 1)
        elif kind in _GETTERS:
            self._add(value.__reduce__(), depth + 1)
        elif kind is re.Pattern:
            self._add((value.pattern, value.flags), depth + 1)
        elif kind in (collections.deque, bytearray, array.array):
            self._add(tuple(value), depth + 1)
        elif _is_shown_whole(kind):
            self._text(f"{value!r};")
        elif name is None:
            slots = _slots_of(value)
            if slots or in_class(kind, "__dict__") is not None:
                self._add_items({**state_of(value), **slots}, depth + 1)
                self._add(kind, depth + 1)

    def _add_class(self, kind: type, depth: int) -> None:
        self._text(f"class {kind.__module__}.{kind.__qualname__};")
        self._left -= 1
        if _is_foreign(kind.__module__) or self._left < 0:
            return
        for base in kind.__bases__:
            self._add(base, depth + 1)
        for name, value in sorted(vars(kind).items()):
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if isinstance(value, property):
                value = value.fget
            if isinstance(value, types.FunctionType):
                self._add(value, depth + 1)
            elif not name.startswith("__") and isinstance(value, _SCALARS):
                self._constants.append((id(kind), name, value))

    def _add_function(self, fn: types.FunctionType, depth: int) -> None:
        self._text(f"def {fn.__module__}.{fn.__qualname__};")
        self._add(fn.__code__, depth + 1)
        self._add(fn.__defaults__, depth + 1)
        self._add(fn.__kwdefaults__, depth + 1)
        for cell in fn.__closure__ or ():
            try:
                self._add(cell.cell_contents, depth + 1)
            except ValueError:
                self._text("empty;")
        self._left -= 1
        if _is_foreign(fn.__module__) or self._left < 0:
            return
        names = _names(fn.__code__)
        self._assigned.update((id(fn.__globals__), name) for name in names.assigned)
        self._assigned.update((0, name) for name in names.set_on_objects)
        for path in names.read:
            for scope, name, value in _resolved(fn.__globals__, path):
                if not isinstance(value, _CONTAINERS) or only_reads(fn, path[0], value):
                    self._add_global(scope, name, value, depth)
                else:
                    self._assigned.add((scope, name))

    def _add_global(self, scope: int, name: str, value: Any, depth: int) -> None:
        """What a global name stands for: a helper, a constant, or who knows."""
        kind = type(value)
        if isinstance(value, (*_SCALARS, *_CONTAINERS)):
            if _is_plain(value, 0):
                self._constants.append((scope, name, value))
        elif isinstance(value, (types.FunctionType, type)):
            self._text(f"{plain_name(name)}=")
            if _is_foreign(value.__module__):
                self._text(f"{value.__module__}.{value.__qualname__};")
            else:
                self._add(value, depth + 1)
        # Objects change as the program runs: only what they can do counts.
        elif isinstance(value, types.MethodType):
            self._add_global(scope, name, value.__func__, depth)
        elif isinstance(value, functools.partial):
            self._add_global(scope, name, _parts(value)[0], depth)
        elif type(wrapped := look(value, "__wrapped__")) is types.FunctionType:
            self._add_global(scope, name, wrapped, depth)
        elif not _is_foreign(kind.__module__):
            self._add(kind, depth + 1)
            if _is_frozen(kind):
                fields = dataclasses.fields(kind)
                values = tuple(look(value, f.name) for f in fields)
                self._add_global(scope, name, values, depth)


def _is_foreign(module: Any) -> bool:
    """Whether code is ours, Python's or a library's: its name says enough."""
    name = module if isinstance(module, str) else ""
    return is_library(name)


def _is_shown_whole(kind: type) -> bool:
    """Whether repr() of a library's value tells all of it."""
    known = kind in (DType, TensorSpec, range, slice) or issubclass(kind, np.dtype)
    return known or kind.__module__.partition(".")[0] in _SHOWN_WHOLE


def _slots_of(value: Any) -> dict[str, Any]:
    """What an object of the user's own class has in slots."""
    found: dict[str, Any] = {}
    if _is_foreign(type(value).__module__):
        return found
    for base in type(value).__mro__:
        for name, held in vars(base).items():
            if isinstance(held, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):  # not set yet
                    found[name] = held.__get__(value)
    return found


def _is_plain(value: Any, depth: int) -> bool:
    """Whether nothing in there changes by itself, as objects do."""
    if isinstance(value, (*_SCALARS, types.FunctionType, type)):
        return True
    if isinstance(value, np.ndarray):
        return bool(value.dtype != object)
    if not isinstance(value, _CONTAINERS) or depth > _MAX_DEPTH:
        return False
    if len(value) > _MAX_ITEMS:
        return depth == 0
    return all(_is_plain(item, depth + 1) for item in _items(value))


def _is_frozen(kind: type) -> bool:
    parameters = in_class(kind, "__dataclass_params__")
    return parameters is not None and bool(parameters.frozen)


def _items(value: Any) -> list[Any]:
    """What a container holds, whatever a class of the user's says about it."""
    if isinstance(value, dict):
        return [*dict.keys(value), *dict.values(value)]
    for kind in (tuple, list, set, frozenset):
        if isinstance(value, kind):
            return [*kind.__iter__(value)]  # type: ignore[arg-type]
    return list(value)


def _parts(value: functools.partial[Any]) -> tuple[Any, Any, Any]:
    """A class made from it may have attributes of these names."""
    func, args, keywords = (
        functools.partial.__dict__[name].__get__(value)
        for name in ("func", "args", "keywords")
    )
    return func, args, keywords


def _shown(value: Any, depth: int = 0) -> str:
    """repr(), of objects their class and state, by which a set is ordered."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value._name_}"
    for kind in _TEXT:
        if isinstance(value, kind):
            return str(kind.__repr__(value))  # type: ignore[call-arg]
    if isinstance(value, np.generic):
        return f"{value.dtype}:{value.tobytes().hex()}"
    if _is_shown_whole(type(value)):
        return repr(value)
    name = f"{type(value).__qualname__}.{_word(look(value, '__qualname__'))}"
    if depth > 2:
        return name
    if isinstance(value, tuple):
        items = [_shown(item, depth + 1) for item in _items(value)]
    elif isinstance(value, frozenset):
        items = sorted(_shown(item, depth + 1) for item in _items(value))
    else:
        state = {**state_of(value), **_slots_of(value)}
        items = [f"{key}={_shown(item, depth + 1)}" for key, item in state.items()]
    return f"{name}({','.join(items)})"


def _word(value: Any) -> Any:
    """A name, of which nothing is asked but the text."""
    return value if value is None or type(value) is str else type(value).__qualname__


def _resolved(scope: dict[str, Any], path: tuple[str, ...]) -> Iterator[Any]:
    """(scope, name, value) of a global, of what is used of a user's module."""
    name, *attributes = path
    if name not in scope:
        return  # a builtin, or not there yet
    value = scope[name]
    while isinstance(value, types.ModuleType) and attributes:
        if _is_foreign(value.__name__) or attributes[0] not in vars(value):
            return
        scope, name = vars(value), attributes.pop(0)
        value = scope[name]
    if not isinstance(value, types.ModuleType):
        yield id(scope), name, value


@dataclasses.dataclass
class _Names:
    """The global names that code reads and assigns, and attributes that it sets."""

    read: dict[tuple[str, ...], None]  # in order, with the attributes that follow
    assigned: set[str]
    set_on_objects: set[str]


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> _Names:
    found = _Names({}, set(), set())
    path: list[str] = []
    for instruction in dis.get_instructions(code):
        op, name = instruction.opname, str(instruction.argval)
        if op == "CACHE":
            continue
        if path and op in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(name)
            continue
        if path:
            found.read[tuple(path)] = None
            path = []
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            path = [name]
        elif op in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found.assigned.add(name)
        elif op in ("STORE_ATTR", "DELETE_ATTR"):
            found.set_on_objects.add(name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names(constant)
            found.read.update(inner.read)
            found.assigned |= inner.assigned
            found.set_on_objects |= inner.set_on_objects
    return found
