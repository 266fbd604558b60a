"""The transformations of `Dataset`, one file for each idea."""

from __future__ import annotations

from penstock._batching import Batching
from penstock._mapping import Mapping
from penstock._ordering import Ordering
from penstock._running import Running
from penstock._windows import Windows


class Transforms(Mapping, Windows, Batching, Ordering, Running):
    """Mixed into `Dataset`."""

    __slots__ = ()
