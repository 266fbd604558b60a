"""The native form of a small Python function, where one is recognised.

Conversions that a traced value refuses (`int(x)`, `float(x)`, `math.sqrt(x)`, a
conditional) are rewritten to what tracing takes, and the result is traced: a form
is printed only if it is native and gives the same on a few values.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
import types
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from penstock._doctor_facts import Stage

_CASTS = {"int": "ps.int64", "float": "ps.float64", "bool": "ps.bool"}


class _Rewrite(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        fn = node.func
        if isinstance(fn, ast.Name) and fn.id in _CASTS and len(node.args) == 1:
            text = f"ps.cast(x, {_CASTS[fn.id]})"
            made = ast.parse(text, mode="eval").body
            assert isinstance(made, ast.Call)
            made.args[0] = node.args[0]
            return made
        if (
            isinstance(fn, ast.Attribute)
            and isinstance(fn.value, ast.Name)
            and fn.value.id == "math"
            and hasattr(np, fn.attr)
            and hasattr(math, fn.attr)
        ):
            node.func = ast.Attribute(ast.Name("np", ast.Load()), fn.attr, ast.Load())
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        made = ast.parse("ps.where(a, b, c)", mode="eval").body
        assert isinstance(made, ast.Call)
        made.args = [node.test, node.body, node.orelse]
        return made


def _expression(fn: Any) -> tuple[list[str], ast.expr] | None:
    """Parameters and result of a function that is one expression."""
    try:
        source = textwrap.dedent(inspect.getsource(fn))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        try:
            tree = ast.parse(source.strip().lstrip("."))
        except (SyntaxError, UnboundLocalError):
            return None
    wanted = list(fn.__code__.co_varnames[: fn.__code__.co_argcount])
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            if [a.arg for a in node.args.args] == wanted:
                found.append(node.body)
        elif isinstance(node, ast.FunctionDef) and node.name == fn.__name__:
            body = node.body
            if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value:
                return wanted, body[0].value
    return (wanted, found[0]) if len(found) == 1 else None


def as_it_is(stage: Stage) -> str:
    """Code to paste for a function that needs no other form, or nothing; then the
    stage knows its native form, too."""
    from penstock import _trace
    from penstock._trace_errors import TraceRefused

    dataset = stage.dataset
    if dataset is None or dataset._recipe is None or dataset._recipe.parent is None:
        return ""
    op = stage.facts["op"]
    kind = "predicate" if op == "filter" else "element"
    try:
        _trace.compile_native(stage.fn, kind, dataset._recipe.parent.element_spec, None)
    except (TraceRefused, Exception):  # noqa: BLE001
        return ""
    stage.native_fn = stage.fn
    return f".{op}(fn)  # it can run natively: leave executor out"


def suggest(stage: Stage) -> str:
    """Code to paste, or nothing; then the stage knows its native form, too."""
    import penstock as ps
    from penstock import _trace
    from penstock._trace_errors import TraceRefused

    fn, dataset = stage.fn, stage.dataset
    if dataset is None or dataset._recipe is None or dataset._recipe.parent is None:
        return ""
    op = stage.facts["op"]
    kind = "predicate" if op == "filter" else "element"
    spec = dataset._recipe.parent.element_spec
    if code := as_it_is(stage):
        return code
    found = None
    if isinstance(fn, types.FunctionType) and not fn.__code__.co_freevars:
        found = _expression(fn)
    if found is None:
        return ""
    names, body = found
    body = ast.fix_missing_locations(_Rewrite().visit(body))
    text = f"lambda {', '.join(names)}: {ast.unparse(body)}"
    try:
        scope = {**fn.__globals__, "ps": ps, "np": np, "math": math}
        native = eval(text, scope)
        _trace.compile_native(native, kind, spec, None)
    except (TraceRefused, Exception):  # noqa: BLE001
        return ""
    stage.native_fn = native
    return f".{op}({text})"
