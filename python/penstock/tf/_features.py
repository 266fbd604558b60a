"""Batches of parsed Examples: make_batched_features_dataset and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.tf._dataset import Dataset
from penstock.tf._readers import TFRecordDataset
from penstock.tf.io import parse_example


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """For ``ds.apply``: batches of serialized Examples as dicts of tensors.

    >>> import penstock.tf as tf
    >>> tf.data.experimental.parse_example_dataset(None)
    Traceback (most recent call last):
    ...
    ValueError: Argument `features` is required, but not specified.
    """
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")

    def apply(dataset: Dataset) -> Dataset:
        return dataset.map(
            lambda batch: parse_example(batch, features),
            num_parallel_calls,
            deterministic,
        )

    return apply


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Any,
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the Examples in files: dicts of tensors, or (dict, label).

    Without `num_epochs` it has no end, and every batch is full.

    >>> import penstock.tf as tf, tempfile
    >>> example = tf.train.Example(features=tf.train.Features(feature={
    ...     "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))}))
    >>> with tempfile.TemporaryDirectory() as where:
    ...     with tf.io.TFRecordWriter(where + "/x.tfrecord") as writer:
    ...         writer.write(example.SerializeToString())
    ...     ds = tf.data.experimental.make_batched_features_dataset(
    ...         where + "/*", 2, {"a": tf.io.FixedLenFeature([], tf.int64)},
    ...         num_epochs=1)
    ...     list(ds.as_numpy_iterator())
    [{'a': array([7])}]
    """
    if label_key is not None and label_key not in features:
        raise ValueError(
            "The `label_key` provided must be one of the `features` keys. Received: "
            f"{label_key}."
        )
    read = reader or TFRecordDataset
    more = list(reader_args or [])
    files: Dataset = Dataset.list_files(file_pattern, bool(shuffle), shuffle_seed)
    threads = 1 if reader_num_threads is None else int(reader_num_threads)
    records = files.interleave(
        (lambda file: read(file, *more)) if more else read,
        threads,
        num_parallel_calls=threads,
        deterministic=not sloppy_ordering,
    )
    if type(records.element_spec) is tuple:
        records = records.map(lambda _, value: value)
    if shuffle:
        records = records.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    full = bool(drop_final_batch) or num_epochs is None
    parse = parse_example_dataset(features, parser_num_threads or 2)
    made: Dataset = records.batch(batch_size, drop_remainder=full).apply(parse)
    if label_key is not None:
        made = made.map(
            lambda row: ({k: row[k] for k in row if k != label_key}, row[label_key])
        )
    return made.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)
