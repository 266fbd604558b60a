"""ps.io: files and records, on values, in traced functions, in pipelines."""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

import numpy as np
import pytest

import penstock as ps


def test_files_are_read_by_str_bytes_and_path(tmp_path):
    path = tmp_path / "sub" / "file.bin"
    ps.io.write_file(path, b"hello\0world")
    for name in (path, str(path), os.fsencode(path)):
        assert ps.io.read_file(name) == b"hello\0world"
    assert list(tmp_path.rglob(".*")) == []
    with pytest.raises(ps.NotFoundError, match=r"read_file.*missing"):
        ps.io.read_file(tmp_path / "missing")
    with pytest.raises(TypeError, match="path must be a path"):
        ps.io.read_file(3)
    with pytest.raises(TypeError, match="contents"):
        ps.io.write_file(path, 3)


def test_pictures_are_loaded_natively(tmp_path):
    for i in range(12):
        picture = np.full((10 + i, 12, 3), i * 10, np.uint8)
        ps.io.write_file(tmp_path / f"{i:02}.jpg", ps.image.encode_jpeg(picture))

    def load(path):
        image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
        return ps.image.resize(image, (8, 8))

    ds = ps.Dataset.list_files(str(tmp_path / "*.jpg")).map(load)
    text = ds.explain()
    assert "load" in text and ": native (fused decode_jpeg + resize)" in text
    batch = next(iter(ds.batch(12)))
    assert batch.shape == (12, 8, 8, 3)
    for i in range(12):
        np.testing.assert_allclose(batch[i], i * 10, atol=2)
    missing = ps.Dataset.from_list(["nowhere.jpg"]).map(load, executor="native")
    with pytest.raises(ps.NotFoundError, match=r"nowhere\.jpg") as error:
        next(iter(missing))
    assert "map#1" in str(error.value)


def test_matching_files_and_classes(tmp_path):
    for name in ("b/2.png", "a/1.jpg", "a/3.txt"):
        ps.io.write_file(tmp_path / name, b"")
    names = ps.io.matching_files(str(tmp_path / "**/*.*"))
    assert [pathlib.Path(os.fsdecode(n)).name for n in names] == [
        "1.jpg",
        "3.txt",
        "2.png",
    ]
    assert ps.io.class_names(tmp_path) == ["a", "b"]
    ds = ps.Dataset.image_folder(tmp_path)
    assert ds.class_names == pickle.loads(pickle.dumps(ds)).class_names == ["a", "b"]
    assert not hasattr(ds.take(1), "class_names")
    folder = ds.to_list()
    assert [(os.path.basename(p), int(c)) for p, c in folder] == [
        (b"1.jpg", 0),
        (b"2.png", 1),
    ]


def test_a_directory_in_place_of_a_file_says_so(tmp_path):
    for read in (
        lambda: ps.Dataset.text_lines(tmp_path).to_list(),
        lambda: ps.io.read_file(tmp_path),
        lambda: ps.Dataset.npy(tmp_path),
        lambda: ps.Dataset.csv(tmp_path),
    ):
        with pytest.raises(ps.FailedPreconditionError, match="Is a directory") as e:
            read()
        assert str(tmp_path) in str(e.value)


@pytest.mark.parametrize(
    "read",
    [
        lambda path: list(ps.Dataset.tfrecord(path)),
        lambda path: list(ps.Dataset.tfrecord(path, compression="GZIP")),
        lambda path: list(ps.Dataset.fixed_length_records(path, 4)),
        lambda path: list(ps.Dataset.text_lines(path)),
        lambda path: list(ps.Dataset.csv(path, {"a": ps.int64})),
        lambda path: list(ps.Dataset.jsonl(path, {"a": ps.int64})),
        lambda path: list(ps.Dataset.tar(path)),
        lambda path: list(ps.Dataset.npy(path)),
        ps.io.read_file,
    ],
    ids="tfrecord gzip fixed text csv jsonl tar npy read_file".split(),
)
def test_a_pipe_or_a_device_is_refused_at_once(tmp_path, read):
    # Opening a pipe that nobody writes into waits; its size and a device's is 0.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        with pytest.raises((ps.Error, ValueError), match=path):
            read(path)


