"""Tensors as `tf.print` and `tf.strings.format` show them.

Numbers have as few digits as give them back (of 6 or 9, 15 or 17 places), strings
are quoted, and of long dimensions only the ends are there.
"""

from __future__ import annotations

import pprint
import re
from typing import Any

import numpy as np

from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._values import Bytes, is_tensor

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def summary(value: Any, summarize: int = 3) -> str:
    """A tensor as text; of each dimension `summarize` values at either end."""
    if isinstance(value, bytes):
        return _quoted(value)
    array = np.asarray(value)
    ends = array.size if summarize < 0 else min(int(summarize), array.size)
    return _rows(array, 0, ends)


def _rows(array: Any, depth: int, ends: int) -> str:
    if not array.ndim:
        return _one(array[()])
    inner = array.ndim - 1
    between = "\n" * inner + " " * (depth + 1) if inner else " "
    count = len(array)
    shown = [_rows(array[i, ...], depth + 1, ends) for i in range(min(ends, count))]
    if count <= 2 * ends:
        shown += [_rows(array[i, ...], depth + 1, ends) for i in range(ends, count)]
        return f"[{between.join(shown)}]"
    last = [_rows(array[i, ...], depth + 1, ends) for i in range(count - ends, count)]
    head, tail = between.join(shown), "".join(between + text for text in last)
    return f"[{head}{between}...{tail}]"


def _one(value: Any) -> str:
    if isinstance(value, (bytes, str)):
        return _quoted(value)
    if isinstance(value, np.bool_):
        return str(int(value))
    if value.dtype.kind == "c":
        return f"({_number(value.real)},{_number(value.imag)})"
    return str(int(value)) if value.dtype.kind in "iu" else _number(value)


def _number(value: Any) -> str:
    wide = value.dtype.itemsize == 8
    kind: Any = np.float64 if wide else np.float32
    number, (few, many) = kind(value), (15, 17) if wide else (6, 9)
    text = f"{float(number):.{few}g}"
    return text if kind(text) == number else f"{float(number):.{many}g}"


def _quoted(value: bytes | str) -> str:
    text = value if isinstance(value, str) else value.decode(errors="replace")
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


_ESCAPED = "[\\x00-\\x1f\\x7f\"'\\\\]"


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if found in "\"'\\":
        return "\\" + found
    return _NAMED.get(found, f"\\{ord(found):03o}")


class _Shown:
    """A tensor inside of a list or a dict that is printed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def printed(inputs: Any, between: str, summarize: int) -> str:
    """What `tf.print` writes."""
    if len(inputs) == 1 and isinstance(inputs[0], Bytes):
        return inputs[0].decode(errors="replace")
    return between.join(
        text if isinstance(text, str) else pprint.pformat(_shown(text, summarize))
        for text in inputs
    )


def _shown(value: Any, summarize: int) -> Any:
    if isinstance(value, RaggedTensor):
        return _Shown(_nested(value))
    if isinstance(value, SparseTensor):
        parts = ("indices", value.indices), ("values", value.values)
        shown = [f"{name}={summary(part, summarize)}" for name, part in parts]
        shape = summary(value.dense_shape, summarize)
        return f"SparseTensor({', '.join(shown)}, shape={shape})"
    if is_tensor(value):
        return _Shown(summary(value, summarize))
    if isinstance(value, dict):
        return {k: _shown(v, summarize) for k, v in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_shown(v, summarize) for v in value)
    return value


def _nested(row: Any) -> str:
    """Rows as lists of their values."""
    if isinstance(row, RaggedTensor) or np.ndim(row):
        return f"[{', '.join(map(_nested, row))}]"
    return f"'{row.decode()}'" if isinstance(row, bytes) else _one(np.asarray(row)[()])
