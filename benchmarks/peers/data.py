"""Makes what the engines read, once: photos and TFRecord files.

python data.py FOLDER SCALE [PHOTOS]     PHOTOS: JPEG files to use instead of
                                         drawn ones
"""

import pathlib
import shutil
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "examples" / "python")]

import photos as drawn  # noqa: E402
import rows  # noqa: E402

import penstock as ps  # noqa: E402


def main(folder, scale, given):
    folder.mkdir(parents=True, exist_ok=True)
    photos(folder / "photos", rows.photo_count(scale), given)
    rng = np.random.default_rng(7)
    for length in (100, 1000, 100_000):
        blob = rng.bytes(length + 997)
        with ps.io.TFRecordWriter(str(folder / f"r{length}.tfrecord")) as writer:
            for i in range(rows.size(f"P4-{length}", scale)):
                writer.write(blob[i % 997 : i % 997 + length])
    examples(folder / "P5.tfrecord", rows.size("P5", scale), rng)
    examples(folder / "P5s.tfrecord", rows.size("P5s", scale), rng)


def photos(folder, count, given):
    if given is None:
        drawn.make(folder, count)
        return
    found = sorted(given.glob("*.jpg"))[:count]
    if not found:
        raise SystemExit(f"no *.jpg in {given}")
    folder.mkdir(exist_ok=True)
    for i in range(count):
        shutil.copy(found[i % len(found)], folder / f"{i:05}.jpg")


def examples(path, count, rng):
    vectors = rng.standard_normal((1000, 64)).astype(np.float32)
    with ps.io.TFRecordWriter(str(path)) as writer:
        for i in range(count):
            writer.write(
                ps.io.serialize_example(
                    {
                        "label": np.int64(i),
                        "vec": vectors[i % 1000],
                        "name": f"name-{i}".encode(),
                        "ids": rng.integers(0, 50_000, i % 20),
                    }
                )
            )


if __name__ == "__main__":
    main(
        pathlib.Path(sys.argv[1]),
        float(sys.argv[2]),
        pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None,
    )
