"""A worker process: calls functions for its parent until the parent goes."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
import types
from collections import Counter
from typing import Any

import cloudpickle

from penstock import _penstock
from penstock._plain_function import plain_function


def dump_failure(error: BaseException) -> bytes:
    """An exception and its traceback as text, pickled."""
    text = "".join(
        traceback.format_exception(type(error), error, error.__traceback__)
    ).rstrip()
    for sent in (error, _Portable(error)):
        try:
            data = cloudpickle.dumps((sent, text))
            # Some exceptions pickle but do not unpickle.
            if isinstance(pickle.loads(data)[0], type(error)):
                return data  # type: ignore[no-any-return]
        except Exception:
            continue
    return cloudpickle.dumps((None, text))  # type: ignore[no-any-return]


class _Portable:
    """Unpickles as the exception, as far as its arguments and attributes do.

    Without calling ``__init__``, whose arguments nobody knows.
    """

    def __init__(self, error: BaseException) -> None:
        args = tuple(a if _pickles(a) else repr(a) for a in error.args)
        state = {k: v for k, v in vars(error).items() if _pickles(v)}
        self._parts = type(error), args, state

    def __reduce__(self) -> Any:
        return _rebuild, self._parts


def _pickles(value: Any) -> bool:
    try:
        pickle.loads(cloudpickle.dumps(value))
    except Exception:
        return False
    return True


def _rebuild(
    kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]
) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


_PERIOD = 0.05  # seconds between two looks at the function
_PARK_S = 1.0  # without a call that is to be looked at


class Sampler:
    """Sees on which lines of the function the main thread is, while a doctor asks.

    A thread that looks every 50 ms; without anybody who asks it does not exist.
    What it saw goes back with the results of a call.
    """

    def __init__(self) -> None:
        self._main = threading.get_ident()
        self._code: types.CodeType | None = None
        self._calls = 0
        self._in_call = False
        self._parked = threading.Event()  # nobody has asked for a while
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: Counter[str] = Counter()

    def begin(self, fn: Any) -> None:
        """A call of `fn` begins that is to be looked at."""
        plain = plain_function(fn)
        code = None if plain is None else plain.__code__
        if code is not self._code:
            self._seen.clear()
            self._code = code
        self._calls += 1
        self._in_call = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        elif self._parked.is_set():
            self._parked.clear()
            self._wanted.set()

    def end(self, room: int) -> bytes:
        """It has ended; what was seen since the last time, if that fits."""
        self._in_call = False
        if not self._seen:
            return b""
        rows = (f"{count}\t{line}\n" for line, count in self._seen.items())
        text = "".join(rows).encode(errors="replace")
        if len(text) > room:
            return b""
        self._seen.clear()
        return text

    def _run(self) -> None:
        # Calls are short: the GIL must come during one, not after it. Nobody else
        # is there to ask for it.
        sys.setswitchinterval(2e-4)
        calls, idle = 0, 0
        while True:
            time.sleep(_PERIOD)
            if self._in_call:
                self._look()
            idle = idle + 1 if calls == self._calls else 0
            calls = self._calls
            if idle * _PERIOD > _PARK_S and not self._in_call:
                self._wanted.clear()
                self._parked.set()
                self._wanted.wait()
                idle = 0

    def _look(self) -> None:
        at = sys._current_frames().get(self._main)
        while at is not None and at.f_code is not self._code:
            at = at.f_back
        if at is not None:
            code = at.f_code
            self._seen[f"{at.f_lineno}\t{code.co_name}\t{code.co_filename}"] += 1


def main(socket: int, arena: int, reserved: int, slot: int, parent: int) -> None:
    """Serves until the socket closes; dies with the parent in any case."""
    _penstock.die_with_parent()
    if os.getppid() != parent:
        os._exit(0)
    # Ctrl-C is for the parent, which ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _penstock.serve(
            socket, arena, reserved, slot, cloudpickle.loads, dump_failure, Sampler()
        )
    finally:
        os._exit(0)
