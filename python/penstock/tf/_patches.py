"""More of `tf.image`: patches, gradients and crops. They run as Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import eager_only, traceable
from penstock.tf._values import convert_to_tensor, wrap
from penstock.tf._windows import windows

_YIQ = np.array(
    [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ]
)
# TensorFlow's, which is the inverse to four digits only.
_RGB_OF_YIQ = np.array(
    [
        [1, 1, 1],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ]
)


def _array(op: str, value: Any, *others: Any) -> Any:
    eager_only(op, value, *others)
    return np.asarray(convert_to_tensor(value))


@traceable
def rgb_to_yiq(images: Any) -> Any:
    """Brightness and two differences of colours."""
    pixels = _array("rgb_to_yiq", images)
    return wrap((pixels @ _YIQ.astype(pixels.dtype)).astype(pixels.dtype))


@traceable
def yiq_to_rgb(images: Any) -> Any:
    """Colours of brightness and two differences."""
    pixels = _array("yiq_to_rgb", images)
    return wrap((pixels @ _RGB_OF_YIQ.astype(pixels.dtype)).astype(pixels.dtype))


@traceable
def image_gradients(image: Any) -> Any:
    """(dy, dx): differences to the pixel below and to the right."""
    x = _array("image_gradients", image)
    if x.ndim != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], got {x.shape}."
        )
    down, right = np.zeros_like(x), np.zeros_like(x)
    down[:, :-1] = x[:, 1:] - x[:, :-1]
    right[:, :, :-1] = x[:, :, 1:] - x[:, :, :-1]
    return wrap(down), wrap(right)


@traceable
def sobel_edges(image: Any) -> Any:
    """The two Sobel derivatives, in a last dimension."""
    x = _array("sobel_edges", image)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), "reflect")
    height, width = x.shape[1:3]

    def shifted(row: int, column: int) -> Any:
        return padded[:, row : row + height, column : column + width]

    def derivative(kernel: list[list[int]]) -> Any:
        total = np.zeros_like(x)
        for i, row in enumerate(kernel):
            for j, factor in enumerate(row):
                if factor:
                    total += factor * shifted(i, j)
        return total

    down = derivative([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    right = derivative([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    return wrap(np.stack([down, right], -1))


@traceable
def total_variation(images: Any, name: str | None = None) -> Any:
    """The sum of differences between neighbours, for each picture."""
    x = _array("total_variation", images)
    if x.ndim not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    axes = tuple(range(x.ndim - 3, x.ndim))
    down = np.abs(np.diff(x, axis=-3)).sum(axes)
    return wrap((down + np.abs(np.diff(x, axis=-2)).sum(axes)).astype(x.dtype)[()])


@traceable
def extract_patches(
    images: Any,
    sizes: Any,
    strides: Any,
    rates: Any,
    padding: str,
    name: str | None = None,
) -> Any:
    """Patches of pictures, their pixels in the last dimension.

    >>> import penstock.tf as tf
    >>> x = tf.reshape(tf.range(9), (1, 3, 3, 1))
    >>> tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1],
    ...                          "VALID").numpy()[0, 0].tolist()
    [[0, 1, 3, 4], [1, 2, 4, 5]]
    """
    x = _array("extract_patches", images)
    size = int(sizes[1]), int(sizes[2])
    views = windows(x, size, strides, padding, rates, 0)
    made = np.moveaxis(views, 3, -1)
    return wrap(np.ascontiguousarray(made.reshape(*made.shape[:3], -1)))


@traceable
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Boxes of pictures (y1, x1, y2, x2 from 0 to 1), all in one size."""
    x = _array("crop_and_resize", image, boxes, box_indices).astype(np.float32)
    height, width = (int(s) for s in crop_size)
    count = x.shape[0]
    corners = np.asarray(convert_to_tensor(boxes), np.float32)
    owners = np.asarray(convert_to_tensor(box_indices))
    if owners.size and not 0 <= owners.min() <= owners.max() < count:
        raise InvalidArgumentError(
            f"crop_and_resize: box_indices must be below {count}"
        )
    out = np.empty((len(corners), height, width, x.shape[3]), np.float32)
    for i, (box, owner) in enumerate(zip(corners, owners, strict=True)):
        ys = _places(box[0], box[2], height, x.shape[1])
        xs = _places(box[1], box[3], width, x.shape[2])
        out[i] = _sampled(x[owner], ys, xs, method)
        outside = np.zeros((height, width), bool)
        outside |= ((ys < 0) | (ys > x.shape[1] - 1))[:, None]
        outside |= ((xs < 0) | (xs > x.shape[2] - 1))[None]
        out[i][outside] = extrapolation_value
    return wrap(out)


def _places(first: Any, last: Any, count: int, size: int) -> Any:
    if count == 1:
        return np.array([0.5 * (first + last) * (size - 1)], np.float32)
    step = (last - first) * (size - 1) / np.float32(count - 1)
    return (first * (size - 1) + np.arange(count, dtype=np.float32) * step).astype(
        np.float32
    )


def _sampled(pixels: Any, ys: Any, xs: Any, method: str) -> Any:
    ys = np.clip(ys, 0, pixels.shape[0] - 1)
    xs = np.clip(xs, 0, pixels.shape[1] - 1)
    if method == "nearest":
        rows = np.floor(ys + np.float32(0.5)).astype(int)
        return pixels[np.ix_(rows, np.floor(xs + np.float32(0.5)).astype(int))]
    if method != "bilinear":
        raise InvalidArgumentError(
            f"crop_and_resize: method must be bilinear or nearest, got {method!r}"
        )
    top, left = np.floor(ys).astype(int), np.floor(xs).astype(int)
    bottom, right = np.ceil(ys).astype(int), np.ceil(xs).astype(int)
    across = (xs - left)[None, :, None]
    above = pixels[np.ix_(top, left)]
    above = above + (pixels[np.ix_(top, right)] - above) * across
    below = pixels[np.ix_(bottom, left)]
    below = below + (pixels[np.ix_(bottom, right)] - below) * across
    return above + (below - above) * (ys - top)[:, None, None]


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any = None
) -> Any:
    """A picture as a JPEG of random quality would show it."""
    from penstock.tf.image import adjust_jpeg_quality
    from penstock.tf.random import uniform

    _check_quality(min_jpeg_quality, max_jpeg_quality)
    quality = uniform((), min_jpeg_quality, max_jpeg_quality, np.int32)
    return adjust_jpeg_quality(image, quality)


def stateless_random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any
) -> Any:
    """A picture as a JPEG of the quality that the seed says would show it."""
    from penstock.tf.image import adjust_jpeg_quality
    from penstock.tf.random import stateless_uniform

    _check_quality(min_jpeg_quality, max_jpeg_quality)
    limits = min_jpeg_quality, max_jpeg_quality
    return adjust_jpeg_quality(image, stateless_uniform((), seed, *limits, np.int32))


def _check_quality(low: int, high: int) -> None:
    if not 0 <= low <= 100 or not 0 <= high <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
