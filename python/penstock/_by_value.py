"""Lists, dicts, tuples, sets and arrays that a function only reads, by value.

`by_value(fn)` is called when a graph is built. It gives `fn`, or a copy of it that
reads copies of the containers that it captured: of variables of enclosing
functions, globals and defaults, its own and those of the user's functions that it
calls by name. So a function gives the same in threads as it does natively and in
processes, whatever the program does to the containers meanwhile.

What any code on the way may write (`_use`) stays as it is, and so do objects and
modules with what their attributes hold. Nothing is called; containers are copied to
their depth, objects in them are not.

A copied function has the globals of the original. Its code names a container there
by a name that no program can write, "_table, by value 3", which goes with the code.
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock._bytecode import codes_of, instructions_of, loads_of
from penstock._kinds import (
    MAX_DEPTH,
    MAX_ITEMS,
    captured_by,
    defaults_of,
    is_library,
    is_object,
    items_in,
    level_of,
    members_in,
    own_bases,
)
from penstock._look import in_class, intercepts, look
from penstock._purity import add_imports
from penstock._use import ATTRIBUTE, Use, elements_of, writes_arrays, writes_results

# What a function takes along at most: as much as AUTO gives to a worker process.
# Containers count 8 bytes an item. A larger one is shared with the program.
MAX_BYTES = 64 << 20
_CONTAINERS = frozenset((list, dict, tuple, set, frozenset, np.ndarray))
_GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
_SCOPES = frozenset("exec eval globals locals".split())
_REACHES_IN = frozenset("__dict__ __globals__ __closure__ cell_contents".split())
_MARK = ", by value "
_NAMED = frozenset(dis.hasname)

_numbers = itertools.count(1)
# Functions that were made here, and those that they were made of.
_originals: weakref.WeakKeyDictionary[types.FunctionType, Any] = (
    weakref.WeakKeyDictionary()
)
# Those of which other code writes globals: where such a function is unpickled with
# globals of its own, it would not see what that code wrote to its module's.
_bound_to_module: weakref.WeakSet[types.FunctionType] = weakref.WeakSet()


def by_value(fn: Any) -> Any:
    """`fn` with the containers that it only reads as they are now."""
    if type(fn) is types.FunctionType:
        if fn in _originals:
            return fn
    elif type(fn) not in (types.MethodType, functools.partial) and not is_object(fn):
        return fn
    found = _Found(fn)
    return _Copies(found).given() if found.any else fn


def original(fn: Any) -> Any:
    """The function of which `by_value` made `fn`."""
    if type(fn) is types.FunctionType:
        return _originals.get(fn, fn)
    if type(fn) is types.MethodType and original(fn.__func__) is not fn.__func__:
        return types.MethodType(original(fn.__func__), fn.__self__)
    return fn


def as_pickled(fn: Any) -> Any:
    """The function to pickle where `fn` is called."""
    inner = fn.__func__ if type(fn) is types.MethodType else fn
    bound = type(inner) is types.FunctionType and inner in _bound_to_module
    return original(fn) if bound else fn


def plain_name(name: str) -> str:
    """The name in the user's program of what a copied function names."""
    before, mark, _ = name.partition(_MARK)
    return before[1:] if mark else name


class _Slot:
    """A variable of a function, by which it gets a container or another function."""

    __slots__ = ("kind", "name", "value", "key")

    def __init__(self, kind: str, name: str, value: Any, key: Any) -> None:
        self.kind = kind  # "cell", "global" or "default"
        self.name = name
        self.value = value
        self.key = key  # of the variable, if others may assign it


def _is_container(value: Any) -> bool:
    kind = type(value)
    return kind in _CONTAINERS or (
        issubclass(kind, tuple)
        and type(in_class(kind, "_fields")) is tuple
        and in_class(kind, "__new__") is not tuple.__new__
    )


