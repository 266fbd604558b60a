"""`tf.TensorArray`: tensors by number, written one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError, OutOfRangeError
from penstock.tf._dtypes import as_dtype
from penstock.tf._layout import stack
from penstock.tf._values import convert_to_tensor, wrap


class TensorArray:
    """Tensors of one dtype by number. A function that uses it runs as Python.

    >>> import penstock.tf as tf
    >>> rows = tf.TensorArray(tf.int32, size=2)
    >>> rows = rows.write(0, [1, 2]).write(1, [3, 4])
    >>> rows.stack().numpy().tolist()
    [[1, 2], [3, 4]]
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self.dtype = as_dtype(dtype)
        self.element_shape = element_shape
        self.dynamic_size = bool(dynamic_size)
        self._items: list[Any] = [None] * (0 if size is None else int(size))

    def _at(self, index: Any) -> int:
        place = int(index)
        if not 0 <= place < len(self._items):
            raise OutOfRangeError(
                f"TensorArray: index {place} is not in [0, {len(self._items)})"
            )
        return place

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        place = int(index)
        if self.dynamic_size and place >= len(self._items):
            self._items.extend([None] * (place + 1 - len(self._items)))
        tensor = convert_to_tensor(value)
        if not hasattr(value, "dtype"):
            tensor = convert_to_tensor(value, self.dtype)
        if as_dtype(tensor.dtype) != self.dtype:
            raise InvalidArgumentError(
                f"TensorArray: the dtype is {self.dtype!r}, got {tensor.dtype!r}"
            )
        self._items[self._at(place)] = tensor
        return self

    def read(self, index: Any, name: str | None = None) -> Any:
        return self._filled(self._at(index))

    def _filled(self, place: int) -> Any:
        """An item; one that was never written is zeros like another."""
        item = self._items[place]
        if item is not None:
            return item
        other = next((i for i in self._items if i is not None), None)
        if other is None or isinstance(other, bytes):
            raise InvalidArgumentError(
                f"TensorArray: item {place} was never written, and its shape is not "
                "known"
            )
        return wrap(np.zeros_like(np.asarray(other))[()])

    def stack(self, name: str | None = None) -> Any:
        """All items along a new first axis."""
        if not self._items:
            return wrap(np.zeros(0, self.dtype.dtype))
        return stack([self._filled(i) for i in range(len(self._items))])

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """Some items along a new first axis."""
        return stack([self.read(i) for i in np.asarray(indices)])

    def concat(self, name: str | None = None) -> Any:
        """All items one behind the other."""
        parts = [np.asarray(self._filled(i)) for i in range(len(self._items))]
        return wrap(np.concatenate(parts) if parts else np.zeros(0, self.dtype.dtype))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The rows of `value` as the items."""
        return self._set(list(convert_to_tensor(value, self.dtype)))

    def _set(self, items: list[Any]) -> TensorArray:
        if len(items) > len(self._items) and not self.dynamic_size:
            raise ValueError(
                f"TensorArray: {len(items)} items do not fit the size "
                f"{len(self._items)}; dynamic_size=True lets it grow"
            )
        self._items = items
        return self

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The rows of `value` at these numbers."""
        rows = convert_to_tensor(value, self.dtype)
        for place, row in zip(np.asarray(indices), rows, strict=True):
            self.write(place, row)
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Parts of `value` as the items."""
        rows = np.asarray(convert_to_tensor(value, self.dtype))
        ends = np.cumsum(np.asarray(lengths))
        return self._set([wrap(part) for part in np.split(rows, ends[:-1])])

    def size(self, name: str | None = None) -> Any:
        return wrap(np.int32(len(self._items)))

    def identity(self) -> TensorArray:
        return self

    def close(self, name: str | None = None) -> None:
        """Forgets the items."""
        self._items = []
