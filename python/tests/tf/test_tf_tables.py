"""CsvDataset, make_csv_dataset, make_batched_features_dataset, SqlDataset."""

from __future__ import annotations

import gzip
import sqlite3

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

experimental = tf.data.experimental


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,name\n1,0.5,cat\n2,,dog\n3,2.5,\n")
    (tmp_path / "b.csv").write_text('id,x,name\n4,1.5,"a,b"\n5,3e2,e\n')
    return [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


def plain(value):
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def rows(ds):
    return [plain(x) for x in ds.as_numpy_iterator()]


def test_csv_dataset_gives_tuples_in_the_dtypes_of_its_defaults(tables):
    ds = experimental.CsvDataset(
        tables, [tf.int32, tf.constant([7.5]), "none"], header=True
    )
    assert [s.dtype for s in ds.element_spec] == [tf.int32, tf.float32, tf.string]
    assert rows(ds) == [
        (1, 0.5, b"cat"), (2, 7.5, b"dog"), (3, 2.5, b"none"),
        (4, 1.5, b"a,b"), (5, 300.0, b"e"),
    ]  # fmt: skip
    assert "native" in ds.explain()


def test_csv_dataset_selects_and_excludes(tables):
    chosen = experimental.CsvDataset(
        tables, [[0.0], [""]], header=True, select_cols=[1, 2]
    )
    assert rows(chosen)[1] == (0.0, b"dog")
    without = experimental.CsvDataset(
        tables, [[0], ["d"]], header=True, exclude_cols=[1]
    )
    assert rows(without)[2:4] == [(3, b"d"), (4, b"a,b")]
    with pytest.raises(ValueError, match="Only one of"):
        experimental.CsvDataset(tables, [0], select_cols=[0], exclude_cols=[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must rise"):
        experimental.CsvDataset(tables, [0, 0], select_cols=[1, 0])


def test_csv_dataset_errors_are_in_place(tmp_path):
    (tmp_path / "bad.csv").write_text("1,zz\n2,3\n4,\n5\n6,7\n")
    ds = experimental.CsvDataset(str(tmp_path / "bad.csv"), [tf.int32, tf.int32])
    it, got = iter(ds), []
    while True:
        try:
            got.append(tuple(int(v) for v in next(it)))
        except tf.errors.InvalidArgumentError as error:
            got.append(str(error))
        except StopIteration:
            break
    assert got[1] == (2, 3)
    assert got[4] == (6, 7)
    assert "got 'zz'" in got[0]
    assert "no default" in got[2]
    assert "fields" in got[3]


def test_a_string_without_a_default_must_be_there(tmp_path):
    (tmp_path / "s.csv").write_text('a,1\n,2\n"",3\nNA,4\nb,\n')
    seen = []
    ds = experimental.CsvDataset(str(tmp_path / "s.csv"), [tf.string, 0], na_value="NA")
    it = iter(ds)
    while True:
        try:
            seen.append(next(it)[0].numpy())
        except tf.errors.InvalidArgumentError as error:
            seen.append("no default" in str(error))
        except StopIteration:
            break
    assert seen == [b"a", True, True, True, b"b"]


def test_csv_dataset_refuses_what_it_cannot_parse(tables):
    with pytest.raises(TypeError, match="record_defaults"):
        experimental.CsvDataset(tables, [tf.uint8])
    with pytest.raises(ValueError, match="one value"):
        experimental.CsvDataset(tables, [[1, 2]])


def test_make_csv_dataset_finds_names_and_dtypes(tables):
    ds = experimental.make_csv_dataset(tables, 2, shuffle=False, num_epochs=1)
    assert {k: s.dtype for k, s in ds.element_spec.items()} == {
        "id": tf.int32, "x": tf.float32, "name": tf.string,
    }  # fmt: skip
    assert rows(ds) == [
        {"id": [1, 2], "x": [0.5, 0.0], "name": [b"cat", b"dog"]},
        {"id": [3, 4], "x": [2.5, 1.5], "name": [b"", b"a,b"]},
        {"id": [5], "x": [300.0], "name": [b"e"]},
    ]


def test_make_csv_dataset_widens_kinds(tmp_path):
    (tmp_path / "w.csv").write_text("a,b,c\n1,1,1\n5000000000,1.5,1e300\n,,\n2,x,3\n")
    ds = experimental.make_csv_dataset(
        str(tmp_path / "w.csv"), 9, shuffle=False, num_epochs=1
    )
    kinds = [s.dtype for s in ds.element_spec.values()]
    assert kinds == [tf.int64, tf.string, tf.float64]


def test_make_csv_dataset_labels_columns_and_epochs(tables, tmp_path):
    ds = experimental.make_csv_dataset(
        tables, 3, label_name="x", select_columns=["x", "id"], shuffle=False,
        num_epochs=1,
    )  # fmt: skip
    assert rows(ds)[0] == ({"id": [1, 2, 3]}, [0.5, 0.0, 2.5])
    endless = experimental.make_csv_dataset(tables, 2, shuffle=False)
    assert endless.element_spec["id"].shape == (2,)
    assert [x["id"] for x in rows(endless.take(3))] == [[1, 2], [3, 4], [5, 1]]
    turns = experimental.make_csv_dataset(
        tables, 2, shuffle=False, num_epochs=1, num_parallel_reads=2
    )
    assert [x["id"] for x in rows(turns)] == [[1, 4], [2, 5], [3]]
    assert turns.element_spec["id"].dtype == tf.int32
    mixed = experimental.make_csv_dataset(tables, 9, num_epochs=1, shuffle_seed=3)
    assert sorted(rows(mixed)[0]["id"]) == [1, 2, 3, 4, 5]
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(b"7;8\n9;q\n"))
    ds = experimental.make_csv_dataset(
        str(tmp_path / "z.csv.gz"), 2, column_names=["p", "q"], field_delim=";",
        column_defaults=[0, -1], header=False, num_epochs=1, shuffle=False,
        compression_type="GZIP", ignore_errors=True,
    )  # fmt: skip
    assert rows(ds) == [{"p": [7], "q": [8]}]


def test_make_csv_dataset_says_what_is_wrong(tables, tmp_path):
    make = experimental.make_csv_dataset
    with pytest.raises(ValueError, match="label_name"):
        make(tables, 2, label_name="zz")
    with pytest.raises(ValueError, match="No files match"):
        make(str(tmp_path / "nope*"), 2)
    with pytest.raises(ValueError, match="column_defaults"):
        make(tables, 2, column_defaults=[0])
    with pytest.raises(ValueError, match="select_columns"):
        make(tables, 2, select_columns=["zz"])
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match="row 2 has 1"):
        make(str(tmp_path / "bad.csv"), 2)


def test_make_batched_features_dataset(examples):
    features = {
        "a": tf.io.FixedLenFeature([], tf.int64),
        "b": tf.io.FixedLenFeature([], tf.float32, 0.25),
    }
    make = experimental.make_batched_features_dataset
    ds = make(examples, 2, features, label_key="a", shuffle=False, num_epochs=1)
    assert rows(ds) == [
        ({"b": [0.25, 0.25]}, [0, 1]), ({"b": [0.25, 0.25]}, [2, 3]),
        ({"b": [0.25]}, [4]),
    ]  # fmt: skip
    ds = make(examples, 2, features, tf.data.TFRecordDataset, shuffle=False)
    assert [x["a"] for x in rows(ds.take(3))] == [[0, 1], [2, 3], [4, 0]]
    ds = make(examples, 2, features, num_epochs=1, drop_final_batch=True)
    assert len(rows(ds)) == 2
    with pytest.raises(ValueError, match="label_key"):
        make(examples, 2, features, label_key="zz")


def test_parse_example_dataset_with_sparse_values(examples):
    parse = experimental.parse_example_dataset({"v": tf.io.VarLenFeature(tf.float32)})
    first = next(iter(tf.data.TFRecordDataset(examples).batch(3).apply(parse)))["v"]
    assert isinstance(first, tf.SparseTensor)
    assert first.indices.numpy().tolist() == [[1, 0], [2, 0], [2, 1]]
    assert first.dense_shape.numpy().tolist() == [3, 2]
    assert tf.sparse.to_dense(first).numpy().tolist() == [[0, 0], [0.5, 0], [0.5, 0.5]]


def test_sql_dataset(tmp_path):
    file = str(tmp_path / "x.db")
    with sqlite3.connect(file) as db:
        db.execute("create table t(a int, b real, c text)")
        db.executemany("insert into t values(?,?,?)", [(1, 0.5, "x"), (2, 1.5, "y")])
    kinds = (tf.int64, tf.float64, tf.string)
    ds = experimental.SqlDataset("sqlite", file, "select * from t", kinds)
    assert rows(ds) == rows(ds) == [(1, 0.5, b"x"), (2, 1.5, b"y")]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no such table"):
        rows(experimental.SqlDataset("sqlite", file, "select * from u", kinds))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'sqlite'"):
        experimental.SqlDataset("mysql", file, "select 1", kinds)


def test_ten_thousand_rows(tmp_path):
    values = np.arange(10_000)
    text = "\n".join(f"{v},{v / 4}" for v in values)
    (tmp_path / "n.csv").write_text(text)
    ds = experimental.CsvDataset(str(tmp_path / "n.csv"), [tf.int64, tf.float32])
    batch = next(iter(ds.batch(10_000)))
    assert np.array_equal(batch[0], values)
    assert np.array_equal(batch[1], (values / 4).astype(np.float32))


def test_errors_of_csv_dataset_name_the_default_that_is_missing(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,\n")
    ds = tf.data.experimental.CsvDataset(str(tmp_path / "t.csv"), [tf.int32, tf.int32])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"record_defaults\[1\]"):
        list(ds)
