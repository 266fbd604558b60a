"""The command line, as it is called."""

import contextlib
import gzip
import io
import json
import os
import signal
import struct
import subprocess
import sys
import tarfile
import time
import zlib

import numpy as np
import pytest
from penstock.cli import main

import penstock as ps
from penstock import _penstock


def penstock(*args):
    """(exit code, standard output, standard error)"""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(a) for a in args])
    return code, out.getvalue(), err.getvalue()


def as_json(*args, code=0):
    found, out, err = penstock(*args, "--json")
    assert found == code, err or out
    return json.loads(out)


def png(height, width):
    """A real, tiny PNG."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def write_records(path, payloads):
    path.write_bytes(_penstock.tfrecord_frame(payloads))
    return path


def example(**features):
    return _penstock.example_from_dict(features)


@pytest.fixture
def records(tmp_path):
    return write_records(
        tmp_path / "data.tfrecord",
        [
            example(
                ids=np.arange(i % 3 + 1),
                score=np.array([i / 2], np.float32),
                name=f"n{i}".encode(),
            )
            for i in range(20)
        ],
    )


@pytest.fixture
def photos(tmp_path):
    for name, count in (("cat", 3), ("dog", 2)):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(count):
            path = tmp_path / "photos" / name / f"{name}{i}.png"
            path.write_bytes(png(4 + i, 6))
    return tmp_path / "photos"


# --- the command itself ------------------------------------------------------


def test_runs_as_a_module_without_colour_in_a_pipe(records):
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "inspect", str(records)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "20 records" in done.stdout
    assert "\033" not in done.stdout + done.stderr


def test_a_reader_that_leaves_early_is_no_error(records):
    done = subprocess.run(
        f"{sys.executable} -m penstock inspect {records} | head -n 1",
        shell=True, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "data.tfrecord: tfrecord" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["inspect", "verify", "convert", "bench"])
def test_every_command_has_help(command):
    code, out, _ = penstock(command, "--help")
    assert code == 0
    assert "--json" in out and len(out.splitlines()) > 10


def test_wrong_use_is_code_2(tmp_path):
    assert penstock("no-such-command")[0] == 2
    assert penstock("inspect")[0] == 2
    code, _, err = penstock("inspect", tmp_path / "absent")
    assert code == 2 and "No such file" in err
    odd = tmp_path / "odd.xyz"
    odd.write_bytes(b"hello")
    code, _, err = penstock("inspect", odd)
    assert code == 2 and "cannot tell what this is" in err and "--kind says it" in err


# --- inspect -----------------------------------------------------------------


def test_inspect_a_tfrecord(records):
    facts = as_json("inspect", records, "--records", 6)
    assert facts["records"] == 20
    assert facts["checksums"] == "good"
    assert facts["looked_at"] == 6
    assert facts["record_bytes"]["min"] <= facts["record_bytes"]["max"]
    assert facts["features"]["ids"]["kind"] == "int64"
    assert facts["features"]["ids"]["values"] == [1, 3]
    assert facts["features"]["score"]["kind"] == "float"
    assert facts["features"]["name"]["first"] == '"n0"'
    text = penstock("inspect", records)[1]
    assert "checksums: good" in text and "score" in text


def test_inspect_a_damaged_tfrecord(records):
    data = bytearray(records.read_bytes())
    data[40] ^= 1
    records.write_bytes(data)
    facts = as_json("inspect", records, code=1)
    assert facts["checksums"] == "damaged" and facts["bad_count"] == 1
    assert facts["bad"][0]["record"] == 0
    assert as_json("inspect", records, "--no-verify")["checksums"] == "not checked"


def test_inspect_a_compressed_tfrecord_by_its_content(records, tmp_path):
    odd_name = tmp_path / "part-0"
    odd_name.write_bytes(gzip.compress(records.read_bytes()))
    facts = as_json("inspect", odd_name)
    assert facts["kind"] == "tfrecord" and facts["compressed"]
    assert facts["records"] == 20


def test_inspect_records_that_are_no_examples(tmp_path):
    path = write_records(tmp_path / "raw.tfrecord", [b"abc", b"defg", b""])
    facts = as_json("inspect", path)
    assert facts["features"] is None and facts["records"] == 3
    assert "not tf.train.Example" in penstock("inspect", path)[1]


def test_inspect_an_empty_tfrecord(tmp_path):
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    assert as_json("inspect", tmp_path / "empty.tfrecord")["records"] == 0


def test_inspect_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4), np.float32))
    np.savez(tmp_path / "b.npz", x=np.arange(5), y=np.ones((2, 2)))
    facts = as_json("inspect", tmp_path / "a.npy")
    assert facts["arrays"][""] == {"dtype": "float32", "shape": [3, 4], "bytes": 48}
    arrays = as_json("inspect", tmp_path / "b.npz")["arrays"]
    assert arrays["x"]["shape"] == [5] and arrays["y"]["dtype"] == "float64"


def test_inspect_tar_image_folder_csv_and_jsonl(tmp_path, photos):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i in range(3):
            for field, data in (("png", png(2, 2)), ("cls", b"1")):
                info = tarfile.TarInfo(f"s/{i:03}.{field}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    facts = as_json("inspect", tmp_path / "a.tar")
    assert facts["samples"] == 3 and facts["files"] == 6
    assert facts["fields"]["cls"] == {"files": 3, "mean_bytes": 1.0}

    facts = as_json("inspect", photos)
    assert facts["classes"] == {"cat": 3, "dog": 2}

    facts = as_json("inspect", photos / "cat" / "cat2.png")
    assert (facts["format"], facts["height"], facts["width"]) == ("png", 6, 6)

    (tmp_path / "t.csv").write_text('id,x,word\n1,0.5,"a, b"\n2,7,c\n')
    facts = as_json("inspect", tmp_path / "t.csv")
    assert facts["records"] == 2
    assert [c["kind"] for c in facts["columns"].values()] == [
        "int64", "float32", "string"
    ]  # fmt: skip

    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"a": 2, "b": "x"}\n{oops\n')
    facts = as_json("inspect", tmp_path / "t.jsonl", code=1)
    assert facts["records"] == 3 and facts["bad_count"] == 1
    assert facts["bad"][0]["offset"] == 28
    assert facts["columns"]["b"]["kind"] == "str"


def test_inspect_text_that_is_not_utf8(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"name\ncaf\xe9\nok\n")
    facts = as_json("inspect", tmp_path / "t.csv")
    assert facts["records"] == 2 and facts["not_utf8"] == 1
    assert facts["columns"]["name"]["first"] == "caf\\xe9"
    assert "1 record not in UTF-8" in penstock("inspect", tmp_path / "t.csv")[1]
    (tmp_path / "t.jsonl").write_bytes(b'{"a": 1}\n{"a": "\xe9"}\n{"a": 2\n')
    facts = as_json("inspect", tmp_path / "t.jsonl", code=1)
    assert [b["offset"] for b in facts["bad"]] == [9, 20]
    (tmp_path / "t.txt").write_bytes(b"caf\xe9\nok\n")
    assert as_json("inspect", tmp_path / "t.txt")["records"] == 2


@pytest.mark.parametrize(
    "name, data, text",
    [
        ("a.npy", b"", "damaged npy"),
        ("a.npz", b"", "damaged npz"),
        ("a.npz", b"PK\x03\x04 and no more", "damaged npz"),
        ("a.jpg", b"no picture", "its content is no image"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "damaged png header"),
        ("a.csv.gz", gzip.compress(b"a\n1\n" * 9)[:-12], "damaged gzip"),
        ("a.csv", b"a\n" + b"x" * 200_000 + b"\n", "line 2: field larger"),
    ],
)
def test_inspect_says_in_a_line_what_is_damaged(tmp_path, name, data, text):
    (tmp_path / name).write_bytes(data)
    code, out, err = penstock("inspect", tmp_path / name)
    assert code == 2 and out == ""
    assert text in err and "Traceback" not in err and err.count("\n") == 1


def test_inspect_arrays_of_no_elements(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((0, 3), np.float32))
    assert as_json("inspect", tmp_path / "a.npy")["arrays"][""]["shape"] == [0, 3]
    np.savez(tmp_path / "b.npz")
    assert as_json("inspect", tmp_path / "b.npz")["arrays"] == {}


def test_inspect_a_zlib_tfrecord_by_its_content(records, tmp_path):
    odd_name = tmp_path / "part-0"
    odd_name.write_bytes(zlib.compress(records.read_bytes()))
    assert as_json("inspect", odd_name)["records"] == 20


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_json_has_an_object_where_nothing_could_be_read(tmp_path, command):
    result = as_json(command, tmp_path / "absent.tfrecord", code=2)
    assert "absent.tfrecord" in json.dumps(result)
    (tmp_path / "a.npy").write_bytes(b"")
    result = as_json(command, str(tmp_path / "a.npy*.none"), code=2)
    assert result["ok"] is False and result["error"]


# --- verify ------------------------------------------------------------------


def test_verify_good_files(records, tmp_path):
    other = tmp_path / "more.tfrecord.gz"
    other.write_bytes(gzip.compress(records.read_bytes()))
    result = as_json("verify", records, other)
    assert result["ok"] and result["records"] == 40
    code, out, _ = penstock("verify", tmp_path)
    assert code == 0 and "2 files, 40 records" in out and "all good" in out


def test_verify_lists_every_bad_record_with_its_offset(tmp_path):
    payloads = [bytes([i]) * 100 for i in range(10)]
    path = write_records(tmp_path / "x.tfrecord", payloads)
    data = bytearray(path.read_bytes())
    for record in (2, 7):
        data[record * 116 + 50] ^= 0xFF
    path.write_bytes(data)
    result = as_json("verify", path, code=1)
    assert not result["ok"] and result["bad_count"] == 2
    bad = result["files"][0]["bad"]
    assert [(b["record"], b["offset"]) for b in bad] == [(2, 232), (7, 812)]
    assert "checksum" in bad[0]["message"]
    code, out, _ = penstock("verify", path, "--quiet")
    assert code == 1 and "record 7 at byte 812" in out


def test_verify_a_cut_file(tmp_path):
    path = write_records(tmp_path / "x.tfrecord", [b"a" * 100] * 5)
    path.write_bytes(path.read_bytes()[:-30])
    result = as_json("verify", path, code=1)
    assert result["records"] == 4
    assert "truncated" in result["files"][0]["bad"][0]["message"]


def test_verify_records_larger_than_a_read(tmp_path):
    path = write_records(tmp_path / "x.tfrecord", [bytes(3_000_000), b"x", b""])
    assert as_json("verify", path)["records"] == 3


def test_a_pipe_that_nobody_writes_into_is_not_waited_for(records, tmp_path):
    os.mkfifo(tmp_path / "pipe.tfrecord")
    code, _, said = penstock("inspect", tmp_path / "pipe.tfrecord")
    assert code == 2 and "pipe.tfrecord: it is a pipe" in said
    code, out, _ = penstock("verify", tmp_path)
    assert code == 0 and "pipe.tfrecord" not in out


def test_verify_what_cannot_be_read_is_code_2(tmp_path):
    code, out, _ = penstock("verify", tmp_path / "absent.tfrecord")
    assert code == 2 and "absent" in out
    assert penstock("verify", str(tmp_path / "*.none"))[0] == 2
    assert "all good" not in out and "1 file could not be read" in out


# --- convert -----------------------------------------------------------------


def examples_of(*paths):
    found = []
    for path in paths:
        for record in ps.Dataset.tfrecord(str(path), compression="auto"):
            values = _penstock.example_to_dict(record)
            found.append({k: v[1] for k, v in values.items()})
    return found


def test_convert_an_image_folder_to_shards_and_back(photos, tmp_path):
    target = tmp_path / "train.tfrecord"
    result = as_json("convert", photos, target, "--shards", 2, "--jobs", 2)
    assert result["records"] == 5
    names = [f"{target}-00000-of-00002", f"{target}-00001-of-00002"]
    assert result["files"] == names
    assert as_json("verify", *names)["records"] == 5
    found = examples_of(*names)
    assert [e["image/class/label"] for e in found] == [[0], [0], [0], [1], [1]]
    assert found[2]["image/height"] == [6]
    assert found[4]["image/encoded"] == [(photos / "dog" / "dog1.png").read_bytes()]
    # And back, to the same bytes under the same names.
    back = tmp_path / "back"
    as_json("convert", *names, str(back) + "/", "--jobs", 1)
    for path in photos.rglob("*.png"):
        assert (back / path.relative_to(photos)).read_bytes() == path.read_bytes()
    assert len(list(back.rglob("*.png"))) == 5
    assert not list(tmp_path.glob(".*convert.json"))


def test_convert_gives_the_labels_of_image_folder(photos, tmp_path):
    (photos / "ant").mkdir()
    (photos / ".trash").mkdir()
    for path in (".trash/1.png", "cat/._cat0.png", ".hidden.png", "logo.png"):
        (photos / path).write_bytes(png(1, 1))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "1.png").write_bytes(png(2, 2))
    (photos / "eel").symlink_to(elsewhere)
    counts = {"ant": 0, "cat": 3, "dog": 2, "eel": 1, "": 1}
    facts = as_json("inspect", photos)
    assert facts["classes"] == counts
    target = tmp_path / "train.tfrecord"
    as_json("convert", photos, target, "--jobs", 1)
    found = examples_of(target)
    ds = ps.Dataset.image_folder(photos)
    labels = {path: label for path, label in ds.as_numpy_iterator()}
    assert len(found) == len(labels) + 1
    for e in found[:-1]:
        path = os.fsencode(photos) + b"/" + e["image/filename"][0]
        assert e["image/class/label"] == [labels[path]]
    assert found[-1]["image/filename"] == [b"logo.png"]
    assert found[-1]["image/class/label"] == [len(ds.class_names)]


def test_convert_jsonl_keeps_the_kind_of_a_field(tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.tfrecord"
    lines = ['{"x": 2, "y": [1, 2], "n": 1, "b": true}\n'] * 300
    lines += ['{"x": 2.5, "y": [], "n": 2}\n{"y": [1.5, 3]}\n']
    source.write_text("".join(lines))
    as_json("convert", source, target, "--jobs", 1)
    ds = ps.Dataset.tfrecord(target).batch(302)
    parsed = ps.io.parse_example(
        next(iter(ds)),
        {
            "x": ps.io.FixedLenFeature([], ps.float32, -1.0),
            "y": ps.io.VarLenFeature(ps.float32),
            "n": ps.io.FixedLenFeature([], ps.int64, -1),
            "b": ps.io.FixedLenFeature([], ps.int64, -1),
        },
    )
    assert parsed["x"].tolist() == [2.0] * 300 + [2.5, -1.0]
    assert parsed["y"].values.tolist() == [1.0, 2.0] * 300 + [1.5, 3.0]
    assert parsed["n"].tolist() == [1] * 300 + [2, -1]
    assert parsed["b"].tolist() == [1] * 300 + [-1] * 2


def test_convert_refuses_floats_that_are_too_large(tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.tfrecord"
    source.write_text('{"x": 1.5}\n{"x": 1e300}\n{"x": Infinity}\n')
    code, _, err = penstock("convert", source, target, "--jobs", 1)
    assert code == 1 and "1e+300 does not fit a float of 32 bits" in err
    result = as_json("convert", source, target, "--jobs", 1, "--skip-errors")
    assert result["records"] == 2


def test_convert_jsonl_to_tfrecord_and_back(tmp_path):
    rows = [
        {"id": i, "x": [i / 2, 1.5], "text": f"t\u00fc{i}", "tags": ["a", "b"]}
        for i in range(600)
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(r) + "\n" for r in rows))
    target = tmp_path / "out.tfrecord"
    as_json("convert", source, target, "--shards", 3, "--jobs", 1)
    shards = sorted(tmp_path.glob("out.tfrecord-*"))
    assert len(shards) == 3
    back = tmp_path / "back.jsonl"
    as_json("convert", str(tmp_path / "out.tfrecord-*"), back)
    found = [json.loads(line) for line in back.read_text().splitlines()]
    assert [sorted(r.items()) for r in found] == [sorted(r.items()) for r in rows]


def test_convert_csv_with_quoted_lines(tmp_path):
    source = tmp_path / "in.csv"
    rows = [f'{i},{i}.5,"line\n""{i}"", end"\n' for i in range(300)]
    source.write_text("id,x,text\n" + "".join(rows))
    target = tmp_path / "out.tfrecord"
    as_json("convert", source, target, "--shards", 4, "--jobs", 1)
    found = examples_of(*sorted(tmp_path.glob("out.tfrecord-*")))
    assert [e["id"] for e in found] == [[i] for i in range(300)]
    assert found[7]["x"] == [7.5]
    assert found[7]["text"] == [b'line\n"7", end']
    back = tmp_path / "back.csv"
    as_json("convert", str(tmp_path / "out.tfrecord-*"), back)
    assert back.read_text().startswith("id,text,x\n0,")


def test_convert_groups_a_tar_as_the_dataset_does(tmp_path):
    names = ["1.x", "1.Y", "README", ".hid.x", "__m__/1.x", "2.x", "d/3.x", "d/.a.x"]
    with tarfile.open(tmp_path / "in.tar", "w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
    facts = as_json("inspect", tmp_path / "in.tar")
    assert (facts["files"], facts["samples"]) == (8, 3)
    assert facts["fields"]["x"]["files"] == 3 and facts["fields"][""]["files"] == 4
    as_json("convert", tmp_path / "in.tar", tmp_path / "out.tfrecord")
    assert examples_of(tmp_path / "out.tfrecord") == [
        {name: [value] for name, value in sample.items()}
        for sample in ps.Dataset.tar(tmp_path / "in.tar")
    ]


def test_convert_refuses_samples_it_cannot_read(tmp_path):
    with tarfile.open(tmp_path / "in.tar", "w", format=tarfile.GNU_FORMAT) as tar:
        for name, kind in [
            ("1.x", tarfile.REGTYPE),
            ("2.x", tarfile.GNUTYPE_SPARSE),
            ("3.x", tarfile.REGTYPE),
            ("3.X", tarfile.REGTYPE),
            ("4.x", tarfile.REGTYPE),
        ]:
            info = tarfile.TarInfo(name)
            info.size, info.type = 700, kind
            tar.addfile(info, io.BytesIO(b"b" * 700))
    target = tmp_path / "out.tfrecord"
    code, _, err = penstock("convert", tmp_path / "in.tar", target, "--jobs", 1)
    assert code == 1 and "'2.x' is a sparse file" in err
    code, _, err = penstock(
        "convert", tmp_path / "in.tar", target, "--jobs", 1, "--skip-errors"
    )
    assert code == 0 and "sample '3' has 'x' twice" in err
    assert [e["__key__"] for e in examples_of(target)] == [[b"1"], [b"4"]]


def test_verify_tells_the_compression_of_short_files(tmp_path):
    plain = _penstock.tfrecord_frame([b"abc"])
    for name, data in [
        ("plain", plain),
        ("gzip", gzip.compress(plain)),
        ("zlib", zlib.compress(plain)),
    ]:
        (tmp_path / name).write_bytes(data)
        facts = as_json("inspect", tmp_path / name)
        assert (facts["records"], facts["bad_count"]) == (1, 0), name
        assert facts["compressed"] == (name != "plain")
        assert as_json("verify", tmp_path / name)["records"] == 1


def test_convert_tar_both_ways(tmp_path):
    source = tmp_path / "in.tar"
    with tarfile.open(source, "w") as tar:
        for i in range(5):
            for field, data in (("png", png(2, i + 1)), ("cls", str(i).encode())):
                info = tarfile.TarInfo(f"{i:03}.{field}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    target = tmp_path / "out.tfrecord"
    as_json("convert", source, target)
    found = examples_of(target)
    assert found[3]["__key__"] == [b"003"] and found[3]["cls"] == [b"3"]
    back = tmp_path / "back.tar"
    as_json("convert", target, back)
    with tarfile.open(back) as tar, tarfile.open(source) as first:
        members = {m.name: tar.extractfile(m).read() for m in tar}
        assert members == {m.name: first.extractfile(m).read() for m in first}


def test_convert_compresses(records, tmp_path):
    target = tmp_path / "small.tfrecord"
    as_json("convert", records, target, "--compression", "gzip")
    assert target.read_bytes()[:2] == b"\x1f\x8b"
    assert len(examples_of(target)) == 20
    smaller = tmp_path / "smaller.tfrecord"
    written = as_json("convert", records, smaller, "--compression", "zstd")
    assert smaller.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert written["bytes"] == smaller.stat().st_size
    assert ps.Dataset.tfrecord(str(smaller), compression="ZSTD").to_list() == (
        ps.Dataset.tfrecord(str(records)).to_list()
    )
    assert not list(tmp_path.glob(".*.tmp"))


def test_convert_goes_on_where_it_was(tmp_path):
    source = tmp_path / "in.jsonl"
    rows = [json.dumps({"i": i}) for i in range(40)]
    source.write_text("\n".join(rows[:30] + ["{broken"] + rows[31:]) + "\n")
    target = tmp_path / "out.tfrecord"
    code, _, err = penstock("convert", source, target, "--shards", 4, "--jobs", 1)
    assert code == 1 and "record 30 at byte" in err
    done = sorted(tmp_path.glob("out.tfrecord-*"))
    assert len(done) == 3
    assert not list(tmp_path.glob(".*.tmp"))
    # The same source again: shards that are there are kept.
    times = [p.stat().st_mtime_ns for p in done]
    assert penstock("convert", source, target, "--shards", 4, "--jobs", 1)[0] == 1
    assert [p.stat().st_mtime_ns for p in done] == times
    # Another source: nothing of the old one is taken for it.
    source.write_text("\n".join(rows) + "\n")
    code, _, err = penstock("convert", source, target, "--shards", 4, "--jobs", 1)
    assert code == 2 and "--overwrite" in err
    as_json("convert", source, target, "--shards", 4, "--jobs", 1, "--overwrite")
    found = examples_of(*sorted(tmp_path.glob("out.tfrecord-*")))
    assert [e["i"] for e in found] == [[i] for i in range(40)]


def test_convert_leaves_bad_records_out_when_asked(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"i": 0}\n[1]\n{"i": 2}\n')
    target = tmp_path / "out.tfrecord"
    result = as_json("convert", source, target, "--skip-errors")
    assert result["records"] == 2 and result["skipped"] == 1
    assert "not an object" in result["problems"][0]
    assert [e["i"] for e in examples_of(target)] == [[0], [2]]


def test_convert_does_not_leave_its_folder(tmp_path):
    path = write_records(
        tmp_path / "evil.tfrecord",
        [
            _penstock.example_from_dict(
                {
                    "image/encoded": png(1, 1),
                    "image/filename": b"../../evil.png",
                    "image/class/text": b"..",
                }
            )
        ],
    )
    as_json("convert", path, str(tmp_path / "safe") + "/")
    assert [p.name for p in (tmp_path / "safe").rglob("*.png")] == ["evil.png"]
    assert not (tmp_path / "evil.png").exists()


def test_convert_refuses_what_it_cannot_do(tmp_path, records):
    code, _, err = penstock("convert", records, tmp_path / "x.unknown")
    assert code == 2 and "--to" in err
    code, _, err = penstock(
        "convert", records, tmp_path / "x.tar", "--compression", "gzip"
    )
    assert code == 2 and "as it is" in err
    np.save(tmp_path / "a.npy", np.zeros(3))
    code, _, err = penstock("convert", tmp_path / "a.npy", tmp_path / "x.tfrecord")
    assert code == 2 and "cannot convert from npy" in err
    raw = write_records(tmp_path / "raw.tfrecord", [b"no example"])
    code, _, err = penstock("convert", raw, tmp_path / "x.jsonl")
    assert code == 1 and f"{raw}: record 0: the record is not" in err


def test_convert_keeps_images_of_one_name(tmp_path):
    photos = tmp_path / "photos"
    for i, name in enumerate(["cat/1.png", "cat/sub/1.png", "cat/sub/x/1.png"]):
        (photos / name).parent.mkdir(parents=True)
        (photos / name).write_bytes(png(1, i + 1))
    train, back = tmp_path / "train.tfrecord", tmp_path / "back"
    as_json("convert", photos, train)
    assert as_json("convert", train, f"{back}/", "--jobs", 2)["records"] == 3
    found = {p.relative_to(back): p.read_bytes() for p in back.rglob("*.png")}
    assert found == {
        p.relative_to(photos): p.read_bytes() for p in photos.rglob("*.png")
    }
    assert not list(back.glob(".*"))
    # Records that claim one name: all are there.
    same = [
        example(**{"image/encoded": png(1, i + 1), "image/filename": b"a/1.png"})
        for i in range(4)
    ]
    write_records(train, same)
    for _ in range(2):
        as_json("convert", train, f"{tmp_path}/same/", "--jobs", 2, "--overwrite")
        files = list((tmp_path / "same").rglob("*.png"))
        assert sorted(p.read_bytes() for p in files) == sorted(
            png(1, i + 1) for i in range(4)
        )


def test_convert_leaves_a_folder_that_is_in_use_alone(photos, tmp_path):
    train, back = tmp_path / "train.tfrecord", tmp_path / "back"
    as_json("convert", photos, train)
    (back / "cat").mkdir(parents=True)
    (back / "cat" / "cat0.png").write_bytes(b"mine")
    code, _, err = penstock("convert", train, f"{back}/")
    assert code == 2 and "--overwrite" in err
    assert (back / "cat" / "cat0.png").read_bytes() == b"mine"
    assert len(list(back.rglob("*.png"))) == 1
    as_json("convert", train, f"{back}/", "--overwrite")
    original = (photos / "cat" / "cat0.png").read_bytes()
    assert (back / "cat" / "cat0.png").read_bytes() == original
    assert len(list(back.rglob("*.png"))) == 5


def test_convert_to_a_folder_goes_on_without_doubling(photos, tmp_path, monkeypatch):
    train, back = tmp_path / "train.tfrecord", tmp_path / "back"
    as_json("convert", photos, train)
    moved = []

    def replace(source, target, real=os.replace):
        real(source, target)
        moved.append(target)
        if len([name for name in moved if str(name).endswith(".png")]) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        assert penstock("convert", train, f"{back}/", "--jobs", 1)[0] == 130
    assert as_json("convert", train, f"{back}/", "--jobs", 1)["records"] == 5
    found = sorted(p.relative_to(back) for p in back.rglob("*.*"))
    assert found == sorted(p.relative_to(photos) for p in photos.rglob("*.*"))


def test_convert_keeps_bytes_that_are_no_text(tmp_path):
    source = tmp_path / "in.csv"
    source.write_bytes(b"i,name\n1,caf\xe9\n2,caf\xc3\xa9\n")
    train, lines = tmp_path / "t.tfrecord", tmp_path / "t.jsonl"
    as_json("convert", source, train)
    names = [b"caf\xe9", "caf\u00e9".encode()]
    assert [e["name"] for e in examples_of(train)] == [[n] for n in names]
    as_json("convert", train, lines)
    assert json.loads(lines.read_text().splitlines()[0])["name"] == {
        "$base64": "Y2Fm6Q=="
    }
    again = tmp_path / "again.tfrecord"
    as_json("convert", lines, again)
    assert examples_of(again) == examples_of(train)
    code, _, err = penstock("convert", train, tmp_path / "back.csv")
    assert code == 1 and "no UTF-8" in err
    source.write_bytes(b"n\xe9\n1\n")
    code, _, err = penstock("convert", source, tmp_path / "x.tfrecord")
    assert code == 2 and "not UTF-8" in err


def test_convert_keeps_text_that_only_python_takes_for_a_number(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1_000,\u0663\n2,3\n")
    as_json("convert", tmp_path / "in.csv", tmp_path / "out.jsonl")
    rows = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(rows[0]) == {"a": "1_000", "b": "\u0663"}
    columns = as_json("inspect", tmp_path / "in.csv")["columns"]
    assert [c["kind"] for c in columns.values()] == ["string", "string"]


def test_names_that_are_not_utf8_go_through(tmp_path):
    folder = os.fsencode(tmp_path) + b"/photos/caf\xe9"
    os.makedirs(folder)
    with open(folder + b"/1.png", "wb") as file:
        file.write(png(1, 1))
    as_json("convert", tmp_path / "photos", tmp_path / "t.tfrecord")
    as_json("convert", tmp_path / "t.tfrecord", f"{tmp_path}/back/")
    assert os.listdir(os.fsencode(tmp_path) + b"/back") == [b"caf\xe9"]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "inspect", tmp_path / "photos"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and b"caf\\udce9" in done.stdout


def test_convert_keeps_columns_without_a_name(tmp_path):
    (tmp_path / "in.csv").write_text(",a\n5,x\n6,y\n")
    as_json("convert", tmp_path / "in.csv", tmp_path / "out.jsonl")
    rows = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(r) for r in rows] == [{"": 5, "a": "x"}, {"": 6, "a": "y"}]


@pytest.mark.parametrize(
    "line", ['{"a": "\\ud800"}', '{"a": {"$base64": "?"}}', "[" * 100_000]
)
def test_convert_reports_a_json_line_it_cannot_hold(tmp_path, line):
    source = tmp_path / "in.jsonl"
    source.write_text('{"a": "x"}\n' + line + "\n")
    for name in ("out.tfrecord", "out.jsonl"):
        code, _, err = penstock("convert", source, tmp_path / name)
        assert code == 1 and "record 1 at byte 11" in err
    result = as_json("convert", source, tmp_path / "out.tfrecord", "--skip-errors")
    assert result["records"] == 1 and result["skipped"] == 1


def test_convert_goes_on_with_skip_errors_and_counts_all(tmp_path):
    source = tmp_path / "in.jsonl"
    rows = [json.dumps({"i": i}) for i in range(40)]
    source.write_text("\n".join(rows[:30] + ["{broken"] + rows[31:]) + "\n")
    target = tmp_path / "out.tfrecord"
    run = ("convert", source, target, "--shards", 4, "--jobs", 1)
    assert penstock(*run)[0] == 1
    done = sorted(tmp_path.glob("out.tfrecord-*"))
    times = [p.stat().st_mtime_ns for p in done]
    # As a run that was killed leaves it; what is of another name stays.
    left = tmp_path / ".out.tfrecord-00003-of-00004.123.tmp"
    other = tmp_path / ".out.tfrecord-00003-of-00004.gz.123.tmp"
    left.touch()
    other.touch()
    result = as_json(*run, "--skip-errors")
    assert (result["records"], result["skipped"]) == (39, 1)
    assert [p.stat().st_mtime_ns for p in done] == times
    assert not left.exists() and other.exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_convert_leaves_nothing_behind_when_interrupted(tmp_path, jobs):
    source = tmp_path / "in.jsonl"
    source.write_text("".join(f'{{"i": {i}}}\n' for i in range(400_000)))
    run = [sys.executable, "-m", "penstock", "convert", source, tmp_path / "o.tfrecord"]
    process = subprocess.Popen(
        [*run, "--shards", "2", "--jobs", str(jobs)],
        stderr=subprocess.PIPE,
        # Whoever runs the tests may have it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".o.tfrecord-*.tmp")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert not list(tmp_path.glob(".o.tfrecord-*.tmp"))


@pytest.mark.parametrize("zipped", [False, True])
def test_convert_passes_over_a_damaged_length(tmp_path, zipped):
    payloads = [example(i=np.array([i])) for i in range(30)]
    size = len(_penstock.tfrecord_frame(payloads[:1]))
    data = bytearray(_penstock.tfrecord_frame(payloads))
    data[10 * size + 2] ^= 0xFF  # a length
    data[20 * size + 13] ^= 0xFF  # a payload
    source = tmp_path / "in.tfrecord"
    source.write_bytes(gzip.compress(data) if zipped else data)
    target = tmp_path / "out.tfrecord"
    code, _, err = penstock("convert", source, target, "--jobs", 1)
    assert code == 1 and "in.tfrecord" in err and f"at byte {10 * size}" in err
    run = ("convert", source, target, "--shards", 3, "--jobs", 1)
    result = as_json(*run, "--skip-errors")
    assert (result["records"], result["skipped"]) == (28, 2)
    found = examples_of(*sorted(tmp_path.glob("out.tfrecord-*")))
    assert [e["i"] for e in found] == [[i] for i in range(30) if i not in (10, 20)]


def test_convert_passes_over_a_cut_end(tmp_path, records):
    records.write_bytes(records.read_bytes()[:-5])
    target = tmp_path / "out.tfrecord"
    result = as_json("convert", records, target, "--skip-errors")
    assert (result["records"], result["skipped"]) == (19, 1)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tfrecord"])
def test_convert_compresses_by_the_ending_gz(tmp_path, ending):
    source = tmp_path / "in.jsonl"
    source.write_text('{"i": 1}\n{"i": 2}\n')
    target = tmp_path / f"out.{ending}.gz"
    as_json("convert", source, target)
    assert target.read_bytes()[:2] == b"\x1f\x8b"
    as_json("convert", target, tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_text() == source.read_text()
    code, _, err = penstock("convert", source, tmp_path / "x.tar.gz")
    assert code == 2 and "without compression" in err


# --- bench -------------------------------------------------------------------


def test_bench_measures_a_dataset_of_a_module(tmp_path, monkeypatch):
    (tmp_path / "my_input.py").write_text(
        "import penstock as ps\n"
        "def make():\n    return ps.Dataset.range(100).batch(4)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    result = as_json("bench", "my_input:make", "--seconds", "0.05", "--repeat", "2")
    assert result["rows"][0]["rate"] > 0
    assert result["cores"] == len(os.sched_getaffinity(0))
    assert penstock("bench", "my_input:absent")[0] == 2
    assert penstock("bench", "my_input")[0] == 2


def test_bench_says_where_a_function_failed(tmp_path, monkeypatch):
    (tmp_path / "bad_input.py").write_text(
        "import penstock as ps\n"
        "def load(x):\n    raise KeyError('lost')\n"
        "def make():\n    return ps.Dataset.range(9).map(load)\n"
        "def fail():\n    raise ValueError('not made')\n"
    )
    (tmp_path / "broken_input.py").write_text("def make(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for target, text in (
        ("bad_input:make", "lost"),
        ("bad_input:fail", "ValueError: not made"),
        ("broken_input:make", "SyntaxError"),
    ):
        code, _, err = penstock("bench", target, "--seconds", "0.05")
        assert code == 2 and text in err and "_input.py" in err
        assert "Traceback" not in err


def test_bench_of_the_machine(tmp_path):
    result = as_json("bench", "--seconds", "0.05", "--repeat", "1")
    assert len(result["rows"]) == 5
    assert all(r["rate"] > 0 for r in result["rows"])


def test_a_bad_line_of_jsonl_is_named_by_its_place_in_the_file(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": 1}\n{"a": \n{"a": 3}\n')
    out = json.dumps(as_json("inspect", path, code=1))
    assert '"line 2: Expecting value"' in out


def test_an_empty_tar_is_said_to_be_empty(tmp_path):
    (tmp_path / "empty.tar").touch()
    code, _, errors = penstock("inspect", tmp_path / "empty.tar")
    assert code == 2
    assert errors.endswith("empty.tar: damaged tar: it is empty\n")


def test_times_that_are_no_numbers_are_refused():
    for args in (("bench", "--seconds"), ("top", "--interval")):
        for value in ("nan", "inf", "0"):
            code, _, errors = penstock(*args, value)
            assert code == 2 and "must be > 0" in errors


def test_bench_takes_a_path_that_leads_up_and_down(tmp_path, monkeypatch):
    (tmp_path / "bench_below.py").write_text(
        "import penstock as ps\nds = ps.Dataset.range(1000).batch(10)\n"
    )
    (tmp_path / "sub").mkdir()
    for folder, path in ((tmp_path, "./"), (tmp_path / "sub", "../")):
        monkeypatch.chdir(folder)
        target = f"{path}bench_below.py:ds"
        found = as_json("bench", target, "--seconds", "0.05", "--repeat", "1")
        assert found["rows"]


def test_bench_takes_an_absolute_path_and_datasets_of_tf_and_devices(tmp_path):
    (tmp_path / "bench_target.py").write_text(
        "import penstock as ps, penstock.tf as tf\n"
        "ds = ps.Dataset.range(64)\n"
        "of_tf = tf.data.Dataset.range(64)\n"
        "device = ds.prefetch_to_device(lambda x: x)\n"
    )
    for name in ("ds", "of_tf", "device"):
        target = f"{tmp_path}/bench_target.py:{name}"
        found = as_json("bench", target, "--seconds", "0.05", "--repeat", "1")
        assert found["rows"][0]["rate"] > 0
