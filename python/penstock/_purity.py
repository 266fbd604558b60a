"""Whether a function keeps to itself, so that it may run in another process.

Only its code is looked at; it is never called. A function that writes a global,
an outer variable, or an object that it did not make, or that holds something
whose identity matters (a file, a lock, a generator), would mean something else
over there. What it only reads goes along: numbers and text, arrays, lists and
dicts, compiled patterns, objects with methods of this kind.

What reads is recognised, not what writes: a list that is used in a way not known
here keeps the function where it is.
"""

from __future__ import annotations

import builtins
import dis
import functools
import io
import sys
import types
from collections.abc import Iterator, MutableMapping, MutableSequence, MutableSet
from typing import Any

import numpy as np

from penstock._look import has_own_lookup, in_class, intercepts, look, state_of

_WRITES_OUTSIDE = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME"}
_WRITES_INTO = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_SETS_ATTRIBUTES = {"STORE_ATTR", "DELETE_ATTR"}
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.generic, range)
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
# Modules whose objects never change.
_IMMUTABLE = {"re", "datetime", "decimal", "fractions", "pathlib", "uuid", "_struct"}
_ARRAY_WRITERS = frozenset(
    "fill sort put partition resize setflags itemset setfield byteswap copyto "
    "place putmask fill_diagonal put_along_axis shuffle".split()
)
_READERS = frozenset(
    "get items keys values index count copy union intersection difference "
    "symmetric_difference issubset issuperset isdisjoint".split()
)
# Instructions that tell something about a container.
_TELLS = ("POP_JUMP", "TO_BOOL", "UNARY_NOT", "COMPARE_OP", "IS_OP", "CONTAINS_OP",
          "FORMAT_")  # fmt: skip
# ... that take what is in it.
_COPIES = frozenset(
    "GET_ITER UNPACK_SEQUENCE LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE".split()
)
_TOUCHES_NOTHING = ("KW_NAMES", "EXTENDED_ARG", "NOP")
# ... after which a value is not where it was.
_MOVES = ("STORE_", "POP_", "SWAP", "COPY", "ROT_", "DUP_")
_READING_BUILTINS = frozenset(
    "len sum min max any all sorted enumerate zip list tuple set frozenset dict "
    "reversed str repr bool".split()
)
_HEAP_TYPE = 1 << 9  # of type.__flags__: made by a class statement
_MAX_DEPTH = 8
_MAX_ITEMS = 10_000  # that are looked into


def keeps_to_itself(fn: Any) -> str:
    """Why not, naming the object; empty if it does."""
    return _check(fn, str(look(fn, "__name__", type(fn).__name__)), set(), 0)


def only_reads(fn: types.FunctionType, name: str, value: Any) -> bool:
    """Whether `fn` only looks at the list, dict, set, tuple or array `value`.

    It gets it by the global `name`, or as an attribute of that.
    """
    codes = _codes(fn.__code__)
    writes = any(_may_write_arrays(code, {}) for code in codes)
    for code in codes:
        instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
        for at, instruction in enumerate(instructions):
            if (name, 0) in _loads(instruction):
                use = _Use(fn, instructions, at, 0)
                used, called = use.part(fn.__globals__[name], name)
                if used is value and use.check(used, called, writes):
                    return False
    return True


def _check(value: Any, name: str, seen: set[int], depth: int) -> str:
    if intercepts(type(value)):
        return _shared(value, name)
    if isinstance(value, (*_CONSTANTS, type, types.ModuleType, np.dtype, np.ufunc)):
        return ""
    kind = type(value)
    module = _module_of(kind)
    if module.partition(".")[0] == "penstock" or module in _IMMUTABLE:
        return ""
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return ""
        return f"{name} is a method of a {type(owner).__name__}"
    if id(value) in seen:
        return ""
    if depth > _MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add(id(value))
    if isinstance(value, types.FunctionType):
        return _check_function(value, name, seen, depth)
    if isinstance(value, types.MethodType):
        return _check_method(value.__func__, value.__self__, name, seen, depth)
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            # The function may write to its arguments.
            if _level(part) > 0 or isinstance(part, np.ndarray):
                return f"{name} is a partial with a {type(part).__name__}"
            why = _check(part, name, seen, depth + 1)
            if why:
                return why
        return ""
    if depth == 0 and _is_object(value) and callable(value):
        return _check_method(kind.__call__, value, name, seen, depth)
    if isinstance(value, np.ndarray):
        return ""  # written nowhere, as _check_function has seen
    if kind in (tuple, frozenset, list, set, dict) or isinstance(value, tuple):
        for item in _items(value):
            why = _check(item, name, seen, depth + 1)
            if why:
                return why
        return ""
    return _shared(value, name)


