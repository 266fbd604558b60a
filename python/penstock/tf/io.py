"""`tf.io`: files, Examples and records, on `penstock.io`.

Native inside a function that is traced.

>>> import penstock.tf as tf
>>> record = tf.io.serialize_tensor(tf.constant([1, 2]))
>>> tf.io.parse_tensor(record, tf.int32).numpy()
array([1, 2], dtype=int32)
"""

from __future__ import annotations

import base64
import re
import weakref
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import io as engine
from penstock._errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from penstock._trace_value import Traced, TracedBytes
from penstock.io import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)
from penstock.tf import _missing, _sequences, gfile
from penstock.tf._apply import each_string, traceable
from penstock.tf._dtypes import as_dtype, int64, string
from penstock.tf._json_example import decode_json_example
from penstock.tf._parsed import SparseFeature, engine_features, tensors_of
from penstock.tf._ragged import SparseTensor
from penstock.tf._values import convert_to_tensor, has_traced, wrap
from penstock.tf.image import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)

if TYPE_CHECKING:
    from typing_extensions import Self


def _given(value: Any) -> Any:
    """Strings as the engine takes them."""
    if isinstance(value, (TracedBytes, Traced)):
        return value
    tensor = convert_to_tensor(value)
    return bytes(tensor) if isinstance(tensor, bytes) else np.asarray(tensor)


def _made(value: Any) -> Any:
    return value if has_traced(value) else wrap(value)


