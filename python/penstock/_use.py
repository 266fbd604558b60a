"""What code does with the values that it loads, by its instructions alone.

What reads is recognised, not what writes: a use that is not known here counts as
one that may write.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock._bytecode import codes_of, instructions_of, is_inplace, loads_of, pair_of
from penstock._kinds import (
    MAX_DEPTH,
    MAX_ITEMS,
    UNKNOWN,
    attribute_of,
    captured_by,
    defaults_of,
    field_of,
    holds_array,
    home_of,
    is_library,
    is_object,
    items_in,
    level_of,
    members_in,
    module_of,
    own_bases,
)
from penstock._look import intercepts, look, state_of

_WRITES_INTO = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_INPLACE = "add sub mul matmul truediv floordiv mod pow lshift rshift and xor or concat"
_ARRAY_WRITERS = frozenset(
    "fill sort put partition resize setflags itemset setfield byteswap copyto "
    "place putmask fill_diagonal put_along_axis shuffle nan_to_num at setitem delitem "
    "__setitem__ __delitem__".split()
) | {f.format(name) for name in _INPLACE.split() for f in ("__i{}__", "i{}")}
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
_STORES = ("STORE_FAST", "STORE_DEREF")
# Methods that give what is in a container, and how much deeper that lies.
_HANDS_OUT = {"get": -1, "keys": 0, "values": 0, "items": 1, "copy": 0}
_SUBSCRIPTS = ("BINARY_SUBSCR", "BINARY_SLICE")
# ... that make something new of an array, or nothing.
_TAKES_NOTHING_ALONG = ("BINARY_", "COMPARE_OP", "UNARY_", "POP_", "CONTAINS_OP",
                        "IS_OP", "TO_BOOL", "FORMAT_")  # fmt: skip
_CALLS_WITH_NAMES = ("CALL_KW", "CALL_FUNCTION_KW")
_TOUCHES_NOTHING = ("KW_NAMES", "EXTENDED_ARG", "NOP")
# ... after which a value is not where it was.
_MOVES = ("STORE_", "POP_", "SWAP", "COPY", "ROT_", "DUP_")
# ... that leave nothing on the stack; others leave one value.
_LEAVES_NOTHING = (
    "STORE_", "POP_", "DELETE_", "RETURN_", "LIST_APPEND", "LIST_EXTEND", "SET_ADD",
    "SET_UPDATE", "MAP_ADD", "DICT_UPDATE", "DICT_MERGE",
)  # fmt: skip
_TAKES_ONE = (*ATTRIBUTE, "UNPACK_SEQUENCE", "UNPACK_EX", "STORE_FAST_LOAD_FAST")
_READING_BUILTINS = frozenset(
    "len sum min max any all sorted enumerate zip list tuple set frozenset dict "
    "reversed str repr bool isinstance iter map filter print".split()
)
# ... that take nothing of what is in it.
_TELLING_BUILTINS = frozenset("len any all isinstance bool".split())
# ... that give one of their arguments, where they have several.
_GIVES_ONE = frozenset("min max sum".split())
# Modules of which no function writes into a list, and some functions of others.
_READING_MODULES = frozenset("math statistics itertools json copy posixpath".split())
_READING_FUNCTIONS = frozenset(
    "choice choices sample bisect bisect_left bisect_right".split()
)


def may_be_shared(value: Any, name: str) -> str:
    return f"{name} is a {type(value).__name__}, which it may share with others"


class Use:
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
        self.result_is_read = False  # by the engine, which the function returns to
        self._visited: set[tuple[int, str, int]] = set()  # local variables

    def part(self, value: Any, name: str) -> tuple[Any, str]:
        """What of a module, class or object is used, and its name."""
        while not self._above:
            step = self._instructions[self._at + 1]
            if step.opname not in ATTRIBUTE:
                break
            field = field_of(value, str(step.argval))
            if field is not UNKNOWN:
                name, value = f"{name}.{step.argval}", field
                self._at += 1
                continue
            if not isinstance(value, (types.ModuleType, type)) and not is_object(value):
                break
            self.of_library = not is_object(value) and is_library(
                module_of(value) if isinstance(value, type) else home_of(value)
            )
            name = f"{name}.{step.argval}"
            value = attribute_of(value, str(step.argval))
            self._at += 1
        if is_object(value) and callable(value) and self._is_called():
            value = types.MethodType(type(value).__call__, value)
        return value, name

    def check(self, value: Any, name: str, writes: bool) -> str:
        """What it does beside reading it."""
        if value is UNKNOWN:
            return f"{name} is made by code of the module or class"
        if intercepts(type(value)):
            return may_be_shared(value, name)
        if isinstance(value, io.IOBase):
            return f"{name} is a file"
        if is_object(value):
            return may_be_shared(value, name)
        if isinstance(value, np.ndarray):
            writes = writes or self._reaches_writer()
            return f"it may write to the array {name}" if writes else ""
        level = level_of(value)
        if level >= MAX_DEPTH:
            return f"{name} is a {type(value).__name__} too large to be looked at"
        if holds_array(value) and (writes or self._reaches_writer()):
            return f"it may write to an array in {name}"
        if level == 0 or self._only_reads(level):
            return ""
        return f"{name} is a {type(value).__name__}, which it may write"

    def _reaches_writer(self) -> bool:
        """Whether an array may get to a function of the user's that writes arrays."""
        again = Use(self._fn, self._instructions, self._at, self._above)
        again._first = self._first
        while True:
            user, depth = again._consumer()
            if user is None:
                break  # it has a name, or is in a container
            op = user.opname
            if op in ATTRIBUTE or (op in _SUBSCRIPTS and depth > 1):
                continue  # a view of it, or a method
            if op.startswith(_TAKES_NOTHING_ALONG):
                return False
            if op in ("RETURN_VALUE", "YIELD_VALUE"):
                self.returned = True
                return False
            if not op.startswith(("CALL", "PRECALL")):
                if again._is_written_in_place():
                    return True
                break
            given = depth <= (user.arg or 0) + (op in _CALLS_WITH_NAMES)
            if given and not again._is_given_to_library(user, depth):
                break
            if op == "PRECALL":
                again._at += 1
            again._first = again._at
        return writes_results(self._fn) or _helper_writes(self._fn, set())

    def _is_written_in_place(self) -> bool:
        """Whether the variable that it becomes is, or the one of a loop over it."""
        at = self._at
        while self._instructions[at].opname in ("GET_ITER", "FOR_ITER"):
            at += 1
        stores = self._instructions[at]
        if not stores.opname.startswith("STORE_"):
            return False
        name = pair_of(stores)[0] if pair_of(stores) else stores.argval
        return any(
            is_inplace(before) and name in (after.argval, *pair_of(after)[:1])
            for before, after in zip(self._instructions, self._instructions[1:])
        )

    def _is_given_to_library(self, call: dis.Instruction, depth: int) -> bool:
        path, root, value = self._called(call, depth)
        if not root or value is None:
            return not path and hasattr(builtins, root)
        for part in path:
            if not isinstance(value, (types.ModuleType, type)):
                return False
            value = attribute_of(value, part)
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
            if op == "RETURN_VALUE":
                return self.result_is_read
            if op.startswith("BUILD_"):
                level += 1  # it is in there
                continue
            if op.startswith(_STORES):
                return self._is_local(user, depth, level)
            if op in _SUBSCRIPTS:
                if depth == 1:
                    return True  # as an index
                slices = "SLICE" in op or "SLICE" in self._before().opname
                if slices and level == 1:
                    return True
                level -= not slices
                continue
            if op.startswith(("CALL", "PRECALL")):
                return self._is_read_by(user, depth, level)
            if level == 1:
                if op in ATTRIBUTE:
                    return user.argval in _READERS
                return op in _COPIES or (
                    op.startswith("BINARY_") and (not is_inplace(user) or depth == 1)
                )
            # What is in there may be written.
            if op == "GET_ITER":
                after = self._instructions[self._at + 1]
                return after.opname == "FOR_ITER" and self._are_read(2, 1, level - 1)
            if op == "UNPACK_SEQUENCE":
                return self._are_read(1, user.arg or 0, level - 1)
            if op not in ATTRIBUTE or user.argval not in _HANDS_OUT:
                return False
            name = user.argval
            user, depth = self._consumer()
            if user is None or not user.opname.startswith(("CALL", "PRECALL")):
                return False
            if depth <= (user.arg or 0):
                return False
            self._at += user.opname == "PRECALL"
            level += _HANDS_OUT[name]
        return True

    def _is_local(self, stores: dis.Instruction, depth: int, level: int) -> bool:
        """Whether the local variable that it becomes is only looked into."""
        pair = pair_of(stores)
        name = stores.argval
        if pair:
            both = stores.opname.count("STORE_FAST") == 2
            if depth > 1 and not both:
                return False
            name = pair[depth - 1] if both else pair[0]
        return self._variable_is_read(self._fn, str(name), level)

    def _variable_is_read(self, fn: types.FunctionType, name: str, level: int) -> bool:
        code = fn.__code__
        if level <= 0 or (id(code), name, level) in self._visited:
            return True
        if name in code.co_freevars:
            return False  # somebody else's
        self._visited.add((id(code), name, level))
        for inner in codes_of(code):
            instructions = instructions_of(inner)
            for at, instruction in enumerate(instructions):
                for loaded, above in loads_of(instruction):
                    if loaded != name:
                        continue
                    use = Use(fn, instructions, at, above)
                    use._visited = self._visited
                    use.result_is_read = self.result_is_read and (
                        fn is self._fn and inner is code
                    )
                    if not use._only_reads(level):
                        return False
        return True

    def _are_read(self, after: int, wanted: int, level: int) -> bool:
        """Whether so many variables, which are stored there, are only looked into."""
        following = iter(self._instructions[self._at + after :])
        stores = next(following)
        names: list[Any] = []
        if stores.opname == "UNPACK_SEQUENCE" and wanted == 1:
            level, wanted = level - 1, stores.arg or 0
            stores = next(following)
        while len(names) < wanted and stores.opname.startswith("STORE_FAST"):
            stored = 1 if stores.opname == "STORE_FAST_LOAD_FAST" else 2
            names += pair_of(stores)[:stored] or [stores.argval]
            stores = next(following)
        return len(names) >= wanted and all(
            self._variable_is_read(self._fn, str(n), level) for n in names
        )

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
            left = 0 if op.startswith(_LEAVES_NOTHING) else 1
            takes = 1 if op in _TAKES_ONE else max(0, left - effect)
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
        again = Use(self._fn, self._instructions, self._at, self._above)
        user, depth = again._consumer()
        return (
            user is not None
            and user.opname.startswith(("CALL", "PRECALL"))
            and depth > (user.arg or 0)
        )

    def arguments(self) -> int:
        """How many places are filled where it is called; 0 if it is not, and more
        than there may be if that cannot be told."""
        again = Use(self._fn, self._instructions, self._at, self._above)
        user, depth = again._consumer()
        if user is None or user.opname == "CALL_FUNCTION_EX":
            return sys.maxsize - 1
        called = user.opname.startswith(("CALL", "PRECALL"))
        if user.opname.startswith("STORE_"):
            return sys.maxsize - 1
        if not called or depth <= (user.arg or 0):
            return 0
        return (user.arg or 0) - min(again._named(user))

    def _named(self, call: dis.Instruction) -> list[int]:
        """How many of the call's arguments have names, as far as can be told."""
        before = self._before()
        if before.opname == "KW_NAMES":
            # 3.11 gives its place among the constants alone.
            return [
                len(code.co_consts[before.arg or 0])
                for code in codes_of(self._fn.__code__)
                if len(code.co_consts) > (before.arg or 0)
                and isinstance(code.co_consts[before.arg or 0], tuple)
            ]
        if call.opname in _CALLS_WITH_NAMES and isinstance(before.argval, tuple):
            return [len(before.argval)]
        return [0]

    def _is_read_by(self, call: dis.Instruction, depth: int, level: int) -> bool:
        """Whether it is an argument of a function that only reads."""
        path, name, callee = self._called(call, depth)
        if not name:
            return level == 1 and path == ["join"]  # of a str
        named = max(self._named(call)) + (call.opname in _CALLS_WITH_NAMES)
        if callee is None:
            if depth <= named or (name in _GIVES_ONE and (call.arg or 0) > 1):
                return False  # dict(table=TABLE) holds it, max(x, TABLE) gives it
            if path or not hasattr(builtins, name):
                return False
            return name in _TELLING_BUILTINS or (
                level == 1 and name in _READING_BUILTINS
            )
        if callee is np:
            return level == 1 and len(path) == 1  # NumPy itself writes into no list
        for part in path:
            if not isinstance(callee, types.ModuleType):
                return False
            callee = attribute_of(callee, part)
        home = str(look(callee, "__module__", ""))
        if isinstance(callee, types.FunctionType) and not is_library(home):
            return self._is_read_by_helper(callee, call, depth, level)
        if isinstance(callee, types.FunctionType) and home.startswith("penstock"):
            return True  # nor does one of ours
        if level > 1:
            return False
        if home == "itertools" and (
            depth <= named or look(callee, "__name__") == "repeat"
        ):
            return False  # as what is given where nothing else is
        return home.lstrip("_") in _READING_MODULES or (
            home.lstrip("_") in ("random", "bisect")
            and look(callee, "__name__") in _READING_FUNCTIONS
        )

    def _is_read_by_helper(
        self, callee: types.FunctionType, call: dis.Instruction, depth: int, level: int
    ) -> bool:
        before = self._before().opname
        if call.opname in _CALLS_WITH_NAMES or before == "KW_NAMES":
            return False
        if not call.opname.startswith(("PRECALL", "CALL_FUNCTION", "CALL")):
            return False
        if call.opname == "CALL_FUNCTION_EX":
            return False
        place = (call.arg or 0) - depth
        if not 0 <= place < callee.__code__.co_argcount:
            return False
        name = callee.__code__.co_varnames[place]
        return self._variable_is_read(callee, name, level)

    def _called(self, call: dis.Instruction, depth: int) -> tuple[list[str], str, Any]:
        """The attributes by which a function was got, of which variable, and what
        that is; "": not told, or of a constant str."""
        names = call.opname in _CALLS_WITH_NAMES
        at = self._callee((call.arg or 0) + names - depth)
        path: list[str] = []
        while at >= 0 and self._instructions[at].opname in ATTRIBUTE:
            path.insert(0, str(self._instructions[at].argval))
            at -= 1
        if at < 0:
            return [], "", None
        root = self._instructions[at]
        name = str(root.argval)
        if root.opname == "LOAD_DEREF":
            captured = dict(captured_by(self._fn))
            return (path, name, captured[name]) if name in captured else ([], "", None)
        if root.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            return path, name, self._fn.__globals__.get(name)
        is_text = root.opname == "LOAD_CONST" and isinstance(root.argval, (str, bytes))
        return (path if is_text else []), "", None

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


