"""Sizes, windows and turns."""

from __future__ import annotations

from typing import Any

from penstock._ops import traceable
from penstock.image._call import (
    call,
    dtype_of,
    integer,
    method_of,
    number,
    pixels,
    size_of,
)


@traceable
def resize(
    image: Any,
    size: Any,
    method: str = "bilinear",
    antialias: bool = False,
    preserve_aspect_ratio: bool = False,
) -> Any:
    """The picture in (height, width): float32, in its own units.

    `method` is bilinear, nearest (which keeps the dtype), bicubic, area,
    lanczos3, lanczos5, gaussian or mitchellcubic.

    >>> import numpy as np, penstock as ps
    >>> ps.image.resize(np.full((4, 4, 1), 7, np.uint8), (2, 2)).ravel()
    array([7., 7., 7., 7.], dtype=float32)
    """
    return call(
        "image.resize",
        pixels(image),
        params={"size": size_of("resize", size)},
        method=method_of("resize", method),
        antialias=bool(antialias),
        preserve_aspect_ratio=bool(preserve_aspect_ratio),
    )


@traceable
def resize_with_pad(
    image: Any,
    target_height: int,
    target_width: int,
    method: str = "bilinear",
    antialias: bool = False,
) -> Any:
    """The picture fitted into a size, with zeros around it.

    >>> import numpy as np, penstock as ps
    >>> ps.image.resize_with_pad(np.ones((2, 4, 1), np.uint8), 4, 4)[:, 0, 0]
    array([0., 1., 1., 0.], dtype=float32)
    """
    op = "resize_with_pad"
    return call(
        "image.resize_with_pad",
        pixels(image),
        params={"size": size_of(op, (target_height, target_width))},
        method=method_of(op, method),
        antialias=bool(antialias),
    )


@traceable
def resize_with_crop_or_pad(image: Any, target_height: int, target_width: int) -> Any:
    """The middle of the picture, or the picture in the middle of zeros.

    >>> import numpy as np, penstock as ps
    >>> ps.image.resize_with_crop_or_pad(np.ones((5, 3, 1), np.uint8), 3, 5)[0, :, 0]
    array([0, 1, 1, 1, 0], dtype=uint8)
    """
    op = "resize_with_crop_or_pad"
    return call(
        "image.resize_with_crop_or_pad",
        pixels(image),
        params={"size": size_of(op, (target_height, target_width))},
    )


def _window(op: str, *values: Any) -> dict[str, Any]:
    names = ("offset_height", "offset_width", "target_height", "target_width")
    return {"window": tuple(integer(op, n, v) for n, v in zip(names, values))}


@traceable
def crop_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Any:
    """A part of the picture; the numbers may be computed for each element.

    >>> import numpy as np, penstock as ps
    >>> picture = np.arange(12, dtype=np.uint8).reshape(3, 4, 1)
    >>> ps.image.crop_to_bounding_box(picture, 1, 2, 2, 1).ravel()
    array([ 6, 10], dtype=uint8)
    """
    return call(
        "image.crop_to_bounding_box",
        pixels(image),
        params=_window(
            "crop_to_bounding_box",
            offset_height,
            offset_width,
            target_height,
            target_width,
        ),
    )


@traceable
def pad_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Any:
    """The picture at a place of a larger one, with zeros around it.

    >>> import numpy as np, penstock as ps
    >>> ps.image.pad_to_bounding_box(np.ones((1, 1, 1), np.uint8), 0, 1, 1, 3).ravel()
    array([0, 1, 0], dtype=uint8)
    """
    return call(
        "image.pad_to_bounding_box",
        pixels(image),
        params=_window(
            "pad_to_bounding_box",
            offset_height,
            offset_width,
            target_height,
            target_width,
        ),
    )


@traceable
def central_crop(image: Any, central_fraction: Any) -> Any:
    """The middle of the picture: a fraction of each side.

    >>> import numpy as np, penstock as ps
    >>> ps.image.central_crop(np.zeros((8, 6, 3), np.uint8), 0.5).shape
    (4, 4, 3)
    """
    fraction = number("central_crop", "central_fraction", central_fraction)
    return call("image.central_crop", pixels(image), params={"fraction": fraction})


@traceable
def flip_left_right(image: Any) -> Any:
    """The picture mirrored.

    >>> import numpy as np, penstock as ps
    >>> ps.image.flip_left_right(np.array([[[1], [2]]], np.uint8)).ravel()
    array([2, 1], dtype=uint8)
    """
    return call("image.flip_left_right", pixels(image))


@traceable
def flip_up_down(image: Any) -> Any:
    """The picture upside down.

    >>> import numpy as np, penstock as ps
    >>> ps.image.flip_up_down(np.array([[[1]], [[2]]], np.uint8)).ravel()
    array([2, 1], dtype=uint8)
    """
    return call("image.flip_up_down", pixels(image))


@traceable
def rot90(image: Any, k: Any = 1) -> Any:
    """`k` quarter turns against the clock.

    >>> import numpy as np, penstock as ps
    >>> ps.image.rot90(np.array([[[1], [2]]], np.uint8)).ravel()
    array([2, 1], dtype=uint8)
    """
    return call("image.rot90", pixels(image), params={"k": integer("rot90", "k", k)})


@traceable
def transpose(image: Any) -> Any:
    """Rows become columns.

    >>> import numpy as np, penstock as ps
    >>> ps.image.transpose(np.zeros((2, 5, 3), np.uint8)).shape
    (5, 2, 3)
    """
    return call("image.transpose", pixels(image))


@traceable
def rotate(
    image: Any,
    radians: Any,
    interpolation: str = "bilinear",
    fill_value: float = 0.0,
) -> Any:
    """The picture turned about its middle, against the clock; its size stays.

    >>> import math, numpy as np, penstock as ps
    >>> picture = np.array([[[1], [2]], [[3], [4]]], np.uint8)
    >>> ps.image.rotate(picture, math.pi, "nearest").ravel()
    array([4, 3, 2, 1], dtype=uint8)
    """
    return call(
        "image.rotate",
        pixels(image),
        params={"radians": number("rotate", "radians", radians)},
        interpolation=method_of("rotate", interpolation),
        fill_value=number("rotate", "fill_value", fill_value),
    )


@traceable
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False) -> Any:
    """Another dtype, where integers are fractions of their largest value.

    >>> import numpy as np, penstock as ps
    >>> ps.image.convert_image_dtype(np.full((1, 1, 1), 255, np.uint8), ps.float32)
    array([[[1.]]], dtype=float32)
    """
    kind = dtype_of("convert_image_dtype", dtype)
    return call(
        "image.convert_image_dtype",
        pixels(image),
        dtype=kind,
        saturate=bool(saturate),
    )


@traceable
def hwc_to_chw(image: Any) -> Any:
    """[..., height, width, channels] as [..., channels, height, width].

    >>> import numpy as np, penstock as ps
    >>> ps.image.hwc_to_chw(np.zeros((4, 6, 3), np.uint8)).shape
    (3, 4, 6)
    """
    return call("image.hwc_to_chw", pixels(image))


__all__ = [
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "hwc_to_chw",
    "pad_to_bounding_box",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rot90",
    "rotate",
    "transpose",
]
