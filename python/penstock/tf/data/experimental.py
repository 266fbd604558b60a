"""`tf.data.experimental`: what of it still exists.

Most are old spellings of methods of `Dataset`, used with ``ds.apply(...)``.

>>> import penstock.tf as tf
>>> ds = tf.data.Dataset.range(4).apply(tf.data.experimental.assert_cardinality(4))
>>> int(tf.data.experimental.cardinality(ds))
4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._dataset import Dataset as Engine
from penstock._errors import FailedPreconditionError, InvalidArgumentError
from penstock._options import AUTOTUNE
from penstock._options import INFINITE as INFINITE_CARDINALITY
from penstock._options import UNKNOWN as UNKNOWN_CARDINALITY
from penstock.tf import _missing
from penstock.tf._csv import CsvDataset, SqlDataset, make_csv_dataset
from penstock.tf._dataset import Dataset
from penstock.tf._dtypes import int64
from penstock.tf._features import make_batched_features_dataset, parse_example_dataset
from penstock.tf._functions import call
from penstock.tf._iterator import Iterator, Optional
from penstock.tf._options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ServiceOptions,
    ThreadingOptions,
)
from penstock.tf._values import unwrap, wrap
from penstock.tf.lookup import (
    DatasetInitializer,
    index_table_from_dataset,
    table_from_dataset,
)

SHARD_HINT = -1


def cardinality(dataset: Dataset) -> Any:
    """The same as ``dataset.cardinality()``.

    >>> import penstock.tf as tf
    >>> int(tf.data.experimental.cardinality(tf.data.Dataset.range(3)))
    3
    """
    return dataset.cardinality()


def at(dataset: Dataset, index: Any) -> Any:
    """Element `index` of a dataset that is read by index.

    >>> import penstock.tf as tf
    >>> int(tf.data.experimental.at(tf.data.Dataset.range(9).shard(2, 1), 3))
    7
    """
    return dataset._at(index)


def from_list(elements: Any, name: str | None = None) -> Dataset:
    """The items of a list: one structure, one shape or several.

    >>> import penstock.tf as tf
    >>> ds = tf.data.experimental.from_list([(1, "a"), (2, "b")])
    >>> [(int(n), s.numpy()) for n, s in ds]
    [(1, b'a'), (2, b'b')]
    """
    if not elements:
        raise ValueError("from_list: elements must not be empty")
    items = [unwrap(tuple(e) if type(e) is list else e) for e in elements]
    return Dataset._of(Engine.from_list(items, name=name))


def get_single_element(dataset: Dataset) -> Any:
    """The only element of `dataset`."""
    return dataset.get_single_element()


def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element, or an `Optional` without value."""
    return iterator.get_next_as_optional()


def get_structure(dataset_or_iterator: Any) -> Any:
    """The element spec."""
    return dataset_or_iterator.element_spec


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Dataset:
    """Counts without end.

    >>> import penstock.tf as tf
    >>> [int(x) for x in tf.data.experimental.Counter(1, 3).take(2)]
    [1, 4]
    """
    return Dataset.counter(start, step, dtype)


