"""ps.io: files and records, on values, in traced functions, in pipelines."""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import pickle
import struct
import tarfile
import zlib

import numpy as np
import pytest

import penstock as ps

FEATURES = {
    "x": ps.io.FixedLenFeature([3], ps.float32),
    "ids": ps.io.VarLenFeature(ps.int64),
    "label": ps.io.FixedLenFeature([], ps.int64, default_value=-1),
    "name": ps.io.FixedLenFeature([], ps.string, default_value="?"),
    "steps": ps.io.FixedLenSequenceFeature([2], ps.float32, allow_missing=True),
}


def record(i):
    example = {
        "x": np.arange(3, dtype=np.float32) + i,
        "ids": list(range(i % 4)) if i % 4 else np.zeros(0, np.int64),
        "unused": b"long " * 10,
        "steps": np.arange(2 * (i % 3), dtype=np.float32),
    }
    if i % 2:
        example["label"] = i
        example["name"] = f"n{i}".encode()
    return ps.io.serialize_example(example)


def expected(i):
    return {
        "x": np.arange(3, dtype=np.float32) + i,
        "ids": np.arange(i % 4),
        "label": i if i % 2 else -1,
        "name": f"n{i}".encode() if i % 2 else b"?",
        "steps": np.arange(2 * (i % 3), dtype=np.float32).reshape(-1, 2),
    }


def check(got, i):
    assert list(got) == list(FEATURES)
    want = expected(i)
    for name in FEATURES:
        if isinstance(want[name], bytes):
            assert got[name] == want[name]
        else:
            np.testing.assert_array_equal(got[name], want[name])
    assert got["ids"].dtype == np.int64 and got["x"].dtype == np.float32


# --- Example ----------------------------------------------------------------


def test_a_record_is_parsed_on_the_spot():
    for i in range(6):
        check(ps.io.parse_single_example(record(i), FEATURES), i)


@pytest.mark.parametrize("workers", [1, 4])
def test_records_are_parsed_natively_block_by_block(workers):
    ds = ps.Dataset.from_list([record(i) for i in range(500)])
    ds = ds.map(
        lambda r: ps.io.parse_single_example(r, FEATURES),
        executor="native",
        num_parallel_calls=workers,
    )
    assert ds.element_spec["ids"] == ps.TensorSpec((None,), ps.int64)
    assert ds.element_spec["x"] == ps.TensorSpec((3,), ps.float32)
    for i, got in enumerate(ds):
        check(got, i)
    assert i == 499


def test_parsed_values_can_be_computed_with():
    def prepare(r):
        parsed = ps.io.parse_single_example(r, FEATURES)
        return parsed["x"].sum() * 2, parsed["ids"].sum(), parsed["name"]

    ds = ps.Dataset.from_list([record(i) for i in range(50)])
    for i, (x, ids, name) in enumerate(ds.map(prepare, executor="native")):
        want = expected(i)
        assert x == want["x"].sum() * 2
        assert ids == want["ids"].sum()
        assert name == want["name"]


def test_features_may_be_built_inside_the_function():
    def prepare(r):
        features = {"label": ps.io.FixedLenFeature([], ps.int64, default_value=-1)}
        return ps.io.parse_single_example(r, features)["label"]

    ds = ps.Dataset.from_list([record(i) for i in range(6)])
    got = [int(x) for x in ds.map(prepare, executor="native")]
    assert got == [-1, 1, -1, 3, -1, 5]


@pytest.mark.parametrize("traced", [False, True])
def test_a_batch_of_records_gives_batches(traced):
    records = [record(i) for i in range(7)]
    if traced:
        ds = ps.Dataset.from_list(records).batch(7)
        ds = ds.map(lambda r: ps.io.parse_example(r, FEATURES), executor="native")
        assert isinstance(ds.element_spec["ids"], ps.RaggedSpec)
        batch = next(iter(ds))
    else:
        batch = ps.io.parse_example(records, FEATURES)
    for i in range(7):
        want = expected(i)
        np.testing.assert_array_equal(batch["x"][i], want["x"])
        np.testing.assert_array_equal(batch["ids"][i], want["ids"])
        assert batch["label"][i] == want["label"]
        assert batch["name"][i] == want["name"]
        np.testing.assert_array_equal(batch["steps"][i][: i % 3], want["steps"])
    assert batch["steps"].shape == (7, 2, 2)


