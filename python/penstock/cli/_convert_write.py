"""Where `penstock convert` writes to: shards that appear whole or not at all."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import os
import tarfile
import zlib
from typing import Any

import numpy as np

from penstock import _penstock
from penstock.cli import _formats
from penstock.cli._convert_read import BadRecord, Record
from penstock.io import TFRecordWriter

_FRAMED = 1 << 20  # bytes of records framed at once


def values_of(record: Record) -> Record:
    """A record as plain values: those of the Example it holds, if it is one."""
    raw = record.get("")
    if raw is None:
        return record
    features: Any = _penstock.example_to_dict(raw)
    if features is None:
        raise BadRecord("the record is not a tf.train.Example")
    values: Record = {}
    for name, feature in sorted(features.items()):
        items = feature[1] if feature is not None else []
        values[name] = items[0] if len(items) == 1 else items
    return values


def example_of(record: Record) -> bytes:
    """A record as a serialized tf.train.Example."""
    raw = record.get("")
    if raw is not None:
        return bytes(raw)
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
        return np.array(items, np.float32)
    if all(isinstance(x, (str, bytes)) for x in items):
        texts = [x.encode() if isinstance(x, str) else x for x in items]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array
    return json.dumps(value).encode()


class Sink:
    """Writes one shard; `commit` gives it its name, `abandon` removes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        folder, name = os.path.split(os.path.abspath(path))
        os.makedirs(folder, exist_ok=True)
        self._temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
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
        nested = [n for n, v in values.items() if isinstance(v, (list, dict))]
        if nested:
            raise BadRecord(f"{nested[0]!r} is not a single value; csv has no lists")
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
        values = values_of(record)
        key = plain(values.pop("__key__", f"{self._number:08}"))
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
        self._tar.addfile(info, io.BytesIO(data))

    def finish(self) -> None:
        self._tar.close()


def plain_values(values: Record) -> Record:
    """Every value as JSON can hold it."""
    return {name: plain(value) for name, value in values.items()}


class FolderSink:
    """Images, each in the folder of its class."""

    def __init__(self, root: str, first: int) -> None:
        self._root = root
        self._number = first
        self._bytes = 0

    def write(self, record: Record) -> None:
        values = values_of(record)
        image = values.get("image/encoded")
        if image is None:
            images = [v for v in values.values() if _is_image(v)]
            if len(images) != 1:
                raise BadRecord(f"{len(images)} fields hold an image, not one")
            image = images[0]
        kind = _formats.image_type(image) or "bin"
        label = values.get("image/class/text", values.get("label", ""))
        name = values.get("image/filename") or values.get("__key__")
        number, self._number = self._number, self._number + 1
        base = os.path.basename(str(plain(name))) if name else f"{number:08}.{kind}"
        if not base.lower().endswith(_formats.IMAGES):
            base += f".{kind}"
        path = os.path.join(self._root, _safe(str(plain(label))), _safe(base))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "wb") as file:
            file.write(image)
        os.replace(temporary, path)
        self._bytes += len(image)

    def commit(self) -> int:
        return self._bytes

    def abandon(self) -> None:
        """Files that are there are whole."""


def _is_image(value: Any) -> bool:
    return isinstance(value, bytes) and bool(_formats.image_type(value))


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
