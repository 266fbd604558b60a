"""SequenceExamples: one record, or a batch of them, as TensorFlow parses them.

One record is parsed natively, unless a feature has partitions. The contexts of a
batch are parsed as those of Examples, which they are on the wire; its sequences
record by record, as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import io as engine
from penstock._errors import Error, InvalidArgumentError
from penstock._ragged import Ragged
from penstock.io import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)
from penstock.tf._apply import eager_only
from penstock.tf._dtypes import as_dtype, int64
from penstock.tf._parsed import tensors_of
from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._values import wrap

_CONTEXT = (FixedLenFeature, VarLenFeature, RaggedFeature)
_SEQUENCE = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)


def checked(context: Any, sequences: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two dicts of features, if TensorFlow would take them."""
    if not context and not sequences:
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but "
            "at least one should have values."
        )
    for features, kinds in ((context, _CONTEXT), (sequences, _SEQUENCE)):
        for name, feature in (features or {}).items():
            if not isinstance(feature, kinds):
                raise ValueError(
                    f"Unsupported {type(feature).__name__} {feature} for key {name!r}"
                )
            defaults = getattr(feature, "default_value", None)
            if features is sequences and defaults is not None:
                raise ValueError(
                    f"Value feature_list.dense_defaults[{name}] must be None"
                )
    return context or {}, sequences or {}


def _has_partitions(features: dict[str, Any]) -> bool:
    return any(getattr(f, "partitions", ()) for f in features.values())


def parse_single(serialized: Any, context: Any, sequences: Any) -> Any:
    """(context, sequences) of one record."""
    context, sequences = checked(context, sequences)
    if not _has_partitions(context) and not _has_partitions(sequences):
        first, second = engine.parse_single_sequence_example(
            serialized, context, sequences
        )
        return tensors_of(first, context), tensors_of(second, sequences)
    eager_only("partitions of a SequenceExample's features", serialized)
    first = engine.parse_single_example(serialized, context)
    rows = _steps(serialized, sequences)
    second = {}
    for name, feature in sequences.items():
        if isinstance(feature, RaggedFeature):
            made = _partitioned(feature, name, [rows])
            second[name] = RaggedTensor._of(
                Ragged(made.values, made.nested_row_splits[1:])
            )
        else:
            second.update(tensors_of(rows, {name: feature}))
    return tensors_of(first, context), second


def lengths_of(parsed: dict[str, Any], sequences: Any) -> dict[str, Any]:
    """How many steps those have that a batch would pad."""
    return {
        name: wrap(np.int64(len(parsed[name])))
        for name, feature in (sequences or {}).items()
        if isinstance(feature, FixedLenSequenceFeature)
    }


def parse_batch(records: Any, context: Any, sequences: Any) -> Any:
    """(contexts, sequences, lengths of those that are padded) of a batch."""
    context, sequences = checked(context, sequences)
    eager_only("parse_sequence_example of a batch", records)
    first = tensors_of(engine.parse_example(records, context), context)
    rows = []
    for i, record in enumerate(records.tolist() if sequences else []):
        try:
            rows.append(_steps(record, sequences))
        except Error as error:
            raise type(error)(
                f"parse_sequence_example: record {i} of the batch: {error}"
            ) from None
    second: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for name, feature in sequences.items():
        if isinstance(feature, FixedLenSequenceFeature):
            steps = [row[name] for row in rows]
            lengths[name] = wrap(np.array([len(s) for s in steps], np.int64))
            second[name] = wrap(_padded(steps, feature))
        elif isinstance(feature, VarLenFeature):
            second[name] = _sparse(_stacked(rows, name, feature.dtype))
        else:
            made = _partitioned(feature, name, rows)
            second[name] = RaggedTensor._of(made)
    return first, second, lengths


def _key(name: str, part: int) -> str:
    return f"{name}/{part}"


def _steps(record: Any, sequences: dict[str, Any]) -> dict[str, Any]:
    """The features of a record; of a partitioned one, those that it is made of."""
    wanted: dict[str, Any] = {}
    for name, feature in sequences.items():
        if not isinstance(feature, RaggedFeature):
            wanted[name] = feature
            continue
        wanted[_key(name, 0)] = RaggedFeature(feature.dtype, feature.value_key or name)
        for i, partition in enumerate(feature.partitions, 1):
            if not isinstance(partition, RaggedFeature.UniformRowLength):
                wanted[_key(name, i)] = RaggedFeature(int64, partition.key)
    if not wanted:
        return {}
    _, steps = engine.parse_single_sequence_example(record, {}, wanted)
    return dict(steps)