def writes_arrays(
    fn: types.FunctionType,
    known: dict[str, Any],
    defaults: dict[str, Any],
    given: frozenset[str] = frozenset(),
) -> bool:
    """Whether it may write into arrays that it did not make, by its code or by a
    function that it calls for that. `given` are arguments that are nobody else's."""
    for code in codes_of(fn.__code__):
        own = given if code is fn.__code__ else frozenset()
        if _may_write_arrays(code, defaults, own):
            return True
        instructions = instructions_of(code)
        for at, instruction in enumerate(instructions):
            for loaded, above in loads_of(instruction):
                if loaded in known:
                    value = known[loaded]
                elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    value = fn.__globals__.get(loaded)
                else:
                    continue
                use = Use(fn, instructions, at, above)
                value, _ = use.part(value, loaded)
                if _is_numpys(value) and (
                    look(value, "__name__") in _ARRAY_WRITERS
                    or use.arguments() > _out_position(value)
                ):
                    return True
    return False


def writes_results(fn: types.FunctionType) -> bool:
    """Whether it changes in place what a function that it called gave it."""
    for code in codes_of(fn.__code__):
        instructions = instructions_of(code)
        for at, instruction in enumerate(instructions):
            if is_inplace(instruction) and any(
                instructions[made].opname.startswith("CALL")
                and not _calls_library(fn, instructions, made)
                for made in _makers_of(instructions, at)
            ):
                return True
    return False


