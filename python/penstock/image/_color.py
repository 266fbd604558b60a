"""Brightness, colours, normalising."""

from __future__ import annotations

from typing import Any

from penstock._ops import traceable
from penstock.image._call import call, number, numbers, pixels


@traceable
def adjust_brightness(image: Any, delta: Any) -> Any:
    """`delta` added, a fraction of the full range.

    >>> import numpy as np, penstock as ps
    >>> ps.image.adjust_brightness(np.array([[[0.25]]], np.float32), 0.5).item()
    0.75
    """
    value = number("adjust_brightness", "delta", delta)
    return call("image.adjust_brightness", pixels(image), params={"delta": value})


@traceable
def adjust_contrast(image: Any, contrast_factor: Any) -> Any:
    """Distances from the mean of each channel multiplied.

    >>> import numpy as np, penstock as ps
    >>> ps.image.adjust_contrast(np.array([[[1], [3]]], np.float32), 2).ravel()
    array([0., 4.], dtype=float32)
    """
    value = number("adjust_contrast", "contrast_factor", contrast_factor)
    return call("image.adjust_contrast", pixels(image), params={"factor": value})


@traceable
def adjust_saturation(image: Any, saturation_factor: Any) -> Any:
    """The saturation of RGB pixels multiplied.

    >>> import numpy as np, penstock as ps
    >>> red = np.array([[[1.0, 0.0, 0.0]]], np.float32)
    >>> ps.image.adjust_saturation(red, 0.0).ravel()
    array([1., 1., 1.], dtype=float32)
    """
    value = number("adjust_saturation", "saturation_factor", saturation_factor)
    return call("image.adjust_saturation", pixels(image), params={"factor": value})


@traceable
def adjust_hue(image: Any, delta: Any) -> Any:
    """The hue of RGB pixels turned; 1 is a whole turn.

    >>> import numpy as np, penstock as ps
    >>> red = np.array([[[1.0, 0.0, 0.0]]], np.float32)
    >>> ps.image.adjust_hue(red, 1 / 3).ravel().round(3) + 0.0
    array([0., 1., 0.], dtype=float32)
    """
    value = number("adjust_hue", "delta", delta)
    return call("image.adjust_hue", pixels(image), params={"delta": value})


@traceable
def adjust_gamma(image: Any, gamma: Any = 1.0, gain: Any = 1.0) -> Any:
    """``gain * x ** gamma``.

    >>> import numpy as np, penstock as ps
    >>> ps.image.adjust_gamma(np.array([[[0.5]]], np.float32), 2).item()
    0.25
    """
    params = {
        "gamma": number("adjust_gamma", "gamma", gamma),
        "gain": number("adjust_gamma", "gain", gain),
    }
    return call("image.adjust_gamma", pixels(image), params=params)


@traceable
def rgb_to_grayscale(image: Any) -> Any:
    """One channel: 0.2989 R + 0.587 G + 0.114 B.

    >>> import numpy as np, penstock as ps
    >>> ps.image.rgb_to_grayscale(np.full((1, 1, 3), 100, np.uint8)).ravel()
    array([100], dtype=uint8)
    """
    return call("image.rgb_to_grayscale", pixels(image))


@traceable
def grayscale_to_rgb(image: Any) -> Any:
    """Three equal channels.

    >>> import numpy as np, penstock as ps
    >>> ps.image.grayscale_to_rgb(np.full((1, 1, 1), 7, np.uint8)).ravel()
    array([7, 7, 7], dtype=uint8)
    """
    return call("image.grayscale_to_rgb", pixels(image))


def _conversion(name: str, what: str, example: str) -> Any:
    def conversion(image: Any) -> Any:
        return call(f"image.{name}", pixels(image))

    conversion.__name__ = conversion.__qualname__ = name
    conversion.__doc__ = (
        f"{what}: float32 of float16 or float32 in [0, 1].\n\n"
        "    >>> import numpy as np, penstock as ps\n"
        "    >>> x = np.array([[[1.0, 0.0, 0.0]]], np.float32)\n"
        f"    >>> ps.image.{name}(x).ravel().round(3)\n    {example}\n"
    )
    return traceable(conversion)


rgb_to_hsv = _conversion(
    "rgb_to_hsv", "RGB to HSV", "array([0., 1., 1.], dtype=float32)"
)
hsv_to_rgb = _conversion(
    "hsv_to_rgb", "HSV to RGB", "array([0., 0., 0.], dtype=float32)"
)
rgb_to_yuv = _conversion(
    "rgb_to_yuv", "RGB to YUV", "array([ 0.299, -0.147,  0.615], dtype=float32)"
)
yuv_to_rgb = _conversion(
    "yuv_to_rgb", "YUV to RGB", "array([1., 1., 1.], dtype=float32)"
)


@traceable
def normalize(image: Any, mean: Any, std: Any) -> Any:
    """float32 ``(x - mean) / std``, in the image's own units.

    `mean` and `std` are one number for all channels, or one for each.

    >>> import numpy as np, penstock as ps
    >>> ps.image.normalize(np.full((1, 1, 1), 10, np.uint8), 4.0, 2.0).item()
    3.0
    """
    params = {
        "mean": numbers("normalize", "mean", mean),
        "std": numbers("normalize", "std", std),
    }
    return call("image.normalize", pixels(image), params=params)


@traceable
def per_image_standardization(image: Any) -> Any:
    """float32 of mean 0 and deviation 1 in each picture.

    >>> import numpy as np, penstock as ps
    >>> ps.image.per_image_standardization(np.array([[[1], [3]]], np.uint8)).ravel()
    array([-1.,  1.], dtype=float32)
    """
    return call("image.per_image_standardization", pixels(image))


__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "normalize",
    "per_image_standardization",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yuv",
    "yuv_to_rgb",
]
