"""Files and records beside tf.data: equal output first, then ratios.

    .venv/bin/python benchmarks/python/files.py --tensorflow PYTHON [row ...]

PYTHON is an interpreter that has TensorFlow. Each engine runs in a process of
its own that is started once; every repetition runs both on a row, and the
figure is the median of the ratios. Writes build/bench-files.json.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from typing import Any

import numpy as np

REPEATS = 5

# name -> what it is, and how many times as fast as tf.data it must be
ROWS: dict[str, tuple[str, float]] = {
    "tfrecord-100": ("TFRecord of 100 B into batches of 1024", 6),
    "tfrecord-1k": ("TFRecord of 1 kB into batches of 1024", 6),
    "tfrecord-100k": ("TFRecord of 100 kB into batches of 16", 6),
    "gzip": ("TFRecord of 1 kB, gzip", 1.5),
    "small-files": ("20,000 files of 1 kB, read and batched", 2),
    "csv": ("CSV of 4 columns into batches of 1024", 5),
    "example": ("TFRecord -> batch(256) -> parse_example", 8),
    "example-single": ("TFRecord -> parse_single_example", 100),
}
RECORDS = {"tfrecord-100": (100, 300_000), "tfrecord-1k": (1000, 64_000)}
RECORDS |= {"tfrecord-100k": (100_000, 640), "gzip": (1000, 32_000)}
SMALL_FILES = 20_000
CSV_ROWS = 200_000
EXAMPLES = 40_000


# --- data ------------------------------------------------------------------


def make_data(directory: pathlib.Path) -> None:
    import penstock as ps

    random = np.random.default_rng(7)
    for name, (size, n) in RECORDS.items():
        compression = "GZIP" if name == "gzip" else None
        words = [b"%d of %d, " % (i, n) for i in range(n)]
        with ps.io.TFRecordWriter(
            str(directory / name), compression=compression
        ) as writer:
            for i in range(n):
                writer.write((words[i] * (size // len(words[i]) + 1))[:size])
    files = directory / "small"
    files.mkdir()
    for i in range(SMALL_FILES):
        (files / f"{i:05}").write_bytes(b"%06d" % i + b"x" * 994)
    with open(directory / "csv", "w") as file:
        file.write("a,b,c,d\n")
        for i in range(CSV_ROWS):
            file.write(f"{i},{i * 0.25},name {i},{i % 7}\n")
    vectors = random.random((1000, 64), np.float32)
    with ps.io.TFRecordWriter(str(directory / "example")) as writer:
        for i in range(EXAMPLES):
            writer.write(
                ps.io.serialize_example(
                    {
                        "x": vectors[i % 1000],
                        "ids": np.arange(i % 20) * i,
                        "label": i % 10,
                        "name": b"example %d" % i,
                    }
                )
            )


# --- engines ---------------------------------------------------------------


def penstock_rows(directory: pathlib.Path) -> dict[str, Any]:
    import penstock as ps

    features = {
        "x": ps.io.FixedLenFeature([64], ps.float32),
        "ids": ps.io.VarLenFeature(ps.int64),
        "label": ps.io.FixedLenFeature([], ps.int64),
        "name": ps.io.FixedLenFeature([], ps.string),
    }
    out: dict[str, Any] = {}
    for name in RECORDS:
        ds = ps.Dataset.tfrecord(
            str(directory / name), compression="GZIP" if name == "gzip" else None
        )
        out[name] = ds.batch(16 if name == "tfrecord-100k" else 1024)
    names = [str(directory / "small" / f"{i:05}") for i in range(SMALL_FILES)]
    out["small-files"] = (
        ps.Dataset.from_tensor_slices(names).map(ps.io.read_file).batch(256)
    )
    columns = {"a": ps.int64, "b": ps.float32, "c": ps.string, "d": ps.int64}
    out["csv"] = ps.Dataset.csv(str(directory / "csv"), columns).batch(1024)
    records = ps.Dataset.tfrecord(str(directory / "example"))
    out["example"] = records.batch(256).map(lambda r: ps.io.parse_example(r, features))
    out["example-single"] = records.map(
        lambda r: ps.io.parse_single_example(r, features)
    ).ragged_batch(256)
    return out


def tensorflow_rows(directory: pathlib.Path) -> dict[str, Any]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow as tf

    auto = tf.data.AUTOTUNE
    features = {
        "x": tf.io.FixedLenFeature([64], tf.float32),
        "ids": tf.io.VarLenFeature(tf.int64),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "name": tf.io.FixedLenFeature([], tf.string),
    }
    out: dict[str, Any] = {}
    for name in RECORDS:
        ds = tf.data.TFRecordDataset(
            str(directory / name),
            compression_type="GZIP" if name == "gzip" else "",
            buffer_size=8 << 20,
        )
        ds = ds.batch(16 if name == "tfrecord-100k" else 1024).prefetch(auto)
        out[name] = ds.as_numpy_iterator
    names = [str(directory / "small" / f"{i:05}") for i in range(SMALL_FILES)]
    small = tf.data.Dataset.from_tensor_slices(names)
    small = small.map(tf.io.read_file, num_parallel_calls=auto).batch(256)
    out["small-files"] = small.prefetch(auto).as_numpy_iterator
    csv = tf.data.experimental.CsvDataset(
        str(directory / "csv"),
        [tf.int64, tf.float32, tf.string, tf.int64],
        header=True,
    )
    csv = csv.batch(1024).prefetch(auto)
    out["csv"] = csv.as_numpy_iterator
    records = tf.data.TFRecordDataset(str(directory / "example"))
    parsed = records.batch(256).map(
        lambda r: tf.io.parse_example(r, features), num_parallel_calls=auto
    )
    out["example"] = lambda: iter(parsed.prefetch(auto))
    single = records.map(
        lambda r: tf.io.parse_single_example(r, features), num_parallel_calls=auto
    )
    out["example-single"] = lambda: iter(single.prefetch(auto))
    return out


# --- what an engine gives, made comparable ---------------------------------


def plain(value: Any) -> Any:
    if hasattr(value, "values") and not isinstance(value, dict):  # sparse, ragged
        value = value.values
    return value.numpy() if hasattr(value, "numpy") else value


def digest(row: str, batches: Any) -> list[int]:
    """Checksums of all columns, whatever the batches were."""
    sums: list[int] = []

    def add(columns: list[Any]) -> None:
        sums.extend([0] * (len(columns) - len(sums)))
        for i, column in enumerate(columns):
            array = np.asarray(plain(column))
            if array.dtype == object:
                data = b"".join(array.ravel().tolist())
            else:
                data = array.tobytes()
            sums[i] = zlib.crc32(data, sums[i])

    for batch in batches:
        if row.startswith("example"):
            add([batch[k] for k in ("x", "ids", "label")])
            name = plain(batch["name"])
            one = name if isinstance(name, bytes) else b"".join(name.ravel())
            sums.extend([0] * (4 - len(sums)))
            sums[3] = zlib.crc32(one, sums[3])
        elif row == "csv":
            add(list(batch.values() if isinstance(batch, dict) else batch))
        else:
            add([batch])
    return sums


def serve(engine: str, directory: pathlib.Path) -> None:
    """Answers "check ROW" and "time ROW" from its input, a line each."""
    make = penstock_rows if engine == "penstock" else tensorflow_rows
    rows = make(directory)
    print("ready", flush=True)
    for line in sys.stdin:
        what, row = line.split()
        source = rows[row]
        if what == "check":
            answer: Any = digest(row, source() if callable(source) else iter(source))
        else:
            start = time.perf_counter()
            for _ in source() if callable(source) else source:
                pass
            answer = time.perf_counter() - start
        print(json.dumps(answer), flush=True)


class Engine:
    def __init__(self, python: str, name: str, directory: str) -> None:
        self.process = subprocess.Popen(
            [python, __file__, "--serve", name, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.line()

    def line(self) -> str:
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        if not text:
            raise SystemExit("an engine ended: see above")
        return text

    def ask(self, what: str, row: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what} {row}\n")
        self.process.stdin.flush()
        return json.loads(self.line())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", help=", ".join(ROWS))
    parser.add_argument("--tensorflow", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--json", default="build/bench-files.json")
    args = parser.parse_args()
    unknown = set(args.rows) - set(ROWS)
    if unknown:
        parser.error(f"there is no row {unknown.pop()}")
    results = []
    with tempfile.TemporaryDirectory() as directory:
        make_data(pathlib.Path(directory))
        ours = Engine(sys.executable, "penstock", directory)
        theirs = Engine(args.tensorflow, "tensorflow", directory)
        print(f"{'row':<44}{'penstock':>10}{'tf.data':>10}{'ratio':>8}{'asked':>8}")
        for row in args.rows or ROWS:
            what, asked = ROWS[row]
            equal = ours.ask("check", row) == theirs.ask("check", row)
            if not equal:
                raise SystemExit(f"{row}: the outputs differ")
            times = [
                (ours.ask("time", row), theirs.ask("time", row))
                for _ in range(args.repeats)
            ]
            ratio = statistics.median(b / a for a, b in times)
            mine, other = (statistics.median(t) for t in zip(*times))
            print(
                f"{what:<44}{mine * 1e3:>8.1f}ms{other * 1e3:>8.1f}ms"
                f"{ratio:>7.1f}x{asked:>7g}x{'' if ratio >= asked else '  MISSED'}",
                flush=True,
            )
            results.append(
                {"row": row, "what": what, "ratio": ratio, "asked": asked}
                | {"penstock_s": mine, "tfdata_s": other, "ok": ratio >= asked}
            )
        ours.close()
        theirs.close()
    path = pathlib.Path(args.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        main()
