"""What a fix would leave of a stage's time, tried on an element.

Only where the fix is known and elements are cheap to come by: a smaller decode of
a picture; one path of a function as native code, where a branch keeps it from
being native; and what lies behind a stage, with its elements out of memory, a
cache or files that the fix would write. Some milliseconds each, but for the last,
which together take some four times as long as the pipeline was watched.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _penstock
from penstock._doctor_facts import arguments
from penstock._doctor_leaves import code_of
from penstock._doctor_loop import fresh, in_turns, take
from penstock._doctor_slice import without
from penstock._errors import Error
from penstock._options import AUTOTUNE, Options
from penstock._plain_function import given_function
from penstock._trace_value import branches_taken

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._doctor_facts import Plan

_REPEATS = 5
_LEAST_CALL_S = 20e-6  # below, a call is not what native code would save
_MOST_INPUT_S = 1e-3  # of making an element to try it on
_MOST_CALL_S = 0.1  # of a function that is tried without what nothing reads
_LEAST_RATIO = 6  # of pixels, as rules/oversized_decode.cc has it
_LEAST_GAIN = 3.0  # of a finding, from which on the rest is what limits
_MOST_ROW_S = 0.05  # to get an element of a stage
_MOST_ROWS = 1 << 18
_MOST_LOOSE = 4000  # of those that are not side by side
_MANY_ROWS = 256  # of a block: a batch of its neighbours is a view of it
_MOST_BYTES = 16 << 20  # of the elements for a trial
_MOST_ROOM = 512 << 20  # that is tried unasked
_TRIAL_S = 0.2  # of each turn
_WARM_S = 0.25  # before it: memory that is new makes a start slow
_TRIAL_TURNS = (4, 15)
_TRIALS_S = 4.0  # of all of them, for each second that the pipeline was watched
_MOST_DRIFT = 3.0  # of the machine's speed since the pipeline was watched
_MOST_FILL_S = 0.5  # of a pass that fills a cache
_SHARDS = 16  # of the files that rules/small_files.cc proposes
_MOST_FILES = 16  # that an interleave has open
_PADDED_BATCHES = 128  # of rows that are padded side by side
_MOST_PADDED_BYTES = 128 << 20  # of those rows
_MOST_ROWS_S = 0.5  # to get them
_PADDING_TURNS = (4, 8)
_PACKED = {"small-files", "compression"}
# Of files inflated side by side, and of what blocks cost that come out of a cache
# whole, the model knows less than a trial does.
_BETTER_TRIED = {"compression", "cache-missing"}


def add_trials(plan: Plan, stages: list[dict[str, Any]]) -> None:
    """Sets `decode_left` of stages that decode pictures which are shrunk much,
    `native_left` of Python functions that a rewrite would make native, and
    `unused_share` of those that make what nothing reads."""
    for i, facts in enumerate(stages):
        if plan.stages[i].unused:
            left = unused_left(plan, stages, i)
            if left > 0:
                facts["unused_share"] = 1 - left
        in_processes = facts.get("executor") == "process"
        if facts["op"] == "map" and (
            facts.get("refusal_fixable") or (in_processes and facts.get("native_form"))
        ):
            facts["native_left"] = native_left(plan, stages, i)
        if facts["decoded_pixels"] and facts["elements"]:
            scale = decode_scale(stages, i)
            if scale > 1:
                data = _encoded(plan, facts["inputs"])
                if data is not None:
                    facts["decode_left"] = decode_left(data, scale)


def native_left(plan: Plan, stages: list[dict[str, Any]], i: int) -> float:
    """CPU time of one path of stage's function as native code over that of the
    function; 0 if it cannot be tried."""
    facts, inputs = stages[i], stages[i]["inputs"]
    before = plan.stages[inputs[0]].dataset if len(inputs) == 1 else None
    if before is None or not facts["elements"]:
        return 0.0
    # Not by the time with the GIL: beside other load that is longer.
    now = (facts["cpu_s"] + facts["worker_cpu_s"]) / facts["elements"]
    ahead = [stages[k] for k in range(i) if stages[k]["elements"]]
    if now < _LEAST_CALL_S or (
        sum(s["busy_s"] / s["elements"] for s in ahead) > _MOST_INPUT_S
    ):
        return 0.0
    n = max(16, min(2000, int(0.05 / now)))
    try:
        with branches_taken():
            fn = _rewritten(plan.stages[i].fn)
            native = before.map(fn, executor="native").take(n)
        passes = [before.take(n), native]
        at = plan.stages[i].dataset
        if facts.get("executor") == "thread" and at is not None:
            passes.append(at.take(n))
        # The machine is as fast for the function as for its native form.
        spent = _cpu_of_passes(passes)
    except Exception:
        return 0.0
    python_s = spent[2] - spent[0] if len(spent) == 3 else n * now
    if python_s <= 0:
        return 0.0
    return float(min(1.5, max(1e-3, (spent[1] - spent[0]) / python_s)))


def unused_left(plan: Plan, stages: list[dict[str, Any]], i: int) -> float:
    """Time of stage's function without what nothing reads over that of all of it;
    0 if it cannot be tried."""
    stage, facts, inputs = plan.stages[i], stages[i], stages[i]["inputs"]
    before = plan.stages[inputs[0]].dataset if len(inputs) == 1 else None
    if before is None or not facts["calls"]:
        return 0.0
    call_s = (facts["work_s"] or facts["gil_hold_s"]) / facts["calls"]
    ahead_s = sum(s["busy_s"] / s["elements"] for s in stages[:i] if s["elements"])
    if call_s > _MOST_CALL_S or ahead_s > min(call_s, _MOST_INPUT_S):
        return 0.0
    whole = given_function(stage.fn)
    rest = without(whole, stage.unused)
    if rest is None:
        return 0.0
    rows = before.take(max(3, min(2000, int(0.05 / call_s))))
    tried = [rows] + [
        rows.map(fn, num_parallel_calls=1, executor="thread") for fn in (whole, rest)
    ]
    try:
        before_s, whole_s, rest_s = (_best_pass(ds) for ds in tried)
    except Exception:
        return 0.0  # it cannot do without
    if whole_s <= before_s:
        return 0.0
    return float(min(1.0, max(1e-3, (rest_s - before_s) / (whole_s - before_s))))


def _best_pass(ds: Dataset) -> float:
    """Seconds of the fastest of some passes over `ds`."""

    def run() -> None:
        with fresh(ds).iterator() as it:
            for _ in it:
                pass

    return _best(run)


def _rewritten(fn: Any) -> Any:
    """`fn` with casts for `float(x)`, `int(x)` and `round(x)`, and without `print`,
    as the fix has it."""
    import penstock as ps

    if not isinstance(fn, types.FunctionType):
        return fn
    casts = {
        "float": lambda x: ps.cast(x, ps.float64),
        "int": lambda x: ps.cast(x, ps.int64),
        "round": np.round,
        "print": lambda *what, **how: None,
    }
    for name in list(casts):
        if name not in fn.__code__.co_names or name in fn.__globals__:
            del casts[name]
    if not casts:
        return fn
    scope = {**fn.__globals__, **casts}
    copy = types.FunctionType(
        fn.__code__, scope, fn.__name__, fn.__defaults__, fn.__closure__
    )
    copy.__kwdefaults__ = fn.__kwdefaults__
    return copy


def _cpu_of_passes(tried: list[Dataset]) -> list[float]:
    """CPU seconds of a pass over each of them, in turns."""
    turns = []
    for _ in range(_REPEATS):
        turn = []
        for ds in tried:
            with fresh(ds).iterator() as it:
                began = time.process_time()
                for _ in it:
                    pass
                turn.append(time.process_time() - began)
        turns.append(turn)
    return [statistics.median(times) for times in zip(*turns)]


def decode_scale(stages: list[dict[str, Any]], i: int) -> int:
    """1/scale at which stage `i` could decode for what is kept behind it."""
    decoded = stages[i]["decoded_pixels"] / stages[i]["elements"]
    kept = 0.0
    for facts in stages[i:]:
        if facts["resized_pixels"] and facts["elements"]:
            kept = facts["resized_pixels"] / facts["elements"]
            break
    ratio = decoded / kept if kept else stages[i].get("shape_ratio", 0.0)
    if ratio < _LEAST_RATIO:
        return 1
    scale = 2
    while scale < 8 and ratio >= 4 * scale * scale:
        scale *= 2
    return scale


def decode_left(data: bytes, scale: int) -> float:
    """Time of decoding `data` at 1/scale over that of decoding it whole; 0 if it
    is no JPEG."""
    from penstock import image

    try:
        whole = _best(lambda: image.decode_jpeg(data))
        part = _best(lambda: image.decode_jpeg(data, ratio=scale))
    except Error:
        return 0.0
    return min(1.0, part / whole)


def _best(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def _encoded(plan: Plan, inputs: list[int]) -> bytes | None:
    """The bytes of the first element in front of a stage, if that is all it is."""
    if len(inputs) != 1:
        return None
    before: Dataset | None = plan.stages[inputs[0]].dataset
    if before is None:
        return None
    try:
        with fresh(before).iterator() as it:
            element = next(iter(it), None)
    except Exception:
        return None
    if isinstance(element, bytes):
        return element
    values: list[Any] = []
    if isinstance(element, dict):
        values = list(element.values())
    elif isinstance(element, tuple):
        values = list(element)
    found = [v for v in values if isinstance(v, bytes)]
    return found[0] if len(found) == 1 else None


# --- what is left of the pipeline -------------------------------------------------


def add_rest(plan: Plan, facts: dict[str, Any]) -> None:
    """Tries fixes on some elements where that can be done; or else what lies behind
    a stage that gains so much that this limits then."""
    stages = facts["stages"]
    if facts["consumer_given"] and facts["consumer_think_s"] > 0.2 * facts["seconds"]:
        return  # the step limits then
    until = time.perf_counter() + _TRIALS_S * facts["seconds"]
    for i, stage in enumerate(stages):
        if stage.get("padded") and _says(facts, "batch-copy", i):
            stage["padding_left"] = padding_left(plan, stages, i)
    for finding in _penstock.doctor_diagnose(facts)["findings"]:
        i = _last(plan, finding["changes"])
        if i < 0 or finding["speedup"] is None:
            continue
        # Functions behind larger batches run as they do, where that is at once.
        batches = any("batch" in change for change in finding["changes"])
        whole = batches and (i == facts["output"] or _starts_quickly(facts))
        if not whole and not _native_behind(stages, i):
            continue
        left = until - time.perf_counter()
        if left <= 0:
            break
        try:
            with tempfile.TemporaryDirectory(prefix="penstock-doctor-") as folder:
                trial = _Trial(plan, facts, i, finding, folder)
                name, ds = trial.dataset()
                times = None if ds is None else trial.times(ds, left)
        except Exception:
            continue  # as elements cannot be had, or not be written
        if times is None:
            continue
        # A nested stage is tried with the one that opens it.
        for at in {i, *(change["stage"] for change in finding["changes"])}:
            if at == i or stages[at].get("parent", -1) == i:
                stages[at][name] = list(times)


def _says(facts: dict[str, Any], code: str, i: int) -> bool:
    findings = _penstock.doctor_diagnose(facts)["findings"]
    return any(f["code"] == code and f["stage"] == i for f in findings)


def padding_left(plan: Plan, stages: list[dict[str, Any]], i: int) -> float:
    """Time of a padded batch of some rows with like lengths side by side, over that
    of the same rows as they come; 0 if it cannot be tried."""
    from penstock._dataset import Dataset

    at, inputs = plan.stages[i].dataset, stages[i]["inputs"]
    before = plan.stages[inputs[0]].dataset if len(inputs) == 1 else None
    if at is None or at._recipe is None or before is None:
        return 0.0
    n = stages[i]["batch_size"]
    recipe = at._recipe
    try:
        rows = _some_rows(before, _PADDED_BATCHES * n)
        rows = rows[: len(rows) // n * n]
        if len(rows) < 2 * n:
            return 0.0
        datasets = [
            getattr(Dataset.from_list(order).repeat(), recipe.method)(
                *recipe.args, **recipe.kwargs
            )
            for order in (rows, sorted(rows, key=_size))
        ]
        runs = in_turns(datasets, 0.5 * _TRIAL_S, _WARM_S, turns=_PADDING_TURNS)
    except Exception:
        return 0.0
    if runs is None:
        return 0.0
    as_they_come, side_by_side = (run.wall_s / run.elements for run in runs)
    return min(1.0, side_by_side / as_they_come)


def _some_rows(ds: Dataset, most: int) -> list[Any]:
    """The first elements of `ds`, as many as may be held and made in the time."""
    rows: list[Any] = []
    held = 0
    until = time.perf_counter() + _MOST_ROWS_S
    with fresh(ds).iterator() as it:
        for row in it:
            rows.append(row)
            held += _size(row)
            done = len(rows) >= most or held >= _MOST_PADDED_BYTES
            if done or time.perf_counter() > until:
                break
    return rows


def _size(row: Any) -> int:
    """Bytes of the arrays of an element."""
    if isinstance(row, dict):
        row = tuple(row.values())
    if isinstance(row, tuple):
        return sum(map(_size, row))
    return len(row) if isinstance(row, bytes) else int(getattr(row, "nbytes", 0))


def _last(plan: Plan, changes: list[dict[str, Any]]) -> int:
    """The changed stage that is behind the others; -1 if there is none."""
    changed = set()
    for change in changes:
        at = change["stage"]
        if at < 0:
            return -1
        parent = plan.stages[at].facts.get("parent", -1)
        changed.add(parent if parent >= 0 else at)
    last = max(changed, default=-1)
    ahead = {last}
    for at in range(last, -1, -1):
        if at in ahead:
            ahead.update(plan.stages[at].facts["inputs"])
    return last if changed and changed <= ahead else -1


def _native_behind(stages: list[dict[str, Any]], i: int) -> bool:
    """Whether all stages behind stage `i` are the engine's own."""
    behind = {i}
    for at, facts in enumerate(stages):
        if behind & set(facts["inputs"]):
            behind.add(at)
            native = facts.get("executor", "") in ("", "native")
            if not native or (facts["user_code"] and not facts.get("executor")):
                return False
    return len(behind) > 1


