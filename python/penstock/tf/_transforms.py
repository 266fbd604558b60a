"""The transformations of `tf.data.Dataset`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _spec as engine_spec
from penstock._dataset import Dataset as Engine
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._functions import check_callable, cpu_count
from penstock._options import AUTOTUNE, UNKNOWN
from penstock.tf import _seeds, _shards, _structure
from penstock.tf._dtypes import as_dtype, int64
from penstock.tf._functions import ScanCall, call
from penstock.tf._options import Options
from penstock.tf._shapes import SparseTensorSpec, TensorSpec
from penstock.tf._sources import engine_of, paths
from penstock.tf._values import convert_to_tensor, unwrap

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


def _count(value: Any, parameter: str) -> int:
    """A whole number: Python's, NumPy's or a tensor."""
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{parameter} must be a whole number, got {value!r}"
        ) from None


class Transforms:
    """Mixed into `Dataset`."""

    __slots__ = ()
    _penstock_value: Any
    _ragged: bool
    options: Callable[[], Options]

    def _then(self, engine: Any) -> Dataset:
        """The next dataset of the chain; options stay."""
        from penstock.tf._dataset import Dataset

        assert isinstance(self, Dataset)
        return Dataset._of(engine, self._options)

    def _same(self, engine: Any) -> Dataset:
        """The next dataset of the chain, whose elements are of the same kind."""
        made = self._then(engine)
        made._ragged = self._ragged
        return made

    # --- functions ----------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`map_func` of every element.

        Without `num_parallel_calls` one call at a time, in order; a function
        that runs natively has no effects that could tell, and runs in parallel.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x + 1)]
        [1, 2, 3]
        """
        fn = call("map", map_func, "element")
        engine = self._penstock_value
        if num_parallel_calls is not None:
            calls = _count(num_parallel_calls, "num_parallel_calls")
            if calls == 0 or calls < AUTOTUNE:
                raise InvalidArgumentError(
                    f"map: num_parallel_calls must be greater than zero, got {calls}"
                )
            return self._then(
                engine.map(fn, calls, deterministic=deterministic, name=name)
            )
        serial = engine.map(fn, 1, deterministic=deterministic, name=name)
        if _last_function(serial).executor == "native":
            return self._then(engine.map(fn, name=name))
        return self._then(serial)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` is true.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        fn = call("filter", predicate, "predicate")
        serial = self._penstock_value.filter(fn, 1, name=name)
        if _last_function(serial).executor == "native":
            return self._same(self._penstock_value.filter(fn, name=name))
        return self._same(serial)

    def flat_map(
        self, map_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """`map_func` makes a dataset of each element; their elements in order.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(3).flat_map(lambda n: tf.data.Dataset.range(n))
        >>> [int(x) for x in ds]
        [0, 0, 1]
        """
        fn = _datasets("flat_map", map_func)
        return self._then(self._penstock_value.flat_map(fn, name=name))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Like `flat_map`, with `cycle_length` datasets taking turns.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(2).interleave(
        ...     lambda n: tf.data.Dataset.from_tensors(n).repeat(2), cycle_length=2)
        >>> [int(x) for x in ds]
        [0, 1, 0, 1]
        """
        fn = _datasets("interleave", map_func)
        calls = (
            None
            if num_parallel_calls is None
            else _count(num_parallel_calls, "num_parallel_calls")
        )
        cycle = (
            AUTOTUNE if cycle_length is None else _count(cycle_length, "cycle_length")
        )
        if cycle == AUTOTUNE:
            cycle = default_cycle(calls)
        return self._then(
            self._penstock_value.interleave(
                fn,
                cycle,
                1 if block_length is None else _count(block_length, "block_length"),
                1 if calls is None else calls,
                deterministic,
                name=name,
            )
        )

    def take_while(
        self, predicate: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """The elements before the first for which `predicate` is false.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(9).take_while(lambda x: x < 2)]
        [0, 1]
        """
        fn = call("take_while", predicate, "predicate")
        return self._same(self._penstock_value.take_while(fn, name=name))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """``state, output = scan_func(state, element)``, one after the other.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(4).scan(
        ...     tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
        >>> [int(x) for x in ds]
        [0, 1, 3, 6]
        """
        check_callable("scan", "scan_func", scan_func)
        spec = self._penstock_value.element_spec
        fn = ScanCall(scan_func, type(spec) is tuple)
        return self._then(
            self._penstock_value.scan(unwrap(initial_state), fn, name=name)
        )

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collects elements of equal key to windows, and reduces each.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(5).group_by_window(
        ...     lambda x: x % 2, lambda key, window: window.batch(5), 5)
        >>> [b.numpy().tolist() for b in ds]
        [[0, 2, 4], [1, 3]]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Only one of the `window_size` and `window_size_func` arguments can "
                "be set."
            )
        sizes = None
        if window_size_func is not None:
            size_of = call("group_by_window", window_size_func, "number")

            def sizes(key: Any) -> int:
                return int(size_of(key))

        return self._then(
            self._penstock_value.group_by_window(
                call("group_by_window", key_func, "number"),
                call("group_by_window", reduce_func, "dataset"),
                None if window_size is None else _count(window_size, "window_size"),
                sizes,
                name=name,
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        >>> import penstock.tf as tf
        >>> rows = tf.data.Dataset.from_generator(
        ...     lambda: [[1], [1, 2, 3], [4]], tf.int32, [None])
        >>> ds = rows.bucket_by_sequence_length(
        ...     lambda row: tf.shape(row)[0], [2], [2, 2])
        >>> [b.numpy().tolist() for b in ds]
        [[[1], [4]], [[1, 2, 3]]]
        """
        op = "bucket_by_sequence_length"
        spec = self._penstock_value.element_spec
        return self._then(
            self._penstock_value.bucket_by_sequence_length(
                call(op, element_length_func, "number"),
                [_count(b, "bucket_boundaries") for b in bucket_boundaries],
                [_count(b, "bucket_batch_sizes") for b in bucket_batch_sizes],
                _structured(padded_shapes),
                _padding(padding_values, spec),
                pad_to_bucket_boundary,
                no_padding,
                drop_remainder,
                name=name,
            )
        )

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """(class, element), dropped so that classes have the target shares.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(50).rejection_resample(
        ...     lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.5, 0.5], seed=1)
        >>> all(int(c) == int(x) % 2 for c, x in ds)
        True
        """
        engine = self._penstock_value.rejection_resample(
            call("rejection_resample", class_func, "number"),
            [float(p) for p in target_dist],
            None if initial_dist is None else [float(p) for p in initial_dist],
            _seeds.of(seed),
            name=name,
        )
        return self._then(engine)

    # --- grouping -------------------------------------------------------------

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` consecutive elements stacked to one.

        >>> import penstock.tf as tf
        >>> [b.numpy().tolist() for b in tf.data.Dataset.range(3).batch(2)]
        [[0, 1], [2]]
        """
        spec = self.element_spec  # type: ignore[attr-defined]
        if _has_sparse(spec):
            return self._sparse_batch(
                spec, _count(batch_size, "batch_size"), bool(drop_remainder)
            )
        size, drop = _count(batch_size, "batch_size"), bool(drop_remainder)
        if self._ragged:
            return self.ragged_batch(size, drop, name=name)
        return self._then(self._penstock_value.batch(size, drop, name=name))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements padded to one shape and stacked.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
        >>> next(iter(ds.padded_batch(3))).numpy().tolist()
        [[1, 0, 0], [2, 2, 0], [3, 3, 3]]
        """
        spec = self._penstock_value.element_spec
        _check_padding(spec, padded_shapes)
        return self._then(
            self._penstock_value.padded_batch(
                _count(batch_size, "batch_size"),
                _structured(padded_shapes),
                _padding(padding_values, spec),
                bool(drop_remainder),
                name=name,
            )
        )

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = int64,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements as one, without padding.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(3).map(lambda x: tf.range(x))
        >>> next(iter(ds.ragged_batch(3))).to_list()
        [[], [0], [0, 1]]
        """
        return self._then(
            self._penstock_value.ragged_batch(
                _count(batch_size, "batch_size"), bool(drop_remainder), name=name
            )
        )

    def _sparse_batch(self, spec: Any, size: int, drop_remainder: bool) -> Dataset:
        """`batch` where sparse tensors are among the components."""
        from penstock.tf.sparse import stack_elements

        if _only_lists(spec):
            engine = self._penstock_value
            return self._then(engine.ragged_batch(size, drop_remainder))
        windows = self.window(size, drop_remainder=drop_remainder)
        return windows.map(lambda *parts: stack_elements(_window_elements(parts)))

    def sparse_batch(
        self, batch_size: Any, row_shape: Any, name: str | None = None
    ) -> Dataset:
        """`batch_size` dense elements as one sparse tensor.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(1, 3).map(lambda x: tf.fill([x], x))
        >>> batch = next(iter(ds.sparse_batch(2, [3])))
        >>> tf.sparse.to_dense(batch).numpy().tolist()
        [[1, 0, 0], [2, 2, 0]]
        """
        from penstock.tf._shapes import TensorShape
        from penstock.tf.sparse import stack_rows

        row = tuple(TensorShape(row_shape))
        windows = self.window(batch_size)
        return windows.map(lambda window: stack_rows(list(window), row))

    def unbatch(self, name: str | None = None) -> Dataset:
        """Every row of an element's first dimension as an element.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).batch(2).unbatch()]
        [0, 1, 2]
        """
        return self._then(self._penstock_value.unbatch(name=name))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of another size; a list of sizes is taken in turn.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(5).batch(4).rebatch(2)
        >>> [b.numpy().tolist() for b in ds]
        [[0, 1], [2, 3], [4]]
        """
        if isinstance(batch_size, (list, tuple, np.ndarray)) and np.ndim(batch_size):
            sizes: Any = [_count(b, "batch_size") for b in batch_size]
        else:
            sizes = _count(batch_size, "batch_size")
        return self._then(
            self._penstock_value.rebatch(sizes, bool(drop_remainder), name=name)
        )

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of `size` elements, each a dataset of its own.

        >>> import penstock.tf as tf
        >>> windows = tf.data.Dataset.range(4).window(2)
        >>> [[int(x) for x in w] for w in windows]
        [[0, 1], [2, 3]]
        """
        return self._then(
            self._penstock_value.window(
                _count(size, "size"),
                None if shift is None else _count(shift, "shift"),
                _count(stride, "stride"),
                bool(drop_remainder),
                name=name,
            )
        )

    # --- order and choice -------------------------------------------------------

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
        size = _count(buffer_size, "buffer_size")
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
        return self._same(
            self._penstock_value.shuffle(size, _seeds.of(seed), reshuffle, name=name)
        )

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without it, for ever.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        times = (
            None
            if count is None or _count(count, "count") < 0
            else _count(count, "count")
        )
        return self._same(self._penstock_value.repeat(times, name=name))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(9).take(2)]
        [0, 1]
        """
        return self._same(
            self._penstock_value.take(max(_count(count, "count"), -1), name=name)
        )

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for -1.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(4).skip(2)]
        [2, 3]
        """
        number = _count(count, "count")
        if number < 0:
            return self.take(0, name=name)
        return self._same(self._penstock_value.skip(number, name=name))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, beginning with element `index`.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        return self._same(
            self._penstock_value.shard(
                _count(num_shards, "num_shards"), _count(index, "index"), name=name
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
            self._penstock_value.enumerate(_count(start, "start"), name=name)
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

    # --- keeping and running ----------------------------------------------------

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
        size = AUTOTUNE if buffer_size is None else _count(buffer_size, "buffer_size")
        return self._same(self._penstock_value.prefetch(size, name=name))

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
        return made


def _last_function(engine: Any) -> Any:
    """The function that the last call of a chain added."""
    return list(engine._functions.values())[-1]


def _datasets(op: str, fn: Any) -> Any:
    """A function that gives datasets; a reader's class opens files natively."""
    read = getattr(fn, "_penstock_reader", None)
    return call(op, fn, "dataset") if read is None else read