def _shared(value: Any, name: str) -> str:
    return f"{name} is a {type(value).__name__}, which it may share with others"


def _items(container: Any) -> list[Any]:
    """What a container holds, but for plain values."""
    if isinstance(container, dict):
        return _items(container.keys()) + _items(container.values())
    if set(map(type, container)) <= _PLAIN:
        return []
    return [item for item in container if type(item) not in _PLAIN]


def _level(value: Any, depth: int = 0) -> int:
    """How many times one must look into `value` for what cannot be written."""
    if intercepts(type(value)):
        return 1
    if isinstance(value, (MutableSequence, MutableMapping, MutableSet)):
        writable = 1
    elif isinstance(value, (tuple, frozenset)):
        writable = 0
    else:
        return 0
    if type(value) not in (tuple, frozenset, list, set, dict):
        return writable
    items = _items(value)
    if depth == _MAX_DEPTH or len(items) > _MAX_ITEMS:
        return _MAX_DEPTH
    inner = max((_level(item, depth + 1) for item in items), default=0)
    return inner + 1 if inner > 0 else writable


def _is_object(value: Any) -> bool:
    """Whether all of its classes are the user's, written in Python."""
    return type(value) is not object and all(
        _is_python_class(c) for c in type(value).__mro__ if c is not object
    )


def _is_python_class(kind: type) -> bool:
    if not kind.__flags__ & _HEAP_TYPE or is_library(_module_of(kind)):
        return False
    return not any(
        isinstance(v, (types.MethodDescriptorType, types.WrapperDescriptorType))
        for v in vars(kind).values()
    )


def _module_of(kind: type) -> str:
    # With a slot of that name, as some compiled classes have on 3.10, it is none.
    module = kind.__module__
    return module if isinstance(module, str) else "builtins"


def _home(module: Any) -> str:
    return str(look(module, "__name__", ""))