# Builtins that may give what they are given, or somebody else has.
_HANDS_ON = frozenset("max min sum next getattr eval vars iter".split())


def _calls_library(
    fn: types.FunctionType, instructions: list[dis.Instruction], at: int
) -> bool:
    """Whether what is called there is a function of a library or a builtin that
    makes its result, or by its name a method of an array."""
    at = _callee_of(instructions, at)
    path: list[str] = []
    while at > 0 and instructions[at].opname in ATTRIBUTE:
        path.insert(0, str(instructions[at].argval))
        at -= 1
    if at < 0:
        return False
    name, value = str(instructions[at].argval), None
    if instructions[at].opname == "LOAD_DEREF":
        value = dict(captured_by(fn)).get(name)
    elif instructions[at].opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        value = fn.__globals__.get(name)
        if value is None and hasattr(builtins, name):
            return not path and name not in _HANDS_ON
    home = ""
    for part in ("", *path):
        value = attribute_of(value, part) if part and value is not None else value
        if isinstance(value, types.ModuleType):
            home = home_of(value)
        elif isinstance(value, (type, types.FunctionType)):
            home = str(look(value, "__module__", ""))
    if home:
        return is_library(home)
    return bool(path) and hasattr(np.ndarray, path[-1])


def _helper_writes(fn: types.FunctionType, seen: set[int]) -> bool:
    """Whether a function of the user's that `fn` may call writes into arrays."""
    names = {name for code in codes_of(fn.__code__) for name in code.co_names}
    reached = [fn.__globals__.get(name) for name in names]
    given = (*dict(captured_by(fn)).values(), *dict(defaults_of(fn)).values())
    for value in (*given, *reached):
        for helper in _functions_of(value, names, 0):
            if id(helper) in seen or is_library(helper.__module__ or ""):
                continue
            seen.add(id(helper))
            known = dict(captured_by(helper))
            if (
                writes_arrays(helper, known, {})
                or writes_results(helper)
                or _helper_writes(helper, seen)
            ):
                return True
    return False


