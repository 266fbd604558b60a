"""Where `penstock convert` reads from: records that can be read from any number.

A `Source` is planned once, in one pass over the data, and sent to the workers:
it holds names and, for text, the offset of every 256th record, never data.
"""

from __future__ import annotations

import base64
import binascii
import csv
import gzip
import hashlib
import itertools
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from penstock.cli import _formats
from penstock.cli._inspect import image_classes, open_binary, split_name
from penstock.cli._output import UsageError

Record = dict[str, Any]
_ANCHOR = 256


class BadRecord(Exception):
    """A record that cannot be read: file, number, offset and why."""


class RawRecord(dict[str, Any]):
    """A record of a TFRecord file, in `raw`; what it holds is not looked at."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self.raw = raw


def _text_or_bytes(text: str) -> str | bytes:
    """Text that was decoded with surrogates where it is not UTF-8."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


class Source:
    """Records of one kind of file, in a fixed order."""

    kind = ""

    def __init__(self, files: list[str]) -> None:
        self.files = files
        self.count = 0
        self.bytes = 0

    def records(self, first: int, count: int) -> Iterator[Record | BadRecord]:
        """Records [first, first + count); a bad one in its place."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Of the files as they are now: their names, sizes and times."""
        digest = hashlib.sha256(self.kind.encode())
        for name in self.files:
            info = os.stat(name)
            digest.update(os.fsencode(name))
            digest.update(f"\0{info.st_size}\0{info.st_mtime_ns}\0".encode())
        return digest.hexdigest()


class FolderSource(Source):
    """Images in a folder for each class."""

    kind = "folder"

    def __init__(self, root: str) -> None:
        classes = image_classes(root)
        self._labels = {name: i for i, name in enumerate(classes)}
        self._root = root
        self._items = [(f, name) for name, group in classes.items() for f in group]
        super().__init__([f for f, _ in self._items])
        if not self._items:
            raise UsageError(f"{root}: holds no images")
        self.count = len(self._items)
        self.bytes = sum(os.path.getsize(f) for f in self.files)

    def records(self, first: int, count: int) -> Iterator[Record | BadRecord]:
        for path, name in self._items[first : first + count]:
            with open(path, "rb") as file:
                data = file.read()
            size = _formats.image_size(data)
            if size is None:
                yield BadRecord(f"{path}: not an image, or its header is damaged")
                continue
            yield {
                "image/encoded": data,
                "image/format": _formats.image_type(data),
                "image/height": size[0],
                "image/width": size[1],
                "image/class/label": self._labels[name],
                "image/class/text": _text_or_bytes(name),
                "image/filename": _text_or_bytes(os.path.relpath(path, self._root)),
            }


