"""Ragged and sparse tensors: holders with the methods that pipelines use."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._ragged import Ragged
from penstock.tf._shapes import RaggedTensorSpec, SparseTensorSpec, TensorShape
from penstock.tf._values import wrap


class RaggedTensor:
    """Rows of different length: flat values and where they are cut.

    >>> import penstock.tf as tf
    >>> rows = tf.ragged.constant([[1, 2], [], [3]])
    >>> rows.to_list(), rows.to_tensor().numpy().tolist()
    ([[1, 2], [], [3]], [[1, 2], [0, 0], [3, 0]])
    """

    __slots__ = ("_penstock_value",)
    _penstock_value: Ragged

    @classmethod
    def _of(cls, ragged: Ragged) -> RaggedTensor:
        self = object.__new__(cls)
        self._penstock_value = ragged
        return self

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: Any = None, validate: bool = True
    ) -> RaggedTensor:
        inner = getattr(values, "_penstock_value", None)
        splits = np.asarray(row_splits, np.int64)
        if isinstance(inner, Ragged):
            return cls._of(Ragged(inner.values, (splits, *inner.nested_row_splits)))
        return cls._of(Ragged(np.asarray(values), (splits,)))

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: Any = None, validate: bool = True
    ) -> RaggedTensor:
        ends = np.cumsum(np.asarray(row_lengths, np.int64))
        return cls.from_row_splits(values, np.concatenate([[0], ends]))

    @property
    def values(self) -> Any:
        ragged = self._penstock_value
        if ragged.ragged_rank > 1:
            return RaggedTensor._of(
                Ragged(ragged.values, tuple(ragged.nested_row_splits[1:]))
            )
        return wrap(ragged.values)

    @property
    def flat_values(self) -> Any:
        return wrap(self._penstock_value.values)

    @property
    def row_splits(self) -> Any:
        return wrap(np.asarray(self._penstock_value.row_splits))

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        return tuple(
            wrap(np.asarray(s)) for s in self._penstock_value.nested_row_splits
        )

    @property
    def ragged_rank(self) -> int:
        return self._penstock_value.ragged_rank

    @property
    def dtype(self) -> Any:
        return self._penstock_value.dtype

    @property
    def shape(self) -> TensorShape:
        inner = self._penstock_value.values.shape[1:]
        return TensorShape([len(self), *[None] * self.ragged_rank, *inner])

    def nrows(self) -> Any:
        return wrap(np.int64(len(self)))

    def row_lengths(self, axis: int = 1) -> Any:
        return wrap(np.diff(self._penstock_value.row_splits))

    def to_list(self) -> list[Any]:
        return self._penstock_value.to_list()

    def to_tensor(self, default_value: Any = None, shape: Any = None) -> Any:
        dense = self._penstock_value.to_dense(
            0 if default_value is None else default_value
        )
        if shape is not None:
            for axis, size in enumerate(TensorShape(shape)):
                if size is None or size == dense.shape[axis]:
                    continue
                dense = np.take(dense, range(min(size, dense.shape[axis])), axis)
                if dense.shape[axis] < size:
                    widths = [(0, 0)] * dense.ndim
                    widths[axis] = (0, size - dense.shape[axis])
                    fill: Any = b"" if dense.dtype == object else 0
                    if default_value is not None:
                        fill = default_value
                    dense = np.pad(dense, widths, constant_values=fill)
        return wrap(dense)

    def numpy(self) -> Any:
        rows = [
            row.numpy() if isinstance(row, RaggedTensor) else np.asarray(row)
            for row in self
        ]
        if len({len(r) for r in rows}) <= 1:
            return np.array(rows)
        out = np.empty(len(rows), object)
        out[:] = rows
        return out

    def __len__(self) -> int:
        return len(self._penstock_value)

    def __getitem__(self, i: int) -> Any:
        return wrap(self._penstock_value[i])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"

    def __reduce__(self) -> Any:
        return RaggedTensor._of, (self._penstock_value,)


class SparseTensor:
    """The values that are not zero, and where they are.

    >>> import penstock.tf as tf
    >>> s = tf.sparse.SparseTensor([[0, 1]], [5], [2, 2])
    >>> tf.sparse.to_dense(s).numpy().tolist()
    [[0, 5], [0, 0]]
    """

    __penstock_fields__: tuple[str, ...] = ("indices", "values", "dense_shape")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        from penstock.tf._values import convert_to_tensor

        self.indices = convert_to_tensor(indices, "int64")
        self.values = convert_to_tensor(values)
        self.dense_shape = convert_to_tensor(dense_shape, "int64")

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape([int(d) for d in self.dense_shape])

    def get_shape(self) -> TensorShape:
        return self.shape

    @classmethod
    def __penstock_spec__(cls, parts: list[Any]) -> SparseTensorSpec:
        """The spec of a value that travels as `parts`."""
        if cls is SparseTensor:
            _, values, dense_shape = parts
            rank = (tuple(dense_shape.shape) or (None,))[0]
            shape = None if rank is None else (None,) * rank
            return SparseTensorSpec(shape, values.dtype)
        held = parts[0]
        rows = 2 if isinstance(held, RaggedTensorSpec) else 1
        return SparseTensorSpec((None,) * rows, held.dtype)

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices!r}, values={self.values!r}, "
            f"dense_shape={self.dense_shape!r})"
        )
