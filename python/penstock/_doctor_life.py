"""The doctor's view of a whole iterator: from its start to now, or to its end.

`ps.report` looks back: counters since the iterator was made, nothing sampled.
`Life` goes along with an iterator that a script drives (`penstock doctor`) and
also knows hot lines, the machine's load, and how it went over time. Neither
stops or slows the iterator.
"""

from __future__ import annotations

import os
import threading
import time

from penstock import _doctor_probe as probe
from penstock._device import DeviceIterator
from penstock._doctor import Observation, _Mark
from penstock._doctor_facts import Counters, plan_of
from penstock._engine_of import engine_iterator
from penstock._errors import ArgumentTypeError
from penstock._history import History
from penstock._iterator import Iterator
from penstock._report import Report

_FIRST_WINDOW = 0.25  # seconds


def life_report(it: Iterator) -> Report:
    """What limited `it` since it was made."""
    plan = plan_of(it._dataset)
    observation = Observation(plan, None)
    start = _Mark(observation)
    start.at, start.process, start.thread = it._began
    used = time.process_time() - start.process
    # Others' share of the past is not known; it counts as none.
    start.cpu = start.cpu - probe.CpuTimes(used, used)
    start.cpu.run_delay = -1.0
    return _conclude(observation, it, Counters.at_start(it), start)


def _conclude(
    observation: Observation, it: Iterator, base: Counters, start: _Mark
) -> Report:
    observation.seen.add_difference(base, Counters.of(it, observation.plan))
    if threading.current_thread() is not threading.main_thread():
        start.thread = 0.0
    observation._finish_counted(start)
    # Once the data has ended nobody waits any more.
    spent = observation.wait_s + observation.think_s
    observation.seconds = max(1e-9, min(observation.seconds, spent))
    return observation.report()


class Life:
    """Goes along with one iterator, from its start; `tick` it now and then."""

    def __init__(self, it: Iterator) -> None:
        self._plan = plan_of(it._dataset)
        self._observation = Observation(self._plan, None)
        self._base = Counters.at_start(it)
        self._start = self._mark = _Mark(self._observation)
        self._history = History()
        self._history.add(it.counters())
        self._sampler = probe.Sampler(self._plan)
        self._sampler.start()

    def tick(self, it: Iterator) -> None:
        """Notes how things stand."""
        self._history.add(it.counters())
        # Windows grow with the run: a few hundred in an hour.
        age = time.perf_counter() - self._start.at
        since = time.perf_counter() - self._mark.at
        if since >= max(_FIRST_WINDOW, age / 40):
            count = int(Counters.of(it, self._plan).totals["elements"])
            window = self._observation._window
            self._mark = window(self._mark, it, self._base, count)

    def finish(self, it: Iterator) -> Report:
        """What limited it; nothing may follow."""
        self.tick(it)
        self._sampler.stop()
        self._observation.take(self._sampler)
        report = _conclude(self._observation, it, self._base, self._start)
        report.samples = self._history.samples
        for stage in report.stages:
            stage.width_over_time = self._history.widths(stage.label)
        return report


def report(
    it: Iterator | DeviceIterator, path: str | os.PathLike[str] | None = None
) -> Report:
    """What limited `it` since it was made; with `path` also as one HTML page.

    May be called at any time until the iterator is closed, also after its data
    has ended, and does not disturb it.

    >>> import os, tempfile
    >>> import penstock as ps
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> it = iter(ps.Dataset.range(1000).map(lambda x: x + 1).batch(10))
    >>> for batch in it: pass
    >>> ps.report(it, path).elements
    100
    >>> os.path.exists(path)
    True
    >>> ps.report(it).bound in ("pipeline", "consumer", "balanced")
    True
    """
    it = engine_iterator(it)
    if isinstance(it, DeviceIterator):
        it = it._lane.inner
    if not isinstance(it, Iterator):
        raise ArgumentTypeError(
            f"report: it must be an Iterator, got {type(it).__name__}; for a Dataset "
            "there is doctor(ds).to_html(path)"
        )
    found = life_report(it)
    if path is not None:
        found.to_html(path)
    return found
