"""What Penstock raises.

Every class derives from `Error`; where Python has a class of the same meaning,
from that too, so that ``except ValueError`` and ``except FileNotFoundError``
work. An exception of the user's own function is raised as it is, with a note.
"""

from __future__ import annotations


class Error(Exception):
    """Base of all errors of Penstock.

    ``stage`` and ``element`` name where it happened, if it happened while a
    pipeline ran.

    >>> import penstock as ps
    >>> try:
    ...     ps.Dataset.range(3).take(-2)
    ... except ps.Error as error:
    ...     print(error)
    take: count must be >= 0, got -2 (-1 means all)
    """

    stage: str = ""
    element: str = ""


class InvalidArgumentError(Error, ValueError):
    """An argument or a value that does not fit."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument of the wrong type."""


class NotFoundError(Error, FileNotFoundError):
    """A file or directory that is not there."""


class AlreadyExistsError(Error, FileExistsError):
    """A file or directory that is there already."""


class DataLossError(Error):
    """Damaged data: a checksum, a length, a cut file."""


class OutOfRangeError(Error, IndexError):
    """An index beyond the end."""


class ResourceExhaustedError(Error, MemoryError):
    """Something does not fit into its budget; the message says what helps."""


class CancelledError(Error):
    """The iterator was cancelled or closed."""


class FailedPreconditionError(Error, RuntimeError):
    """The operation cannot be done in this state."""


class UnimplementedError(Error, NotImplementedError):
    """Not available here."""


class UnavailableError(Error, OSError):
    """A service or device that does not answer; trying again may help."""


class PermissionDeniedError(Error, PermissionError):
    """The operating system refused."""


class WorkerError(Error, RuntimeError):
    """A worker process died or hung; names signal, stage and element."""


class InternalError(Error, AssertionError):
    """A failed check inside Penstock: a bug to be reported."""