def is_library(module: str) -> bool:
    """Whether it came with Python, with this package or was installed."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    name = module.partition(".")[0]
    return name == "penstock" or name in sys.stdlib_module_names or "-packages/" in file


def _check_method(fn: Any, owner: Any, name: str, seen: set[int], depth: int) -> str:
    if not isinstance(fn, types.FunctionType) or not fn.__code__.co_argcount:
        return _shared(owner, name)
    if id(fn) ^ id(owner) in seen:
        return ""
    seen.add(id(fn) ^ id(owner))
    return _check_function(fn, name, seen, depth, owner)


_NOBODY = object()


def _check_function(
    fn: types.FunctionType,
    name: str,
    seen: set[int],
    depth: int,
    owner: Any = _NOBODY,
) -> str:
    code = fn.__code__
    known = dict(_captured(fn))
    given = dict(_defaults(fn))
    shown = {argument: f"{argument} (a default of {name})" for argument in given}
    for argument, value in given.items():
        why = _check(value, shown[argument], seen, depth + 1)
        if why:
            return why
        if _level(value) > 0 or isinstance(value, np.ndarray):
            known[argument] = value
    if owner is not _NOBODY:
        known[code.co_varnames[0]] = owner
    why = _check_writes(code, set(code.co_freevars))
    if why:
        return why
    writes = any(_may_write_arrays(inner, given) for inner in _codes(code))
    for inner in _codes(code):
        instructions = [i for i in dis.get_instructions(inner) if i.opname != "CACHE"]
        for at, instruction in enumerate(instructions):
            for loaded, above in _loads(instruction):
                if loaded in known:
                    value = known[loaded]
                elif instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                    continue
                elif loaded in fn.__globals__:
                    value = fn.__globals__[loaded]
                elif loaded in ("print", "input"):
                    return f"it calls {loaded}"
                else:
                    continue  # a builtin, or not there yet
                use = _Use(fn, instructions, at, above)
                used, called = use.part(value, shown.get(loaded, loaded))
                why = use.check(used, called, writes)
                # Of a module only the user's own functions are looked at.
                if not why and (
                    not use.of_module
                    or isinstance(used, types.FunctionType)
                    and not is_library(used.__module__ or "")
                ):
                    why = _check(used, called, seen, depth + 1)
                if why:
                    return why
    return ""


def _captured(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for variable, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            yield variable, cell.cell_contents
        except ValueError:
            continue


def _defaults(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    values = fn.__defaults__ or ()
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    yield from zip(names[len(names) - len(values) :], values)
    yield from (fn.__kwdefaults__ or {}).items()


def _check_writes(code: types.CodeType, outer: set[str]) -> str:
    """Why it writes outside itself, as far as the names alone say."""
    for inner in _codes(code):
        for instruction in dis.get_instructions(inner):
            op = instruction.opname
            if op in _WRITES_OUTSIDE:
                return f"it writes the global {instruction.argval}"
            if op in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in outer:
                return f"it writes the outer variable {instruction.argval}"
            if op in _SETS_ATTRIBUTES:
                return f"it sets the attribute {instruction.argval} of something"
    return ""


def _may_write_arrays(code: types.CodeType, defaults: dict[str, Any]) -> bool:
    """Whether it writes into objects at all."""
    if any(isinstance(c, tuple) and "out" in c for c in code.co_consts):
        return True  # names of arguments
    aliases = set(defaults)
    inplace = False
    last = ""
    for instruction in dis.get_instructions(code):
        op, value = instruction.opname, instruction.argval
        if op in _WRITES_INTO:
            return True
        if op in _ATTRIBUTE and value in _ARRAY_WRITERS:
            return True
        if op.startswith("STORE_FAST"):
            stored = value if isinstance(value, str) else value[0]
            if last in ("LOAD_GLOBAL", "LOAD_DEREF"):
                aliases.add(stored)
            elif last == "in place" and stored in aliases:
                return True
        inplace = inplace or _is_inplace(instruction)
        last = "in place" if _is_inplace(instruction) else op
    return inplace and len(aliases) > len(defaults)


def _is_inplace(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("INPLACE_") or (
        instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")
    )


def _loads(instruction: dis.Instruction) -> list[tuple[str, int]]:
    """The variables that it loads, and how many values come to lie above each."""
    op, value = instruction.opname, instruction.argval
    if op in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
        return [(str(value), 0)]
    if op == "STORE_FAST_LOAD_FAST":
        return [(value[1], 0)]
    if op == "LOAD_FAST_LOAD_FAST":
        return [(value[0], 1), (value[1], 0)]
    if op in ("LOAD_FAST", "LOAD_FAST_CHECK"):
        return [(str(value), 0)]
    return []


def _holds_array(value: Any) -> bool:
    return any(
        isinstance(item, np.ndarray) or (_level(item) > 0 and _holds_array(item))
        for item in _items(value)
    )


class _Use:
    """What code does with the value that one of its instructions loads."""

    def __init__(
        self,
        fn: types.FunctionType,
        instructions: list[dis.Instruction],
        at: int,
        above: int,
    ) -> None:
        self._fn = fn
        self._instructions = instructions
        self._first = self._at = at  # where its expression begins and ends
        self._above = above  # values that come to lie above it at once
        self.of_module = False  # or of a class

    def part(self, value: Any, name: str) -> tuple[Any, str]:
        """What of a module, class or object is used, and its name."""
        while isinstance(value, (types.ModuleType, type)) or _is_object(value):
            step = self._instructions[self._at + 1]
            if self._above or step.opname not in _ATTRIBUTE:
                break
            self.of_module = not _is_object(value)
            name = f"{name}.{step.argval}"
            value = _attribute(value, str(step.argval))
            self._at += 1
        if _is_object(value) and callable(value) and self._is_called():
            value = types.MethodType(type(value).__call__, value)
        return value, name

    def check(self, value: Any, name: str, writes: bool) -> str:
        """What it does beside reading it."""
        if value is _UNKNOWN:
            return f"{name} is made by code of the module or class"
        if intercepts(type(value)):
            return _shared(value, name)
        if isinstance(value, io.IOBase):
            return f"{name} is a file"
        if _is_object(value):
            return _shared(value, name)
        if isinstance(value, np.ndarray):
            return f"it may write to the array {name}" if writes else ""
        level = _level(value)
        if level == 0:
            return ""
        if level >= _MAX_DEPTH:
            return f"{name} is a {type(value).__name__} too large to be looked at"
        if writes and _holds_array(value):
            return f"it may write to an array in {name}"
        if self._only_reads(level):
            return ""
        return f"{name} is a {type(value).__name__}, which it may write"

    def _only_reads(self, level: int) -> bool:
        """Whether a container is only looked into."""
        while level > 0:
            user, depth = self._consumer()
            if user is None:
                return False
            op = user.opname
            if op.startswith(_TELLS):
                return True
            if op in ("BINARY_SUBSCR", "BINARY_SLICE"):
                if depth == 1:
                    return True  # as an index
                slices = "SLICE" in op or "SLICE" in self._before().opname
                if slices and level == 1:
                    return True
                level -= not slices
                continue
            if level > 1:
                return False  # what is in there may be written
            if op in _ATTRIBUTE:
                return user.argval in _READERS
            if op in _COPIES:
                return True
            if op.startswith("BINARY_"):
                return not _is_inplace(user) or depth == 1
            return op.startswith(("CALL", "PRECALL")) and self._is_read_by(user, depth)
        return True

    def _consumer(self) -> tuple[dis.Instruction | None, int]:
        """The instruction that takes the value from the stack, if that can be told.

        And how deep the value lies then. What it leaves there is the value for the
        next search.
        """
        depth = 1 + self._above
        for at in range(self._at + 1, len(self._instructions)):
            instruction = self._instructions[at]
            op = instruction.opname
            if instruction.is_jump_target:
                break
            if op in _TOUCHES_NOTHING:
                continue
            effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
            takes = 1 if op in _ATTRIBUTE else max(0, 1 - effect)
            if takes >= depth:
                self._at, self._above = at, 0
                return instruction, depth
            if "JUMP" in op or op.startswith(_MOVES):
                break
            depth += effect
        return None, 0

    def _before(self) -> dis.Instruction:
        return self._instructions[self._at - 1]

    def _is_called(self) -> bool:
        again = _Use(self._fn, self._instructions, self._at, self._above)
        user, depth = again._consumer()
        return (
            user is not None
            and user.opname.startswith(("CALL", "PRECALL"))
            and depth > (user.arg or 0)
        )

    def _is_read_by(self, call: dis.Instruction, depth: int) -> bool:
        """Whether it is an argument of a function that only reads."""
        names = call.opname in ("CALL_KW", "CALL_FUNCTION_KW")
        at = self._callee((call.arg or 0) + names - depth)
        path: list[str] = []
        while at >= 0 and self._instructions[at].opname in _ATTRIBUTE:
            path.insert(0, str(self._instructions[at].argval))
            at -= 1
        if at < 0 or self._instructions[at].opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
            return False
        name = str(self._instructions[at].argval)
        callee = self._fn.__globals__.get(name)
        if callee is None:
            return not path and name in _READING_BUILTINS and hasattr(builtins, name)
        if callee is np:
            return len(path) == 1  # no function of NumPy itself writes into a list
        for part in path:
            if not isinstance(callee, types.ModuleType):
                return False
            callee = getattr(callee, part, None)
        # Nor does one of ours.
        return isinstance(callee, types.FunctionType) and (
            callee.__module__.partition(".")[0] == "penstock"
        )

    def _callee(self, arguments_before: int) -> int:
        """Where the function was loaded whose argument it is; -1: not told."""
        height = arguments_before  # above the function
        for at in range(self._first - 1, -1, -1):
            instruction = self._instructions[at]
            if height == 0 and instruction.opname not in ("PUSH_NULL", "NOP"):
                return at
            jumped_to = self._instructions[at + 1].is_jump_target
            if jumped_to or "JUMP" in instruction.opname:
                break
            if height > 0:
                height -= dis.stack_effect(
                    instruction.opcode, instruction.arg, jump=False
                )
        return -1


_UNKNOWN = object()  # an attribute that code would make


def _attribute(owner: Any, name: str) -> Any:
    """An attribute, found without running code of the user's."""
    if issubclass(type(owner), types.ModuleType):
        held = state_of(owner)
        if name in held:
            return held[name]
        if is_library(_home(owner)):
            return getattr(owner, name, None)  # some load their parts when asked
        return _UNKNOWN if has_own_lookup(owner) else None
    if issubclass(type(owner), type):
        return _class_attribute(owner, name)
    held = state_of(owner)
    if name in held:
        return held[name]
    found = in_class(type(owner), name, _UNKNOWN)
    if found is _UNKNOWN:
        return owner  # who knows
    if isinstance(found, types.MemberDescriptorType):
        return look(owner, name)
    return _method(found, owner, type(owner))


def _class_attribute(owner: type, name: str) -> Any:
    if is_library(_module_of(owner)):
        return getattr(owner, name, None)
    found = in_class(owner, name, _UNKNOWN)
    if found is not _UNKNOWN:
        return _method(found, None, owner)
    found = in_class(type(owner), name, _UNKNOWN)  # of its metaclass
    if found is not _UNKNOWN:
        return _method(found, owner, type(owner))
    return _UNKNOWN if has_own_lookup(owner) else None


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


def _codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.extend(_codes(constant))
    return found
