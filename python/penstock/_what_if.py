"""What a change would bring: by the model, and by trying it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock._device import DeviceDataset
from penstock._errors import ArgumentTypeError, Error, InvalidArgumentError
from penstock._functions import EXECUTORS
from penstock._options import AUTOTUNE, Options
from penstock._recipe import _map_datasets
from penstock._report import Report

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._doctor import Observation

    _Edit = Callable[[Dataset, Dataset], Dataset]

_KNOWN = ("executor", "num_parallel_calls", "cache", "prefetch", "batch")
_READERS = ("tfrecord", "text_lines", "csv", "jsonl", "tar", "interleave", "flat_map")
_SPAN = 0.3  # of the time that the doctor looks, for a turn of two that are compared


@dataclass(frozen=True)
class WhatIf:
    """The rate after a change, by the model, and what would limit then."""

    throughput: float  # output elements/s
    speedup: float
    limit: str  # "cores", "width", "serial", "gil", "wait", "consumer", ...
    stage: str  # where, or ""

    def __str__(self) -> str:
        where = f" of {self.stage}" if self.stage else ""
        return (
            f"{self.throughput:,.0f} elements/s, {self.speedup:.2f}x; "
            f"the limit is then: {self.limit or 'nothing known'}{where}"
        )


def what_if(
    ds_or_report: Dataset | Report,
    changes: dict[str, dict[str, Any]],
    seconds: float = 2.0,
) -> WhatIf:
    """Predicts the rate of a pipeline that is changed.

    `changes` are by stage: ``executor``, ``num_parallel_calls``, ``cache=True``
    (behind the stage), ``prefetch`` or ``batch``. A dataset is first run for
    `seconds`; a report has all that is needed.

    >>> import time
    >>> import penstock as ps
    >>> def slow(x):
    ...     time.sleep(0.002)
    ...     return x
    >>> ds = ps.Dataset.range(10_000).map(slow, num_parallel_calls=1)
    >>> answer = ps.what_if(ds, {"map#1": {"num_parallel_calls": 4}}, seconds=0.5)
    >>> 3 < answer.speedup < 5
    True
    """
    from penstock._doctor import doctor

    report = ds_or_report
    if not isinstance(report, Report):
        report = doctor(report, seconds)
    if not isinstance(changes, dict):
        raise ArgumentTypeError(
            f"what_if: changes must be a dict by stage, got {changes!r}"
        )
    facts = report.facts
    if not facts.get("stages"):
        raise InvalidArgumentError(
            "what_if: the report has no facts of a run: it must be what doctor() gave"
        )
    labels = [s["label"] for s in facts["stages"]]
    numbers = {label.split(":")[0]: i for i, label in enumerate(labels)}
    numbers.update({label: i for i, label in enumerate(labels)})
    numbers.update({s["name"]: i for i, s in enumerate(facts["stages"]) if s["name"]})
    asked = []
    for label, change in changes.items():
        if label not in numbers:
            raise InvalidArgumentError(
                f"what_if: there is no stage {label!r}; there are {', '.join(labels)}"
            )
        if not isinstance(change, dict):
            raise ArgumentTypeError(
                f"what_if: the change of {label} must be a dict, got {change!r}"
            )
        unknown = sorted(set(change) - set(_KNOWN))
        if unknown:
            raise InvalidArgumentError(
                f"what_if: {label}: {unknown[0]!r} is not one of {', '.join(_KNOWN)}"
            )
        stage = facts["stages"][numbers[label]]
        checked = {}
        for key, value in change.items():
            checked[key] = _checked_change(label, key, value)
            _check_takes(stage, label, key)
        asked.append({"stage": numbers[label], **checked})
    found = _penstock.doctor_predict(facts, asked)
    at = found["stage"]
    return WhatIf(
        found["rate"],
        found["speedup"],
        found["kind"],
        labels[at] if at >= 0 else "",
    )


def _check_takes(stage: dict[str, Any], label: str, key: str) -> None:
    """Refuses what the stage has no parameter for."""
    calls = stage["user_code"] or stage.get("function") or stage.get("cycle_length")
    takes = {
        "batch": (stage.get("batch_size"), "makes no batches"),
        "prefetch": (stage["op"] == "prefetch", "is no prefetch"),
        "executor": (stage.get("executor"), "calls no function"),
        "num_parallel_calls": (calls or stage["op"] in _READERS, "makes no calls"),
    }
    takes_it, why = takes.get(key, (True, ""))
    if not takes_it:
        raise InvalidArgumentError(f"what_if: {label} {why}")


def _checked_change(label: str, key: str, value: Any) -> Any:
    """Refuses what the call that it stands for would refuse."""
    if key == "executor":
        if value not in EXECUTORS:
            raise InvalidArgumentError(
                f"what_if: {label}: executor must be one of {', '.join(EXECUTORS)}, "
                f"got {value!r}"
            )
        return value
    if key == "cache":
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                f"what_if: {label}: cache must be a bool, got {value!r}"
            )
        return value
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ArgumentTypeError(
            f"what_if: {label}: {key} must be an int, got {value!r}"
        )
    least = 0 if key == "prefetch" else 1
    if number < least and (key == "batch" or number != AUTOTUNE):
        raise InvalidArgumentError(
            f"what_if: {label}: {key} must be >= {least}"
            f"{'' if key == 'batch' else ' or AUTOTUNE'}, got {value}"
        )
    return number


# --- trying it ------------------------------------------------------------------


def changed(
    ds: Dataset,
    edits: dict[int, Callable[[Dataset, Dataset], Dataset]],
    instead: dict[int, Dataset] | None = None,
) -> Dataset:
    """`ds` built again; `edits[id(d)]` makes a stage d of its new input, and
    `instead[id(d)]` stands for d and all before it."""
    from penstock._dataset import Dataset

    made: dict[int, Dataset] = dict(instead or {})

    def build(d: Dataset) -> Dataset:
        if id(d) in made:
            return made[id(d)]
        recipe = d._recipe
        if recipe is None:
            raise InvalidArgumentError("doctor: a nested dataset is not rebuilt")
        parent = None if recipe.parent is None else build(recipe.parent)
        if id(d) in edits and parent is not None:
            made[id(d)] = edits[id(d)](d, parent)
            return made[id(d)]
        owner: Any = Dataset if parent is None else parent
        args = _map_datasets(recipe.args, build)
        kwargs = _map_datasets(recipe.kwargs, build)
        made[id(d)] = getattr(owner, recipe.method)(*args, **kwargs)
        return made[id(d)]

    return build(ds)


def edit_of(change: dict[str, Any]) -> _Edit | None:
    """What a change of the model means for the call; None: only the user can."""
    if "compute" in change or "wait" in change:
        return None

    def apply(d: Dataset, parent: Dataset) -> Dataset:
        recipe = d._recipe
        assert recipe is not None
        kwargs = dict(recipe.kwargs)
        args = recipe.args
        if "num_parallel_calls" in change:
            for key in ("num_parallel_calls", "cycle_length"):
                if key in kwargs:
                    kwargs[key] = change["num_parallel_calls"] or AUTOTUNE
        if "executor" in change:
            kwargs["executor"] = change["executor"]
            if change["executor"] == "thread":
                kwargs["executor"] = "auto"
        if change.get("deterministic") is False:
            kwargs["deterministic"] = False
        if "prefetch" in change:
            args = (change["prefetch"], *args[1:])
        if "batch" in change:
            args = (change["batch"], *args[1:])
        made: Dataset = getattr(parent, recipe.method)(*args, **kwargs)
        return made.cache() if change.get("cache") else made

    if change.get("executor") == "native":
        return None
    return apply


def repeat_before(ds: Dataset) -> Dataset | None:
    """The repeat in front of `ds`, which comes behind what is cached."""
    at: Dataset | None = ds
    while at is not None and at._recipe is not None:
        if at._recipe.method == "repeat":
            return at
        at = at._recipe.parent
    return None


def cache_edits(at: Dataset) -> dict[int, _Edit]:
    """For `changed`: a cache behind `at`, and the repeat in front of it behind that."""
    edit = edit_of({"cache": True})
    assert edit is not None
    repeat = repeat_before(at)
    if repeat is None:
        return {id(at): edit}
    recipe = repeat._recipe
    assert recipe is not None
    return {
        id(repeat): lambda ds, parent: parent,
        id(at): lambda ds, parent: edit(ds, parent).repeat(*recipe.args),
    }


def _is_source(ds: Dataset) -> bool:
    """There is nothing to put in its place by itself."""
    return ds._recipe is None or ds._recipe.parent is None


def measured_gain(
    before: Dataset | DeviceDataset,
    after: Dataset | DeviceDataset,
    seconds: float,
    consumer: Callable[[Any], Any] | None,
) -> float | None:
    """Rate of `after` over that of `before`, by turns; None: one of them gives
    nothing."""
    from penstock._doctor_loop import in_turns

    warm_s = min(1.0, 0.25 * seconds)
    runs = in_turns([before, after], _SPAN * seconds, warm_s, consumer)
    if runs is None:
        return None
    was, now = (run.elements / run.wall_s for run in runs)
    return now / was


def verify_findings(
    ds: Dataset | DeviceDataset,
    report: Report,
    observation: Observation,
    seconds: float,
    consumer: Callable[[Any], Any] | None,
) -> None:
    """Applies the fix of each finding to a copy, and measures both."""
    found = _penstock.doctor_diagnose(observation.facts())["findings"]
    whole = ds
    device = ds if isinstance(ds, DeviceDataset) else None
    if isinstance(ds, DeviceDataset):
        ds = ds._dataset
    for finding, raw in zip(report.findings, found):
        if finding.predicted_speedup is None:
            continue
        candidate: Dataset | None = None
        factor = 1.0
        if finding.code == "memory-budget":
            budget = int(raw["changes"][0]["room"] * report.memory["budget"])
            candidate = ds.with_options(Options(memory_budget=budget))
        elif finding.code == "noisy-neighbour" and "cpu_budget" in finding.fix.code:
            budget = max(1, report.machine["cpu_budget"] - 1)
            candidate = ds.with_options(Options(cpu_budget=budget))
        elif raw["changes"]:
            edits: dict[int, _Edit] = {}
            for change in raw["changes"]:
                at = observation.plan.stages[change["stage"]].dataset
                if finding.code == "process-overhead":
                    change["executor"] = "thread"  # or what the engine prefers
                edit = edit_of(change)
                if at is None or edit is None or _is_source(at):
                    break
                edits |= cache_edits(at) if change.get("cache") else {id(at): edit}
                if "batch" in change:
                    factor = change["batch"] / max(
                        1, observation.plan.stages[change["stage"]].facts["batch_size"]
                    )
            else:
                try:
                    candidate = changed(ds, edits)
                except Error:
                    continue  # a function that does not pickle, for example
        if candidate is None:
            continue
        after: Dataset | DeviceDataset = candidate
        if device is not None:
            after = DeviceDataset(candidate, device._put, device._n, device._name)
        gain = measured_gain(whole, after, seconds, consumer)
        if gain is not None:
            finding.verified_speedup = factor * gain
