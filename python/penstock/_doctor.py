"""`ps.doctor`: runs a pipeline, watches it, and says what limits it."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _arguments as check
from penstock import _doctor_files as files
from penstock import _doctor_probe as probe
from penstock import _doctor_trials as trials
from penstock import _penstock
from penstock._device import DeviceDataset, DeviceIterator, TimedPut
from penstock._doctor_facts import (
    Counters,
    Plan,
    Stage,
    plan_of,
    stage_facts,
)
from penstock._doctor_loop import Loop
from penstock._engine_of import as_given_by, engine_dataset
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._functions import check_callable, cpu_count
from penstock._iterator import Iterator
from penstock._report import (
    NOT_SPEED,
    Evidence,
    Finding,
    Fix,
    Report,
    StageRef,
    StageReport,
    Waits,
)
from penstock._watch import unwatched

if TYPE_CHECKING:
    from penstock._dataset import Dataset

_WINDOWS = 12
_AT_WORK = 0.05  # of the time: less is no reason that nothing comes


def doctor(
    ds: Dataset | DeviceDataset,
    seconds: float = 5.0,
    consumer: Callable[[Any], Any] | None = None,
    verify: bool = False,
) -> Report:
    """Runs `ds` for `seconds` and says what limits it, and what to do.

    `consumer(element)` stands for the training step; without it elements are
    taken as fast as they come. With `verify`, each fix that can be applied by
    itself is applied to a copy and measured. The dataset's own iterations are
    not counted; data that ends is begun again.

    >>> import time
    >>> import penstock as ps
    >>> def slow(x):
    ...     time.sleep(0.002)
    ...     return x
    >>> ds = ps.Dataset.range(10_000).map(slow, num_parallel_calls=1)
    >>> report = ps.doctor(ds, seconds=1.0)
    >>> report.bound, report.findings[0].code, str(report.findings[0].stage)
    ('pipeline', 'serial-stage', 'map#1')
    """
    from penstock._dataset import Dataset

    given, ds = ds, engine_dataset(ds)
    if not isinstance(ds, (Dataset, DeviceDataset)):
        raise ArgumentTypeError(
            f"doctor: ds must be a Dataset, got {type(ds).__name__}"
        )
    if not check.number("doctor", "seconds", seconds) > 0:
        raise InvalidArgumentError(f"doctor: seconds must be > 0, got {seconds}")
    if consumer is not None:
        check_callable("doctor", "consumer", consumer)
        consumer = as_given_by(given, consumer)
    observation = observe(ds, float(seconds), consumer)
    report = observation.report()
    if verify and report.elements:
        from penstock._what_if import verify_findings

        verify_findings(ds, report, observation, float(seconds), consumer)
    return report


def examine(it: Iterator | DeviceIterator, seconds: float = 2.0) -> Report:
    """`Iterator.doctor`: what limits a running iterator, without stopping it."""
    if not check.number("doctor", "seconds", seconds) > 0:
        raise InvalidArgumentError(f"doctor: seconds must be > 0, got {seconds}")
    if isinstance(it, Iterator):
        observation = Observation(plan_of(it._dataset), None)
        observation.watch(it, float(seconds))
        return observation.report()
    lane = it._lane
    observation = Observation(plan_of(lane.inner._dataset), None)
    observation.add_device(lane.n, lane.put, lane.name)
    taken, waited = lane.taken, lane.waited
    observation.watch(lane.inner, float(seconds))
    # To the engine the copying thread is the consumer.
    observation.elements = lane.taken - taken
    observation.wait_s = lane.waited - waited
    observation.think_s = max(0.0, observation.seconds - observation.wait_s)
    return observation.report()


def observe(
    ds: Dataset | DeviceDataset,
    seconds: float,
    consumer: Callable[[Any], Any] | None,
) -> Observation:
    """Runs `ds` and measures."""
    inner = ds._dataset if isinstance(ds, DeviceDataset) else ds
    probe.calibrate()
    observation = Observation(plan_of(inner), consumer)
    if isinstance(ds, DeviceDataset):
        observation.add_device(ds._n, TimedPut(ds._put), ds._name)
    observation.run(ds, seconds)
    return observation


class Observation:
    """One run under watch, or some seconds of a running iterator."""

    def __init__(self, plan: Plan, consumer: Callable[[Any], Any] | None) -> None:
        self.plan = plan
        self.consumer = consumer
        self.seen = Counters()
        self.seconds = 0.0
        self.elements = 0
        self.wait_s = 0.0
        self.think_s = 0.0
        self.think_cpu_s = 0.0
        self.windows: list[dict[str, float]] = []
        self.samples: list[dict[str, Any]] = []
        self.widths: dict[str, list[list[float]]] = {}
        self.clocks = _penstock.ProcessClocks()
        self.cpu = probe.CpuTimes()
        self.gil_busy = -1.0
        self.gil_looks = 0
        self.process_cpu_s = 0.0
        self.main_cpu_s = 0.0
        self.threads = 0
        self.steps: list[float] = []
        self.step_alone_s = 0.0
        self.step_alone_cpu_s = 0.0
        self.put: TimedPut | None = None
        self.put_s = 0.0
        self.put_idle_s = 0.0
        self.errors = 0  # elements that failed
        self.error = ""
        self.restart_s = 0.0  # between two passes over the data
        self.restart_cpu_s = 0.0
        self.passes = 1
        self.alone = False  # the doctor takes the elements, and nothing else runs
        self.strings = 0  # in an element
        self.empty = False  # the data ends before its first element
        self.given_up = False  # the next element did not come in time
        self.standing = False  # it was watched, and nothing moved
        self.hot: dict[str, list[dict[str, Any]]] = {}
        self.unused: dict[str, float] = {}  # share of time for nothing, by stage
        self._held: list[float] = []
        self._facts: dict[str, Any] | None = None

    def take(self, sampler: probe.Sampler) -> None:
        """What a sampler that has stopped saw."""
        self.hot = sampler.hot_lines()
        self.gil_busy, self.gil_looks = sampler.gil_busy, sampler.looks
        for stage in self.plan.stages:
            if stage.unused_lines:
                share = sampler.share_of(stage.label, stage.unused_lines)
                if share >= 0:
                    # All of it is said of branches only.
                    self.unused[stage.label] = min(share, 0.99)

    def add_device(self, n: int, put: TimedPut, name: str) -> None:
        last = len(self.plan.stages) - 1
        before = self.plan.stages[last].facts
        facts = {
            "label": f"prefetch_to_device#{before['index'] + 1}"
            + (f":{name}" if name else ""),
            "op": "prefetch_to_device",
            "index": before["index"] + 1,
            "name": name,
            "inputs": [last],
            "cardinality": before["cardinality"],
            "user_code": True,
            "source": False,
            "sequential": True,
        }
        self.plan.stages.append(Stage(facts, f"prefetch_to_device(n={n})", ""))
        self.plan.device = last + 1
        self.put = put

    # --- running ----------------------------------------------------------------

    def run(self, ds: Dataset | DeviceDataset, seconds: float) -> None:
        """Takes elements for `seconds`, the first part of them unwatched."""
        sampler = probe.Sampler(self.plan, consumer=True)
        self.alone = True
        loop = Loop(ds, self.plan, self.consumer, self.put)
        warm_s = min(1.0, 0.25 * seconds)
        begun = _Mark(self)
        loop.give_up_after(seconds)
        try:
            settled = loop.settle(warm_s, seconds)
            self.empty = not settled and not loop.given_up
            if loop.given_up:
                self.seen = loop.end()
                self._finish(begun, loop)
            elif settled:
                sampler.start()
                loop.begin()
                start = window = _Mark(self)
                window.wait_ns = loop.base.totals["consumer_wait_ns"]
                span = max(seconds - warm_s, 0.1)
                end = start.at + span
                while window.at < end:
                    some = loop.run(window.at + span / _WINDOWS)
                    window = self._window(window, loop.inner, loop.base, loop.taken)
                    if not some:
                        break
                self.seen = loop.end()
                self._finish(start, loop)
        finally:
            sampler.stop()
            loop.close()
        self.errors, self.error = loop.errors, loop.error
        self.given_up = loop.given_up
        self.take(sampler)
        self.strings = probe.strings_in(loop.element)
        if self.consumer is not None and self.elements:
            self._step_alone(self.consumer, loop.element)

    def _window(
        self, mark: _Mark, inner: Iterator, base: Counters, count: int
    ) -> _Mark:
        after = _Mark(self)
        span = after.at - mark.at
        used = after.cpu - mark.cpu
        counters = Counters.of(inner, self.plan)
        self.windows.append(
            {
                "seconds": span,
                "elements": float(count - mark.count),
                "other_cpu": max(0.0, (used.machine - used.own) / span),
                "throttled_s": used.throttled,
                "run_delay_s": used.run_delay,
            }
        )
        busy = {}
        t = sum(w["seconds"] for w in self.windows)
        for label, row in counters.stages.items():
            before = mark.busy.get(label, base.stages.get(label, {}).get("busy_ns", 0))
            after.busy[label] = row.get("busy_ns", 0)
            busy[label] = max(0.0, (after.busy[label] - before) / 1e9 / span)
            width = counters.now.get(label, {}).get("width", 0)
            if width:
                self.widths.setdefault(label, []).append([t, float(width)])
        self.samples.append(
            {
                "t": t,
                "rate": (count - mark.count) / span,
                "bytes_held": counters.memory["held"],
                "wait_share": self._wait_share(counters, mark, after, span),
                "busy": busy,
            }
        )
        self._held.append(float(counters.memory["held"]))
        self.threads = max(self.threads, used.threads)
        after.count = count
        return after

    def _wait_share(
        self, counters: Counters, mark: _Mark, after: _Mark, span: float
    ) -> float:
        after.wait_ns = counters.totals["consumer_wait_ns"]
        # An iterator that was made since then counts from nothing.
        before = mark.wait_ns if mark.wait_ns <= after.wait_ns else 0.0
        return min(1.0, (after.wait_ns - before) / 1e9 / span)

    def _finish(self, start: _Mark, loop: Loop) -> None:
        self.restart_s, self.restart_cpu_s = loop.restart_s, loop.restart_cpu_s
        self.passes, self.steps = loop.passes, loop.steps
        self.elements = loop.taken
        self.wait_s, self.think_s = loop.wait_s, loop.think_s
        self.think_cpu_s = loop.think_cpu_s
        self._finish_clocks(start)

    def _finish_counted(self, start: _Mark) -> None:
        """Of an iterator that somebody else drives: by its counters."""
        totals = self.seen.totals
        # next() has the element, but not yet the GIL: it still waits.
        regain = totals["consumer_gil_wait_ns"]
        self.wait_s = (totals["consumer_wait_ns"] + regain) / 1e9
        self.think_s = max(0.0, totals["consumer_think_ns"] - regain) / 1e9
        self.elements = int(totals["elements"])
        self._finish_clocks(start)

    def _finish_clocks(self, start: _Mark) -> None:
        end = _Mark(self)
        self.seconds = max(1e-9, end.at - start.at - self.restart_s)
        self.cpu = end.cpu - start.cpu
        self.process_cpu_s = end.process - start.process
        self.main_cpu_s = end.thread - start.thread
        if self.put is not None:
            self.put_s = self.put.seconds - start.put_s
            self.put_idle_s = self.put.idle - start.put_idle

    def _step_alone(self, consumer: Callable[[Any], Any], element: Any) -> None:
        """How long a step takes when no pipeline runs beside it."""
        usual = statistics.median(self.steps) if self.steps else 0.0
        if not 200e-6 <= usual <= 0.3:
            return
        time.sleep(0.02)  # what was under way ends
        times: list[float] = []
        cpu = time.thread_time()
        until = time.perf_counter() + 0.5
        while len(times) < 3 or (time.perf_counter() < until and len(times) < 15):
            began = time.perf_counter()
            consumer(element)
            times.append(time.perf_counter() - began)
        self.step_alone_s = statistics.median(times)
        self.step_alone_cpu_s = (time.thread_time() - cpu) / len(times)

    def watch(self, it: Iterator, seconds: float) -> None:
        """Looks at an iterator that somebody else drives."""
        probe.calibrate()
        sampler = probe.Sampler(self.plan)
        base = Counters.of(it, self.plan)
        start = mark = _Mark(self)
        start.wait_ns = base.totals["consumer_wait_ns"]
        sampler.start()
        count = base.totals["elements"]
        try:
            for _ in range(_WINDOWS):
                time.sleep(seconds / _WINDOWS)
                if it.closed:
                    break
                seen = int(Counters.of(it, self.plan).totals["elements"] - count)
                mark = self._window(mark, it, base, seen)
        finally:
            sampler.stop()
        self.take(sampler)
        after = base if it.closed else Counters.of(it, self.plan)
        self.seen.add_difference(base, after)
        self._finish_counted(start)
        if not self.elements:
            ready = any(pipe["ready_bytes"] for pipe in after.pipes[-1:])
            called = any(row.get("parallelism") for row in after.now.values())
            self.given_up = called and not ready
            self.standing = not called and not ready
        # What the consumer does since its last call shows only at its next.
        spent = self.wait_s + self.think_s
        if spent < self.seconds:
            self.think_s += self.seconds - spent

    # --- what comes of it -----------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """For the model; see src/penstock/doctor/facts.h."""
        if self._facts is not None:
            return self._facts
        looked = self.seconds / self.gil_looks if self.gil_busy >= 0 else 0.0
        stages = stage_facts(self.plan, self.seen, looked)
        for facts in stages:
            lines = self.hot.get(facts["label"])
            if lines:
                facts["hot_lines"] = "\n".join(
                    f"#  {100 * one['share']:.0f} %  line {one['line']}: {one['text']}"
                    for one in lines[:3]
                )
        for stage, facts in zip(self.plan.stages, stages):
            if stage.label in self.unused:
                facts["unused_share"] = self.unused[stage.label]
        _add_native_forms(self.plan, stages)
        if self.elements:
            with unwatched():
                trials.add_trials(self.plan, stages)
                if self.alone:  # another's calls are counted
                    files.add_files(self.plan, stages, self.seconds)
        staged = sum(s["cpu_s"] for s in stages)
        engine = (
            self.seen.cpu_budget
            + 4
            + sum(s["max_parallelism"] for s in stages if s["blocking"])
        )
        output = len(stages) - 1
        graph = [i for i, s in enumerate(stages) if s.get("parent", -1) < 0]
        output = graph[-1] if graph else output
        self._facts = {
            "stages": stages,
            "output": output,
            "seconds": self.seconds,
            "elements": float(self.elements),
            "consumer_wait_s": self.wait_s,
            "consumer_think_s": self.think_s,
            "consumer_cpu_s": self.think_cpu_s,
            "consumer_given": self.consumer is not None,
            "step_alone_s": self.step_alone_s,
            "step_alone_cpu_s": self.step_alone_cpu_s,
            "step_beside_s": statistics.median(self.steps) if self.steps else 0.0,
            "put_s": self.put_s,
            "put_wait_s": self.put_idle_s,
            "device": self.plan.device,
            "cores": self.seen.cpu_budget,
            "own_cpu_s": self.cpu.own,
            "foreign_cpu_s": max(
                0.0,
                self.process_cpu_s - staged - self.main_cpu_s - self.cpu.watching,
            )
            + self.cpu.beside,
            "engine_cpu_s": self._engine_cpu_s(staged),
            "foreign_threads": max(0, self.threads - engine),
            "other_cpu": max(0.0, self.cpu.machine - self.cpu.own)
            / max(self.seconds, 1e-9),
            "throttled_s": self.cpu.throttled,
            "bytes_held": statistics.fmean(self._held) if self._held else 0.0,
            "bytes_peak": float(self.seen.memory["peak"]),
            "memory_budget": float(self.seen.memory["budget"]),
            "call_overhead_s": probe.call_overhead(),
            "next_s": self._next_s(),
            "begin_s": self._begin_s(),
            "passes": self.passes,
            "native_row_s": probe.native_row(False),
            "native_filter_s": probe.native_row(True),
            "gil_busy": self.gil_busy,
            "run_delay_s": self.cpu.run_delay,
            "bounded": bool(stages) and stages[output].get("prefetch", -1) > 0,
            "windows": self.windows,
        }
        if self.alone and self.elements:
            with unwatched():
                trials.add_rest(self.plan, self._facts)
        return self._facts

    def _engine_cpu_s(self, staged: float) -> float:
        """CPU time of this process that neither stages nor steps used; -1 if it
        may have done other things beside."""
        if not self.alone:
            return -1.0
        apart = self.think_cpu_s + self.restart_cpu_s + self.cpu.watching
        return max(0.0, self.process_cpu_s - staged - apart)

    def _next_s(self) -> float:
        """Seconds of taking an element that is ready. Making its strings holds the
        GIL: it takes no longer than the GIL was seen taken."""
        least = probe.next_overhead()
        whole = least + self.strings * probe.string_overhead()
        if self.gil_busy < 0 or not self.elements:
            return whole
        seen = self.gil_busy * self.seconds / self.elements
        return min(whole, max(least, seen))

    def _begin_s(self) -> float:
        """Seconds of an output that went to beginning again where the data ended."""
        if self.passes == 1 or not self.elements:
            return 0.0
        return probe.first_element() * self.passes / self.elements

    def report(self) -> Report:
        """The verdict, with everything a viewer wants."""
        facts = self.facts()
        found = _penstock.doctor_diagnose(facts)
        stages = facts["stages"]
        report = Report(
            verdict=found["verdict"],
            bound=found["bound"],
            healthy=found["healthy"],
            throughput=self.elements / self.seconds if self.seconds else 0.0,
            unsure=found["unsure"],
            unsure_why=found["unsure_why"],
            predicted_throughput=(found["predicted"] or None)
            if self.elements
            else None,
            seconds=self.seconds,
            elements=self.elements,
            facts=facts,
            hot_lines=self.hot,
            samples=self.samples,
        )
        for one in found["findings"]:
            report.findings.append(self._finding(one, stages))
        limiting = found["limiting"]
        if not self.elements and (self.empty or self.given_up or self.errors):
            limiting = self._say_that_nothing_came(report, limiting)
        elif not self.elements and not self.alone:
            report.verdict = self._nothing_was_taken()
        elif self.errors:
            report.verdict = f"{report.verdict.removesuffix('.')}; {self._failed()}."
        for i, facts_of in enumerate(stages):
            report.stages.append(
                self._row(i, facts_of, found["ceilings"][i], i == limiting)
            )
        nodes = []
        for stage, row in zip(self.plan.stages, report.stages):
            nodes.append(
                {
                    "label": row.label,
                    "op": row.op,
                    "index": row.index,
                    "name": row.name,
                    "description": row.description,
                    "branch": stage.branch,
                    "inputs": [report.stages[k].label for k in stage.facts["inputs"]],
                }
            )
        output = report.stages[facts["output"]].label if report.stages else ""
        report.graph = {"nodes": nodes, "output": output}
        self._add_rest(report, found)
        return report

    def _say_that_nothing_came(self, report: Report, limiting: int) -> int:
        """Gives the stage that nothing comes out of; -1 if it is not known."""
        report.bound = "pipeline"
        # Nothing is known of a gain over nothing.
        kept = NOT_SPEED - {"cpu-saturated"}
        report.findings = [f for f in report.findings if f.code in kept]
        if self.empty:
            report.verdict = "The pipeline gave no elements: the dataset is empty."
            return -1
        report.healthy = False
        waited = f"no element came in {self.seconds:.3g} s"
        if self.errors:
            report.verdict = f"The pipeline is the limit: {waited}, {self._failed()}."
            return -1
        stages = report.facts["stages"]
        # What a call takes is counted at its end.
        silent = [i for i, s in enumerate(stages) if _calls_are_under_way(s)]
        where = ""
        if silent:
            limiting = silent[0]
            where = f"; no call of {stages[limiting]['label']} has come back"
        elif limiting >= 0 and stages[limiting]["busy_s"] > _AT_WORK * self.seconds:
            where = f"; {stages[limiting]['label']} works most"
        else:
            limiting = -1
        report.verdict = f"The pipeline is the limit: {waited}{where}."
        return limiting

    def _nothing_was_taken(self) -> str:
        """Of an iterator that somebody else drives."""
        taken = f"The consumer is the limit: it took no element in {self.seconds:.3g} s"
        if not self.standing:
            return f"{taken}."
        return (
            f"{taken}, and nothing is under way: the iterator is at its end, closed, "
            "or was not asked yet."
        )

    def _failed(self) -> str:
        elements = "element" if self.errors == 1 else "elements"
        return f"{self.errors} {elements} failed, the first with {self.error}"

    def _finding(self, one: dict[str, Any], stages: list[dict[str, Any]]) -> Finding:
        at = stages[one["stage"]]
        evidence = [Evidence(**e) for e in one["evidence"]]
        if one["code"] in ("python-gil", "python-overhead", "trace-refused",
                           "serial-stage", "oversubscribed"):  # fmt: skip
            for line in self.hot.get(at["label"], [])[:3]:
                evidence.append(
                    Evidence(
                        f"hot line {os.path.basename(line['file'])}:{line['line']} "
                        f"`{line['text']}`",
                        100 * line["share"],
                        "%",
                    )
                )
        return Finding(
            one["code"],
            one["severity"],
            StageRef(at["op"], at["index"], at["name"] or None, at["label"]),
            one["cause"],
            evidence,
            Fix(one["fix"], one["fix_code"]),
            one["speedup"],
        )

    def _row(
        self, i: int, s: dict[str, Any], ceiling: dict[str, Any], limiting: bool
    ) -> StageReport:
        n = max(1.0, s["elements"])
        cores = max(1, self.seen.cpu_budget)
        seconds = max(self.seconds, 1e-9)
        return StageReport(
            label=s["label"],
            op=s["op"],
            index=s["index"],
            name=s["name"] or None,
            description=self.plan.stages[i].description,
            elements=int(s["elements"]),
            bytes=int(s["bytes"]),
            rate=s["elements"] / seconds,
            service_us=1e6 * max(0.0, s["busy_s"] - s["gil_wait_s"]) / n,
            cpu_us=1e6 * (s["cpu_s"] + s["worker_cpu_s"]) / n,
            busy_share=s["busy_s"] / seconds,
            cpu_share=(s["cpu_s"] + s["worker_cpu_s"]) / seconds / cores,
            waits=Waits(
                s["wait_input_s"],
                s["wait_output_s"],
                s["wait_memory_s"],
                s["wait_order_s"],
                s["gil_wait_s"],
                s["read_s"] + s["open_s"],
            ),
            parallelism_mean=s["busy_s"] / seconds,
            parallelism_max=s["max_parallelism"],
            width=s["width"],
            width_over_time=self.widths.get(s["label"], []),
            ceiling=ceiling["rate"] or None,
            ceiling_kind=ceiling["kind"],
            executor=s.get("executor", ""),
            blocking=s["blocking"],
            limiting=limiting,
        )

    def _add_rest(self, report: Report, found: dict[str, Any]) -> None:
        wait_s, think_s = found["consumer_wait_s"], found["consumer_think_s"]
        spent = wait_s + think_s
        report.consumer = {
            "wait_s": wait_s,
            "think_s": think_s,
            "wait_share": wait_s / spent if spent else 0.0,
            "think_us": 1e6 * think_s / max(1, self.elements),
            "given": self.consumer is not None,
        }
        report.memory = dict(self.seen.memory)
        report.pipes = [
            {
                "stages": p["stages"],
                "ready_bytes": p["ready_bytes"],
                "block_rows": p["block_rows"],
                **{
                    f"{k.removesuffix('_ns')}_s": p[k] / 1e9
                    for k in p
                    if k.endswith("_ns")
                },
            }
            for p in self.seen.pipes
        ]
        report.decisions = [
            {
                "at_s": d["at_ns"] / 1e9,
                "stage": d["stage"],
                "what": d["what"],
                "reason": d["reason"],
            }
            for d in self.seen.decisions[-200:]
        ]
        import penstock

        seconds = max(self.seconds, 1e-9)
        report.machine = {
            "cores": cpu_count(),
            "cpu_budget": self.seen.cpu_budget,
            "python": sys.version.split()[0],
            "numpy": np.__version__,
            "penstock": penstock.__version__,
            "platform": platform.platform(),
            "cpu_used": self.cpu.own / seconds,
            "cpu_other": max(0.0, self.cpu.machine - self.cpu.own) / seconds,
        }


def _calls_are_under_way(stage: dict[str, Any]) -> bool:
    """Calls of a Python function wait, and none has given an element."""
    native = stage.get("executor", "") == "native"
    waits = stage["blocking"] and stage["user_code"] and not native
    return bool(waits and not stage["elements"])


class _Mark:
    """Clocks of a moment."""

    def __init__(self, observation: Observation) -> None:
        self.at = time.perf_counter()
        self.cpu = probe.CpuTimes(*observation.clocks.read())
        self.process = time.process_time()
        self.thread = (
            time.thread_time()
            if threading.current_thread() is threading.main_thread()
            else 0.0
        )
        self.count = 0
        self.wait_ns = 0.0
        self.busy: dict[str, float] = {}
        put = observation.put
        self.put_s = put.seconds if put else 0.0
        self.put_idle = put.idle if put else 0.0


def _add_native_forms(plan: Plan, stages: list[dict[str, Any]]) -> None:
    """Code that would run natively, for functions that run in Python."""
    from penstock import _native_form

    for stage, facts in zip(plan.stages, stages):
        if facts.get("executor") == "thread" and stage.fn is not None:
            calls = facts["calls"]
            if calls and facts["gil_hold_s"] / calls < 20e-6:
                facts["native_form"] = _native_form.suggest(stage)
        elif facts.get("executor") == "process" and facts["executor_forced"]:
            facts["native_form"] = _native_form.as_it_is(stage)