def test_a_nul_byte_in_a_name_is_no_end_of_it(tmp_path):
    (tmp_path / "secret").write_text("other")
    name = str(tmp_path / "secret") + "\0.txt"
    for read in (ps.io.read_file, ps.Dataset.text_lines, ps.Dataset.npy):
        with pytest.raises(ps.InvalidArgumentError, match="NUL byte"):
            read(name)
    names = ps.Dataset.from_list([name])
    for ds in (names.map(ps.io.read_file), ps.Dataset.text_lines(names)):
        with pytest.raises(ps.InvalidArgumentError, match="Invalid argument"):
            ds.to_list()


def test_the_null_device_is_an_empty_file():
    assert ps.io.read_file("/dev/null") == b""
    assert list(ps.Dataset.text_lines("/dev/null")) == []
    assert list(ps.Dataset.tfrecord("/dev/null")) == []


def test_what_is_no_gzip_file_says_so(tmp_path):
    (tmp_path / "t.txt").write_text("text\n")
    ds = ps.Dataset.text_lines(tmp_path / "t.txt", compression="GZIP")
    with pytest.raises(ps.DataLossError, match="gzip stream: it does not begin as one"):
        ds.to_list()


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB", "ZSTD"])
def test_records_are_written_and_read(tmp_path, compression):
    path = tmp_path / "data"
    with ps.io.TFRecordWriter(path, compression) as writer:
        for i in range(10):
            writer.write(str(i) * i)
        assert not path.exists()
    got = ps.Dataset.tfrecord(path, compression=compression).to_list()
    assert got == [(str(i) * i).encode() for i in range(10)]
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"more")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    for write in (
        lambda path: ps.io.TFRecordWriter(path),
        lambda path: ps.io.write_tfrecord(ps.Dataset.from_list([b"a"]), path),
    ):
        with pytest.raises(ps.NotFoundError, match="cannot write into '.*absent/'"):
            write(str(tmp_path / "absent" / "rows.tfrecord"))


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), ps.io.TFRecordWriter(tmp_path / "x") as w:
        w.write(b"one")
        1 / 0  # noqa: B018
    del w
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ps.InvalidArgumentError, match="bytes or str"):
        ps.io.TFRecordWriter(tmp_path / "x").write(3)


def test_datasets_are_written_in_shards_with_progress(tmp_path):
    calls = []
    ds = ps.Dataset.range(3000).map(lambda i: ps.io.serialize_example({"i": i}))
    names = ps.io.write_tfrecord(
        ds, tmp_path / "x", shards=3, progress=lambda n, b: calls.append((n, b))
    )
    assert [os.path.basename(n) for n in names] == [
        f"x-{i:05}-of-00003" for i in range(3)
    ]
    assert calls and calls[-1][0] == 3000 and calls == sorted(calls)
    features = {"i": ps.io.FixedLenFeature([], ps.int64)}
    back = ps.Dataset.tfrecord(names).map(
        lambda r: ps.io.parse_single_example(r, features)["i"], executor="native"
    )
    assert sorted(int(i) for i in back) == list(range(3000))
    assert [int(i) for i in back.take(3)] == [0, 3, 6]

    def stop(n, b):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        ps.io.write_tfrecord(ds, tmp_path / "y", progress=stop)
    assert not (tmp_path / "y").exists()
    with pytest.raises(ps.InvalidArgumentError, match="elements must be strings"):
        ps.io.write_tfrecord(ps.Dataset.range(3), tmp_path / "z")


