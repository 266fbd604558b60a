"""Functions of windows are templates, without Python."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf
import pytest


def test_windows_are_templates():
    ds = tf.data.Dataset.range(7)
    spec = ds.window(3).element_spec
    assert spec.element_spec == tf.TensorSpec((), tf.int64)
    flat = ds.window(3, 2, drop_remainder=True).flat_map(lambda w: w.batch(3))
    assert flat.element_spec == tf.TensorSpec((None,), tf.int64)
    assert "a template" in flat.explain()
    assert [x.numpy().tolist() for x in flat] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    turns = (
        ds.window(4)
        .skip(0)
        .interleave(lambda w: w.map(lambda x: x * 10).skip(1), cycle_length=2)
    )
    assert turns.element_spec == tf.TensorSpec((), tf.int64)
    assert "a template" in turns.explain()
    assert [int(x) for x in turns] == [10, 50, 20, 60, 30]


def test_windows_of_several_parts_are_templates():
    pairs = tf.data.Dataset.from_tensor_slices((np.arange(5), np.arange(5) / 2))
    ds = pairs.window(2).flat_map(
        lambda a, b: tf.data.Dataset.zip((a.batch(2), b.batch(2)))
    )
    assert "a template" in ds.explain()
    assert ds.element_spec[1] == tf.TensorSpec((None,), tf.float64)
    found = [(a.numpy().tolist(), b.numpy().tolist()) for a, b in ds]
    assert found == [([0, 1], [0, 0.5]), ([2, 3], [1, 1.5]), ([4], [2])]
    named = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3]}).window(2)
    ds = named.flat_map(lambda d: tf.data.Dataset.zip((d["a"], d["a"].skip(1))))
    assert "a template" in ds.explain()
    assert [(int(a), int(b)) for a, b in ds] == [(1, 2)]


def test_windows_by_key_are_templates():
    ds = tf.data.Dataset.range(7).group_by_window(
        lambda x: x % 2, lambda key, window: window.batch(3), 3
    )
    assert ds.element_spec == tf.TensorSpec((None,), tf.int64)
    assert "a template" in ds.explain()
    assert [x.numpy().tolist() for x in ds] == [[0, 2, 4], [1, 3, 5], [6]]


def test_a_window_that_is_iterated_runs_as_python():
    ds = (
        tf.data.Dataset.range(4)
        .window(2)
        .flat_map(lambda w: tf.data.Dataset.from_tensors(sum(int(x) for x in w)))
    )
    assert [int(x) for x in ds] == [1, 5]


def test_states_of_window_templates():
    ds = tf.data.Dataset.range(10).window(3).flat_map(lambda w: w.batch(2))
    it = iter(ds)
    first = [next(it).numpy().tolist() for _ in range(3)]
    other = iter(ds)
    other.load_state_dict(it.state_dict())
    rest = [x.numpy().tolist() for x in other]
    assert first + rest == [[0, 1], [2], [3, 4], [5], [6, 7], [8], [9]]


def test_windows_split_into_inputs_and_target_are_native():
    ds = tf.data.Dataset.range(7).window(4, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(4)).map(lambda w: (w[:-1], w[-1]))
    assert ds.element_spec == (
        tf.TensorSpec((None,), tf.int64),
        tf.TensorSpec((), tf.int64),
    )
    assert ds.explain().rstrip().endswith("native")
    assert [(x.numpy().tolist(), int(y)) for x, y in ds] == [
        ([i, i + 1, i + 2], i + 3) for i in range(4)
    ]


def test_an_index_beyond_a_dimension_of_unknown_size_is_an_invalid_argument():
    it = iter(tf.data.Dataset.range(6).batch(4).map(lambda w: w[3]))
    assert int(next(it)) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        next(it)