def test_ragged_values_are_computed_with_and_become_dense():
    def prepare(r):
        ids = ps.io.parse_example(r, {"ids": ps.io.VarLenFeature(ps.int64)})["ids"]
        return {"dense": ids.to_dense(-1), "lengths": ids.row_splits[1:], "ids": ids}

    ds = ps.Dataset.from_list([record(i) for i in range(4)]).batch(4)
    got = next(iter(ds.map(prepare, executor="native")))
    assert got["dense"].tolist() == [[-1] * 3, [0, -1, -1], [0, 1, -1], [0, 1, 2]]
    assert got["lengths"].tolist() == [0, 1, 3, 6]
    again = ds.map(prepare).map(lambda x: x["ids"].to_dense(9), executor="native")
    assert next(iter(again)).tolist() == [[9] * 3, [0, 9, 9], [0, 1, 9], [0, 1, 2]]


def test_a_damaged_record_is_an_error_in_its_place():
    records = [record(i) for i in range(6)]
    records[2] = records[2][:10] + b"\xff" * 8
    records[4] = ps.io.serialize_example({"x": [1.0]})
    ds = ps.Dataset.from_list(records).map(
        lambda r: ps.io.parse_single_example(r, FEATURES), executor="native"
    )
    it = iter(ds)
    check(next(it), 0)
    check(next(it), 1)
    with pytest.raises(ps.Error, match=r"parse_single_example.*") as damaged:
        next(it)
    assert "map#1" in str(damaged.value) and "element 2" in str(damaged.value)
    check(next(it), 3)
    with pytest.raises(ps.InvalidArgumentError, match="'x'"):
        next(it)
    check(next(it), 5)


def test_wrong_features_name_the_feature():
    r = record(1)
    with pytest.raises(ps.InvalidArgumentError, match="'x' must be float32, int64"):
        ps.io.parse_single_example(r, {"x": ps.io.FixedLenFeature([3], ps.int32)})
    with pytest.raises(TypeError, match="'x' must be one of FixedLenFeature"):
        ps.io.parse_single_example(r, {"x": ps.float32})
    with pytest.raises(ps.InvalidArgumentError, match="known shape"):
        ps.io.parse_single_example(r, {"x": ps.io.FixedLenFeature([None], "float32")})
    with pytest.raises(ps.Error, match="label"):
        ps.io.parse_single_example(
            record(0), {"label": ps.io.FixedLenFeature([], ps.int64)}
        )


def varint(n):
    out = b""
    while True:
        out += bytes([n & 127 | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def test_sequence_examples():
    def floats(*values):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))

    def ints(*values):
        return field(3, field(1, b"".join(varint(v) for v in values)))

    def entry(key, value):
        return field(1, field(1, key) + field(2, value))

    steps = field(1, floats(1, 2)) + field(1, floats(3, 4))
    words = field(1, ints(5)) + field(1, ints()) + field(1, ints(6, 7))
    data = field(1, entry(b"id", ints(9))) + field(
        2, entry(b"steps", steps) + entry(b"words", words)
    )

    def parse(r):
        return ps.io.parse_single_sequence_example(
            r,
            {"id": ps.io.FixedLenFeature([], ps.int64)},
            {
                "steps": ps.io.FixedLenSequenceFeature([2], ps.float32),
                "words": ps.io.VarLenFeature(ps.int64),
            },
        )

    ds = ps.Dataset.from_list([data]).map(parse, executor="native")
    for context, sequences in (parse(data), next(iter(ds))):
        assert context == {"id": 9}
        assert sequences["steps"].tolist() == [[1, 2], [3, 4]]
        assert sequences["words"].to_list() == [[5], [], [6, 7]]


