"""Files are opened when a dataset is iterated, each time anew."""

from __future__ import annotations

import gc
import subprocess
import sys

import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest


def write_records(path, *records):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)


def records(*args, **kwargs):
    return tf.data.TFRecordDataset(*args, **kwargs)


def lines(*args, **kwargs):
    return tf.data.TextLineDataset(*args, **kwargs)


def fixed(files, **kwargs):
    return tf.data.FixedLengthRecordDataset(files, 2, **kwargs)


def write_lines(path, *items):
    path.write_bytes(b"".join(item + b"\n" for item in items))


def write_fixed(path, *items):
    path.write_bytes(b"".join(items))


READERS = pytest.mark.parametrize(
    ("reader", "write"),
    [(records, write_records), (lines, write_lines), (fixed, write_fixed)],
)
READS = pytest.mark.parametrize("reads", [None, 2, tf.data.AUTOTUNE])


@READERS
@READS
def test_a_file_that_is_written_again_is_read_again(reader, write, reads, tmp_path):
    path = tmp_path / "a"
    write(path, b"aa", b"bb", b"cc")
    ds = reader(str(path), num_parallel_reads=reads)
    assert list(ds.as_numpy_iterator()) == [b"aa", b"bb", b"cc"]
    write(path, b"dd")
    assert list(ds.as_numpy_iterator()) == [b"dd"]
    write(path, b"ee", b"ff")
    assert list(ds.as_numpy_iterator()) == [b"ee", b"ff"]


@READERS
@READS
def test_a_missing_file_is_an_error_of_the_iterator(reader, write, reads, tmp_path):
    path = tmp_path / "late"
    ds = reader([str(path)], num_parallel_reads=reads)
    with pytest.raises(tf.errors.NotFoundError, match="late"):
        next(iter(ds))
    write(path, b"aa")
    assert list(ds.as_numpy_iterator()) == [b"aa"]


@READERS
def test_how_many_records_files_hold_is_not_known(reader, write, tmp_path):
    path = tmp_path / "a"
    write(path, b"aa", b"bb")
    ds = reader(str(path))
    assert int(ds.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert ds.element_spec == tf.TensorSpec((), tf.string)
    with pytest.raises(TypeError, match="unknown"):
        len(ds)


@READERS
def test_a_reader_of_names_is_stage_0(reader, write, tmp_path):
    write(tmp_path / "a", b"aa")
    plan = reader(str(tmp_path / "a")).map(lambda x: x).explain()
    assert "#0" in plan.splitlines()[0]
    assert plan.splitlines()[1].startswith("map#1")


def test_files_of_names_and_patterns_keep_their_order(tmp_path):
    for name in "abc":
        items = [f"{name}{i}".encode() for i in range(2)]
        write_records(tmp_path / f"{name}.tfrecord", *items)
    names = [str(tmp_path / f"{name}.tfrecord") for name in "cab"]
    found = [x.decode() for x in records(names).as_numpy_iterator()]
    assert found == ["c0", "c1", "a0", "a1", "b0", "b1"]
    pattern = str(tmp_path / "*.tfrecord")
    found = [x.decode() for x in records(pattern).as_numpy_iterator()]
    assert found == ["a0", "a1", "b0", "b1", "c0", "c1"]
    with pytest.raises(tf.errors.NotFoundError, match=r"\*\.none"):
        next(iter(records(str(tmp_path / "*.none"))))


def test_private_names_are_not_looked_for_in_tensorflow(monkeypatch):
    import sys
    import types

    fake = types.ModuleType("tensorflow")
    fake._anything = "theirs"
    monkeypatch.setitem(sys.modules, "tensorflow", fake)
    assert not hasattr(tf, "_anything")
    assert not hasattr(tf.strings, "_anything")


def test_a_writer_that_nobody_closes_loses_nothing(tmp_path):
    path = str(tmp_path / "dropped")
    writer = tf.io.TFRecordWriter(path)
    writer.write(b"x")
    del writer
    gc.collect()
    assert list(tf.data.TFRecordDataset(path).as_numpy_iterator()) == [b"x"]
    at_exit = str(tmp_path / "at_exit")
    program = (
        "import sys, penstock.tf as tf\n"
        "writer = tf.io.TFRecordWriter(sys.argv[1])\n"
        "writer.write(b'y')\n"
    )
    subprocess.run([sys.executable, "-c", program, at_exit], check=True)
    assert list(tf.data.TFRecordDataset(at_exit).as_numpy_iterator()) == [b"y"]
    writer = tf.io.TFRecordWriter(path)
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"z")
    with pytest.raises(ZeroDivisionError), tf.io.TFRecordWriter(path) as failed:
        failed.write(b"half")
        raise ZeroDivisionError
    del failed
    gc.collect()
    assert list(tf.data.TFRecordDataset(path)) == []
