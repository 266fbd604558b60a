"""Check every record of TFRecord files against its checksums.

Lists damaged records with their number and byte offset; exit code 1 if there is
any. Folders stand for the TFRecord files in them. Files are checked in parallel.
"""

from __future__ import annotations

import argparse
import glob
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock import _errors, _penstock
from penstock.cli import _formats
from penstock.cli._output import Output, UsageError, human_bytes, plural

NAME = "verify"
HELP = "check all checksums of TFRecord files"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILES", nargs="+", help="names or patterns")
    parser.add_argument(
        "--jobs",
        type=int,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="files checked at once (all cores)",
    )
    parser.add_argument(
        "--compression",
        default="auto",
        choices=["auto", "none", "gzip", "zlib", "zstd"],
        help="what the files are compressed with (auto)",
    )
    parser.add_argument(
        "--quiet", "-q", action="store_true", help="only damaged records"
    )


def files_of(patterns: list[str]) -> list[str]:
    """The files that names, patterns and folders stand for, sorted."""
    files: list[str] = []
    for pattern in patterns:
        found = [pattern]
        if not os.path.exists(pattern) and glob.has_magic(pattern):
            found = sorted(glob.glob(pattern, recursive=True))
            if not found:
                raise UsageError(f"{pattern}: matches no file")
        for name in found:
            files += _in_folder(name) if os.path.isdir(name) else [name]
    return list(dict.fromkeys(files))


def _in_folder(root: str) -> list[str]:
    found = []
    for folder, names, files in os.walk(root):
        names.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not name.startswith(".") and _is_tfrecord(path):
                found.append(path)
    if not found:
        raise UsageError(f"{root}: holds no TFRecord file")
    return found


def _is_tfrecord(path: str) -> bool:
    try:
        return _formats.kind_of(path) == "tfrecord"
    except UsageError:
        return False


def check(path: str, compression: str) -> dict[str, Any]:
    """What is in one file, and what is damaged."""
    name = "" if compression == "none" else compression
    try:
        scan = _penstock.tfrecord_scan(path, name, True, 0, False)
    except _errors.Error as error:
        return {"file": path, "error": str(error), "records": 0, "bad_count": 0,
                "bytes": 0, "bad": []}  # fmt: skip
    return {
        "file": path,
        "records": scan["records"],
        "bytes": scan["stream_bytes"],
        "bad_count": scan["bad_count"],
        "bad": [
            {"record": record, "offset": offset, "message": message}
            for record, offset, message in scan["bad"]
        ],
    }


def run(args: argparse.Namespace, out: Output) -> int:
    if args.jobs < 1:
        raise UsageError(f"--jobs must be >= 1, got {args.jobs}")
    files = files_of(args.files)
    results = []
    with (
        out.progress("verify", len(files)) as progress,
        ThreadPoolExecutor(args.jobs) as pool,
    ):
        for result in pool.map(lambda f: check(f, args.compression), files):
            progress.add()
            results.append(result)
    records = sum(r["records"] for r in results)
    bad = sum(r["bad_count"] for r in results)
    unreadable = sum("error" in r for r in results)
    out.result(
        {
            "ok": not bad and not unreadable,
            "files": results,
            "records": records,
            "bad_count": bad,
            "unreadable": unreadable,
        }
    )
    for result in results:
        _print(result, args.quiet, out)
    total = sum(r["bytes"] for r in results)
    if not args.quiet or bad or unreadable:
        found = [plural(bad, "damaged record")] if bad else []
        if unreadable:
            found.append(f"{plural(unreadable, 'file')} could not be read")
        damage = ", ".join(found) or "all good"
        out.line(
            f"{plural(len(files), 'file')}, {plural(records, 'record')}, "
            f"{human_bytes(total)}: {damage}"
        )
    if unreadable:
        return 2
    return 1 if bad else 0


def _print(result: dict[str, Any], quiet: bool, out: Output) -> None:
    if "error" in result:
        out.line(f"{result['file']}: {result['error']}", style="red")
        return
    if result["bad_count"] == 0:
        if not quiet:
            out.line(f"{result['file']}: {plural(result['records'], 'record')}, good")
        return
    out.line(
        f"{result['file']}: {plural(result['bad_count'], 'damaged record')}, "
        f"{plural(result['records'], 'record')} read",
        style="red",
    )
    for bad in result["bad"]:
        out.line(f"  {bad['message']}")
    more = result["bad_count"] - len(result["bad"])
    if more:
        out.line(f"  ... {more:,} more")
