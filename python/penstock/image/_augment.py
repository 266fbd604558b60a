"""Random operations: keyed by seed, epoch and element, or by a `seed`.

Inside a pipeline the same element gives the same picture for any number of
workers and after a resume. With `seed` (a number or several) the result hangs
on it alone.
"""

from __future__ import annotations

from typing import Any

from penstock._errors import InvalidArgumentError
from penstock._ops import traceable
from penstock.image._call import (
    call,
    computed,
    integer,
    method_of,
    number,
    pair,
    pixels,
    plain,
    seeded,
    size_of,
)


@traceable
def random_flip_left_right(
    image: Any, probability: float = 0.5, *, seed: Any = None
) -> Any:
    """The picture, or mirrored.

    >>> import numpy as np, penstock as ps
    >>> x = np.array([[[1], [2]]], np.uint8)
    >>> ps.image.random_flip_left_right(x, probability=1.0).ravel()
    array([2, 1], dtype=uint8)
    """
    op = "random_flip_left_right"
    params = {"probability": number(op, "probability", probability)}
    params.update(seeded(op, seed))
    return call(f"image.{op}", pixels(image), random=True, params=params)


@traceable
def random_flip_up_down(
    image: Any, probability: float = 0.5, *, seed: Any = None
) -> Any:
    """The picture, or upside down.

    >>> import numpy as np, penstock as ps
    >>> x = np.array([[[1]], [[2]]], np.uint8)
    >>> ps.image.random_flip_up_down(x, probability=0.0).ravel()
    array([1, 2], dtype=uint8)
    """
    op = "random_flip_up_down"
    params = {"probability": number(op, "probability", probability)}
    params.update(seeded(op, seed))
    return call(f"image.{op}", pixels(image), random=True, params=params)


@traceable
def random_brightness(image: Any, max_delta: Any, *, seed: Any = None) -> Any:
    """Brightness changed by up to `max_delta` of the full range.

    >>> import numpy as np, penstock as ps
    >>> x = np.zeros((1, 1, 1), np.float32)
    >>> abs(ps.image.random_brightness(x, 0.25).item()) <= 0.25
    True
    """
    op = "random_brightness"
    params = {"max_delta": number(op, "max_delta", max_delta), **seeded(op, seed)}
    return call(f"image.{op}", pixels(image), random=True, params=params)


@traceable
def random_hue(image: Any, max_delta: Any, *, seed: Any = None) -> Any:
    """The hue of RGB pixels turned by up to `max_delta`, at most 0.5.

    >>> import numpy as np, penstock as ps
    >>> grey = np.full((1, 1, 3), 0.5, np.float32)
    >>> ps.image.random_hue(grey, 0.5).ravel()
    array([0.5, 0.5, 0.5], dtype=float32)
    """
    op = "random_hue"
    params = {"max_delta": number(op, "max_delta", max_delta), **seeded(op, seed)}
    return call(f"image.{op}", pixels(image), random=True, params=params)


def _factor(op: str, image: Any, low: Any, high: Any, seed: Any) -> Any:
    params = {"factor": (number(op, "lower", low), number(op, "upper", high))}
    params.update(seeded(op, seed))
    return call(f"image.{op}", pixels(image), random=True, params=params)


@traceable
def random_contrast(image: Any, lower: Any, upper: Any, *, seed: Any = None) -> Any:
    """Contrast multiplied by a factor from [lower, upper).

    >>> import numpy as np, penstock as ps
    >>> x = np.array([[[1], [3]]], np.float32)
    >>> ps.image.random_contrast(x, 2.0, 2.0).ravel()
    array([0., 4.], dtype=float32)
    """
    return _factor("random_contrast", image, lower, upper, seed)


@traceable
def random_saturation(image: Any, lower: Any, upper: Any, *, seed: Any = None) -> Any:
    """The saturation of RGB pixels multiplied by a factor from [lower, upper).

    >>> import numpy as np, penstock as ps
    >>> red = np.array([[[1.0, 0.0, 0.0]]], np.float32)
    >>> ps.image.random_saturation(red, 0.0, 0.0).ravel()
    array([1., 1., 1.], dtype=float32)
    """
    return _factor("random_saturation", image, lower, upper, seed)


@traceable
def random_gamma(image: Any, lower: Any, upper: Any, *, seed: Any = None) -> Any:
    """``x ** gamma`` with gamma from [lower, upper).

    >>> import numpy as np, penstock as ps
    >>> ps.image.random_gamma(np.array([[[0.5]]], np.float32), 2.0, 2.0).item()
    0.25
    """
    return _factor("random_gamma", image, lower, upper, seed)


@traceable
def color_jitter(
    image: Any,
    brightness: float = 0.0,
    contrast: float = 0.0,
    saturation: float = 0.0,
    hue: float = 0.0,
    *,
    seed: Any = None,
) -> Any:
    """Brightness, contrast, saturation and hue changed, in a random order.

    Brightness and hue by up to the given delta, contrast and saturation by a
    factor from [1 - x, 1 + x).

    >>> import numpy as np, penstock as ps
    >>> x = np.full((1, 1, 3), 0.5, np.float32)
    >>> ps.image.color_jitter(x).ravel()
    array([0.5, 0.5, 0.5], dtype=float32)
    """
    op = "color_jitter"
    params = {
        "brightness": number(op, "brightness", brightness),
        "contrast": number(op, "contrast", contrast),
        "saturation": number(op, "saturation", saturation),
        "hue": number(op, "hue", hue),
        **seeded(op, seed),
    }
    return call(f"image.{op}", pixels(image), random=True, params=params)


