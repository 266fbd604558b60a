"""Functions that build datasets with TensorFlow's names run without Python."""

from __future__ import annotations

import functools
import os

import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

Dataset = tf.data.Dataset


@pytest.fixture
def files(tmp_path):
    names = []
    for i in range(3):
        names.append(str(tmp_path / f"{i}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            for k in range(i + 2):
                writer.write(f"{i}-{k}".encode())
    return names


@pytest.fixture
def texts(tmp_path):
    names = []
    for i in range(3):
        names.append(str(tmp_path / f"{i}.txt"))
        (tmp_path / f"{i}.txt").write_text("".join(f"{i}:{k}\n" for k in range(3)))
    return names


def runs_as_template(ds):
    return "native (a template" in ds.explain().splitlines()[-1]


def by_python(fn):
    def call(x):
        print(end="")  # nothing that prints is traced
        return fn(x)

    return call


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    got = value.numpy()
    return got if isinstance(got, bytes) else (got.dtype.name, got.tolist())


RECORDS = {
    "alone": lambda f: tf.data.TFRecordDataset(f),
    "arguments": lambda f: tf.data.TFRecordDataset(f, "", num_parallel_reads=4),
    "list": lambda f: tf.data.TFRecordDataset([f]),
    "chain": lambda f: tf.data.TFRecordDataset(f).map(tf.strings.length).take(2),
    "filter": lambda f: tf.data.TFRecordDataset(f).filter(
        lambda r: tf.strings.substr(r, 2, 1) != b"1"
    ),
    "name": lambda f: tf.data.TFRecordDataset(tf.strings.join([f, ""])),
    "repeat": lambda f: tf.data.TFRecordDataset(f).repeat(2).batch(2),
    "shuffle": lambda f: tf.data.TFRecordDataset(f).shuffle(9, seed=3),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records_of_files(files, name):
    fn = RECORDS[name]
    names = Dataset.from_tensor_slices(files)
    for method in ("flat_map", "interleave"):
        ds = getattr(names, method)(fn)
        assert runs_as_template(ds), ds.explain()
        slow = getattr(names, method)(by_python(fn))
        assert not runs_as_template(slow)
        assert [plain(x) for x in ds] == [plain(x) for x in slow]


@pytest.mark.parametrize(
    "make",
    [
        lambda f: tf.data.TextLineDataset(f).skip(1),
        lambda f: tf.data.FixedLengthRecordDataset(f, 4),
        lambda f: tf.data.FixedLengthRecordDataset(f, record_bytes=2, header_bytes=4),
    ],
)
def test_other_files(texts, make):
    names = Dataset.from_tensor_slices(texts)
    ds, slow = names.flat_map(make), names.flat_map(by_python(make))
    assert runs_as_template(ds), ds.explain()
    assert [plain(x) for x in ds] == [plain(x) for x in slow] != []


def test_files_that_take_turns_are_opened_without_python(files, texts):
    for make, names in (
        (tf.data.TFRecordDataset, files),
        (tf.data.TextLineDataset, texts),
    ):
        ds = make(names, num_parallel_reads=2)
        assert runs_as_template(ds), ds.explain()
        assert ds.element_spec == tf.TensorSpec([], tf.string)


NUMBERS = {
    "range": lambda x: Dataset.range(x),
    "int32": lambda x: Dataset.range(x, output_type=tf.int32),
    "slices": lambda x: Dataset.from_tensor_slices(tf.stack([x, x * 2])),
    "structure": lambda x: Dataset.from_tensor_slices(([x, 1], {"a": [2.5, 3.5]})),
    "tensors": lambda x: Dataset.from_tensors((x, 7, 0.5)).repeat(2),
    "zip": lambda x: Dataset.zip((Dataset.range(x), Dataset.range(5))),
    "together": lambda x: Dataset.range(x).concatenate(Dataset.range(2)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_datasets_of_numbers_have_tensorflows_dtypes(name):
    fn = NUMBERS[name]
    ds = Dataset.range(5).flat_map(fn)
    assert runs_as_template(ds), ds.explain()
    flat = [tf.nest.flatten(x) for x in ds]
    slow = [tf.nest.flatten(x) for x in Dataset.range(5).flat_map(by_python(fn))]
    assert plain(flat) == plain(slow)


def test_sources_themselves_and_partials(files):
    names = Dataset.from_tensor_slices(files)
    gzip = functools.partial(tf.data.TFRecordDataset, compression_type="")
    assert runs_as_template(names.flat_map(gzip))
    ds = Dataset.from_tensor_slices([[1, 2], [3, 4]])
    ds = ds.flat_map(Dataset.from_tensor_slices)
    assert runs_as_template(ds)
    assert [int(x) for x in ds] == [1, 2, 3, 4]


def test_behind_a_function_that_runs_as_python(files):
    def unknown(x):
        return x if os.getcwd() else x

    names = Dataset.from_tensor_slices(files).map(unknown)
    assert "unknown" in repr(names.element_spec).lower()
    ds = names.interleave(lambda f: tf.data.TFRecordDataset(f), cycle_length=3)
    assert runs_as_template(ds)
    assert plain(list(ds))[:4] == [b"0-0", b"1-0", b"2-0", b"0-1"]


def test_what_no_template_has_runs_as_python(files):
    calls = []

    def read(f):
        calls.append(f.numpy())
        return tf.data.TFRecordDataset(f)

    ds = Dataset.from_tensor_slices(files).flat_map(read)
    assert not runs_as_template(ds)
    assert len(list(ds)) == 9
    assert sorted(calls) == sorted(f.encode() for f in files)


def test_a_file_that_is_not_there_is_named(files):
    ds = Dataset.from_tensor_slices([*files, "/no/such.tfrecord"])
    ds = ds.flat_map(lambda f: tf.data.TFRecordDataset(f))
    assert runs_as_template(ds)
    with pytest.raises(tf.errors.NotFoundError, match="/no/such.tfrecord"):
        list(ds)
