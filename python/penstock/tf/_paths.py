"""The paths through a function whose branches depend on data.

A trace for the spec alone follows each of them: what they give has the dtypes and
the dimensions that all of them have. Loops take up to two turns: what a further
one would change, the second has changed already.
"""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from penstock._spec import DatasetSpec, TensorSpec
from penstock._trace_errors import TraceRefused, refuse
from penstock._trace_value import branches_taken
from penstock.tf import _structure

_MOST_PATHS = 32
_MOST_BRANCHES = 256  # of one path
_MOST_LINES = 20_000  # that loops may run
_FREELY = 2  # how often a branch goes both ways


class _Endless(Exception):
    """A path that finds no end."""


class Paths:
    """Decides branches: every run takes another path."""

    def __init__(self, codes: set[CodeType]) -> None:
        self._codes = codes
        self._plan: list[bool] = []  # what the next run decides first
        self._taken: list[bool] = []
        self._here: dict[Any, list[bool]] = {}
        self._asked = 0
        self._default = True

    def all(self, run: Callable[[], Any]) -> list[Any]:
        """What `run` gives on every path; those that raise give nothing.

        Where there are many, on those that differ in one branch from the path that
        takes all of them, or none.
        """
        found: list[Any] = []
        for _ in range(_MOST_PATHS):
            self._follow(run, found)
            while self._taken and not self._taken[-1]:
                self._taken.pop()
            if not self._taken:
                return found
            self._plan = [*self._taken[:-1], False]
        for self._default in (True, False):
            self._plan = []
            self._follow(run, found)
            usual = self._taken
            if len(usual) > _MOST_PATHS:
                raise TraceRefused("has too many paths")
            for at, answer in enumerate(usual):
                self._plan = [*usual[:at], not answer]
                self._follow(run, found)
        return found

    def _follow(self, run: Callable[[], Any], found: list[Any]) -> None:
        """Takes one path."""
        self._taken, self._here, self._asked = [], {}, 0
        try:
            with branches_taken(self._choose):
                found.append(run())
        except _Endless:
            pass
        except TraceRefused:
            raise
        except Exception as error:
            if not self._raised_there(error.__traceback__):
                raise

    def _choose(self) -> bool:
        self._asked += 1
        if self._asked > _MOST_BRANCHES:
            raise _Endless
        before = self._here.setdefault(self._place(sys._getframe(1)), [])
        if len(before) >= _FREELY:
            return not before[0]  # out of a loop that is still going on
        at = len(self._taken)
        answer = self._plan[at] if at < len(self._plan) else self._default
        self._taken.append(answer)
        before.append(answer)
        return answer

    def _place(self, frame: FrameType | None) -> Any:
        while frame is not None:
            if frame.f_code in self._codes:
                return frame.f_code, frame.f_lasti
            frame = frame.f_back
        return None

    def _raised_there(self, traceback: TracebackType | None) -> bool:
        """Whether the function itself raised."""
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        if traceback is None or traceback.tb_frame.f_code not in self._codes:
            return False
        code = traceback.tb_frame.f_code.co_code
        return dis.opname[code[traceback.tb_lasti]] == "RAISE_VARARGS"


@contextlib.contextmanager
def bounded(codes: set[CodeType]) -> Iterator[None]:
    """Ends `while` loops that a trace would not come out of."""
    if sys.gettrace() is not None:
        refuse("has a while loop, and a debugger is looking")
    lines = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code not in codes:
            return None
        lines += 1
        if lines > _MOST_LINES:
            raise TraceRefused("has a while loop without an end in sight")
        return count

    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(None)


def merged(a: Any, b: Any) -> Any:
    """What two specs have in common."""
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return {k: merged(a[k], b[k]) for k in a}
    if type(a) is type(b) and isinstance(a, tuple) and len(a) == len(b):
        return _structure.encode_tuple(a, [merged(x, y) for x, y in zip(a, b)])
    if isinstance(a, DatasetSpec) and isinstance(b, DatasetSpec):
        return DatasetSpec(merged(a.element_spec, b.element_spec))
    if isinstance(a, TensorSpec) and isinstance(b, TensorSpec) and a.dtype == b.dtype:
        if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
            return TensorSpec(None, a.dtype)
        dims = [x if x == y else None for x, y in zip(a.shape, b.shape)]
        return TensorSpec(dims, a.dtype)
    if a is None and b is None:
        return None
    if type(a) is type(b) and not isinstance(a, (tuple, dict)) and a == b:
        return a
    raise TraceRefused("its paths give values of several kinds")