def _functions_of(
    value: Any, names: set[str], depth: int
) -> Iterator[types.FunctionType]:
    """What code that uses `names` may call of a value."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    value = look(value, "__wrapped__", value)  # of a cache
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, functools.partial):
        yield from _functions_of(value.func, names, depth)
    elif type(value) in (tuple, frozenset, list, set, dict):
        if depth < MAX_DEPTH:
            for item in items_in(value)[:MAX_ITEMS]:
                yield from _functions_of(item, names, depth + 1)
    elif isinstance(value, types.ModuleType):
        if depth < MAX_DEPTH and not is_library(home_of(value)):
            held = state_of(value)
            for name in names & held.keys():
                yield from _functions_of(held[name], names, depth + 1)
    elif isinstance(value, type) or is_object(value):
        kind = value if isinstance(value, type) else type(value)
        for base in own_bases(kind):
            for name, member in vars(base).items():
                yield from (fn for fn, _ in members_in(member, name))


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
    except (TypeError, ValueError):  # NumPy 2.2 shows none of its functions in C
        return {"dot": 2, "concatenate": 2}.get(look(function, "__name__"), sys.maxsize)


# What makes a new array or container.
_MAKERS = frozenset("zeros ones empty full zeros_like ones_like empty_like full_like "
                    "array arange copy astype list dict set".split())  # fmt: skip


def elements_of(fn: types.FunctionType, taken: dict[str, Any]) -> frozenset[str]:
    """The arguments that a stage's function gets from the engine."""
    code = fn.__code__
    return frozenset(code.co_varnames[: code.co_argcount]) - taken.keys()