def test_partitions_of_sequence_examples():
    # Written by TensorFlow 2.21, which reads the same: steps of v are [1, 2, 3],
    # [], [4, 5, 6, 7], those of len [2, 1], [], [0, 4], of out [2], [], [1, 1].
    data = bytes.fromhex(
        "0a1b0a0c0a016312071a050a030102030a0b0a016e12061a040a02020112570a1b0a036c"
        "656e12140a061a040a0202010a021a000a061a040a0200040a1a0a036f757412130a051a"
        "030a01020a021a000a061a040a0201010a1c0a017612170a071a050a030102030a021a00"
        "0a081a060a0404050607"
    )
    ragged = ps.io.RaggedFeature
    lengths = ragged.RowLengths

    def parse(r):
        return ps.io.parse_single_sequence_example(
            r,
            {"c": ragged(ps.int64, None, [lengths("n")])},
            {
                "one": ragged(ps.int64, "v", [lengths("len")]),
                "two": ragged(ps.int64, "v", [lengths("out"), lengths("len")]),
                "flat": ragged(ps.int64, "v"),
            },
        )

    ds = ps.Dataset.from_list([data]).map(parse, executor="native")
    for context, sequences in (parse(data), next(iter(ds))):
        assert context["c"].to_list() == [[1, 2], [3]]
        assert sequences["one"].to_list() == [[[1, 2], [3]], [], [[], [4, 5, 6, 7]]]
        assert sequences["two"].to_list() == [
            [[[1, 2], [3]]],
            [],
            [[[]], [[4, 5, 6, 7]]],
        ]
        assert sequences["flat"].to_list() == [[1, 2, 3], [], [4, 5, 6, 7]]


# --- values as bytes --------------------------------------------------------


def test_decode_raw():
    data = np.arange(6, dtype=np.int16)
    raw = data.tobytes()
    np.testing.assert_array_equal(ps.io.decode_raw(raw, ps.int16), data)
    swapped = data.astype(">i2").tobytes()
    got = ps.io.decode_raw(swapped, ps.int16, little_endian=False)
    np.testing.assert_array_equal(got, data)
    assert ps.io.decode_raw(raw, "uint8", fixed_length=3).tolist() == [0, 0, 1]
    assert ps.io.decode_raw([b"ab", b"cd"], ps.uint8).tolist() == [[97, 98], [99, 100]]
    with pytest.raises(ps.InvalidArgumentError, match="one length"):
        ps.io.decode_raw([b"ab", b"c"], ps.uint8)
    with pytest.raises(ps.InvalidArgumentError, match=r"decode_raw"):
        ps.io.decode_raw(b"abc", ps.int16)


def test_a_flat_picture_becomes_one_with_a_shape():
    raw = bytes(range(48))

    def prepare(r):
        flat = ps.io.decode_raw(r, ps.uint8)
        return ps.image.resize(ps.reshape(flat, (4, 4, 3)), (2, 2))

    ds = ps.Dataset.from_list([raw]).map(prepare, executor="native")
    assert ds.element_spec == ps.TensorSpec((2, 2, 3), ps.float32)
    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    np.testing.assert_array_equal(next(iter(ds)), ps.image.resize(picture, (2, 2)))


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.float32(1.5),
        np.array([True, False]),
        np.array([b"a", b"bc"], object),
    ],
)
def test_tensors_round_trip(value):
    data = ps.io.serialize_tensor(value)
    dtype = ps.string if np.asarray(value).dtype == object else np.asarray(value).dtype
    np.testing.assert_array_equal(ps.io.parse_tensor(data, dtype), value)
    ds = ps.Dataset.from_list([data]).map(
        lambda x: ps.io.parse_tensor(x, dtype), executor="native"
    )
    np.testing.assert_array_equal(next(iter(ds)), value)
    with pytest.raises(ps.InvalidArgumentError):
        ps.io.parse_tensor(data, ps.float64)


