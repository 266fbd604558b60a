"""Measure this machine with a few small pipelines, or a pipeline of yours.

    penstock bench                      what a cheap map, a Python function, a
                                        sleeping function and TFRecord cost here
    penstock bench train_input:make     how fast the dataset is that `make` in
                                        train_input.py gives, without a consumer

Rates are medians; the spread stands beside them. Other load on the machine is
measured too, and said.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import os
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import penstock as ps
from penstock import _penstock
from penstock._device import DeviceDataset
from penstock._engine_of import engine_dataset
from penstock.cli._output import Output, UsageError

NAME = "bench"
HELP = "measure this machine, or a dataset"

# A dataset, and how many elements one of its elements stands for.
_Make = Callable[[], tuple["ps.Dataset | DeviceDataset", int]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="MODULE:NAME", help="a Dataset, or what makes one"
    )
    parser.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="per repetition (1)"
    )
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="repetitions (3)"
    )


def run(args: argparse.Namespace, out: Output) -> int:
    if not 0 < args.seconds < math.inf:
        raise UsageError(f"--seconds must be > 0, got {args.seconds}")
    if args.repeat < 1:
        raise UsageError(f"--repeat must be >= 1, got {args.repeat}")
    before = _other_load_start()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        if args.target:
            cases = {args.target: (_load(args.target), "elements")}
        else:
            cases = _builtin(folder)
        rows = []
        with out.progress("bench", len(cases) * args.repeat) as progress:
            for name, (make, unit) in cases.items():
                rates = []
                for _ in range(args.repeat):
                    with _their_errors(name):
                        rates.append(_rate(make, args.seconds))
                    progress.add()
                rows.append(_row(name, unit, rates))
    other = _other_load(before)
    cores = len(os.sched_getaffinity(0))
    out.result(
        {
            "cores": cores,
            "other_cores_busy": round(other, 2),
            "penstock": ps.__version__,
            "rows": rows,
        }
    )
    out.table(
        ["pipeline", "per second", "unit", "spread"],
        (
            [r["name"], f"{r['rate']:,.0f}", r["unit"],
             f"{r['min']:,.0f} to {r['max']:,.0f}"]
            for r in rows
        ),
        right=["per second", "spread"],
    )  # fmt: skip
    out.line(f"{cores} cores; other programs used {other:.1f} of them meanwhile")
    return 0


def _row(name: str, unit: str, rates: list[float]) -> dict[str, Any]:
    return {
        "name": name,
        "unit": unit,
        "rate": statistics.median(rates),
        "min": min(rates),
        "max": max(rates),
    }


def _rate(make: _Make, seconds: float) -> float:
    """Elements per second of `make()`, which counts its own as (dataset, size)."""
    ds, size = make()
    count = 0
    began = time.perf_counter()
    while True:
        before = count
        with ds.iterator() as it:
            for _ in it:
                count += 1
                if count % 16 == 0 and time.perf_counter() - began >= seconds:
                    return count * size / (time.perf_counter() - began)
        if count == before:
            raise UsageError("the dataset is empty")
        if time.perf_counter() - began >= seconds:
            return count * size / (time.perf_counter() - began)


def _builtin(folder: str) -> dict[str, tuple[_Make, str]]:
    path = os.path.join(folder, "records.tfrecord")
    payload = os.urandom(1024)
    with open(path, "wb") as file:
        file.write(_penstock.tfrecord_frame([payload] * 20_000))

    def cheap() -> tuple[ps.Dataset, int]:
        ds = ps.Dataset.counter().map(lambda x: x * 2 + 1)
        return ds.batch(1024), 1024

    def single() -> tuple[ps.Dataset, int]:
        return ps.Dataset.counter(), 1

    def python() -> tuple[ps.Dataset, int]:
        ds = ps.Dataset.counter().map(_python_work, executor="thread")
        return ds.batch(32), 32

    def sleeping() -> tuple[ps.Dataset, int]:
        ds = ps.Dataset.counter().map(_sleep, executor="thread")
        return ds, 1

    def records() -> tuple[ps.Dataset, int]:
        return ps.Dataset.tfrecord(path).batch(256), 256

    return {
        "range -> map(x*2+1) -> batch(1024)": (cheap, "elements"),
        "one element per next()": (single, "elements"),
        "map(Python function of 20 us)": (python, "calls"),
        "map(function that sleeps 10 ms)": (sleeping, "calls"),
        "TFRecord of 1 KiB, checked": (records, "records"),
    }


def _python_work(x: Any) -> int:
    total = 0
    for i in range(400):
        total += i ^ 3
    return total


def _sleep(x: Any) -> Any:
    time.sleep(0.01)
    return x


@contextlib.contextmanager
def _their_errors(target: str) -> Iterator[None]:
    """Errors of the code that is measured: what and where, no traceback."""
    try:
        yield
    except (UsageError, ps.Error, OSError):
        raise
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{target}: {error}{_place(error)}") from error
    except Exception as error:
        text = "".join(traceback.format_exception_only(error)).strip()
        raise UsageError(f"{target}: {text}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """The last line of code that is not ours, nor the import system's."""
    ours = os.path.dirname(ps.__file__)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        name = frame.filename
        if not name.startswith((ours, "<")) and name != importlib.__file__:
            return f" ({name}:{frame.lineno})"
    return ""


def _load(target: str) -> _Make:
    module, _, name = target.rpartition(":")
    if not name or not module:
        raise UsageError(f"{target}: write MODULE:NAME, as in train_input:make")
    folder = os.getcwd()
    if os.path.isabs(module) or module.startswith("."):
        folder, module = os.path.split(os.path.abspath(module))
    sys.path.insert(0, folder)
    module = module.removesuffix(".py").replace("/", ".")
    with _their_errors(target):
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)

    def make() -> tuple[ps.Dataset | DeviceDataset, int]:
        made = engine_dataset(found() if callable(found) else found)
        if not isinstance(made, (ps.Dataset, DeviceDataset)):
            raise UsageError(
                f"{target}: gives {type(made).__name__}, not a penstock Dataset"
            )
        return made, 1

    return make


def _cpu_times() -> tuple[float, float] | None:
    """Seconds all cores were busy, and this process, with its children."""
    try:
        with open("/proc/stat") as file:
            fields = [int(x) for x in file.readline().split()[1:]]
    except (OSError, ValueError):
        return None
    tick = os.sysconf("SC_CLK_TCK")
    busy = (sum(fields[:8]) - fields[3] - fields[4]) / tick
    t = os.times()
    return busy, t.user + t.system + t.children_user + t.children_system


_Load = tuple[tuple[float, float] | None, float]


def _other_load_start() -> _Load:
    return _cpu_times(), time.perf_counter()


def _other_load(before: _Load) -> float:
    times, began = before
    now = _cpu_times()
    if times is None or now is None:
        return 0.0
    others = (now[0] - times[0]) - (now[1] - times[1])
    return max(0.0, others / (time.perf_counter() - began))
