"""Whether a function keeps to itself, so that it may run in another process.

Only its code is looked at; it is never called. A function that writes a global,
an outer variable, or an object that it did not make, or that holds something
whose identity matters (a file, a lock, a generator), would mean something else
over there. What it only reads goes along: numbers and text, arrays, lists and
dicts, compiled patterns, objects with methods of this kind.

What reads is recognised, not what writes (`_use`): a list that is used in a way
not known there keeps the function where it is.
"""

from __future__ import annotations

import dis
import enum
import functools
import importlib.util
import sys
import types
from typing import Any

import numpy as np

from penstock._bytecode import codes_of, instructions_of, loads_of, pair_of
from penstock._kinds import (
    CONSTANTS,
    MAX_DEPTH,
    attribute_of,
    captured_by,
    defaults_of,
    is_library,
    is_object,
    is_users,
    items_in,
    level_of,
    members_in,
    module_of,
    own_bases,
)
from penstock._look import in_class, intercepts, look
from penstock._use import (
    ATTRIBUTE,
    Use,
    elements_of,
    may_be_shared,
    writes_arrays,
    writes_results,
)

_WRITES_OUTSIDE = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME"}
_SETS_ATTRIBUTES = {"STORE_ATTR", "DELETE_ATTR"}
# Modules whose objects never change.
_IMMUTABLE = {"re", "datetime", "decimal", "fractions", "pathlib", "uuid", "_struct",
              "dataclasses"}  # fmt: skip
# Builtins that write, or may reach anything.
_WRITING_BUILTINS = frozenset(
    "print input exec eval setattr delattr globals vars breakpoint __import__".split()
)
# Functions of libraries that change how others of the process go on.
_SETTERS = frozenset(
    "seed set_state setstate manual_seed seterr set_printoptions chdir putenv unsetenv "
    "setlocale simplefilter filterwarnings setrecursionlimit".split()
)
_REACHES_IN = frozenset("__dict__ __globals__ __setattr__ __delattr__".split())
# Among what was seen, beside ids: that something writes arrays, and the names of
# those that helpers return.
_WRITES = "writes arrays"


def keeps_to_itself(fn: Any) -> str:
    """Why not, naming the object; empty if it does."""
    seen: set[Any] = set()
    why = _check(fn, str(look(fn, "__name__", type(fn).__name__)), seen, 0)
    if not why and _WRITES in seen:
        for name in seen:
            if isinstance(name, str) and name != _WRITES:
                return f"it may write to the array {name}, which a helper returns"
    return why


def only_reads(fn: types.FunctionType, name: str, value: Any) -> bool:
    """Whether `fn` only looks at the list, dict, set, tuple or array `value`.

    It gets it by the global `name`, or as an attribute of that.
    """
    writes = writes_arrays(fn, {}, {}, elements_of(fn, {}))
    for code in codes_of(fn.__code__):
        instructions = instructions_of(code)
        for at, instruction in enumerate(instructions):
            if (name, 0) in loads_of(instruction):
                use = Use(fn, instructions, at, 0)
                used, called = use.part(fn.__globals__[name], name)
                if used is value and use.check(used, called, writes):
                    return False
    return True


