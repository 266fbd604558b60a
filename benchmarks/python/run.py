"""Measures the Python package: one line per row, promised beside measured."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import numpy as np

import penstock as ps

ROWS: dict[str, tuple[str, Callable[[], str]]] = {}


def row(name: str, promised: str):
    def add(fn: Callable[[], str]) -> Callable[[], str]:
        ROWS[name] = (promised, fn)
        return fn

    return add


def drain(ds: ps.Dataset) -> int:
    n = 0
    for _ in ds:
        n += 1
    return n


def best(fn: Callable[[], object], runs: int = 5) -> float:
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        fn()
        times.append(time.perf_counter() - begin)
    return min(times)


@row("elements", "<= 250 ns per element")
def elements() -> str:
    n = 1_000_000
    ds = ps.Dataset.range(n).map(lambda x: x + 1)
    assert drain(ds) == n
    return f"{best(lambda: drain(ds)) / n * 1e9:.0f} ns"


@row("batches", "<= 3 ns per element")
def batches() -> str:
    n = 50_000_000
    ds = ps.Dataset.range(n).map(lambda x: x + 1).batch(1024)
    assert drain(ds) == -(-n // 1024)
    return f"{best(lambda: drain(ds)) / n * 1e9:.2f} ns"


@row("thread-calls", "<= 800 ns per element")
def thread_calls() -> str:
    n = 300_000
    ds = ps.Dataset.range(n).map(lambda x: x, executor="thread").batch(1024)
    assert sum(len(b) for b in ds) == n
    return f"{best(lambda: drain(ds)) / n * 1e9:.0f} ns"


@row("gil-reacquire", "p99 <= 6 ms")
def gil_reacquire() -> str:
    def busy(x):
        total = 0
        for i in range(3000):
            total += i
        return total

    it = iter(ps.Dataset.counter().map(busy, executor="thread"))
    next(it)
    waits = []
    end = time.perf_counter() + 3
    while time.perf_counter() < end:
        time.sleep(0.001)
        begin = time.perf_counter()
        time.sleep(0)
        waits.append(time.perf_counter() - begin)
    it.close()
    return f"p99 {np.percentile(waits, 99) * 1e3:.2f} ms of {len(waits)}"


@row("inner-datasets", "<= 30 us per inner dataset")
def inner_datasets() -> str:
    n = 20_000
    ds = ps.Dataset.range(n).flat_map(lambda x: ps.Dataset.range(3))
    assert drain(ds) == 3 * n
    return f"{best(lambda: drain(ds), 3) / n * 1e6:.1f} us"


def burn(x):
    total = 0
    for i in range(20_000):
        total += i * i
    return total


def serial(fn, n: int) -> float:
    begin = time.perf_counter()
    for i in range(n):
        fn(np.int64(i))
    return time.perf_counter() - begin


@row("auto-cpu-bound", ">= 1.9x serial, moved within 1 s")
def auto_cpu_bound() -> str:
    per_call = serial(burn, 300) / 300
    it = iter(ps.Dataset.counter().map(burn))
    begin = time.perf_counter()
    moved = None
    while time.perf_counter() - begin < 10 and moved is None:
        next(it)
        if it.stats().python[0].executor == "process":
            moved = time.perf_counter() - begin
    for _ in range(500):
        next(it)
    n = 2000
    begin = time.perf_counter()
    for _ in range(n):
        next(it)
    rate = n / (time.perf_counter() - begin)
    it.close()
    when = "never moved" if moved is None else f"moved after {moved:.2f} s"
    return f"{rate * per_call:.2f}x serial, {when}"


@row("process-arrays", ">= 4230 arrays/s of 1 MiB")
def process_arrays() -> str:
    def make(x):
        return np.full(1 << 17, float(x))

    it = iter(ps.Dataset.counter().map(make, executor="process"))
    for _ in range(50):
        next(it)
    n = 3000
    begin = time.perf_counter()
    for _ in range(n):
        next(it)
    rate = n / (time.perf_counter() - begin)
    it.close()
    return f"{rate:.0f} arrays/s"


@row("process-scalars", ">= 1.7x serial at 10 us calls")
def process_scalars() -> str:
    def small(x):
        total = 0
        for i in range(400):
            total += i
        return total

    per_call = serial(small, 20_000) / 20_000
    it = iter(ps.Dataset.counter().map(small, executor="process"))
    for _ in range(20_000):
        next(it)
    n = 200_000
    begin = time.perf_counter()
    for _ in range(n):
        next(it)
    rate = n / (time.perf_counter() - begin)
    it.close()
    return f"{rate * per_call:.2f}x serial, call {per_call * 1e6:.1f} us"


def timed_program(source: str, runs: int = 5) -> float:
    """Seconds that a program prints, the best of some runs. The first, which
    may have to compile modules, does not count."""
    with tempfile.TemporaryDirectory() as compiled:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        outputs = []
        for _ in range(runs + 1):
            done = subprocess.run(
                [sys.executable, "-c", source],
                capture_output=True,
                text=True,
                check=True,
                env=env,
            )
            outputs.append(float(done.stdout))
    return min(outputs[1:])


@row("process-start", "<= 250 ms to the first result")
def process_start() -> str:
    seconds = timed_program(
        "import time, penstock as ps\n"
        "ds = ps.Dataset.range(1).map(lambda x: x, executor='process')\n"
        "t = time.perf_counter(); next(iter(ds)); print(time.perf_counter() - t)"
    )
    return f"{seconds * 1e3:.0f} ms"


@row("import", "<= NumPy + 50 ms")
def import_time() -> str:
    seconds = timed_program(
        "import time, numpy\nt = time.perf_counter()\nimport penstock\n"
        "print(time.perf_counter() - t)"
    )
    return f"NumPy + {seconds * 1e3:.0f} ms"


@row("first-batch", "<= 5 ms")
def first_batch() -> str:
    seconds = timed_program(
        "import time, penstock as ps\n"
        "t = time.perf_counter()\n"
        "next(iter(ps.Dataset.range(10**6).map(lambda x: x + 1).batch(32)))\n"
        "print(time.perf_counter() - t)"
    )
    return f"{seconds * 1e3:.1f} ms"


def main() -> None:
    assert threading.active_count() == 1
    names = sys.argv[1:] or list(ROWS)
    for name in names:
        promised, fn = ROWS[name]
        print(f"{name:16} {promised:34} {fn()}", flush=True)


if __name__ == "__main__":
    main()
