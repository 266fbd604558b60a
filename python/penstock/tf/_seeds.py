"""Seeds: `tf.random.set_seed`, and what it means for a pipeline.

With a global seed every operation that was given none gets one of its own, in
the order in which the program makes them, so that the program repeats itself.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Any

_lock = threading.Lock()
_global: int | None = None
_made = 0


def set_seed(seed: int) -> None:
    """Makes everything random repeat from run to run.

    >>> import penstock.tf as tf
    >>> tf.random.set_seed(3)
    >>> first = tf.random.uniform((2,)).numpy().tolist()
    >>> tf.random.set_seed(3)
    >>> tf.random.uniform((2,)).numpy().tolist() == first
    True
    >>> tf.random.set_seed(None)
    """
    global _global, _made
    with _lock:
        _global = None if seed is None else int(seed)
        _made = 0


def global_seed() -> int | None:
    return _global


def of(seed: Any) -> int | None:
    """The seed of an operation: the given one, mixed with the global one."""
    global _made
    given = None if seed is None else int(seed)
    if _global is None:
        return given
    with _lock:
        number = given
        if number is None:
            number = _made
            _made += 1
    text = f"{_global}:{number}:{given is None}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def draw_key() -> int | None:
    """The key of a draw outside of pipelines; None without a global seed."""
    return None if _global is None else of(None)
