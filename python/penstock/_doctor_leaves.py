"""What functions read of their arguments and pass through, found in bytecode.

Enough for two findings: a filter that could run before a costly stage, and
results that nothing reads. Where the code does anything that is not plainly
understood, nothing is claimed.
"""

from __future__ import annotations

import dis
import types
from typing import TYPE_CHECKING, Any

from penstock._doctor_slice import lines_for_nothing
from penstock._plain_function import given_function

if TYPE_CHECKING:
    from penstock._doctor_facts import Plan, Stage

# A leaf of an element: a position of a tuple, or a key of a dict.
Leaf = Any


def code_of(fn: Any) -> types.CodeType | None:
    """Of a function whose arguments are the leaves of an element."""
    fn = given_function(fn)
    if not isinstance(fn, types.FunctionType):
        return None
    code = fn.__code__
    if code.co_kwonlyargcount:
        return None
    if code.co_flags & 0x0C:  # *args or **kwargs
        return None
    return code


def _plain(code: types.CodeType) -> list[dis.Instruction]:
    return [
        i
        for i in dis.get_instructions(code)
        if i.opname not in ("RESUME", "NOP", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS")
    ]


def reads(fn: Any, is_dict: bool) -> set[Leaf] | None:
    """Leaves that `fn` uses; None if that cannot be told."""
    code = code_of(fn)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    nested = any(isinstance(c, types.CodeType) for c in code.co_consts)
    if nested and code.co_cellvars:
        return None
    instructions = _plain(code)
    if not is_dict:
        found: set[Leaf] = set()
        for i in instructions:
            if i.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
                loaded = i.argval if isinstance(i.argval, tuple) else (i.argval,)
                found |= {names.index(n) for n in loaded if n in names}
        return found
    if len(names) != 1:
        return None
    keys: set[Leaf] = set()
    for at, i in enumerate(instructions):
        if i.opname.startswith("LOAD_FAST") and i.argval == names[0]:
            after = instructions[at + 1 : at + 3]
            if (
                len(after) == 2
                and after[0].opname == "LOAD_CONST"
                and isinstance(after[0].argval, str)
                and after[1].opname == "BINARY_SUBSCR"
            ):
                keys.add(after[0].argval)
            else:
                return None
        elif i.opname.startswith(("LOAD_DEREF", "LOAD_CLOSURE", "STORE_FAST")) and (
            i.argval == names[0]
        ):
            return None
    return keys


def passes(fn: Any, is_dict: bool) -> dict[Leaf, Leaf] | None:
    """Leaves of the result that are a leaf of the argument, unchanged; None if
    the function is not understood. A single result has the leaf None."""
    code = code_of(fn)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    instructions = _plain(code)
    stored = {i.argval for i in instructions if i.opname.startswith("STORE_FAST")}
    if sum(i.opname == "RETURN_VALUE" for i in instructions) != 1:
        return None
    if instructions[-1].opname != "RETURN_VALUE":
        return None
    build = instructions[-2]

    def origin(ends: int) -> tuple[Leaf, int] | None:
        """The leaf that the value whose code ends before `ends` is, and where
        that code begins."""
        i = instructions[ends - 1]
        if i.opname == "LOAD_FAST" and i.argval in names and i.argval not in stored:
            return (None if is_dict else names.index(i.argval)), ends - 1
        if i.opname == "BINARY_SUBSCR" and ends >= 3 and is_dict:
            load, key = instructions[ends - 3], instructions[ends - 2]
            if (
                load.opname == "LOAD_FAST"
                and load.argval in names
                and (key.opname == "LOAD_CONST")
            ):
                return key.argval, ends - 3
        return None

    def begin(ends: int) -> int | None:
        """Where the code of the value begins that ends before `ends`."""
        depth = 0
        for at in range(ends - 1, -1, -1):
            i = instructions[at]
            if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
                return None
            depth += dis.stack_effect(i.opcode, i.arg)
            if depth >= 1:
                return at if depth == 1 else None
        return None

    if build.opname == "BUILD_CONST_KEY_MAP":
        keys = instructions[-3].argval
        return _trailing(list(keys), origin, begin, len(instructions) - 3)
    if build.opname == "BUILD_TUPLE":
        outputs = list(range(build.arg or 0))
        return _trailing(outputs, origin, begin, len(instructions) - 2)
    if build.opname == "BUILD_MAP":
        return {}
    one = origin(len(instructions) - 1)
    return {None: one[0]} if one is not None and not is_dict else {}


def _trailing(
    outputs: list[Leaf], origin: Any, begin: Any, ends: int
) -> dict[Leaf, Leaf]:
    """Outputs that are plain loads, from the last one back."""
    found: dict[Leaf, Leaf] = {}
    for output in reversed(outputs):
        one = origin(ends)
        if one is not None:
            found[output], ends = one
            continue
        start = begin(ends)
        if start is None:
            break
        ends = start
    return found


def made(fn: Any) -> list[Leaf] | None:
    """The leaves of what `fn` gives, where it says so plainly."""
    code = code_of(fn)
    if code is None:
        return None
    instructions = _plain(code)
    if sum(i.opname == "RETURN_VALUE" for i in instructions) != 1:
        return None
    build = instructions[-2]
    if build.opname == "BUILD_CONST_KEY_MAP":
        return list(instructions[-3].argval)
    if build.opname == "BUILD_TUPLE":
        return list(range(build.arg or 0))
    return None


def _takes_dict(stage: Stage, plan: Plan) -> bool:
    """Whether the element in front of this stage is a dict."""
    inputs = stage.facts["inputs"]
    if len(inputs) != 1:
        return False
    before = plan.stages[inputs[0]]
    if before.dataset is not None and isinstance(before.dataset.element_spec, dict):
        return True
    code = code_of(before.fn) if before.facts["op"] == "map" else None
    if code is not None:
        last = _plain(code)[-2:]
        return len(last) == 2 and last[0].opname in ("BUILD_CONST_KEY_MAP", "BUILD_MAP")
    return False


def add_leaves(plan: Plan) -> None:
    """Adds what is known to the facts of filters and maps."""
    for i, stage in enumerate(plan.stages):
        if stage.facts["op"] == "filter" and stage.fn is not None:
            _late_filter(plan, i)
        elif stage.facts["op"] == "map" and stage.fn is not None:
            _unused(plan, i)
    for i, stage in enumerate(plan.stages):
        if stage.facts["op"] == "zip":
            _unused_branch(plan, i)


def _late_filter(plan: Plan, i: int) -> None:
    """Back over the maps that pass on all that the predicate reads."""
    stage = plan.stages[i]
    takes_dict = _takes_dict(stage, plan)
    used = reads(stage.fn, takes_dict)
    # Where each leaf that it reads comes from, so far back.
    origin = {leaf: leaf for leaf in used or ()}
    at = stage.facts["inputs"][0]
    while origin:
        before = plan.stages[at]
        if before.facts["op"] == "map" and before.fn is not None:
            of_dict = _takes_dict(before, plan)
            passed = passes(before.fn, of_dict)
            if not passed or not set(origin.values()) <= set(passed):
                return
            origin = {leaf: passed[of] for leaf, of in origin.items()}
            stage.facts["filter_could_pass"] = at
            stage.facts["filter_there"] = _predicate_there(
                stage.fn, takes_dict, origin, before.fn, of_dict
            )
        elif before.facts["op"] not in ("prefetch", "with_options"):
            return
        at = before.facts["inputs"][0]


def _predicate_there(
    predicate: Any, takes_dict: bool, origin: dict[Leaf, Leaf], fn: Any, of_dict: bool
) -> str:
    """The predicate for elements as `fn` takes them: by name if they have all it
    reads where it reads it."""
    code, there = code_of(predicate), code_of(fn)
    assert code is not None and there is not None  # their leaves are known
    same = all(leaf == of for leaf, of in origin.items())
    if same and takes_dict == of_dict and code.co_argcount == there.co_argcount:
        return "predicate"
    names = there.co_varnames[: there.co_argcount]

    def value(leaf: Leaf) -> str:
        if not of_dict:
            return names[leaf]
        return names[0] if leaf is None else f"{names[0]}[{leaf!r}]"

    if takes_dict:
        given = ", ".join(f"{leaf!r}: {value(of)}" for leaf, of in origin.items())
        call = f"predicate({{{given}}})"
    else:
        places = range(code.co_argcount)
        given = ", ".join(value(origin[k]) if k in origin else "None" for k in places)
        call = f"predicate({given})"
    return f"lambda {', '.join(names)}: {call}"


def _readers(plan: Plan, i: int) -> list[Stage]:
    """The functions that read what stage `i` gives, up to a map that makes
    something else of it; none if there is more than one way."""
    skip = ("prefetch", "with_options", "shuffle", "repeat", "take", "skip", "cache",
            "shard", "ignore_errors", "batch")  # fmt: skip
    found: list[Stage] = []
    at = i
    while True:
        behind = [s for s in plan.stages if at in s.facts["inputs"]]
        if len(behind) != 1:
            return []
        stage = behind[0]
        if stage.facts["op"] in ("map", "filter") and stage.fn is not None:
            found.append(stage)
            if stage.facts["op"] == "map":
                return found
        elif stage.facts["op"] not in skip:
            return []
        at = plan.stages.index(stage)


def _read_of(plan: Plan, i: int, is_dict: bool) -> set[Leaf] | None:
    """Leaves of stage `i` that are read behind it; None if that cannot be told."""
    found: set[Leaf] = set()
    readers = _readers(plan, i)
    for reader in readers:
        used = reads(reader.fn, is_dict)
        if used is None:
            return None
        found |= used
    return found if readers else None


def _unused(plan: Plan, i: int) -> None:
    stage = plan.stages[i]
    if stage.lowered is None or stage.lowered.executor == "native":
        return
    outputs = made(stage.fn)
    if outputs is None:
        return
    is_dict = bool(outputs) and isinstance(outputs[0], str)
    used = _read_of(plan, i, is_dict)
    if used is None:
        return
    passed = passes(stage.fn, _takes_dict(stage, plan)) or {}
    new = [leaf for leaf in outputs if leaf not in passed]
    unused = [leaf for leaf in new if leaf not in used]
    if new and unused:
        # By their number, until it is tried or lines are seen at work.
        stage.facts["unused_share"] = 0.98 * len(unused) / len(new)
        if all(leaf in passed for leaf in used):
            stage.facts["rest_native"] = True
            stage.passed = {leaf: passed[leaf] for leaf in used}
        stage.unused = unused
        stage.unused_lines = lines_for_nothing(given_function(stage.fn), unused)
        stage.facts["unused_what"] = ", ".join(
            f"key {leaf!r}" if is_dict else f"output {leaf}" for leaf in unused
        )


def _unused_branch(plan: Plan, i: int) -> None:
    """A branch of a zip whose leaf the function behind it does not read."""
    stage = plan.stages[i]
    used = _read_of(plan, i, False)
    branches = stage.facts["inputs"]
    codes = [code_of(reader.fn) for reader in _readers(plan, i)]
    if used is None or any(
        code is None or code.co_argcount != len(branches) for code in codes
    ):
        return
    for number, at in enumerate(branches):
        if number in used:
            continue
        # The costly stage of that branch: its last map.
        while at >= 0:
            one = plan.stages[at].facts
            if one["op"] == "map" or not one["inputs"]:
                one["unused_share"] = 1.0
                one["unused_what"] = f"branch {number}"
                one["unused_in"] = i
                break
            at = one["inputs"][0]
