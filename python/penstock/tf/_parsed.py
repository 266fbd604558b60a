"""What parsed Examples give: tensors, and sparse tensors for VarLenFeature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock._ragged import Ragged
from penstock._trace_errors import refuse
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes
from penstock.io import RaggedFeature, VarLenFeature
from penstock.tf._dtypes import int64
from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._values import has_traced, wrap


class Listed(SparseTensor):
    """The sparse tensor of a list, or of a batch of lists.

    It travels as what it holds, one array or one ragged value, so that functions
    that parse run natively.
    """

    __penstock_fields__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    @property
    def _held(self) -> Any:
        held = self.held
        return held._penstock_value if isinstance(held, RaggedTensor) else held

    @property
    def values(self) -> Any:
        held = self._held
        ragged = isinstance(held, (Ragged, TracedRagged))
        return _tensor(held.values if ragged else held)

    @property
    def indices(self) -> Any:
        held = self._held
        if isinstance(held, Ragged):
            lengths = np.diff(held.row_splits)
            rows = np.repeat(np.arange(len(lengths)), lengths)
            starts = np.repeat(held.row_splits[:-1], lengths)
            columns = np.arange(len(rows)) - starts
            return wrap(np.column_stack([rows, columns]).astype(np.int64))
        if isinstance(held, (Traced, TracedBytes, TracedRagged)):
            refuse("the indices of a sparse tensor have no native form")
        return wrap(np.arange(len(held), dtype=np.int64).reshape(-1, 1))

    @property
    def dense_shape(self) -> Any:
        held = self._held
        if isinstance(held, Ragged):
            lengths = np.diff(held.row_splits)
            return wrap(np.array([len(lengths), lengths.max(initial=0)], np.int64))
        if isinstance(held, (Traced, TracedBytes, TracedRagged)):
            refuse("the shape of a sparse tensor has no native form")
        return wrap(np.array([len(held)], np.int64))

    def dense(self, fill: Any) -> Any:
        """The array, with `fill` where it has no values."""
        held = self._held
        if isinstance(held, (Ragged, TracedRagged)):
            if fill is None:
                fill = b"" if held.values.dtype == object else 0
            return _tensor(held.to_dense(fill))
        return _tensor(held)

    def __reduce__(self) -> Any:
        return Listed, (self.held,)


def _tensor(value: Any) -> Any:
    return value if has_traced(value) else wrap(value)


class SparseFeature(NamedTuple):
    """Values of one feature at the places that others give: a sparse tensor.

    >>> import penstock.tf as tf
    >>> record = tf.train.Example(features=tf.train.Features(feature={
    ...     "at": tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 1])),
    ...     "v": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 2]))}))
    >>> x = tf.io.parse_single_example(record.SerializeToString(), {
    ...     "x": tf.io.SparseFeature("at", "v", tf.float32, 6)})["x"]
    >>> tf.sparse.to_dense(x).numpy().tolist()
    [0.0, 2.0, 0.0, 0.0, 0.5, 0.0]
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


def engine_features(features: Any) -> Any:
    """The features that the engine reads: for a `SparseFeature` its parts."""
    if not isinstance(features, dict):
        return features
    out: dict[str, Any] = {}
    for name, feature in features.items():
        if isinstance(feature, SparseFeature):
            value = feature.value_key
            out[_part(name, value)] = RaggedFeature(feature.dtype, value)
            for key in _index_keys(feature):
                out[_part(name, key)] = RaggedFeature(int64, key)
        else:
            out[name] = feature
    return out


def _part(name: str, key: str) -> str:
    return f"{name}: {key}"


def _index_keys(feature: SparseFeature) -> list[str]:
    keys = feature.index_key
    found = [keys] if isinstance(keys, str) else list(keys)
    sizes = 1 if np.ndim(feature.size) == 0 else len(feature.size)
    if len(found) != sizes:
        raise ValueError(
            f"SparseFeature: {len(found)} of index_key and {sizes} of size"
        )
    return found


def _sparse(name: str, feature: SparseFeature, parsed: dict[str, Any]) -> SparseTensor:
    keys = _index_keys(feature)
    parts = [parsed[_part(name, key)] for key in (feature.value_key, *keys)]
    if any(isinstance(p, (Traced, TracedBytes, TracedRagged)) for p in parts):
        refuse("a SparseFeature has no native form")
    shape = [int(s) for s in np.atleast_1d(feature.size)]
    columns = [p.values if isinstance(p, Ragged) else p for p in parts]
    cuts = [p.row_splits if isinstance(p, Ragged) else [0, len(p)] for p in parts]
    for key, own in zip(keys, cuts[1:], strict=True):
        if not np.array_equal(own, cuts[0]):
            raise InvalidArgumentError(
                f"SparseFeature {name!r}: {key!r} and {feature.value_key!r} must have "
                f"as many values, got {np.diff(own)} and {np.diff(cuts[0])}"
            )
    if isinstance(parts[0], Ragged):
        lengths = np.diff(cuts[0])
        columns.insert(1, np.repeat(np.arange(len(lengths)), lengths))
        shape.insert(0, len(lengths))
    values, places = columns[0], np.column_stack(columns[1:])
    if not feature.already_sorted:
        order = np.lexsort(places.T[::-1])
        values, places = values[order], places[order]
    return SparseTensor(places.reshape(-1, len(shape)), values, shape)


def _rank(feature: Any) -> int:
    if isinstance(feature, (VarLenFeature, SparseFeature)):
        return 0
    return 2 if isinstance(feature, RaggedFeature) else 1


def tensors_of(parsed: dict[str, Any], features: Any) -> dict[str, Any]:
    """The parsed values as TensorFlow gives them, in its order."""
    out: dict[str, Any] = {}
    for name in sorted(features, key=lambda name: (_rank(features[name]), name)):
        feature = features[name]
        if isinstance(feature, SparseFeature):
            out[name] = _sparse(name, feature, parsed)
            continue
        value = parsed[name]
        if isinstance(feature, VarLenFeature):
            out[name] = Listed(value)
        elif isinstance(value, Ragged):
            out[name] = RaggedTensor._of(value)
        else:
            out[name] = _tensor(value)
    return out
