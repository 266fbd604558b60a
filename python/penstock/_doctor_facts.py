"""The facts of a pipeline, as `src/penstock/doctor/facts.h` wants them.

`Plan` is what the graph says, before anything runs. `Snapshot` is a copy of the
counters; two of them make the measured part.
"""

from __future__ import annotations

import glob
import inspect
import operator
import re
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _doctor_leaves as leaves
from penstock import _penstock
from penstock._doctor_draws import draws
from penstock._dtypes import string
from penstock._errors import Error
from penstock._functions import nested_functions
from penstock._options import GLOBAL
from penstock._plain_function import given_function, plain_function
from penstock._purity import keeps_to_itself
from penstock._spec import TensorSpec

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._functions import Lowered
    from penstock._iterator import Iterator

# Sources whose order means something: sorted files, classes one after another.
_ORDERED_SOURCES = {
    "from_list",
    "from_tensor_slices",
    "from_indexable",
    "from_arrow",
    "list_files",
    "tfrecord",
    "text_lines",
    "csv",
    "jsonl",
    "tar",
    "image_folder",
    "npy",
    "fixed_length_records",
    "range",
    "load",
}
_KEEP_ORDER = {
    "map",
    "filter",
    "take",
    "skip",
    "shard",
    "enumerate",
    "prefetch",
    "cache",
    "with_options",
    "ignore_errors",
    "parse_example",
    "repeat",
    "zip",
    "concatenate",
    "batch",
    "unbatch",
    "tfrecord",
    "text_lines",
    "csv",
    "jsonl",
    "tar",
}
# Inside nested datasets, where the graph is not at hand.
_CALLS = {"from_generator", "from_indexable", "map", "filter", "scan", "flat_map"}
_BATCHES = {"batch", "padded_batch", "ragged_batch", "rebatch"}
# A refusal that a rewrite of a line removes; others are for Python to do.
_FIXABLE = re.compile(
    r"branch|depends on data|if |truth|print|a mask|has a try|while|bool\b"
    r"|makes a Python (int|float|number) of data"
    r"|has no native form|calls (np\.|numpy\.)?random\.(?!default_rng|Random)"
)


@dataclass
class Stage:
    """A stage of the graph, with the Python objects behind it."""

    facts: dict[str, Any]
    description: str
    branch: str
    dataset: Dataset | None = None
    lowered: Lowered | None = None
    fn: Any = None
    # Results of `fn` that nothing reads, and lines that only make them.
    unused: list[Any] = field(default_factory=list)
    unused_lines: set[int] = field(default_factory=set)
    # Where it only passes on what is read of it: outputs, and the input each is.
    passed: dict[Any, Any] = field(default_factory=dict)
    native_fn: Any = None  # does the same, natively

    @property
    def label(self) -> str:
        return str(self.facts["label"])


@dataclass
class Plan:
    """All stages, sources first; the device stage, if any, last."""

    stages: list[Stage] = field(default_factory=list)
    device: int = -1
    # Python functions inside nested datasets that were seen so far, by stage.
    nested: dict[str, dict[str, Any]] = field(default_factory=dict)

    def number(self, label: str) -> int:
        for i, stage in enumerate(self.stages):
            if label in (stage.label, stage.label.split(":")[0]):
                return i
        known = ", ".join(stage.label for stage in self.stages)
        raise KeyError(f"no stage {label!r}; there are {known}")

    @property
    def codes(self) -> dict[types.CodeType, str]:
        """Code of every Python function, by stage."""
        found = {}
        functions = [(stage.label, stage.fn) for stage in self.stages]
        functions += [(label, one["fn"]) for label, one in self.nested.items()]
        for label, fn in functions:
            plain = plain_function(fn)
            if plain is not None:
                found[plain.__code__] = label
        return found

    @property
    def functions(self) -> dict[str, _penstock.Function]:
        """Python functions that may run in worker processes, by stage."""
        return {
            stage.label: stage.lowered.handle
            for stage in self.stages
            if stage.lowered is not None
            and isinstance(stage.lowered.handle, _penstock.Function)
        }