def _starts_quickly(facts: dict[str, Any]) -> bool:
    """Whether the pipeline runs as it does from its first tenth of a second on: no
    widths are to be found, no processes to be started."""
    return not facts["consumer_given"] and not any(
        stage["blocking"] or stage.get("executor") == "process"
        for stage in facts["stages"]
    )


class _Trial:
    """The pipeline with a finding mended, at stage `i` or before it."""

    def __init__(
        self,
        plan: Plan,
        facts: dict[str, Any],
        i: int,
        finding: dict[str, Any],
        folder: str,
    ) -> None:
        self._plan, self._i, self._finding, self._folder = plan, i, finding, folder
        self._stages = facts["stages"]
        self._passes = facts["passes"]
        self._seconds = facts["seconds"]
        self._quick = _starts_quickly(facts)
        self._budget = facts["memory_budget"]
        self._output_s = facts["seconds"] / max(1.0, facts["elements"])
        self.fill_s = 0.0  # before it runs as it would
        self._facts = self._stages[i]
        self._changes = finding["changes"]
        at = plan.stages[i].dataset
        # What ran far ahead may have stood still since.
        counted = self._facts["elements"] or any("batch" in c for c in self._changes)
        if at is None or not counted:
            raise LookupError("nothing is known of what the stage gives")
        self._at = at

    def dataset(self) -> tuple[str, Dataset | None]:
        """What is tried, as facts.h has it, and how."""
        changes = self._changes
        native = any(change.get("executor") == "native" for change in changes)
        if native and self._plan.stages[self._i].native_fn is not None:
            return "native", self._natively()
        if any(change.get("executor") == "thread" for change in changes):
            return "threads", self._in_threads(changes[0])
        if "room" in changes[0]:
            return "roomy", self._with_room(changes[0]["room"])
        least = 1.0 if self._finding["code"] in _BETTER_TRIED else _LEAST_GAIN
        if (self._finding["speedup"] or 0.0) < least:
            return "free", None
        if len(changes) == 1 and "batch" in changes[0]:
            return "batched", self._batched(changes[0])
        if any(change.get("cache") for change in changes):
            epoch = self._epoch()
            pass_s = epoch * self._seconds / self._facts["elements"]
            if 0 < pass_s < _MOST_FILL_S:
                self.fill_s = 1.5 * pass_s
                return "cached", self._cached()
            most = self._most()
            rows = self._as_made(self._rows(8), min(most, epoch) if epoch > 0 else most)
            # Behind a repeat there is no end to wait for.
            cached = rows.cache().repeat() if epoch == -1 else rows.cache()
            return "cached", self._with(cached)
        if self._finding["code"] in _PACKED:
            files = self._packed()
            return "packed", None if files is None else self._with(files)
        if self._finding["code"] == "unused-result":
            rest = self._unused_left_out()
            if rest is None and self._quick and self._cheap_before():
                rest = self._unused_not_made()
            if rest is not None:
                return "rest", self._with(rest)
            # What nothing reads may be most of the bytes of an element.
            self._at = self._unused_not_made() or self._at
        rows = self._again(_source(self._rows(8), self._most()))
        return "free", self._with(rows)

    def times(self, ds: Dataset, most_s: float) -> tuple[float, float] | None:
        """Seconds and CPU seconds of an output of `ds`; None: it has none. It takes
        turns with the pipeline as it is, where that can be, so that a machine which
        is faster or slower by now counts for neither."""
        if self.fill_s:
            take(ds, self.fill_s, 0.0)
        tried = [ds, self._whole()] if self._quick else [ds]
        runs = in_turns(tried, _TRIAL_S, _WARM_S, turns=_TRIAL_TURNS, most_s=most_s)
        if runs is None:
            return None
        drift = 1.0
        if len(runs) == 2:
            drift = self._output_s * runs[1].elements / runs[1].wall_s
            drift = min(_MOST_DRIFT, max(1 / _MOST_DRIFT, drift))
        one = drift / runs[0].elements
        return runs[0].wall_s * one, runs[0].cpu_s * one

    def _with(self, ds: Dataset) -> Dataset:
        """The pipeline with `ds` for the stage and all before it."""
        from penstock._what_if import changed

        return changed(self._whole(), {}, {id(self._plan.stages[self._i].dataset): ds})

    def _whole(self) -> Dataset:
        return next(s.dataset for s in reversed(self._plan.stages) if s.dataset)

    def _natively(self) -> Dataset | None:
        from penstock._what_if import changed

        if not self._cheap_before():
            return None
        fn, op = self._plan.stages[self._i].native_fn, self._facts["op"]
        edit = {id(self._at): lambda _, parent: getattr(parent, op)(fn)}
        return changed(self._whole(), edit)

    def _in_threads(self, change: dict[str, Any]) -> Dataset | None:
        from penstock._what_if import changed, edit_of

        edit = edit_of(change)
        if edit is None or not self._cheap_before():
            return None
        return changed(self._whole(), {id(self._at): edit})

    def _with_room(self, more: float) -> Dataset | None:
        budget = int(more * self._budget)
        if budget > _MOST_ROOM:
            return None
        return self._whole().with_options(Options(memory_budget=budget))

    def _epoch(self) -> int:
        """Elements of the stage until they come again; -1: there is no end."""
        from penstock._what_if import repeat_before

        repeat = repeat_before(self._at)
        recipe = None if repeat is None else repeat._recipe
        if recipe is None or recipe.parent is None:
            return int(self._facts["cardinality"])
        return max(-1, int(recipe.parent.cardinality()))

    def _cached(self) -> Dataset:
        from penstock._what_if import cache_edits, changed

        return changed(self._whole(), cache_edits(self._at))

    def _batched(self, change: dict[str, Any]) -> Dataset | None:
        from penstock._what_if import changed, edit_of

        edit = edit_of(change)
        if edit is None or not self._cheap_before():
            return None
        self._facts["batched_size"] = change["batch"]
        return changed(self._whole(), {id(self._at): edit})

    def _unused_left_out(self) -> Dataset | None:
        """The stage with constants for what nothing reads."""
        stage, inputs = self._plan.stages[self._i], self._facts["inputs"]
        row = self._rows(1)[0]
        if not isinstance(row, tuple) or not self._cheap_before():
            return None
        if self._facts["op"] == "zip":
            gone = {change["stage"] for change in self._changes}
            left = [k for k, at in enumerate(inputs) if at not in gone]
            if len(left) != 1:
                return None
            before = self._plan.stages[inputs[left[0]]].dataset
            given, passed = 1, {left[0]: 0}
        elif stage.passed and len(inputs) == 1:
            before, passed = self._plan.stages[inputs[0]].dataset, stage.passed
            code = code_of(stage.fn)
            assert code is not None  # or else nothing were known to be passed
            given = code.co_argcount
        else:
            return None
        if before is None:
            return None

        results = "".join(
            f"{f'given{passed[k]}' if k in passed else f'row{k}'}, "
            for k in range(len(row))
        )
        names = ", ".join(f"given{k}" for k in range(given))
        scope = {f"row{k}": value for k, value in enumerate(row)}
        rest = eval(f"lambda {names}: ({results})", scope)
        made: Dataset = before.map(rest, executor="native")
        return made

    def _unused_not_made(self) -> Dataset | None:
        """The stage with its function without what nothing reads."""
        stage, inputs = self._plan.stages[self._i], self._facts["inputs"]
        before = self._plan.stages[inputs[0]].dataset if len(inputs) == 1 else None
        if not stage.unused or before is None:
            return None
        rest = without(given_function(stage.fn), stage.unused)
        calls = self._facts["parallel_calls"] or AUTOTUNE
        return None if rest is None else before.map(rest, num_parallel_calls=calls)

    def _cheap_before(self) -> bool:
        """Whether all before the stage is the engine's own and costs little, but
        for what the fix takes away."""
        gone = {change["stage"] for change in self._changes}
        ahead = set(self._facts["inputs"]) - gone
        for at in range(self._i, -1, -1):
            if at in ahead:
                facts = self._stages[at]
                if facts.get("executor", "") not in ("", "native"):
                    return False
                if facts["busy_s"] > _MOST_INPUT_S * max(1.0, facts["elements"]):
                    return False
                ahead.update(facts["inputs"])
        return True

    def _packed(self) -> Dataset | None:
        """Elements of the stage in a file as the fix would have it; None if it is
        not known how."""
        from penstock import io
        from penstock._dataset import Dataset

        path = os.path.join(self._folder, "rows")
        if self._facts["op"] == "tfrecord":
            count = self._most()
            if self._passes > 1 and not self._by_index():
                # As many in all as there are: what is read again is as near.
                count = -(-count // self._files())
            with io.TFRecordWriter(path) as writer:
                for row in _source(self._rows(256), count):
                    writer.write(row)
            return self._again(self._read_as_before(path))
        if self._facts["op"] == "text_lines" and self._facts.get("compression"):
            count = -(-self._most() // self._files())
            with open(path, "wb") as file:
                file.writelines(row + b"\n" for row in _cycle(self._rows(256), count))
            reads = arguments(self._at).get("num_parallel_reads", AUTOTUNE)
            lines = Dataset.text_lines([path] * self._files(), None, reads)
            return self._again(lines)
        if self._facts.get("compression"):
            return None
        count = self._most()
        if count * self._seconds < _MOST_FILL_S * self._facts["elements"]:
            # In blocks as the stage makes them: a file keeps them so.
            rows = fresh(self._at).take(count)
        else:
            rows = _source(self._rows(256), count)
        rows.save(path, num_shards=_SHARDS)
        return self._again(Dataset.load(path))

    def _read_as_before(self, path: str) -> Dataset:
        """Of records: by index, or else as many files side by side."""
        from penstock._dataset import Dataset

        if self._by_index():
            return Dataset.tfrecord(path)
        args = arguments(self._at)
        paths = [path] * self._files()
        of_dataset = isinstance(args.get("files"), Dataset)
        files = Dataset.from_list(paths) if of_dataset else paths
        reads = args.get("num_parallel_reads", AUTOTUNE)
        return Dataset.tfrecord(files, num_parallel_reads=reads, index=False)

    def _by_index(self) -> bool:
        from penstock._dataset import Dataset

        args = arguments(self._at)
        of_dataset = isinstance(args.get("files"), Dataset)
        return args.get("index") is not False and not of_dataset

    def _files(self) -> int:
        """How many files a pass over the data opens."""
        opened: int = round(self._facts["opens"] / self._passes)
        return max(1, min(_MOST_FILES, opened))

    def _again(self, ds: Dataset) -> Dataset:
        """Without an end, unless the data itself ends."""
        return ds if self._passes > 1 else ds.repeat()

    def _most(self) -> int:
        """How many elements to try it with."""
        size = max(1.0, self._facts["bytes"] / self._facts["elements"])
        most = min(_MOST_ROWS, _MOST_BYTES / size)
        if self._passes > 1:
            most = min(most, self._facts["elements"] / self._passes)
        return max(1, int(most))

    def _as_made(self, rows: list[Any], count: int) -> Dataset:
        """In blocks of as many as the stage makes at a time: a cache keeps them
        so."""
        from penstock._dataset import Dataset

        if self._facts["elements"] > _MANY_ROWS * self._facts["blocks"]:
            return _source(rows, count)
        loose = [*_cycle(rows, min(count, _MOST_LOOSE))]
        if self._facts.get("executor") in ("thread", "process"):
            # A cache keeps results of Python functions one by one.
            return Dataset.range(len(loose)).map(lambda i: loose[i], executor="thread")
        together = round(self._facts["elements"] / self._facts["blocks"])
        block = _stacked(rows, together) if together > 1 else None
        if block is not None:
            blocks = len(loose) // together
            return Dataset.from_list([block] * max(1, blocks)).unbatch()
        return Dataset.from_list(loose)

    def _rows(self, most: int) -> list[Any]:
        """The first elements of the stage, as many as can be had in the time."""
        row_s = self._facts["busy_s"] / self._facts["elements"]
        if row_s > _MOST_ROW_S:
            raise LookupError("elements take too long to make")
        rows = []
        until = time.perf_counter() + 8 * row_s + 0.1
        with fresh(self._at).iterator() as it:
            for row in it:
                rows.append(row)
                if len(rows) >= most or time.perf_counter() > until:
                    break
        return rows


def _source(rows: list[Any], count: int) -> Dataset:
    """A dataset of `count` elements like `rows`, side by side in memory where that
    can be."""
    from penstock._dataset import Dataset

    whole = _stacked(rows, count)
    if whole is not None:
        return Dataset.from_tensor_slices(whole)
    return Dataset.from_list([*_cycle(rows, min(count, _MOST_LOOSE))])


def _cycle(rows: list[Any], count: int) -> Iterable[Any]:
    return itertools.islice(itertools.cycle(rows), count)


def _stacked(rows: list[Any], count: int) -> Any:
    """`rows`, again and again, as arrays of `count`; None: they are not alike."""
    first = rows[0]
    if isinstance(first, tuple):
        parts = [_stacked([row[i] for row in rows], count) for i in range(len(first))]
        return None if any(part is None for part in parts) else tuple(parts)
    if isinstance(first, dict):
        named = {key: _stacked([row[key] for row in rows], count) for key in first}
        return None if any(part is None for part in named.values()) else named
    if not isinstance(first, (np.ndarray, np.generic)) or first.dtype == object:
        return None
    if len({np.shape(row) for row in rows}) != 1:
        return None
    some = np.stack(rows)
    return np.resize(some, (count, *some.shape[1:]))
