"""Code objects taken apart, the same way for every Python."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any


def pair_of(instruction: dis.Instruction) -> tuple[Any, ...]:
    value = instruction.argval
    return value if isinstance(value, tuple) else ()


def is_inplace(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("INPLACE_") or (
        instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")
    )


_LOADS = frozenset(
    "LOAD_GLOBAL LOAD_NAME LOAD_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF".split()
)


def loads_of(instruction: dis.Instruction) -> list[tuple[str, int]]:
    """The variables that it loads, and how many values come to lie above each."""
    op, value = instruction.opname, instruction.argval
    if op in _LOADS:
        return [(str(value), 0)]
    if op == "STORE_FAST_LOAD_FAST":
        return [(value[1], 0)]
    if op == "LOAD_FAST_LOAD_FAST":
        return [(value[0], 1), (value[1], 0)]
    if op in ("LOAD_FAST", "LOAD_FAST_CHECK"):
        return [(str(value), 0)]
    return []


@functools.lru_cache(maxsize=1024)
def instructions_of(code: types.CodeType) -> list[dis.Instruction]:
    """Each is asked for several times, and taking code apart is what costs."""
    return [i for i in dis.get_instructions(code) if i.opname != "CACHE"]


def codes_of(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.extend(codes_of(constant))
    return found
