"""What the doctor measures beside the engine's counters.

Cores used by this process, its workers and others; threads that are not the
engine's; which lines of Python functions are hot. One thread looks every few
milliseconds; it costs well under two percent.
"""

from __future__ import annotations

import linecache
import statistics
import sys
import threading
import time
import types
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _penstock
from penstock._doctor_loop import take

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._doctor_facts import Plan

_PERIOD = 0.01  # seconds between two looks at the frames
_LEAST_LOOKS = 50  # fewer looks at the GIL say too little
_LEAST_SEEN = 10  # fewer looks at a function do not split its time


@dataclass
class CpuTimes:
    """Seconds so far, as `_penstock.ProcessClocks` reads them."""

    own: float = 0.0  # this process and its workers
    machine: float = 0.0  # everybody, on the cores we may use
    throttled: float = 0.0  # of the container, by its quota
    run_delay: float = 0.0  # engine threads and workers without a core; -1: ?
    threads: int = 0  # of this process and, main threads aside, its workers, now
    watching: float = 0.0  # threads that only watch: the engine's and our own
    beside: float = 0.0  # threads of workers that do not call functions

    def __sub__(self, other: CpuTimes) -> CpuTimes:
        told = self.run_delay >= 0 and other.run_delay >= 0
        return CpuTimes(
            self.own - other.own,
            self.machine - other.machine,
            self.throttled - other.throttled,
            self.run_delay - other.run_delay if told else -1.0,
            self.threads,
            self.watching - other.watching,
            # That of a worker which has ended since is not there any more.
            max(0.0, self.beside - other.beside),
        )


class Sampler:
    """Looks at the frames of Python functions while the pipeline runs.

    Those of this process; worker processes look at their own and send what they
    saw with their results.
    """

    def __init__(self, plan: Plan, consumer: bool = False) -> None:
        self._plan = plan
        self._codes = plan.codes
        self._nested = len(plan.nested)
        self._functions = plan.functions
        self._before: dict[str, dict[str, int]] = {}
        self._consumer = consumer  # the thread that starts and stops it is one
        self._lines: dict[str, Counter[tuple[str, int, str]]] = {}
        self._seen: Counter[str] = Counter()
        self.gil_busy = -1.0  # share of the time that the GIL was taken
        self.looks = 0
        self._base = 0, 0
        self._running = False
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="penstock-doctor", daemon=True
        )

    def start(self) -> None:
        self._running = True
        _penstock.watch_gil(True, self._consumer)
        self._base = _penstock.gil_use()
        if self._codes:
            self._before = {k: f.hot_lines() for k, f in self._functions.items()}
            _penstock.set_sampling(True)
            self._thread.start()

    def stop(self) -> None:
        if not self._running:
            return
        self._running = False
        self._stop.set()
        looks, taken = _penstock.gil_use()
        self.looks = looks - self._base[0]
        if self.looks >= _LEAST_LOOKS:
            self.gil_busy = (taken - self._base[1]) / self.looks
        _penstock.watch_gil(False, self._consumer)
        if self._codes:
            self._thread.join()
            _penstock.set_sampling(False)
            for stage, function in self._functions.items():
                self._add_remote(stage, function.hot_lines())

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD):
            self._look()

    def _look(self) -> None:
        if len(self._plan.nested) != self._nested:
            self._nested = len(self._plan.nested)
            self._codes = self._plan.codes
        for frame in sys._current_frames().values():
            at: types.FrameType | None = frame
            while at is not None:
                stage = self._codes.get(at.f_code)
                if stage is not None:
                    code = at.f_code
                    self._seen[stage] += 1
                    key = (code.co_filename, at.f_lineno, code.co_name)
                    self._lines.setdefault(stage, Counter())[key] += 1
                    break
                at = at.f_back

    def _add_remote(self, stage: str, seen: dict[str, int]) -> None:
        """What workers saw: "line, name, file" and how often, with tabs between."""
        before = self._before.get(stage, {})
        for text, count in seen.items():
            new = count - before.get(text, 0)
            if new > 0:
                line, function, file = text.split("\t", 2)
                key = (file, int(line), function)
                self._lines.setdefault(stage, Counter())[key] += new
                self._seen[stage] += new

    def share_of(self, stage: str, lines: set[int]) -> float:
        """How often stage's function was seen on these lines; -1: hardly looked at."""
        seen = self._seen[stage]
        if seen < _LEAST_SEEN:
            return -1.0
        return sum(n for k, n in self._lines[stage].items() if k[1] in lines) / seen

    def hot_lines(self, most: int = 5) -> dict[str, list[dict[str, Any]]]:
        """By stage: the lines that were seen most, with their share."""
        return {
            stage: [
                {
                    "file": file,
                    "line": line,
                    "function": function,
                    "text": linecache.getline(file, line).strip(),
                    "share": count / self._seen[stage],
                }
                for (file, line, function), count in lines.most_common(most)
            ]
            for stage, lines in self._lines.items()
        }


