"""The transformations of `Dataset`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _arguments as check
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._functions import (
    Lowered,
    check_arity,
    check_callable,
    dataset_function,
    function_identity,
    lower,
    lower_scan,
)
from penstock._options import AUTOTUNE, ErrorPolicy, Options, error_policy
from penstock._recipe import Recipe
from penstock._sources import check_datasets
from penstock._spec import check_scalar_signature, check_signature

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Transforms:
    """Mixed into `Dataset`."""

    __slots__ = ()
    _native: Any

    def _derive(
        self,
        native: Any,
        method: str,
        *args: Any,
        functions: tuple[Lowered, ...] = (),
        parents: tuple[Dataset, ...] = (),
        options: Any = None,
        **kwargs: Any,
    ) -> Dataset:
        from penstock._dataset import Dataset

        assert isinstance(self, Dataset)
        recipe = Recipe(method, self, args, kwargs)
        return Dataset._make(native, recipe, (self, *parents), functions, options)

    # --- functions ------------------------------------------------------------

    def map(
        self,
        fn: Callable[..., Any],
        num_parallel_calls: int = AUTOTUNE,
        deterministic: bool | None = None,
        executor: str = "auto",
        output_signature: Any = None,
        on_error: ErrorPolicy = None,
        name: str | None = None,
    ) -> Dataset:
        """`fn` of every element, in parallel, in order.

        Tuple elements are spread over the arguments; a dict is one argument.
        `fn` is called once per element and never when the graph is built.

        >>> import penstock as ps
        >>> ds = ps.Dataset.zip(ps.Dataset.range(3), ps.Dataset.range(3))
        >>> [int(x) for x in ds.map(lambda a, b: a + b)]
        [0, 2, 4]
        """
        return self._call_per_element(
            "map",
            "element",
            fn,
            num_parallel_calls,
            deterministic,
            executor,
            output_signature,
            on_error,
            name,
        )

    def filter(
        self,
        fn: Callable[..., Any],
        num_parallel_calls: int = AUTOTUNE,
        deterministic: bool | None = None,
        executor: str = "auto",
        output_signature: Any = None,
        on_error: ErrorPolicy = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements for which `fn` is true.

        `output_signature` is that of `fn`, a scalar: elements stay what they are.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(6).filter(lambda x: x % 3 == 0)]
        [0, 3]
        """
        check_scalar_signature("filter", output_signature)
        return self._call_per_element(
            "filter",
            "predicate",
            fn,
            num_parallel_calls,
            deterministic,
            executor,
            None,
            on_error,
            name,
        )

    def _call_per_element(
        self,
        op: str,
        kind: str,
        fn: Any,
        num_parallel_calls: Any,
        deterministic: Any,
        executor: str,
        output_signature: Any,
        on_error: ErrorPolicy,
        name: str | None,
    ) -> Dataset:
        lowered = lower(
            fn,
            kind,
            op,
            executor,
            self._native.element_spec,
            output_signature,
        )
        if num_parallel_calls is None:
            num_parallel_calls = AUTOTUNE
        calls = check.integer(op, "num_parallel_calls", num_parallel_calls)
        native = getattr(self._native, op)(
            lowered.handle,
            lowered.parallel_calls(calls),
            check.optional_boolean(op, "deterministic", deterministic),
            error_policy(op, on_error),
            check.stage_name(op, name),
        )
        kwargs: dict[str, Any] = {
            "num_parallel_calls": num_parallel_calls,
            "deterministic": deterministic,
            "executor": executor,
            "on_error": on_error,
            "name": name,
        }
        if kind == "element":
            kwargs["output_signature"] = output_signature
        return self._derive(native, op, fn, functions=(lowered,), **kwargs)

    def flat_map(
        self,
        fn: Callable[..., Any],
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """`fn` makes a dataset of each element; their elements in order.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4).flat_map(lambda n: ps.Dataset.range(n))
        >>> [int(x) for x in ds]
        [0, 0, 1, 0, 1, 2]
        """
        lowered = lower(
            fn,
            "dataset",
            "flat_map",
            "auto",
            self._native.element_spec,
            output_signature,
        )
        native = self._native.flat_map(
            lowered.handle, check.stage_name("flat_map", name)
        )
        return self._derive(
            native,
            "flat_map",
            fn,
            functions=(lowered,),
            output_signature=output_signature,
            name=name,
        )

    def interleave(
        self,
        fn: Callable[..., Any],
        cycle_length: int = AUTOTUNE,
        block_length: int = 1,
        num_parallel_calls: int = AUTOTUNE,
        deterministic: bool | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Like `flat_map`, with `cycle_length` datasets taking turns.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(2).interleave(
        ...     lambda n: ps.Dataset.from_tensors(n).repeat(2), cycle_length=2)
        >>> [int(x) for x in ds]
        [0, 1, 0, 1]
        """
        op = "interleave"
        lowered = lower(
            fn, "dataset", op, "auto", self._native.element_spec, output_signature
        )
        if num_parallel_calls is None:
            num_parallel_calls = AUTOTUNE
        if cycle_length is None:
            cycle_length = AUTOTUNE
        native = self._native.interleave(
            lowered.handle,
            check.integer(op, "cycle_length", cycle_length),
            check.integer(op, "block_length", block_length),
            check.integer(op, "num_parallel_calls", num_parallel_calls),
            check.optional_boolean(op, "deterministic", deterministic),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            fn,
            functions=(lowered,),
            cycle_length=cycle_length,
            block_length=block_length,
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
            output_signature=output_signature,
            name=name,
        )

    def take_while(self, fn: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `fn` is false.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter().take_while(lambda x: x < 3)]
        [0, 1, 2]
        """
        lowered = lower(
            fn, "predicate", "take_while", "auto", self._native.element_spec
        )
        native = self._native.take_while(
            lowered.handle, check.stage_name("take_while", name)
        )
        return self._derive(native, "take_while", fn, functions=(lowered,), name=name)

    def scan(
        self,
        init: Any,
        fn: Callable[..., Any],
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """``state, output = fn(state, element)``, one call after the other.

        The state is saved with `Iterator.state_dict`, as a value.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5).scan(0, lambda s, x: (s + x, s + x))
        >>> [int(x) for x in ds]
        [0, 1, 3, 6, 10]
        """
        check_callable("scan", "fn", fn)
        signature = check_signature("scan", output_signature)
        check_arity("scan", fn, self._native.element_spec, states=1)
        lowered, spec = lower_scan(fn, init, self._native.element_spec, signature)
        traced = isinstance(lowered, Lowered)
        native = self._native.scan(
            init,
            lowered.handle if traced else fn,
            function_identity(fn),
            spec if traced and signature is None else signature,
            check.stage_name("scan", name),
        )
        return self._derive(
            native,
            "scan",
            init,
            fn,
            functions=(lowered,) if traced else (),
            output_signature=output_signature,
            name=name,
        )

    def group_by_window(
        self,
        key_fn: Callable[..., Any],
        reduce_fn: Callable[[Any, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[int], int] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collects elements of equal ``key_fn(element)`` to windows.

        The elements of ``reduce_fn(key, window)``, where window is a dataset,
        follow when the window is full; what is left at the end, in key order.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(7).group_by_window(
        ...     lambda x: x % 2, lambda key, window: window.batch(3), 3)
        >>> [batch.tolist() for batch in ds]
        [[0, 2, 4], [1, 3, 5], [6]]
        """
        op = "group_by_window"
        if (window_size is None) == (window_size_func is None):
            raise InvalidArgumentError(
                f"{op}: give either window_size or window_size_func"
            )
        if window_size_func is not None:
            check_callable(op, "window_size_func", window_size_func)
        elif check.integer(op, "window_size", window_size) < 1:
            raise InvalidArgumentError(
                f"{op}: window_size must be >= 1, got {window_size}"
            )
        check_callable(op, "key_fn", key_fn)
        check_callable(op, "reduce_fn", reduce_fn)
        spec = self._native.element_spec
        key = lower(key_fn, "number", op, "auto", spec)
        # The engine knows no identity of window_size_func.
        reduce = dataset_function(
            reduce_fn,
            function_identity(
                reduce_fn if window_size_func is None else (reduce_fn, window_size_func)
            ),
        )
        native = self._native.group_by_window(
            key.handle,
            reduce.handle,
            0 if window_size is None else check.integer(op, "window_size", window_size),
            window_size_func,
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            key_fn,
            reduce_fn,
            functions=(key, reduce),
            window_size=window_size,
            window_size_func=window_size_func,
            name=name,
        )

    def bucket_by_sequence_length(
        self,
        len_fn: Callable[..., Any],
        boundaries: Any,
        batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        Bucket i takes lengths in ``[boundaries[i - 1], boundaries[i])`` and
        makes batches of ``batch_sizes[i]``.

        >>> import penstock as ps
        >>> rows = ps.Dataset.from_list([[1], [1, 2, 3], [4], [5, 6, 7, 8]])
        >>> ds = rows.bucket_by_sequence_length(len, [2], [2, 2])
        >>> [batch.tolist() for batch in ds]
        [[[1], [4]], [[1, 2, 3, 0], [5, 6, 7, 8]]]
        """
        op = "bucket_by_sequence_length"
        check_callable(op, "len_fn", len_fn)
        spec = self._native.element_spec
        length = lower(len_fn, "number", op, "auto", spec)
        native = self._native.bucket_by_sequence_length(
            length.handle,
            check.integers(op, "boundaries", boundaries),
            check.integers(op, "batch_sizes", batch_sizes),
            check.leaf_shapes(op, padded_shapes, spec),
            check.leaf_values(op, padding_values, spec),
            check.boolean(op, "pad_to_bucket_boundary", pad_to_bucket_boundary),
            check.boolean(op, "no_padding", no_padding),
            check.boolean(op, "drop_remainder", drop_remainder),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            len_fn,
            boundaries,
            batch_sizes,
            functions=(length,),
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_bucket_boundary=pad_to_bucket_boundary,
            no_padding=no_padding,
            drop_remainder=drop_remainder,
            name=name,
        )

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
            class_func,
            target_dist,
            functions=(lowered,),
            initial_dist=initial_dist,
            seed=seed,
            name=name,
        )

    # --- grouping ---------------------------------------------------------

    def batch(
        self, n: int, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """`n` consecutive elements stacked to one.

        >>> import penstock as ps
        >>> ps.Dataset.range(5).batch(2, drop_remainder=True).to_list()
        [array([0, 1]), array([2, 3])]
        """
        native = self._native.batch(
            check.integer("batch", "batch_size", n),
            check.boolean("batch", "drop_remainder", drop_remainder),
            check.stage_name("batch", name),
        )
        return self._derive(
            native, "batch", n, drop_remainder=drop_remainder, name=name
        )

    def padded_batch(
        self,
        n: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`n` elements padded to one shape and stacked.

        >>> import penstock as ps
        >>> ds = ps.Dataset.from_list([[1], [2, 3]])
        >>> ds.padded_batch(2, padding_values=-1).to_list()
        [array([[ 1, -1],
               [ 2,  3]])]
        """
        op = "padded_batch"
        spec = self._native.element_spec
        native = self._native.padded_batch(
            check.integer(op, "batch_size", n),
            check.leaf_shapes(op, padded_shapes, spec),
            check.leaf_values(op, padding_values, spec),
            check.boolean(op, "drop_remainder", drop_remainder),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            n,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            drop_remainder=drop_remainder,
            name=name,
        )

    def ragged_batch(
        self, n: int, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """`n` elements as one, without padding: open shapes become ragged.

        >>> import penstock as ps
        >>> ps.Dataset.from_list([[1], [2, 3]]).ragged_batch(2).to_list()[0].to_list()
        [[1], [2, 3]]
        """
        native = self._native.ragged_batch(
            check.integer("ragged_batch", "batch_size", n),
            check.boolean("ragged_batch", "drop_remainder", drop_remainder),
            check.stage_name("ragged_batch", name),
        )
        return self._derive(
            native, "ragged_batch", n, drop_remainder=drop_remainder, name=name
        )

    def pack(
        self,
        length: Any,
        num_open: int = 1,
        split_long: bool = False,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Several sequences in each row of `length`, for training on text.

        Elements of rank-1 tensors become rows of values, segment ids (from 1; 0
        is padding) and positions. A tensor gives the tuple of the three, a key k
        of a dict the keys k, k_segment_ids and k_positions.

        >>> import penstock as ps
        >>> rows = ps.Dataset.from_list([[5, 6], [7], [8, 9]]).pack(4)
        >>> values, segments, positions = rows.to_list()[0]
        >>> values.tolist(), segments.tolist(), positions.tolist()
        ([5, 6, 7, 0], [1, 1, 2, 0], [0, 1, 0, 0])
        """
        lengths = (
            check.integers("pack", "length", length)
            if isinstance(length, (list, tuple))
            else [check.integer("pack", "length", length)]
        )
        native = self._native.pack(
            lengths,
            check.integer("pack", "num_open", num_open),
            check.boolean("pack", "split_long", split_long),
            check.leaf_values("pack", padding_values, self._native.element_spec),
            check.boolean("pack", "drop_remainder", drop_remainder),
            check.stage_name("pack", name),
        )
        return self._derive(
            native,
            "pack",
            length,
            num_open=num_open,
            split_long=split_long,
            padding_values=padding_values,
            drop_remainder=drop_remainder,
            name=name,
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Every row of an element's first dimension as an element.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(4).batch(3).unbatch()]
        [0, 1, 2, 3]
        """
        native = self._native.unbatch(check.stage_name("unbatch", name))
        return self._derive(native, "unbatch", name=name)

    def rebatch(
        self, n: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of another size; a sequence of sizes is taken in turn.

        >>> import penstock as ps
        >>> [b.tolist() for b in ps.Dataset.range(5).batch(4).rebatch(2)]
        [[0, 1], [2, 3], [4]]
        """
        sizes = (
            check.integers("rebatch", "batch_size", n)
            if isinstance(n, (list, tuple))
            else [check.integer("rebatch", "batch_size", n)]
        )
        native = self._native.rebatch(
            sizes,
            check.boolean("rebatch", "drop_remainder", drop_remainder),
            check.stage_name("rebatch", name),
        )
        return self._derive(
            native, "rebatch", n, drop_remainder=drop_remainder, name=name
        )

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of `size` elements, each a dataset of its own.

        >>> import penstock as ps
        >>> windows = ps.Dataset.range(5).window(3, shift=2, drop_remainder=True)
        >>> [[int(x) for x in w] for w in windows]
        [[0, 1, 2], [2, 3, 4]]
        """
        native = self._native.window(
            check.integer("window", "size", size),
            check.optional_integer("window", "shift", shift),
            check.integer("window", "stride", stride),
            check.boolean("window", "drop_remainder", drop_remainder),
            check.stage_name("window", name),
        )
        return self._derive(
            native,
            "window",
            size,
            shift=shift,
            stride=stride,
            drop_remainder=drop_remainder,
            name=name,
        )

    # --- order and choice ---------------------------------------------------

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

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(2).concatenate(ps.Dataset.range(2))]
        [0, 1, 0, 1]
        """
        (second,) = check_datasets("concatenate", (other,))
        native = self._native.concatenate(
            second._native, check.stage_name("concatenate", name)
        )
        return self._derive(native, "concatenate", other, parents=(second,), name=name)

    def unique(self, name: str | None = None) -> Dataset:
        """Every element once, where it is seen first.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.from_tensor_slices([2, 1, 2, 1]).unique()]
        [2, 1]
        """
        native = self._native.unique(check.stage_name("unique", name))
        return self._derive(native, "unique", name=name)

    # --- keeping and running ------------------------------------------------

    def cache(self, path: Any = None, name: str | None = None) -> Dataset:
        """Keeps the elements in memory, or in the file `path`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).map(lambda x: x + 1).cache()
        >>> ds.to_list() == ds.to_list()
        True
        """
        native = self._native.cache(
            None if path is None else check.path("cache", "path", path),
            check.stage_name("cache", name),
        )
        return self._derive(native, "cache", path, name=name)

    def snapshot(self, path: Any, name: str | None = None) -> Dataset:
        """Keeps the elements in the directory `path`.

        >>> import penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     ds = ps.Dataset.range(3).snapshot(where + "/s")
        ...     ds.to_list() == ds.to_list()
        True
        """
        native = self._native.snapshot(
            check.path("snapshot", "path", path),
            check.stage_name("snapshot", name),
        )
        return self._derive(native, "snapshot", path, name=name)

    def prefetch(self, n: int = AUTOTUNE, name: str | None = None) -> Dataset:
        """At most `n` elements ahead of the next stage.

        Without it, or with AUTOTUNE, output is made ahead within the memory
        budget; ``prefetch(0)`` makes each element when it is asked for.

        >>> import penstock as ps
        >>> len(ps.Dataset.range(4).prefetch(2).to_list())
        4
        """
        native = self._native.prefetch(
            check.integer("prefetch", "n", n), check.stage_name("prefetch", name)
        )
        return self._derive(native, "prefetch", n, name=name)

    def ignore_errors(
        self, limit: int | None = None, name: str | None = None
    ) -> Dataset:
        """Leaves out elements that failed, at most `limit` of them.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).map(lambda x: 6 // int(x)).ignore_errors()
        >>> [int(x) for x in ds]
        [6, 3]
        """
        native = self._native.ignore_errors(
            check.optional_integer("ignore_errors", "limit", limit),
            check.stage_name("ignore_errors", name),
        )
        return self._derive(native, "ignore_errors", limit, name=name)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same elements, run as `options` say.

        ``on_error`` holds for every stage that has no policy of its own.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5).shuffle(5).with_options(ps.Options(seed=3))
        >>> len(ds.to_list())
        5
        """
        if not isinstance(options, Options):
            raise ArgumentTypeError(
                f"with_options: options must be ps.Options, got {options!r}"
            )
        native = self._native.with_options(
            options._native(), check.stage_name("with_options", name)
        )
        return self._derive(native, "with_options", options, options=options, name=name)
