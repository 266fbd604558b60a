"""Examples, tensors and CSV in bytes: native in traced functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from penstock._dtypes import DType, as_dtype
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._ops import native, traceable
from penstock._ragged import Ragged
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes
from penstock.image._call import plain
from penstock.io._features import (
    RAGGED,
    as_array,
    attributes,
    check_features,
    ragged_rank,
)


def _strings(value: Any) -> Any:
    """Lists and other sequences of strings as an array."""
    if isinstance(value, (list, tuple)):
        out = np.empty(len(value), object)
        out[:] = value
        return out
    return value


def _rank(op: str, name: str, value: Any) -> int:
    if isinstance(value, (str, bytes, bytearray)):
        return 0
    shape = getattr(value, "shape", None)
    if isinstance(value, TracedBytes) and shape is None:
        raise InvalidArgumentError(f"{op}: the rank of {name} is not known")
    if shape is None:
        raise ArgumentTypeError(
            f"{op}: {name} must be strings, got {type(value).__name__}"
        )
    return len(shape)


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _ragged(values: Any, *splits: Any) -> Any:
    if isinstance(values, (Traced, TracedBytes)):
        return TracedRagged(values, splits)
    return Ragged(values, splits)


def _taken(results: Iterator[Any], rank: int) -> Any:
    """The next value of `rank` ragged levels."""
    values = next(results)
    return _ragged(values, *(next(results) for _ in range(rank))) if rank else values


@traceable
def parse_single_example(serialized: Any, features: Any) -> Any:
    """One serialized Example as a dict of its features.

    Inside a pipeline it runs over a whole block of records at once, so it
    costs no more than `parse_example`.

    >>> import penstock as ps
    >>> record = ps.io.serialize_example({"x": [1.0, 2.0], "y": 3})
    >>> ps.io.parse_single_example(record, {
    ...     "x": ps.io.FixedLenFeature([2], ps.float32),
    ...     "y": ps.io.FixedLenFeature([], ps.int64)})
    {'x': array([1., 2.], dtype=float32), 'y': np.int64(3)}
    """
    op = "parse_single_example"
    features = check_features(op, features)
    if not features:
        return {}
    results = iter(
        _several(
            native("io.parse_single_example", serialized, **attributes(op, features))
        )
    )
    return {name: _taken(results, ragged_rank(f)) for name, f in features.items()}


@traceable
def parse_example(serialized: Any, features: Any) -> Any:
    """A batch of serialized Examples as a dict of batches.

    Features of any length come as `ps.Ragged`.

    >>> import penstock as ps
    >>> records = [ps.io.serialize_example({"ids": list(range(n))}) for n in (2, 1)]
    >>> ps.io.parse_example(records, {"ids": ps.io.VarLenFeature(ps.int64)})
    {'ids': Ragged(values=array([0, 1, 0]), row_splits=[0, 2, 3])}
    """
    op = "parse_example"
    features = check_features(op, features)
    serialized = _strings(serialized)
    if _rank(op, "serialized", serialized) == 0:
        return parse_single_example(serialized, features)
    if not features:
        return {}
    results = iter(
        _several(native("io.parse_example", serialized, **attributes(op, features)))
    )
    return {
        name: _taken(results, ragged_rank(f) + isinstance(f, RAGGED))
        for name, f in features.items()
    }


@traceable
def parse_single_sequence_example(
    serialized: Any, context_features: Any = None, sequence_features: Any = None
) -> Any:
    """One serialized SequenceExample: (context, sequences), two dicts.

    Of the sequences, `FixedLenSequenceFeature` is [steps, ...] and
    `VarLenFeature` a `ps.Ragged` of the steps. The partitions of a
    `RaggedFeature` are sequences too: each step is cut by the same step of them.

    >>> import penstock as ps
    >>> ps.io.parse_single_sequence_example(
    ...     b"", sequence_features={"s": ps.io.VarLenFeature(ps.int64)})[1]["s"]
    Ragged(values=array([], dtype=int64), row_splits=[0])
    """
    op = "parse_single_sequence_example"
    context = check_features(op, context_features or {})
    sequences = check_features(op, sequence_features or {})
    if not context and not sequences:
        return {}, {}
    results = iter(
        _several(
            native(
                "io.parse_single_sequence_example",
                serialized,
                **attributes(op, context, "context."),
                **attributes(op, sequences, "sequence."),
            )
        )
    )
    first = {name: _taken(results, ragged_rank(f)) for name, f in context.items()}
    second = {
        name: _taken(results, ragged_rank(f) + isinstance(f, RAGGED))
        for name, f in sequences.items()
    }
    return first, second


@traceable
def serialize_example(features: Any) -> Any:
    """A dict of numbers, strings and arrays of them as a serialized Example.

    >>> import penstock as ps
    >>> record = ps.io.serialize_example({"x": 1.5, "name": b"cat"})
    >>> ps.io.parse_single_example(record, {
    ...     "name": ps.io.FixedLenFeature([], ps.string)})
    {'name': b'cat'}
    """
    if not isinstance(features, dict):
        raise ArgumentTypeError(
            f"serialize_example: features must be a dict, got {type(features).__name__}"
        )
    for name in features:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"serialize_example: a feature's name must be a str: {name!r}"
            )
    if not features:
        return b""
    for name, value in features.items():
        if isinstance(value, Mapping):
            raise ArgumentTypeError(
                f"serialize_example: {name!r} must be numbers, strings or arrays of "
                "them, got a dict"
            )
    values = [_plain_array(v) for v in features.values()]
    return native("io.serialize_example", *values, names=tuple(features))


def _plain_array(value: Any) -> Any:
    if isinstance(value, (Traced, TracedBytes, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        if any(isinstance(v, (str, bytes)) for v in value):
            return _strings(value)
        if not value:
            return np.zeros(0, np.float32)
    return np.asarray(value)[()]


@traceable
def decode_raw(
    bytes: Any,
    dtype: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
) -> Any:
    """The numbers in bytes: [..., count] of a string or a batch of them.

    With `fixed_length` so many bytes of each: longer ones are cut, shorter
    ones padded with zeros.

    >>> import penstock as ps
    >>> ps.io.decode_raw(b"\\x01\\x00\\x02\\x00", ps.int16)
    array([1, 2], dtype=int16)
    """
    kind = as_dtype(dtype)
    if kind.name in ("string", "unknown"):
        raise InvalidArgumentError(
            f"decode_raw: dtype must be a number's, got {kind.name}"
        )
    length = plain(fixed_length)
    if length is not None and int(length) < 1:
        raise InvalidArgumentError(
            f"decode_raw: fixed_length must be >= 1, got {int(length)}"
        )
    return native(
        "io.decode_raw",
        _strings(bytes),
        dtype=kind.dtype,
        little_endian=bool(little_endian),
        fixed_length=None if length is None else int(length),
    )


@traceable
def serialize_tensor(tensor: Any) -> Any:
    """An array as a serialized TensorProto.

    >>> import numpy as np, penstock as ps
    >>> ps.io.parse_tensor(ps.io.serialize_tensor(np.arange(3)), ps.int64)
    array([0, 1, 2])
    """
    return native("io.serialize_tensor", _plain_array(tensor))


@traceable
def parse_tensor(serialized: Any, out_type: Any) -> Any:
    """The array in a serialized TensorProto; its dtype must be `out_type`.

    >>> import penstock as ps
    >>> ps.io.parse_tensor(ps.io.serialize_tensor([[1.5]]), ps.float64)
    array([[1.5]])
    """
    dtype = as_dtype(out_type)
    if dtype.name == "string":
        return native("io.parse_tensor", serialized, string=True)
    return native("io.parse_tensor", serialized, dtype=dtype.dtype)


def _csv_column(op: str, i: int, default: Any) -> tuple[str, Any]:
    """dtype and default of a column, as TensorFlow takes `record_defaults`."""
    if isinstance(default, (DType, np.dtype, type)) or hasattr(default, "_kind"):
        return as_dtype(getattr(default, "dtype", default)).name, None
    if isinstance(default, Traced):
        default = default._value
    if isinstance(default, (list, tuple)):
        if len(default) > 1:
            raise InvalidArgumentError(
                f"{op}: record_defaults[{i}] must be one value, got {default!r}"
            )
        if not default:
            return "float32", None
        default = default[0]
    if isinstance(default, np.ndarray):
        dtype = as_dtype(default.dtype)
        if default.size == 0:
            return dtype.name, None
        return dtype.name, as_array(op, f"column {i}", default.ravel()[0], dtype.dtype)
    if isinstance(default, np.generic):
        name = as_dtype(default.dtype).name
    elif isinstance(default, bool):
        name = "bool"
    elif isinstance(default, int):
        name = "int32"
    elif isinstance(default, float):
        name = "float32"
    else:
        name = "string"
    dtype = as_dtype(name)
    return name, as_array(op, f"column {i}", default, dtype.dtype)


@traceable
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
) -> list[Any]:
    """The fields of CSV records, one value per column.

    A column's default gives its dtype and what an empty field means (ints are
    int32, floats float32); a dtype alone means that it must not be empty.

    >>> import penstock as ps
    >>> ps.io.decode_csv("7,,cat", [0, 1.5, ""])
    [np.int32(7), np.float32(1.5), b'cat']
    """
    op = "decode_csv"
    records = _strings(records)
    if not isinstance(record_defaults, (list, tuple)):
        raise ArgumentTypeError(
            f"{op}: record_defaults must be a list, got "
            f"{type(record_defaults).__name__}"
        )
    columns = [_csv_column(op, i, d) for i, d in enumerate(record_defaults)]
    if not columns:
        raise InvalidArgumentError(f"{op}: record_defaults must not be empty")
    rank = _rank(op, "records", records)
    if rank > 1:
        raise InvalidArgumentError(f"{op}: records must have rank 0 or 1, got {rank}")
    named: dict[str, Any] = {
        f"default.{i}": value
        for i, (_, value) in enumerate(columns)
        if value is not None
    }
    if select_cols is not None:
        named["select_cols"] = tuple(int(c) for c in plain(select_cols))
    results = native(
        "io.decode_csv" if rank == 0 else "io.decode_csv_batch",
        records,
        dtypes=tuple(name for name, _ in columns),
        field_delim=str(field_delim),
        use_quote_delim=bool(use_quote_delim),
        na_value=str(na_value),
        **named,
    )
    return list(_several(results))
