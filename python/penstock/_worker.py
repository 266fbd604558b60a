"""A worker process: calls functions for its parent until the parent goes."""

from __future__ import annotations

import os
import pickle
import signal
import traceback

import cloudpickle

from penstock import _penstock


def dump_failure(error: BaseException) -> bytes:
    """An exception and its traceback as text, pickled."""
    text = "".join(
        traceback.format_exception(type(error), error, error.__traceback__)
    ).rstrip()
    try:
        data = cloudpickle.dumps((error, text))
        # Some exceptions pickle but do not unpickle.
        pickle.loads(data)
    except Exception:
        return cloudpickle.dumps((None, text))  # type: ignore[no-any-return]
    return data  # type: ignore[no-any-return]


def main(socket: int, arena: int, reserved: int, slot: int, parent: int) -> None:
    """Serves until the socket closes; dies with the parent in any case."""
    _penstock.die_with_parent()
    if os.getppid() != parent:
        os._exit(0)
    # Ctrl-C is for the parent, which ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _penstock.serve(socket, arena, reserved, slot, cloudpickle.loads, dump_failure)
    finally:
        os._exit(0)