def test_sources_of_text(tmp_path):
    (tmp_path / "a.txt").write_text("# head\none\ntwo\n")
    (tmp_path / "b.txt").write_text("# head\nthree")
    ds = ps.Dataset.text_lines(str(tmp_path / "*.txt"), skip_lines=1)
    assert ds.to_list() == [b"one", b"two", b"three"]
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"x\ny"))
    packed = ps.Dataset.text_lines(tmp_path / "c.gz", compression="GZIP")
    assert packed.to_list() == [b"x", b"y"]
    names = ps.Dataset.list_files(str(tmp_path / "*.txt"))
    assert len(ps.Dataset.text_lines(names).to_list()) == 5
    assert pickle.loads(pickle.dumps(ds)).to_list() == ds.to_list()


def test_sources_of_records(tmp_path):
    (tmp_path / "r").write_bytes(b"HHaabbccF")
    ds = ps.Dataset.fixed_length_records(
        tmp_path / "r", 2, header_bytes=2, footer_bytes=1
    )
    assert ds.to_list() == [b"aa", b"bb", b"cc"]
    assert ds[1] == b"bb"


def test_sources_of_tar_and_npy(tmp_path):
    with tarfile.open(tmp_path / "s.tar", "w") as archive:
        for key in ("a", "b"):
            for ending, data in (("txt", key * 2), ("cls", "7")):
                info = tarfile.TarInfo(f"{key}.{ending}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data.encode()))
    samples = ps.Dataset.tar(tmp_path / "s.tar", ["txt", "cls"]).to_list()
    assert samples == [
        {"__key__": b"a", "txt": b"aa", "cls": b"7"},
        {"__key__": b"b", "txt": b"bb", "cls": b"7"},
    ]
    np.save(tmp_path / "x.npy", np.arange(12).reshape(4, 3))
    rows = ps.Dataset.npy(tmp_path / "x.npy")
    assert rows[2].tolist() == [6, 7, 8]
    np.savez(tmp_path / "y.npz", a=np.arange(2), b=np.eye(2))
    assert ps.Dataset.npy(tmp_path / "y.npz")[1]["b"].tolist() == [0, 1]


def test_npz_with_sizes_of_64_bits(tmp_path, monkeypatch):
    # As archives above 4 GiB are written.
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    arrays = {"a": np.arange(50), "b": np.eye(50)}
    np.savez(tmp_path / "stored.npz", **arrays)
    np.savez_compressed(tmp_path / "deflated.npz", **arrays)
    for name in ("stored.npz", "deflated.npz"):
        written = (tmp_path / name).read_bytes()
        assert b"PK\x06\x06" in written and b"PK\x06\x07" in written
        rows = ps.Dataset.npy(tmp_path / name).to_list()
        assert [row["a"] for row in rows] == list(range(50))
        assert np.array_equal([row["b"] for row in rows], np.eye(50))
        for cut in (10, 22, 42, 80, 100):
            (tmp_path / "cut.npz").write_bytes(written[:-cut])
            with pytest.raises(ps.DataLossError, match="cut.npz"):
                ps.Dataset.npy(tmp_path / "cut.npz")


NPY_ARRAYS = {
    "fortran": np.asfortranarray(np.arange(60, dtype=np.int16).reshape(5, 3, 4)),
    "swapped": np.arange(5, dtype=">f8") / 3,
    "both": np.asfortranarray(np.arange(10, dtype=">u4").reshape(5, 2)),
    "half": np.arange(5).astype(">f2"),
    "flags": np.asfortranarray(np.eye(5, dtype=bool)),
    "plain": np.arange(5),
}


NPY_TEXTS = {
    "bytes": np.array([b"", b"a\0b", b"ccc", b"d", b"e"]),
    "words": np.array(["", "h\xe9", "\u20ac", "\U0001f600 x", "plain"]),
    "swapped words": np.array(["a", "b", "", "\xdf", "e"]).astype(">U7"),
}


@pytest.mark.parametrize("name", [*NPY_ARRAYS, *NPY_TEXTS])
def test_npy_converts_what_is_not_as_a_tensor_has_it(tmp_path, name):
    array = {**NPY_ARRAYS, **NPY_TEXTS}[name]
    np.save(tmp_path / "x.npy", array)
    ds = ps.Dataset.npy([tmp_path / "x.npy"] * 2)
    assert len(ds) == 10
    for got, want in zip(ds.to_list(), [*array, *array]):
        if name in NPY_TEXTS:
            assert got == (want if isinstance(want, bytes) else str(want).encode())
        else:
            assert got.dtype == array.dtype.newbyteorder("=")
            np.testing.assert_array_equal(got, want)


def test_npy_texts_of_several_dimensions(tmp_path):
    array = np.array([["a", "bb", ""], ["\xe9", "c", "dd"]])
    for order in "CF":
        np.save(tmp_path / "x.npy", np.asarray(array, order=order))
        rows = ps.Dataset.npy(tmp_path / "x.npy")
        assert rows.element_spec == ps.TensorSpec((3,), ps.string)
        assert list(rows[1]) == [b"\xc3\xa9", b"c", b"dd"]


def test_npy_reads_compressed_archives(tmp_path):
    noise = np.random.default_rng(0).normal(size=(5, 30_000))
    arrays = {
        **NPY_ARRAYS,
        "noise": noise,
        "zeros": np.zeros((5, 1 << 20), np.uint8),
        "none": np.zeros((5, 0)),
    }
    np.savez_compressed(tmp_path / "x.npz", **arrays, words=NPY_TEXTS["words"])
    ds = ps.Dataset.npy(tmp_path / "x.npz")
    assert list(ds.element_spec) == [*arrays, "words"]
    for i, row in enumerate(ds):
        for name, array in arrays.items():
            np.testing.assert_array_equal(row[name], array[i])
    assert ds[1]["words"] == b"h\xc3\xa9"


def test_npz_that_is_damaged_or_has_no_rows(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.arange(1000))
    whole = path.read_bytes()
    directory = whole.rindex(b"PK\x01\x02")
    for at, size in ((100, 1), (directory + 16, 4), (directory + 24, 4)):
        for value in (0x00, 0x7F, 0xFE):
            cut = bytearray(whole)
            cut[at : at + size] = bytes([value] * size)
            path.write_bytes(cut)
            with pytest.raises(ps.Error, match="npy: "):
                ps.Dataset.npy(path)
    np.savez(path, a=np.arange(3), scale=np.float32(2))
    with pytest.raises(ps.InvalidArgumentError, match="'scale': .* got a scalar"):
        ps.Dataset.npy(path)


def test_a_checksum_behind_the_end_of_a_tar_is_looked_at(tmp_path):
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("1.txt", "2.txt"):
            info = tarfile.TarInfo(name)
            info.size = 1000
            archive.addfile(info, io.BytesIO(os.urandom(1000)))
    ds = ps.Dataset.tar(str(path), compression="GZIP")
    assert len(ds.to_list()) == 2
    whole = bytearray(path.read_bytes())
    whole[-8] ^= 1
    path.write_bytes(whole)
    read = iter(ds)
    assert [next(read)["__key__"] for _ in range(2)] == [b"1", b"2"]
    with pytest.raises(ps.DataLossError, match="x.tar.gz': .*checksum differs"):
        next(read)


def test_members_of_an_npz_that_share_their_bytes_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.zeros(1000))
    whole = path.read_bytes()
    begin, end = whole.rindex(b"PK\x01\x02"), whole.rindex(b"PK\x05\x06")
    entry = whole[begin:end]
    entries = entry + entry.replace(b"a.npy", b"b.npy")
    last = bytearray(whole[end:])
    last[8:16] = struct.pack("<HHI", 2, 2, len(entries))
    path.write_bytes(whole[:begin] + entries + last)
    with pytest.raises(ps.DataLossError, match="x.npz': .*members overlap"):
        ps.Dataset.npy(path)
    path.write_bytes(whole[:begin] + entry + entry + last)
    with pytest.raises(ps.DataLossError, match="x.npz': .*two members are named 'a'"):
        ps.Dataset.npy(path)


