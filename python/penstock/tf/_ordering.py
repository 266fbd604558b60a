"""Transformations that choose elements and put them in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _spec as engine_spec
from penstock._errors import InvalidArgumentError
from penstock._options import UNKNOWN
from penstock.tf import _seeds
from penstock.tf._deriving import Deriving, whole
from penstock.tf._sources import engine_of

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


class Ordering(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Elements in random order, out of a window of `buffer_size`.

        >>> import penstock.tf as tf
        >>> sorted(int(x) for x in tf.data.Dataset.range(5).shuffle(3, seed=1))
        [0, 1, 2, 3, 4]
        """
        size = whole(buffer_size, "buffer_size")
        if size == UNKNOWN:
            # All of it.
            known = self._penstock_value.cardinality()
            size = known if known > 0 else 2**40
        elif size < 1:
            raise InvalidArgumentError(
                "shuffle: buffer_size must be greater than zero or "
                f"UNKNOWN_CARDINALITY, got {size}"
            )
        reshuffle = (
            True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        )
        made = self._same(
            self._penstock_value.shuffle(size, _seeds.of(seed), reshuffle, name=name)
        )
        return self._as_long(made)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without it, for ever.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        times = (
            None
            if count is None or whole(count, "count") < 0
            else whole(count, "count")
        )
        made = self._same(self._penstock_value.repeat(times, name=name))
        made._endless = times is None or (self._endless and times > 0)
        return made

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(9).take(2)]
        [0, 1]
        """
        return self._same(
            self._penstock_value.take(max(whole(count, "count"), -1), name=name)
        )

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for -1.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(4).skip(2)]
        [2, 3]
        """
        number = whole(count, "count")
        if number < 0:
            return self.take(0, name=name)
        return self._as_long(self._same(self._penstock_value.skip(number, name=name)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, beginning with element `index`.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        return self._same(
            self._penstock_value.shard(
                whole(num_shards, "num_shards"), whole(index, "index"), name=name
            )
        )

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """``(start + position, element)`` for every element.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.from_tensor_slices(["a"]).enumerate(start=4)
        >>> [(int(i), x.numpy()) for i, x in ds]
        [(4, b'a')]
        """
        return self._then(
            self._penstock_value.enumerate(whole(start, "start"), name=name)
        )

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset:
        """These elements, then those of `dataset`.

        >>> import penstock.tf as tf
        >>> a = tf.data.Dataset.range(2)
        >>> [int(x) for x in a.concatenate(a)]
        [0, 1, 0, 1]
        """
        second = engine_of("concatenate", dataset)
        mine, other = self._penstock_value.element_spec, second.element_spec
        if not _same_kind(mine, other):
            raise TypeError(f"Incompatible dataset elements: {mine} vs. {other}")
        made = self._same(self._penstock_value.concatenate(second, name=name))
        made._options = made._options.merge(dataset.options())
        return made

    def unique(self, name: str | None = None) -> Dataset:
        """Every element once, where it is seen first.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([2, 1, 2]).unique()]
        [2, 1]
        """
        return self._then(self._penstock_value.unique(name=name))


def _same_kind(a: Any, b: Any) -> bool:
    """Equal structure and dtypes, as far as they are known."""
    unknown = engine_spec.UNKNOWN_SPEC
    if a is unknown or b is unknown:
        return True
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and set(a) == set(b)
            and all(_same_kind(a[k], b[k]) for k in a)
        )
    if isinstance(a, tuple):
        return (
            isinstance(b, tuple)
            and len(a) == len(b)
            and all(_same_kind(x, y) for x, y in zip(a, b))
        )
    if isinstance(a, engine_spec.TensorSpec) and isinstance(b, engine_spec.TensorSpec):
        names = {a.dtype.name, b.dtype.name}
        return "unknown" in names or len(names) == 1
    return type(a) is type(b)
