"""`tf.errors`: Penstock's errors under TensorFlow's names.

``except tf.errors.DataLossError`` catches what a pipeline raises. An exception
of the user's own function stays what it is; one of a `tf.py_function` or of a
generator is the TensorFlow error of its kind as well.

>>> import penstock.tf as tf
>>> it = iter(tf.data.Dataset.range(1))
>>> _ = it.get_next()
>>> try:
...     it.get_next()
... except tf.errors.OutOfRangeError:
...     print("end")
end
"""

from __future__ import annotations

from typing import Any, NoReturn

from penstock._errors import (
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from penstock._errors import Error as OpError


class UnknownError(OpError):
    """An error of a function, of no kind in particular."""


class AbortedError(OpError):
    """Given up because of something done at the same time."""


class DeadlineExceededError(OpError):
    """Took longer than it was given."""


class UnauthenticatedError(OpError):
    """Nobody has said who asks."""


OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


def _init(error: OpError, *args: Any, **named: Any) -> None:
    """(message), or TensorFlow's (node_def, op, message, error_code=None)."""
    if named or (len(args) > 2 and args[0] is None and args[1] is None):
        names = ("node_def", "op", "message", "error_code")
        args = (dict(zip(names, args), **named).get("message"),)
    super(OpError, error).__init__(*args)


def _message(error: OpError) -> str:
    """What `OpError.message` is."""
    return str(error)


for _kind, _code in (
    (OpError, UNKNOWN),
    (CancelledError, CANCELLED),
    (UnknownError, UNKNOWN),
    (InvalidArgumentError, INVALID_ARGUMENT),
    (DeadlineExceededError, DEADLINE_EXCEEDED),
    (NotFoundError, NOT_FOUND),
    (AlreadyExistsError, ALREADY_EXISTS),
    (PermissionDeniedError, PERMISSION_DENIED),
    (ResourceExhaustedError, RESOURCE_EXHAUSTED),
    (FailedPreconditionError, FAILED_PRECONDITION),
    (AbortedError, ABORTED),
    (OutOfRangeError, OUT_OF_RANGE),
    (UnimplementedError, UNIMPLEMENTED),
    (InternalError, INTERNAL),
    (UnavailableError, UNAVAILABLE),
    (DataLossError, DATA_LOSS),
    (UnauthenticatedError, UNAUTHENTICATED),
):
    setattr(_kind, "error_code", _code)  # noqa: B010

# What TensorFlow's errors have; there are no nodes of graphs here.
for _name, _value in (
    ("__init__", _init),
    ("message", property(_message)),
    ("op", None),
    ("node_def", None),
):
    setattr(OpError, _name, _value)

_twins: dict[tuple[type, type], Any] = {}


def of_function(error: Exception) -> Exception:
    """The error of a user's function: the user's and TensorFlow's at once."""
    if isinstance(error, OpError):
        return error
    kind: type[OpError] = UnknownError
    if isinstance(error, (TypeError, ValueError)):
        kind = InvalidArgumentError
    elif isinstance(error, StopIteration):
        kind = OutOfRangeError
    elif isinstance(error, MemoryError):
        kind = ResourceExhaustedError
    elif isinstance(error, NotImplementedError):
        kind = UnimplementedError
    own = type(error)
    if (own, kind) not in _twins:
        bases = (kind,) if issubclass(kind, own) else (own, kind)
        try:
            _twins[own, kind] = type(own.__name__, bases, {"__module__": __name__})
        except TypeError:
            _twins[own, kind] = None
    twin = _twins[own, kind]
    if twin is None:
        return error
    try:
        made: Exception = twin(*error.args)
    except Exception:  # noqa: BLE001 (whatever the user's class does)
        return error
    made.__dict__.update(error.__dict__)
    return made.with_traceback(error.__traceback__)


def raise_of_function(error: Exception) -> NoReturn:
    """Raises what `of_function` makes of an error that is being handled."""
    other = of_function(error)
    if other is error:
        raise error
    raise other from error


__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]