def _is_into_own(
    instructions: list[dis.Instruction], at: int, given: frozenset[str]
) -> bool:
    """Whether the array or container written there is one that the code made."""
    indices = 1 if "SUBSCR" in instructions[at].opname else 2
    made_at = _producer(instructions, at, indices)
    if made_at < 0 or instructions[made_at].opname != "LOAD_FAST":
        return False
    name = instructions[made_at].argval
    stores = [
        i
        for i, instruction in enumerate(instructions)
        if instruction.opname.startswith("STORE_")
        and name in (instruction.argval, *pair_of(instruction))
    ]
    return (bool(stores) or name in given) and all(
        instructions[i].opname == "STORE_FAST" and _is_new(instructions, i - 1)
        for i in stores
    )


def _is_new(instructions: list[dis.Instruction], at: int) -> bool:
    op = instructions[at].opname
    if op.startswith("BUILD_"):
        return True
    if op not in ("CALL", "CALL_FUNCTION", "CALL_METHOD"):
        return False  # with names: copy=False
    if "KW_NAMES" in (i.opname for i in instructions[at - 2 : at]):
        return False
    made_at = _callee_of(instructions, at)
    made = instructions[made_at]
    return (
        made_at >= 0
        and made.argval in _MAKERS
        and (made.opname in ATTRIBUTE or made.opname == "LOAD_GLOBAL")
    )


