"""States of a reduction: what one is, and that it stays of its kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _penstock
from penstock._errors import Error


def reduced_state(where: str, value: Any, spec: Any = None) -> Any:
    """The state of a reduction, as functions get it."""
    try:
        return _penstock.normalize(value, spec)
    except Error as error:
        raise type(error)(f"{where}: {error}") from None


# Types whose values are all of one spec, and are given to functions as such.
_SCALARS = frozenset(
    np.dtype(code).type for code in np.typecodes["AllInteger"] + "?efd"
)


def alike(made: Any, state: Any) -> bool:
    """`made` is a state as `state` is, of the same spec. The usual case: seen in
    a fraction of the 15 us that converting takes."""
    kind = type(made)
    if kind is not type(state):
        return False
    if kind in _SCALARS:
        return True
    if kind is np.ndarray:
        return (
            made.ndim > 0
            and made.dtype is state.dtype
            and made.dtype.type in _SCALARS
            and made.shape == state.shape
            and made.flags.c_contiguous
        )
    if kind is tuple:
        return len(made) == len(state) and all(map(alike, made, state))
    if kind is dict:
        return list(made) == list(state) and all(
            map(alike, made.values(), state.values())
        )
    return False


def same_types(a: Any, b: Any) -> bool:
    """Equal structure and dtypes; shapes may differ."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same_types, a, b))
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and list(a) == list(b)
            and all(same_types(a[k], b[k]) for k in a)
        )
    return type(a) is type(b) and getattr(a, "dtype", a) == getattr(b, "dtype", b)
