"""How alike two pictures are: psnr, ssim and ssim_multiscale. They run as Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import eager_only, traceable
from penstock.tf._values import convert_to_tensor, wrap

# Of Wang, Simoncelli and Bovik, "Multiscale structural similarity", 2003.
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def _floats(op: str, a: Any, b: Any, max_val: Any) -> tuple[Any, Any, Any]:
    """Two pictures between 0 and 1, and the largest value."""
    from penstock.tf._making import cast
    from penstock.tf.image import convert_image_dtype

    eager_only(op, a, b, max_val)
    first, second = convert_to_tensor(a), convert_to_tensor(b)
    shapes = tuple(first.shape), tuple(second.shape)
    for shape in shapes:
        if len(shape) < 3:
            raise ValueError(f"Shape {shape} must have rank at least 3")
    if shapes[0][-3:] != shapes[1][-3:]:
        raise ValueError(f"Shapes {shapes[0][-3:]} and {shapes[1][-3:]} differ")
    largest = cast(max_val, first.dtype)
    x, y, peak = (
        np.asarray(convert_image_dtype(v, np.float32)).astype(np.float64)
        for v in (first, second, largest)
    )
    return x, y, peak


@traceable
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """The ratio of peak to noise between two pictures, in decibels."""
    x, y, peak = _floats("psnr", a, b, max_val)
    error = np.mean((x - y) ** 2, axis=(-3, -2, -1))
    with np.errstate(divide="ignore"):
        made = 20 * np.log10(peak) - 10 * np.log10(error)
    return wrap(np.asarray(made).astype(np.float32)[()])


def _window(size: int, sigma: float) -> Any:
    """The weights of a Gaussian filter along one axis."""
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-(places**2) / (2 * sigma**2))
    return weights / weights.sum()


def _smooth(pixels: Any, weights: Any) -> Any:
    """Weighted means of the neighbours, where all of them are in the picture."""
    for axis in (-3, -2):
        views = np.lib.stride_tricks.sliding_window_view(pixels, len(weights), axis)
        pixels = views @ weights
    return pixels


def _structure(x: Any, y: Any, peak: Any, weights: Any, k1: float, k2: float) -> Any:
    """(similarity, its part of contrast and structure) around each pixel."""
    size = len(weights)
    if min(x.shape[-3:-1]) < size:
        raise InvalidArgumentError(
            f"ssim: a picture must not be smaller than the filter, {size} pixels, got "
            f"{x.shape[-3]} x {x.shape[-2]}"
        )
    c1, c2 = (k1 * peak) ** 2, (k2 * peak) ** 2
    mean_x, mean_y = _smooth(x, weights), _smooth(y, weights)
    between = _smooth(x * y, weights) - mean_x * mean_y
    within = _smooth(x * x + y * y, weights) - mean_x**2 - mean_y**2
    contrast = (2 * between + c2) / (within + c2)
    light = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return light * contrast, contrast


@traceable
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """The structural similarity of pictures: 1 where they are equal.

    >>> import numpy as np, penstock.tf as tf
    >>> x = np.random.default_rng(0).random((16, 16, 1), np.float32)
    >>> float(tf.image.ssim(x, x, 1.0))
    1.0
    >>> bool(tf.image.ssim(x, x[::-1], 1.0) < 0.5)
    True
    """
    x, y, peak = _floats("ssim", img1, img2, max_val)
    weights = _window(int(filter_size), float(filter_sigma))
    made, _ = _structure(x, y, peak, weights, k1, k2)
    axes = -1 if return_index_map else (-3, -2, -1)
    return wrap(np.asarray(made.mean(axes)).astype(np.float32)[()])


@traceable
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = _WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity over several sizes, each half of the one before."""
    x, y, peak = _floats("ssim_multiscale", img1, img2, max_val)
    weights = _window(int(filter_size), float(filter_sigma))
    made: Any = 1.0
    for scale, power in enumerate(power_factors):
        if scale:
            x, y = _halved(x), _halved(y)
        whole, contrast = _structure(x, y, peak, weights, k1, k2)
        last = scale + 1 == len(power_factors)
        part = (whole if last else contrast).mean((-3, -2))
        made = made * np.maximum(part, 0) ** float(power)
    return wrap(np.asarray(made.mean(-1)).astype(np.float32)[()])


def _halved(pixels: Any) -> Any:
    """Means of 2 x 2 pixels; an odd edge counts twice."""
    odd = [n % 2 for n in pixels.shape[-3:-1]]
    widths = [(0, 0)] * (pixels.ndim - 3) + [(0, n) for n in odd] + [(0, 0)]
    padded = np.pad(pixels, widths, "symmetric")
    rows = padded[..., ::2, :, :] + padded[..., 1::2, :, :]
    return (rows[..., ::2, :] + rows[..., 1::2, :]) / 4
