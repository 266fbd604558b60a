"""Calls of TensorFlow's own guides; bytes and messages are TensorFlow's."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf
import pytest


def test_features_serialize_by_themselves():
    train = tf.train
    number = train.Feature(float_list=train.FloatList(value=[np.exp(1)]))
    assert number.SerializeToString() == b"\x12\x06\n\x04T\xf8-@"
    whole = train.Feature(int64_list=train.Int64List(value=[1]))
    assert whole.SerializeToString() == b"\x1a\x03\n\x01\x01"
    text = train.Feature(bytes_list=train.BytesList(value=[b"test_string"]))
    assert text.SerializeToString() == b"\n\r\n\x0btest_string"
    assert train.Feature().SerializeToString() == b""
    for feature in (number, whole, text):
        data = feature.SerializeToString()
        assert train.Feature.FromString(data).WhichOneof("kind") == feature.WhichOneof(
            "kind"
        )
        parsed = train.Feature()
        assert parsed.ParseFromString(data) == len(data)
        assert parsed.SerializeToString() == data
    features = train.Features(feature={"a": whole, "b": text})
    data = features.SerializeToString()
    assert data == (
        b"\n\n\n\x01a\x12\x05\x1a\x03\n\x01\x01"
        b"\n\x14\n\x01b\x12\x0f\n\r\n\x0btest_string"
    )
    assert train.Features.FromString(data) == features
    example = train.Example(features=features).SerializeToString()
    assert example == b"\n" + bytes([len(data)]) + data


@pytest.mark.parametrize("method", ["filter", "take_while"])
def test_a_predicate_that_gives_no_truth_value_is_refused_where_it_is_written(method):
    ds = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match="Invalid `predicate`"):
        getattr(ds, method)(lambda x: x)


def test_a_window_needs_one_size():
    ds = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match="Either the `window_size` argument or"):
        ds.group_by_window(lambda x: x, lambda _, w: w)
    with pytest.raises(ValueError, match="Only one of the `window_size` and"):
        ds.group_by_window(lambda x: x, lambda _, w: w, 2, lambda _: 2)


def test_methods_of_a_generator():
    generator = tf.random.Generator.from_seed(7)
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        drawn = generator.uniform_full_int((100,), dtype)
        assert drawn.dtype == dtype
        assert drawn.shape == (100,)
        assert len(set(drawn.numpy().tolist())) == 100
        assert generator.uniform_full_int((), dtype).shape == ()
    drawn = generator.truncated_normal((200,), stddev=2.0)
    assert drawn.dtype == tf.float32
    assert float(tf.reduce_max(tf.abs(drawn))) <= 4.0
    first, second = tf.random.Generator.from_seed(7).split(2)
    assert first.normal(()) != second.normal(())
    ahead, behind = (tf.random.Generator.from_seed(3) for _ in range(2))
    ahead.normal(())
    behind.skip(1)
    assert ahead.normal(()) == behind.normal(())
    ahead.reset_from_seed(3)
    assert ahead.normal(()) == tf.random.Generator.from_seed(3).normal(())