def test_an_npy_file_that_became_shorter_is_an_error(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100_000))
    ds = ps.Dataset.npy(str(path))
    assert len(ds.to_list()) == 100_000
    with open(path, "wb") as file:  # the same file, not another in its place
        np.save(file, np.arange(3))
    rows, found = iter(ds), []
    with pytest.raises(ps.DataLossError, match=r"x\.npy': row 3 at byte 152: .*is sh"):
        found.extend(rows)
    assert found == [0, 1, 2]


_SHRINK = """
import faulthandler, signal, sys
import numpy as np, penstock as ps
path, when = sys.argv[1:]
if when == "before":
    faulthandler.enable()
ds = ps.Dataset.npy(path)
batch = next(iter(ds.batch(100_000)))
if when == "after":
    faulthandler.enable()
open(path, "r+b").truncate(8000)
print(int(batch.sum()) == int(np.arange(984).sum()))
try:
    ds.map(lambda x: x + 1).to_list()
except ps.DataLossError as error:
    print("row 984 at byte 8000" in str(error))
if when == "raise":
    signal.raise_signal(signal.SIGBUS)
"""


@pytest.mark.parametrize("when", ["never", "before", "after", "raise"])
def test_an_array_whose_file_shrinks_turns_into_zeros(tmp_path, when):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100_000))
    done = subprocess.run(
        [sys.executable, "-c", _SHRINK, str(path), when],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["True", "True"], done.stderr
    # A signal that somebody sends ends the process, as without penstock.
    assert done.returncode == (-signal.SIGBUS if when == "raise" else 0)
    assert ("Fatal Python error" in done.stderr) == (when == "after")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "ZSTD"])
