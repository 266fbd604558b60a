"""Objects of TensorFlow's in a trace for the spec alone."""

from __future__ import annotations

import builtins
from typing import Any

from penstock._trace_errors import refuse
from penstock.tf._dataset import Dataset
from penstock.tf._dtypes import as_dtype, float32
from penstock.tf._opaque import depends
from penstock.tf._opaque_datasets import OpaqueDataset, OpaqueSources
from penstock.tf._opaque_value import Foreign, Opaque, known, static
from penstock.tf._readers import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from penstock.tf._shapes import TensorShape, TensorSpec, spec_from_tf
from penstock.tf._tensor_array import TensorArray
from penstock.tf.random import Generator


class OpaqueGenerator(Foreign):
    """A random generator: what it draws has a dtype and a shape."""

    def __init__(self) -> None:
        super().__init__("a random generator")

    def make_seeds(self, count: Any = 1) -> Opaque:
        return Opaque("int64", [2, count if type(count) is int else None])

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = float32,
        name: Any = None,
    ) -> Opaque:
        return Opaque(dtype, drawn_shape(shape))

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        name: Any = None,
    ) -> Opaque:
        return Opaque(dtype, drawn_shape(shape))

    truncated_normal = normal

    def uniform_full_int(
        self, shape: Any, dtype: Any = "uint64", name: Any = None
    ) -> Opaque:
        return Opaque(dtype, drawn_shape(shape))


def drawn_shape(shape: Any) -> Any:
    """The shape of random values, as far as it does not depend on data."""
    if isinstance(shape, (list, tuple)):
        return [None if depends(d) else int(d) for d in shape]
    if depends(shape):
        _, dims = known(shape)
        if dims is None or len(dims) != 1 or dims[0] is None:
            return None
        return [None] * dims[0]
    return static(shape)


class OpaqueArray(Foreign):
    """A `TensorArray`."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        *_: Any,
        element_shape: Any = None,
        **__: Any,
    ) -> None:
        super().__init__("a TensorArray")
        self.dtype = as_dtype(dtype)
        self._row = None if element_shape is None else TensorShape(element_shape)
        self._size = size

    def write(self, index: Any, value: Any, name: Any = None) -> OpaqueArray:
        kind, shape = known(value)
        if hasattr(value, "dtype") and kind != self.dtype:
            refuse("writes another dtype")
        if self._row is None:
            self._row = TensorShape(shape)
        return self

    def unstack(self, value: Any, name: Any = None) -> OpaqueArray:
        _, shape = known(value)
        self._row = TensorShape(None if shape is None else shape[1:])
        return self

    def _rows(self) -> Any:
        return None if self._row is None else self._row.dims

    def read(self, index: Any, name: Any = None) -> Opaque:
        return Opaque(self.dtype, self._rows())

    def stack(self, name: Any = None) -> Opaque:
        rows = self._rows()
        return Opaque(self.dtype, None if rows is None else [None, *rows])

    def concat(self, name: Any = None) -> Opaque:
        rows = self._rows()
        return Opaque(self.dtype, None if not rows else [None, *rows[1:]])

    def size(self, name: Any = None) -> Opaque:
        return Opaque("int32", ())

    def mark_used(self) -> None:
        pass

    identity = mark_used


def _records(*_: Any, **__: Any) -> OpaqueDataset:
    return OpaqueDataset(spec_from_tf(TensorSpec((), "string")))


_READERS = (TFRecordDataset, TextLineDataset, FixedLengthRecordDataset)


_SOURCES = {
    id(getattr(Dataset, name)): name
    for name in ("from_generator", "from_tensors", "from_tensor_slices", "range", "zip")
}


def _silent(*_: Any, **__: Any) -> None:
    """`print()`, which shows nothing in a trace."""


def object_form(value: Any) -> Any:
    """What stands for an object or a class, None if nothing does."""
    if isinstance(value, Generator):
        return OpaqueGenerator()
    if value is Dataset:
        return OpaqueSources()
    source = _SOURCES.get(id(value))
    if source is not None:
        return getattr(OpaqueSources(), source)
    if value is TensorArray:
        return OpaqueArray
    if any(value is reader for reader in _READERS):
        return _records
    return _silent if value is builtins.print else None