def _function_in(value: Any) -> types.FunctionType | None:
    """The function of the user's that a captured value calls."""
    if type(value) is types.MethodType:
        value = value.__func__
    elif type(value) is functools.partial:
        return _function_in(value.func)
    elif type(value) not in (types.FunctionType, type) and is_object(value):
        value = in_class(type(value), "__call__")
    if type(value) is not types.FunctionType:
        return None
    return None if _is_foreign(value) and not value.__closure__ else value


def _is_foreign(fn: types.FunctionType) -> bool:
    return is_library(str(fn.__globals__.get("__name__", "")))


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    """The globals that code and the code in it read."""
    names = {
        str(i.argval): None
        for inner in codes_of(code)
        for i in instructions_of(inner)
        if i.opname in _GLOBAL_LOADS
    }
    return tuple(names)


def _slots_of(fn: types.FunctionType) -> Iterator[_Slot]:
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            yield _Slot("cell", name, cell.cell_contents, id(cell))
        except ValueError:
            continue  # not set yet
    for name, value in defaults_of(fn):
        yield _Slot("default", name, value, None)
    if _is_foreign(fn):
        return
    scope = fn.__globals__
    for name in _global_names(fn.__code__):
        if name in scope and _MARK not in name:
            yield _Slot("global", name, scope[name], (id(scope), name))


class _Found:
    """The functions that `fn` reaches, and whether they read containers."""

    def __init__(self, fn: Any) -> None:
        self.slots: dict[types.FunctionType, list[_Slot]] = {}
        self.any = False
        self._seen: set[int] = set()
        self.given = fn
        self._look(fn)

    def _look(self, value: Any, depth: int = 0) -> None:
        if intercepts(type(value)) or depth > MAX_DEPTH:
            return
        if _is_container(value):
            items = [] if type(value) is np.ndarray else items_in(value)
            if len(items) > MAX_ITEMS:
                return
            self.any = True
            if id(value) not in self._seen:
                self._seen.add(id(value))
                for item in items:
                    self._look(item, depth + 1)
            return
        if type(value) is functools.partial:
            for part in (*value.args, *value.keywords.values()):
                self._look(part, depth + 1)
        fn = _function_in(value)
        if fn is None or fn in self.slots:
            return
        self.slots[fn] = []
        for slot in _slots_of(fn):
            kind = type(slot.value)
            if intercepts(kind):
                continue
            if _is_container(slot.value):
                self.slots[fn].append(slot)
                self._look(slot.value, depth + 1)
            elif _function_in(slot.value) is not None:
                self.slots[fn].append(slot)
                self._look(slot.value, depth + 1)


