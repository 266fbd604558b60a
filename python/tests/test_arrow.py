"""Dataset.from_arrow: tables of others, without a copy where that can be."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

import penstock as ps

pa = pytest.importorskip("pyarrow")

TABLE = pa.table(
    {
        "i": pa.array(range(10), pa.int32()),
        "f": pa.array([float(i) for i in range(10)], pa.float32()),
        "b": pa.array([i % 3 == 0 for i in range(10)]),
        "s": pa.array([f"word {i}" for i in range(10)]),
        "l": pa.array([b"x" * i for i in range(10)], pa.large_binary()),
        "v": pa.array([[i, i + 1] for i in range(10)], pa.list_(pa.int64(), 2)),
        "t": pa.array(range(10), pa.timestamp("ms")),
    }
)


def check(row, i):
    assert row["i"] == i and row["i"].dtype == np.int32
    assert row["f"] == i and row["f"].dtype == np.float32
    assert row["b"] == (i % 3 == 0)
    assert row["s"] == f"word {i}".encode()
    assert row["l"] == b"x" * i
    assert row["v"].tolist() == [i, i + 1]
    assert row["t"] == i and row["t"].dtype == np.int64


def test_rows_are_dicts_of_columns():
    ds = ps.Dataset.from_arrow(TABLE)
    assert len(ds) == 10
    assert ds.element_spec["v"] == ps.TensorSpec((2,), ps.int64)
    for i, row in enumerate(ds):
        check(row, i)
    check(ds[7], 7)
    order = ds.shuffle(ps.GLOBAL, seed=3).map(lambda r: r["i"]).to_list()
    assert sorted(order) == list(range(10)) and order != list(range(10))


@pytest.mark.parametrize("size", [1, 3, 4])
def test_slices_and_many_batches(size):
    part = TABLE.slice(2, 7)
    reader = pa.RecordBatchReader.from_batches(
        part.schema, part.to_batches(max_chunksize=size)
    )
    rows = ps.Dataset.from_arrow(reader).to_list()
    assert len(rows) == 7
    for i, row in enumerate(rows):
        check(row, i + 2)
    many = pa.concat_tables([TABLE] * 100)
    assert many.column(0).num_chunks == 100
    ds = ps.Dataset.from_arrow(many)
    assert len(ds) == 1000
    for i, row in enumerate(ds):
        check(row, i % 10)


def test_numbers_are_not_copied_and_keep_their_memory():
    data = np.arange(1 << 16, dtype=np.float64)
    table = pa.table({"x": pa.array(data), "n": pa.array(range(1 << 16))})
    ds = ps.Dataset.from_arrow(table).batch(1 << 16)
    batch = next(iter(ds))
    start = batch["x"].__array_interface__["data"][0]
    assert start == table.column(0).chunk(0).buffers()[1].address
    assert not batch["x"].flags.writeable
    del table, ds, data
    gc.collect()
    assert batch["x"].sum() == (1 << 16) * ((1 << 16) - 1) / 2
    assert batch["n"][-1] == (1 << 16) - 1


def test_nulls():
    floats = pa.table({"x": pa.array([1.0, None, 3.0])})
    got = [float(r["x"]) for r in ps.Dataset.from_arrow(floats)]
    assert got[0] == 1 and np.isnan(got[1]) and got[2] == 3
    halves = pa.table({"x": pa.array([np.float16(1), None], pa.float16())})
    got = [r["x"] for r in ps.Dataset.from_arrow(halves)]
    assert got[0] == 1 and np.isnan(got[1]) and got[1].dtype == np.float16
    for column in (pa.array([1, None]), pa.array(["a", None]), pa.array([True, None])):
        with pytest.raises(ps.InvalidArgumentError, match="column 'x' has 1 nulls"):
            ps.Dataset.from_arrow(pa.table({"x": column}))
    # Outside of the slice they do not matter.
    part = pa.table({"x": pa.array([None, 1, 2])}).slice(1)
    assert [int(r["x"]) for r in ps.Dataset.from_arrow(part)] == [1, 2]


NESTED = pa.table(
    {
        "ids": pa.array([[i] * (i % 3) for i in range(10)], pa.list_(pa.int32())),
        "deep": pa.array([[[i], [], [i, i + 1]] for i in range(10)]),
        "words": pa.array(
            [["w"] * (i % 4) for i in range(10)], pa.large_list(pa.string())
        ),
        "pairs": pa.array(
            [[[j, -j] for j in range(i % 3)] for i in range(10)],
            pa.list_(pa.list_(pa.int64(), 2)),
        ),
        "kind": pa.array([f"kind {i % 3}" for i in range(10)]).dictionary_encode(),
        "view": pa.array(
            [f"{'long ' * (i % 4)}text {i}" for i in range(10)], pa.string_view()
        ),
        "bytes": pa.array([b"%02d" % i for i in range(10)], pa.binary(2)),
        "names": pa.array(
            [[f"a{i}", "b"] for i in range(10)], pa.list_(pa.string(), 2)
        ),
        "s": pa.array(
            [{"n": i, "in": {"tags": [i] * (i % 2), "ok": i > 4}} for i in range(10)]
        ),
    }
)


def check_nested(row, i):
    assert row["ids"].tolist() == [i] * (i % 3) and row["ids"].dtype == np.int32
    assert row["deep"].values.tolist() == [i, i, i + 1]
    assert row["deep"].row_splits.tolist() == [0, 1, 1, 3]
    assert list(row["words"]) == [b"w"] * (i % 4)
    assert row["pairs"].tolist() == [[j, -j] for j in range(i % 3)]
    assert row["pairs"].shape == (i % 3, 2)
    assert row["kind"] == f"kind {i % 3}".encode()
    assert row["view"] == f"{'long ' * (i % 4)}text {i}".encode()
    assert row["bytes"] == b"%02d" % i
    assert list(row["names"]) == [f"a{i}".encode(), b"b"]
    assert row["s"]["n"] == i
    assert row["s"]["in"]["tags"].tolist() == [i] * (i % 2)
    assert row["s"]["in"]["ok"] == (i > 4)


def test_lists_records_views_and_dictionaries():
    ds = ps.Dataset.from_arrow(NESTED)
    spec = ds.element_spec
    assert spec["ids"] == ps.TensorSpec((None,), ps.int32)
    assert spec["pairs"] == ps.TensorSpec((None, 2), ps.int64)
    assert spec["kind"] == ps.TensorSpec((), ps.string)
    assert spec["s"]["in"]["tags"] == ps.TensorSpec((None,), ps.int64)
    for i, row in enumerate(ds):
        check_nested(row, i)
    check_nested(ds[7], 7)
    for row in ds.shuffle(ps.GLOBAL, seed=3):
        check_nested(row, int(row["s"]["n"]))
    batch = next(iter(ds.map(lambda r: r["ids"]).ragged_batch(10)))
    assert batch.row_splits.tolist() == [0, 0, 1, 3, 3, 4, 6, 6, 7, 9, 9]
    it = iter(ds)
    for _ in range(4):
        next(it)
    rest = iter(ds)
    rest.load_state_dict(it.state_dict())
    for i, row in enumerate(rest):
        check_nested(row, i + 4)
    empty = ps.Dataset.from_arrow(NESTED.slice(0, 0))
    assert empty.to_list() == [] and empty.element_spec == spec


@pytest.mark.parametrize("size", [1, 3, 4])
def test_slices_and_many_batches_of_nested_columns(size):
    part = NESTED.slice(2, 7)
    reader = pa.RecordBatchReader.from_batches(
        part.schema, part.to_batches(max_chunksize=size)
    )
    rows = ps.Dataset.from_arrow(reader).to_list()
    assert len(rows) == 7
    for i, row in enumerate(rows):
        check_nested(row, i + 2)
    many = pa.Table.from_batches(
        [b for _ in range(100) for b in NESTED.to_batches(max_chunksize=4)]
    )
    ds = ps.Dataset.from_arrow(many)
    assert len(ds) == 1000
    for i, row in enumerate(ds):
        check_nested(row, i % 10)


def test_list_views():
    lists = [[1, 2], [], [3]]
    for kind in (pa.list_view, pa.large_list_view):
        table = pa.table({"x": pa.array(lists, kind(pa.int64()))})
        for part in (table, table.slice(1), table.take([2, 1, 0])):
            rows = [r["x"].tolist() for r in ps.Dataset.from_arrow(part)]
            assert rows == part.column(0).to_pylist()


def test_nulls_inside_of_nested_columns():
    table = pa.table({"x": pa.array([[1.0, None], []])})
    got = ps.Dataset.from_arrow(table)[0]["x"]
    assert got[0] == 1 and np.isnan(got[1])
    for column in (
        pa.array([[1], None]),
        pa.array([[1, None]]),
        pa.array(["a", None]).dictionary_encode(),
        pa.array(["a", None], pa.string_view()),
        pa.array([b"ab", None], pa.binary(2)),
        pa.array([{"a": 1}, None]),
    ):
        with pytest.raises(ps.InvalidArgumentError, match="column 'x' has 1 nulls"):
            ps.Dataset.from_arrow(pa.table({"x": column}))
    record = pa.table({"x": pa.array([{"a": 1}, {"a": None}])})
    with pytest.raises(ps.InvalidArgumentError, match="column 'x.a' has 1 nulls"):
        ps.Dataset.from_arrow(record)


def test_two_columns_of_one_name_are_refused():
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(ps.InvalidArgumentError, match="two columns with the name 'x'"):
        ps.Dataset.from_arrow(table)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[{"a": 1}]]),
        pa.array([{}], pa.struct([])),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.nulls(2),
    ],
)
def test_types_without_a_tensor_name_the_column(column):
    with pytest.raises(ps.InvalidArgumentError, match="from_arrow: column 'odd'"):
        ps.Dataset.from_arrow(pa.table({"odd": column}))


def test_empty_tables_have_their_types():
    empty = ps.Dataset.from_arrow(TABLE.slice(0, 0))
    assert empty.to_list() == []
    assert empty.element_spec["s"] == ps.TensorSpec((), ps.string)


def test_mistakes():
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        ps.Dataset.from_arrow([1, 2])

    def fails():
        yield TABLE.to_batches()[0]
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, fails())
    with pytest.raises(ps.Error, match="the disk is gone"):
        ps.Dataset.from_arrow(reader)


def test_tables_pickle_with_their_dataset():
    ds = ps.Dataset.from_arrow(TABLE).map(lambda r: r["i"] * 2)
    assert pickle.loads(pickle.dumps(ds)).to_list() == ds.to_list()


def test_a_chunked_array_gives_its_values():
    numbers = pa.chunked_array([[1, 2], [], [3]])
    assert ps.Dataset.from_arrow(numbers).to_list() == [1, 2, 3]
    names = pa.chunked_array([["a"], ["bc"]])
    assert ps.Dataset.from_arrow(names).to_list() == [b"a", b"bc"]
    records = pa.chunked_array([[{"x": 1, "y": "a"}]])
    assert ps.Dataset.from_arrow(records).to_list() == [{"x": 1, "y": b"a"}]
    rows = ps.Dataset.from_arrow(pa.chunked_array([[[1, 2], [3]]])).to_list()
    assert [r.tolist() for r in rows] == [[1, 2], [3]]
    empty = ps.Dataset.from_arrow(pa.chunked_array([], pa.int32()))
    assert empty.to_list() == [] and empty.element_spec.dtype == ps.int32
    again = pickle.loads(pickle.dumps(ps.Dataset.from_arrow(numbers)))
    assert again.to_list() == [1, 2, 3]


def test_what_an_array_cannot_have_is_said_of_it():
    with pytest.raises(ps.InvalidArgumentError, match="the array has 1 null"):
        ps.Dataset.from_arrow(pa.chunked_array([[1, None]]))
    with pytest.raises(ps.InvalidArgumentError, match="from_arrow: the array has the"):
        ps.Dataset.from_arrow(pa.chunked_array([[None]], pa.null()))
