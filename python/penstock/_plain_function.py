"""The plain Python function behind what a stage calls.

Users pass methods, `functools.partial`, objects with `__call__`, cached functions
and Numba's dispatchers; `penstock.tf` wraps what it is given.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from penstock._look import in_class, look

_MOST_LAYERS = 10


def given_function(fn: Any) -> Any:
    """What the user gave, without our own wrapping."""
    return look(fn, "__penstock_function__", fn)


def plain_function(fn: Any) -> types.FunctionType | None:
    """The function whose lines run when `fn` is called; None: there is none."""
    for _ in range(_MOST_LAYERS):
        fn = given_function(fn)
        if isinstance(fn, types.FunctionType):
            return fn
        if isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif isinstance(fn, functools.partial):
            fn = fn.func
        else:
            inside = look(fn, "py_func", look(fn, "__wrapped__"))
            fn = in_class(type(fn), "__call__") if inside is None else inside
    return None
