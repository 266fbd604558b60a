"""tf.image on dtypes and ranks that the engine has not; numbers of TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf
import pytest

SMALL = np.arange(4 * 5 * 3).reshape(4, 5, 3)
KINDS = ["bool", "int8", "int16", "int32", "int64", "uint32", "uint64", "float64"]
MOVES = {
    "flip_left_right": (lambda x: tf.image.flip_left_right(x), lambda x: x[:, ::-1]),
    "flip_up_down": (lambda x: tf.image.flip_up_down(x), lambda x: x[::-1]),
    "transpose": (lambda x: tf.image.transpose(x), lambda x: x.swapaxes(0, 1)),
    "rot90": (lambda x: tf.image.rot90(x, 3), lambda x: np.rot90(x, 3)),
    "crop": (
        lambda x: tf.image.crop_to_bounding_box(x, 1, 1, 2, 2),
        lambda x: x[1:3, 1:3],
    ),
    "pad": (
        lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 6, 8),
        lambda x: np.pad(x, ((1, 1), (2, 1), (0, 0))),
    ),
    "central_crop": (lambda x: tf.image.central_crop(x, 0.5), lambda x: x[1:3, 1:4]),
    "crop_or_pad": (
        lambda x: tf.image.resize_with_crop_or_pad(x, 2, 7),
        lambda x: np.pad(x[1:3], ((0, 0), (1, 1), (0, 0))),
    ),
    "nearest": (
        lambda x: tf.image.resize(x, (2, 2), method="nearest"),
        lambda x: x[1::2][:, [1, 3]],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MOVES)
def test_pixels_of_any_dtype_are_moved(name, kind):
    call, expected = MOVES[name]
    x = (SMALL * 3).astype(kind)
    ds = tf.data.Dataset.from_tensors(x).map(lambda v: call(v))
    for made in (call(tf.constant(x)).numpy(), next(iter(ds)).numpy()):
        assert made.dtype == x.dtype
        np.testing.assert_array_equal(made, expected(x))


@pytest.mark.parametrize("kind", KINDS)
def test_random_moves_take_any_dtype(kind):
    x = tf.constant(SMALL.astype(kind))
    part = tf.image.stateless_random_crop(x, (2, 3, 3), seed=(1, 2))
    whole = tf.image.stateless_random_crop(
        tf.constant(SMALL.astype(np.uint8)), (2, 3, 3), seed=(1, 2)
    )
    np.testing.assert_array_equal(part.numpy(), whole.numpy().astype(kind))
    turned = tf.image.random_flip_left_right(x).numpy()
    assert turned.dtype == np.dtype(kind) and turned.shape == (4, 5, 3)


# The first values that TensorFlow gives for SMALL.
VALUES = [
    ("int32", lambda x: tf.image.resize(x, (2, 3)), "float32", [8.5, 9.5, 10.5, 13.5]),
    ("float64", lambda x: tf.image.resize(x, (4, 5)), "float32", [0, 1, 2, 3]),
    (
        "int64",
        lambda x: tf.image.resize(x, (2, 3), method="bicubic"),
        "float32",
        [6.8997, 7.8997, 8.8997, 12.17647],
    ),
    ("int8", lambda x: tf.image.resize_with_pad(x, 6, 6), "float32", [0, 1, 2, 2.25]),
    ("int8", lambda x: tf.image.adjust_brightness(x, 0.1), "int8", [12, 13, 14, 15]),
    ("int32", lambda x: tf.image.adjust_brightness(x, 0.1), "int32", [214748368] * 4),
    (
        "float64",
        lambda x: tf.image.adjust_brightness(x, 0.1),
        "float64",
        [0.10000000149011612, 1.100000023841858, 2.0999999046325684, 3.0999999046],
    ),
    ("int64", lambda x: tf.image.adjust_contrast(x, 0.5), "int64", [14, 15, 16, 15]),
    ("uint32", lambda x: tf.image.adjust_saturation(x, 0.5), "uint32", [1, 1, 2, 4]),
    ("int32", lambda x: tf.image.adjust_hue(x, 0.1), "int32", [0, 0, 2, 3]),
    ("int8", lambda x: tf.image.adjust_gamma(x, 0.5), "int8", [0, 11, 16, 19]),
    ("int32", lambda x: tf.image.rgb_to_grayscale(x), "int32", [0, 3, 6, 9]),
    (
        "float64",
        lambda x: tf.image.rgb_to_grayscale(x),
        "float64",
        [0.815, 3.8147, 6.8144, 9.8141],
    ),
    ("bool", lambda x: tf.image.grayscale_to_rgb(x[..., :1]), "bool", [0, 0, 0, 1]),
    (
        "int64",
        lambda x: tf.image.per_image_standardization(x),
        "float32",
        [-1.70342, -1.645677, -1.587934, -1.530191],
    ),
    (
        "float64",
        lambda x: tf.image.rgb_to_hsv(x),
        "float64",
        [0.58333333, 1.0, 2.0, 0.58333333],
    ),
    (
        "float64",
        lambda x: tf.image.rgb_to_yuv(x),
        "float64",
        [0.815, 0.58315154, -0.71498564, 3.815],
    ),
]


@pytest.mark.parametrize("kind, call, dtype, expected", VALUES)
def test_other_dtypes_are_computed_as_in_tensorflow(kind, call, dtype, expected):
    x = SMALL.astype(kind)
    ds = tf.data.Dataset.from_tensors(x).map(call)
    for made in (call(tf.constant(x)).numpy(), next(iter(ds)).numpy()):
        assert made.dtype == np.dtype(dtype)
        np.testing.assert_allclose(made.ravel()[:4], expected, rtol=2e-6)


@pytest.mark.parametrize(
    "given, dtype, saturate, expected",
    [
        (np.array([0, 1, 255], "uint8"), "int32", False, [0, 1 << 23, 255 << 23]),
        (np.array([0, 1, 255], "uint8"), "int8", False, [0, 0, 127]),
        (np.array([-128, 0, 127], "int8"), "uint8", True, [0, 0, 254]),
        (np.array([0, 2**31 - 1], "int32"), "uint8", False, [0, 255]),
        (np.array([0.0, 0.5, 2.0], "float32"), "int32", True, [0, 2**30, 2147483520]),
        (np.array([0.25, 1.0]), "uint8", False, [63, 255]),
        (np.array([0, 127], "int8"), "float64", False, [0, 1]),
        (np.array([0.5, 1.5]), "float32", False, [0.5, 1.5]),
    ],
)
def test_all_numbers_are_converted(given, dtype, saturate, expected):
    made = tf.image.convert_image_dtype(tf.constant(given), dtype, saturate=saturate)
    assert made.numpy().dtype == np.dtype(dtype)
    np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.image.adjust_contrast(x, 0.5),
        lambda x: tf.image.adjust_saturation(x, 0.5),
        lambda x: tf.image.adjust_brightness(x, 0.1),
        lambda x: tf.image.rgb_to_grayscale(x),
        lambda x: tf.image.per_image_standardization(x),
    ],
)
def test_pictures_have_any_number_of_batch_dimensions(call):
    many = np.stack([SMALL, SMALL[::-1]] * 3).astype(np.uint8)
    made = call(tf.constant(many.reshape(2, 3, 4, 5, 3))).numpy()
    flat = call(tf.constant(many)).numpy()
    assert made.shape == (2, 3, *flat.shape[1:])
    np.testing.assert_array_equal(made.reshape(flat.shape), flat)


def test_colours_need_no_picture():
    assert tf.image.rgb_to_grayscale(tf.constant([9, 9, 9], tf.uint8)).shape == (1,)
    assert tf.image.adjust_brightness(tf.constant(3, tf.uint8), 0.1).numpy() == 28
    grey = tf.image.grayscale_to_rgb(tf.constant([[7], [8]], tf.int32))
    assert grey.numpy().tolist() == [[7] * 3, [8] * 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="flip_left_right"):
        tf.image.flip_left_right(tf.zeros((2, 2)))