def _has_sparse(spec: Any) -> bool:
    return any(isinstance(s, SparseTensorSpec) for s in _structure.flatten(spec))


def _only_lists(spec: Any) -> bool:
    """Whether every component is a sparse list, or of a shape that is known."""
    return all(
        s.shape.rank == 1
        if isinstance(s, SparseTensorSpec)
        else isinstance(s, TensorSpec) and s.shape.is_fully_defined()
        for s in _structure.flatten(spec)
    )


def _window_elements(parts: Any) -> list[Any]:
    """The elements of a window, which is a dataset for each component."""
    if type(parts) is tuple and len(parts) == 1:
        return _window_elements(parts[0])
    if isinstance(parts, dict):
        columns = [_window_elements(v) for v in parts.values()]
        return [dict(zip(parts, row)) for row in zip(*columns)]
    if isinstance(parts, tuple):
        columns = [_window_elements(v) for v in parts]
        return [_structure.encode_tuple(parts, list(row)) for row in zip(*columns)]
    names = _structure.field_names(type(parts))
    if names is None:
        return list(parts)
    columns = [_window_elements(getattr(parts, n)) for n in names]
    carrier = _structure.carrier(type(parts))
    return [_structure.rebuild(carrier(*row), list(row)) for row in zip(*columns)]


