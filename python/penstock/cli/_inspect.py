"""Say what is in a file.

TFRecord: how many records, their sizes, the features of the first ones, and
whether the checksums hold. Also tar (WebDataset), npy, npz, images, csv, jsonl,
and folders of images.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from penstock import _penstock
from penstock.cli import _formats
from penstock.cli._output import Output, UsageError, human_bytes, human_count, plural

NAME = "inspect"
HELP = "say what is in a file"

_SHOWN_CLASSES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file, or a folder of images")
    parser.add_argument(
        "--records",
        type=int,
        default=10,
        metavar="N",
        help="records whose features are looked at (10)",
    )
    parser.add_argument(
        "--no-verify", action="store_true", help="do not check the checksums"
    )
    parser.add_argument(
        "--kind", choices=_formats.KINDS, help="what the file is, if it cannot be told"
    )


def run(args: argparse.Namespace, out: Output) -> int:
    if args.records < 0:
        raise UsageError(f"--records must be >= 0, got {args.records}")
    kind = args.kind or _formats.kind_of(args.file)
    try:
        facts = _READERS[kind](args.file, args)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{args.file}: damaged gzip: {error}") from error
    result = {"file": args.file, "kind": kind, **facts}
    out.result(result)
    _print(result, out)
    return 1 if result.get("bad_count") else 0


def _tfrecord(path: str, args: argparse.Namespace) -> dict[str, Any]:
    scan = _penstock.tfrecord_scan(path, "auto", not args.no_verify, args.records, True)
    sizes = np.frombuffer(scan["sizes"], np.int64)
    verified = "not checked" if args.no_verify else "good"
    if scan["bad_count"]:
        verified = "damaged"
    return {
        "bytes": os.path.getsize(path),
        "compressed": scan["compressed"],
        "records": scan["records"],
        "record_bytes": _spread(sizes),
        "checksums": verified,
        "bad_count": scan["bad_count"],
        "bad": [
            {"record": record, "offset": offset, "message": message}
            for record, offset, message in scan["bad"][:10]
        ],
        "looked_at": len(scan["first"]),
        "features": _features(scan["first"]),
    }


def _spread(sizes: np.ndarray[Any, Any]) -> dict[str, float]:
    if sizes.size == 0:
        return {}
    return {
        "min": int(sizes.min()),
        "median": float(np.median(sizes)),
        "max": int(sizes.max()),
    }


def _features(records: list[bytes]) -> dict[str, Any] | None:
    """Of Examples, by name; None if the records are something else."""
    features: dict[str, dict[str, Any]] = {}
    for record in records:
        values: Any = _penstock.example_to_dict(record)
        if values is None:
            return None
        for name, feature in values.items():
            kind, items = feature if feature is not None else ("nothing", [])
            known = features.setdefault(
                name,
                {"kind": kind, "in": 0, "values": [len(items)] * 2, "first": None},
            )
            if known["kind"] != kind:
                known["kind"] = "mixed"
            known["in"] += 1
            low, high = known["values"]
            known["values"] = [min(low, len(items)), max(high, len(items))]
            if known["first"] is None and items:
                known["first"] = _shown(items)
    return dict(sorted(features.items()))


def _shown(items: list[Any]) -> str:
    first = items[0]
    if isinstance(first, bytes):
        image = _formats.image_type(first)
        if image:
            size = _formats.image_size(first)
            shape = f" {size[1]}x{size[0]}" if size else ""
            return f"{image}{shape}, {human_bytes(len(first))}"
        try:
            text = first.decode()
        except UnicodeDecodeError:
            return f"{human_bytes(len(first))} of binary"
        if not text.isprintable():
            return f"{human_bytes(len(first))} of binary"
        return json.dumps(text if len(text) <= 40 else text[:37] + "...")
    text = ", ".join(f"{x:.6g}" for x in items[:4])
    return f"{text}, ..." if len(items) > 4 else text


def _tar(path: str, args: argparse.Namespace) -> dict[str, Any]:
    fields: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    files = samples = 0
    last = None
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                if not member.isreg():
                    continue
                key, field = split_name(member.name)
                files += 1
                if field:
                    samples += key != last
                    last = key
                fields[field] += 1
                sizes[field] += member.size
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        # Of several ways to open it, tarfile tells why each of them failed.
        why = str(error).splitlines()[0].rstrip(":") if str(error) else "it is cut"
        why = why if os.path.getsize(path) else "it is empty"
        raise UsageError(f"{path}: damaged tar: {why}") from error
    return {
        "bytes": os.path.getsize(path),
        "files": files,
        "samples": samples,
        "fields": {
            field: {"files": count, "mean_bytes": sizes[field] / count}
            for field, count in sorted(fields.items())
        },
    }


def split_name(name: str) -> tuple[str, str]:
    """Key and field of a file of a WebDataset, as `Dataset.tar` has them; the
    field of a file that is of no sample is empty.

    >>> split_name("train/0001.seg.PNG"), split_name("__meta__/1.json")[1]
    (('train/0001', 'seg.png'), '')
    """
    folder, _, base = name.rpartition("/")
    stem, _, field = base.partition(".")
    first = name.partition("/")[0]
    if not stem or (len(first) >= 4 and first[:2] == first[-2:] == "__"):
        field = ""
    return (f"{folder}/{stem}" if folder else stem), field.lower()


def _npy(path: str, args: argparse.Namespace) -> dict[str, Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UsageError(f"{path}: damaged npy: {error}") from error
    return {"bytes": os.path.getsize(path), "arrays": {"": _array(array)}}


def _npz(path: str, args: argparse.Namespace) -> dict[str, Any]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            described = {name: _array(arrays[name]) for name in arrays.files}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{path}: damaged npz: {error}") from error
    return {"bytes": os.path.getsize(path), "arrays": described}


def _array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "bytes": array.nbytes,
    }


def _image(path: str, args: argparse.Namespace) -> dict[str, Any]:
    with open(path, "rb") as file:
        data = file.read()
    size = _formats.image_size(data)
    if size is None:
        kind = _formats.image_type(data)
        problem = f"damaged {kind} header" if kind else "its content is no image"
        raise UsageError(f"{path}: {problem}")
    height, width, channels = size
    return {
        "bytes": len(data),
        "format": _formats.image_type(data),
        "height": height,
        "width": width,
        "channels": channels,
    }


def open_binary(path: str) -> IO[bytes]:
    """A file, perhaps gzipped."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else open(path, "rb")  # type: ignore[return-value]


