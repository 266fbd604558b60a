"""Whole files, and writing TFRecord."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _arguments as check
from penstock import _penstock
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._ops import native, traceable
from penstock._trace_value import TracedBytes

if TYPE_CHECKING:
    from penstock._dataset import Dataset


@traceable
def read_file(path: Any) -> Any:
    """The bytes of a file; `path` is a str, bytes or a path.

    In a traced function it runs natively, many files at once.

    >>> import penstock as ps, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     ps.io.write_file(file.name, b"hello")
    ...     ps.io.read_file(file.name)
    b'hello'
    """
    if not isinstance(path, TracedBytes):
        path = os.fsencode(check.path("read_file", "path", path))
    return native("io.read_file", path)


def write_file(filename: Any, contents: Any) -> None:
    """Writes a file, and its directories; it appears complete, or not at all.

    >>> import penstock as ps, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     ps.io.write_file(where + "/a/b.txt", "text")
    ...     ps.io.read_file(where + "/a/b.txt")
    b'text'
    """
    path = check.path("write_file", "filename", filename)
    if path.lower().startswith(("http://", "https://")):
        raise InvalidArgumentError(
            "write_file: filename must be a file of this machine, got an address"
        )
    if isinstance(contents, str):
        contents = contents.encode()
    if not isinstance(contents, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(
            f"write_file: contents must be bytes or str, got {type(contents).__name__}"
        )
    directory = os.path.dirname(path) or "."
    os.makedirs(directory, exist_ok=True)
    number, temporary = tempfile.mkstemp(dir=directory, prefix=".penstock-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(contents)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def matching_files(pattern: Any) -> list[bytes]:
    """The files that a pattern, or one of several, matches; sorted.

    >>> import penstock as ps, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     ps.io.write_file(where + "/a.txt", b"")
    ...     [n.rsplit(b"/")[-1] for n in ps.io.matching_files(where + "/*.txt")]
    [b'a.txt']
    """
    patterns = check.paths("matching_files", "pattern", pattern)
    return [os.fsencode(name) for name in _penstock.matching_files(patterns)]


def class_names(root: Any) -> list[str]:
    """The classes of `Dataset.image_folder(root)`, in the order of their labels.

    >>> import os, penstock as ps, tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("dog", "cat"):
    ...         os.mkdir(os.path.join(root, name))
    ...     ps.io.class_names(root)
    ['cat', 'dog']
    """
    return _penstock.class_names(check.path("class_names", "root", root))


def _compression(op: str, value: Any) -> str:
    return "" if value is None else check.text(op, "compression", value)


def _buffer(record: Any) -> Any:
    """The bytes of a buffer of bytes; anything else as it is, to be refused."""
    try:
        view = memoryview(record)
    except TypeError:
        return record
    # Of other items, as a NumPy number is one, somebody forgot to serialize them.
    return view.tobytes() if view.format in ("B", "b", "c") else record


class TFRecordWriter:
    """Writes one TFRecord file, which appears complete when it is closed.

    `compression` is "GZIP", "ZLIB" or "ZSTD". A plain file gets an index beside
    it (hidden), so that it is read in parallel without a pass over it.

    >>> import penstock as ps, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     with ps.io.TFRecordWriter(where + "/x") as writer:
    ...         writer.write(b"record")
    ...     ps.Dataset.tfrecord(where + "/x").to_list()
    [b'record']
    """

    __slots__ = ("_native", "path")

    def __init__(
        self,
        path: Any,
        compression: str | None = None,
        *,
        compression_level: int = -1,
        index: bool = True,
    ) -> None:
        op = "TFRecordWriter"
        self.path = check.path(op, "path", path)
        self._native: Any = _penstock.TFRecordWriter(
            self.path,
            _compression(op, compression),
            check.integer(op, "compression_level", compression_level),
            check.boolean(op, "index", index),
        )

    def write(self, record: Any) -> None:
        """Appends a record: bytes, a str, or a buffer of bytes (a memoryview)."""
        if self._native is None:
            raise ValueError(f"TFRecordWriter: {self.path} is closed")
        if not isinstance(record, (bytes, str, bytearray)):
            record = _buffer(record)
            if not isinstance(record, (bytes, np.ndarray)):
                raise ArgumentTypeError(
                    "TFRecordWriter: a record must be bytes or str, got "
                    f"{type(record).__name__}"
                )
        self._native.write(record)

    def close(self) -> None:
        """Finishes the file."""
        if self._native is not None:
            writer, self._native = self._native, None
            writer.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._native = None  # what was written goes away


def write_tfrecord(
    dataset: Dataset,
    path: Any,
    shards: int = 1,
    compression: str | None = None,
    *,
    compression_level: int = -1,
    index: bool = True,
    progress: Callable[[int, int], Any] | None = None,
) -> list[str]:
    """Writes a dataset of strings; gives the names of the files.

    Element i goes to shard ``i % shards``, named ``path-00000-of-00004``.
    Framing and compressing run in parallel; ``progress(records, bytes)`` is
    called now and then. The files appear when all is written, or none does.

    >>> import penstock as ps, tempfile
    >>> ds = ps.Dataset.from_list([b"a", b"b", b"c"])
    >>> with tempfile.TemporaryDirectory() as where:
    ...     names = ps.io.write_tfrecord(ds, where + "/x", shards=2)
    ...     ps.Dataset.tfrecord(names).to_list()
    [b'a', b'c', b'b']
    """
    from penstock._dataset import Dataset

    op = "write_tfrecord"
    if not isinstance(dataset, Dataset):
        raise ArgumentTypeError(
            f"{op}: dataset must be a Dataset, got {type(dataset).__name__}"
        )
    if progress is not None and not callable(progress):
        raise ArgumentTypeError(f"{op}: progress must be callable, got {progress!r}")
    return _penstock.write_tfrecord(
        dataset._native,
        check.path(op, "path", path),
        check.integer(op, "shards", shards),
        _compression(op, compression),
        check.integer(op, "compression_level", compression_level),
        check.boolean(op, "index", index),
        progress,
    )