def plan_of(dataset: Dataset) -> Plan:
    """What the graph of `dataset` says."""
    plan = Plan()
    nodes: list[dict[str, Any]] = _penstock.doctor_graph(dataset._native)
    for node in nodes:
        facts = {
            key: node[key]
            for key in (
                "label", "op", "index", "name", "inputs", "cardinality",
                "user_code", "source", "sequential",
            )
        }  # fmt: skip
        facts["indexed"] = node["indexed"] and node["cardinality"] >= 0
        plan.stages.append(Stage(facts, node["description"], node["branch"]))
    _pair(plan, len(nodes) - 1, dataset)
    for stage in plan.stages:
        if stage.dataset is not None:
            stage.facts["spec_bytes"] = spec_bytes(stage.dataset.element_spec)
        _add_arguments(stage)
    for i in range(len(plan.stages)):
        _add_order(plan, i)
    _add_moves(plan, dataset._native.explain())
    for stage in plan.stages:
        # Each pass has a plan of its own, which the whole plan does not show.
        if stage.facts["op"] == "repeat" and stage.dataset is not None:
            for before in inputs_of(stage.dataset):
                _add_moves(plan, before._native.explain())
    leaves.add_leaves(plan)
    return plan


def spec_bytes(spec: Any) -> float:
    """Bytes of an element, as far as its spec tells; 0 if it does not."""
    if isinstance(spec, TensorSpec):
        size = np.dtype(spec.dtype.as_numpy_dtype).itemsize if spec.dtype else 0
        shape = spec.shape
        if shape is None or any(d is None for d in shape) or spec.dtype == string:
            return 0.0
        return float(size) * float(np.prod([d or 0 for d in shape]))
    if isinstance(spec, dict):
        spec = tuple(spec.values())
    if isinstance(spec, tuple):
        sizes = [spec_bytes(one) for one in spec]
        return sum(sizes) if all(sizes) else 0.0
    return 0.0


def _pair(plan: Plan, number: int, dataset: Dataset) -> None:
    """Finds the Python object of every stage, from the last one back."""
    stage = plan.stages[number]
    own = stage.label[len(stage.branch) :]
    recipe = dataset._recipe
    if recipe is None or own != dataset._native.stage:
        return
    stage.dataset = dataset
    inputs = inputs_of(dataset)
    inherited = {key for d in inputs for key in d._functions}
    functions = [f for key, f in dataset._functions.items() if key not in inherited]
    if functions:
        stage.lowered = functions[0]
    stage.fn = next((a for a in recipe.args if callable(a)), None)
    if len(inputs) == len(stage.facts["inputs"]):
        for at, one in zip(stage.facts["inputs"], inputs):
            _pair(plan, at, one)


def inputs_of(dataset: Dataset) -> list[Dataset]:
    """The datasets that `dataset` was made of."""
    from penstock._recipe import _map_datasets

    recipe = dataset._recipe
    if recipe is None:
        return []
    found = [] if recipe.parent is None else [recipe.parent]
    _map_datasets((recipe.args, recipe.kwargs), found.append)
    return found


def _number(value: Any) -> int:
    """An explicit count; 0 for AUTOTUNE or none."""
    return max(0, _integer(value, 0))


def _integer(value: Any, default: int) -> int:
    """Python's, or one of NumPy's."""
    try:
        return operator.index(value)
    except TypeError:
        return default


def arguments(dataset: Dataset) -> dict[str, Any]:
    """The arguments of the call that made `dataset`, by name."""
    from penstock._dataset import Dataset

    recipe = dataset._recipe
    assert recipe is not None
    method = inspect.signature(getattr(Dataset, recipe.method))
    names = [p for p in method.parameters if p != "self"]
    try:
        bound = method.bind_partial(
            *(() if "self" not in method.parameters else (None,)),
            *recipe.args,
            **recipe.kwargs,
        ).arguments
    except TypeError:
        bound = dict(zip(names, recipe.args)) | recipe.kwargs
    return dict(bound)


def _other_arguments(args: dict[str, Any]) -> str:
    """All but `n` as they are written: ", drop_remainder=True"."""
    written = ""
    for name, value in args.items():
        if name == "n" or value is None or value is False:
            continue
        written += f", {name}={repr(value) if _is_plain(value) else '...'}"
    return written


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or type(value) in (bool, int, float, str, bytes)