class _Anchored(Source):
    """Records of streams, with the offset of every 256th."""

    def __init__(self, files: list[str]) -> None:
        super().__init__(files)
        # (file, number of the record, its offset in the stream)
        self._anchors: list[tuple[int, int, int]] = []
        for number, name in enumerate(files):
            self.bytes += os.path.getsize(name)
            try:
                self._plan(number, name)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise UsageError(f"{name}: damaged gzip: {error}") from error

    def _plan(self, number: int, name: str) -> None:
        with open_binary(name) as stream:
            at_start = True
            for offset, _ in self._split(stream, name):
                if at_start or self.count % _ANCHOR == 0:
                    self._anchors.append((number, self.count, offset))
                    at_start = False
                self.count += 1

    def _split(self, stream: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
        """(offset, raw record) from where the stream stands."""
        raise NotImplementedError

    def _parse(self, raw: Any, place: str) -> Record | BadRecord:
        raise NotImplementedError

    def records(self, first: int, count: int) -> Iterator[Record | BadRecord]:
        end = first + count
        ends = [a[1] for a in self._anchors[1:]] + [self.count]
        for (file, number, offset), stop in zip(self._anchors, ends):
            if stop <= first or number >= end:
                continue
            name = self.files[file]
            with open_binary(name) as stream:
                stream.seek(offset)
                rows = itertools.islice(self._split(stream, name), stop - number)
                for n, (at, raw) in enumerate(rows, number):
                    if first <= n < end:
                        place = f"{name}: record {n} at byte {at}"
                        yield self._parse(raw, place)


class JsonlSource(_Anchored):
    """One JSON object per line.

    Some programs write the float 2.0 as 2: a field that is a float in any line is
    one in all of them.
    """

    kind = "jsonl"

    def __init__(self, files: list[str]) -> None:
        self._floats: set[str] = set()
        self._planning = True
        super().__init__(files)
        self._planning = False

    def _split(self, stream: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
        offset = stream.tell()
        for line in stream:
            if line.strip():
                if self._planning:
                    self._learn(line)
                yield offset, line
            offset += len(line)

    def _learn(self, raw: bytes) -> None:
        try:
            value = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return  # a bad record, in its place
        if isinstance(value, dict):
            for name, item in value.items():
                if name not in self._floats and _has_float(item):
                    self._floats.add(name)

    def _parse(self, raw: Any, place: str) -> Record | BadRecord:
        try:
            value = json.loads(raw.decode("utf-8-sig"))
            if not isinstance(value, dict):
                kind = type(value).__name__
                return BadRecord(f"{place}: not an object, but {kind}")
            if b"\\u" in raw:  # half of a surrogate pair is no text
                json.dumps(value, ensure_ascii=False).encode()
            for name in self._floats & value.keys():
                value[name] = _with_floats(value[name])
            return {name: _with_bytes(item) for name, item in value.items()}
        except (ValueError, OverflowError, RecursionError) as error:
            return BadRecord(f"{place}: {error}")


def _has_float(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(x, float) for x in items)


def _with_floats(value: Any) -> Any:
    """Integers, alone or in a list, as floats; all else as it is."""
    if isinstance(value, list):
        numbers = all(type(x) in (int, float) for x in value)
        return [float(x) for x in value] if numbers else value
    return float(value) if type(value) is int else value


def _with_bytes(value: Any) -> Any:
    """A value of a JSON line, {"$base64": ...} as the bytes it stands for."""
    if isinstance(value, list):
        return [_with_bytes(item) for item in value]
    if isinstance(value, dict) and list(value) == ["$base64"]:
        try:
            return base64.b64decode(value["$base64"], validate=True)
        except (TypeError, binascii.Error) as error:
            raise ValueError(f"$base64: {error}") from error
    return value


class CsvSource(_Anchored):
    """Comma-separated values under names; types are those all rows fit."""

    kind = "csv"

    def __init__(self, files: list[str]) -> None:
        self._names: list[str] = []
        self._types: list[int] = []  # 0 int, 1 float, 2 text, of each column
        self._planning = True
        super().__init__(files)
        self._planning = False

    def _split(self, stream: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
        offset = stream.tell()
        begin = offset
        parts: list[bytes] = []
        quotes = 0
        first = offset == 0
        for line in itertools.chain(stream, [b""]):
            if not parts:
                begin = offset
            offset += len(line)
            quotes += line.count(b'"')
            parts.append(line)
            # A line break inside quotes does not end the record.
            if quotes % 2 and line:
                continue
            raw = b"".join(parts)
            parts, quotes = [], 0
            if not raw.strip(b"\r\n"):
                continue
            if first:
                self._head(raw, name)
                first = False
                continue
            if self._planning:
                self._learn(raw)
            yield begin, raw

    def _head(self, raw: bytes, name: str) -> None:
        try:
            names = _csv_row(raw.removeprefix(b"\xef\xbb\xbf"))
        except csv.Error as error:
            raise UsageError(f"{name}: its header: {error}") from error
        if any(isinstance(_text_or_bytes(n), bytes) for n in names):
            raise UsageError(f"{name}: the names of its columns are not UTF-8")
        if self._names and names != self._names:
            raise UsageError(f"{name}: its columns differ from {self.files[0]}'s")
        if not self._names:
            self._names = names
            self._types = [0] * len(names)

    def _learn(self, raw: bytes) -> None:
        try:
            row = _csv_row(raw)
        except csv.Error:
            return  # a bad record, in its place
        for i, value in enumerate(row[: len(self._names)]):
            while value and self._types[i] < 2:
                if _formats.is_number(value, (int, float)[self._types[i]]):
                    break
                self._types[i] += 1

    def _parse(self, raw: Any, place: str) -> Record | BadRecord:
        try:
            row = _csv_row(raw)
        except csv.Error as error:
            return BadRecord(f"{place}: {error}")
        if len(row) != len(self._names):
            return BadRecord(
                f"{place}: {len(row)} fields, the header has {len(self._names)}"
            )
        convert: tuple[Any, ...] = (int, float, _text_or_bytes)
        return {
            name: convert[kind](value)
            for name, kind, value in zip(self._names, self._types, row)
            if value or kind == 2
        }


def _csv_row(raw: bytes) -> list[str]:
    text = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
    return next(csv.reader([text]), [])


class TarSource(Source):
    """Samples of a WebDataset: files that follow each other under one key."""

    kind = "tar"

    def __init__(self, files: list[str]) -> None:
        super().__init__(files)
        # For each sample: (file, key, [(field, offset, size)]); what cannot be read
        # has no offset.
        self._samples: list[tuple[int, str, list[tuple[str, int, int]]]] = []
        for number, name in enumerate(files):
            self.bytes += os.path.getsize(name)
            last = None
            try:
                with tarfile.open(name) as tar:
                    for member in tar:
                        if not member.isreg():
                            continue
                        key, field = split_name(member.name)
                        if not field:
                            continue
                        if key != last:
                            self._samples.append((number, key, []))
                            last = key
                        offset = -1 if member.issparse() else member.offset_data
                        self._samples[-1][2].append((field, offset, member.size))
            except (tarfile.TarError, EOFError) as error:
                raise UsageError(f"{name}: damaged tar: {error}") from error
        self.count = len(self._samples)

    def records(self, first: int, count: int) -> Iterator[Record | BadRecord]:
        wanted = self._samples[first : first + count]
        for file, samples in itertools.groupby(wanted, key=lambda s: s[0]):
            with open_binary(self.files[file]) as stream:
                for _, key, fields in samples:
                    yield self._sample(stream, self.files[file], key, fields)

    @staticmethod
    def _sample(
        stream: IO[bytes], name: str, key: str, fields: list[tuple[str, int, int]]
    ) -> Record | BadRecord:
        record: Record = {"__key__": _text_or_bytes(key)}
        for field, offset, size in fields:
            if offset < 0:
                return BadRecord(f"{name}: '{key}.{field}' is a sparse file")
            if field in record:
                return BadRecord(f"{name}: sample '{key}' has '{field}' twice")
            stream.seek(offset)
            record[field] = stream.read(size)
        return record


class TFRecordSource(Source):
    """Records as they are; as Examples where they become something else."""

    kind = "tfrecord"

    def __init__(self, files: list[str]) -> None:
        from penstock import _penstock

        super().__init__(files)
        self._ends: list[int] = []
        for name in files:
            scan = _penstock.tfrecord_scan(name, "auto", False, 0, False)
            found = scan["records"]
            if scan["bad_count"]:
                # Damaged lengths: what counts is where the reader goes on.
                found = sum(1 for _ in _tfrecord_rows(name))
            self.count += found
            self._ends.append(self.count)
            self.bytes += os.path.getsize(name)

    def records(self, first: int, count: int) -> Iterator[Record | BadRecord]:
        begin = 0
        for name, end in zip(self.files, self._ends):
            low, high = max(first, begin), min(first + count, end)
            if low < high:
                yield from _tfrecord_rows(name, low - begin, high - low)
            begin = end


def _tfrecord_rows(
    name: str, first: int = 0, count: int = -1
) -> Iterator[Record | BadRecord]:
    """`count` records of a file from `first` on; a bad one in its place."""
    import penstock as ps

    rows = ps.Dataset.tfrecord(name, compression="auto").skip(first).take(count)
    with rows.iterator() as it:
        while True:
            try:
                yield RawRecord(next(it))
            except StopIteration:
                return
            except (ps.DataLossError, ps.ResourceExhaustedError) as error:
                yield BadRecord(str(error))


def open_source(files: list[str], kind: str | None) -> Source:
    """What `files`, all of one kind, hold."""
    kinds = {kind or _formats.kind_of(f, "--from") for f in files}
    if len(kinds) > 1:
        raise UsageError(
            f"the sources are of several kinds: {', '.join(sorted(kinds))}"
        )
    found = kinds.pop()
    if found == "folder":
        if len(files) > 1:
            raise UsageError("one folder of images at a time")
        return FolderSource(files[0])
    makers: dict[str, type[Source]] = {
        "csv": CsvSource,
        "jsonl": JsonlSource,
        "tar": TarSource,
        "tfrecord": TFRecordSource,
    }
    if found not in makers:
        raise UsageError(f"{files[0]}: cannot convert from {found}")
    return makers[found](files)
