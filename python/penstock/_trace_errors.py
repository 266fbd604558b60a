"""Why a function cannot run natively, and where in its source."""

from __future__ import annotations

import sys
from types import CodeType
from typing import NoReturn


class TraceRefused(BaseException):
    """Not an Exception: no `except Exception` in a traced function hides it."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = where

    def describe(self) -> str:
        return f"{self.reason} ({self.where})" if self.where else self.reason


class WrongSignature(TraceRefused):
    """What was declared about the result does not hold, in any executor."""


def line_of(code: CodeType, line: int | None) -> str:
    """ "train.py:12" """
    file = code.co_filename.rsplit("/", 1)[-1]
    return f"{file}:{line or code.co_firstlineno}"


def line_in(error: Exception, codes: set[CodeType]) -> str:
    """Where in `codes` an exception was raised, or passed last."""
    where = ""
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in codes:
            where = line_of(at.tb_frame.f_code, at.tb_lineno)
        at = at.tb_next
    return where


def refuse(reason: str) -> NoReturn:
    """Stops the trace that is running, naming the user's line."""
    from penstock import _trace_value

    where = ""
    tracer = _trace_value.current_or_none()
    if tracer is not None:
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code in tracer.codes:
                where = line_of(frame.f_code, frame.f_lineno)
                break
            frame = frame.f_back  # type: ignore[assignment]
        if tracer.refused is None:
            tracer.refused = TraceRefused(reason, where)
    raise TraceRefused(reason, where)
