"""Where `penstock convert` writes to: shards that appear whole or not at all."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import os
import shutil
import tarfile
import zlib
from typing import Any

import numpy as np

from penstock import _penstock
from penstock.cli import _formats
from penstock.cli._convert_read import BadRecord, RawRecord, Record
from penstock.io import TFRecordWriter

_FRAMED = 1 << 20  # bytes of records framed at once


def values_of(record: Record) -> Record:
    """A record as plain values: those of the Example it holds, if it is one."""
    if not isinstance(record, RawRecord):
        return record
    features: Any = _penstock.example_to_dict(record.raw)
    if features is None:
        raise BadRecord("the record is not a tf.train.Example")
    values: Record = {}
    for name, feature in sorted(features.items()):
        items = feature[1] if feature is not None else []
        values[name] = items[0] if len(items) == 1 else items
    return values


def example_of(record: Record) -> bytes:
    """A record as a serialized tf.train.Example."""
    if isinstance(record, RawRecord):
        return bytes(record.raw)
    features = {}
    for name, value in record.items():
        feature = _feature(value)
        if feature is not None:
            features[name] = feature
    return _penstock.example_from_dict(features)


def _feature(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    if value is None or (not items):
        return None
    if all(isinstance(x, (bool, int)) for x in items):
        try:
            return np.array(items, np.int64)
        except OverflowError:
            pass
    elif all(isinstance(x, (bool, int, float)) for x in items):
        return _floats(items)
    if all(isinstance(x, (str, bytes)) for x in items):
        texts = [x.encode() if isinstance(x, str) else x for x in items]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array
    return json.dumps(plain(value)).encode()


def _floats(items: list[Any]) -> Any:
    with np.errstate(over="ignore"):
        array = np.array(items, np.float32)
    for i in np.flatnonzero(np.isinf(array)):
        if not math.isinf(items[i]):
            raise BadRecord(f"{items[i]} does not fit a float of 32 bits")
    return array


def temporary_prefix(path: str) -> str:
    """How the hidden names begin under which `path` is written."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f".{name}.")


class Sink:
    """Writes one shard; `commit` gives it its name, `abandon` removes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self._temporary = f"{temporary_prefix(path)}{os.getpid()}.tmp"
        self._file = open(self._temporary, "wb")

    def write(self, record: Record) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Writes what is still held."""

    def commit(self) -> int:
        """Bytes of the file."""
        self.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        size = self._file.tell()
        self._file.close()
        os.replace(self._temporary, self.path)
        return size

    def abandon(self) -> None:
        self._file.close()
        if os.path.exists(self._temporary):
            os.unlink(self._temporary)


class TFRecordSink(Sink):
    def __init__(self, path: str, compression: str) -> None:
        super().__init__(path)
        self._held: list[bytes] = []
        self._held_bytes = 0
        wbits = {"gzip": 31, "zlib": 15}.get(compression)
        self._deflate = zlib.compressobj(wbits=wbits) if wbits else None

    def write(self, record: Record) -> None:
        example = example_of(record)
        self._held.append(example)
        self._held_bytes += len(example)
        if self._held_bytes >= _FRAMED:
            self._flush()

    def _flush(self) -> None:
        framed: bytes = _penstock.tfrecord_frame(self._held)
        self._held, self._held_bytes = [], 0
        if self._deflate is not None:
            framed = self._deflate.compress(framed)
        self._file.write(framed)

    def finish(self) -> None:
        self._flush()
        if self._deflate is not None:
            self._file.write(self._deflate.flush())


