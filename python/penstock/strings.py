"""Strings, which are bytes: native inside traced functions.

>>> import penstock as ps
>>> ps.strings.split("a/b/c", "/")
array([b'a', b'b', b'c'], dtype=object)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._ops import native, traceable
from penstock._ragged import Ragged
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import TracedBytes
from penstock.image._call import call, dtype_of, integer

__all__ = [
    "join",
    "length",
    "lower",
    "split",
    "strip",
    "substr",
    "to_number",
    "upper",
]


def _strings(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        out = np.empty(len(value), object)
        out[:] = value
        return out
    return value


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


@traceable
def length(input: Any, unit: str = "BYTE") -> Any:
    """Bytes of each string, int32; with "UTF8_CHAR" its characters.

    >>> import penstock as ps
    >>> ps.strings.length([b"a", b"bcd"])
    array([1, 3], dtype=int32)
    """
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise InvalidArgumentError(
            f"length: unit must be BYTE or UTF8_CHAR, got {unit!r}"
        )
    return native("strings.length", _strings(input), characters=unit == "UTF8_CHAR")


@traceable
def lower(input: Any) -> Any:
    """ASCII letters in lower case.

    >>> import penstock as ps
    >>> ps.strings.lower("CAT")
    b'cat'
    """
    return native("strings.lower", _strings(input))


@traceable
def upper(input: Any) -> Any:
    """ASCII letters in upper case.

    >>> import penstock as ps
    >>> ps.strings.upper("cat")
    b'CAT'
    """
    return native("strings.upper", _strings(input))


@traceable
def strip(input: Any) -> Any:
    """Without white space at both ends.

    >>> import penstock as ps
    >>> ps.strings.strip("  cat ")
    b'cat'
    """
    return native("strings.strip", _strings(input))


@traceable
def substr(input: Any, pos: Any, len: Any) -> Any:
    """`len` bytes from `pos` on, which counts from the end if it is negative.

    >>> import penstock as ps
    >>> ps.strings.substr("picture.jpg", -3, 3)
    b'jpg'
    """
    params = {
        "pos": integer("substr", "pos", pos),
        "len": integer("substr", "len", len),
    }
    return call("strings.substr", _strings(input), params=params)


@traceable
def join(inputs: Any, separator: Any = "") -> Any:
    """Strings one behind the other; arrays string by string.

    >>> import penstock as ps
    >>> ps.strings.join(["data", "cat.jpg"], "/")
    b'data/cat.jpg'
    """
    if not hasattr(inputs, "__iter__"):
        raise ArgumentTypeError(
            f"join: inputs must be a list of strings, got {type(inputs).__name__}"
        )
    return native(
        "strings.join", *(_strings(v) for v in inputs), separator=_text(separator)
    )


@traceable
def split(input: Any, sep: Any = None) -> Any:
    """The parts of a string, or a `ps.Ragged` of the parts of several.

    Without `sep` at white space, and no part is empty.

    >>> import penstock as ps
    >>> ps.strings.split(["a b", "c"]).to_list()
    [[b'a', b'b'], [b'c']]
    """
    separator = "" if sep is None else _text(sep)
    results = native("strings.split", _strings(input), sep=separator)
    if not isinstance(results, tuple):
        return results
    values, splits = results
    if isinstance(values, TracedBytes):
        return TracedRagged(values, (splits,))
    return Ragged(values, splits)


@traceable
def to_number(input: Any, out_type: Any = "float32") -> Any:
    """The numbers that strings spell.

    >>> import penstock as ps
    >>> ps.strings.to_number(["1.5", "2"])
    array([1.5, 2. ], dtype=float32)
    """
    kind = dtype_of("to_number", out_type)
    return native("strings.to_number", _strings(input), dtype=kind)
