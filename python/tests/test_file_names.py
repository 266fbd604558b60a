"""Names of files are bytes: they need not be UTF-8."""

import os

import numpy as np
import pytest

import penstock as ps

NAME = b"\xff\xfe"


@pytest.fixture
def folder(tmp_path):
    return os.fsencode(tmp_path)


def put(path, contents):
    with open(path, "wb") as file:
        file.write(contents)
    return path


@pytest.mark.parametrize("kind", [bytes, os.fsdecode])
def test_a_source_takes_a_name_that_is_not_utf8(folder, kind):
    lines = kind(put(folder + b"/" + NAME + b".txt", b"a\nb\n"))
    assert list(ps.Dataset.text_lines(lines)) == [b"a", b"b"]
    assert ps.io.read_file(lines) == b"a\nb\n"
    assert "text_lines" in ps.Dataset.text_lines(lines).explain()
    with ps.io.TFRecordWriter(kind(folder + b"/" + NAME)) as writer:
        writer.write(b"record")
    assert list(ps.Dataset.tfrecord(kind(folder + b"/" + NAME))) == [b"record"]
    array = folder + b"/" + NAME + b".npy"
    np.save(os.fsdecode(array), np.arange(2))
    assert list(ps.Dataset.npy(kind(array))) == [0, 1]


def test_names_that_were_found_are_given_back_whole(folder):
    path = put(folder + b"/" + NAME, b"abc")
    names = list(ps.Dataset.list_files(os.fsdecode(folder) + "/*"))
    assert names == [path]
    assert ps.io.matching_files(folder + b"/*") == [path]
    files = ps.Dataset.list_files(os.fsdecode(folder) + "/*")
    assert list(files.map(ps.io.read_file)) == [b"abc"]
    assert list(files.map(os.path.getsize)) == [3]
    untraced = files.map(lambda p: (id(p), ps.io.read_file(p))[1])
    assert list(untraced) == [b"abc"]


def test_what_is_written_may_have_any_name(folder):
    ds = ps.Dataset.range(3)
    ds.save(folder + b"/" + NAME)
    assert list(ps.Dataset.load(folder + b"/" + NAME)) == [0, 1, 2]
    assert list(ds.cache(os.fsdecode(folder + b"/" + NAME + b".cache"))) == [0, 1, 2]
    (name,) = ps.io.write_tfrecord(
        ps.Dataset.from_list([b"x"]), folder + b"/" + NAME + b".tfrecord"
    )
    assert os.fsencode(name) == folder + b"/" + NAME + b".tfrecord"


def test_classes_may_have_any_name(folder):
    os.mkdir(folder + b"/" + NAME)
    path = put(folder + b"/" + NAME + b"/1.png", b"")
    ds = ps.Dataset.image_folder(os.fsdecode(folder))
    assert [bytes(name) for name, _ in ds] == [path]
    assert [os.fsencode(name) for name in ds.class_names] == [NAME]


def test_an_error_names_the_file_in_printable_text(folder):
    path = put(folder + b"/" + NAME + b".gz", b"\x1f\x8b\x08junk")
    with pytest.raises(ps.DataLossError, match=r"\\xff\\xfe\.gz") as caught:
        list(ps.Dataset.text_lines(path, compression="GZIP"))
    str(caught.value).encode()
    missing = ps.Dataset.from_list([path + b"x"])
    with pytest.raises(ps.NotFoundError, match=r"\\xff\\xfe\.gzx"):
        list(missing.map(ps.io.read_file))
    with pytest.raises(ps.NotFoundError, match=r"\\xff\\xfe\.gzx"):
        list(missing.map(lambda p: (id(p), ps.io.read_file(p))[1]))
