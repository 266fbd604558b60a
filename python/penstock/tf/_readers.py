"""The datasets of files: TFRecordDataset, TextLineDataset and their kin.

Files are opened when the dataset is iterated, each time anew, as TensorFlow does:
one that was written again in between gives its new records, and one that is
missing is an error of the iterator. So the engine makes no index of them, which it
would do when the graph is built.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._dataset import Dataset as Engine
from penstock._options import AUTOTUNE
from penstock.tf._dataset import Dataset
from penstock.tf._options import Options
from penstock.tf._sources import paths


class _Reader(Dataset):
    """A dataset that is made by its class."""

    __slots__ = ()

    def _init(self, filenames: Any, parallel: Any, read: Any) -> None:
        """`read` makes the engine's dataset of file names."""
        files = paths(filenames)
        self._options = Options()
        self._ragged = self._endless = False
        self._running = None
        if isinstance(files, list) and not files:
            self._penstock_value = Engine.from_tensor_slices(np.empty(0, object))
            return
        cycle = AUTOTUNE if parallel is None else int(parallel)
        names = files if isinstance(files, Engine) else _names(files)
        if cycle == AUTOTUNE or cycle <= 1:
            self._penstock_value = read(names)
            return
        if isinstance(names, list):
            names = Engine.from_list(names)
        # As tf.data: so many files take turns.
        self._penstock_value = names.interleave(
            read, cycle_length=cycle, num_parallel_calls=cycle
        )


def _names(files: Any) -> Any:
    """The files that names and patterns stand for.

    A pattern without any is a dataset of it, so that only an iterator fails.
    """
    if not isinstance(files, list):
        files = [files]
    found: list[Any] = []
    matches = True
    for file in files:
        if not isinstance(file, (str, bytes, os.PathLike)):
            raise TypeError(f"filenames must be strings, got {file!r}")
        text = file.decode() if isinstance(file, bytes) else str(file)
        is_pattern = bool(set("*?[") & set(text))
        matched = list(Engine.list_files(text)) if is_pattern else [text]
        matches = matches and bool(matched)
        found.extend(matched or [text])
    return found if matches else Engine.from_list(found)


def _read_tfrecord(file: Any) -> Any:
    return Engine.tfrecord(file)


def _read_lines(file: Any) -> Any:
    return Engine.text_lines(file)


class _Records(_Reader):
    """A dataset of files that say themselves where their records end."""

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        read = self._read(compression_type or None, name)
        self._init(filenames, num_parallel_reads, read)

    @staticmethod
    def _read(compression: Any, name: str | None) -> Callable[[Any], Any]:
        """How files are read: a function that can be traced."""
        raise NotImplementedError


class TFRecordDataset(_Records):
    """The records of TFRecord files: names, a list, a dataset or a pattern.

    >>> import penstock.tf as tf, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     with tf.io.TFRecordWriter(where + "/a.tfrecord") as writer:
    ...         writer.write(b"one")
    ...     list(tf.data.TFRecordDataset(where + "/*.tfrecord").as_numpy_iterator())
    [b'one']
    """

    __slots__ = ()
    _penstock_reader = staticmethod(_read_tfrecord)

    @classmethod
    def __penstock_sources__(cls) -> Any:
        from penstock.tf import _template

        return _template.Reader(cls, _template.tfrecords)

    @staticmethod
    def _read(compression: Any, name: str | None) -> Callable[[Any], Any]:
        return lambda files: Engine.tfrecord(files, compression, index=False, name=name)


class TextLineDataset(_Records):
    """The lines of text files, without their ends.

    >>> import penstock.tf as tf, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     _ = pathlib.Path(where, "a.txt").write_text("to\\nbe\\n")
    ...     list(tf.data.TextLineDataset(where + "/a.txt").as_numpy_iterator())
    [b'to', b'be']
    """

    __slots__ = ()
    _penstock_reader = staticmethod(_read_lines)

    @classmethod
    def __penstock_sources__(cls) -> Any:
        from penstock.tf import _template

        return _template.Reader(cls, _template.lines)

    @staticmethod
    def _read(compression: Any, name: str | None) -> Callable[[Any], Any]:
        return lambda files: Engine.text_lines(files, compression, name=name)


class FixedLengthRecordDataset(_Reader):
    """Records of a fixed number of bytes, between a header and a footer.

    >>> import penstock.tf as tf, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     _ = pathlib.Path(where, "a").write_bytes(b"HHaabbF")
    ...     ds = tf.data.FixedLengthRecordDataset(where + "/a", 2, 2, 1)
    ...     list(ds.as_numpy_iterator())
    [b'aa', b'bb']
    """

    __slots__ = ()

    @classmethod
    def __penstock_sources__(cls) -> Any:
        from penstock.tf import _template

        return _template.Reader(cls, _template.fixed_length)

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._init(
            filenames,
            num_parallel_reads,
            lambda files: Engine.fixed_length_records(
                files,
                int(record_bytes),
                int(header_bytes or 0),
                int(footer_bytes or 0),
                compression=compression_type or None,
                index=False,
                name=name,
            ),
        )
