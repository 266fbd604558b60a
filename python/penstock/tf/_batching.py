"""Transformations that make one element of several, and several of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.tf import _structure
from penstock.tf._deriving import Deriving, whole
from penstock.tf._dtypes import int64
from penstock.tf._padding import check_padding, padded_shapes_of, padding_of
from penstock.tf._ragged import SparseTensor
from penstock.tf._shapes import SparseTensorSpec, TensorSpec

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


class Batching(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` consecutive elements stacked to one.

        >>> import penstock.tf as tf
        >>> [b.numpy().tolist() for b in tf.data.Dataset.range(3).batch(2)]
        [[0, 1], [2]]
        """
        spec = self.element_spec  # type: ignore[attr-defined]
        if _has_sparse(spec):
            return self._sparse_batch(
                spec, whole(batch_size, "batch_size"), bool(drop_remainder)
            )
        size, drop = whole(batch_size, "batch_size"), bool(drop_remainder)
        if self._ragged:
            return self.ragged_batch(size, drop, name=name)
        made = self._then(self._penstock_value.batch(size, drop, name=name))
        return self._as_long(made)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements padded to one shape and stacked.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
        >>> next(iter(ds.padded_batch(3))).numpy().tolist()
        [[1, 0, 0], [2, 2, 0], [3, 3, 3]]
        """
        spec = self._penstock_value.element_spec
        check_padding(spec, padded_shapes)
        return self._then(
            self._penstock_value.padded_batch(
                whole(batch_size, "batch_size"),
                padded_shapes_of(padded_shapes, spec),
                padding_of(padding_values, spec),
                bool(drop_remainder),
                name=name,
            )
        )

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = int64,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements as one, without padding.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(3).map(lambda x: tf.range(x))
        >>> next(iter(ds.ragged_batch(3))).to_list()
        [[], [0], [0, 1]]
        """
        return self._then(
            self._penstock_value.ragged_batch(
                whole(batch_size, "batch_size"), bool(drop_remainder), name=name
            )
        )

    def _sparse_batch(self, spec: Any, size: int, drop_remainder: bool) -> Dataset:
        """`batch` where sparse tensors are among the components."""
        from penstock.tf.sparse import stack_elements

        engine = self._penstock_value
        if _only_lists(spec) and not _has_places(engine.element_spec):
            return self._then(engine.ragged_batch(size, drop_remainder))
        windows = self.window(size, drop_remainder=drop_remainder)
        return windows.map(lambda *parts: stack_elements(_window_elements(parts)))

    def sparse_batch(
        self, batch_size: Any, row_shape: Any, name: str | None = None
    ) -> Dataset:
        """`batch_size` dense elements as one sparse tensor.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(1, 3).map(lambda x: tf.fill([x], x))
        >>> batch = next(iter(ds.sparse_batch(2, [3])))
        >>> tf.sparse.to_dense(batch).numpy().tolist()
        [[1, 0, 0], [2, 2, 0]]
        """
        from penstock.tf._shapes import TensorShape
        from penstock.tf.sparse import stack_rows

        row = tuple(TensorShape(row_shape))
        windows = self.window(batch_size)
        return windows.map(lambda window: stack_rows(list(window), row))

    def unbatch(self, name: str | None = None) -> Dataset:
        """Every row of an element's first dimension as an element.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).batch(2).unbatch()]
        [0, 1, 2]
        """
        return self._then(self._penstock_value.unbatch(name=name))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of another size; a list of sizes is taken in turn.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(5).batch(4).rebatch(2)
        >>> [b.numpy().tolist() for b in ds]
        [[0, 1], [2, 3], [4]]
        """
        if isinstance(batch_size, (list, tuple, np.ndarray)) and np.ndim(batch_size):
            sizes: Any = [whole(b, "batch_size") for b in batch_size]
        else:
            sizes = whole(batch_size, "batch_size")
        return self._then(
            self._penstock_value.rebatch(sizes, bool(drop_remainder), name=name)
        )

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of `size` elements, each a dataset of its own.

        >>> import penstock.tf as tf
        >>> windows = tf.data.Dataset.range(4).window(2)
        >>> [[int(x) for x in w] for w in windows]
        [[0, 1], [2, 3]]
        """
        return self._then(
            self._penstock_value.window(
                whole(size, "size"),
                None if shift is None else whole(shift, "shift"),
                whole(stride, "stride"),
                bool(drop_remainder),
                name=name,
            )
        )


def _has_sparse(spec: Any) -> bool:
    return any(isinstance(s, SparseTensorSpec) for s in _structure.flatten(spec))


def _only_lists(spec: Any) -> bool:
    """Whether every component is a sparse list, or of a shape that is known."""
    return all(
        s.shape.rank == 1
        if isinstance(s, SparseTensorSpec)
        else isinstance(s, TensorSpec) and s.shape.is_fully_defined()
        for s in _structure.flatten(spec)
    )


def _has_places(spec: Any) -> bool:
    """Whether a sparse tensor travels as its places and values, not as a list."""
    if getattr(type(spec), "carried", None) is SparseTensor:
        return True
    parts = spec.values() if isinstance(spec, dict) else spec
    return isinstance(spec, (dict, tuple)) and any(_has_places(s) for s in parts)


def _window_elements(parts: Any) -> list[Any]:
    """The elements of a window, which is a dataset for each component."""
    if type(parts) is tuple and len(parts) == 1:
        return _window_elements(parts[0])
    if isinstance(parts, dict):
        columns = [_window_elements(v) for v in parts.values()]
        return [dict(zip(parts, row)) for row in zip(*columns)]
    if isinstance(parts, tuple):
        columns = [_window_elements(v) for v in parts]
        return [_structure.encode_tuple(parts, list(row)) for row in zip(*columns)]
    names = _structure.field_names(type(parts))
    if names is None:
        return list(parts)
    columns = [_window_elements(getattr(parts, n)) for n in names]
    carrier = _structure.carrier(type(parts))
    return [_structure.rebuild(carrier(*row), list(row)) for row in zip(*columns)]
