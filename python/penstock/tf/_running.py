"""Transformations that say what is kept, and how the pipeline runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock._dataset import Dataset as Engine
from penstock._errors import ArgumentTypeError
from penstock._options import AUTOTUNE
from penstock.tf import _shards
from penstock.tf._deriving import Deriving, whole
from penstock.tf._options import Options
from penstock.tf._sources import paths

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


class Running(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements in memory, or in the file `filename`.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(2).cache().repeat(2)]
        [0, 1, 0, 1]
        """
        return self._same(
            self._penstock_value.cache(paths(filename) or None, name=name)
        )

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Any = None,
        shard_func: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Keeps the elements in the directory `path`.

        `reader_func` makes the dataset of a dataset of the shards, to which
        `shard_func` assigns elements. Without it elements come in their order.

        >>> import penstock.tf as tf, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     [int(x) for x in tf.data.Dataset.range(2).snapshot(where + "/s")]
        [0, 1]
        """
        engine = self._penstock_value
        if shard_func is not None:
            engine = _shards.numbered(engine, shard_func)
        engine = engine.snapshot(paths(path), name=name)
        sharded = shard_func is not None
        if reader_func is None:
            return self._same(_shards.elements(engine) if sharded else engine)
        shards = _shards.by_number(engine) if sharded else Engine.from_list([engine])
        made = _shards.read("snapshot", shards, reader_func)
        made._options = self.options().merge(made.options())
        return made

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """At most `buffer_size` elements ahead of the next stage.

        >>> import penstock.tf as tf
        >>> len(list(tf.data.Dataset.range(4).prefetch(tf.data.AUTOTUNE)))
        4
        """
        size = AUTOTUNE if buffer_size is None else whole(buffer_size, "buffer_size")
        made = self._same(self._penstock_value.prefetch(size, name=name))
        return self._as_long(made)

    def ignore_errors(
        self, log_warning: bool = False, name: str | None = None
    ) -> Dataset:
        """Leaves out elements that failed.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(3).map(lambda x: 6 // int(x)).ignore_errors()
        >>> [int(x) for x in ds]
        [6, 3]
        """
        return self._same(self._penstock_value.ignore_errors(name=name))

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same elements, run as `options` say.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(2).with_options(tf.data.Options())
        >>> len(list(ds))
        2
        """
        from penstock.tf._dataset import Dataset

        assert isinstance(self, Dataset)
        if not isinstance(options, Options):
            raise ArgumentTypeError(
                f"with_options: options must be tf.data.Options, got {options!r}"
            )
        merged = self._options.merge(options)
        made = self._same(self._penstock_value.with_options(options._engine()))
        made._options = merged
        return self._as_long(made)
