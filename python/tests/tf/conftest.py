"""Shared by the tests of penstock.tf."""

from __future__ import annotations

import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest


@pytest.fixture
def examples(tmp_path):
    """A TFRecord of five Examples: a = i, v = i times 0.5."""
    name = str(tmp_path / "e.tfrecord")
    with tf.io.TFRecordWriter(name) as writer:
        for i in range(5):
            feature = {
                "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "v": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * i)),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return name