def test_what_comes_before_damage_is_read(tmp_path, kind):
    expected = [b"record %d" % i for i in range(20_000)]
    path = tmp_path / "records"
    with ps.io.TFRecordWriter(path, compression=kind) as writer:
        for each in expected:
            writer.write(each)
    lines = b"\n".join(expected) + b"\n"
    read = {ps.Dataset.tfrecord: path.read_bytes()}
    if kind != "ZSTD":
        packed = gzip.compress(lines) if kind == "GZIP" else zlib.compress(lines)
        read[ps.Dataset.text_lines] = packed
    for source, packed in read.items():
        bad_sum = bytearray(packed)
        bad_sum[-5 if kind == "GZIP" else -1] ^= 1
        for damaged in (packed + b"junk", bad_sum):
            path.write_bytes(damaged)
            found, rows = [], iter(source(path, compression=kind))
            with pytest.raises(ps.DataLossError, match="damaged"):
                for row in rows:
                    found.append(row)
            assert found == expected


def test_tar_samples_are_grouped_as_webdataset_does(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for name in ("README", "__m__/1.x", "1.JPG", ".hid", "1.Cls", "2.jpg"):
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"b"))
    found = ps.Dataset.tar(path, max_record_bytes=50).to_list()
    assert found == [
        {"__key__": b"1", "jpg": b"b", "cls": b"b"},
        {"__key__": b"2", "jpg": b"b"},
    ]
    assert len(ps.Dataset.tar(path, ["JPG"], max_record_bytes=2).to_list()[1]) == 2


def test_image_folder_takes_extensions_with_and_without_the_dot(tmp_path):
    ps.io.write_file(tmp_path / "cat" / "1.JPG", b"")
    ps.io.write_file(tmp_path / "cat" / "2.png", b"")
    for given in (["jpg"], [".jpg"], ["JPG"]):
        assert len(ps.Dataset.image_folder(tmp_path, given).to_list()) == 1


def test_tfrecord_writer_takes_buffers_of_bytes(tmp_path):
    path = tmp_path / "a.tfrecord"
    with ps.io.TFRecordWriter(path) as writer:
        for record in (memoryview(b"abcd")[::2], bytearray(b"b"), memoryview(b"c")):
            writer.write(record)
        for wrong in (np.float32(1.5), 3, memoryview(np.zeros(2))):
            with pytest.raises((TypeError, ps.InvalidArgumentError)):
                writer.write(wrong)
    assert ps.Dataset.tfrecord(path).to_list() == [b"ac", b"b", b"c"]