def test_serialized_in_a_traced_function():
    ds = ps.Dataset.range(3).map(
        lambda i: ps.io.serialize_example({"i": i, "half": i / 2}), executor="native"
    )
    for i, data in enumerate(ds):
        assert data == ps.io.serialize_example({"i": i, "half": i / 2})


def test_csv_records():
    lines = ["1,2.5,cat", "3,,", '4,1,"a,b"']
    defaults = [ps.int64, 7.0, "none"]
    rows = [
        [1, 2.5, b"cat"],
        [3, 7.0, b"none"],
        [4, 1.0, b"a,b"],
    ]
    assert [ps.io.decode_csv(line, defaults) for line in lines] == rows
    ds = ps.Dataset.from_list(lines)
    single = ds.map(lambda x: tuple(ps.io.decode_csv(x, defaults)), executor="native")
    assert [list(row) for row in single] == rows
    columns = ps.io.decode_csv(lines, defaults)
    assert [c.dtype for c in columns] == [np.int64, np.float32, object]
    batched = ds.batch(3).map(
        lambda x: tuple(ps.io.decode_csv(x, defaults)), executor="native"
    )
    for a, b in zip(next(iter(batched)), columns):
        np.testing.assert_array_equal(a, b)
    assert ps.io.decode_csv("1,2,3", [0], select_cols=[2]) == [3]
    it = iter(
        ps.Dataset.from_list(["1", "x", "2"]).map(
            lambda x: ps.io.decode_csv(x, [0])[0], executor="native"
        )
    )
    assert next(it) == 1
    with pytest.raises(ps.InvalidArgumentError, match=r"io\.decode_csv.*x"):
        next(it)
    assert next(it) == 2


# --- files ------------------------------------------------------------------


def test_files_are_read_by_str_bytes_and_path(tmp_path):
    path = tmp_path / "sub" / "file.bin"
    ps.io.write_file(path, b"hello\0world")
    for name in (path, str(path), os.fsencode(path)):
        assert ps.io.read_file(name) == b"hello\0world"
    assert list(tmp_path.rglob(".*")) == []
    with pytest.raises(ps.NotFoundError, match=r"read_file.*missing"):
        ps.io.read_file(tmp_path / "missing")
    with pytest.raises(TypeError, match="filename must be a path"):
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


def test_columns_that_cannot_be_told_name_operator_and_file(tmp_path):
    with pytest.raises(ps.NotFoundError, match=r"^csv: cannot open '.*none.csv'"):
        ps.Dataset.csv(tmp_path / "none.csv")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ps.DataLossError, match=r"^csv: '.*t.csv': .*damaged gzip"):
        ps.Dataset.csv(tmp_path / "t.csv", compression="GZIP")


def test_what_is_no_gzip_file_says_so(tmp_path):
    (tmp_path / "t.txt").write_text("text\n")
    ds = ps.Dataset.text_lines(tmp_path / "t.txt", compression="GZIP")
    with pytest.raises(ps.DataLossError, match="gzip stream: it does not begin as one"):
        ds.to_list()


def test_jsonl_passes_over_blank_lines(tmp_path):
    (tmp_path / "t.jsonl").write_text('\n{"a": 1}\n \t\r\n\n{"a": 2}\n\n')
    ds = ps.Dataset.jsonl(tmp_path / "t.jsonl", {"a": ps.int64})
    assert [int(r["a"]) for r in ds] == [1, 2]