class _Writes:
    """What the code that a function reaches may write."""

    def __init__(self, fn: Any) -> None:
        self.everything = False
        self.variables: set[Any] = set()  # keys of slots
        self._held: set[int] = set()  # ids of containers and of arrays' memory
        self._seen: set[Any] = set()
        self._into_arrays = False
        self._returned: list[Any] = []  # arrays that helpers give back
        self._look(fn, 0)
        if self._into_arrays:
            for array in self._returned:
                self._mark(array)

    def has(self, value: Any) -> bool:
        return self.everything or id(_memory(value)) in self._held

    def _mark(self, value: Any) -> None:
        """It may be written, and all that it holds."""
        if id(_memory(value)) in self._held:
            return
        self._held.add(id(_memory(value)))
        if _is_container(value) and type(value) is not np.ndarray:
            items = items_in(value)
            if len(items) > MAX_ITEMS:  # so it is never copied; nor are those
                self._held.update(map(id, items))
                return
            for item in items:
                self._mark(item)

    def _look(self, value: Any, depth: int) -> None:
        kind = type(value)
        if intercepts(kind) or kind is types.ModuleType:
            return
        if depth > 2 * MAX_DEPTH:
            self.everything = True
        elif isinstance(value, type):
            if self._is_new(value) and not is_library(str(value.__module__)):
                self._look_at_members(value, value, depth)
        elif kind is types.MethodType:
            if type(value.__func__) is types.FunctionType:
                self._look_at_code(value.__func__, depth, (value.__self__,), {})
        elif kind is types.BuiltinFunctionType:
            self._mark(value.__self__)  # results.append
        elif kind is functools.partial:
            self._look_at_partial(value, depth)
        elif kind is types.FunctionType:
            self._look_at_code(value, depth, (), {})
        elif type(look(value, "__wrapped__")) is types.FunctionType:
            self._look(look(value, "__wrapped__"), depth + 1)
        elif _is_container(value):
            if kind is not np.ndarray and self._is_new(value):
                for item in items_in(value)[:MAX_ITEMS]:
                    self._look(item, depth + 1)
        elif is_object(value) and self._is_new(value):
            self._look_at_members(type(value), value, depth)

    def _is_new(self, value: Any) -> bool:
        new = id(value) not in self._seen
        self._seen.add(id(value))
        return new

    def _look_at_members(self, kind: type, owner: Any, depth: int) -> None:
        for base in own_bases(kind):
            for name, held in vars(base).items():
                for fn, bound in members_in(held, name):
                    first = (kind if bound == "class" else owner,) if bound else ()
                    self._look_at_code(fn, depth + 1, first, {})

    def _look_at_partial(self, value: functools.partial[Any], depth: int) -> None:
        fn = value.func
        if type(fn) is types.FunctionType and not _is_foreign(fn):
            self._look_at_code(fn, depth, value.args, value.keywords)
            return
        for part in (*value.args, *value.keywords.values()):
            self._mark(part)
        self._look(fn, depth + 1)

    def _look_at_code(
        self, fn: types.FunctionType, depth: int, args: Any, keywords: Any
    ) -> None:
        """With what its first arguments, and some by name, are."""
        given = (*args, *keywords.values())
        key = (id(fn), *map(id, given))
        if key in self._seen:
            return
        self._seen.add(key)
        known = dict(captured_by(fn))
        if _is_foreign(fn):
            for value in known.values():
                self._look(value, depth + 1)
            return
        add_imports(fn, known)
        code = fn.__code__
        defaults = {n: v for n, v in defaults_of(fn) if _is_container(v)}
        known.update(defaults)
        known.update(keywords)
        if len(args) > code.co_argcount or code.co_flags & 0x0C:  # *args, **kwargs
            for value in given:
                self._mark(value)
        known.update(zip(code.co_varnames[: code.co_argcount], args))
        for value in given:
            self._look(value, depth + 1)
        elements = elements_of(fn, known) if depth == 0 else frozenset()
        writes = writes_arrays(fn, known, defaults, elements)
        self._into_arrays |= writes or writes_results(fn)
        known = {**dict(defaults_of(fn)), **known}
        cells = dict(zip(code.co_freevars, map(id, fn.__closure__ or ())))
        for inner in codes_of(code):
            instructions = instructions_of(inner)
            for at, instruction in enumerate(instructions):
                op, name = instruction.opname, instruction.argval
                if op in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                    self.variables.add((id(fn.__globals__), name))
                elif op in ("STORE_DEREF", "DELETE_DEREF") and name in cells:
                    self.variables.add(cells[name])
                elif op in ATTRIBUTE and name in _REACHES_IN:
                    self.everything = True
                for loaded, above in loads_of(instruction):
                    if loaded in known:
                        value = known[loaded]
                    elif op not in _GLOBAL_LOADS:
                        continue
                    elif loaded in fn.__globals__:
                        value = fn.__globals__[loaded]
                    else:
                        self.everything |= loaded in _SCOPES
                        continue
                    use = Use(fn, instructions, at, above)
                    use.result_is_read = depth == 0 and inner is code
                    self._look_at_use(use, value, loaded, writes, depth)

    def _look_at_use(
        self, use: Use, value: Any, name: str, writes: bool, depth: int
    ) -> None:
        used, called = use.part(value, name)
        if intercepts(type(used)):
            return
        if _is_container(used):
            if use.check(used, called, writes):
                self._mark(used)
            if use.returned and not use.result_is_read:
                self._returned.append(used)
        if not use.of_library or type(used) is types.FunctionType:
            self._look(used, depth + 1)


