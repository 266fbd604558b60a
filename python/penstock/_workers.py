"""Functions for worker processes: pickled here, started from here."""

from __future__ import annotations

import pickle
import sys
from typing import Any

from penstock import _penstock
from penstock._errors import InvalidArgumentError, WorkerError

# Runs before anything is imported, so that imports find what the parent finds.
# A worker has one core: threads of NumPy's libraries would only be in the way.
_PROGRAM = (
    "import os, sys; sys.path[:] = sys.argv[1].split(chr(0x1e)); "
    "os.environ.setdefault('OMP_NUM_THREADS', '1'); "
    "os.environ.setdefault('OPENBLAS_NUM_THREADS', '1'); "
    "os.environ.setdefault('MKL_NUM_THREADS', '1'); "
    "from penstock._worker import main; main(*map(int, sys.argv[2:]))"
)


def configure() -> None:
    """Tells the engine how to start a worker: this interpreter, our paths."""
    path = chr(0x1E).join(sys.path)
    _penstock.set_worker_program([sys.executable, "-c", _PROGRAM, path])


def pickle_function(op: str, fn: Any) -> bytes:
    """`fn` by cloudpickle; names what does not pickle."""
    import cloudpickle

    try:
        return cloudpickle.dumps(fn)  # type: ignore[no-any-return]
    except Exception as error:
        culprit = find_unpicklable(fn)
        where = f": {culprit}" if culprit else ""
        raise InvalidArgumentError(
            f"{op}: fn cannot be pickled for worker processes{where} ({error})"
        ) from error


def find_unpicklable(fn: Any) -> str:
    """ "lock (a _thread.lock)": the first captured value that does not pickle."""
    import cloudpickle

    candidates: list[tuple[str, Any]] = []
    fn = getattr(fn, "__penstock_function__", fn)
    code = getattr(fn, "__code__", None)
    if code is not None:
        for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
            try:
                candidates.append((name, cell.cell_contents))
            except ValueError:
                continue
        for name in code.co_names:
            if name in fn.__globals__:
                candidates.append((name, fn.__globals__[name]))
    owner = getattr(fn, "__self__", None)
    if owner is not None:
        candidates.append(("self", owner))
    for name, value in vars(fn).items() if hasattr(fn, "__dict__") else ():
        candidates.append((name, value))
    for name, value in candidates:
        try:
            cloudpickle.dumps(value)
        except Exception:
            kind = type(value)
            return f"{name} (a {kind.__module__}.{kind.__qualname__})"
    return ""


class RemoteTraceback(Exception):
    """What a worker process printed about an exception; shown as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def load_failure(data: bytes) -> BaseException:
    """The exception that a function raised in a worker."""
    try:
        exception, text = pickle.loads(data)
    except Exception as error:
        return WorkerError(f"an exception of the function did not pickle: {error}")
    if exception is None:
        return WorkerError(f"the function raised:\n{text}")
    assert isinstance(exception, BaseException)
    exception.__cause__ = RemoteTraceback(text)
    return exception