def _add_arguments(stage: Stage) -> None:
    facts = stage.facts
    if stage.dataset is None:
        return
    args = arguments(stage.dataset)
    op = facts["op"]
    facts["parallel_calls"] = _number(
        args.get("num_parallel_calls", args.get("num_parallel_reads"))
    )
    facts["cycle_length"] = _number(args.get("cycle_length"))
    facts["ordered"] = args.get("deterministic") is not False
    if op in _BATCHES:
        facts["batch_size"] = _number(args.get("n"))
        facts["arguments"] = _other_arguments(args)
        facts["padded"] = op == "padded_batch"
    elif op == "prefetch":
        n = args.get("n", -1)
        facts["prefetch"] = _integer(n, -1)
    elif op == "shuffle":
        size = args.get("buffer_size")
        is_global = size == GLOBAL or size == "global"
        facts["window"] = 0 if is_global else _number(size)
        facts["random"] = True
    elif op == "repeat":
        count = args.get("count")
        facts["repeats"] = max(-1, _integer(count, -1))
    if op in ("random", "rejection_resample", "sample_from_datasets"):
        facts["random"] = True
    if facts["source"] and args.get("shuffle"):
        facts["random"] = True
    compression = args.get("compression")
    if isinstance(compression, str):
        facts["compression"] = compression
    files = args.get("files")
    if isinstance(files, (list, tuple)):
        facts["files"] = len(files)
    elif isinstance(files, str):
        facts["files"] = 0 if any(c in files for c in "*?[") else 1
    if stage.lowered is not None and op not in ("interleave", "flat_map"):
        _add_function(stage, args)
    elif stage.fn is not None and stage.lowered is None and op != "from_indexable":
        facts["function"] = _name(stage.fn)


def _name(fn: Any) -> str:
    from penstock._functions import function_name

    return function_name(fn)


def _add_function(stage: Stage, args: dict[str, Any]) -> None:
    facts, lowered = stage.facts, stage.lowered
    assert lowered is not None
    facts["function"] = lowered.name
    facts["executor"] = lowered.executor
    facts["executor_forced"] = args.get("executor", "auto") != "auto"
    refusal, _, _ = lowered.reason.partition("; stays in threads")
    if lowered.executor != "native" and not refusal.startswith("traced when"):
        facts["refusal"] = refusal.removeprefix("stays in threads: ")
        if refusal.startswith("stays in threads"):
            facts["refusal"] = ""
        facts["refusal_fixable"] = bool(_FIXABLE.search(facts["refusal"]))
    if stage.fn is not None:
        facts["random"] = facts.get("random", False) or draws(stage.fn)
        if lowered.executor == "thread":
            _add_stays(stage)


def _add_stays(stage: Stage) -> None:
    """Why the function cannot move to processes by itself, naming the object."""
    from penstock._workers import pickle_function

    facts = stage.facts
    facts["stays"] = keeps_to_itself(given_function(stage.fn))
    try:
        pickle_function(facts["op"], stage.fn)
    except Error as error:
        facts["stays"], facts["pickles"] = str(error), False


def _add_order(plan: Plan, i: int) -> None:
    facts = plan.stages[i].facts
    if facts["op"] == "shuffle":
        facts["in_order_source"] = all(_in_order(plan, k) for k in facts["inputs"])


def _in_order(plan: Plan, i: int) -> bool:
    """Whether stage `i` gives the elements of sources in an order that means
    something."""
    stage = plan.stages[i]
    if stage.facts["source"]:
        args = {} if stage.dataset is None else arguments(stage.dataset)
        return stage.facts["op"] in _ORDERED_SOURCES and not args.get("shuffle")
    return stage.facts["op"] in _KEEP_ORDER and all(
        _in_order(plan, k) for k in stage.facts["inputs"]
    )


def _add_moves(plan: Plan, explained: str) -> None:
    """Stages that the planner runs behind a shuffle in front of which they
    were written."""
    lines = explained.partition("plan:\n")[2].splitlines()
    place: dict[str, int] = {}
    for n, line in enumerate(lines):
        for label in re.findall(r"[\w.\[\]]+#\d+(?::[^\s\]]+)?", line):
            place.setdefault(label, n)
            if "segment" in line:
                place[label] = n
    for i, stage in enumerate(plan.stages):
        if stage.facts["op"] != "map":
            continue
        for later in plan.stages[i + 1 :]:
            if later.facts["op"] == "shuffle" and (
                place.get(later.label, -1) < place.get(stage.label, -1)
            ):
                stage.facts["moved_behind"] = later.label


# --- counters -------------------------------------------------------------------

_STAGE_KEYS = (
    "elements", "blocks", "bytes", "busy_ns", "cpu_ns", "sampled_rows",
    "sampled_bytes",
    "opens", "open_ns", "read_ns", "read_bytes", "inflate_ns", "decoded_pixels",
    "resized_pixels",
)  # fmt: skip
_PIPE_KEYS = ("wait_input_ns", "wait_output_ns", "wait_memory_ns", "wait_order_ns")
_PYTHON_KEYS = (
    "calls", "gil_wait_ns", "gil_hold_ns", "work_ns", "worker_cpu_ns", "gil_looks",
    "gil_held_looks",
)  # fmt: skip
_TOTALS = (
    "elements", "consumer_wait_ns", "consumer_think_ns", "consumer_gil_wait_ns",
    "elapsed_ns",
)  # fmt: skip


