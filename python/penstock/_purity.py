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
import collections
import dis
import enum
import functools
import importlib.util
import inspect
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
_IMMUTABLE = {"re", "datetime", "decimal", "fractions", "pathlib", "uuid", "_struct",
              "dataclasses"}  # fmt: skip
_INPLACE = "add sub mul matmul truediv floordiv mod pow lshift rshift and xor or concat"
_ARRAY_WRITERS = frozenset(
    "fill sort put partition resize setflags itemset setfield byteswap copyto "
    "place putmask fill_diagonal put_along_axis shuffle nan_to_num at setitem delitem "
    "__setitem__ __delitem__".split()
) | {f.format(name) for name in _INPLACE.split() for f in ("__i{}__", "i{}")}
# Builtins that write, or may reach anything.
_WRITING_BUILTINS = frozenset(
    "print input exec eval setattr delattr globals vars breakpoint __import__".split()
)
# Functions of libraries that change how others of the process go on.
_SETTERS = frozenset(
    "seed set_state setstate manual_seed seterr set_printoptions chdir putenv unsetenv "
    "setlocale simplefilter filterwarnings setrecursionlimit".split()
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
_SUBSCRIPTS = ("BINARY_SUBSCR", "BINARY_SLICE")
# ... that make something new of an array, or nothing.
_TAKES_NOTHING_ALONG = ("BINARY_", "COMPARE_OP", "UNARY_", "POP_", "CONTAINS_OP",
                        "IS_OP", "TO_BOOL", "FORMAT_")  # fmt: skip
_CALLS_WITH_NAMES = ("CALL_KW", "CALL_FUNCTION_KW")
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
    writes = _writes_arrays(fn, {}, {})
    for code in _codes(fn.__code__):
        instructions = _instructions(code)
        for at, instruction in enumerate(instructions):
            if (name, 0) in _loads(instruction):
                use = _Use(fn, instructions, at, 0)
                used, called = use.part(fn.__globals__[name], name)
                if used is value and use.check(used, called, writes):
                    return False
    return True


def _check(value: Any, name: str, seen: set[Any], depth: int) -> str:
    if intercepts(type(value)):
        return _shared(value, name)
    if isinstance(value, type):
        return _check_class(value, name, seen, depth)
    if isinstance(value, (*_CONSTANTS, types.ModuleType, np.dtype, np.ufunc)):
        return ""
    if isinstance(value, enum.Enum):
        return _check_class(type(value), name, seen, depth)
    if isinstance(value, types.MethodType):
        return _check_method(value.__func__, value.__self__, name, seen, depth)
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


def _check_method(fn: Any, owner: Any, name: str, seen: set[Any], depth: int) -> str:
    if not isinstance(fn, types.FunctionType) or not fn.__code__.co_argcount:
        return _shared(owner, name)
    if (id(fn), id(owner)) in seen:
        return ""
    if depth > _MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add((id(fn), id(owner)))
    return _check_function(fn, name, seen, depth, owner)


def _check_class(kind: type, name: str, seen: set[Any], depth: int) -> str:
    """Whether what its objects do stays with them: what is made of a class of the
    user's may be asked for any method, and those of its own bases."""
    if id(kind) in seen or is_library(_module_of(kind)):
        return ""
    if depth > _MAX_DEPTH:
        return f"{name} is nested too deep to be looked at"
    seen.add(id(kind))
    members = [
        (f"{name}.{attribute}", *member)
        for base in _own_bases(kind)
        for attribute, held in vars(base).items()
        for member in _members(held, attribute)
    ]
    for base in _own_bases(kind):
        for attribute, held in vars(base).items():
            if _is_object(held) and in_class(type(held), "__get__") is not None:
                return _shared(held, f"{name}.{attribute}")
    # Each is looked at below, as what an object may do to itself.
    seen.update(id(fn) for _, fn, _ in members)
    for called, fn, bound in members:
        owner = kind if bound and fn.__code__.co_argcount else _NOBODY
        why = _check_function(fn, called, seen, depth + 1, owner, bound == "object")
        if why:
            return why
    return ""


def _own_bases(kind: type) -> list[type]:
    """The user's classes among it, its bases and those of its class."""
    meta: Any = type(kind)
    bases: list[type] = [*kind.__mro__, *meta.__mro__]
    return [base for base in bases if not is_library(_module_of(base))]


def _members(held: Any, attribute: str) -> Iterator[tuple[types.FunctionType, str]]:
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
        for _, inner in _captured(part):  # a library's function around it
            if isinstance(inner, types.FunctionType):
                yield from _members(inner, attribute)


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
    known = dict(_captured(fn))
    why = _imports(fn, known)
    if why:
        return why
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
    own = code.co_varnames[0] if fresh and code.co_argcount else ""
    why = _check_writes(code, set(code.co_freevars), own)
    if why:
        return why
    writes = _writes_arrays(fn, known, given)
    if writes:
        seen.add(_WRITES)
    for inner in _codes(code):
        instructions = _instructions(inner)
        for at, instruction in enumerate(instructions):
            for loaded, above in _loads(instruction):
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
                use = _Use(fn, instructions, at, above)
                used, called = use.part(value, shown.get(loaded, loaded))
                why = use.check(used, called, writes)
                if use.returned and depth > 0:
                    seen.add(called)
                if use.of_library and called.rpartition(".")[2] in _SETTERS:
                    why = f"it calls {called}"
                # Of a library only what the user put there is looked at.
                if not why and (not use.of_library or _is_users(used)):
                    why = _check(used, called, seen, depth + 1)
                if why:
                    return why
    return ""


def _is_users(value: Any) -> bool:
    """Whether it is a function, method or class of the user's."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    return isinstance(value, (types.FunctionType, type)) and not is_library(
        str(look(value, "__module__", ""))
    )


def _imports(fn: types.FunctionType, known: dict[str, Any]) -> str:
    """Adds what it imports to `known`, or says why that cannot be looked at."""
    for code in _codes(fn.__code__):
        instructions = _instructions(code)
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
                    source = _attribute(module, str(after.argval))
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


def _check_writes(code: types.CodeType, outer: set[str], own: str) -> str:
    """Why it writes outside itself, as far as the names alone say.

    Attributes of `own` it may set.
    """
    for inner in _codes(code):
        instructions = _instructions(inner)
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
            if op in _ATTRIBUTE and instruction.argval in _REACHES_IN and not own:
                return f"it uses {instruction.argval} of something"
    return ""


def _is_set_on(instructions: list[dis.Instruction], at: int, own: str) -> bool:
    """Whether the attribute that is set there is one of the variable `own`."""
    if any(
        i.opname.startswith("STORE_FAST") and own in (i.argval, *_pair(i))
        for i in instructions
    ):
        return False
    name = instructions[at].argval
    before = at - 1
    if instructions[before].opname in ("SWAP", "ROT_TWO"):  # self.n += 1
        for start in range(before - 1, 1, -1):
            loads, copies = instructions[start], instructions[start - 1]
            if loads.opname in _ATTRIBUTE and loads.argval == name:
                if copies.opname not in ("COPY", "DUP_TOP"):
                    return False
                before = start - 2
                break
    return (own, 0) in _loads(instructions[before])


def _pair(instruction: dis.Instruction) -> tuple[Any, ...]:
    value = instruction.argval
    return value if isinstance(value, tuple) else ()


def _writes_arrays(
    fn: types.FunctionType, known: dict[str, Any], defaults: dict[str, Any]
) -> bool:
    """Whether it may write into arrays at all, by its code or by a function that it
    calls for that."""
    for code in _codes(fn.__code__):
        if _may_write_arrays(code, defaults):
            return True
        instructions = _instructions(code)
        for at, instruction in enumerate(instructions):
            for loaded, above in _loads(instruction):
                if loaded in known:
                    value = known[loaded]
                elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    value = fn.__globals__.get(loaded)
                else:
                    continue
                use = _Use(fn, instructions, at, above)
                value, _ = use.part(value, loaded)
                if _is_numpys(value) and (
                    look(value, "__name__") in _ARRAY_WRITERS
                    or use.arguments() > _out_position(value)
                ):
                    return True
    return False


def _helper_writes(fn: types.FunctionType, seen: set[int]) -> bool:
    """Whether a function of the user's that `fn` may call writes into arrays."""
    names = {name for code in _codes(fn.__code__) for name in code.co_names}
    reached = [fn.__globals__.get(name) for name in names]
    for value in (*dict(_captured(fn)).values(), *reached):
        for helper in _functions_of(value, names, 0):
            if id(helper) in seen or is_library(helper.__module__ or ""):
                continue
            seen.add(id(helper))
            known = dict(_captured(helper))
            if _writes_arrays(helper, known, {}) or _helper_writes(helper, seen):
                return True
    return False


def _functions_of(
    value: Any, names: set[str], depth: int
) -> Iterator[types.FunctionType]:
    """What code that uses `names` may call of a value."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, types.ModuleType):
        if depth < _MAX_DEPTH and not is_library(_home(value)):
            held = state_of(value)
            for name in names & held.keys():
                yield from _functions_of(held[name], names, depth + 1)
    elif isinstance(value, type) or _is_object(value):
        kind = value if isinstance(value, type) else type(value)
        for base in _own_bases(kind):
            for name, member in vars(base).items():
                yield from (fn for fn, _ in _members(member, name))


def _is_numpys(value: Any) -> bool:
    if isinstance(value, np.ufunc):
        return True
    return callable(value) and str(look(value, "__module__", "")).startswith("numpy")


def _out_position(function: Any) -> int:
    """Arguments in front of the one that it writes."""
    if isinstance(function, np.ufunc):
        return function.nin
    try:
        return list(inspect.signature(function).parameters).index("out")
    except (TypeError, ValueError):
        return sys.maxsize


def _may_write_arrays(code: types.CodeType, defaults: dict[str, Any]) -> bool:
    """Whether it writes into objects at all."""
    if any(isinstance(c, tuple) and "out" in c for c in code.co_consts):
        return True  # names of arguments
    aliases = set(defaults)
    inplace = False
    last = ""
    for instruction in _instructions(code):
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
        self.returned = False  # an array that is the function's result
        self.of_library = False  # what a library's module or class holds

    def part(self, value: Any, name: str) -> tuple[Any, str]:
        """What of a module, class or object is used, and its name."""
        while isinstance(value, (types.ModuleType, type)) or _is_object(value):
            step = self._instructions[self._at + 1]
            if self._above or step.opname not in _ATTRIBUTE:
                break
            self.of_library = not _is_object(value) and is_library(
                _module_of(value) if isinstance(value, type) else _home(value)
            )
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
            writes = writes or self._reaches_writer()
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

    def _reaches_writer(self) -> bool:
        """Whether an array may get to a function of the user's that writes arrays."""
        again = _Use(self._fn, self._instructions, self._at, self._above)
        while True:
            user, depth = again._consumer()
            if user is None:
                break  # it has a name, or is in a container
            op = user.opname
            if op in _ATTRIBUTE or (op in _SUBSCRIPTS and depth > 1):
                continue  # a view of it, or a method
            if op.startswith(_TAKES_NOTHING_ALONG):
                return False
            if op == "RETURN_VALUE":
                self.returned = True
                return False
            if not op.startswith(("CALL", "PRECALL")):
                if again._is_written_in_place():
                    return True
                break
            if depth <= (user.arg or 0) and not again._is_given_to_library(user, depth):
                break
            if op == "PRECALL":
                again._at += 1
            again._first = again._at
        return _helper_writes(self._fn, set())

    def _is_written_in_place(self) -> bool:
        """Whether the variable that it becomes is, or the one of a loop over it."""
        at = self._at
        while self._instructions[at].opname in ("GET_ITER", "FOR_ITER"):
            at += 1
        stores = self._instructions[at]
        if not stores.opname.startswith("STORE_"):
            return False
        name = _pair(stores)[0] if _pair(stores) else stores.argval
        return any(
            _is_inplace(before) and name in (after.argval, *_pair(after)[:1])
            for before, after in zip(self._instructions, self._instructions[1:])
        )

    def _is_given_to_library(self, call: dis.Instruction, depth: int) -> bool:
        path, root = self._called(call, depth)
        value = self._fn.__globals__.get(root)
        if value is None:
            return not path and hasattr(builtins, root)
        for part in path:
            if not isinstance(value, (types.ModuleType, type)):
                return False
            value = _attribute(value, part)
        return is_library(str(look(value, "__module__", ""))) or isinstance(
            value, np.ufunc
        )

    def _only_reads(self, level: int) -> bool:
        """Whether a container is only looked into."""
        while level > 0:
            user, depth = self._consumer()
            if user is None:
                return False
            op = user.opname
            if op.startswith(_TELLS):
                return True
            if op in _SUBSCRIPTS:
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

    def arguments(self) -> int:
        """How many places are filled where it is called; 0 if it is not, and more
        than there may be if that cannot be told."""
        again = _Use(self._fn, self._instructions, self._at, self._above)
        user, depth = again._consumer()
        if user is None or user.opname == "CALL_FUNCTION_EX":
            return sys.maxsize - 1
        called = user.opname.startswith(("CALL", "PRECALL"))
        if user.opname.startswith("STORE_"):
            return sys.maxsize - 1
        if not called or depth <= (user.arg or 0):
            return 0
        before = again._before()
        named = 0
        if isinstance(before.argval, tuple):
            named = len(before.argval) if user.opname != "PRECALL" else 0
        if before.opname == "KW_NAMES":
            # 3.11 gives its place among the constants alone.
            named = min(
                len(code.co_consts[before.arg or 0])
                for code in _codes(self._fn.__code__)
                if len(code.co_consts) > (before.arg or 0)
                and isinstance(code.co_consts[before.arg or 0], tuple)
            )
        return (user.arg or 0) - named

    def _is_read_by(self, call: dis.Instruction, depth: int) -> bool:
        """Whether it is an argument of a function that only reads."""
        path, name = self._called(call, depth)
        if not name:
            return False
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

    def _called(self, call: dis.Instruction, depth: int) -> tuple[list[str], str]:
        """The attributes and the global by which a function was got; "": not told."""
        names = call.opname in _CALLS_WITH_NAMES
        at = self._callee((call.arg or 0) + names - depth)
        path: list[str] = []
        while at >= 0 and self._instructions[at].opname in _ATTRIBUTE:
            path.insert(0, str(self._instructions[at].argval))
            at -= 1
        if at < 0 or self._instructions[at].opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
            return [], ""
        return path, str(self._instructions[at].argval)

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


_FIELDS = frozenset(
    (
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        type(in_class(collections.namedtuple("_Fields", "a"), "a")),
    )
)


def _class_attribute(owner: type, name: str) -> Any:
    if is_library(_module_of(owner)):
        return getattr(owner, name, None)
    found = in_class(owner, name, _UNKNOWN)
    if type(found) in _FIELDS:
        return None  # each object has its own
    if isinstance(found, types.DynamicClassAttribute):  # of an Enum
        return found.fget if _is_users(found.fget) else None
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


@functools.lru_cache(maxsize=1024)
def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    """Each is asked for several times, and taking code apart is what costs."""
    return [i for i in dis.get_instructions(code) if i.opname != "CACHE"]


def _codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.extend(_codes(constant))
    return found
