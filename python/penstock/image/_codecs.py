"""Files to pixels and back."""

from __future__ import annotations

from typing import Any

from penstock._ops import traceable
from penstock.image._call import call, dtype_of, integer, number, pixels

_MAX_PIXELS = 1 << 28


def _formats(any_format: bool) -> dict[str, Any]:
    """Whether files of other formats are taken; an attribute only if they are."""
    return {"any_format": True} if any_format else {}


def _frames(webp_frames: bool) -> dict[str, Any]:
    return {"webp_frames": True} if webp_frames else {}


@traceable
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    *,
    exif_orientation: bool = False,
    allow_scaled_decoding: bool = False,
    strict: bool = False,
    any_format: bool = False,
    max_image_pixels: int = _MAX_PIXELS,
) -> Any:
    """A JPEG file's pixels, uint8 [height, width, channels].

    `channels` 0 takes what is stored; `ratio` 2, 4 or 8 decodes it smaller.
    With `any_format` a PNG or a GIF of one frame will do.
    With `allow_scaled_decoding` a `resize` behind it in a traced function may
    decode at a fraction of the size: faster, and not quite the same values.

    >>> import numpy as np, penstock as ps
    >>> picture = np.full((4, 6, 3), 200, np.uint8)
    >>> ps.image.decode_jpeg(ps.image.encode_jpeg(picture)).shape
    (4, 6, 3)
    """
    op = "decode_jpeg"
    return call(
        "image.decode_jpeg",
        contents,
        channels=integer(op, "channels", channels),
        ratio=integer(op, "ratio", ratio),
        fancy_upscaling=bool(fancy_upscaling),
        try_recover_truncated=bool(try_recover_truncated),
        acceptable_fraction=number(op, "acceptable_fraction", acceptable_fraction),
        dct_method=str(dct_method),
        exif_orientation=bool(exif_orientation),
        allow_scaled_decoding=bool(allow_scaled_decoding),
        strict=bool(strict),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
        **_formats(any_format),
    )


@traceable
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    *,
    max_image_pixels: int = _MAX_PIXELS,
) -> Any:
    """The part (y, x, height, width) of a JPEG; the rest is hardly decoded.

    >>> import numpy as np, penstock as ps
    >>> file = ps.image.encode_jpeg(np.zeros((40, 60, 3), np.uint8))
    >>> ps.image.decode_and_crop_jpeg(file, (8, 8, 10, 20)).shape
    (10, 20, 3)
    """
    op = "decode_and_crop_jpeg"
    return call(
        "image.decode_and_crop_jpeg",
        contents,
        params={"crop_window": crop_window},
        channels=integer(op, "channels", channels),
        ratio=integer(op, "ratio", ratio),
        fancy_upscaling=bool(fancy_upscaling),
        try_recover_truncated=bool(try_recover_truncated),
        acceptable_fraction=number(op, "acceptable_fraction", acceptable_fraction),
        dct_method=str(dct_method),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
    )


@traceable
def extract_jpeg_shape(contents: Any, output_type: Any = "int32") -> Any:
    """(height, width, channels) of a JPEG, from its header.

    >>> import numpy as np, penstock as ps
    >>> file = ps.image.encode_jpeg(np.zeros((4, 6, 3), np.uint8))
    >>> ps.image.extract_jpeg_shape(file)
    array([4, 6, 3], dtype=int32)
    """
    kind = dtype_of("extract_jpeg_shape", output_type)
    return call("image.extract_jpeg_shape", contents, dtype=kind)


@traceable
def decode_png(
    contents: Any,
    channels: int = 0,
    dtype: Any = "uint8",
    *,
    any_format: bool = False,
    max_image_pixels: int = _MAX_PIXELS,
) -> Any:
    """A PNG file's pixels, uint8 or uint16.

    With `any_format` a JPEG or a GIF of one frame will do.

    >>> import numpy as np, penstock as ps
    >>> picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    >>> bool((ps.image.decode_png(ps.image.encode_png(picture)) == picture).all())
    True
    """
    op = "decode_png"
    return call(
        "image.decode_png",
        contents,
        channels=integer(op, "channels", channels),
        dtype=dtype_of(op, dtype),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
        **_formats(any_format),
    )


