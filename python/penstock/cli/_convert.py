"""Convert between record formats, in parallel.

    penstock convert photos/ train.tfrecord --shards 8
    penstock convert 'data-*.tar' train.tfrecord
    penstock convert train.tfrecord back.jsonl

From a folder of images (one folder per class), tar (WebDataset), jsonl, csv or
TFRecord, to sharded TFRecord of tf.train.Example, or back. Shards appear whole
or not at all; a conversion that was interrupted goes on where it was when it is
started again.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import hashlib
import json
import math
import os
import re
import shutil
import time
from typing import Any

from penstock.cli._convert_read import BadRecord, Source, open_source
from penstock.cli._convert_write import open_sink, place_images, temporary_prefix
from penstock.cli._output import Output, UsageError, human_bytes, plural
from penstock.cli._verify import files_of as tfrecord_files

NAME = "convert"
HELP = "convert between record formats"

_KINDS = ("tfrecord", "jsonl", "csv", "tar", "folder")
_SHARD_BYTES = 256 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", nargs="+", help="what to read")
    parser.add_argument("destination", metavar="DST", help="what to write")
    parser.add_argument("--from", dest="kind", choices=_KINDS, help="what SRC is")
    parser.add_argument("--to", choices=_KINDS, help="what DST becomes (by its name)")
    parser.add_argument(
        "--shards", type=int, metavar="N", help="files to write (one per 256 MiB)"
    )
    parser.add_argument(
        "--compression",
        default="none",
        choices=["none", "gzip", "zlib", "zstd"],
        help="of what is written (none)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="shards written at once (all cores)",
    )
    parser.add_argument(
        "--skip-errors", action="store_true", help="leave bad records out"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files that are there"
    )


def run(args: argparse.Namespace, out: Output) -> int:
    for option in ("jobs", "shards"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise UsageError(f"--{option} must be >= 1, got {value}")
    to = args.to or _kind_by_name(args.destination)
    if args.compression == "none" and args.destination.lower().endswith(".gz"):
        args.compression = "gzip"
    if args.compression != "none" and to in ("tar", "folder"):
        raise UsageError(
            f"{args.destination}: {to} is written as it is, without compression"
        )
    if args.compression in ("zlib", "zstd") and to != "tfrecord":
        raise UsageError(f"--compression {args.compression} is for TFRecord only")
    source = open_source(_sources(args.source), args.kind)
    if source.kind == to == "folder":
        raise UsageError("folder to folder: nothing to convert")
    began = time.monotonic()
    job = _Job(source, args.destination, to, args)
    todo = job.prepare()
    done = len(job.shards) - len(todo)
    if done:
        out.line(f"goes on: {done} of {len(job.shards)} shards are there")
    try:
        with (
            out.progress("convert", len(job.shards)) as progress,
            contextlib.closing(_run_all(job, todo, args.jobs)) as results,
        ):
            progress.add(done)
            for result in results:
                progress.add()
                if result["failed"]:
                    problem = result["problems"][-1]
                    out.result({"ok": False, "error": problem, "files": []})
                    out.error(problem)
                    return 1
    finally:
        job.remove_temporaries()
    job.finish()
    return _report(job, began, out)


def _sources(names: list[str]) -> list[str]:
    files: list[str] = []
    for name in names:
        if os.path.exists(name) or not glob.has_magic(name):
            files.append(name)
        else:
            files += sorted(glob.glob(name, recursive=True))
    if not files:
        raise UsageError(f"{names[0]}: matches no file")
    for name in files:
        os.stat(name)
    if len(files) == 1 and os.path.isdir(files[0]):
        # A folder of images, or one of TFRecord files.
        from penstock.cli._inspect import image_classes

        if not image_classes(files[0]):
            return tfrecord_files(files)
    return files


def _kind_by_name(path: str) -> str:
    stem = os.path.basename(path.rstrip("/")).lower().removesuffix(".gz")
    for kind, endings in (
        ("jsonl", (".jsonl", ".ndjson")),
        ("csv", (".csv",)),
        ("tar", (".tar",)),
        ("tfrecord", (".tfrecord", ".tfrecords", ".tfrec")),
    ):
        if stem.endswith(endings):
            return kind
    if path.endswith("/") or os.path.isdir(path):
        return "folder"
    raise UsageError(
        f"{path}: say what to write with --to ({', '.join(_KINDS)}), or by an ending"
    )


class _Job:
    """The shards of a conversion, and which are there already."""

    def __init__(
        self, source: Source, destination: str, to: str, args: argparse.Namespace
    ) -> None:
        self.source = source
        self.to = to
        self.destination = destination
        self.compression: str = args.compression
        self.skip_errors: bool = args.skip_errors
        self.overwrite: bool = args.overwrite
        count = args.shards or max(1, math.ceil(source.bytes / _SHARD_BYTES))
        count = max(1, min(count, source.count))
        if to == "folder":
            count = max(1, min(source.count, max(count, 4 * args.jobs)))
        cuts = [source.count * i // count for i in range(count + 1)]
        self.shards = [
            (self._name(i, count), cuts[i], cuts[i + 1] - cuts[i]) for i in range(count)
        ]
        folder, name = os.path.split(os.path.abspath(destination))
        self.plan_path = os.path.join(folder, f".{name}.convert.json")
        # What happened in each shard that is there, by its number.
        self.done: dict[int, dict[str, Any]] = {}
        self._placed: set[str] = set()

    def _name(self, i: int, count: int) -> str:
        if self.to == "folder":
            return self.destination
        if count == 1:
            return self.destination
        number = f"-{i:05}-of-{count:05}"
        if self.to == "tfrecord":
            return self.destination + number
        stem, ending = os.path.splitext(self.destination)
        if ending == ".gz":
            stem, inner = os.path.splitext(stem)
            ending = inner + ending
        return stem + number + ending

    def _plan(self) -> str:
        plan = [self.source.fingerprint(), self.to, self.compression, self.shards]
        return hashlib.sha256(json.dumps(plan).encode()).hexdigest()

    def prepare(self) -> list[int]:
        """The numbers of the shards that are missing."""
        self._key = self._plan()
        self.remove_temporaries()
        state = self._read_plan()
        if state.get("plan") == self._key and not self.overwrite:
            self.done = {
                int(i): result
                for i, result in state["done"].items()
                if os.path.exists(self.shards[int(i)][0])
                # A shard without its bad records is for --skip-errors only.
                and (self.skip_errors or not result["skipped"])
            }
        elif not self.overwrite:
            self._refuse_existing()
        self._write_plan()
        return [i for i in range(len(self.shards)) if i not in self.done]

    def _refuse_existing(self) -> None:
        if self.to == "folder":
            if os.path.isdir(self.destination) and os.listdir(self.destination):
                raise UsageError(
                    f"{self.destination} is not empty; --overwrite replaces files in it"
                )
            return
        for name, _, _ in self.shards:
            if os.path.exists(name):
                raise UsageError(f"{name} exists; --overwrite replaces it")

    def remove_temporaries(self) -> None:
        """What shards left that were interrupted."""
        names = [name for name, _, _ in self.shards]
        if self.to == "folder":
            names = [os.path.join(self.destination, "convert")]
        for prefix in map(temporary_prefix, names):
            for left in glob.glob(f"{glob.escape(prefix)}*.tmp"):
                if not re.fullmatch(r"(\d+\.)+tmp", left[len(prefix) :]):
                    continue  # of a longer name
                if os.path.isdir(left):
                    shutil.rmtree(left, ignore_errors=True)
                elif os.path.exists(left):
                    os.unlink(left)

    def _read_plan(self) -> dict[str, Any]:
        try:
            with open(self.plan_path) as file:
                state = json.load(file)
        except (OSError, ValueError):
            return {}
        known = isinstance(state, dict) and isinstance(state.get("done"), dict)
        return state if known else {}

    def _write_plan(self) -> None:
        os.makedirs(os.path.dirname(self.plan_path), exist_ok=True)
        temporary = self.plan_path + ".tmp"
        with open(temporary, "w") as file:
            json.dump({"plan": self._key, "done": self.done}, file)
        os.replace(temporary, self.plan_path)

    def note(self, result: dict[str, Any]) -> None:
        """A shard is written."""
        if self.to == "folder":
            folder, names = result.pop("images")
            place_images(self.destination, folder, names, self.overwrite, self._placed)
        self.done[result["shard"]] = result
        self._write_plan()

    def finish(self) -> None:
        os.unlink(self.plan_path)


def write_shard(job: _Job, number: int) -> dict[str, Any]:
    """Writes one shard; what happened, never an exception for a bad record."""
    name, first, count = job.shards[number]
    result: dict[str, Any] = {
        "shard": number, "records": 0, "bytes": 0, "skipped": 0, "failed": False,
        "problems": [],
    }  # fmt: skip
    sink = open_sink(job.to, name, job.compression, first)
    try:
        for record in job.source.records(first, count):
            try:
                if isinstance(record, BadRecord):
                    raise record
                sink.write(record)
                result["records"] += 1
            except BadRecord as error:
                if len(result["problems"]) < 10 or not job.skip_errors:
                    n = first + result["records"] + result["skipped"]
                    text = str(error)
                    place = "" if " at byte " in text else f"record {n}: "
                    files = job.source.files
                    if place and len(files) == 1 and files[0] not in text:
                        place = f"{files[0]}: {place}"
                    result["problems"].append(place + text)
                if not job.skip_errors:
                    result["failed"] = True
                    sink.abandon()
                    return result
                result["skipped"] += 1
        result["bytes"] = sink.commit()
        if job.to == "folder":
            result["images"] = [sink.folder, sink.names]
    except BaseException:
        sink.abandon()
        raise
    return result


def _run_all(job: _Job, todo: list[int], jobs: int) -> Any:
    """The results of the shards, in order, written by a pipeline of our own."""
    import penstock as ps

    if not todo:
        return
    parallel = min(jobs, len(todo))
    # JSON: results of different shards differ in shape.
    ds = ps.Dataset.from_list(todo).map(
        lambda n: json.dumps(write_shard(job, int(n))),
        num_parallel_calls=parallel,
        executor="process" if parallel > 1 else "thread",
    )
    with ds.iterator() as it:
        for text in it:
            result = json.loads(text)
            if not result["failed"]:
                job.note(result)
            yield result


def _report(job: _Job, began: float, out: Output) -> int:
    results = [job.done[i] for i in sorted(job.done)]
    records, size, skipped = (
        sum(result[key] for result in results)
        for key in ("records", "bytes", "skipped")
    )
    problems = [problem for result in results for problem in result["problems"]]
    seconds = time.monotonic() - began
    files = sorted({name for name, _, _ in job.shards})
    out.result(
        {
            "ok": True,
            "records": records,
            "bytes": size,
            "skipped": skipped,
            "problems": problems,
            "files": files,
            "seconds": seconds,
        }
    )
    for problem in problems:
        out.error(f"left out: {problem}")
    left_out = f", {plural(skipped, 'record')} left out" if skipped else ""
    where = files[0] if len(files) == 1 else f"{files[0]} ... ({len(files)} files)"
    out.line(
        f"{plural(records, 'record')}, {human_bytes(size)} in {seconds:.1f} s"
        f"{left_out}: {where}"
    )
    return 0
