"""Measures the Python package: what is promised beside what was measured.

    .venv/bin/python benchmarks/python/run.py [--peers tfdata,torch] [row ...]

Every figure is the median of interleaved repetitions, with its spread; ratios
are taken inside a repetition. `--peers` measures those engines beside, in the
environments of benchmarks/peers. Writes build/bench-python.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import penstock as ps

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REPEATS = 5


@dataclasses.dataclass
class Figure:
    """What was measured: all repetitions, in the unit of the promise."""

    values: list[float]
    note: str = ""
    ratios: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclasses.dataclass(frozen=True)
class Row:
    """`limit` is the most that may be measured, or the least."""

    fn: Callable[..., Figure]
    unit: str
    limit: float
    least: bool
    peers: tuple[str, ...]

    def kept(self, value: float) -> bool:
        return value >= self.limit if self.least else value <= self.limit


ROWS: dict[str, Row] = {}


def row(name, unit, most=None, least=None, peers=()):
    """A row; its function takes one reading for each of `peers` that is there
    as {name: function that gives the peer's figure}."""

    def add(fn):
        limit = most if least is None else least
        ROWS[name] = Row(fn, unit, limit, least is not None, peers)
        return fn

    return add


def count(items: Iterable[Any]) -> int:
    n = 0
    for _ in items:
        n += 1
    return n


def seconds(fn: Callable[[], object]) -> float:
    begin = time.perf_counter()
    fn()
    return time.perf_counter() - begin


def beside(ours: Callable[[], float], peers: dict[str, Callable[[], float]]) -> Figure:
    """Ours and the peers', interleaved; a ratio says how many times ours."""
    figure = Figure([], ratios={name: [] for name in peers})
    for _ in range(REPEATS):
        own = ours()
        figure.values.append(own)
        for name, theirs in peers.items():
            figure.ratios[name].append(theirs() / own)
    return figure


# --- elements ----------------------------------------------------------------


@row("batches", "ns per element", most=3, peers=("tfdata P1", "torch P1"))
def batches(peers) -> Figure:
    n = 1024 * 40_000
    ds = ps.Dataset.range(n).map(lambda x: x + 1).batch(1024)
    first, *_, last = (b for b in ds.take(3))
    assert first[0] == 1 and last[-1] == 3 * 1024
    assert count(ds) == n // 1024
    return beside(lambda: seconds(lambda: count(ds)) / n * 1e9, peers)


@row("elements", "ns per element", most=250, peers=("tfdata P2", "torch P2"))
def elements(peers) -> Figure:
    n = 1_000_000
    ds = ps.Dataset.range(n).map(lambda x: x + 1)
    assert sum(ds) == n * (n + 1) // 2
    return beside(lambda: seconds(lambda: count(ds)) / n * 1e9, peers)


@row("thread-calls", "ns per element", most=800)
def thread_calls(peers) -> Figure:
    n = 300_000
    ds = ps.Dataset.range(n).map(lambda x: x, executor="thread").batch(1024)
    assert sum(int(b.sum()) for b in ds) == n * (n - 1) // 2
    return beside(lambda: seconds(lambda: count(ds)) / n * 1e9, peers)


@row("gil-reacquire", "ms, p99", most=6)
def gil_reacquire(peers) -> Figure:
    def busy(x):
        total = 0
        for _ in range(3000):
            total += 1
        return total

    def p99() -> float:
        with iter(ps.Dataset.counter().map(busy, executor="thread")) as it:
            assert next(it) == 3000
            waits = []
            end = time.perf_counter() + 2
            while time.perf_counter() < end:
                time.sleep(0.001)
                begin = time.perf_counter()
                time.sleep(0)  # gives the GIL up and takes it back
                waits.append(time.perf_counter() - begin)
        return float(np.percentile(waits, 99)) * 1e3

    return beside(p99, peers)


# --- datasets in datasets ------------------------------------------------------


def inner(method: str, fn: Callable[..., Any], n: int, peers) -> Figure:
    ds = getattr(ps.Dataset.range(n), method)(fn)
    assert count(ds) == 3 * n
    return beside(lambda: seconds(lambda: count(ds)) / n * 1e6, peers)


def built_in_python(x):
    # getattr by a name that is not constant keeps it from being traced.
    return getattr(ps.Dataset, os.environ.get("PENSTOCK_SOURCE", "range"))(3)


def traced(x):
    return ps.Dataset.range(3)


@row("flat_map-python", "us per inner dataset", most=30)
def flat_map_python(peers) -> Figure:
    return inner("flat_map", built_in_python, 10_000, peers)


@row("interleave-python", "us per inner dataset", most=30)
def interleave_python(peers) -> Figure:
    return inner("interleave", built_in_python, 10_000, peers)


@row("flat_map-traced", "us per inner dataset", most=1)
def flat_map_traced(peers) -> Figure:
    return inner("flat_map", traced, 100_000, peers)


@row("interleave-traced", "us per inner dataset", most=1)
def interleave_traced(peers) -> Figure:
    return inner("interleave", traced, 100_000, peers)


# --- processes -----------------------------------------------------------------


def burn(x):
    total = 0
    for i in range(20_000):
        total += i * i
    return total


def serial(fn, n: int) -> float:
    """Calls a second of a plain loop."""
    begin = time.perf_counter()
    for i in range(n):
        fn(np.int64(i))
    return n / (time.perf_counter() - begin)


def sustained(ds: ps.Dataset, n: int, ready=lambda it: None) -> float:
    """Elements a second of an iterator of its own, from when it is `ready` and
    a quarter more has been taken: no reading may live on what an idle pipeline
    has prepared, nor run beside one that still prepares."""
    with iter(ds) as it:
        next(it)
        ready(it)
        for _ in range(n // 4):
            next(it)
        begin = time.perf_counter()
        for _ in range(n):
            next(it)
        return n / (time.perf_counter() - begin)


def two_bare_processes(fn, n: int) -> float:
    """Calls a second of two plain loops side by side."""
    source = inspect.getsource(fn) + inspect.getsource(serial)
    source += f"""
import sys, time
import numpy as np
serial({fn.__name__}, 10)
print(flush=True)
sys.stdin.readline()
print(serial({fn.__name__}, {n}))
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    two = [subprocess.Popen([sys.executable, "-c", source], **pipes) for _ in "12"]
    for process in two:
        process.stdout.readline()
    for process in two:
        process.stdin.write("\n")
        process.stdin.flush()
    return sum(float(process.communicate()[0]) for process in two)


@row("auto-cpu-bound", "x serial", least=1.9)
def auto_cpu_bound(peers) -> Figure:
    ds = ps.Dataset.counter().map(burn)
    assert ds.take(3).to_list() == [burn(0)] * 3
    figure, bare = Figure([]), []
    for _ in range(2 * REPEATS + 1):
        # What one core does changes while the others do something else.
        one = serial(burn, 150)
        rate = sustained(ds, 1000, moved_to_processes)
        one = (one + serial(burn, 150)) / 2
        figure.values.append(rate / one)
        bare.append(two_bare_processes(burn, 500) / one)
    figure.note = f"two bare processes {statistics.median(bare):.2f}"
    return figure


@row("auto-moves", "s until in processes", most=1)
def auto_moves(peers) -> Figure:
    figure = Figure([])
    for _ in range(REPEATS):
        with iter(ps.Dataset.counter().map(burn)) as it:
            figure.values.append(moved_to_processes(it))
    return figure


def moved_to_processes(it) -> float:
    begin = time.perf_counter()
    while it.stats().python[0].executor != "process":
        if time.perf_counter() - begin > 10:
            return float("inf")
        next(it)
    return time.perf_counter() - begin


def mebibyte(x):
    return np.full(1 << 18, x, np.float32)


@row("process-arrays", "x torch", least=5, peers=("torch P6b",))
def process_arrays(peers) -> Figure:
    return arrays(ps.Dataset.counter().map(mebibyte, executor="process"), 1, peers)


@row("process-arrays-8", "x torch", least=5, peers=("torch P6c",))
def process_arrays_8(peers) -> Figure:
    ds = ps.Dataset.counter().map(mebibyte, executor="process").batch(8)
    return arrays(ds, 8, peers)


def arrays(ds: ps.Dataset, batch: int, peers) -> Figure:
    """The figure is the ratio itself; without the peer it cannot be given."""
    second = np.ravel(ds.take(2).to_list()[1])
    assert second[0] == batch and len(second) == batch << 18
    figure = beside(lambda: 1 / (sustained(ds, 2000 // batch) * batch), peers)
    figure.note = f"{1 / figure.median:,.0f} arrays/s"
    figure.values = next(iter(figure.ratios.values()), [float("nan")])
    return figure


@row("process-scalars", "x serial", least=1.7)
def process_scalars(peers) -> Figure:
    def small(x):
        total = 0
        for i in range(300):
            total += i
        return total

    ds = ps.Dataset.counter().map(small, executor="process")
    assert ds.take(3).to_list() == [small(0)] * 3
    figure, calls = Figure([]), []
    for _ in range(REPEATS):
        calls.append(serial(small, 20_000))
        figure.values.append(sustained(ds, 60_000) / calls[-1])
    figure.note = f"calls of {1e6 / statistics.median(calls):.0f} us"
    return figure


# --- start ---------------------------------------------------------------------


def printed(source: str, peers, repeats: int = REPEATS) -> Figure:
    """What a program prints. The first run, which may have to compile modules,
    does not count."""
    with tempfile.TemporaryDirectory() as compiled:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def run() -> float:
            done = subprocess.run(
                [sys.executable, "-c", source],
                capture_output=True,
                text=True,
                check=True,
                env=env,
            )
            return float(done.stdout)

        run()
        return beside(run, peers)


FIRST_RESULT = """
import time, penstock as ps
{before}
ds = ps.Dataset.range(1).map(lambda x: x, executor="process")
begin = time.perf_counter()
assert next(iter(ds)) == 0
print((time.perf_counter() - begin) * 1e3)
"""
SERVING = """
def busy(x):
    return sum(range(2000))
other = iter(ps.Dataset.counter().map(busy, executor="thread"))
next(other)
import threading
def serve():
    for _ in other:
        pass
threading.Thread(target=serve, daemon=True).start()
time.sleep(0.2)
"""


@row("process-start", "ms to the first result", most=250)
def process_start(peers) -> Figure:
    return printed(FIRST_RESULT.format(before=""), peers)


@row("process-start-busy", "ms to the first result", most=450)
def process_start_busy(peers) -> Figure:
    source = FIRST_RESULT.format(before=SERVING) + "import os\n"
    return printed(source + "import sys; sys.stdout.flush(); os._exit(0)", peers)


@row("worker-imports", "foreign modules", most=0)
def worker_imports(peers) -> Figure:
    def foreign(x):
        import sys

        ours = {"numpy", "cloudpickle", "penstock", "__main__", "__mp_main__"}
        names = {name.partition(".")[0] for name in sys.modules}
        return str(sorted(names - ours - set(sys.stdlib_module_names)))

    (found,) = ps.Dataset.range(1).map(foreign, executor="process").to_list()
    names = [n for n in eval(found.decode()) if not n.startswith(("_", "sitecustom"))]
    return Figure([float(len(names))], note=", ".join(names))


@row("import", "ms after NumPy", most=50)
def import_time(peers) -> Figure:
    return printed(
        "import time, numpy\nbegin = time.perf_counter()\nimport penstock\n"
        "print((time.perf_counter() - begin) * 1e3)",
        peers,
    )


@row("first-batch", "ms", most=5, peers=("tfdata P10", "torch P10"))
def first_batch(peers) -> Figure:
    return printed(
        "import time, penstock as ps\nbegin = time.perf_counter()\n"
        "ds = ps.Dataset.range(10_000).map(lambda x: x + 1).batch(100)\n"
        "batch = next(iter(ds))\n"
        "taken = time.perf_counter() - begin\n"
        "assert batch.tolist() == list(range(1, 101))\nprint(taken * 1e3)",
        peers,
    )


# --- peers and results ---------------------------------------------------------


class Peers:
    """The engines of benchmarks/peers, started when a row needs them."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._started: dict[str, Any] = {}

    def readings(self, wanted: tuple[str, ...], unit: str):
        """{engine: function that gives its figure, in the unit of the row}"""
        factor = {"ns per element": 1e9, "ms": 1e3}.get(unit, 1.0)
        found = {}
        for peer in wanted:
            name, code = peer.split()
            if name in self._names:
                found[name] = self._reading(self._engine(name), code, factor)
        return found

    def _reading(self, engine, code: str, factor: float):
        if code == "P10":
            return lambda: engine.fresh("P10") * factor
        n = {"P6b": 600, "P6c": 600, "P1": 10_240, "P2": 2_000}[code]
        if code in ("P1", "P2"):
            n = engine.ask("grow", code, n)["n"]
        return lambda: engine.ask("time", code, n)["seconds"] / n * factor

    def _engine(self, name: str):
        if name not in self._started:
            sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))
            import engine
            import environments

            python = environments.interpreter(name, environments.home(), {})
            self._started[name] = engine.Engine(name, python, ROOT, 1.0)
        return self._started[name]

    def close(self) -> None:
        for engine in self._started.values():
            engine.close()


