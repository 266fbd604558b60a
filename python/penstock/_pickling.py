"""cloudpickle, and what it leaves to pickle's names.

A function of the program itself is pickled by value. One that
`functools.lru_cache` wraps is no Python function: by its name nobody would find
it in another process, where `__main__` is another program.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import cloudpickle

_CACHED = type(functools.lru_cache(lambda: None))


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    def reducer_override(self, value: Any) -> Any:
        if type(value) is _CACHED and not _has_global_name(value):
            return cached, (value.__wrapped__, *value.cache_parameters().values())
        return super().reducer_override(value)


def _has_global_name(value: Any) -> bool:
    return value.__module__ != "__main__" and "<locals>" not in value.__qualname__


def cached(fn: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
    """`fn` with an empty cache of its own."""
    return functools.lru_cache(maxsize, typed)(fn)


def dumps(value: Any) -> bytes:
    """Any value, functions of the program itself by value."""
    with io.BytesIO() as file:
        _Pickler(file).dump(value)
        return file.getvalue()
