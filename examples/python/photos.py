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
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    picture = np.zeros((HEIGHT, WIDTH, 3), np.float32)
    for _ in range(12):  # waves of all directions and lengths
        angle, length = rng.uniform(0, np.pi), rng.uniform(8, 200)
        wave = np.sin((x * np.cos(angle) + y * np.sin(angle)) / length)
        picture += wave[..., None] * rng.uniform(-30, 30, 3).astype(np.float32)
    picture += 128 + rng.normal(0, 9, picture.shape).astype(np.float32)
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
            writer.write(
                ps.io.serialize_example({"image": jpeg, "label": number % 10})
            )
    return path


if __name__ == "__main__":
    print(make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400))
