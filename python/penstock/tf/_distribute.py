"""`tf.distribute` where TensorFlow is not installed: one replica on this host.

Every strategy is the default one. A dataset is distributed by giving it back;
several hosts each read their part by `Dataset.shard`.

>>> import penstock.tf as tf
>>> strategy = tf.distribute.MirroredStrategy()
>>> with strategy.scope():
...     ds = strategy.experimental_distribute_dataset(tf.data.Dataset.range(2))
>>> [int(strategy.run(lambda x: x + 1, args=(x,))) for x in ds]
[1, 2]
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any

from penstock.tf import _missing, _structure


class InputContext:
    """Which part of the input a worker reads."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The share of a batch that one replica gets."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync


class InputOptions:
    """Accepted; there is one device."""

    def __init__(self, **options: Any) -> None:
        vars(self).update(options)


class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class Strategy:
    """One replica, on this host."""

    num_replicas_in_sync = 1

    def __init__(self, *unused: Any, **more: Any) -> None:
        pass

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Nothing happens in it."""
        yield self

    def run(
        self,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
        options: Any = None,
    ) -> Any:
        """``fn(*args, **kwargs)``."""
        return fn(*args, **(kwargs or {}))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """`dataset`: the only replica gets all of it."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> Any:
        """The dataset that `dataset_fn` makes for the only worker."""
        return dataset_fn(InputContext())

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of all replicas: one."""
        return (value,)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The value of the only replica, its rows as one if `axis` is given.

        >>> import penstock.tf as tf
        >>> strategy = tf.distribute.get_strategy()
        >>> float(strategy.reduce("MEAN", tf.constant([1.0, 2.0]), axis=0))
        1.5
        """
        from penstock.tf import math

        if isinstance(reduce_op, str):
            reduce_op = ReduceOp(reduce_op.upper())
        if axis is None:
            return value
        reduced = math.reduce_sum if reduce_op is ReduceOp.SUM else math.reduce_mean
        return _structure.map_structure(lambda v: reduced(v, axis), value)

    def gather(self, value: Any, axis: int) -> Any:
        """The value of the only replica."""
        return value


MirroredStrategy = OneDeviceStrategy = Strategy
MultiWorkerMirroredStrategy = Strategy


def get_strategy() -> Strategy:
    """The strategy of one replica."""
    return _default


class ReplicaContext:
    """What a step asks about the replica it runs on."""

    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    @property
    def strategy(self) -> Strategy:
        return _default

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The value of the only replica."""
        return value


def get_replica_context() -> ReplicaContext:
    """The context of the only replica."""
    return ReplicaContext()


def in_cross_replica_context() -> bool:
    """False: there is one replica."""
    return False


def has_strategy() -> bool:
    """False: there is only the default."""
    return False


_default = Strategy()


def __getattr__(name: str) -> Any:
    return _missing.resolve("distribute", name)