def _padded(steps: list[Any], feature: Any) -> Any:
    """Sequences of different length as one array."""
    kind = as_dtype(feature.dtype).dtype
    longest = max(map(len, steps), default=0)
    inner = tuple(int(d) for d in feature.shape)
    fill = b"" if kind == object else 0
    out = np.full((len(steps), longest, *inner), fill, kind)
    for row, own in zip(out, steps, strict=True):
        row[: len(own)] = own
    return out


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _ends(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _stacked(rows: list[dict[str, Any]], name: str, dtype: Any) -> Ragged:
    """[record][step][value]."""
    own: list[Ragged] = [row[name] for row in rows]
    values = _joined([r.values for r in own], as_dtype(dtype).dtype)
    lengths = _joined([np.diff(r.row_splits) for r in own], np.int64)
    return Ragged(values, (_ends([len(r) for r in own]), _ends(lengths)))


def _sparse(ragged: Ragged) -> SparseTensor:
    records, steps = (np.diff(s) for s in ragged.nested_row_splits)
    owner = np.repeat(np.arange(len(records)), records)
    step = np.arange(len(owner)) - np.repeat(ragged.row_splits[:-1], records)
    place = np.arange(len(ragged.values)) - np.repeat(
        ragged.nested_row_splits[1][:-1], steps
    )
    places = np.column_stack([np.repeat(owner, steps), np.repeat(step, steps), place])
    shape = [len(records), records.max(initial=0), steps.max(initial=0)]
    return SparseTensor(places.reshape(-1, 3), ragged.values, shape)


# The lengths of rows over `count` items, of the integers of a partition.
_LENGTHS: dict[Any, Callable[[Any, int], Any]] = {
    RaggedFeature.RowSplits: lambda own, count: np.diff(own),
    RaggedFeature.RowLengths: lambda own, count: own,
    RaggedFeature.ValueRowIds: lambda own, count: np.bincount(own),
    RaggedFeature.RowStarts: lambda own, count: np.diff(np.append(own, count)),
    RaggedFeature.RowLimits: lambda own, count: np.diff(np.insert(own, 0, 0)),
}


def _partitioned(feature: RaggedFeature, name: str, rows: Any) -> Ragged:
    """[record][step] of the rows that the integers of the step cut."""
    partitions = list(feature.partitions)
    inner: list[int] = []  # dimensions of the values
    while partitions and isinstance(partitions[-1], RaggedFeature.UniformRowLength):
        inner.insert(0, int(partitions.pop().length))
    levels: list[list[Any]] = [[] for _ in partitions]
    tops: list[int] = []
    values = _stacked(rows, _key(name, 0), feature.dtype)
    width = int(np.prod(inner))
    for row in rows:
        for step in range(len(row[_key(name, 0)])):
            own = row[_key(name, 0)][step]
            count, rest = divmod(len(own), width)
            if rest:
                raise InvalidArgumentError(
                    f"{name!r}: step {step} has {len(own)} values, which is no "
                    f"multiple of {width}"
                )
            for i in reversed(range(len(partitions))):
                lengths = _cut(partitions[i], name, row, i, step, count)
                levels[i].append(lengths)
                count = len(lengths)
            tops.append(count)
    splits = [_ends(_joined(level, np.int64)) for level in levels]
    records = values.row_splits
    flat = values.values.reshape(-1, *inner)
    return Ragged(flat, (records, _ends(tops), *splits))


def _cut(
    partition: Any, name: str, row: dict[str, Any], i: int, step: int, count: int
) -> Any:
    """The lengths of rows over the `count` items of a step."""
    if isinstance(partition, RaggedFeature.UniformRowLength):
        size = int(partition.length)
        lengths = np.full(count // size, size, np.int64)
    else:
        found = row[_key(name, i + 1)]
        own = found[step] if step < len(found) else np.zeros(0, np.int64)
        lengths = _LENGTHS[type(partition)](np.asarray(own), count)
    if lengths.sum() != count or lengths.min(initial=0) < 0:
        raise InvalidArgumentError(
            f"{name!r}: {partition} of step {step} makes rows of "
            f"{lengths.tolist()} items, which are not the {count} there are"
        )
    return lengths
