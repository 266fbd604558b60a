"""The transformations of `tf.data.Dataset`, one file for each idea."""

from __future__ import annotations

from penstock.tf._batching import Batching
from penstock.tf._grouping import Grouping
from penstock.tf._mapping import Mapping
from penstock.tf._ordering import Ordering
from penstock.tf._running import Running


class Transforms(Mapping, Grouping, Batching, Ordering, Running):
    """Mixed into `Dataset`."""

    __slots__ = ()


__all__ = ["Transforms"]
