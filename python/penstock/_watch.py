"""Who wants to know of running iterators: timelines, `penstock doctor`, `top`.

Every iterator announces itself here when it starts. Costs a microsecond per
iterator and nothing per element.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock._iterator import Iterator

_lock = threading.Lock()
_live: weakref.WeakSet[Iterator] = weakref.WeakSet()
_observers: list[Callable[[Iterator], None]] = []
_started = 0
_thread = threading.local()


@contextlib.contextmanager
def unwatched() -> Generator[None, None, None]:
    """Iterators that this thread makes meanwhile are those of who watches, and
    nobody's to watch."""
    before = getattr(_thread, "looks", False)
    _thread.looks = True
    try:
        yield
    finally:
        _thread.looks = before


def started(iterator: Iterator) -> None:
    """Called by an iterator when it begins to run, and when it is restarted."""
    global _started
    with _lock:
        _started += 1
        iterator._number = _started
        iterator._began = _clocks()
        _live.add(iterator)
        observers = [] if getattr(_thread, "looks", False) else list(_observers)
    for observer in observers:
        try:
            observer(iterator)
        except Exception as error:
            # Who only looks must not stop what it looks at.
            with contextlib.suppress(Exception):
                kind = type(error).__name__
                warnings.warn(
                    f"an iterator is not watched: {kind}: {error}", stacklevel=3
                )


def _clocks() -> tuple[float, float, float]:
    """Wall time, CPU time of the process, and that of the main thread if it asks."""
    main = threading.current_thread() is threading.main_thread()
    thread = time.thread_time() if main else 0.0
    return time.perf_counter(), time.process_time(), thread


def observe(observer: Callable[[Iterator], None]) -> None:
    """`observer(iterator)` is called for every iterator that starts from now on."""
    with _lock:
        _observers.append(observer)


def forget(observer: Callable[[Iterator], None]) -> None:
    """Ends what `observe` began."""
    with _lock:
        _observers.remove(observer)


def live() -> list[Iterator]:
    """The iterators that are not closed, oldest first."""
    with _lock:
        iterators = list(_live)
    return sorted((it for it in iterators if not it.closed), key=lambda it: it._number)