def _is_utf8(text: str) -> bool:
    """Of text that was decoded with surrogates for what is not."""
    if text.isascii():
        return True
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


def _printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _csv(path: str, args: argparse.Namespace) -> dict[str, Any]:
    records = 0
    ragged = 0
    not_utf8 = 0
    columns: dict[str, dict[str, Any]] = {}
    with (
        open_binary(path) as stream,
        io.TextIOWrapper(
            stream, "utf-8-sig", errors="surrogateescape", newline=""
        ) as file,
    ):
        reader = csv.reader(file)
        try:
            names = [_printable(name) for name in next(reader, [])]
            for row in reader:
                records += 1
                ragged += len(row) != len(names)
                not_utf8 += not all(map(_is_utf8, row))
                if records > args.records:
                    continue
                for name, value in zip(names, row):
                    known = columns.setdefault(
                        name, {"kind": "int64", "first": _printable(value)}
                    )
                    known["kind"] = _wider(known["kind"], value)
        except csv.Error as error:
            raise UsageError(f"{path}: line {reader.line_num}: {error}") from error
    return {
        "bytes": os.path.getsize(path),
        "records": records,
        "wrong_length": ragged,
        "not_utf8": not_utf8,
        "looked_at": min(records, args.records),
        "columns": columns,
    }


def _wider(kind: str, value: str) -> str:
    if kind == "int64" and _formats.is_number(value, int):
        return "int64"
    if kind != "string" and _formats.is_number(value, float):
        return "float32"
    return "string"


def _jsonl(path: str, args: argparse.Namespace) -> dict[str, Any]:
    records = 0
    bad: list[dict[str, Any]] = []
    bad_count = 0
    columns: dict[str, dict[str, Any]] = {}
    offset = 0
    with open_binary(path) as file:
        for number, line in enumerate(file):
            begin, offset = offset, offset + len(line)
            if not line.strip():
                continue
            records += 1
            if args.no_verify and records > args.records:
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                bad_count += 1
                if len(bad) < 10:
                    # json speaks of lines of what it is given, which is one.
                    what = getattr(error, "msg", str(error))
                    message = f"line {number + 1}: {what}"
                    bad.append({"record": number, "offset": begin, "message": message})
                continue
            if records > args.records or not isinstance(value, dict):
                continue
            for name, item in value.items():
                kind = type(item).__name__
                known = columns.setdefault(
                    name, {"kind": kind, "first": json.dumps(item)[:40]}
                )
                if known["kind"] != kind:
                    known["kind"] = "mixed"
    return {
        "bytes": os.path.getsize(path),
        "records": records,
        "bad_count": bad_count,
        "bad": bad,
        "looked_at": min(records, args.records),
        "columns": columns,
    }


def _text(path: str, args: argparse.Namespace) -> dict[str, Any]:
    with open_binary(path) as file:
        lines = sum(1 for _ in file)
    return {"bytes": os.path.getsize(path), "records": lines}


