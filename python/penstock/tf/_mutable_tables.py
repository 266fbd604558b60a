"""`tf.lookup.experimental`: tables that change while a program runs.

Not known to traces: functions that use one run as Python, in threads, where all of
them see the same table (its lock does not pickle, so none moves to a process).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf import _missing
from penstock.tf._dtypes import as_dtype
from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._values import convert_to_tensor, wrap


class MutableHashTable:
    """A table to which keys are added; others give the default.

    >>> import penstock.tf as tf
    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    >>> table.insert(tf.constant(["a", "b"]), [5, 6])
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([ 6, -1])
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = self._values(default_value)
        self._table: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def _values(self, values: Any) -> Any:
        tensor = convert_to_tensor(values, self.value_dtype)
        if isinstance(tensor, bytes):
            return np.array(bytes(tensor), object)
        return np.asarray(tensor)

    def _keys(self, keys: Any) -> tuple[tuple[int, ...], list[Any]]:
        """Their shape, and each as what the table holds."""
        if not hasattr(keys, "dtype"):
            keys = convert_to_tensor(keys, self.key_dtype)
        if as_dtype(keys.dtype) != self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype!r}, received: "
                f"{keys.dtype!r}"
            )
        if isinstance(keys, bytes):
            return (), [bytes(keys)]
        array = np.asarray(keys)
        return array.shape, array.reshape(-1).tolist()

    def size(self, name: str | None = None) -> Any:
        """How many keys there are."""
        return wrap(np.int64(len(self._table)))

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Adds keys, or gives them other values."""
        shape, items = self._keys(keys)
        given = self._values(values)
        wanted = shape + self._default.shape
        if given.shape != wanted:
            raise InvalidArgumentError(
                f"insert: values must have the shape {wanted}, got {given.shape}"
            )
        rows = given.reshape(len(items), *self._default.shape)
        with self._lock:
            self._table.update(zip(items, rows.copy()))

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Takes keys out; those that are not there are passed over."""
        _, items = self._keys(keys)
        with self._lock:
            for item in items:
                self._table.pop(item, None)

    erase = remove

    def lookup(
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Any:
        """The values of keys; of ragged and sparse ones, too."""
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        if isinstance(keys, SparseTensor):
            values = self.lookup(keys.values)
            return SparseTensor(keys.indices, values, keys.dense_shape)
        shape, items = self._keys(keys)
        inner = self._default.shape
        out = np.empty((len(items), *inner), self.value_dtype.dtype)
        missing = self._default
        if dynamic_default_values is not None:
            missing = self._values(dynamic_default_values).reshape(-1, *inner)
        per_key = missing.ndim > len(inner) and len(missing) == len(items)
        with self._lock:
            for i, item in enumerate(items):
                found = self._table.get(item)
                if found is None:
                    found = missing[i] if per_key else missing.reshape(inner)
                out[i] = found[()] if isinstance(found, np.ndarray) else found
        return wrap(out.reshape(shape + inner)[()])

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """All keys and their values."""
        with self._lock:
            keys, rows = list(self._table), list(self._table.values())
        out = np.empty((len(rows), *self._default.shape), self.value_dtype.dtype)
        for i, row in enumerate(rows):
            out[i] = row
        return convert_to_tensor(keys, self.key_dtype), wrap(out)


class DenseHashTable(MutableHashTable):
    """A `MutableHashTable` with two keys that are never in it.

    >>> import penstock.tf as tf
    >>> table = tf.lookup.experimental.DenseHashTable(
    ...     tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    >>> table.insert(tf.constant([7], tf.int64), [70])
    >>> table.lookup(tf.constant([7, 8], tf.int64)).numpy()
    array([70, -1])
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value)
        _, self._reserved = self._keys([empty_key, deleted_key])

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        _, items = self._keys(keys)
        for item in items:
            if item in self._reserved:
                raise InvalidArgumentError(
                    f"insert: the key {item!r} is the table's empty_key or deleted_key"
                )
        super().insert(keys, values)


def __getattr__(name: str) -> Any:
    return _missing.resolve("lookup.experimental", name)
