"""`tf.lookup`: tables from keys to values, held in memory.

>>> import penstock.tf as tf
>>> table = tf.lookup.StaticHashTable(
...     tf.lookup.KeyValueTensorInitializer(["cat", "dog"], [0, 1]), default_value=-1)
>>> table.lookup(tf.constant(["dog", "cow"])).numpy()
array([ 1, -1], dtype=int32)
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from penstock._dataset import Dataset as Engine
from penstock._errors import FailedPreconditionError, InvalidArgumentError
from penstock.tf import _hash, _missing
from penstock.tf import _mutable_tables as experimental  # noqa: F401
from penstock.tf._dtypes import DType, as_dtype, int64, string
from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._values import convert_to_tensor, wrap


class TextFileIndex:
    """What of a line a table takes: the whole of it, or its number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def _items(values: Any, dtype: Any) -> tuple[list[Any], DType]:
    tensor = convert_to_tensor(values, None if dtype is None else dtype)
    if isinstance(tensor, bytes):
        return [bytes(tensor)], string
    array = np.asarray(tensor).reshape(-1)
    return array.tolist(), as_dtype(tensor.dtype)


class KeyValueTensorInitializer:
    """Keys and their values."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._keys, self.key_dtype = _items(keys, key_dtype)
        self._values, self.value_dtype = _items(values, value_dtype)
        if len(self._keys) != len(self._values):
            raise InvalidArgumentError(
                f"KeyValueTensorInitializer: {len(self._keys)} keys and "
                f"{len(self._values)} values"
            )

    def _pairs(self) -> list[tuple[Any, Any]]:
        return list(zip(self._keys, self._values))


class DatasetInitializer:
    """Keys and values of a dataset of such pairs."""

    def __init__(self, dataset: Any) -> None:
        spec = dataset.element_spec
        if not isinstance(spec, tuple) or len(spec) != 2:
            raise ValueError(
                f"The dataset must have elements (key, value), got {spec!r}"
            )
        self._dataset = dataset
        self.key_dtype, self.value_dtype = (as_dtype(s.dtype) for s in spec)

    def _pairs(self) -> list[tuple[Any, Any]]:
        return [
            (_plain(key), _plain(value))
            for key, value in self._dataset.as_numpy_iterator()
        ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, bytes) else value.item()


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: Any = None,
    hasher_spec: Any = None,
    key_dtype: Any = string,
    name: str | None = None,
) -> Any:
    """A table of a dataset of (key, value).

    With buckets, keys that it does not have get one by their hash.

    >>> import penstock.tf as tf
    >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [5, 6]))
    >>> table = tf.data.experimental.table_from_dataset(pairs, default_value=-1)
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([ 6, -1], dtype=int32)
    """
    if dataset is None:
        raise ValueError("Argument `dataset` must be given.")
    if num_oov_buckets < 0:
        raise ValueError(
            f"`num_oov_buckets` must be greater than or equal to 0, got "
            f"{num_oov_buckets}."
        )
    if vocab_size is not None:
        dataset = dataset.take(vocab_size)
    initializer = DatasetInitializer(dataset)
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets)
    if default_value is None:
        default_value = b"" if initializer.value_dtype == string else -1
    return StaticHashTable(initializer, default_value)


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: Any = -1,
    hasher_spec: Any = None,
    key_dtype: Any = string,
    name: str | None = None,
) -> Any:
    """A table from the elements of a dataset to their numbers.

    >>> import penstock.tf as tf
    >>> words = tf.data.Dataset.from_tensor_slices(["a", "b"])
    >>> table = tf.data.experimental.index_table_from_dataset(words)
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([ 1, -1])
    """
    if dataset is None:
        raise ValueError("Argument `dataset` must be given.")
    numbered = dataset.enumerate().map(lambda i, key: (key, i))
    return table_from_dataset(numbered, num_oov_buckets, vocab_size, default_value)


class TextFileInitializer:
    """Keys and values of the lines of a file."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self._file = os.fsdecode(filename)
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._places = key_index, value_index
        self._limit = vocab_size
        self._delimiter = delimiter.encode()
        self._offset = value_index_offset

    def _pairs(self) -> list[tuple[Any, Any]]:
        lines: Any = Engine.text_lines(self._file)
        if self._limit is not None:
            lines = lines.take(int(self._limit))
        made = []
        for number, line in enumerate(lines):
            key, value = (
                self._part(line, number, place, dtype)
                for place, dtype in zip(
                    self._places, (self.key_dtype, self.value_dtype), strict=True
                )
            )
            if self._offset and self._places[1] == TextFileIndex.LINE_NUMBER:
                value += self._offset
            made.append((key, value))
        return made

    def _part(self, line: bytes, number: int, place: int, dtype: DType) -> Any:
        if place == TextFileIndex.LINE_NUMBER:
            return number
        text = line
        if place != TextFileIndex.WHOLE_LINE:
            fields = line.split(self._delimiter)
            if place >= len(fields):
                raise InvalidArgumentError(
                    f"{self._file}: line {number} has {len(fields)} columns, column "
                    f"{place} is wanted"
                )
            text = fields[place]
        if dtype == string:
            return text
        return dtype.dtype.type(text).item()