@traceable
def decode_webp(
    contents: Any,
    channels: int = 0,
    *,
    max_image_pixels: int = _MAX_PIXELS,
    webp_frames: bool = False,
) -> Any:
    """A WebP file's pixels, uint8; one picture, no animation.

    With `webp_frames` [frames, height, width, channels] of both, as TensorFlow has it.

    >>> import numpy as np, penstock as ps
    >>> file = ps.image.encode_webp(np.zeros((4, 6, 3), np.uint8))
    >>> ps.image.decode_webp(file, channels=3).shape
    (4, 6, 3)
    """
    op = "decode_webp"
    return call(
        "image.decode_webp",
        contents,
        channels=integer(op, "channels", channels),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
        **_frames(webp_frames),
    )


@traceable
def decode_bmp(
    contents: Any, channels: int = 0, *, max_image_pixels: int = _MAX_PIXELS
) -> Any:
    """A BMP file's pixels, uint8.

    >>> import penstock as ps
    >>> ps.image.decode_bmp(b"nothing")
    Traceback (most recent call last):
    ...
    penstock._errors.InvalidArgumentError: image.decode_bmp: ...
    """
    op = "decode_bmp"
    return call(
        "image.decode_bmp",
        contents,
        channels=integer(op, "channels", channels),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
    )


@traceable
def decode_gif(
    contents: Any,
    *,
    max_frames: int = 0,
    any_format: bool = False,
    max_image_pixels: int = _MAX_PIXELS,
) -> Any:
    """All frames of a GIF, uint8 [frames, height, width, 3].

    With `any_format` a JPEG or PNG will do, as one frame.

    >>> import penstock as ps
    >>> ps.image.decode_gif(b"nothing")
    Traceback (most recent call last):
    ...
    penstock._errors.InvalidArgumentError: image.decode_gif: ...
    """
    op = "decode_gif"
    return call(
        "image.decode_gif",
        contents,
        max_frames=integer(op, "max_frames", max_frames),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
        **_formats(any_format),
    )


@traceable
def decode_image(
    contents: Any,
    channels: int = 0,
    dtype: Any = "uint8",
    expand_animations: bool = True,
    *,
    max_image_pixels: int = _MAX_PIXELS,
    webp_frames: bool = False,
) -> Any:
    """JPEG, PNG, WebP, BMP or GIF, told by its first bytes.

    A GIF gives [frames, height, width, 3], so the rank is not known before;
    with ``expand_animations=False`` it is its first frame, and always 3. An
    animated WebP has frames, too; with `webp_frames` also one that is still.

    >>> import numpy as np, penstock as ps
    >>> file = ps.image.encode_png(np.zeros((4, 6, 1), np.uint8))
    >>> ps.image.decode_image(file).shape
    (4, 6, 1)
    """
    op = "decode_image"
    return call(
        "image.decode_image",
        contents,
        channels=integer(op, "channels", channels),
        dtype=dtype_of(op, dtype),
        expand_animations=bool(expand_animations),
        max_image_pixels=integer(op, "max_image_pixels", max_image_pixels),
        **_frames(webp_frames),
    )


@traceable
def encode_jpeg(
    image: Any,
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
) -> Any:
    """A picture (uint8, 1 or 3 channels) as a JPEG file.

    >>> import numpy as np, penstock as ps
    >>> ps.image.encode_jpeg(np.zeros((4, 6, 3), np.uint8))[:3]
    b'\\xff\\xd8\\xff'
    """
    return call(
        "image.encode_jpeg",
        pixels(image),
        params={"quality": integer("encode_jpeg", "quality", quality)},
        progressive=bool(progressive),
        optimize_size=bool(optimize_size),
        chroma_downsampling=bool(chroma_downsampling),
    )


@traceable
def encode_png(image: Any, compression: int = -1) -> Any:
    """A picture (uint8 or uint16, 1 to 4 channels) as a PNG file.

    >>> import numpy as np, penstock as ps
    >>> ps.image.encode_png(np.zeros((4, 6, 3), np.uint8))[1:4]
    b'PNG'
    """
    return call(
        "image.encode_png",
        pixels(image),
        compression=integer("encode_png", "compression", compression),
    )


@traceable
def encode_webp(image: Any, quality: float = 75.0, lossless: bool = False) -> Any:
    """A picture (uint8, 3 or 4 channels) as a WebP file.

    >>> import numpy as np, penstock as ps
    >>> ps.image.encode_webp(np.zeros((4, 6, 3), np.uint8))[8:12]
    b'WEBP'
    """
    return call(
        "image.encode_webp",
        pixels(image),
        params={"quality": number("encode_webp", "quality", quality)},
        lossless=bool(lossless),
    )


__all__ = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "encode_webp",
    "extract_jpeg_shape",
]