def _check(value: Any, name: str, seen: set[Any], depth: int) -> str:
    if intercepts(type(value)):
        return may_be_shared(value, name)
    if isinstance(value, type):
        return _check_class(value, name, seen, depth)
    if isinstance(value, (*CONSTANTS, types.ModuleType, np.dtype, np.ufunc)):
        return ""
    if isinstance(value, enum.Enum):
        return _check_class(type(value), name, seen, depth)
    if isinstance(value, types.MethodType):
        return _check_method(value.__func__, value.__self__, name, seen, depth)
    kind = type(value)
    module = module_of(kind)
    if module.partition(".")[0] == "penstock" or module in _IMMUTABLE:
        return ""
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return ""
        return f"{name} is a method of a {type(owner).__name__}"
    if id(value) in seen:
        return ""
    if depth > MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add(id(value))
    if isinstance(value, types.FunctionType):
        return _check_function(value, name, seen, depth)
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            # The function may write to its arguments.
            if level_of(part) > 0 or isinstance(part, np.ndarray):
                return f"{name} is a partial with a {type(part).__name__}"
            why = _check(part, name, seen, depth + 1)
            if why:
                return why
        return ""
    if depth == 0 and is_object(value) and callable(value):
        return _check_method(kind.__call__, value, name, seen, depth)
    if isinstance(value, np.ndarray):
        return ""  # written nowhere, as _check_function has seen
    if kind in (tuple, frozenset, list, set, dict) or isinstance(value, tuple):
        for item in items_in(value):
            why = _check(item, name, seen, depth + 1)
            if why:
                return why
        return ""
    return may_be_shared(value, name)


def _check_method(fn: Any, owner: Any, name: str, seen: set[Any], depth: int) -> str:
    if not isinstance(fn, types.FunctionType) or not fn.__code__.co_argcount:
        return may_be_shared(owner, name)
    if (id(fn), id(owner)) in seen:
        return ""
    if depth > MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add((id(fn), id(owner)))
    return _check_function(fn, name, seen, depth, owner)


def _check_class(kind: type, name: str, seen: set[Any], depth: int) -> str:
    """Whether what its objects do stays with them: what is made of a class of the
    user's may be asked for any method, and those of its own bases."""
    if id(kind) in seen or is_library(module_of(kind)):
        return ""
    if depth > MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add(id(kind))
    members = [
        (f"{name}.{attribute}", *member)
        for base in own_bases(kind)
        for attribute, held in vars(base).items()
        for member in members_in(held, attribute)
    ]
    for base in own_bases(kind):
        for attribute, held in vars(base).items():
            if is_object(held) and in_class(type(held), "__get__") is not None:
                return may_be_shared(held, f"{name}.{attribute}")
    # Each is looked at below, as what an object may do to itself.
    seen.update(id(fn) for _, fn, _ in members)
    for called, fn, bound in members:
        owner = kind if bound and fn.__code__.co_argcount else _NOBODY
        why = _check_function(fn, called, seen, depth + 1, owner, bound == "object")
        if why:
            return why
    return ""


_NOBODY = object()


def _check_function(
    fn: types.FunctionType,
    name: str,
    seen: set[Any],
    depth: int,
    owner: Any = _NOBODY,
    fresh: bool = False,
) -> str:
    """With `owner` as its first argument; or as the class of it, if that is an
    object which belongs to the caller, so that it may be written."""
    code = fn.__code__
    known = dict(captured_by(fn))
    why = add_imports(fn, known)
    if why:
        return why
    given = dict(defaults_of(fn))
    shown = {argument: f"{argument} (a default of {name})" for argument in given}
    for argument, value in given.items():
        why = _check(value, shown[argument], seen, depth + 1)
        if why:
            return why
        if level_of(value) > 0 or isinstance(value, np.ndarray):
            known[argument] = value
    if owner is not _NOBODY:
        known[code.co_varnames[0]] = owner
    own = code.co_varnames[0] if fresh and code.co_argcount else ""
    why = _check_writes(code, set(code.co_freevars), own)
    if why:
        return why
    elements = elements_of(fn, known) if depth == 0 else frozenset()
    writes = writes_arrays(fn, known, given, elements)
    if writes or writes_results(fn):
        seen.add(_WRITES)
    for inner in codes_of(code):
        instructions = instructions_of(inner)
        for at, instruction in enumerate(instructions):
            for loaded, above in loads_of(instruction):
                if loaded in known:
                    value = known[loaded]
                elif instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                    continue
                elif loaded in fn.__globals__:
                    value = fn.__globals__[loaded]
                elif loaded in _WRITING_BUILTINS:
                    return f"it calls {loaded}"
                else:
                    continue  # a builtin, or not there yet
                use = Use(fn, instructions, at, above)
                used, called = use.part(value, shown.get(loaded, loaded))
                why = use.check(used, called, writes)
                if use.returned and (depth > 0 or inner is not code):
                    seen.add(called)
                if use.of_library and called.rpartition(".")[2] in _SETTERS:
                    why = f"it calls {called}"
                # Of a library only what the user put there is looked at.
                if not why and (not use.of_library or is_users(used)):
                    why = _check(used, called, seen, depth + 1)
                if why:
                    return why
    return ""


