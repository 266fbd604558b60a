"""Whether a function keeps to itself, so that it may run in another process.

Only its code is looked at; it is never called. A function that writes a global
or an outer variable, or that holds something whose identity matters (a list, a
dict, a file, a lock, an instance), would mean something else over there.
"""

from __future__ import annotations

import dis
import types
from typing import Any

import numpy as np

_WRITES_OUTSIDE = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME"}
_WRITES_INTO = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_SETS_ATTRIBUTES = {"STORE_ATTR", "DELETE_ATTR"}
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.generic, range)
_MAX_DEPTH = 8


def keeps_to_itself(fn: Any) -> str:
    """Why not, naming the object; empty if it does."""
    return _check(fn, getattr(fn, "__name__", type(fn).__name__), set(), 0)


def _check(value: Any, name: str, seen: set[int], depth: int) -> str:
    if isinstance(value, (*_CONSTANTS, type, types.ModuleType, np.dtype, np.ufunc)):
        return ""
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return ""
        return f"{name} is a method of a {type(owner).__name__}"
    if type(value).__module__.partition(".")[0] == "penstock":
        return ""
    if id(value) in seen:
        return ""
    if depth > _MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add(id(value))
    if isinstance(value, types.FunctionType):
        return _check_function(value, name, seen, depth)
    if isinstance(value, (tuple, frozenset)):
        for item in value:
            why = _check(item, name, seen, depth + 1)
            if why:
                return why
        return ""
    if isinstance(value, np.ndarray):
        return ""  # written nowhere, as _check_function has seen
    return f"{name} is a {type(value).__name__}, which it may share with others"


def _check_function(
    fn: types.FunctionType, name: str, seen: set[int], depth: int
) -> str:
    for value in fn.__defaults__ or ():
        why = _check(value, f"a default of {name}", seen, depth + 1)
        if why:
            return why
    captured = {}
    for variable, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            captured[variable] = cell.cell_contents
        except ValueError:
            continue
    writes_into = _check_code(fn.__code__, set(captured))
    if isinstance(writes_into, str):
        return writes_into
    names = set(captured)
    for code in _codes(fn.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(str(instruction.argval))
    for variable in sorted(names):
        if variable in captured:
            value = captured[variable]
        elif variable in fn.__globals__:
            value = fn.__globals__[variable]
        else:
            continue  # a builtin, or not there yet
        if isinstance(value, np.ndarray) and writes_into:
            return f"it may write to the array {variable}"
        why = _check(value, variable, seen, depth + 1)
        if why:
            return why
    return ""


def _check_code(code: types.CodeType, outer: set[str]) -> str | bool:
    """Why it writes outside itself, or whether it writes into objects at all."""
    writes_into = False
    for inner in _codes(code):
        for instruction in dis.get_instructions(inner):
            op = instruction.opname
            if op in _WRITES_OUTSIDE:
                return f"it writes the global {instruction.argval}"
            if op in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in outer:
                return f"it writes the outer variable {instruction.argval}"
            if op in _SETS_ATTRIBUTES:
                return f"it sets the attribute {instruction.argval} of something"
            writes_into = writes_into or op in _WRITES_INTO
    return writes_into


def _codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.extend(_codes(constant))
    return found
