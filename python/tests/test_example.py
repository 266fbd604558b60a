"""Example and SequenceExample, and values as bytes."""

from __future__ import annotations

import struct

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


def test_serialize_example_refuses_a_dict_in_place_of_values():
    for value in ({"a": 1}, [{"a": 1}], {}):
        with pytest.raises((TypeError, ps.InvalidArgumentError)):
            ps.io.serialize_example({"k": value})
    with pytest.raises(TypeError, match="'k' must be numbers, .*got a dict"):
        ps.io.serialize_example({"k": {"a": 1}})
