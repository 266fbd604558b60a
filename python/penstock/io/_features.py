"""What to read from an Example."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock._dtypes import as_dtype, int32
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock.image._call import plain

_DTYPES = ("float32", "int64", "string")


class FixedLenFeature(NamedTuple):
    """Exactly `shape` values.

    >>> import penstock as ps
    >>> ps.io.FixedLenFeature([], ps.int64, default_value=0).shape
    []
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """Any number of values: an array for one record, `ps.Ragged` for a batch.

    >>> import penstock as ps
    >>> ps.io.VarLenFeature(ps.string).dtype
    penstock.string
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """Any number of `shape`; a batch is padded to the longest.

    >>> import penstock as ps
    >>> ps.io.FixedLenSequenceFeature([2], ps.float32, allow_missing=True).shape
    [2]
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class _RaggedFeature(NamedTuple):
    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = int32
    validate: bool = False


class RaggedFeature(_RaggedFeature):
    """Any number of values, of the feature `value_key`, cut into rows.

    Each of `partitions` makes rows of what the next one made, the outermost
    first, by the integers of another feature of the record. One record is then
    a `ps.Ragged`; `UniformRowLength` at the end is a dimension of the values.
    Partitions that do not fit the values are errors, with or without
    `validate`.

    >>> import penstock as ps
    >>> ps.io.RaggedFeature(ps.int64).dtype
    penstock.int64
    >>> record = ps.io.serialize_example({"v": [1, 2, 3], "n": [2, 0, 1]})
    >>> rows = ps.io.RaggedFeature(
    ...     ps.int64, "v", [ps.io.RaggedFeature.RowLengths("n")])
    >>> ps.io.parse_single_example(record, {"rows": rows})["rows"].to_list()
    [[1, 2], [], [3]]
    """

    class RowSplits(NamedTuple):
        """Where rows begin and end: 0, ..., the number of values."""

        key: str

    class RowLengths(NamedTuple):
        """The length of each row."""

        key: str

    class ValueRowIds(NamedTuple):
        """For each value its row; rising."""

        key: str

    class RowStarts(NamedTuple):
        """Where each row begins."""

        key: str

    class RowLimits(NamedTuple):
        """Where each row ends."""

        key: str

    class UniformRowLength(NamedTuple):
        """Rows of one length."""

        length: int


_PARTITIONS = {
    RaggedFeature.RowSplits: "row_splits",
    RaggedFeature.RowLengths: "row_lengths",
    RaggedFeature.ValueRowIds: "value_rowids",
    RaggedFeature.RowStarts: "row_starts",
    RaggedFeature.RowLimits: "row_limits",
    RaggedFeature.UniformRowLength: "uniform_row_length",
}


# Those of a batch that are ragged.
RAGGED = (VarLenFeature, RaggedFeature)
_KINDS = {
    FixedLenFeature: "fixed_len",
    VarLenFeature: "var_len",
    FixedLenSequenceFeature: "fixed_len_sequence",
    RaggedFeature: "ragged",
}


def check_features(op: str, features: Any) -> dict[str, Any]:
    if not isinstance(features, dict):
        raise ArgumentTypeError(
            f"{op}: features must be a dict of names and features, got "
            f"{type(features).__name__}"
        )
    for name, feature in features.items():
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{op}: a feature's name must be a str: {name!r}")
        if type(feature) not in _KINDS:
            kinds = ", ".join(k.__name__ for k in _KINDS)
            raise ArgumentTypeError(
                f"{op}: feature {name!r} must be one of {kinds}, got "
                f"{type(feature).__name__}"
            )
    return features


def attributes(op: str, features: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The features as attributes of a native operation."""
    out: dict[str, Any] = {}
    keys, kinds, dtypes = [], [], []
    for i, (name, feature) in enumerate(features.items()):
        dtype = as_dtype(feature.dtype)
        if dtype.name not in _DTYPES:
            raise InvalidArgumentError(
                f"{op}: feature {name!r} must be float32, int64 or string, got "
                f"{dtype.name}"
            )
        keys.append(name)
        kinds.append(_KINDS[type(feature)])
        dtypes.append(dtype.name)
        shape = getattr(feature, "shape", None)
        if shape is not None:
            out[f"{prefix}shape.{i}"] = _dims(op, name, shape)
        default = getattr(feature, "default_value", None)
        if default is not None:
            out[f"{prefix}default.{i}"] = as_array(op, name, default, dtype.dtype)
        if isinstance(feature, RaggedFeature):
            if feature.partitions:
                out[f"{prefix}partitions.{i}"] = _partitions(op, name, feature)
            keys[-1] = feature.value_key or name
        if isinstance(feature, FixedLenSequenceFeature):
            out[f"{prefix}allow_missing.{i}"] = bool(feature.allow_missing)
    out[f"{prefix}names"] = tuple(features)
    out[f"{prefix}keys"] = tuple(keys)
    out[f"{prefix}kinds"] = tuple(kinds)
    out[f"{prefix}dtypes"] = tuple(dtypes)
    # An empty list would have no type.
    return {k: v for k, v in out.items() if not (type(v) is tuple and not v)}


def _partitions(op: str, name: str, feature: RaggedFeature) -> tuple[str, ...]:
    out = []
    for partition in feature.partitions:
        kind = _PARTITIONS.get(type(partition))
        if kind is None:
            kinds = ", ".join(k.__name__ for k in _PARTITIONS)
            raise ArgumentTypeError(
                f"{op}: feature {name!r}: a partition must be one of {kinds}, got "
                f"{type(partition).__name__}"
            )
        out.append(f"{kind}={partition[0]}")
    return tuple(out)


def ragged_rank(feature: Any) -> int:
    """Ragged levels of one record's value."""
    n = len(feature.partitions) if isinstance(feature, RaggedFeature) else 0
    uniform = RaggedFeature.UniformRowLength
    while n > 0 and isinstance(feature.partitions[n - 1], uniform):
        n -= 1
    return n


def _dims(op: str, name: str, shape: Any) -> tuple[int, ...]:
    shape = plain(shape)
    if hasattr(shape, "as_list"):
        shape = tuple(shape.as_list())
    listed = shape if isinstance(shape, tuple) else (shape,)
    try:
        return tuple(int(d) for d in listed)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{op}: feature {name!r} must have a known shape, got {shape!r}"
        ) from None


def as_array(op: str, name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """A default as a value of `dtype`."""
    value = plain(value)
    if dtype == object:
        array = np.array(value, dtype=object)
        flat = [v.encode() if isinstance(v, str) else v for v in array.ravel()]
        if not all(isinstance(v, bytes) for v in flat):
            raise InvalidArgumentError(
                f"{op}: {name!r}: the default must be bytes or str, got {value!r}"
            )
        if array.ndim == 0:
            return flat[0]
        out = np.empty(len(flat), object)
        out[:] = flat
        return out.reshape(array.shape)
    try:
        return np.asarray(value).astype(dtype)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{op}: {name!r}: the default must be {dtype}, got {value!r}"
        ) from None