@traceable
def read_file(filename: Any, name: str | None = None) -> Any:
    """The bytes of a file.

    >>> import penstock.tf as tf, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     tf.io.write_file(file.name, "hello")
    ...     tf.io.read_file(file.name).numpy()
    b'hello'
    """
    return _made(engine.read_file(_given(filename)))


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Writes a file, and its directories."""
    engine.write_file(_given(filename), _given(contents))


def matching_files(pattern: Any, name: str | None = None) -> Any:
    """The files that match a pattern, sorted."""
    given = _given(pattern)
    patterns = [bytes(p) for p in given] if isinstance(given, np.ndarray) else given
    return wrap(np.array(engine.matching_files(patterns), dtype=object))


@traceable
def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    r"""The numbers in bytes.

    >>> import penstock.tf as tf
    >>> tf.io.decode_raw(b"\x01\x02", tf.uint8).numpy()
    array([1, 2], dtype=uint8)
    """
    length = None if fixed_length is None else int(fixed_length)
    kind = as_dtype(out_type)
    return _made(engine.decode_raw(_given(input_bytes), kind, little_endian, length))


@traceable
def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> Any:
    """One serialized Example as a dict of its features.

    A `VarLenFeature` gives a sparse tensor, which `tf.sparse.to_dense` makes an
    array of, natively as well.

    >>> import penstock.tf as tf
    >>> record = tf.train.Example(features=tf.train.Features(feature={
    ...     "x": tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))}))
    >>> tf.io.parse_single_example(record.SerializeToString(), {
    ...     "x": tf.io.FixedLenFeature([], tf.int64)})["x"].numpy()
    np.int64(3)
    """
    parsed = engine.parse_single_example(_given(serialized), engine_features(features))
    return tensors_of(parsed, features)


@traceable
def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> Any:
    """A batch of serialized Examples as a dict of batches."""
    parsed = engine.parse_example(_given(serialized), engine_features(features))
    return tensors_of(parsed, features)


@traceable
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """One serialized SequenceExample: (context, sequences)."""
    given = _given(serialized)
    if not isinstance(given, (bytes, TracedBytes)):
        raise ValueError("Input serialized must be a scalar")
    return _sequences.parse_single(given, context_features, sequence_features)


@traceable
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> Any:
    """A batch of SequenceExamples: (contexts, sequences, lengths).

    A `FixedLenSequenceFeature` is padded to the longest, and has lengths; a
    `VarLenFeature` is a sparse tensor of [record, step, value].

    >>> import penstock.tf as tf
    >>> def record(steps):
    ...     return tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(
    ...         feature_list={"s": tf.train.FeatureList(feature=[
    ...             tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
    ...             for i in range(steps)])})).SerializeToString()
    >>> _, sequences, lengths = tf.io.parse_sequence_example(
    ...     [record(3), record(1)], sequence_features={
    ...         "s": tf.io.FixedLenSequenceFeature([], tf.int64)})
    >>> sequences["s"].numpy().tolist(), lengths["s"].numpy().tolist()
    ([[0, 1, 2], [0, 0, 0]], [3, 1])
    """
    given = _given(serialized)
    if isinstance(given, (bytes, TracedBytes)) and not getattr(given, "shape", ()):
        parsed = _sequences.parse_single(given, context_features, sequence_features)
        return (*parsed, _sequences.lengths_of(parsed[1], sequence_features))
    return _sequences.parse_batch(given, context_features, sequence_features)


@traceable
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """The tensor in a serialized TensorProto."""
    return _made(engine.parse_tensor(_given(serialized), as_dtype(out_type)))


@traceable
def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """A tensor as a serialized TensorProto."""
    return _made(engine.serialize_tensor(_given(tensor)))


@traceable
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[Any]:
    """The fields of CSV records.

    >>> import penstock.tf as tf
    >>> [x.numpy() for x in tf.io.decode_csv("7,,cat", [0, 1.5, ""])]
    [np.int32(7), np.float32(1.5), b'cat']
    """
    defaults = [_default(d) for d in record_defaults]
    made = engine.decode_csv(
        _given(records), defaults, field_delim, use_quote_delim, na_value, select_cols
    )
    return [_made(value) for value in made]


def _default(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    return bytes(value) if isinstance(value, bytes) else value


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    """Bytes as web-safe base64, value by value.

    >>> import penstock.tf as tf
    >>> tf.io.encode_base64(["hi", "you"]).numpy().tolist()
    [b'aGk', b'eW91']
    """

    def encoded(value: bytes) -> bytes:
        text = base64.urlsafe_b64encode(value)
        return text if pad else text.rstrip(b"=")

    return each_string(encoded, object, input)


def decode_base64(input: Any, name: str | None = None) -> Any:
    """Bytes of web-safe base64, value by value."""

    def decoded(text: bytes) -> bytes:
        if not _WEB_SAFE.fullmatch(text):
            raise InvalidArgumentError(
                f"decode_base64: input must be web-safe base64, got {text[:80]!r}"
            )
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))

    return each_string(decoded, object, input)


def decode_compressed(
    bytes: Any, compression_type: str = "", name: str | None = None
) -> Any:
    """What "GZIP" or "ZLIB" compressed, value by value."""
    window = {"": 0, "GZIP": 47, "ZLIB": 15}.get(compression_type)
    if window is None:
        raise InvalidArgumentError(
            f"decode_compressed: compression_type must be '', GZIP or ZLIB, got "
            f"{compression_type!r}"
        )

    def inflated(data: Any) -> Any:
        try:
            return zlib.decompress(data, window) if window else data
        except zlib.error as error:
            raise DataLossError(f"decode_compressed: {error}") from None

    return each_string(inflated, object, bytes)


_WEB_SAFE = re.compile(rb"(?:[-\w]{4})*(?:[-\w]{2}(?:==)?|[-\w]{3}=?)?")


def serialize_sparse(sp_input: Any, out_type: Any = string, name: Any = None) -> Any:
    """A sparse tensor as three strings: its indices, values and shape."""
    out = np.empty(3, object)
    parts = sp_input.indices, sp_input.values, sp_input.dense_shape
    out[:] = [bytes(serialize_tensor(part)) for part in parts]
    return wrap(out)


def serialize_many_sparse(
    sp_input: Any, out_type: Any = string, name: Any = None
) -> Any:
    """The rows of a sparse tensor, each as three strings."""
    places, values = np.asarray(sp_input.indices), np.asarray(sp_input.values)
    shape = np.asarray(sp_input.dense_shape)
    rows = []
    for i in range(int(shape[0])):
        own = places[:, 0] == i
        row = SparseTensor(places[own, 1:], wrap(values[own]), shape[1:])
        rows.append(np.asarray(serialize_sparse(row)))
    return wrap(np.stack(rows) if rows else np.empty((0, 3), object))


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: Any = None, name: Any = None
) -> SparseTensor:
    """Rows of three strings, as one sparse tensor of a dimension more.

    >>> import penstock.tf as tf
    >>> rows = tf.io.serialize_many_sparse(tf.sparse.from_dense([[0, 5], [6, 0]]))
    >>> tf.sparse.to_dense(tf.io.deserialize_many_sparse(rows, tf.int32)).numpy()
    array([[0, 5],
           [6, 0]], dtype=int32)
    """
    kinds = int64, as_dtype(dtype), int64
    places, values, shapes = [], [], []
    for i, row in enumerate(np.asarray(_given(serialized_sparse))):
        own, held, shape = (
            np.asarray(parse_tensor(part, kind))
            for part, kind in zip(row, kinds, strict=True)
        )
        places.append(np.column_stack([np.full(len(own), i), own]))
        values.append(held)
        shapes.append(shape)
    sizes = [len(shapes), *np.max(shapes, axis=0)]
    return SparseTensor(np.concatenate(places), wrap(np.concatenate(values)), sizes)


class TFRecordOptions:
    """How a `TFRecordWriter` compresses: "GZIP", "ZLIB" or nothing."""

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: Any = None,
        input_buffer_size: Any = None,
        output_buffer_size: Any = None,
        window_bits: Any = None,
        compression_level: Any = None,
        compression_method: Any = None,
        mem_level: Any = None,
        compression_strategy: Any = None,
    ) -> None:
        self.compression_type = compression_type or ""
        self.compression_level = compression_level


class TFRecordWriter:
    """Writes one TFRecord file, which appears when it is closed.

    A writer that nobody closes is closed when it is dropped, or at exit.

    >>> import penstock.tf as tf, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     with tf.io.TFRecordWriter(where + "/x") as writer:
    ...         writer.write(b"record")
    ...     list(tf.data.TFRecordDataset(where + "/x").as_numpy_iterator())
    [b'record']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        level = options.compression_level
        self._writer = engine.TFRecordWriter(
            _given(path),
            options.compression_type or None,
            compression_level=-1 if level is None else int(level),
        )
        self._dropped = weakref.finalize(self, self._writer.close)

    def write(self, record: Any) -> None:
        """Appends a record."""
        if not self._dropped.alive:
            raise FailedPreconditionError("Writer is closed.")
        self._writer.write(_given(record))

    def flush(self) -> None:
        """Nothing: the file appears when it is closed."""

    def close(self) -> None:
        """Finishes the file."""
        self._dropped.detach()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._dropped.detach()
        self._writer.__exit__(*error)


def __getattr__(name: str) -> Any:
    return _missing.resolve("io", name)


__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "decode_webp",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "write_file",
]