class StaticHashTable:
    """A table that does not change; keys that it does not have give the default."""

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.key_dtype: DType = initializer.key_dtype
        self.value_dtype: DType = initializer.value_dtype
        self._table: dict[Any, Any] = {}
        for key, value in initializer._pairs():
            if self._table.setdefault(key, value) != value:
                raise FailedPreconditionError(
                    f"HashTable: the key {key!r} has the values "
                    f"{self._table[key]!r} and {value!r}"
                )
        (self._default,), _ = _items(default_value, self.value_dtype)
        self._name = name or "hash_table"

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    @property
    def default_value(self) -> Any:
        return convert_to_tensor(self._default, self.value_dtype)

    def size(self, name: str | None = None) -> Any:
        """How many keys there are."""
        return wrap(np.int64(len(self._table)))

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys, in their shape; of ragged and sparse ones, too."""
        return _looked_up(keys, self.key_dtype, self.value_dtype, self._value)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """All keys and their values.

        >>> import penstock.tf as tf
        >>> table = tf.lookup.StaticHashTable(
        ...     tf.lookup.KeyValueTensorInitializer(["a"], [5]), default_value=-1)
        >>> [part.numpy().tolist() for part in table.export()]
        [[b'a'], [5]]
        """
        return (
            convert_to_tensor(list(self._table), self.key_dtype),
            convert_to_tensor(list(self._table.values()), self.value_dtype),
        )

    def _value(self, key: Any) -> Any:
        return self._table.get(key, self._default)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


def _looked_up(keys: Any, key_dtype: DType, value_dtype: DType, value_of: Any) -> Any:
    if isinstance(keys, RaggedTensor):
        values = _looked_up(keys.flat_values, key_dtype, value_dtype, value_of)
        return keys.with_flat_values(values)
    if isinstance(keys, SparseTensor):
        values = _looked_up(keys.values, key_dtype, value_dtype, value_of)
        return SparseTensor(keys.indices, values, keys.dense_shape)
    tensor = convert_to_tensor(keys)
    if as_dtype(tensor.dtype) != key_dtype:
        raise TypeError(
            f"Dtype of argument `keys` must be {key_dtype!r}, received: "
            f"{tensor.dtype!r}"
        )
    if isinstance(tensor, bytes):
        return convert_to_tensor(value_of(bytes(tensor)), value_dtype)
    array = np.asarray(tensor)
    out = np.empty(array.size, value_dtype.dtype)
    out[:] = [value_of(key) for key in array.reshape(-1).tolist()]
    return wrap(out.reshape(array.shape)[()])


class StaticVocabularyTable:
    """Numbers of words; words that it does not have get one of further buckets."""

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(
                f"`num_oov_buckets` must be greater than 0; use StaticHashTable "
                f"instead. Received: {num_oov_buckets}"
            )
        self._buckets = int(num_oov_buckets)
        self.key_dtype = string if initializer is None else initializer.key_dtype
        if lookup_key_dtype is not None:
            self.key_dtype = as_dtype(lookup_key_dtype)
        self.value_dtype = int64
        self._table = {} if initializer is None else dict(initializer._pairs())

    def size(self, name: str | None = None) -> Any:
        """How many numbers there are."""
        return wrap(np.int64(len(self._table) + self._buckets))

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of keys, in their shape; of ragged and sparse ones, too."""
        return _looked_up(keys, self.key_dtype, int64, self._value)

    def _value(self, key: Any) -> int:
        found = self._table.get(key)
        if found is not None:
            return int(found)
        text = key if isinstance(key, bytes) else str(key).encode()
        return len(self._table) + _hash.fingerprint64(text) % self._buckets

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


def __getattr__(name: str) -> Any:
    return _missing.resolve("lookup", name)
