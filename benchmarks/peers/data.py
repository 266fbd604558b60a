"""Makes what the engines read, once: photos and TFRecord files.

python data.py FOLDER SCALE
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "examples" / "python")]

import photos  # noqa: E402
import rows  # noqa: E402

import penstock as ps  # noqa: E402


def main(folder, scale):
    folder.mkdir(parents=True, exist_ok=True)
    photos.make(folder / "photos", 128)
    rng = np.random.default_rng(7)
    for length in (100, 1000, 100_000):
        blob = rng.bytes(length + 997)
        with ps.io.TFRecordWriter(str(folder / f"r{length}.tfrecord")) as writer:
            for i in range(rows.size(f"P4-{length}", scale)):
                writer.write(blob[i % 997 : i % 997 + length])
    with ps.io.TFRecordWriter(str(folder / "examples.tfrecord")) as writer:
        for i in range(rows.size("P5", scale)):
            writer.write(
                ps.io.serialize_example(
                    {
                        "label": np.int64(i),
                        "vec": rng.standard_normal(64).astype(np.float32),
                        "name": f"name-{i}".encode(),
                        "ids": rng.integers(0, 50_000, i % 20),
                    }
                )
            )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), float(sys.argv[2]))