def test_no_pattern_finds_a_file_that_is_being_written(tmp_path):
    with ps.io.TFRecordWriter(str(tmp_path / "train-0")) as writer:
        for _ in range(5000):
            writer.write(b"x" * 1000)
        assert any(tmp_path.iterdir())
        with pytest.raises(ps.NotFoundError):
            ps.Dataset.list_files(str(tmp_path / "train-*"))
    names = ps.Dataset.list_files(str(tmp_path / "train-*")).to_list()
    assert names == [os.fsencode(tmp_path / "train-0")]


def test_read_file_and_decode_raw_take_the_keywords_of_the_contract(tmp_path):
    (tmp_path / "a").write_bytes(b"\x01\x00\x02\x00")
    assert ps.io.read_file(path=tmp_path / "a") == b"\x01\x00\x02\x00"
    ds = ps.Dataset.list_files(tmp_path / "*").map(
        lambda f: ps.io.decode_raw(bytes=ps.io.read_file(path=f), dtype=ps.int16),
        executor="native",
    )
    assert next(iter(ds)).tolist() == [1, 2]


def test_random_access_says_why_records_are_read_in_order(tmp_path):
    path = str(tmp_path / "data")
    with ps.io.TFRecordWriter(path, index=False) as writer:
        for i in range(3):
            writer.write(bytes([i]))
    with open(path, "r+b") as file:
        file.seek(17)  # the second length
        file.write(b"\xff")
    why = f"'{path}': record 1 at byte 17: corrupt length"
    with pytest.raises(ps.InvalidArgumentError, match=why):
        ps.Dataset.tfrecord(path).shuffle(ps.GLOBAL)
    with pytest.raises(ps.FailedPreconditionError, match=why):
        ps.Dataset.tfrecord(path).map(lambda r: r)[0]
    with pytest.raises(ps.FailedPreconditionError, match="its files are compressed"):
        ps.Dataset.tfrecord(path, "GZIP")[0]
    with pytest.raises(ps.FailedPreconditionError, match="index is off"):
        ps.Dataset.tfrecord(path, index=False)[0]


def test_a_compressed_tar_that_is_read_as_it_is_says_so(tmp_path):
    import tarfile

    for names in (1, 200):
        path = tmp_path / f"{names}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for i in range(names):
                archive.addfile(tarfile.TarInfo(f"{i}-{hash((i, names))}.txt"))
        with pytest.raises(ps.DataLossError, match="set compression to GZIP or auto"):
            ps.Dataset.tar(path).to_list()


def test_one_name_is_taken_for_a_list_of_names(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.jpg").write_bytes(b"")
    assert len(ps.Dataset.image_folder(tmp_path, extensions=".jpg")) == 1
    (tmp_path / "t.csv").write_text("ab,c\n1,2\n")
    assert ps.Dataset.csv(tmp_path / "t.csv", select_columns="ab").to_list() == [
        {"ab": 1}
    ]


def test_what_a_writer_cannot_write_is_said_at_once(tmp_path):
    with pytest.raises(ps.FailedPreconditionError, match="Is a directory"):
        ps.io.TFRecordWriter(tmp_path)
    with pytest.raises(ps.FailedPreconditionError, match="Is a directory"):
        ps.io.write_tfrecord(ps.Dataset.from_list([b"a"]), tmp_path)
    for record in (None, 3, ["x"], np.int64(3)):
        writer = ps.io.TFRecordWriter(tmp_path / "x")
        with pytest.raises(TypeError, match="a record must be bytes or str, got"):
            writer.write(record)


@pytest.mark.parametrize("length", [0, -4])
def test_decode_raw_of_no_bytes_is_refused(length):
    # 0 was as good as None
    with pytest.raises(ps.InvalidArgumentError, match="fixed_length must be >= 1"):
        ps.io.decode_raw(b"abcd", ps.uint8, fixed_length=length)