def line(name: str, about: Row, figure: Figure) -> str:
    sign = ">=" if about.least else "<="
    state = "kept" if about.kept(figure.median) else "MISSED"
    if figure.median != figure.median:
        state = "needs --peers torch"
    text = (
        f"{name:19} {sign} {about.limit:<5g} {about.unit:24} {figure.median:8.3g} "
        f"({min(figure.values):.3g} to {max(figure.values):.3g}) {state}"
    )
    if figure.note:
        text += f", {figure.note}"
    for peer, ratios in figure.ratios.items():
        if about.unit.startswith("x "):
            continue  # the figure is that ratio
        text += f", {peer} {statistics.median(ratios):,.3g} times that"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="row", help=", ".join(ROWS))
    parser.add_argument("--peers", default="", help="tfdata,torch")
    parser.add_argument("--json", default=str(ROOT / "build" / "bench-python.json"))
    args = parser.parse_args()
    unknown = set(args.rows) - set(ROWS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    assert threading.active_count() == 1
    peers = Peers([name for name in args.peers.split(",") if name])
    result = {}
    try:
        for name in args.rows or ROWS:
            about = ROWS[name]
            figure = about.fn(peers.readings(about.peers, about.unit))
            print(line(name, about, figure), flush=True)
            result[name] = {
                "unit": about.unit,
                "limit": about.limit,
                "least": about.least,
                "kept": about.kept(figure.median),
                **dataclasses.asdict(figure),
            }
    finally:
        peers.close()
    path = pathlib.Path(args.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