class Counters:
    """Sums of counters by name, and how things stand now."""

    def __init__(self) -> None:
        self.stages: dict[str, dict[str, float]] = {}
        self.now: dict[str, dict[str, Any]] = {}
        self.totals: dict[str, float] = dict.fromkeys(_TOTALS, 0)
        self.pipes: list[dict[str, Any]] = []
        self.decisions: list[dict[str, Any]] = []
        self.memory = {"held": 0, "peak": 0, "budget": 0}
        self.cpu_budget = 1

    @classmethod
    def of(cls, it: Iterator, plan: Plan) -> Counters:
        """Of a running iterator."""
        self = cls()
        values = it.counters()
        for row in values["stages"]:
            self.stages[row["stage"]] = {k: row[k] for k in _STAGE_KEYS}
            self.now[row["stage"]] = row
        for pipe in values["pipes"]:
            label = _last_label(pipe["stages"])
            one = self.stages.setdefault(label, {})
            for key in _PIPE_KEYS:
                one[key] = one.get(key, 0) + pipe[key]
        for stage in plan.stages:
            if stage.lowered is not None:
                one = self.stages.setdefault(stage.label, {})
                counted = stage.lowered.handle.counters()
                for key in _PYTHON_KEYS:
                    one[key] = counted.get(key, 0)
                self._add_nested(plan, stage)
        self.totals = {k: values[k] for k in _TOTALS}
        self.pipes = values["pipes"]
        self.decisions = values["decisions"]
        self.memory = {
            "held": values["bytes_held"],
            "peak": values["bytes_peak"],
            "budget": values["memory_budget"],
        }
        self.cpu_budget = values["cpu_budget"]
        return self

    @classmethod
    def at_start(cls, it: Iterator) -> Counters:
        """When `it` was made: functions may have served others before."""
        self = cls()
        for fn, before in zip(it._dataset._functions.values(), it._baseline):
            self.stages[fn.stage] = dict(before)
        for label, function in it._nested_baseline.items():
            self.stages[label] = dict(function["counters"])
        return self

    def _add_nested(self, plan: Plan, stage: Stage) -> None:
        """The Python functions of datasets that `stage` opens."""
        assert stage.lowered is not None
        found = nested_functions(stage.label, stage.lowered.handle)
        for label, function in found.items():
            if label in self.stages:
                counted = function["counters"]
                self.stages[label] |= {key: counted[key] for key in _PYTHON_KEYS}
                plan.nested[label] = function

    def add_difference(self, before: Counters, after: Counters) -> None:
        """Adds what happened between two of the same iterator."""
        for label, row in after.stages.items():
            base = before.stages.get(label, {})
            one = self.stages.setdefault(label, {})
            for key, value in row.items():
                one[key] = one.get(key, 0) + value - base.get(key, 0)
        for key, value in after.totals.items():
            self.totals[key] += value - before.totals[key]
        for label, now in after.now.items():
            seen = self.now.setdefault(label, dict(now))
            for key in ("max_parallelism", "width"):
                seen[key] = max(seen[key], now[key])
            seen["blocking"] = seen["blocking"] or now["blocking"]
        self.pipes = after.pipes
        self.decisions = self.decisions + after.decisions
        self.memory = {k: max(v, self.memory[k]) for k, v in after.memory.items()}
        self.cpu_budget = after.cpu_budget


def _last_label(stages: str) -> str:
    """The hand-over of a pipe belongs to its last stage."""
    return stages.rsplit(" ", 1)[-1]


def add_nested(plan: Plan, labels: list[str]) -> None:
    """Adds stages of nested datasets, which only show up as they run."""
    known = {stage.label for stage in plan.stages}
    for label in labels:
        if label in known or "#" not in label:
            continue
        for i, stage in enumerate(plan.stages):
            if label.startswith(stage.label + "."):
                op, _, rest = label.rpartition(".")[2].partition("#")
                index, _, name = rest.partition(":")
                number = int(index) if index.isdigit() else 0
                facts = {
                    "label": label,
                    "op": op,
                    "index": number,
                    "name": name,
                    "inputs": [],
                    "cardinality": -2,
                    "source": number == 0,
                    "sequential": number == 0,
                    "user_code": op in _CALLS,
                    "parent": i,
                }
                inner = Stage(facts, op, stage.label + ".")
                if label in plan.nested:
                    _add_nested_function(inner, plan.nested[label])
                plan.stages.append(inner)
                known.add(label)
                break


