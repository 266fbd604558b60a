"""`ps.trace`: what every thread did, as a file for ui.perfetto.dev."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import weakref
from types import TracebackType
from typing import overload

from penstock import _arguments as check
from penstock import _penstock, _watch
from penstock._device import DeviceIterator
from penstock._engine_of import engine_iterator
from penstock._errors import InvalidArgumentError
from penstock._iterator import Iterator

_EVENTS_PER_THREAD = 1 << 16
_MOST_EVENTS = 1 << 28

# Traces that record: written at the latest when the process exits.
_open: set[Trace] = set()
_lock = threading.RLock()


class Trace:
    """A recording under way: what `trace` gives.

    It ends with `stop`, with its ``with`` block, or, for a single iterator, when
    the data ends or the iterator is closed. The file is written then, whole.
    """

    def __init__(self, path: str, events_per_thread: int) -> None:
        self.path = path
        self._events = events_per_thread
        self._parts: list[tuple[str, _penstock.RecordedTrace]] = []
        self._recording: dict[int, weakref.ref[Iterator]] = {}
        self._new_iterators = False
        self._stopped = False

    @property
    def running(self) -> bool:
        """Whether it still records."""
        return not self._stopped

    def stop(self) -> str:
        """Ends the recording and writes the file; gives its path."""
        with _lock:
            if self._stopped:
                return self.path
            self._stopped = True
            _open.discard(self)
            if self._new_iterators:
                _watch.forget(self._begin)
                if not any(other._new_iterators for other in _open):
                    _penstock.trace_new_iterators(0)
            for number in list(self._recording):
                self._finish(number)
            _write(self.path, _penstock.encode_timeline(self._parts))
        return self.path

    def _begin(self, it: Iterator) -> None:
        """Records an iterator, from now on or from its start."""
        with _lock:
            if self._stopped:
                return
            # False if it records since it was made.
            _penstock.start_trace(it, self._events)
            number = it._number
            self._recording[number] = weakref.ref(it)
            ours = weakref.ref(self)

        def finished() -> None:
            trace = ours()
            if trace is not None:
                trace._iterator_finished(number)

        it.on_finish(finished)

    def _iterator_finished(self, number: int) -> None:
        with _lock:
            if not self._stopped:
                self._finish(number)
                if not self._new_iterators:
                    self.stop()

    def _finish(self, number: int) -> None:
        it = self._recording.pop(number)()
        if it is None or it.closed:
            return
        recorded = _penstock.stop_trace(it)
        name = f"pipeline {len(self._parts) + 1}: {it._dataset._native.stage}"
        self._parts.append((name, recorded))

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "recording to" if self.running else "written to"
        return f"<Trace {state} {self.path!r}>"


@overload
def trace(
    it: Iterator | DeviceIterator,
    path: str | os.PathLike[str],
    *,
    events_per_thread: int = ...,
) -> Trace: ...
@overload
def trace(it: str | os.PathLike[str], *, events_per_thread: int = ...) -> Trace: ...
def trace(
    it: Iterator | DeviceIterator | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    events_per_thread: int = _EVENTS_PER_THREAD,
) -> Trace:
    """Records a timeline: threads, stages, queues, and the consumer's steps.

    ``trace(it, path)`` records one iterator from now on, until its data ends, it
    is closed or `Trace.stop` is called. ``with trace(path): ...`` records every
    iterator that is made inside. The last `events_per_thread` events of each
    thread are kept. Open the file in ui.perfetto.dev.

    >>> import os, tempfile
    >>> import penstock as ps
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.perfetto-trace")
    >>> with ps.trace(path):
    ...     for batch in ps.Dataset.range(1000).map(lambda x: x + 1).batch(100):
    ...         pass
    >>> os.path.getsize(path) > 0
    True
    """
    events_per_thread = check.integer("trace", "events_per_thread", events_per_thread)
    if not 1 <= events_per_thread <= _MOST_EVENTS:
        rule = ">= 1" if events_per_thread < 1 else f"<= {_MOST_EVENTS}"
        raise InvalidArgumentError(
            f"trace: events_per_thread must be {rule}, got {events_per_thread}"
        )
    it = engine_iterator(it)
    if isinstance(it, Iterator | DeviceIterator):
        inner = it if isinstance(it, Iterator) else it._lane.inner
        if path is None:
            raise TypeError("trace: a path to write to is missing")
        recording = Trace(_checked(path), events_per_thread)
        if _penstock.tracing(inner):
            raise ValueError("trace: this iterator is recorded already")
        recording._begin(inner)
    else:
        if path is not None:
            raise TypeError(
                "trace: takes an Iterator and a path, or a path; got "
                f"{type(it).__name__} and a path"
            )
        recording = Trace(_checked(it), events_per_thread)
        with _lock:
            for other in _open:
                if other._new_iterators:
                    raise ValueError(
                        "trace: every new iterator is recorded already, to "
                        f"{other.path}; stop that first"
                    )
            recording._new_iterators = True
            _open.add(recording)
        _penstock.trace_new_iterators(events_per_thread)
        _watch.observe(recording._begin)
    with _lock:
        _open.add(recording)
    return recording


def _checked(path: str | os.PathLike[str]) -> str:
    # The script may go to another folder before it is written.
    path = os.path.abspath(os.fspath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"trace: {path} is a folder")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"trace: there is no folder {folder}")
    return path


def _write(path: str, data: bytes) -> None:
    """All of it or nothing."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".trace-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@atexit.register
def _stop_all() -> None:
    for recording in list(_open):
        recording.stop()