@traceable
def random_crop(image: Any, size: Any, *, seed: Any = None) -> Any:
    """A part of (height, width) at a random place.

    A third number, the channels, is accepted as TensorFlow's `size` has it.

    >>> import numpy as np, penstock as ps
    >>> ps.image.random_crop(np.zeros((8, 9, 3), np.uint8), (4, 5)).shape
    (4, 5, 3)
    """
    op = "random_crop"
    if not computed(size):
        size = plain(size)
        if isinstance(size, tuple) and len(size) == 3:
            channels = image.shape[-1]
            if size[2] != channels:
                raise InvalidArgumentError(
                    f"{op}: size has {size[2]} channels, the image {channels}"
                )
            size = size[:2]
    params = {"size": size_of(op, size), **seeded(op, seed)}
    return call(f"image.{op}", pixels(image), random=True, params=params)


@traceable
def random_resized_crop(
    image: Any,
    size: Any,
    scale: Any = (0.08, 1.0),
    ratio: Any = (3 / 4, 4 / 3),
    method: str = "bilinear",
    antialias: bool = False,
    *,
    seed: Any = None,
) -> Any:
    """A random part of the picture in (height, width), float32.

    `scale` is its share of the area, `ratio` its width to height.

    >>> import numpy as np, penstock as ps
    >>> x = np.full((20, 30, 3), 9, np.uint8)
    >>> ps.image.random_resized_crop(x, (2, 1)).ravel()
    array([9., 9., 9., 9., 9., 9.], dtype=float32)
    """
    op = "random_resized_crop"
    return call(
        f"image.{op}",
        pixels(image),
        random=True,
        params={"size": size_of(op, size), **seeded(op, seed)},
        scale=pair(op, "scale", scale),
        ratio=pair(op, "ratio", ratio),
        method=method_of(op, method),
        antialias=bool(antialias),
    )


@traceable
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
    *,
    seed: Any = None,
) -> Any:
    """A random window that covers enough of one of the boxes.

    Boxes are (y_min, x_min, y_max, x_max) in fractions. Gives ``begin``
    (y, x, 0), ``size`` (height, width, -1) and the window as a box.

    >>> import numpy as np, penstock as ps
    >>> box = np.array([[[0.0, 0.0, 1.0, 1.0]]], np.float32)
    >>> begin, size, _ = ps.image.sample_distorted_bounding_box(
    ...     (100, 80, 3), box, area_range=(1.0, 1.0), aspect_ratio_range=(0.8, 0.8))
    >>> begin, size
    (array([0, 0, 0]), array([100,  80,  -1]))
    """
    import numpy as np

    op = "sample_distorted_bounding_box"
    if not computed(image_size):
        image_size = np.asarray(plain(image_size), np.int64)
    elif isinstance(image_size, (tuple, list)):
        from penstock._ops import stack

        image_size = stack(list(image_size))
    return call(
        f"image.{op}",
        image_size,
        pixels(bounding_boxes),
        random=True,
        params=seeded(op, seed),
        min_object_covered=number(op, "min_object_covered", min_object_covered),
        aspect_ratio_range=pair(op, "aspect_ratio_range", aspect_ratio_range),
        area_range=pair(op, "area_range", area_range),
        max_attempts=integer(op, "max_attempts", max_attempts),
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
    )


def _mix(op: str, images: Any, labels: Any, alpha: Any, seed: Any) -> Any:
    params = {"alpha": number(op, "alpha", alpha), **seeded(op, seed)}
    return call(
        f"image.{op}", pixels(images), pixels(labels), random=True, params=params
    )


@traceable
def mixup(images: Any, labels: Any, alpha: float = 0.2, *, seed: Any = None) -> Any:
    """Each picture of a batch mixed with another, and their labels likewise.

    `labels` are float32 [batch, classes], as `one_hot` gives them.

    >>> import numpy as np, penstock as ps
    >>> images = np.ones((2, 4, 4, 3), np.uint8)
    >>> mixed, labels = ps.image.mixup(images, ps.one_hot([0, 1], 2))
    >>> mixed.dtype, labels.sum(axis=1)
    (dtype('float32'), array([1., 1.], dtype=float32))
    """
    return _mix("mixup", images, labels, alpha, seed)


@traceable
def cutmix(images: Any, labels: Any, alpha: float = 1.0, *, seed: Any = None) -> Any:
    """A rectangle of each picture of a batch from another; labels by the area.

    >>> import numpy as np, penstock as ps
    >>> images = np.ones((2, 4, 4, 3), np.uint8)
    >>> mixed, labels = ps.image.cutmix(images, ps.one_hot([0, 1], 2))
    >>> mixed.dtype, mixed.shape
    (dtype('uint8'), (2, 4, 4, 3))
    """
    return _mix("cutmix", images, labels, alpha, seed)


__all__ = [
    "color_jitter",
    "cutmix",
    "mixup",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_gamma",
    "random_hue",
    "random_resized_crop",
    "random_saturation",
    "sample_distorted_bounding_box",
]