def add_imports(fn: types.FunctionType, known: dict[str, Any]) -> str:
    """Adds what it imports to `known`, or says why that cannot be looked at."""
    for code in codes_of(fn.__code__):
        instructions = instructions_of(code)
        for at, instruction in enumerate(instructions):
            if instruction.opname != "IMPORT_NAME":
                continue
            name, package = str(instruction.argval), fn.__globals__.get("__package__")
            level, wanted = (i.argval for i in instructions[at - 2 : at])
            if level:
                name = f"{'.' * int(level)}{name}"
                try:
                    name = importlib.util.resolve_name(name, package)
                except (ImportError, TypeError, ValueError):
                    return f"it imports {name}"
            if not _is_looked_at(name):
                return f"it imports {name}, which is not loaded yet"
            source = module = sys.modules.get(name)
            if not wanted and instructions[at + 1].opname.startswith("STORE_"):
                source = sys.modules.get(name.partition(".")[0])
            for after in instructions[at + 1 :]:
                op = after.opname
                if op == "IMPORT_FROM" and wanted:
                    source = attribute_of(module, str(after.argval))
                    if source is None:
                        source = sys.modules.get(f"{name}.{after.argval}")
                elif op.startswith("STORE_"):
                    known[str(after.argval)] = source
                    if not wanted:
                        break
                elif op not in ("IMPORT_FROM", "SWAP", "ROT_TWO", "POP_TOP") or (
                    op == "POP_TOP" and wanted
                ):
                    break
    return ""


def _is_looked_at(module: str) -> bool:
    """Whether it is loaded, or a library's."""
    if module in sys.modules or is_library(module):
        return True
    try:
        found = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return False
    return found is not None and "-packages/" in (found.origin or "")


def _check_writes(code: types.CodeType, outer: set[str], own: str) -> str:
    """Why it writes outside itself, as far as the names alone say.

    Attributes of `own` it may set.
    """
    for inner in codes_of(code):
        instructions = instructions_of(inner)
        for at, instruction in enumerate(instructions):
            op = instruction.opname
            if op in _WRITES_OUTSIDE:
                return f"it writes the global {instruction.argval}"
            if op in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in outer:
                return f"it writes the outer variable {instruction.argval}"
            if op in _SETS_ATTRIBUTES:
                if own and _is_set_on(instructions, at, own):
                    continue
                return f"it sets the attribute {instruction.argval} of something"
            if op in ATTRIBUTE and instruction.argval in _REACHES_IN and not own:
                return f"it uses {instruction.argval} of something"
    return ""


def _is_set_on(instructions: list[dis.Instruction], at: int, own: str) -> bool:
    """Whether the attribute that is set there is one of the variable `own`."""
    if any(
        i.opname.startswith("STORE_FAST") and own in (i.argval, *pair_of(i))
        for i in instructions
    ):
        return False
    name = instructions[at].argval
    before = at - 1
    if instructions[before].opname in ("SWAP", "ROT_TWO"):  # self.n += 1
        for start in range(before - 1, 1, -1):
            loads, copies = instructions[start], instructions[start - 1]
            if loads.opname in ATTRIBUTE and loads.argval == name:
                if copies.opname not in ("COPY", "DUP_TOP"):
                    return False
                before = start - 2
                break
    return (own, 0) in loads_of(instructions[before])