def test_a_byte_order_mark_is_no_part_of_csv_or_json(tmp_path):
    mark = b"\xef\xbb\xbf"
    (tmp_path / "t.csv").write_bytes(mark + b"a,b\n1,2\n")
    assert ps.Dataset.csv(tmp_path / "t.csv").to_list() == [{"a": 1, "b": 2}]
    (tmp_path / "bare.csv").write_bytes(mark + b"1\n2\n")
    bare = ps.Dataset.csv(tmp_path / "bare.csv", {"a": ps.int64}, header=False)
    assert [int(r["a"]) for r in bare] == [1, 2]
    (tmp_path / "t.jsonl").write_bytes(mark + b'{"a": 1}\n{"a": 2}\n')
    (tmp_path / "empty.jsonl").write_bytes(mark)
    for name, wanted in {"t.jsonl": [1, 2], "empty.jsonl": []}.items():
        ds = ps.Dataset.jsonl(tmp_path / name, {"a": ps.int64})
        assert [int(r["a"]) for r in ds] == wanted
    (tmp_path / "t.txt").write_bytes(mark + b"a\n")
    assert ps.Dataset.text_lines(tmp_path / "t.txt").to_list() == [mark + b"a"]


def test_records_that_do_not_parse_name_their_place(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
        (tmp_path / f"{name}.csv").write_text("a\n1\n2\n")
    (tmp_path / "b.jsonl").write_text('{"a": 3}\n{oops\n')
    (tmp_path / "b.csv").write_text("a\n3\noops\n")
    for kind, byte in {"jsonl": 9, "csv": 4}.items():
        read = getattr(ps.Dataset, kind)
        where = rf"b\.{kind}': record 1 at byte {byte}: "
        with pytest.raises(ps.Error, match=where):
            read(str(tmp_path / f"*.{kind}"), {"a": ps.int64}).to_list()


# --- TFRecord ---------------------------------------------------------------


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


# --- sources ----------------------------------------------------------------


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


def test_sources_of_csv_and_json(tmp_path):
    (tmp_path / "t.csv").write_text("id,score,name\n1,0.5,cat\n2,,\n")
    guessed = ps.Dataset.csv(tmp_path / "t.csv")
    assert guessed.to_list()[0] == {"id": 1, "score": np.float32(0.5), "name": b"cat"}
    typed = ps.Dataset.csv(
        tmp_path / "t.csv",
        {"id": ps.int32, "score": -1.0, "name": "none"},
        select_columns=["name", "score"],
    )
    assert typed.to_list()[1] == {"name": b"none", "score": -1.0}
    batch = next(iter(typed.batch(2)))
    assert batch["score"].tolist() == [0.5, -1.0]
    rows = [{"id": i, "tags": list("ab"[:i]), "in": {"x": i / 2}} for i in range(3)]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(r) for r in rows))
    ds = ps.Dataset.jsonl(
        tmp_path / "t.jsonl",
        {"id": ps.int64, "tags": [ps.string], "in.x": ps.float64, "more": 7},
    )
    last = ds.to_list()[2]
    assert last["id"] == 2 and last["tags"].tolist() == [b"a", b"b"]
    assert last["in.x"] == 1.0 and last["more"] == 7
    assert pickle.loads(pickle.dumps(ds)).to_list()[0]["id"] == 0


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


def ragged(partitions, record, batch=False):
    feature = ps.io.RaggedFeature(ps.int64, "v", partitions)
    if batch:
        return ps.io.parse_example(record, {"r": feature})["r"]
    return ps.io.parse_single_example(record, {"r": feature})["r"]


def test_partitions_cut_the_values_of_a_record_into_rows():
    kinds = ps.io.RaggedFeature
    record = ps.io.serialize_example(
        {
            "v": [1, 2, 3, 4, 5],
            "splits": [0, 2, 5],
            "lengths": [2, 3],
            "ids": [0, 0, 1, 1, 1],
            "starts": [0, 2],
            "limits": [2, 5],
        }
    )
    for partition in (
        kinds.RowSplits("splits"),
        kinds.RowLengths("lengths"),
        kinds.ValueRowIds("ids"),
        kinds.RowStarts("starts"),
        kinds.RowLimits("limits"),
    ):
        assert ragged([partition], record).to_list() == [[1, 2], [3, 4, 5]]
        rows = ragged([partition], [record, record], batch=True)
        assert rows.to_list() == [[[1, 2], [3, 4, 5]]] * 2
    dense = ragged([kinds.UniformRowLength(5)], record)
    assert dense.tolist() == [[1, 2, 3, 4, 5]]
    nested = ragged([kinds.UniformRowLength(2), kinds.RowSplits("splits")], record)
    assert nested.to_list() == [[[1, 2], [3, 4, 5]]]
    assert nested.ragged_rank == 2


