"""What Python functions do with files, timed on some of their elements.

The engine counts the files that it opens itself. Those that a function opens
(`open(path)`, `np.load`, `Image.open`) are found by calling the function on a few
elements more, after the pipeline was watched, with a profile of its thread that
times the calls which open and read: some milliseconds for each costly function.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock._doctor_loop import fresh
from penstock._plain_function import given_function

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._doctor_facts import Plan

_ELEMENTS = 48  # every other one under a profile
_MOST_S = 0.3  # of all calls together
_LEAST_SHARE = 0.2  # of the time, of a function that is looked at
_OPENS = {"open", "stat", "lstat", "fstat", "close", "__exit__"}
_READS = {"read", "readinto", "readline", "readlines", "readall", "fromfile"}
# Functions of libraries that open a file and read what it says of itself.
_OPENERS = {"open", "load"}


@dataclass
class Files:
    """Of the calls that were timed."""

    calls: int = 0
    calls_s: float = 0.0
    profiled: int = 0
    profiled_s: float = 0.0
    opens: int = 0
    open_s: float = 0.0  # opening and closing
    library_s: float = 0.0  # open() of a library, slower by its own profile
    read_s: float = 0.0
    read_bytes: float = 0.0
    told: bool = True  # the system counts what a thread reads

    def open_share(self) -> float:
        """Of the time of a call."""
        if not self.profiled or not self.profiled_s or not self.calls:
            return 0.0
        slower = self.profiled_s / self.profiled * self.calls / self.calls_s
        return self._share(self.open_s + self.library_s / max(1.0, slower))

    def read_share(self) -> float:
        return self._share(self.read_s)

    def _share(self, seconds: float) -> float:
        if not self.calls or not self.profiled or self.calls_s <= 0:
            return 0.0
        call_s = self.calls_s / self.calls
        return min(1.0, seconds / self.profiled / call_s)


def add_files(plan: Plan, stages: list[dict[str, Any]], seconds: float) -> None:
    """Sets `opens`, `open_s`, `read_s` and `read_bytes` of stages whose Python
    function opens files."""
    for i, facts in enumerate(stages):
        indexed = facts["op"] == "from_indexable"
        calls = facts["elements"] if indexed else facts["calls"]
        if not indexed and facts.get("executor") not in ("thread", "process"):
            continue
        if facts["opens"] or facts["busy_s"] < _LEAST_SHARE * seconds:
            continue
        watched = _watched(plan, stages, i) if calls else None
        files = None if watched is None else _timed(*watched)
        if files is None or not files.opens or not files.told:
            continue
        inside_s = max(0.0, facts["busy_s"] - facts["gil_wait_s"])
        facts["opens"] = files.opens / files.profiled * calls
        facts["open_s"] = files.open_share() * inside_s
        facts["read_s"] = files.read_share() * inside_s
        facts["read_bytes"] = files.read_bytes / files.profiled * calls
        facts["reads"] = True


def _watched(
    plan: Plan, stages: list[dict[str, Any]], i: int
) -> tuple[Dataset, Profile] | None:
    """The stage on some elements, its calls watched; None: it has no place of its
    own in the graph."""
    from penstock._dataset import Dataset

    stage, facts = plan.stages[i], stages[i]
    if facts["op"] == "from_indexable" and stage.dataset is not None:
        recipe = stage.dataset._recipe
        assert recipe is not None
        rows: Any = recipe.args[0] if recipe.args else recipe.kwargs["obj"]
        profile = Profile(rows.__getitem__)
        return Dataset.from_indexable(_Rows(rows, profile)).take(_ELEMENTS), profile
    inputs = facts["inputs"]
    ahead_s = sum(s["busy_s"] / s["elements"] for s in stages[:i] if s["elements"])
    window = max((s.get("window", 0) for s in stages[:i]), default=0)
    if ahead_s * (_ELEMENTS + window) > _MOST_S:
        return None
    before = plan.stages[inputs[0]].dataset if len(inputs) == 1 else None
    if facts["op"] not in ("map", "filter") or before is None or stage.fn is None:
        return None
    profile = Profile(given_function(stage.fn))
    some = before.take(_ELEMENTS)
    return some.map(profile, num_parallel_calls=1, executor="thread"), profile


def _timed(ds: Dataset, profile: Profile) -> Files | None:
    """None: it cannot be tried."""
    until = time.perf_counter() + _MOST_S
    try:
        with fresh(ds).prefetch(1).iterator() as it:
            for _ in it:
                if time.perf_counter() > until:
                    break
    except Exception:
        return None
    return profile.files


class _Rows:
    """Rows of an indexable object, their making watched."""

    def __init__(self, rows: Any, profile: Profile) -> None:
        self._rows, self._profile = rows, profile
        self._one_at_a_time = threading.Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: Any) -> Any:
        with self._one_at_a_time:
            return self._profile(i)


class Profile:
    """Stands for a function; times what it does with files, in every other call."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
        paths += [*site.getsitepackages(), site.getusersitepackages()]
        self._paths = tuple(path + os.sep for path in paths)
        self.files = Files()
        self._number = 0
        self._depth = 0  # of Python calls below the function
        self._opener = -1  # depth of a library's open(); -1: none
        self._opened = 0  # files, when it was called
        self._first = 0  # files, when this call began
        self._inside: Any = None  # the C call that is timed
        self._began = 0.0
        self._outer_began = 0.0
        self._apart = [0.0, 0.0]  # opening and reading, when it was called

    def __call__(self, *args: Any) -> Any:
        fn, files = self._fn, self.files
        self._number += 1
        if self._number % 2:
            began = time.perf_counter()
            try:
                return fn(*args)
            finally:
                if self._number > 1:  # the first one imports, and opens what is cold
                    files.calls += 1
                    files.calls_s += time.perf_counter() - began
        self._depth, self._opener, self._inside = 0, -1, None
        self._first = files.opens
        before = _bytes_read()
        least = _bytes_read()
        files.profiled += 1
        files.told = files.told and least > 0
        others = sys.getprofile()
        began = time.perf_counter()
        try:
            sys.setprofile(self._look)
            return fn(*args)
        finally:
            sys.setprofile(others)
            files.profiled_s += time.perf_counter() - began
            # Reading that figure is itself a read.
            files.read_bytes += max(0.0, _bytes_read() - 2 * least + before)

    def _look(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            if self._inside is None and _handles_files(arg):
                self._inside = arg
                self._began = time.perf_counter()
        elif event == "c_return" or event == "c_exception":
            if self._inside is arg and arg is not None:
                self._end_of(arg)
        elif event == "call":
            self._depth += 1
            if self._opener < 0 and frame.f_code.co_name in _OPENERS:
                if frame.f_code.co_filename.startswith(self._paths):
                    self._opener = self._depth
                    self._opened = self.files.opens
                    self._apart = [self.files.open_s, self.files.read_s]
                    self._outer_began = time.perf_counter()
        elif event == "return":
            if self._depth == self._opener:
                self._opener = -1
                self._end_of_opener()
            self._depth -= 1

    def _end_of(self, called: Any) -> None:
        spent = time.perf_counter() - self._began
        self._inside = None
        files, name = self.files, called.__name__
        # np.fromfile takes a path, or what was opened before.
        opens = name == "open" or (name == "fromfile" and files.opens == self._first)
        if opens or name in _OPENS:
            files.open_s += spent
            files.opens += opens
        else:
            files.read_s += spent

    def _end_of_opener(self) -> None:
        """All that it did is opening, but for the reads."""
        files = self.files
        if files.opens > self._opened:
            read_s = files.read_s - self._apart[1]
            spent = time.perf_counter() - self._outer_began
            files.open_s = self._apart[0]
            files.library_s += max(0.0, spent - read_s)


def _handles_files(called: Any) -> bool:
    name = getattr(called, "__name__", "")
    if name not in _OPENS and name not in _READS:
        return False
    module = getattr(called, "__module__", None)
    if module is None:
        module = type(getattr(called, "__self__", None)).__module__
    return module in ("_io", "io", "posix", "nt", "numpy")


def _bytes_read() -> float:
    """Of this thread, out of files; 0 where the system does not say."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/io") as file:
            return float(file.readline().partition(":")[2])
    except (OSError, ValueError):
        return 0.0