def RandomDataset(
    seed: Any = None,
    rerandomize_each_iteration: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Random numbers without end."""
    return Dataset.random(seed, rerandomize_each_iteration, name)


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Any = None,
    checkpoint_args: Any = None,
) -> None:
    """The same as ``dataset.save(path)``."""
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(
    path: Any,
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Any = None,
) -> Dataset:
    """The same as ``Dataset.load(path)``."""
    return Dataset.load(path, element_spec, compression, reader_func)


def sample_from_datasets(
    datasets: Any,
    weights: Any = None,
    seed: Any = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """The same as ``Dataset.sample_from_datasets``."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(
    datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False
) -> Dataset:
    """The same as ``Dataset.choose_from_datasets``, which stops by default."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def _method(name: str, *args: Any, **kwargs: Any) -> Callable[[Dataset], Dataset]:
    def apply(dataset: Dataset) -> Dataset:
        made: Dataset = getattr(dataset, name)(*args, **kwargs)
        return made

    return apply


def unbatch() -> Any:
    """For ``ds.apply``: `Dataset.unbatch`."""
    return _method("unbatch")


def unique() -> Any:
    """For ``ds.apply``: `Dataset.unique`."""
    return _method("unique")


def take_while(predicate: Callable[..., Any]) -> Any:
    """For ``ds.apply``: `Dataset.take_while`."""
    return _method("take_while", predicate)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Any:
    """For ``ds.apply``: `Dataset.scan`."""
    return _method("scan", initial_state, scan_func)


def enumerate_dataset(start: Any = 0) -> Any:
    """For ``ds.apply``: `Dataset.enumerate`."""
    return _method("enumerate", start)


def ignore_errors(log_warning: bool = False) -> Any:
    """For ``ds.apply``: `Dataset.ignore_errors`.

    >>> import penstock.tf as tf
    >>> ds = tf.data.Dataset.range(3).map(lambda x: 6 // int(x))
    >>> [int(x) for x in ds.apply(tf.data.experimental.ignore_errors())]
    [6, 3]
    """
    return _method("ignore_errors", log_warning)


def group_by_window(
    key_func: Any,
    reduce_func: Any,
    window_size: Any = None,
    window_size_func: Any = None,
) -> Any:
    """For ``ds.apply``: `Dataset.group_by_window`."""
    return _method(
        "group_by_window", key_func, reduce_func, window_size, window_size_func
    )


def bucket_by_sequence_length(
    element_length_func: Any,
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Any:
    """For ``ds.apply``: `Dataset.bucket_by_sequence_length`."""
    return _method(
        "bucket_by_sequence_length",
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def rejection_resample(
    class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Any:
    """For ``ds.apply``: `Dataset.rejection_resample`."""
    return _method("rejection_resample", class_func, target_dist, initial_dist, seed)


def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = int64
) -> Any:
    """For ``ds.apply``: `Dataset.ragged_batch`."""
    return _method("ragged_batch", batch_size, drop_remainder)


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Any:
    """For ``ds.apply``: `Dataset.sparse_batch`."""
    return _method("sparse_batch", batch_size, row_shape)


def snapshot(
    path: Any,
    compression: str | None = "AUTO",
    reader_func: Any = None,
    shard_func: Any = None,
) -> Any:
    """For ``ds.apply``: `Dataset.snapshot`."""
    return _method("snapshot", path, compression, reader_func, shard_func)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Any:
    """For ``ds.apply``: `Dataset.shuffle`, then `Dataset.repeat`."""

    def apply(dataset: Dataset) -> Dataset:
        return dataset.shuffle(buffer_size, seed).repeat(count)

    return apply


def map_and_batch(
    map_func: Any,
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Any:
    """For ``ds.apply``: `Dataset.map`, then `Dataset.batch`.

    >>> import penstock.tf as tf
    >>> step = tf.data.experimental.map_and_batch(lambda x: x + 1, 2)
    >>> [b.numpy().tolist() for b in tf.data.Dataset.range(3).apply(step)]
    [[1, 2], [3]]
    """

    def apply(dataset: Dataset) -> Dataset:
        calls = AUTOTUNE if num_parallel_batches else num_parallel_calls
        return dataset.map(map_func, calls).batch(batch_size, drop_remainder)

    return apply


def parallel_interleave(
    map_func: Any,
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool | None = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Any:
    """For ``ds.apply``: `Dataset.interleave` in parallel."""
    return _method(
        "interleave",
        map_func,
        cycle_length,
        block_length,
        num_parallel_calls=cycle_length,
        deterministic=not sloppy,
    )


def assert_cardinality(expected_cardinality: Any) -> Any:
    """For ``ds.apply``: an error where there are more or fewer elements.

    >>> import penstock.tf as tf
    >>> ds = tf.data.Dataset.range(9).filter(lambda x: x < 3)
    >>> len(ds.apply(tf.data.experimental.assert_cardinality(3)))
    3
    """
    expected = int(expected_cardinality)

    def apply(dataset: Dataset) -> Dataset:
        return _Counted._make_counted(dataset, expected)

    return apply


class _Counted(Dataset):
    """A dataset of a promised number of elements, which is checked."""

    __slots__ = ("_expected",)
    _expected: int

    @classmethod
    def _make_counted(cls, dataset: Dataset, expected: int) -> _Counted:
        def generate() -> Any:
            count = 0
            for element in Engine.__iter__(dataset._runnable()):
                count += 1
                if count > expected >= 0:
                    raise FailedPreconditionError(
                        f"Input dataset was expected to contain {expected} elements "
                        "but contained at least one more."
                    )
                yield element
            if count < expected:
                raise FailedPreconditionError(
                    f"Input dataset was expected to contain {expected} elements but "
                    f"contained only {count} elements."
                )

        self = object.__new__(cls)
        self._penstock_value = Engine.from_generator(
            generate, dataset._penstock_value.element_spec
        )
        self._options = dataset._options
        self._ragged = dataset._ragged
        self._running = None
        self._expected = expected
        return self

    def cardinality(self) -> Any:
        return wrap(np.int64(self._expected))

    def __len__(self) -> int:
        return self._expected


def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> Any:
    """For ``ds.apply``: zeros are added up to a number of elements.

    The elements are dicts; `mask_key` says which of them are real.

    >>> import penstock.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices({"a": [1, 2]})
    >>> ds = ds.apply(tf.data.experimental.pad_to_cardinality(3))
    >>> [(int(x["a"]), bool(x["valid"])) for x in ds]
    [(1, True), (2, True), (0, False)]
    """

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset._penstock_value.element_spec
        if not isinstance(spec, dict):
            raise ValueError(  # noqa: TRY004 (as TensorFlow)
                "`pad_to_cardinality` requires its input dataset to be a dictionary."
            )
        count = dataset._penstock_value.cardinality()
        if count < 0:
            raise ValueError("The dataset passed must have a known cardinality.")
        if count > int(cardinality):
            raise ValueError(
                f"The dataset has {count} elements, more than {cardinality}."
            )
        real = dataset.map(lambda x: {**x, mask_key: True})
        zeros = dataset.take(1).repeat(int(cardinality) - count)
        empty = zeros.map(
            lambda x: {**{k: v * 0 for k, v in x.items()}, mask_key: False}
        )
        return real.concatenate(empty)

    return apply


class Reducer:
    """Three functions for `group_by_reducer`: start, step and finish."""

    def __init__(self, init_func: Any, reduce_func: Any, finalize_func: Any) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Any:
    """For ``ds.apply``: one result for each key, in the order of the keys.

    >>> import penstock.tf as tf
    >>> add = tf.data.experimental.Reducer(
    ...     lambda key: 0, lambda total, x: total + int(x), lambda total: total)
    >>> step = tf.data.experimental.group_by_reducer(lambda x: x % 2, add)
    >>> [int(x) for x in tf.data.Dataset.range(5).apply(step)]
    [6, 4]
    """

    def apply(dataset: Dataset) -> Dataset:
        key_of = call("group_by_reducer", key_func, "number")

        def generate() -> Any:
            states: dict[int, Any] = {}
            for element in dataset:
                key = int(key_of(*(element if type(element) is tuple else (element,))))
                if key not in states:
                    states[key] = reducer.init_func(wrap(np.int64(key)))
                states[key] = reducer.reduce_func(states[key], element)
            for key in sorted(states):
                yield reducer.finalize_func(states[key])

        return Dataset.from_generator(generate)

    return apply


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Any:
    """For ``ds.apply``: nothing; elements are in host memory."""
    return lambda dataset: dataset


def prefetch_to_device(device: str, buffer_size: Any = None) -> Any:
    """For ``ds.apply``: `Dataset.prefetch`; elements stay in host memory."""
    return _method("prefetch", AUTOTUNE if buffer_size is None else buffer_size)


def enable_debug_mode() -> None:
    """Accepted: functions run as Python here anyway."""


class TFRecordWriter:
    """Writes the strings of a dataset to a TFRecord file."""

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        self._filename = filename
        self._compression = compression_type

    def write(self, dataset: Dataset) -> None:
        from penstock.tf import io

        with io.TFRecordWriter(self._filename, self._compression) as writer:
            for record in dataset.as_numpy_iterator():
                if not isinstance(record, bytes):
                    raise InvalidArgumentError(
                        "TFRecordWriter: the elements must be strings, got "
                        f"{type(record).__name__}"
                    )
                writer.write(record)


def __getattr__(name: str) -> Any:
    return _missing.resolve("data.experimental", name)


__all__ = [
    "AUTOTUNE",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DatasetInitializer",
    "DistributeOptions",
    "ExternalStatePolicy",
    "INFINITE_CARDINALITY",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "SHARD_HINT",
    "ServiceOptions",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enable_debug_mode",
    "enumerate_dataset",
    "from_list",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "index_table_from_dataset",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "table_from_dataset",
    "take_while",
    "unbatch",
    "unique",
]