def test_partitions_run_natively_in_a_pipeline():
    records = [
        ps.io.serialize_example({"v": list(range(n)), "n": [1, n - 1]})
        for n in range(1, 6)
    ]
    feature = ps.io.RaggedFeature(ps.int64, "v", [ps.io.RaggedFeature.RowLengths("n")])
    ds = ps.Dataset.from_tensor_slices(np.array(records, object)).map(
        lambda r: ps.io.parse_single_example(r, {"r": feature})["r"]
    )
    assert "native" in ds.explain()
    assert [r.to_list() for r in ds] == [[[0], list(range(1, n))] for n in range(1, 6)]
    assert ds.element_spec == ps.RaggedSpec(ps.TensorSpec((None,), ps.int64), 1)


def test_a_damaged_partition_is_an_error_in_its_place():
    good = ps.io.serialize_example({"v": [1, 2], "n": [2]})
    bad = ps.io.serialize_example({"v": [1, 2], "n": [5]})
    feature = ps.io.RaggedFeature(ps.int64, "v", [ps.io.RaggedFeature.RowLengths("n")])
    ds = ps.Dataset.from_tensor_slices(np.array([good, bad, good], object)).map(
        lambda r: ps.io.parse_single_example(r, {"r": feature})["r"]
    )
    it = iter(ds)
    assert next(it).to_list() == [[1, 2]]
    with pytest.raises(ps.InvalidArgumentError, match="'r': partition 'n'"):
        next(it)
    assert next(it).to_list() == [[1, 2]]
    with pytest.raises(TypeError, match="a partition must be one of RowSplits"):
        ragged(["n"], good)


def test_an_npy_file_that_became_shorter_is_an_error(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100_000))
    ds = ps.Dataset.npy(str(path))
    assert len(ds.to_list()) == 100_000
    with open(path, "wb") as file:  # the same file, not another in its place
        np.save(file, np.arange(3))
    with pytest.raises(ps.DataLossError, match="is shorter than"):
        ds.to_list()