def image_classes(root: str) -> dict[str, list[str]]:
    """The images of each class, in the order of labels that `image_folder` gives.

    Hidden names are passed over, as there. Images that lie beside the classes are
    last, under "".
    """
    with os.scandir(root) as entries:
        shown = sorted((e.is_dir(), os.fsencode(e.name), e.path) for e in entries)
    classes = {
        os.fsdecode(name): _images_below(path)
        for is_folder, name, path in shown
        if is_folder and not name.startswith(b".")
    }
    beside = [path for is_folder, _, path in shown if not is_folder and _is_image(path)]
    if beside:
        classes[""] = beside
    return classes


def _images_below(root: str) -> list[str]:
    found = []
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [os.path.join(folder, f) for f in sorted(files) if _is_image(f)]
    return found


def _is_image(path: str) -> bool:
    name = os.path.basename(path)
    return name.lower().endswith(_formats.IMAGES) and not name.startswith(".")


def _folder(path: str, args: argparse.Namespace) -> dict[str, Any]:
    classes = image_classes(path)
    files = [f for group in classes.values() for f in group]
    sizes = np.array([os.path.getsize(f) for f in files], np.int64)
    return {
        "files": len(files),
        "bytes": int(sizes.sum()),
        "record_bytes": _spread(sizes),
        "classes": {name: len(group) for name, group in classes.items()},
    }


_READERS: dict[str, Callable[[str, argparse.Namespace], dict[str, Any]]] = {
    "csv": _csv,
    "folder": _folder,
    "image": _image,
    "jsonl": _jsonl,
    "npy": _npy,
    "npz": _npz,
    "tar": _tar,
    "text": _text,
    "tfrecord": _tfrecord,
}


def _print(facts: dict[str, Any], out: Output) -> None:
    kind = facts["kind"]
    packed = " (compressed)" if facts.get("compressed") else ""
    out.line(f"{facts['file']}: {kind}{packed}, {human_bytes(facts['bytes'])}")
    if kind == "image":
        out.line(
            f"  {facts['format']} {facts['width']}x{facts['height']}, "
            + plural(facts["channels"], "channel")
        )
    for unit in ("record", "file", "sample"):
        if f"{unit}s" in facts:
            # Of a folder only images are counted.
            shown = "image" if kind == "folder" else unit
            out.line(f"  {plural(facts[f'{unit}s'], shown)}")
    sizes = facts.get("record_bytes")
    if sizes:
        out.line(
            f"  sizes: {human_bytes(sizes['min'])} to {human_bytes(sizes['max'])}, "
            f"median {human_bytes(sizes['median'])}"
        )
    if "checksums" in facts:
        out.line(f"  checksums: {facts['checksums']}")
    if facts.get("wrong_length"):
        out.line(f"  {plural(facts['wrong_length'], 'record')} of another length")
    if facts.get("not_utf8"):
        out.line(f"  {plural(facts['not_utf8'], 'record')} not in UTF-8")
    for bad in facts.get("bad", ()):
        out.line(f"  bad: {bad['message']}", style="red")
    _print_tables(facts, out)


def _print_tables(facts: dict[str, Any], out: Output) -> None:
    looked = facts.get("looked_at", 0)
    if facts.get("features"):
        out.line(f"  features of the first {plural(looked, 'record')}:")
        out.table(
            ["feature", "kind", "in", "values", "first"],
            (
                [
                    name,
                    f["kind"],
                    f"{f['in']}/{looked}",
                    "-".join(str(n) for n in dict.fromkeys(f["values"])),
                    f["first"] or "",
                ]
                for name, f in facts["features"].items()
            ),
            right=["in", "values"],
        )
    elif facts.get("features", {}) is None:
        out.line("  the records are not tf.train.Example")
    if facts.get("columns"):
        out.line(f"  fields of the first {plural(looked, 'record')}:")
        out.table(
            ["field", "kind", "first"],
            ([n, c["kind"], c["first"]] for n, c in facts["columns"].items()),
        )
    if facts.get("fields"):
        out.table(
            ["field", "files", "mean size"],
            (
                [name or "(none)", human_count(f["files"]),
                 human_bytes(f["mean_bytes"])]
                for name, f in facts["fields"].items()
            ),
            right=["files", "mean size"],
        )  # fmt: skip
    if facts.get("arrays"):
        out.table(
            ["array", "dtype", "shape", "size"],
            (
                [name, a["dtype"], "x".join(map(str, a["shape"])) or "scalar",
                 human_bytes(a["bytes"])]
                for name, a in facts["arrays"].items()
            ),
            right=["size"],
        )  # fmt: skip
    classes = facts.get("classes")
    if classes:
        out.table(
            ["class", "images"],
            list(classes.items())[:_SHOWN_CLASSES],
            right=["images"],
        )
        if len(classes) > _SHOWN_CLASSES:
            out.line(f"  ... {len(classes) - _SHOWN_CLASSES} more classes")
