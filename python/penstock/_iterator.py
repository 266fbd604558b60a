"""Running pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _penstock, _watch
from penstock._errors import ArgumentTypeError
from penstock._functions import nested_functions

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._report import Report

_STATE_VERSION = 1


def state_bytes(state: Any) -> bytes:
    """What `Iterator.state_dict` packed."""
    packed = state
    if isinstance(state, dict) and state.get("version") == _STATE_VERSION:
        packed = state.get("state")
    if isinstance(packed, bytes) and packed:
        return packed
    raise ArgumentTypeError(
        f"iterator: state must be what state_dict() gave, got {type(state).__name__}"
    )


@dataclass(frozen=True)
class PythonStageStats:
    """What Python cost one stage, since its iterator was made.

    Waiting for the GIL and holding it, in threads; time inside the function and
    CPU time of its calls, in worker processes.
    """

    stage: str
    executor: str
    calls: int
    gil_wait_ns: int
    gil_hold_ns: int
    work_ns: int = 0
    worker_cpu_ns: int = 0
    # While a doctor watches: how often a call was seen under way, and how often
    # its thread really had the GIL then.
    gil_looks: int = 0
    gil_held_looks: int = 0


class Stats:
    """The counters of a running pipeline; prints as a table.

    Totals are attributes (``elements``, ``consumer_wait_ns``, ``bytes_held``
    ...), ``stages`` and ``pipes`` are lists of dicts, ``decisions`` says what
    the engine changed by itself and why, ``python`` what the GIL cost,
    ``quarantine`` the first 1,000 errors that were skipped or replaced.

    >>> import penstock as ps
    >>> it = iter(ps.Dataset.range(100))
    >>> for x in it: pass
    >>> stats = it.stats()
    >>> stats.elements, stats.stages[0]["stage"]
    (100, 'range#0')
    """

    stages: list[dict[str, Any]]
    pipes: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    python: list[PythonStageStats]
    elements: int
    consumer_wait_ns: int
    consumer_think_ns: int
    consumer_gil_wait_ns: int
    elapsed_ns: int
    bytes_held: int
    bytes_peak: int
    memory_budget: int
    cpu_budget: int
    errors_skipped: int
    errors_replaced: int
    quarantine: list[dict[str, Any]]

    def __init__(self, values: dict[str, Any], python: list[PythonStageStats]) -> None:
        self._text = values.pop("text")
        self.__dict__.update(values)
        self.python = python

    def stage(self, label: str) -> dict[str, Any]:
        """The counters of the stage that prints as `label`."""
        for stage in self.stages:
            if stage["stage"] == label:
                return stage
        known = ", ".join(stage["stage"] for stage in self.stages)
        raise KeyError(f"no stage {label!r}; there are {known}")

    def __repr__(self) -> str:
        lines = [self._text.rstrip("\n")]
        for p in self.python:
            lines.append(
                f"{p.stage}: {p.executor}, {p.calls} calls, GIL waited "
                f"{p.gil_wait_ns / 1e6:.1f} ms, held {p.gil_hold_ns / 1e6:.1f} ms"
            )
        return "\n".join(lines)


def _prepare_workers(dataset: Dataset) -> None:
    """Those that functions have, or may get while they run."""
    timeout = 0.0
    for options in dataset._options:
        timeout = options.worker_timeout or timeout
    for fn in dataset._functions.values():
        if hasattr(fn.handle, "set_timeout"):
            fn.handle.set_timeout(timeout)
        if fn.executor == "process":
            from penstock import _workers

            _workers.configure()


class Iterator(_penstock.Iterator):
    """A running pipeline: what ``iter(ds)`` gives.

    Several threads may call ``next``; each element goes to one of them. Closed
    by `close`, by ``with``, or when it is dropped.

    >>> import penstock as ps
    >>> with ps.Dataset.range(5).iterator() as it:
    ...     first = next(it)
    ...     state = it.state_dict()
    >>> [int(x) for x in ps.Dataset.range(5).iterator(state)]
    [1, 2, 3, 4]
    """

    def __init__(self, dataset: Dataset, state: Any = None) -> None:
        functions = dataset._functions.values()
        baseline = [fn.handle.counters() for fn in functions]
        nested: dict[str, dict[str, Any]] = {}
        for fn in functions:
            nested |= nested_functions(fn.stage, fn.handle)
        _prepare_workers(dataset)
        super().__init__(dataset._native, b"" if state is None else state_bytes(state))
        self._dataset = dataset
        self._baseline = baseline
        self._nested_baseline = nested
        # Set by _watch: its place among all iterators, and clocks at its start.
        self._number = 0
        self._began = (0.0, 0.0, 0.0)
        _watch.started(self)

    def state_dict(self) -> dict[str, Any]:
        """Where this iterator is: positions, not payload. It pickles.

        >>> import penstock as ps
        >>> it = iter(ps.Dataset.range(3))
        >>> _ = next(it)
        >>> sorted(it.state_dict())
        ['state', 'version']
        """
        return {"version": _STATE_VERSION, "state": self.state()}

    def load_state_dict(self, state: Any) -> None:
        """Continues where another iterator of an equal dataset was.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3)
        >>> it, other = iter(ds), iter(ds)
        >>> _ = next(it)
        >>> other.load_state_dict(it.state_dict())
        >>> int(next(other))
        1
        """
        self.restart(self._dataset._native, state_bytes(state))
        _watch.started(self)

    def stats(self) -> Stats:
        """The counters, at this moment.

        >>> import penstock as ps
        >>> it = iter(ps.Dataset.range(3).batch(3))
        >>> _ = next(it)
        >>> it.stats().elements
        1
        """
        python = []
        functions = self._dataset._functions.values()
        for fn, before in zip(functions, self._baseline):
            now = fn.handle.counters()
            if now:
                python.append(
                    PythonStageStats(
                        fn.stage,
                        fn.executor,
                        **{key: now[key] - before[key] for key in now},
                    )
                )
        return Stats(self.counters(), python)

    def doctor(self, seconds: float = 2.0) -> Report:
        """What limits this pipeline, seen for `seconds` while it runs on.

        Call it from another thread than the one that takes elements.

        >>> import threading
        >>> import penstock as ps
        >>> it = iter(ps.Dataset.range(10).repeat())
        >>> stop = threading.Event()
        >>> def train():
        ...     while not stop.wait(0.001):
        ...         next(it)
        >>> thread = threading.Thread(target=train)
        >>> thread.start()
        >>> it.doctor(seconds=0.3).bound
        'consumer'
        >>> stop.set(); thread.join()
        """
        from penstock._doctor import examine

        return examine(self, seconds)

    def __del__(self) -> None:
        # Whoever watches it looks a last time while it can still be seen.
        if getattr(self, "_number", 0):
            self.finish()

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "an iterator does not pickle: pickle its state_dict() and the dataset"
        )

    def __repr__(self) -> str:
        state = "closed" if self.closed else "running"
        return f"<{state} Iterator of {self._dataset._native.stage}>"