def _memory(value: Any) -> Any:
    """The array that views are of, or the container."""
    while type(value) is np.ndarray and isinstance(value.base, np.ndarray):
        value = value.base
    return value


class _Copies:
    """Copies of functions and of what they read, one for each original."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._writes = _Writes(found.given)
        self._made: dict[int, Any] = {}
        self._left = MAX_BYTES
        self._names: list[_Name] = []
        self._changed = self._changing()

    def given(self) -> Any:
        """The function that the stage calls; what its code names lives with it."""
        made = self.value(self._found.given)
        if any(name.stands_for(made) for name in self._names):
            # It calls itself: what the names keep alive must not keep them.
            made = _function_like(made, made.__code__, made.__closure__)
            _originals[made] = self._found.given
        if self._names:
            owner = made.__func__ if type(made) is types.MethodType else made
            weakref.finalize(owner, tuple, self._names).atexit = False
            if self._writes.variables and type(owner) is types.FunctionType:
                _bound_to_module.add(owner)
        return made

    def value(self, value: Any) -> Any:
        """The copy, or what it was."""
        kind = type(value)
        if intercepts(kind) or self._writes.has(value):
            return value
        if id(value) in self._made:
            return self._made[id(value)]
        if _is_container(value):
            made = self._container(value)
        elif kind is functools.partial:
            made = self._partial(value)
        else:
            fn = _function_in(value)
            if fn is None or fn not in self._changed:
                return value
            made = self._function(fn)
            if kind is not types.FunctionType:
                owner = value.__self__ if kind is types.MethodType else value
                made = types.MethodType(made, owner)
        self._made[id(value)] = made
        return made

    def _changing(self) -> set[types.FunctionType | None]:
        """The functions that read something to be copied, or call one that does."""
        changed: set[types.FunctionType | None] = set()
        while True:
            more = {
                fn
                for fn, slots in self._found.slots.items()
                if fn not in changed
                and any(self._is_taken(s) and self._changes(s, changed) for s in slots)
            }
            if not more:
                return changed
            changed |= more

    def _is_taken(self, slot: _Slot) -> bool:
        return slot.key not in self._writes.variables

    def _changes(self, slot: _Slot, changed: set[types.FunctionType | None]) -> bool:
        if _is_container(slot.value):
            return not self._writes.has(slot.value)
        return _function_in(slot.value) in changed

    def _container(self, value: Any) -> Any:
        kind = type(value)
        size = value.nbytes if kind is np.ndarray else 8 * len(value)
        if size > self._left:
            return value
        if kind is np.ndarray:
            self._left -= size
            return _array(value)
        items = items_in(value)
        if len(items) > MAX_ITEMS or level_of(value) >= MAX_DEPTH:
            return value  # the latter may hold itself
        self._left -= size
        if not items:
            return value.copy() if kind in (list, dict, set) else value
        if kind is dict:
            return {self.value(k): self.value(v) for k, v in value.items()}
        items = [self.value(item) for item in value]
        if kind in (tuple, list, set, frozenset):
            return kind(items)
        return tuple.__new__(kind, items)

    def _partial(self, value: functools.partial[Any]) -> Any:
        args = [self.value(a) for a in value.args]
        keywords = {k: self.value(v) for k, v in value.keywords.items()}
        made = functools.partial(self.value(value.func), *args, **keywords)
        vars(made).update(vars(value))
        return made

    def _function(self, fn: types.FunctionType) -> Any:
        if id(fn) in self._made:
            return self._made[id(fn)]
        slots = [
            s
            for s in self._found.slots[fn]
            if self._is_taken(s) and self._changes(s, self._changed)
        ]
        names = {
            s.name: _Name(fn.__globals__, s.name) for s in slots if s.kind == "global"
        }
        self._names.extend(names.values())
        code = _renamed(fn.__code__, names) if names else fn.__code__
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        new_cells = {s.name: types.CellType() for s in slots if s.kind == "cell"}
        closure = tuple(new_cells.get(n, c) for n, c in cells.items())
        made = _function_like(fn, code, closure or None)
        # Before what it reads: a function may call itself.
        self._made[id(fn)] = made
        _originals[made] = fn
        for slot in slots:
            value = self.value(slot.value)
            if slot.kind == "cell":
                new_cells[slot.name].cell_contents = value
            elif slot.kind == "global":
                names[slot.name].set(value)
        if fn.__defaults__:
            made.__defaults__ = tuple(map(self._default, fn.__defaults__))
        if fn.__kwdefaults__:
            defaults = fn.__kwdefaults__.items()
            made.__kwdefaults__ = {k: self._default(v) for k, v in defaults}
        return made

    def _default(self, value: Any) -> Any:
        taken = _is_container(value) or _function_in(value) in self._changed
        return self.value(value) if taken else value


def _function_like(
    fn: types.FunctionType, code: types.CodeType, closure: Any
) -> types.FunctionType:
    made = types.FunctionType(
        code, fn.__globals__, fn.__name__, fn.__defaults__, closure
    )
    made.__kwdefaults__ = fn.__kwdefaults__
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(fn, name):
            setattr(made, name, getattr(fn, name))
    vars(made).update(vars(fn))
    return made


def _array(value: np.ndarray[Any, Any]) -> Any:
    if not value.flags.writeable and value.base is None:
        return value  # nobody can change it
    made = value.copy(order="K")
    made.flags.writeable = value.flags.writeable
    return made


class _Name:
    """A global by a name that no program can write, as long as this object lives."""

    __slots__ = ("name", "_scope")

    def __init__(self, scope: dict[str, Any], name: str) -> None:
        self._scope = scope
        self.name = f"_{name}{_MARK}{next(_numbers)}"

    def set(self, value: Any) -> None:
        self._scope[self.name] = value

    def stands_for(self, value: Any) -> bool:
        return self._scope.get(self.name) is value

    def __del__(self) -> None:
        self._scope.pop(self.name, None)


def _renamed(code: types.CodeType, names: dict[str, _Name]) -> types.CodeType:
    """`code`, which loads other globals."""
    consts = tuple(
        _renamed(c, names) if isinstance(c, types.CodeType) else c
        for c in code.co_consts
    )
    co_names = list(code.co_names)
    raw = bytearray(code.co_code)
    for name, new in names.items():
        named = [
            i for i in instructions_of(code) if i.opcode in _NAMED and i.argval == name
        ]
        loads = [i for i in named if i.opname in _GLOBAL_LOADS]
        if len(loads) == len(named):
            co_names = [new.name if n == name else n for n in co_names]
        elif not _is_assigned(named):  # it is an attribute's name, too
            _load(raw, loads, len(co_names))
            co_names.append(new.name)
    return code.replace(co_code=bytes(raw), co_consts=consts, co_names=tuple(co_names))


def _is_assigned(named: list[dis.Instruction]) -> bool:
    return any(i.opname in ("STORE_NAME", "DELETE_NAME") for i in named)


def _load(raw: bytearray, loads: list[dis.Instruction], index: int) -> None:
    """Lets each of `loads` load the global of another index."""
    for instruction in loads:
        arg = instruction.arg or 0
        if instruction.opname == "LOAD_GLOBAL" and sys.version_info >= (3, 11):
            new = index << 1 | arg & 1
        else:
            new = index
        if max(arg, new) < 256:  # else it would need another instruction
            raw[instruction.offset + 1] = new
