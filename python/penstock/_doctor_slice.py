"""Which lines of a function only make results that nothing reads.

A backward slice over the statements of a function that runs from top to bottom:
an assignment to plain names that no later needed statement reads is not needed
itself. Where the code is anything else, nothing is claimed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def lines_for_nothing(fn: Any, unused: list[Any]) -> set[int]:
    """Lines of the file of `fn` that could go if the results `unused` (positions of
    a tuple, or keys of a dict) were not asked for; empty if that cannot be told."""
    try:
        source, first = inspect.getsourcelines(fn)
        tree = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, TypeError, SyntaxError):
        return set()
    function = tree.body[0] if tree.body else None
    if not isinstance(function, ast.FunctionDef) or not function.body:
        return set()
    last = function.body[-1]
    if not isinstance(last, ast.Return):
        return set()
    results = _results(last.value)
    if results is None or any(leaf not in results for leaf in unused):
        return set()
    needed: set[str] = set()
    gone: list[ast.AST] = []
    for leaf, value in results.items():
        if leaf in unused:
            gone.append(value)
        else:
            needed |= _names(value)
    for statement in reversed(function.body[:-1]):
        targets = _targets(statement)
        if targets is not None and not targets & needed:
            gone.append(statement)
        else:
            needed |= _names(statement)
    used = [value for leaf, value in results.items() if leaf not in unused]
    kept = {
        line
        for node in (*function.body[:-1], *used)
        if node not in gone
        for line in _span(node)
    }
    lines = {line for node in gone for line in _span(node)} - kept
    return {first + line - 1 for line in lines}


def _results(value: ast.expr | None) -> dict[Any, ast.expr] | None:
    if isinstance(value, ast.Tuple):
        return dict(enumerate(value.elts))
    if isinstance(value, ast.Dict):
        keys = [k.value if isinstance(k, ast.Constant) else None for k in value.keys]
        return dict(zip(keys, value.values)) if None not in keys else None
    return None


def _targets(statement: ast.stmt) -> set[str] | None:
    """The names that an assignment sets and does nothing else with."""
    if isinstance(statement, ast.Assign):
        names: set[str] = set()
        for target in statement.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            if not all(isinstance(part, ast.Name) for part in parts):
                return None
            names |= {part.id for part in parts if isinstance(part, ast.Name)}
        return names
    return None


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _span(node: ast.AST) -> range:
    begin = int(getattr(node, "lineno", 0))
    return range(begin, int(getattr(node, "end_lineno", begin) or begin) + 1)
