"""Photos for examples: drawn, not downloaded.

python photos.py FOLDER [COUNT]     writes COUNT (400) JPEG files and
                                    photos.tfrecord of the same
"""

import pathlib
import sys

import numpy as np

import penstock as ps

HEIGHT, WIDTH = 375, 500


def draw(number):
    """A picture of the size and detail of a photograph, the same for a number."""
    rng = np.random.default_rng(number)
    y = np.arange(HEIGHT, dtype=np.float32)[:, None]
    x = np.arange(WIDTH, dtype=np.float32)[:, None]
    # Waves of all directions and lengths: sin(a + b) as two products.
    angle, length = rng.uniform(0, np.pi, 12), rng.uniform(8, 200, 12)
    a = (x * (np.cos(angle) / length)).astype(np.float32)
    b = (y * (np.sin(angle) / length)).astype(np.float32)
    columns = np.concatenate([np.sin(a), np.cos(a)], axis=1)
    rows = np.concatenate([np.cos(b), np.sin(b)], axis=1)
    picture = np.empty((HEIGHT, WIDTH, 3), np.float32)
    for channel in range(3):
        strength = np.tile(rng.uniform(-30, 30, 12).astype(np.float32), 2)
        picture[..., channel] = (rows * strength) @ columns.T
    picture += 112 + rng.integers(0, 32, picture.shape, np.uint8)  # grain
    return np.clip(picture, 0, 255).astype(np.uint8)


def make(folder, count=400):
    """Writes the files and the records; gives the path of the records."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "photos.tfrecord"

    def encoded(number):
        return ps.image.encode_jpeg(draw(int(number)), quality=90)

    with ps.io.TFRecordWriter(str(path)) as writer:
        for number, jpeg in enumerate(ps.Dataset.range(count).map(encoded)):
            (folder / f"{number:05}.jpg").write_bytes(jpeg)
            writer.write(ps.io.serialize_example({"image": jpeg, "label": number % 10}))
    return path


if __name__ == "__main__":
    print(make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400))
