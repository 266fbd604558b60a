"""A tf.data program on Penstock: the import line is the only change.

    python examples/python/from_tensorflow.py

Writes a few TFRecord files of small pictures, then reads, parses, decodes and
batches them as such programs do, and says how each function runs.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (was: import tensorflow as tf)

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def write(where: str, files: int = 4, records: int = 50) -> None:
    chance = np.random.default_rng(1)
    for number in range(files):
        with tf.io.TFRecordWriter(os.path.join(where, f"{number}.tfrecord")) as writer:
            for label in range(records):
                pixels = chance.integers(0, 255, (48, 64, 3), np.uint8)
                data = tf.io.encode_jpeg(pixels).numpy()
                image = tf.train.BytesList(value=[data])
                example = tf.train.Example(
                    features=tf.train.Features(
                        feature={
                            "image": tf.train.Feature(bytes_list=image),
                            "label": tf.train.Feature(
                                int64_list=tf.train.Int64List(value=[label % 10])
                            ),
                        }
                    )
                )
                writer.write(example.SerializeToString())


@tf.function
def prepare(record):
    parsed = tf.io.parse_single_example(record, FEATURES)
    image = tf.io.decode_jpeg(parsed["image"], channels=3)
    image = tf.image.resize(image, (32, 32)) / 255.0
    return tf.image.random_flip_left_right(image), tf.one_hot(parsed["label"], 10)


def main() -> None:
    with tempfile.TemporaryDirectory() as where:
        write(where)
        ds = tf.data.Dataset.list_files(os.path.join(where, "*.tfrecord"), seed=7)
        ds = ds.interleave(tf.data.TFRecordDataset, cycle_length=4)
        ds = ds.shuffle(100, seed=7).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
        ds = ds.batch(32, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
        print(ds.explain())
        for step, (images, labels) in enumerate(ds):
            print(step, images.shape, labels.shape, float(images.numpy().mean()))


if __name__ == "__main__":
    main()