class ZstdTFRecordSink(Sink):
    """By the engine's writer, which has ZSTD."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._writer: Any = TFRecordWriter(self._temporary, "ZSTD", index=False)

    def write(self, record: Record) -> None:
        self._writer.write(example_of(record))

    def finish(self) -> None:
        self._writer.close()
        self._file.close()
        self._file = open(self._temporary, "ab")

    def abandon(self) -> None:
        self._writer = None
        super().abandon()


class _TextSink(Sink):
    def __init__(self, path: str, compression: str) -> None:
        super().__init__(path)
        self._zip: gzip.GzipFile | None = None
        if compression == "gzip":
            self._zip = gzip.GzipFile(fileobj=self._file, mode="wb", mtime=0)
        binary: Any = self._zip or self._file
        self._text = io.TextIOWrapper(binary, "utf-8", newline="")

    def finish(self) -> None:
        self._text.flush()
        self._text.detach()
        if self._zip is not None:
            self._zip.close()


def plain(value: Any) -> Any:
    """A value as JSON can hold it: text, or base64 of what is none."""
    if isinstance(value, list):
        return [plain(x) for x in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"$base64": base64.b64encode(value).decode()}
    return value


class JsonlSink(_TextSink):
    def write(self, record: Record) -> None:
        values = {name: plain(value) for name, value in values_of(record).items()}
        self._text.write(json.dumps(values, ensure_ascii=False) + "\n")


class CsvSink(_TextSink):
    _columns: list[str] | None = None

    def write(self, record: Record) -> None:
        values = {name: plain(v) for name, v in values_of(record).items()}
        for name, value in values.items():
            if isinstance(value, dict) and list(value) == ["$base64"]:
                raise BadRecord(f"{name!r} holds bytes that are no UTF-8 text")
            if isinstance(value, (list, dict)):
                raise BadRecord(f"{name!r} is not a single value; csv has no lists")
        if self._columns is None:
            self._columns = list(values)
            self._writer = csv.writer(self._text, lineterminator="\n")
            self._writer.writerow(self._columns)
        extra = [n for n in values if n not in self._columns]
        if extra:
            raise BadRecord(f"{extra[0]!r} is not in the first record")
        self._writer.writerow([values.get(n, "") for n in self._columns])


class TarSink(Sink):
    """A WebDataset: bytes as files of their own, the rest as one JSON."""

    def __init__(self, path: str, first: int) -> None:
        super().__init__(path)
        self._tar = tarfile.open(
            fileobj=self._file, mode="w", format=tarfile.USTAR_FORMAT
        )
        self._number = first

    def write(self, record: Record) -> None:
        values = dict(values_of(record))
        key = _text(values.pop("__key__", f"{self._number:08}"))
        self._number += 1
        rest = {}
        for name, value in values.items():
            if isinstance(value, bytes):
                field = name.replace("/", ".")
                if name == "image/encoded":
                    field = _formats.image_type(value) or "data"
                self._add(f"{key}.{field}", value)
            else:
                rest[name] = value
        if rest:
            self._add(f"{key}.json", json.dumps(plain_values(rest)).encode())

    def _add(self, name: str, data: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        try:
            self._tar.addfile(info, io.BytesIO(data))
        except ValueError as error:
            raise BadRecord(f"{name!r}: {error}") from error

    def finish(self) -> None:
        self._tar.close()


def plain_values(values: Record) -> Record:
    """Every value as JSON can hold it."""
    return {name: plain(value) for name, value in values.items()}


class FolderSink:
    """Images, each in the folder of its class.

    They wait in a hidden folder, under numbers, until `place_images` gives them
    their names: shards that are written at once must not take the same one.
    """

    def __init__(self, root: str, first: int) -> None:
        os.makedirs(root, exist_ok=True)
        self._number = first
        self._bytes = 0
        prefix = temporary_prefix(os.path.join(root, "convert"))
        self.folder = f"{prefix}{first}.{os.getpid()}.tmp"
        self.names: list[tuple[int, str]] = []
        os.mkdir(self.folder)

    def write(self, record: Record) -> None:
        values = values_of(record)
        image = values.get("image/encoded")
        if image is None:
            images = [v for v in values.values() if _is_image(v)]
            if len(images) != 1:
                raise BadRecord(f"{len(images)} fields hold an image, not one")
            image = images[0]
        if not isinstance(image, bytes):
            raise BadRecord("'image/encoded' does not hold the bytes of one image")
        kind = _formats.image_type(image) or "bin"
        label = _safe(_text(values.get("image/class/text", values.get("label", ""))))
        name = values.get("image/filename") or values.get("__key__")
        number, self._number = self._number, self._number + 1
        parts = _text(name).split("/") if name else [f"{number:08}.{kind}"]
        # A path below the folder of the class keeps its folders.
        parts = parts[1:] if len(parts) > 1 and parts[0] == label else parts[-1:]
        if not parts[-1].lower().endswith(_formats.IMAGES):
            parts[-1] += f".{kind}"
        with open(os.path.join(self.folder, str(number)), "wb") as file:
            file.write(image)
        relative = [label] if label else []
        relative += [_safe(part) for part in parts if part]
        self.names.append((number, "/".join(relative)))
        self._bytes += len(image)

    def commit(self) -> int:
        return self._bytes

    def abandon(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def place_images(
    root: str, folder: str, names: list[tuple[int, str]], replace: bool, mine: set[str]
) -> None:
    """Moves what a `FolderSink` wrote to its names.

    A name that is taken gets the number of the record, so that no image is lost;
    with `replace` only those in `mine`, which this conversion wrote, are taken.
    """
    placed: list[tuple[str, str]] = []
    try:
        for number, relative in names:
            stem, ending = os.path.splitext(os.path.join(root, relative))
            path, n = stem + ending, 0
            while path in mine or (not replace and os.path.lexists(path)):
                path = f"{stem}-{number:08}{f'-{n}' if n else ''}{ending}"
                n += 1
            os.makedirs(os.path.dirname(path), exist_ok=True)
            placed.append((os.path.join(folder, str(number)), path))
            os.replace(*placed[-1])
            mine.add(path)
        os.rmdir(folder)
    except BaseException:
        # The shard will be written again, and must find its names free.
        for waiting, path in placed:
            if not os.path.exists(waiting):
                os.unlink(path)
        raise


def _is_image(value: Any) -> bool:
    return isinstance(value, bytes) and bool(_formats.image_type(value))


def _text(value: Any) -> str:
    """A name that a record holds."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def _safe(name: str) -> str:
    """A name from a file is data: it must not lead out of the folder."""
    cleaned = name.replace("/", "_").replace("\0", "_")
    return "_" if cleaned in (".", "..") else cleaned


def open_sink(kind: str, path: str, compression: str, first: int) -> Any:
    """A shard whose first record is number `first`."""
    if kind == "tfrecord":
        if compression == "zstd":
            return ZstdTFRecordSink(path)
        return TFRecordSink(path, compression)
    if kind == "jsonl":
        return JsonlSink(path, compression)
    if kind == "csv":
        return CsvSink(path, compression)
    if kind == "tar":
        return TarSink(path, first)
    return FolderSink(path, first)
