"""CSV and JSON lines."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import penstock as ps


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


def test_columns_that_cannot_be_told_name_operator_and_file(tmp_path):
    with pytest.raises(ps.NotFoundError, match=r"^csv: cannot open '.*none.csv'"):
        ps.Dataset.csv(tmp_path / "none.csv")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ps.DataLossError, match=r"^csv: '.*t.csv': .*damaged gzip"):
        ps.Dataset.csv(tmp_path / "t.csv", compression="GZIP")


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


def test_a_csv_header_without_line_feeds_is_an_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\r1,2\r")  # all of it would be the header
    with pytest.raises(ps.InvalidArgumentError, match="t.csv': .*carriage return"):
        ps.Dataset.csv(path)
    path.write_bytes(b'"a\r",b\r\n1,2\r\n')
    assert list(ps.Dataset.csv(path).to_list()[0]) == ["a\r", "b"]


def test_csv_columns_must_be_a_dict(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ps.InvalidArgumentError, match="columns must be a dict"):
        ps.Dataset.csv(tmp_path / "t.csv", ["a"])
    with pytest.raises(ps.InvalidArgumentError, match="field 'a' must be \\[dtype\\]"):
        ps.Dataset.jsonl(tmp_path / "t.csv", {"a": [1]})


def test_json_numbers_beyond_a_float_are_infinite_as_in_csv(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1e400}\n{"a": -1e400}\n{"a": 1e-400}\n')
    for dtype in (ps.float32, ps.float64):
        got = [float(row["a"]) for row in ps.Dataset.jsonl(path, {"a": dtype})]
        assert got == [json.loads(t) for t in ("1e400", "-1e400", "1e-400")]
