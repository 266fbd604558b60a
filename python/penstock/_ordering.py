"""Transformations that choose elements and put them in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from penstock import _arguments as check
from penstock._deriving import Deriving
from penstock._functions import check_callable, lower
from penstock._key_order import with_keys_as
from penstock._sources import check_datasets

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Ordering(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        name: str | None = None,
    ) -> Dataset:
        """Elements in random order, out of a window of `buffer_size`.

        With `ps.GLOBAL` (or ``"global"``) one permutation of all elements, in
        O(1) memory, over anything that is read by index.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(100).shuffle(ps.GLOBAL, seed=1)
        >>> sorted(int(x) for x in ds) == list(range(100))
        True
        """
        native = self._native.shuffle(
            check.window("shuffle", buffer_size),
            check.seed("shuffle", seed),
            check.boolean(
                "shuffle", "reshuffle_each_iteration", reshuffle_each_iteration
            ),
            check.stage_name("shuffle", name),
        )
        return self._derive(
            native,
            "shuffle",
            buffer_size,
            seed=seed,
            reshuffle_each_iteration=reshuffle_each_iteration,
            name=name,
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without it, for ever.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        native = self._native.repeat(
            -1 if count is None else check.integer("repeat", "count", count),
            check.stage_name("repeat", name),
        )
        return self._derive(native, "repeat", count, name=name)

    def take(self, n: int, name: str | None = None) -> Dataset:
        """The first `n` elements; all for -1.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter().take(3)]
        [0, 1, 2]
        """
        native = self._native.take(
            check.integer("take", "count", n), check.stage_name("take", name)
        )
        return self._derive(native, "take", n, name=name)

    def skip(self, n: int, name: str | None = None) -> Dataset:
        """All but the first `n` elements.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(5).skip(3)]
        [3, 4]
        """
        native = self._native.skip(
            check.integer("skip", "count", n), check.stage_name("skip", name)
        )
        return self._derive(native, "skip", n, name=name)

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, beginning with element `index`.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        native = self._native.shard(
            check.integer("shard", "num_shards", num_shards),
            check.integer("shard", "index", index),
            check.stage_name("shard", name),
        )
        return self._derive(native, "shard", num_shards, index, name=name)

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """``(start + position, element)`` for every element.

        >>> import penstock as ps
        >>> [(int(i), x) for i, x in ps.Dataset.from_list(["a", "b"]).enumerate(1)]
        [(1, b'a'), (2, b'b')]
        """
        native = self._native.enumerate(
            check.integer("enumerate", "start", start),
            check.stage_name("enumerate", name),
        )
        return self._derive(native, "enumerate", start, name=name)

    def concatenate(self, other: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of `other`.

        The keys of dicts may come in another order there.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(2).concatenate(ps.Dataset.range(2))]
        [0, 1, 0, 1]
        """
        (second,) = check_datasets("concatenate", (other,))
        second = with_keys_as(cast("Dataset", self), second)
        native = self._native.concatenate(
            second._native, check.stage_name("concatenate", name)
        )
        return self._derive(native, "concatenate", second, parents=(second,), name=name)

    def unique(self, name: str | None = None) -> Dataset:
        """Every element once, where it is seen first.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.from_tensor_slices([2, 1, 2, 1]).unique()]
        [2, 1]
        """
        native = self._native.unique(check.stage_name("unique", name))
        return self._derive(native, "unique", name=name)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """(class, element), dropped so that classes have the target shares.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(100).rejection_resample(
        ...     lambda x: x % 2, [0.5, 0.5], initial_dist=[0.5, 0.5], seed=1)
        >>> all(int(c) == int(x) % 2 for c, x in ds)
        True
        """
        op = "rejection_resample"
        check_callable(op, "class_func", class_func)
        lowered = lower(class_func, "number", op, "auto", self._native.element_spec)
        native = self._native.rejection_resample(
            lowered.handle,
            check.floats(op, "target_dist", target_dist),
            check.floats(op, "initial_dist", initial_dist),
            check.seed(op, seed),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            lowered.fn,
            target_dist,
            functions=(lowered,),
            initial_dist=initial_dist,
            seed=seed,
            name=name,
        )
