"""What of a function only makes results that nothing reads.

A backward slice over the statements of a function that runs from top to bottom:
a statement that only sets local variables which no later needed statement reads
is not needed itself. Where the code is anything else, nothing is claimed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass
class _Sliced:
    arguments: ast.arguments
    body: list[ast.stmt]  # but for the result
    value: ast.expr  # the result
    results: dict[Any, ast.expr]
    gone: list[ast.AST]
    first: int  # line of the file


def lines_for_nothing(fn: Any, unused: list[Any]) -> set[int]:
    """Lines of the file of `fn` that could go if the results `unused` (positions of
    a tuple, or keys of a dict) were not asked for; empty if that cannot be told."""
    sliced = _slice(fn, unused)
    if sliced is None:
        return set()
    used = [value for leaf, value in sliced.results.items() if leaf not in unused]
    kept = {
        line
        for node in (*sliced.body, *used)
        if node not in sliced.gone
        for line in _span(node)
    }
    lines = {line for node in sliced.gone for line in _span(node)} - kept
    return {sliced.first + line - 1 for line in lines}


def without(fn: Any, unused: list[Any]) -> types.FunctionType | None:
    """`fn` with zeros for the results `unused` and without what only makes them;
    None if that cannot be told."""
    sliced = _slice(fn, unused)
    if sliced is None:
        return None
    value = sliced.value
    zeros = [
        ast.Constant(0) if leaf in unused else one
        for leaf, one in sliced.results.items()
    ]
    if isinstance(value, ast.Dict):
        value = ast.Dict(value.keys, zeros)
    else:
        value = ast.Tuple(zeros, ast.Load())
    kept = [statement for statement in sliced.body if statement not in sliced.gone]
    inner = ast.parse("def rest(): pass").body[0]
    assert isinstance(inner, ast.FunctionDef)
    inner.args = _without_defaults(sliced.arguments)
    inner.body = [*kept, ast.Return(value)]
    # What it captured is found by name: variables of a function around it.
    outer = ast.parse("def around(): pass")
    around = outer.body[0]
    assert isinstance(around, ast.FunctionDef)
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
    around.args.args = [ast.arg(name) for name in cells]
    around.body = [inner]
    try:
        module = compile(
            ast.fix_missing_locations(outer), fn.__code__.co_filename, "exec"
        )
    except (SyntaxError, ValueError, TypeError):
        return None
    code = _code_in(_code_in(module))
    closure = tuple(cells[name] for name in code.co_freevars)
    rest = types.FunctionType(
        code, fn.__globals__, fn.__name__, fn.__defaults__, closure
    )
    rest.__kwdefaults__ = fn.__kwdefaults__
    return rest


def _code_in(code: types.CodeType) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType))


def _without_defaults(arguments: ast.arguments) -> ast.arguments:
    """Plain names; the function's own default values are set behind it."""
    plain = [ast.arg(a.arg) for a in (*arguments.posonlyargs, *arguments.args)]
    return ast.arguments(
        posonlyargs=[], args=plain, kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _slice(fn: Any, unused: list[Any]) -> _Sliced | None:
    try:
        source, first = inspect.getsourcelines(fn)
        tree = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, TypeError, SyntaxError):
        return None
    function = tree.body[0] if tree.body else None
    body: list[ast.stmt]
    if isinstance(function, ast.FunctionDef):
        last = function.body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            return None
        arguments, body, value = function.args, function.body[:-1], last.value
    else:
        found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
        if fn.__name__ != "<lambda>" or len(found) != 1:
            return None
        arguments, body, value = found[0].args, [], found[0].body
    results = _results(value)
    if results is None or any(leaf not in results for leaf in unused):
        return None
    needed: set[str] = set()
    gone: list[ast.AST] = []
    for leaf, one in results.items():
        if leaf in unused:
            gone.append(one)
        else:
            needed |= _names(one)
    # What is no variable of its own may be read elsewhere.
    own = {
        n.id
        for statement in body
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for statement in reversed(body):
        sets = _sets(statement)
        if sets is not None and sets <= own - needed:
            gone.append(statement)
        else:
            needed |= _names(statement)
    return _Sliced(arguments, body, value, results, gone, first)


def _results(value: ast.expr | None) -> dict[Any, ast.expr] | None:
    if isinstance(value, ast.Tuple):
        return dict(enumerate(value.elts))
    if isinstance(value, ast.Dict):
        keys = [k.value if isinstance(k, ast.Constant) else None for k in value.keys]
        return dict(zip(keys, value.values)) if None not in keys else None
    return None


def _sets(statement: ast.stmt) -> set[str] | None:
    """The local names that a statement sets or changes, if it does nothing else."""
    if isinstance(statement, (ast.Pass, ast.Break, ast.Continue)):
        return set()
    if isinstance(statement, ast.Assign):
        return _all_of(map(_set_by, statement.targets))
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        return _set_by(statement.target)
    if isinstance(statement, ast.Expr):
        # values.append(x) changes `values`
        call = statement.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return None
        return _set_by(call.func.value)
    inside: list[ast.stmt] = []
    if isinstance(statement, (ast.For, ast.While, ast.If)):
        inside = [*statement.body, *statement.orelse]
    if not inside:
        return None
    sets = _all_of(map(_sets, inside))
    if sets is not None and isinstance(statement, ast.For):
        target = _set_by(statement.target)
        return None if target is None else sets | target
    return sets


def _all_of(parts: Iterable[set[str] | None]) -> set[str] | None:
    found: set[str] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _set_by(target: ast.expr) -> set[str] | None:
    if isinstance(target, (ast.Tuple, ast.List)):
        return _all_of(map(_set_by, target.elts))
    if isinstance(target, ast.Starred):
        return _set_by(target.value)
    if isinstance(target, ast.Subscript):
        return _set_by(target.value)
    return {target.id} if isinstance(target, ast.Name) else None


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _span(node: ast.AST) -> range:
    begin = int(getattr(node, "lineno", 0))
    return range(begin, int(getattr(node, "end_lineno", begin) or begin) + 1)