def test_csv_a_stray_quote_costs_its_own_record_only(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('n,what\n1,a\n2,6" pipe\n3,"b\nb"\n4,c\n')
    rows = iter(ps.Dataset.csv(path, {"n": ps.int64, "what": ps.string}))
    found = []
    while True:
        try:
            found.append(next(rows)["what"])
        except StopIteration:
            break
        except ps.InvalidArgumentError as error:
            assert "does not begin with one" in str(error)
            found.append(None)
    assert found == [b"a", None, b"b\nb", b"c"]


@pytest.mark.parametrize("select", [None, ["b"]])
def test_csv_files_must_have_the_header_that_names_came_from(tmp_path, select):
    first, same, other = (tmp_path / name for name in ("1.csv", "2.csv", "3.csv"))
    first.write_text("a,b\n1,2\n")
    same.write_text('"a",b\r\n3,4\r\n')
    other.write_text("b,a\n5,6\n")
    ds = ps.Dataset.csv([first, same], select_columns=select)
    assert [int(row["b"]) for row in ds] == [2, 4]
    ds = ps.Dataset.csv([first, other, same], select_columns=select)
    with pytest.raises(ps.InvalidArgumentError) as error:
        ds.to_list()
    for part in ("3.csv", "'a,b'", "'b,a'"):
        assert part in str(error.value)
    assert [int(row["b"]) for row in ds.ignore_errors()] == [2, 4]
    # Names of the user's own are for any header.
    named = ps.Dataset.csv([first, other], {"x": ps.int64, "y": ps.int64})
    assert [int(row["y"]) for row in named] == [2, 6]


@pytest.mark.parametrize("select", [None, ["b"]])
def test_csv_columns_in_another_order_than_the_header_are_an_error(tmp_path, select):
    path = tmp_path / "t.csv"
    path.write_text('\n"a",b\n1,2\n')
    kinds = {"a": ps.int64, "b": ps.int64}
    swapped = {"b": ps.int64, "a": ps.int64}
    rows = ps.Dataset.csv(path, kinds, select_columns=select)
    assert [int(row["b"]) for row in rows] == [2]
    with pytest.raises(ps.InvalidArgumentError) as error:
        ps.Dataset.csv(path, swapped, select_columns=select).to_list()
    for part in ("t.csv", """'"a",b'""", "'b,a'", "columns must have the order"):
        assert part in str(error.value)
    placed = ps.Dataset.csv(path, swapped, column_indices=[1, 0])
    assert placed.to_list() == [{"b": 2, "a": 1}]
    with pytest.raises(ps.InvalidArgumentError, match="must have 1 fields, got 2"):
        ps.Dataset.csv(path, {"b": ps.int64}).to_list()


@pytest.mark.parametrize("header", [True, False])
def test_csv_columns_are_told_by_a_record_of_any_length(tmp_path, header):
    path = tmp_path / "t.csv"
    long = "x" * 300_000
    path.write_text(("n,text\n" if header else "") + f"1.5,{long}\n2,y\n")
    row = ps.Dataset.csv(path, header=header).to_list()[0]
    number, text = row.values()
    assert number == np.float32(1.5) and text == long.encode()
    path.write_text("n\n1\n2.5")  # no line end at the end of the file
    assert ps.Dataset.csv(path).element_spec["n"].dtype == ps.float32


def test_csv_numbers_that_float32_has_not_are_float64(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d\n1.5,1e39,inf,1e-60\n1e400,2,nan,-1\n")
    rows = ps.Dataset.csv(path).to_list()
    assert [v.dtype.name for v in rows[0].values()] == [
        "float64",
        "float64",
        "float32",
        "float32",
    ]
    assert [rows[1]["a"], rows[0]["b"], rows[0]["d"]] == [np.inf, 1e39, 0]


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


def test_a_json_line_is_one_whole_object(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x":1}\n{"x":2}{"x":3}\n{"x":4,"y":[1,}\n{"x":5}\n')
    ds = ps.Dataset.jsonl(path, {"x": ps.int64})
    assert [int(row["x"]) for row in ds.ignore_errors()] == [1, 5]
    with pytest.raises(ps.DataLossError, match="not a JSON object"):
        ds.to_list()


def test_json_keys_are_found_as_json_dumps_writes_them(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"größe": 3, "o": {"ü": 1}}, {"größe": 4, "o": None}, {"o": {}}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = ps.Dataset.jsonl(path, {"größe": -1, "o.ü": np.int32(-2)}).to_list()
    assert [tuple(map(int, row.values())) for row in found] == [
        (3, 1),
        (4, -2),
        (-1, -2),
    ]


def test_json_takes_every_number_dtype_and_keeps_to_its_range(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 200}\n{"x": 300}\n')
    for dtype in (ps.uint8, ps.int16, ps.uint32, ps.uint64, ps.float16):
        row = next(iter(ps.Dataset.jsonl(path, {"x": dtype, "l": [dtype]})))
        assert row["x"] == 200
        assert row["x"].dtype == row["l"].dtype == dtype.dtype
    with pytest.raises(ps.InvalidArgumentError, match=r"must be uint8 \(0 to 255\)"):
        ps.Dataset.jsonl(path, {"x": ps.uint8}).to_list()


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


def test_serialize_example_refuses_a_dict_in_place_of_values():
    for value in ({"a": 1}, [{"a": 1}], {}):
        with pytest.raises((TypeError, ps.InvalidArgumentError)):
            ps.io.serialize_example({"k": value})
    with pytest.raises(TypeError, match="'k' must be numbers, .*got a dict"):
        ps.io.serialize_example({"k": {"a": 1}})


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
