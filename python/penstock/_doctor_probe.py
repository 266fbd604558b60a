"""What the doctor measures beside the engine's counters.

Cores used by this process, its workers and others; threads that are not the
engine's; which lines of Python functions are hot. One thread looks every few
milliseconds; it costs well under two percent.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
import time
import types
from collections import Counter
from dataclasses import dataclass
from typing import Any

from penstock import _penstock

_PERIOD = 0.01  # seconds between two looks at the frames
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class CpuTimes:
    """CPU seconds so far."""

    own: float = 0.0  # this process and its children
    machine: float = 0.0  # everybody, on the cores we may use
    throttled: float = 0.0  # of the container, by its quota

    def __sub__(self, other: CpuTimes) -> CpuTimes:
        return CpuTimes(
            self.own - other.own,
            self.machine - other.machine,
            self.throttled - other.throttled,
        )


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def children(pid: int) -> list[int]:
    """Processes that `pid` started, and those that they did."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        found += [int(c) for c in _read(f"/proc/{pid}/task/{task}/children").split()]
    for child in list(found):
        try:
            found += children(child)
        except OSError:
            continue
    return found


def process_cpu(pid: int) -> float:
    """CPU seconds of one process so far, 0 if it is gone."""
    text = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(text[11]) + int(text[12])) / _TICK if len(text) > 12 else 0.0


def cpu_times() -> CpuTimes:
    """Of this moment; nothing where the system does not tell."""
    own = time.process_time()
    try:
        own += sum(map(process_cpu, children(os.getpid())))
    except OSError:
        pass
    cores = os.sched_getaffinity(0)
    machine = 0.0
    for line in _read("/proc/stat").splitlines():
        name, _, rest = line.partition(" ")
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            f = [int(x) for x in rest.split()]
            # user nice system irq softirq steal
            machine += (f[0] + f[1] + f[2] + sum(f[5:8])) / _TICK
    throttled = 0.0
    for line in _read("/sys/fs/cgroup/cpu.stat").splitlines():
        key, _, value = line.partition(" ")
        if key == "throttled_usec":
            throttled = int(value) / 1e6
    return CpuTimes(own, machine, throttled)


# Names of threads that work for the pipeline; everybody else's are foreign.
_ENGINE = ("ps-", "penstock", "ps.")


def thread_times() -> dict[int, tuple[str, float]]:
    """Name and CPU seconds of every thread of this process."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        text = _read(f"/proc/self/task/{task}/stat")
        name = text.partition("(")[2].rpartition(")")[0]
        rest = text.rpartition(")")[2].split()
        if len(rest) > 12:
            found[int(task)] = name, (int(rest[11]) + int(rest[12])) / _TICK
    return found


class Sampler:
    """Looks at the frames of Python functions while the pipeline runs."""

    def __init__(self, codes: dict[types.CodeType, str]) -> None:
        self._codes = codes
        self._lines: dict[str, Counter[tuple[str, int, str]]] = {}
        self._seen: Counter[str] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="penstock-doctor", daemon=True
        )

    def start(self) -> None:
        if self._codes:
            _penstock.set_sampling(True)
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._codes:
            self._thread.join()
            _penstock.set_sampling(False)

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD):
            self._look()

    def _look(self) -> None:
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


def _nothing(x: Any) -> Any:
    return x
