"""Functions give what TensorFlow gives: results kept from TensorFlow 2.21."""

from __future__ import annotations

import inspect
import json
import pathlib
import sys

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
EXPECTED = json.loads((HERE / "functions.json").read_text())


# The modules of the comparison that need no TensorFlow.
sys.path.insert(0, str(ROOT / "tests" / "compare"))
from all_fixed import CASES  # noqa: E402
from results import near, shown  # noqa: E402

sys.path.pop(0)


def test_every_call_has_a_result():
    assert len(CASES) == len(EXPECTED)


@pytest.mark.parametrize("number", range(len(EXPECTED)))
def test_a_call_gives_what_tensorflow_gave(number):
    call, expected = CASES[number], EXPECTED[number]
    source = inspect.getsource(call).strip()
    if expected == "error":
        with pytest.raises(Exception):  # noqa: B017, PT011 (any will do)
            call(tf)
        return
    got = shown(call(tf))
    assert near(got, expected), f"{source}: {got}, TensorFlow gave {expected}"


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        ((2, 3), True),
        ((None, 3), True),
        ((3, 2), False),
        ((1, 6), False),
        ((None, 2), False),
        ((2, None), True),
        ((0, 3), False),
    ],
)
@pytest.mark.parametrize("dtype", [tf.int32, tf.string])
def test_ensure_shape_never_gives_another_shape(shape, fits, dtype):
    rows = np.arange(6).reshape(2, 3)
    value = rows.astype(np.int32)
    if dtype is tf.string:
        value = rows.astype("S").astype(object)
    ds = tf.data.Dataset.from_generator(
        lambda: iter([value]), output_signature=tf.TensorSpec((None, None), dtype)
    ).map(lambda x: tf.ensure_shape(x, shape))
    if fits:
        assert next(iter(ds)).numpy().tolist() == value.tolist()
    else:
        with pytest.raises(tf.errors.InvalidArgumentError):
            next(iter(ds))


def test_ensure_shape_checks_channels_where_height_and_width_are_unknown():
    ds = tf.data.Dataset.from_generator(
        lambda: iter([np.zeros((4, 5, 3)), np.zeros((4, 5, 1))]),
        output_signature=tf.TensorSpec((None, None, None), tf.float64),
    ).map(lambda x: tf.ensure_shape(x, (None, None, 3)))
    assert ds.element_spec.shape.as_list() == [None, None, 3]
    it = iter(ds)
    assert next(it).shape == (4, 5, 3)
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(it)


def test_set_shape_does_not_reshape():
    def told(x):
        x.set_shape((3, 2))
        return x

    ds = tf.data.Dataset.from_generator(
        lambda: iter([np.zeros((2, 3))]),
        output_signature=tf.TensorSpec((None, None), tf.float64),
    ).map(told)
    with pytest.raises(ValueError, match="2"):
        next(iter(ds))


@pytest.mark.parametrize("dtype", [tf.int32, tf.string])
def test_set_shape_tells_an_unknown_rank(dtype):
    value = np.arange(6).reshape(2, 3).astype("S").astype(object)
    if dtype is tf.int32:
        value = np.arange(6, dtype=np.int32).reshape(2, 3)

    def told(x):
        x.set_shape((None, 3))
        return x

    ds = tf.data.Dataset.from_generator(
        lambda: iter([value, value.T]), output_signature=tf.TensorSpec(None, dtype)
    ).map(told)
    assert ds.element_spec.shape.as_list() == [None, 3]
    it = iter(ds)
    assert next(it).numpy().tolist() == value.tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ensure_shape.*3, 2"):
        next(it)


def test_a_picture_of_unknown_rank_is_told_its_shape_natively():
    contents = bytes(tf.io.encode_png(np.zeros((4, 5, 3), np.uint8)).numpy())

    def decode(x):
        picture = tf.io.decode_image(x)
        picture.set_shape([None, None, 3])
        return tf.image.resize(picture, (2, 2))

    ds = tf.data.Dataset.from_tensors(contents).map(decode)
    assert ds.element_spec.shape.as_list() == [2, 2, 3]
    assert "native" in ds.explain()
    assert next(iter(ds)).shape == (2, 2, 3)