def _producer(instructions: list[dis.Instruction], at: int, above: int) -> int:
    """Which instruction before `at` left the value that lies below `above` others;
    -1: not told."""
    for before in range(at - 1, -1, -1):
        instruction = instructions[before]
        op = instruction.opname
        if instructions[before + 1].is_jump_target or "JUMP" in op:
            break
        if op in ("SWAP", "COPY") or op.startswith(("ROT_", "DUP_")):
            break
        if above == 0 and op not in ("PUSH_NULL", "NOP"):
            return before
        above -= dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if above < 0:
            break
    return -1


def _may_write_arrays(
    code: types.CodeType, defaults: dict[str, Any], given: frozenset[str]
) -> bool:
    """Whether it writes into objects that it did not make."""
    if any(isinstance(c, tuple) and "out" in c for c in code.co_consts):
        return True  # names of arguments
    instructions = instructions_of(code)
    arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    others = (arguments | set(defaults)) - given
    for at, instruction in enumerate(instructions):
        op, value = instruction.opname, instruction.argval
        if op in _WRITES_INTO and not _is_into_own(instructions, at, given):
            return True
        if op in ATTRIBUTE and value in _ARRAY_WRITERS:
            return True
        if is_inplace(instruction) and _is_of_others(instructions, at, others):
            return True
    return False


# What hands on a value that may be somebody else's: variables, items, several at
# once, and functions that give the array itself or a view.
_PASSES_ON = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_ATTR",
              "FOR_ITER", "UNPACK_", "STORE_", "SWAP", "ROT_", "COPY", "DUP_",
              *_SUBSCRIPTS)  # fmt: skip
_VIEWS = frozenset(
    "asarray asanyarray ascontiguousarray require atleast_1d atleast_2d atleast_3d "
    "reshape ravel view squeeze transpose swapaxes moveaxis expand_dims get".split()
)


def _is_of_others(
    instructions: list[dis.Instruction], at: int, others: set[str]
) -> bool:
    """Whether what an operation in place goes back to may be somebody else's."""
    stores = instructions[at + 1]
    if not stores.opname.startswith("STORE_FAST"):
        return stores.opname in ("STORE_GLOBAL", "STORE_DEREF")
    if (pair_of(stores) or (stores.argval,))[0] in others:
        return True
    return any(
        instructions[made].opname.startswith(_PASSES_ON)
        or instructions[made + 1].is_jump_target  # one of several values
        or _gives_view(instructions, made)
        for made in _makers_of(instructions, at)
    )


def _makers_of(instructions: list[dis.Instruction], at: int) -> Iterator[int]:
    """Where the values come from that the variable of an operation in place gets,
    but for those of such operations."""
    stores = instructions[at + 1]
    name = (pair_of(stores) or (stores.argval,))[0]
    for i in range(1, len(instructions)):
        stored = instructions[i]
        if not stored.opname.startswith("STORE_FAST"):
            continue
        if name in (stored.argval, *pair_of(stored)):
            if not is_inplace(instructions[i - 1]):
                yield i - 1


def _gives_view(instructions: list[dis.Instruction], at: int) -> bool:
    made_at = _callee_of(instructions, at)
    return made_at >= 0 and instructions[made_at].argval in _VIEWS


def _callee_of(instructions: list[dis.Instruction], at: int) -> int:
    """Where the function was loaded that is called there; -1: not told."""
    if not instructions[at].opname.startswith("CALL"):
        return -1
    arguments = instructions[at].arg or 0
    if instructions[at - 1].opname == "PRECALL":
        at -= 1
    return _producer(instructions, at, arguments)