def _add_nested_function(stage: Stage, function: dict[str, Any]) -> None:
    counted = function["counters"]
    in_processes = counted["work_ns"] > counted["gil_hold_ns"]
    stage.facts["function"] = function["name"]
    stage.facts["executor"] = "process" if in_processes else function["executor"]
    stage.facts["parallel_calls"] = function.get("parallel_calls", 0)
    stage.fn = function["fn"]
    if stage.fn is not None and stage.facts["executor"] == "thread":
        _add_stays(stage)


def stage_facts(
    plan: Plan, seen: Counters, looked: float = 0.0
) -> list[dict[str, Any]]:
    """Graph and counters of every stage together; `looked`: seconds that a look at
    the GIL stands for, 0 if nobody looked."""
    add_nested(plan, list(seen.stages))
    out = []
    for stage in plan.stages:
        facts = dict(stage.facts)
        row = seen.stages.get(stage.label, {})
        now = seen.now.get(stage.label, {})

        def get(key: str, scale: float = 1.0, row: Any = row) -> float:
            return max(0.0, float(row.get(key, 0))) * scale

        elements = get("elements")
        sampled = get("sampled_rows")
        size = get("sampled_bytes") / sampled if sampled else 0.0
        facts.update(
            elements=elements,
            elements_ever=float(now.get("elements", 0)),
            busy_ever_s=now.get("busy_ns", 0) * 1e-9,
            blocks=get("blocks"),
            bytes=get("bytes") or size * elements,
            busy_s=get("busy_ns", 1e-9),
            cpu_s=get("cpu_ns", 1e-9),
            calls=get("calls"),
            gil_wait_s=get("gil_wait_ns", 1e-9),
            gil_hold_s=get("gil_hold_ns", 1e-9),
            gil_held_s=get("gil_held_looks", looked) if looked else -1.0,
            work_s=get("work_ns", 1e-9),
            worker_cpu_s=get("worker_cpu_ns", 1e-9),
            wait_input_s=get("wait_input_ns", 1e-9),
            wait_output_s=get("wait_output_ns", 1e-9),
            wait_memory_s=get("wait_memory_ns", 1e-9),
            wait_order_s=get("wait_order_ns", 1e-9),
            opens=get("opens"),
            open_s=get("open_ns", 1e-9),
            read_s=get("read_ns", 1e-9),
            read_bytes=get("read_bytes"),
            inflate_s=get("inflate_ns", 1e-9),
            decoded_pixels=get("decoded_pixels"),
            decodes=now.get("decoded_pixels", 0) > 0,
            reads=now.get("opens", 0) > 0,
            resized_pixels=get("resized_pixels"),
            max_parallelism=int(now.get("max_parallelism", 0)),
            width=int(now.get("width", 0)),
            blocking=bool(now.get("blocking", False)),
        )
        if not facts.get("spec_bytes"):
            # Of the time before it was watched: it may have stood still since.
            rows, held = now.get("sampled_rows", 0), now.get("sampled_bytes", 0)
            facts["spec_bytes"] = held / rows if rows else 0.0
        if stage.lowered is not None and "executor" in facts:
            facts["executor"] = stage.lowered.executor
        out.append(facts)
    for i, facts in enumerate(out):
        if facts["source"] and facts["cardinality"] < 0:
            facts["epochs_ever"] = _epochs_ever(plan, seen, i)
    return out


def _epochs_ever(plan: Plan, seen: Counters, i: int) -> float:
    """How often stage `i` has begun its data since the iterator was made, the last
    time perhaps in part; 0 if it is not known."""
    behind = {i}
    repeated = False
    for at, stage in enumerate(plan.stages):
        if behind & set(stage.facts["inputs"]):
            behind.add(at)
            repeated = repeated or stage.facts["op"] == "repeat"
    if not repeated:
        return 1.0
    opened = sum(
        seen.now.get(stage.label, {}).get("opens", 0)
        for at, stage in enumerate(plan.stages)
        if at == i or stage.facts.get("parent", -1) == i
    )
    files = _count_files(plan.stages[i])
    return max(1.0, float(opened) / files) if opened and files else 0.0


def _count_files(stage: Stage) -> int:
    """The files that a source reads; 0 if it is not known."""
    if stage.facts.get("files") or stage.dataset is None:
        return int(stage.facts.get("files", 0))
    pattern = arguments(stage.dataset).get("files")
    return len(glob.glob(pattern)) if isinstance(pattern, str) else 0
