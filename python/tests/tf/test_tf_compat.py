"""What programs around a pipeline use: Examples built in place, names of
TensorFlow 1, devices, strategies, errors."""

from __future__ import annotations

import pickle

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

Dataset = tf.data.Dataset


def test_features_are_made_when_they_are_asked_for():
    example = tf.train.Example()
    feature = example.features.feature
    feature["z"].int64_list.value.extend([1, np.int64(-2)])
    feature["f"].float_list.value.append(0.5)
    feature["s"].bytes_list.value.append(b"cat")
    feature["copy"].CopyFrom(feature["s"])
    assert "absent" not in feature
    assert feature.get("absent") is None
    assert feature["z"].WhichOneof("kind") == "int64_list"
    assert feature["z"].HasField("int64_list")
    assert not feature["z"].HasField("float_list")
    parsed = tf.train.Example.FromString(example.SerializeToString())
    assert parsed == example
    assert parsed.features.feature["z"].int64_list.value == [1, -2]
    assert parsed.features.feature["f"].float_list.value == [0.5]
    assert parsed.features.feature["copy"].bytes_list.value == [b"cat"]
    assert pickle.loads(pickle.dumps(example)) == example


def test_feature_lists_are_made_when_they_are_asked_for():
    record = tf.train.SequenceExample()
    record.context.feature["n"].int64_list.value.append(2)
    for word in (b"to", b"be"):
        step = record.feature_lists.feature_list["words"].feature.add()
        step.bytes_list.value.append(word)
    parsed = tf.train.SequenceExample.FromString(record.SerializeToString())
    assert parsed == record
    steps = parsed.feature_lists.feature_list["words"].feature
    assert [s.bytes_list.value for s in steps] == [[b"to"], [b"be"]]


def test_numbers_are_no_bytes_of_a_feature():
    with pytest.raises(TypeError, match="must be bytes, got 5"):
        tf.train.BytesList(value=[5])
