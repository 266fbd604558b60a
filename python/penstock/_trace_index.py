"""Indexing of traced arrays: constants, slices, new axes, traced integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._trace_errors import refuse
from penstock._trace_methods import _view
from penstock._trace_numpy import as_constant, cast, emit, fresh
from penstock._trace_value import Traced, current_or_none

_NONE = -(2**63)  # a bound of a slice that was left out


def _bound(value: Any) -> int:
    if value is None:
        return _NONE
    if isinstance(value, Traced) and not value.is_constant:
        refuse("a slice with bounds that depend on data")
    try:
        bound = int(value.__index__())
    except (AttributeError, TypeError):
        refuse("slice bounds must be integers")
    # As slice() does: beyond any array is the same as far beyond it.
    return max(min(bound, 2**62), -(2**62))


def _is_int(key: Any) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_))


def getitem(x: Traced, key: Any) -> Any:
    if isinstance(key, list):
        key = _index_array(key)
    keys = key if isinstance(key, tuple) else (key,)
    keys = tuple(_index_array(k) if isinstance(k, list) else k for k in keys)
    tracer = current_or_none()
    if tracer is not None and tracer.unknown_part is not None:
        if any(_on_data(k) for k in keys):
            return tracer.unknown_part(x, keys)
    if x.is_constant and not any(
        isinstance(k, Traced) and not k.is_constant for k in keys
    ):
        return _constant(x, key)
    traced = [
        k for k in keys if isinstance(k, (Traced, np.ndarray)) and not _plain_int(k)
    ]
    keys = tuple(int(k.__index__()) if _plain_int(k) else k for k in keys)
    if traced:
        return _gather(x, keys)
    return _basic(x, keys)


def _on_data(key: Any) -> bool:
    """Whether a slice has bounds that a trace does not know, or a key is unknown."""
    if isinstance(key, slice):
        return any(
            _on_data(b) or (isinstance(b, Traced) and not b.is_constant)
            for b in (key.start, key.stop, key.step)
        )
    return getattr(type(key), "__penstock_tensor__", False)


def _plain_int(key: Any) -> bool:
    if isinstance(key, Traced):
        return (
            key.is_constant
            and key.dtype.kind in "iu"
            and key.ndim == 0
            and not key._zero_d
        )
    return _is_int(key)


def _index_array(key: Any) -> Any:
    if any(isinstance(k, (Traced, list, tuple, slice)) or k is None for k in key):
        refuse("a list of traced values as an index")
    return as_constant(np.array(key, dtype=None if key else np.int64))


def _constant(x: Traced, key: Any) -> Any:
    def plain(k: Any) -> Any:
        return k._value if isinstance(k, Traced) else k

    index = tuple(plain(k) for k in key) if isinstance(key, tuple) else plain(key)
    try:
        got = x._value[index]
    except IndexError as error:
        refuse(f"IndexError: {error}")
    return as_constant(got)


def _expand(x: Traced, keys: tuple[Any, ...]) -> list[Any]:
    """Keys without Ellipsis, one per dimension but for new axes."""
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if used > x.ndim:
        refuse("IndexError: too many indices for the array")
    if sum(1 for k in keys if k is Ellipsis) > 1:
        refuse("IndexError: more than one Ellipsis")
    out: list[Any] = []
    for k in keys:
        if k is Ellipsis:
            out.extend([slice(None)] * (x.ndim - used))
        else:
            out.append(k)
    missing = x.ndim - sum(1 for k in out if k is not None)
    return out + [slice(None)] * missing


def _basic(x: Traced, keys: tuple[Any, ...]) -> Traced:
    scalar = all(_is_int(k) for k in keys) and len(keys) == x.ndim
    ints: list[int] = []
    drop: list[int] = []
    places: list[tuple[int, int]] = []  # (axis, index) where the size is not known
    axes: list[int] = []
    contiguous = x._contiguous
    whole_so_far = True  # all dimensions in front have at most one value left
    dims = x._dims
    assert dims is not None
    axis = position = 0
    for k in _expand(x, keys):
        if k is None:
            axes.append(position)
            position += 1
            continue
        dim = dims[axis]
        if isinstance(k, slice):
            start, stop, step = _bound(k.start), _bound(k.stop), _bound(k.step)
            if step == 0:
                refuse("ValueError: slice step cannot be zero")
            ints += [start, stop, 1 if step == _NONE else step]
            full = dim is not None and k.indices(dim) == (0, dim, 1)
            if dim is None:
                full = k == slice(None)
            if not full and not (whole_so_far and step in (_NONE, 1)):
                contiguous = False
            if dim is None or len(range(*k.indices(dim))) != 1:
                whole_so_far = False
            position += 1
        elif _is_int(k):
            index = int(k)
            if dim is not None and not -dim <= index < dim:
                refuse(f"IndexError: index {index} is out of bounds, size {dim}")
            if dim is None:
                # Gathered, for only that says when the index is out of bounds.
                ints += [_NONE, _NONE, 1]
                places.append((axis, max(min(index, 2**62), -(2**62))))
            else:
                ints += [index, index + 1 if index != -1 else _NONE, 1]
            drop.append(axis)
            if not whole_so_far:
                contiguous = False
        else:
            refuse(f"an index of type {type(k).__name__}")
        axis += 1
    whole = bool(places) and ints == [_NONE, _NONE, 1] * x.ndim
    out = emit("slice", x, ints=tuple(ints)) if ints and not whole else fresh(x)
    for axis, index in places:
        at = as_constant(np.array([index], np.int64))
        out = emit("gather", out, at, ints=(axis,))
    if drop:
        out = emit("squeeze", out, ints=tuple(drop))
    if axes:
        out = emit("expand_dims", out, ints=tuple(axes))
    if scalar:
        out._zero_d = False
        return out
    negative = any(
        isinstance(k, slice) and k.step is not None and int(k.step) < 0 for k in keys
    )
    _view(x, out, contiguous and not negative, x._c_order and not negative)
    if out.ndim == 0:
        out._zero_d = True
    return out


def _gather(x: Traced, keys: tuple[Any, ...]) -> Traced:
    """One traced integer or array of integers, and slices around it."""
    expanded = _expand(x, keys)
    if any(k is None for k in expanded):
        refuse("a new axis beside an index that depends on data")
    where = [i for i, k in enumerate(expanded) if isinstance(k, (Traced, np.ndarray))]
    if len(where) != 1 or any(_is_int(k) for k in expanded):
        refuse("several indices of which one depends on data")
    axis = where[0]
    index = expanded[axis]
    if not isinstance(index, Traced):
        index = as_constant(index)
    if index.dtype.kind == "b":
        refuse("a mask: the shape of the result depends on data")
    if index.dtype.kind not in "iu" or index.dtype == np.uint64:
        refuse(f"an index of {index.dtype}")
    rest = tuple(slice(None) if i == axis else k for i, k in enumerate(expanded))
    if any(k != slice(None) for k in rest):
        x = _basic(x, rest)
    out = emit("gather", x, cast(index, np.int64), ints=(axis,))
    if index.ndim == 0 and not index._zero_d:
        # A view of x in NumPy; its layout is that of the rest.
        if out.ndim:
            _view(x, out, axis == 0 and x._contiguous, x._c_order)
    elif axis != 0 or not x._c_order:
        # NumPy may lay the result of an index array out in another order.
        out._contiguous = out._c_order = False
    return out