def default_cycle(calls: int | None) -> int:
    """TensorFlow's rule, which looks at the machine."""
    cores = cpu_count()
    if calls is None:
        return cores
    return max(1, cores // 2) if calls == AUTOTUNE else max(1, min(calls, cores))


def _structured(shapes: Any) -> Any:
    """Padded shapes with lists and tensors as tuples."""
    if isinstance(shapes, dict):
        return {k: _structured(v) for k, v in shapes.items()}
    if isinstance(shapes, np.ndarray):
        return tuple(int(d) for d in shapes)
    if isinstance(shapes, (tuple, list)):
        from penstock.tf._shapes import TensorShape

        if isinstance(shapes, TensorShape):
            return tuple(shapes) if shapes._known else None
        return tuple(_structured(v) for v in shapes)
    return int(shapes) if hasattr(shapes, "__index__") else shapes


def _padding(values: Any, spec: Any) -> Any:
    """Padding values in the dtypes of the elements."""
    if values is None:
        return None
    if isinstance(spec, dict):
        if not isinstance(values, dict):
            return {k: _padding(values, s) for k, s in spec.items()}
        return {k: _padding(values[k], s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        if not isinstance(values, (tuple, list)):
            values = [values] * len(spec)
        return tuple(_padding(v, s) for v, s in zip(values, spec))
    if isinstance(spec, engine_spec.TensorSpec):
        if values is None:
            return b"" if spec.dtype.name == "string" else spec.dtype.dtype.type(0)
        if spec.dtype.name in ("string", "unknown"):
            return values
        if isinstance(values, (str, bytes)):
            raise TypeError(
                f"padded_batch: padding_values must be numbers of {spec.dtype.name}, "
                f"got {values!r}"
            )
        value = convert_to_tensor(values)
        if value.dtype != spec.dtype.dtype:
            raise TypeError(
                f"padded_batch: padding_values must be {spec.dtype.name} as the "
                f"elements are, got {values!r} of {as_dtype(value.dtype).name}; give "
                f"tf.constant({values!r}, tf.{spec.dtype.name})"
            )
        return np.asarray(value)[()]
    return unwrap(values)


def _check_padding(spec: Any, shapes: Any) -> None:
    for leaf in _leaf_specs(spec):
        if leaf is None:
            raise TypeError("padded_batch is not supported for elements with None")
        tensor = isinstance(leaf, engine_spec.TensorSpec)
        if tensor and leaf.shape is None and shapes is None:
            raise ValueError(
                "You must provide `padded_shapes` argument because component "
                f"{leaf} has unknown rank."
            )


def _leaf_specs(spec: Any) -> list[Any]:
    if isinstance(spec, dict):
        return [leaf for s in spec.values() for leaf in _leaf_specs(s)]
    if isinstance(spec, tuple):
        return [leaf for s in spec for leaf in _leaf_specs(s)]
    return [spec]


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


__all__ = ["Transforms"]