def calibrate() -> None:
    """Measures what is measured before, with pipelines that are nobody's: not
    while others are watched."""
    global _next_overhead
    call_overhead()
    _next_overhead = None  # all else is held against it
    next_overhead()
    string_overhead()
    first_element()
    native_row(False)
    native_row(True)


def _taking(ds: Dataset, seconds: float) -> float:
    """Seconds to take an element of `ds`, which has some."""
    run = take(ds, seconds, 0.3 * seconds)
    return run.wall_s / run.elements


_overhead: float | None = None


def call_overhead() -> float:
    """Seconds that the engine needs to call a Python function that does nothing,
    measured once: about a microsecond."""
    global _overhead
    if _overhead is None:
        from penstock._dataset import Dataset

        n = 20_000
        best = 1.0
        for _ in range(3):
            with (
                Dataset.range(n)
                .map(_nothing, num_parallel_calls=1, executor="thread")
                .iterator() as it
            ):
                for _ in it:
                    pass
                python = it.stats().python[0]
            best = min(best, python.gil_hold_ns / 1e9 / max(1, python.calls))
        _overhead = best
    return _overhead


_next_overhead: float | None = None


def next_overhead() -> float:
    """Seconds that taking an element takes that is ready: about half a
    microsecond."""
    global _next_overhead
    if _next_overhead is None:
        from penstock._dataset import Dataset

        batches = Dataset.range(1 << 40).batch(64)
        _next_overhead = min(_taking(batches, 0.01) for _ in range(4))
    return _next_overhead


_string_overhead: float | None = None


def string_overhead() -> float:
    """Seconds that each string in a batch adds to taking it, measured once: tens
    of nanoseconds."""
    global _string_overhead
    if _string_overhead is None:
        from penstock._dataset import Dataset

        rows = 64
        words = Dataset.from_list([b"word"] * rows)
        batches = words.repeat().batch(rows)
        wall = min(_taking(batches, 0.006) for _ in range(3))
        _string_overhead = max(0.0, wall - next_overhead()) / rows
    return _string_overhead


_first_element: float | None = None


def first_element() -> float:
    """Seconds from the start of a cheap pipeline to its first element, measured
    once: some tenths of a millisecond."""
    global _first_element
    if _first_element is None:
        from penstock._dataset import Dataset

        times = []
        for _ in range(9):
            with Dataset.range(64).batch(64).iterator() as it:
                began = time.perf_counter()
                next(it)
                times.append(time.perf_counter() - began)
        # Not the least: of a loop that lost its core meanwhile it is ready.
        _first_element = statistics.median(times)
    return _first_element


def strings_in(element: Any) -> int:
    """How many strings an element has."""
    if isinstance(element, bytes):
        return 1
    if isinstance(element, dict):
        return sum(map(strings_in, element.values()))
    if isinstance(element, tuple):
        return sum(map(strings_in, element))
    if isinstance(element, np.ndarray) and element.dtype == object:
        return element.size
    return 0


_native_row: dict[bool, float] = {}


def native_row(filters: bool) -> float:
    """CPU seconds per row that a cheap native map adds to a pipeline, or a filter
    that keeps half of the rows; measured once: some nanoseconds."""
    if filters not in _native_row:
        from penstock._dataset import Dataset

        rows = Dataset.range(1 << 20)
        kept = Dataset.range(1 << 19) if filters else rows
        stage = rows.filter(_is_even) if filters else rows.map(_more)
        added = _pass_cpu(stage) - _pass_cpu(kept)
        _native_row[filters] = max(0.2e-9, added / (1 << 20))
    return _native_row[filters]


def _pass_cpu(ds: Dataset) -> float:
    """CPU seconds of a pass over `ds` in batches, the best of some."""
    times = []
    for _ in range(4):
        began = time.process_time()
        with ds.batch(1024).iterator() as it:
            for _ in it:
                pass
        times.append(time.process_time() - began)
    return min(times)


def _is_even(x: Any) -> Any:
    return x % 2 == 0


def _more(x: Any) -> Any:
    return x + 1


def _nothing(x: Any) -> Any:
    return x
