"""The loop that takes elements: of the doctor, of its trials and of what it measures.

There is one, so that what is predicted and what is measured are taken alike.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock._device import DeviceDataset, TimedPut
from penstock._doctor_facts import Counters, Plan, plan_of
from penstock._iterator import Iterator

if TYPE_CHECKING:
    from penstock._dataset import Dataset

_MOST_ERRORS = 1000
_MOST_STEPS = 200_000  # durations of steps that are kept
_RISES = 1.1  # from one span to the next: it is still under way
_TELLING = 100  # elements of a span; the rate of fewer rises by chance
_MOST_SETTLING_S = 4.0
_MOST_WAIT = 10  # times what a run is to take, until it is given up
# A machine whose neighbours come and go is a third faster or slower from one second
# to the next, and a loop of microseconds a fifth from one iterator to the next:
# pipelines are compared in turns of new iterators, each turn by itself, by the mean of
# the middle half of the turns. (Of two speeds, a median is one or the other.) As many
# turns, at least and at most, as it takes to know it to this share.
_TURNS = (6, 15)
_KNOWN = 0.03


def fresh(dataset: Dataset) -> Dataset:
    """The same graph, with no iterations counted."""
    from penstock._dataset import Dataset

    copy: Dataset = object.__new__(Dataset)
    copy._native = _penstock.fresh_dataset(dataset._native)
    copy._recipe = dataset._recipe
    copy._functions = dataset._functions
    copy._options = dataset._options
    return copy


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0].strip()


class Loop:
    """Takes elements of a dataset, from the beginning again when there are no more.

    Each iterator is at iteration 0. Ending one and making another is the loop's own
    doing and is counted apart.
    """

    def __init__(
        self,
        ds: Dataset | DeviceDataset,
        plan: Plan,
        consumer: Callable[[Any], Any] | None = None,
        put: TimedPut | None = None,
    ) -> None:
        self._ds, self._plan = ds, plan
        self._consumer, self._put = consumer, put
        self.element: Any = None  # the last one
        self.errors = 0
        self.error = ""  # the first
        self.taken = 0
        self._passed = 0  # of those taken, when this pass began
        self._before = 0  # taken before it counted
        self.given_up = False  # no element came in time
        self._until = time.perf_counter()  # it is to take elements
        self._thinking = False
        self._timer: threading.Timer | None = None
        self._reset()
        self._start()

    def _start(self) -> None:
        if isinstance(self._ds, DeviceDataset):
            assert self._put is not None
            inner = fresh(self._ds._dataset)
            device = iter(DeviceDataset(inner, self._put, self._ds._n, self._ds._name))
            self._it: Any = device
            self.inner = device._lane.inner
        else:
            self._it = self.inner = Iterator(fresh(self._ds))
        self._next = iter(self._it).__next__
        # It is under way already: not what its counters say by now.
        self.base = Counters.at_start(self.inner)

    def give_up_after(self, seconds: float) -> None:
        """From then on the next element is waited for a little longer only."""
        patience = max(1.0, 0.5 * seconds)
        least = time.perf_counter() + seconds

        def look() -> None:
            left = max(least, self._until) + patience - time.perf_counter()
            if left <= 0 and not self._thinking:
                self.given_up = True
                self.inner.cancel()
            else:
                wait(max(left, 0.1 * patience))

        def wait(time_s: float) -> None:
            self._timer = threading.Timer(time_s, look)
            self._timer.daemon = True
            self._timer.start()

        wait(seconds + patience)

    def begin(self) -> None:
        """Counts from here."""
        self._reset()
        self.base = Counters.of(self.inner, self._plan)

    def _reset(self) -> None:
        self._passed -= self.taken
        self._before += self.taken
        self.taken = 0
        self.wait_s = self.think_s = self.think_cpu_s = 0.0
        self.steps: list[float] = []
        self.passes = 1
        self.restart_s = self.restart_cpu_s = 0.0
        self.seen = Counters()

    def end(self) -> Counters:
        """The counters since `begin`, of all iterators."""
        self.seen.add_difference(self.base, Counters.of(self.inner, self._plan))
        return self.seen

    def run(self, until: float) -> bool:
        """Takes elements until the clock says so; False: there are none."""
        clock, cpu_clock = time.perf_counter, time.thread_time
        consumer, self._until = self._consumer, until
        next_of, taken = self._next, self.taken
        element = self.element
        while (t0 := clock()) < until:
            try:
                if consumer is None:
                    # As short as the loop of somebody who only counts.
                    while clock() < until:
                        element = next_of()
                        taken += 1
                    self.wait_s += clock() - t0
                    continue
                element = next_of()
            except StopIteration:
                self.wait_s += clock() - t0
                if taken == self._passed:
                    return False
                self.taken = self._passed = taken
                self.restart()
                next_of = self._next
                continue
            except Exception as error:
                if self.given_up:
                    self.wait_s += clock() - t0
                    self.taken, self.element = taken, element
                    return False
                self.errors += 1
                self.error = self.error or _said(error)
                self._passed = min(self._passed, taken - 1)
                if self.errors > max(_MOST_ERRORS, 10 * (self._before + taken)):
                    raise
                self.wait_s += clock() - t0
                continue
            t1 = clock()
            self.wait_s += t1 - t0
            c0 = cpu_clock()
            self._thinking = True
            consumer(element)
            self._thinking = False
            self.think_cpu_s += cpu_clock() - c0
            if len(self.steps) < _MOST_STEPS:
                self.steps.append(clock() - t1)
            taken += 1
            self.think_s += clock() - t1
        self.taken, self.element = taken, element
        return True

    def settle(self, warm_s: float, most_s: float) -> bool:
        """Takes elements for `warm_s`, and on while the engine changes the pipeline
        (widths, or a function is on its way to worker processes) or it gets faster,
        as it does on new memory; not for much longer than `most_s`. False: there
        are none."""
        clock = time.perf_counter
        began = clock()
        some = self.run(began + 0.5 * warm_s)
        changes, rate = self._changes(), self._rate(began, 0, 0.0)
        span = 0.5 * warm_s
        while some:
            at, taken, restart_s = clock(), self.taken, self.restart_s
            some = self.run(at + span)
            age = clock() - began
            changed, changes = self._changes() != changes, self._changes()
            before, rate = rate, self._rate(at, taken, restart_s)
            rises = self.taken - taken > _TELLING and rate > _RISES * before
            span = 0.25 if changed else 0.5 * warm_s
            if age < min(3.0, 0.25 + most_s) and (changed or rises):
                continue
            if age > _MOST_SETTLING_S or not self._moves():
                break
        return some

    def _rate(self, at: float, taken: int, restart_s: float) -> float:
        span = time.perf_counter() - at - (self.restart_s - restart_s)
        return (self.taken - taken) / max(span, 1e-9)

    def _changes(self) -> int:
        return len(self.inner.counters()["decisions"])

    def _moves(self) -> bool:
        """A function is on its way to worker processes."""
        for stage in self._plan.stages:
            if stage.lowered is not None and stage.lowered.executor == "thread":
                reason = getattr(stage.lowered.handle, "reason", "")
                if reason.startswith("the GIL limited"):
                    return True
        return False

    def restart(self) -> None:
        """Begins a new pass over the data."""
        began, used = time.perf_counter(), time.process_time()
        self.seen.add_difference(self.base, Counters.of(self.inner, self._plan))
        self._it.close()
        self._start()
        self.passes += 1
        self.restart_s += time.perf_counter() - began
        self.restart_cpu_s += time.process_time() - used

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._it.close()


@dataclass(frozen=True)
class Taken:
    """Elements of a run, and the seconds and CPU seconds that they took."""

    elements: int
    wall_s: float
    cpu_s: float


def take(
    ds: Dataset | DeviceDataset,
    seconds: float,
    warm_s: float,
    consumer: Callable[[Any], Any] | None = None,
) -> Taken:
    """Elements of `ds` for `seconds`, by a new iterator that has settled."""
    inner = ds._dataset if isinstance(ds, DeviceDataset) else ds
    put = TimedPut(ds._put) if isinstance(ds, DeviceDataset) else None
    loop = Loop(ds, plan_of(inner), consumer, put)
    _penstock.watch_gil(True, True)  # which costs the doctor's loop a little
    loop.give_up_after(_MOST_WAIT * (warm_s + seconds))
    try:
        if not loop.settle(warm_s, seconds):
            return Taken(0, 0.0, 0.0)
        loop.begin()
        began, used = time.perf_counter(), time.process_time()
        some = loop.run(began + seconds)
        while some and not loop.taken:  # who had no core is no empty dataset
            some = loop.run(time.perf_counter() + seconds)
        wall = time.perf_counter() - began - loop.restart_s
        cpu = time.process_time() - used - loop.restart_cpu_s
    finally:
        _penstock.watch_gil(False, True)
        loop.close()
    return Taken(loop.taken, wall, cpu)


def in_turns(
    datasets: Sequence[Dataset | DeviceDataset],
    span_s: float,
    warm_s: float,
    consumer: Callable[[Any], Any] | None = None,
    turns: tuple[int, int] = _TURNS,
    most_s: float = math.inf,
) -> list[Taken] | None:
    """For each dataset its usual run of `span_s`; None: one of them gives nothing.
    There are as many turns as are needed to know it, between these two; after
    `most_s` no more than the least."""
    until = time.perf_counter() + most_s
    runs: list[list[Taken]] = [[] for _ in datasets]
    least, most = turns
    for turn in range(1, most + 1):
        for ds, of_it in zip(datasets, runs):
            run = take(ds, span_s, warm_s, consumer)
            if not run.elements:
                return None
            of_it.append(run)
        if turn < least:
            continue
        if time.perf_counter() > until or all(map(_is_known, _compared(runs))):
            break
    first, *others = _compared(runs)
    wall_s = [_usual(first), *(_usual(first) * _usual(ratios) for ratios in others)]
    cpu_s = [_usual([run.cpu_s / run.elements for run in of_it]) for of_it in runs]
    return [Taken(1, *spent) for spent in zip(wall_s, cpu_s)]


def _compared(runs: list[list[Taken]]) -> list[list[float]]:
    """Times of an element of the first, and of the others over that of the first,
    turn by turn."""
    times = [[run.wall_s / run.elements for run in of_it] for of_it in runs]
    first, *others = times
    return [first, *([b / a for a, b in zip(first, one)] for one in others)]


def _middle(values: list[float]) -> list[float]:
    """Without the least and the largest quarter."""
    cut = len(values) // 4
    return sorted(values)[cut : len(values) - cut]


def _usual(values: list[float]) -> float:
    return statistics.fmean(_middle(values))


def _is_known(values: list[float]) -> bool:
    """Whether another turn would hardly move the mean of the middle half."""
    middle = _middle(values)
    # Those cut off count as the last that was not.
    spread = statistics.stdev(min(middle[-1], max(middle[0], v)) for v in values)
    error = spread * math.sqrt(len(values)) / len(middle)
    return error < _KNOWN * _usual(values)
