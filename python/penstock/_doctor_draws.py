"""Whether a function may draw random values, so that no epoch is like another.

By the names that it uses and by what it captured; it is not called. A generator
that the function itself makes of a seed gives the same for the same element.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import random
import textwrap
import types
from typing import Any

import numpy as np

from penstock._bytecode import codes_of
from penstock._look import look
from penstock._plain_function import given_function

_DRAWS = {
    "default_rng", "rand", "randn", "randint", "secrets", "urandom", "uuid1", "uuid4",
}  # fmt: skip
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_MAKERS = {"default_rng", "RandomState", "Random"}  # of a generator, from a seed
_NO_SEEDS = {"datetime", "id", "os", "time"}  # another one in every run
_MOST_FUNCTIONS = 100  # that are looked into


def draws(fn: Any) -> bool:
    """Whether `fn`, or a function of the user's that it calls, may draw random
    values."""
    fn = given_function(fn)
    fn = fn.__func__ if isinstance(fn, types.MethodType) else fn
    if not isinstance(fn, types.FunctionType):
        return True  # of other objects it is not known
    seen = [fn]
    for function in seen:
        names: set[str] = set()
        for code in codes_of(function.__code__):
            names |= {*code.co_names, *code.co_freevars}
        says = any(map(_says_random, names))
        if says and not _seeds_all(function):
            return True
        for value in _captured(function, names):
            if isinstance(look(value, "__self__", value), _GENERATORS):
                return True
            if "random" in str(look(value, "__name__", "")) and not says:
                return True
            if isinstance(value, types.FunctionType) and value not in seen:
                root = value.__module__.partition(".")[0]
                if root not in ("penstock", "numpy"):
                    seen.append(value)
        if len(seen) > _MOST_FUNCTIONS:
            return True
    return False


def _says_random(name: str) -> bool:
    # Also random_flip_left_right, or stateless_random_uniform.
    return name in _DRAWS or "random" in name


def _captured(fn: types.FunctionType, names: set[str]) -> list[Any]:
    """What `names` are in the closure and the globals of `fn`."""
    values = [fn.__globals__[name] for name in names if name in fn.__globals__]
    for cell in fn.__closure__ or ():
        with contextlib.suppress(ValueError):  # not set yet
            values.append(cell.cell_contents)
    return values


def _seeds_all(fn: types.FunctionType) -> bool:
    """Whether all that is random in the text of `fn` comes from generators that it
    makes of a seed."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    generators = _seeded_names(tree)
    fine: set[ast.AST] = set()  # parts of what makes a generator
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _makes_of_seed(node):
            fine.update(ast.walk(node.func))
    for node in ast.walk(tree):
        if node in fine:
            continue
        if isinstance(node, ast.Name) and _says_random(node.id):
            if node.id not in generators:
                return False
        elif isinstance(node, ast.Attribute) and _says_random(node.attr):
            of = node.value
            named = isinstance(of, ast.Name) and of.id in generators
            if not named and not (isinstance(of, ast.Call) and _makes_of_seed(of)):
                return False
    return True


def _makes_of_seed(call: ast.Call) -> bool:
    """`np.random.default_rng(seed)` and its like."""
    made = call.func.attr if isinstance(call.func, ast.Attribute) else call.func
    if (made.id if isinstance(made, ast.Name) else made) not in _MAKERS:
        return False
    seeds = [*call.args, *(keyword.value for keyword in call.keywords)]
    parts = [part for seed in seeds for part in ast.walk(seed)]
    none = any(isinstance(p, ast.Constant) and p.value is None for p in parts)
    other = any(isinstance(p, ast.Name) and p.id in _NO_SEEDS for p in parts)
    return bool(seeds) and not none and not other


def _seeded_names(tree: ast.AST) -> set[str]:
    """Variables that are such generators, wherever they are set."""
    seeded: set[str] = set()
    other: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            other.add(node.arg)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if _makes_of_seed(node.value):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        seeded.add(target.id)
                        target.ctx = ast.Load()  # it is accounted for
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            other.add(node.id)
    return seeded - other
