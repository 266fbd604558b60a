"""`tf.autograph`: nothing is rewritten here, so nothing is to be kept from it.

>>> import penstock.tf as tf
>>> @tf.autograph.experimental.do_not_convert
... def twice(x):
...     return 2 * x
>>> twice(3)
6
"""

from __future__ import annotations

import types
from typing import Any

from penstock.tf import _missing


def _do_not_convert(func: Any = None) -> Any:
    """`func` as it is, or a decorator that gives it."""
    return _do_not_convert if func is None else func


def _set_loop_options(**options: Any) -> None:
    """Accepted: a loop is Python's."""


experimental = types.SimpleNamespace(
    do_not_convert=_do_not_convert, set_loop_options=_set_loop_options
)


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepted: nothing is written."""


def to_graph(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> Any:
    """`entity` as it is."""
    return entity


def __getattr__(name: str) -> Any:
    return _missing.resolve("autograph", name)
