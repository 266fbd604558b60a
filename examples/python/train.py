"""A small training loop whose input is written as it often is.

    python photos.py photos && penstock doctor train.py photos/photos.tfrecord

One file, a Python function with the random module, one call at a time, and
nothing ahead of the step: the accelerator waits most of the time. The doctor
says so, and what to change.
"""

import random
import sys
import time

import numpy as np

import penstock as ps

FEATURES = {
    "image": ps.io.FixedLenFeature([], ps.string),
    "label": ps.io.FixedLenFeature([], ps.int64),
}


def load(record):
    example = ps.io.parse_single_example(record, FEATURES)
    image = ps.image.decode_jpeg(example["image"], channels=3)
    image = ps.image.resize(image, (224, 224))
    if random.random() < 0.5:
        image = image[:, ::-1]
    return np.asarray(image, np.float32) / 255.0, example["label"]


def train_step(batch):
    """The accelerator: busy for 25 ms, without the CPU."""
    time.sleep(0.025)


def main():
    ds = (
        ps.Dataset.tfrecord(sys.argv[1])
        .map(load, num_parallel_calls=1)
        .batch(32)
        .prefetch(0)
    )
    began = time.perf_counter()
    images = 0
    while time.perf_counter() - began < 5:
        for batch, _ in ds:
            train_step(batch)
            images += len(batch)
    print(f"{images / (time.perf_counter() - began):.0f} images/s")


if __name__ == "__main__":
    main()
