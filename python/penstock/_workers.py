"""Functions for worker processes: pickled here, started from here."""

from __future__ import annotations

import functools
import os
import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

from penstock import _penstock
from penstock._by_value import as_pickled, original
from penstock._errors import InvalidArgumentError, WorkerError
from penstock._look import look, state_of

# Runs before anything is imported, so that imports find what the parent finds.
# A worker has one core: threads of NumPy's libraries would only be in the way.
_PROGRAM = (
    "import os, sys; sys.path[:] = sys.argv[1].split(chr(0x1e)); "
    "os.environ.setdefault('OMP_NUM_THREADS', '1'); "
    "os.environ.setdefault('OPENBLAS_NUM_THREADS', '1'); "
    "os.environ.setdefault('MKL_NUM_THREADS', '1'); "
    "from penstock._worker import main; main(*map(int, sys.argv[2:]))"
)

# Working directory, environment and path that workers are started with.
_surroundings: Any = None


def configure() -> None:
    """Tells the engine how to start a worker: this interpreter, our paths.

    Workers that were started in another directory or environment are used no
    more.
    """
    global _surroundings
    path = chr(0x1E).join(p for p in sys.path if isinstance(p, str))
    surroundings = (_directory(), dict(os.environ), path)
    if surroundings != _surroundings:
        _surroundings = surroundings
        _penstock.set_worker_program([sys.executable, "-c", _PROGRAM, path])


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # it was removed


def pickle_function(op: str, fn: Any, signature: Any = None) -> bytes:
    """`fn` by cloudpickle, with what it gives if declared; names what does not
    pickle."""
    from penstock import _pickling

    def dumps(fn: Any) -> bytes:
        return _pickling.dumps(fn if signature is None else (fn, signature))

    fn = as_pickled(fn)
    try:
        return dumps(fn)
    except Exception as error:
        # A module's own function goes by its name, whatever else is in there.
        given = original(fn)
        if given is not fn:
            return pickle_function(op, given, signature)
        culprit = find_unpicklable(fn)
        where = f": {culprit}" if culprit else ""
        raise InvalidArgumentError(
            f"{op}: fn cannot be pickled for worker processes{where} ({error})"
        ) from error


def find_unpicklable(value: Any, name: str = "", depth: int = 0) -> str:
    """ "lock (a _thread.lock)": the innermost value of `value` that does not pickle."""
    from penstock import _pickling

    for part_name, part in _parts(value, name) if depth < 8 else ():
        try:
            _pickling.dumps(part)
        except Exception:
            kind = type(part)
            return (
                find_unpicklable(part, part_name, depth + 1)
                or f"{part_name} (a {kind.__module__}.{kind.__qualname__})"
            )
    return ""


def _parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What pickling `value` would take along, by name."""
    value = look(value, "__penstock_function__", value)
    if isinstance(value, types.FunctionType):
        yield from _captured(value)
        return
    if isinstance(value, types.MethodType):
        yield "self", value.__self__
    elif isinstance(value, functools.partial):
        yield name, value.func
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, dict):
        yield from ((f"{name}[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))
    if not isinstance(value, type):
        dot = f"{name}." if name else ""
        yield from ((f"{dot}{key}", item) for key, item in state_of(value).items())


def _captured(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = fn.__code__
    for variable, cell in zip(code.co_freevars, fn.__closure__ or ()):
        try:
            yield variable, cell.cell_contents
        except ValueError:
            continue
    defaults = fn.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    yield from zip(arguments[len(arguments) - len(defaults) :], defaults)
    yield from (fn.__kwdefaults__ or {}).items()
    codes = [code]
    for inner in codes:
        codes.extend(c for c in inner.co_consts if isinstance(c, types.CodeType))
        for variable in inner.co_names:
            # A function that names itself is no reason.
            if fn.__globals__.get(variable, fn) is not fn:
                yield variable, fn.__globals__[variable]


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
