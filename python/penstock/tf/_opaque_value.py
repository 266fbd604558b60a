"""A tensor of which a trace knows a dtype, and what is known of the shape."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock._trace_errors import refuse
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes, chooser, current
from penstock.tf._dtypes import as_dtype
from penstock.tf._shapes import TensorShape
from penstock.tf._values import _SMALL, convert_to_tensor


class Foreign:
    """Something that a trace may name and must not use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Foreign(f"{self._name}.{name}")

    def _no(self, *_: Any, **__: Any) -> Any:
        refuse(f"uses {self._name}")

    __call__ = __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = _no
    __enter__ = __exit__ = __contains__ = __array__ = __index__ = __float__ = _no


class Opaque:
    """A tensor of which only this is known."""

    __array_ufunc__ = None
    __penstock_tensor__ = True

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        self._shape = self._shape.merge_with(static(shape))

    def _no(self, *_: Any, **__: Any) -> Any:
        refuse("uses a value that no trace has")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"uses .{name} of a value that no trace has")

    def __getitem__(self, key: Any) -> Opaque:
        dims = self._shape.dims
        if dims is None:
            refuse("takes a part of a value of unknown rank")
        return Opaque(self.dtype, taken(list(dims), key))

    def __iter__(self) -> Iterator[Opaque]:
        choose, dims = chooser(), self._shape.dims
        if not dims:
            refuse("goes through a value that no trace has")
        row = Opaque(self.dtype, dims[1:])
        if dims[0] is not None:
            for _ in range(dims[0]):
                current().step()
                yield row
            return
        if choose is None:
            refuse("goes through a value that no trace has")
        while choose():
            yield row

    def __bool__(self) -> bool:
        choose = chooser()
        if choose is None:
            refuse("a branch depends on data")
        return choose()

    __len__ = __setitem__ = __call__ = _no
    __array__ = __index__ = __int__ = __float__ = _no
    __hash__ = None  # type: ignore[assignment]

    def _with(self, other: Any, divides: bool = False) -> Opaque:
        """The result of arithmetic, of which NumPy says the dtype."""
        dims = self._shape.dims
        if hasattr(type(other), "dtype") or isinstance(other, Opaque):
            kind, shape = known(other)
            dims, other = broadcast(dims, shape), np.dtype(kind.name)
        elif isinstance(other, (list, tuple)):
            dims = broadcast(dims, known(other)[1])
            other = np.dtype(self.dtype.name)
        elif type(other) not in (int, float):
            refuse("computes with a value that no trace has")
        mine = np.dtype(self.dtype.name)
        if mine.kind not in "iuf":
            refuse(f"computes with {mine} that no trace has")
        made = np.result_type(mine, other)
        if divides and made.kind in "iu":
            made = np.dtype(np.float32 if made in _SMALL else np.float64)
        return Opaque(made, dims)

    def __add__(self, other: Any) -> Opaque:
        if self.dtype.name == "string":
            return self._joined(other)
        return self._with(other)

    __radd__ = __add__

    def _joined(self, other: Any) -> Opaque:
        kind, shape = known(other)
        if kind.name != "string":
            refuse("adds something else to a string")
        return Opaque("string", broadcast(self._shape.dims, shape))

    def __sub__(self, other: Any) -> Opaque:
        return self._with(other)

    __rsub__ = __mul__ = __rmul__ = __sub__
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __sub__

    def __truediv__(self, other: Any) -> Opaque:
        return self._with(other, divides=True)

    __rtruediv__ = __truediv__

    def __neg__(self) -> Opaque:
        if np.dtype(self.dtype.name).kind not in "if":
            refuse("negates a value that no trace has")
        return Opaque(self.dtype, self._shape)

    __abs__ = __neg__

    def _compared(self, other: Any) -> Opaque:
        dims = self._shape.dims
        if type(other) not in (int, float, bool, str, bytes):
            dims = broadcast(dims, known(other)[1])
        return Opaque("bool", dims)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared  # type: ignore

    def _truth(self, other: Any) -> Opaque:
        if self.dtype.name != "bool" or known(other)[0].name != "bool":
            refuse("computes with bits that no trace has")
        return self._compared(other)

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _truth

    def __invert__(self) -> Opaque:
        return self._truth(self)


def taken(dims: list[Any], key: Any) -> list[Any]:
    """The shape of a part of an array."""
    keys = list(key) if type(key) is tuple else [key]
    named = sum(k is not None and k is not Ellipsis for k in keys)
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    made: list[Any] = []
    for k in keys:
        if k is None:
            made.append(1)
        elif k is Ellipsis:
            whole = len(dims) - named
            made += dims[:whole]
            dims, named = dims[whole:], 0
        elif not dims:
            refuse("more indices than dimensions")
        else:
            size, named = dims.pop(0), named - (named > 0)
            if isinstance(k, slice):
                made.append(_slice_size(size, k))
            elif type(k) is not int and known(k)[1] != ():
                refuse("an index that no trace has")
    return made


def _slice_size(size: int | None, key: slice) -> int | None:
    bounds = (key.start, key.stop, key.step)
    if all(b is None for b in bounds):
        return size
    if size is None or any(b is not None and type(b) is not int for b in bounds):
        return None
    return len(range(size)[key])


def broadcast(a: Any, b: Any) -> Any:
    """The shape of two operands together, None if it is not known."""
    if a is None or b is None:
        return None
    a, b = tuple(a), tuple(b)
    rank = max(len(a), len(b))
    made: list[Any] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b):
        if x == 1 or y == 1:
            made.append(y if x == 1 else x)
        elif x is None or y is None:
            made.append(y if x is None else x)
        elif x != y:
            refuse("shapes that do not fit")
        else:
            made.append(x)
    return made


def static(shape: Any) -> Any:
    """A shape that does not depend on data, for TensorShape."""
    if shape is None or isinstance(shape, TensorShape):
        return shape
    try:
        return [None if d is None or d == -1 else operator.index(d) for d in shape]
    except TypeError:
        refuse("a shape that depends on data")


def known(value: Any) -> tuple[Any, Any]:
    """(dtype, shape) of a value in a trace; the shape may be None."""
    if isinstance(value, Opaque):
        return value.dtype, value.shape.dims
    if isinstance(value, Traced):
        return as_dtype(value.dtype), value._dims
    if isinstance(value, TracedBytes):
        return as_dtype("string"), value.shape
    if isinstance(value, (Foreign, TracedRagged)):
        refuse("a value that no trace has")
    if isinstance(value, (list, tuple)) and any(
        isinstance(v, (Opaque, TracedBytes)) for v in value
    ):
        kind, row = known(value[0])
        return kind, None if row is None else (len(value), *row)
    tensor = convert_to_tensor(value)
    if isinstance(tensor, (Traced, TracedBytes)):
        return known(tensor)
    return tensor.dtype, tuple(tensor.shape)
