"""What runs behind a dataset or an iterator of `penstock.tf`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def engine_dataset(ds: Any) -> Any:
    """The engine's dataset, as it is iterated; `ds` itself if it is one."""
    runnable = getattr(type(ds), "_runnable", None)
    return ds if runnable is None else runnable(ds)


def engine_iterator(it: Any) -> Any:
    """The engine's iterator; `it` itself if it is one."""
    return getattr(it, "_it", it) if hasattr(type(it), "_convert") else it


def as_given_by(ds: Any, consumer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`consumer` for elements of the engine: it wants them as `ds` gives them."""
    if not hasattr(type(ds), "_runnable"):
        return consumer
    from penstock.tf._values import wrap

    return lambda element: consumer(wrap(element))
