"""`tf.image`: decoding and changing pictures, on `penstock.image`.

TensorFlow's signatures and numbers; native inside a function that is traced.

>>> import numpy as np, penstock.tf as tf
>>> picture = tf.constant(np.full((4, 4, 1), 9, np.uint8))
>>> tf.image.resize(picture, (2, 2)).numpy().ravel()
array([9., 9., 9., 9.], dtype=float32)
"""

from __future__ import annotations

import enum
from functools import partial
from typing import Any

import numpy as np

from penstock import image as engine
from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced, TracedBytes
from penstock.tf import _missing
from penstock.tf import _pixel_types as kinds
from penstock.tf._apply import dims, eager_only, known, numpy_of, signed, traceable
from penstock.tf._boxes import (
    combined_non_max_suppression as combined_non_max_suppression,
)
from penstock.tf._boxes import (
    draw_bounding_boxes as draw_bounding_boxes,
)
from penstock.tf._boxes import (
    non_max_suppression as non_max_suppression,
)
from penstock.tf._boxes import (
    non_max_suppression_overlaps as non_max_suppression_overlaps,
)
from penstock.tf._boxes import (
    non_max_suppression_padded as non_max_suppression_padded,
)
from penstock.tf._boxes import (
    non_max_suppression_with_scores as non_max_suppression_with_scores,
)
from penstock.tf._dtypes import as_dtype, int32, numpy_dtype, uint8
from penstock.tf._making import cast
from penstock.tf._patches import (
    crop_and_resize as crop_and_resize,
)
from penstock.tf._patches import (
    extract_patches as extract_patches,
)
from penstock.tf._patches import (
    image_gradients as image_gradients,
)
from penstock.tf._patches import (
    random_jpeg_quality as random_jpeg_quality,
)
from penstock.tf._patches import (
    rgb_to_yiq as rgb_to_yiq,
)
from penstock.tf._patches import (
    sobel_edges as sobel_edges,
)
from penstock.tf._patches import (
    stateless_random_jpeg_quality as stateless_random_jpeg_quality,
)
from penstock.tf._patches import (
    total_variation as total_variation,
)
from penstock.tf._patches import (
    yiq_to_rgb as yiq_to_rgb,
)
from penstock.tf._similarity import (
    psnr as psnr,
)
from penstock.tf._similarity import (
    ssim as ssim,
)
from penstock.tf._similarity import (
    ssim_multiscale as ssim_multiscale,
)
from penstock.tf._values import convert_to_tensor, has_traced, wrap


class ResizeMethod(str, enum.Enum):
    """How `resize` computes its pixels."""

    __penstock_traceable__ = True  # its members are constants

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


def _bytes(contents: Any) -> Any:
    if isinstance(contents, TracedBytes):
        return contents
    tensor = convert_to_tensor(contents)
    if not isinstance(tensor, bytes):
        raise InvalidArgumentError(
            f"decode: contents must be a single string, got {type(contents).__name__}"
        )
    return bytes(tensor)


def _pixels(op: str, image: Any, low: int = 3, high: int = 4) -> Any:
    """A picture or a batch; a helpful error for anything else."""
    tensor = convert_to_tensor(image)
    if isinstance(tensor, (bytes, TracedBytes)):
        raise InvalidArgumentError(
            f"{op}: the image is a string; decode it first, for example with "
            "tf.io.decode_jpeg"
        )
    rank = len(tensor.shape)
    if not low <= rank <= high:
        shape = tuple.__str__(tuple(tensor.shape))
        raise InvalidArgumentError(
            f"{op}: an image must have the shape [height, width, channels], or "
            f"[batch, height, width, channels], got {shape}; give it one with "
            "tf.reshape(image, (height, width, channels))"
        )
    return tensor if isinstance(tensor, Traced) else np.asarray(tensor)


def _made(value: Any) -> Any:
    return value if has_traced(value) else wrap(value)


# --- decoding -------------------------------------------------------------------


@traceable
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of a JPEG, PNG or GIF of one frame, as uint8.

    >>> import numpy as np, penstock.tf as tf
    >>> data = tf.io.encode_jpeg(np.zeros((4, 6, 3), np.uint8))
    >>> tf.io.decode_jpeg(data, channels=3).shape
    TensorShape([4, 6, 3])
    """
    made = engine.decode_jpeg(
        _bytes(contents),
        int(known(channels)),
        int(ratio),
        bool(fancy_upscaling),
        bool(try_recover_truncated),
        float(acceptable_fraction),
        dct_method,
        any_format=True,
    )
    return _made(made)


@traceable
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of a part of a JPEG: [y, x, height, width]."""
    window = crop_window if has_traced(crop_window) else dims(crop_window)
    made = engine.decode_and_crop_jpeg(
        _bytes(contents),
        window,
        int(channels),
        int(ratio),
        bool(fancy_upscaling),
        bool(try_recover_truncated),
        float(acceptable_fraction),
        dct_method,
    )
    return _made(made)


@traceable
def extract_jpeg_shape(
    contents: Any, output_type: Any = int32, name: str | None = None
) -> Any:
    """[height, width, channels] of a JPEG, without decoding it."""
    return _made(engine.extract_jpeg_shape(_bytes(contents), numpy_dtype(output_type)))


@traceable
def decode_png(
    contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Any:
    """The pixels of a PNG, JPEG or GIF of one frame, as uint8 or uint16."""
    made = engine.decode_png(
        _bytes(contents), int(known(channels)), numpy_dtype(dtype), any_format=True
    )
    return _made(made)


@traceable
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """The pixels of a BMP."""
    return _made(engine.decode_bmp(_bytes(contents), int(channels)))


@traceable
def decode_gif(contents: Any, name: str | None = None) -> Any:
    """The pixels of a GIF, JPEG or PNG: [frames, height, width, 3]."""
    return _made(engine.decode_gif(_bytes(contents), any_format=True))


@traceable
def decode_webp(
    contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Any:
    """The pixels of a WebP: [frames, height, width, channels]."""
    made = engine.decode_webp(_bytes(contents), int(channels), webp_frames=True)
    return _made(made)


@traceable
def decode_image(
    contents: Any,
    channels: Any = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """The pixels of a JPEG, PNG, BMP, GIF or WebP."""
    return _made(
        engine.decode_image(
            _bytes(contents),
            int(channels or 0),
            numpy_dtype(dtype),
            bool(expand_animations),
            webp_frames=bool(expand_animations),
        )
    )


@traceable
def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Any:
    """A picture as JPEG."""
    made = engine.encode_jpeg(
        _pixels("encode_jpeg", image, 3, 3),
        int(quality),
        bool(progressive),
        bool(optimize_size),
        bool(chroma_downsampling),
    )
    return _made(made)


@traceable
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """A picture as PNG."""
    return _made(
        engine.encode_png(_pixels("encode_png", image, 3, 3), int(compression))
    )


def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether bytes look like a JPEG."""
    return convert_to_tensor(_bytes(contents)[:3] == b"\xff\xd8\xff")


# --- sizes ----------------------------------------------------------------------


@traceable
def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Pictures in another size; float32 unless the method is "nearest"."""
    wanted, rules = _size(size), (bool(antialias), bool(preserve_aspect_ratio))
    made = kinds.resized(
        "resize",
        _pixels("resize", images),
        _is_nearest(method),
        lambda pixels: engine.resize(pixels, wanted, method, *rules),
    )
    return _made(made)


def _is_nearest(method: Any) -> bool:
    return str(getattr(method, "value", method)).lower() == "nearest"


def _size(size: Any) -> Any:
    return size if has_traced(size) else dims(size)


@traceable
def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Pictures in another size, with black bars where shapes differ."""
    size = _number(target_height), _number(target_width)
    made = kinds.resized(
        "resize_with_pad",
        _pixels("resize_with_pad", image),
        _is_nearest(method),
        lambda pixels: engine.resize_with_pad(pixels, *size, method, antialias),
    )
    return _made(made)


def _number(value: Any) -> Any:
    return value if isinstance(value, Traced) else numpy_of(value)


@traceable
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """The middle of pictures, or pictures with black bars."""
    size = target_height, target_width
    return _moved("resize_with_crop_or_pad", image, *size)


def _moved(op: str, image: Any, *given: Any) -> Any:
    """An operation of the engine that moves pixels."""
    call, numbers = getattr(engine, op), [_number(v) for v in given]
    pixels = _pixels(op, image)
    return _made(kinds.moved(op, pixels, lambda some: call(some, *numbers)))


@traceable
def crop_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Any:
    """A part of pictures."""
    window = (offset_height, offset_width, target_height, target_width)
    return _moved("crop_to_bounding_box", image, *window)


@traceable
def pad_to_bounding_box(
    image: Any,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Any:
    """Pictures within a larger black one."""
    window = (offset_height, offset_width, target_height, target_width)
    return _moved("pad_to_bounding_box", image, *window)


@traceable
def central_crop(image: Any, central_fraction: Any) -> Any:
    """The middle of pictures."""
    return _moved("central_crop", image, central_fraction)


def _plain(
    name: str, parameters: str, what: str, of: Any, low: int = 3, high: int = 9
) -> Any:
    """A function of a picture alone, with TensorFlow's names of parameters.

    `of(pixels, call)` calls the engine's for pixels of any dtype.
    """

    def function(image: Any) -> Any:
        pixels, call = _pixels(name, image, low, high), getattr(engine, name)
        return _made(kinds.in_batches(pixels, lambda some: of(some, call)))

    return signed(function, name, parameters, what)


def _mirror(name: str, parameters: str, what: str) -> Any:
    return _plain(name, parameters, what, partial(kinds.mirrored, name), high=4)


def _colours(name: str, parameters: str, what: str) -> Any:
    of = partial(kinds.cast_to_float32, back=True)
    return _plain(name, parameters, what, of, low=1)


def _grey_to_rgb(pixels: Any, call: Any) -> Any:
    return call(pixels) if kinds.native(pixels) else kinds.grey_as_rgb(pixels)


_IMAGE, _IMAGES, _NAMED = "image", "images", "images, name=None"
flip_left_right = _mirror(
    "flip_left_right", _IMAGE, "Pictures mirrored, left and right."
)
flip_up_down = _mirror("flip_up_down", _IMAGE, "Pictures mirrored, top and bottom.")
transpose = _mirror(
    "transpose", "image, name=None", "Pictures with rows and columns exchanged."
)
per_image_standardization = _plain(
    "per_image_standardization",
    _IMAGE,
    "Pictures of mean 0 and deviation 1, each.",
    kinds.cast_to_float32,
)
rgb_to_grayscale = _plain(
    "rgb_to_grayscale", _NAMED, "Pictures in grey.", kinds.in_float32, low=1
)
grayscale_to_rgb = _plain(
    "grayscale_to_rgb",
    _NAMED,
    "Grey pictures with three channels.",
    _grey_to_rgb,
    low=2,
)
rgb_to_hsv = _colours("rgb_to_hsv", _NAMED, "Hue, saturation and value of colours.")
hsv_to_rgb = _colours("hsv_to_rgb", _NAMED, "Colours of hue, saturation and value.")
rgb_to_yuv = _colours(
    "rgb_to_yuv", _IMAGES, "Brightness and colour difference of colours."
)
yuv_to_rgb = _colours(
    "yuv_to_rgb", _IMAGES, "Colours of brightness and colour difference."
)


@traceable
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Pictures turned counter-clockwise by 90 degrees, `k` times."""
    return _moved("rot90", image, k)


@traceable
def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """Pixels in another dtype; floats are between 0 and 1.

    >>> import penstock.tf as tf
    >>> tf.image.convert_image_dtype(tf.constant([255], tf.uint8), tf.float32).numpy()
    array([1.], dtype=float32)
    """
    tensor = convert_to_tensor(image)
    wanted = as_dtype(dtype)
    if as_dtype(tensor.dtype) == wanted:
        return tensor
    pixels = kinds.plain(tensor)
    if not kinds.native(pixels) or not kinds.native(wanted):
        return kinds.converted(tensor, wanted.dtype, bool(saturate))
    rank = len(pixels.shape)
    if not 3 <= rank <= 4:
        # Any shape will do; the engine's operation is one of pictures.
        pixels = pixels.reshape((-1, 1, 1))
    made = engine.convert_image_dtype(pixels, wanted.dtype, bool(saturate))
    if not 3 <= rank <= 4:
        made = made.reshape(tuple(tensor.shape))[()]
    return _made(made)


# --- colours ----------------------------------------------------------------------


def _adjusted(op: str, image: Any, low: int, saturate: bool, *given: Any) -> Any:
    """An operation of the engine on colours between 0 and 1."""
    numbers = [_number(v) for v in given]

    def call(pixels: Any) -> Any:
        return getattr(engine, op)(pixels, *numbers)

    def batch(pixels: Any) -> Any:
        return kinds.in_float32(pixels, call, saturate)

    pixels = _pixels(op, image, low, 9)
    if low < 3 and len(pixels.shape) not in (3, 4):  # each value by itself
        flat = batch(pixels.reshape((-1, 1, 1)))
        return _made(flat.reshape(tuple(pixels.shape))[()])
    return _made(kinds.in_batches(pixels, batch))


@traceable
def adjust_brightness(image: Any, delta: Any) -> Any:
    """Pictures brighter or darker by `delta`, where white is 1."""
    return _adjusted("adjust_brightness", image, 0, True, delta)


@traceable
def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Pictures with more or less contrast."""
    return _adjusted("adjust_contrast", images, 3, True, contrast_factor)


@traceable
def adjust_saturation(image: Any, saturation_factor: Any, name: Any = None) -> Any:
    """Pictures with stronger or weaker colours."""
    return _adjusted("adjust_saturation", image, 3, False, saturation_factor)


@traceable
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """Pictures with colours turned around the wheel by `delta`."""
    return _adjusted("adjust_hue", image, 3, False, delta)


@traceable
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """Pictures as ``gain * image ** gamma``."""
    return _adjusted("adjust_gamma", image, 0, True, gamma, gain)


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: Any = None
) -> Any:
    """Pictures as a JPEG of this quality would show them."""
    eager_only("adjust_jpeg_quality", image, jpeg_quality)
    tensor = convert_to_tensor(image)
    kind = as_dtype(tensor.dtype)
    bytes_ = convert_image_dtype(tensor, uint8, saturate=True)
    data = encode_jpeg(bytes_, quality=int(jpeg_quality))
    made = decode_jpeg(data, channels=int(tensor.shape[-1]), dct_method=dct_method)
    return convert_image_dtype(made, kind, saturate=True)


# --- at random ----------------------------------------------------------------------


def _is_picture(pixels: Any, size: Any) -> bool:
    """Whether a crop leaves the channels of one picture as they are."""
    if pixels.ndim != 3 or has_traced(size):
        return bool(pixels.ndim == 3)
    wanted = dims(size)
    return len(wanted) < 3 or bool(wanted[2] == pixels.shape[2])


def _random_part(name: str, values: Any, size: Any, seed: Any) -> Any:
    """A part of an array of any rank, by TensorFlow's rule."""
    from penstock.tf import random

    eager_only(f"{name} of other than pictures", values, size, seed)
    array = np.asarray(values)
    wanted = np.array(dims(size), np.int32)
    if len(wanted) != array.ndim or (wanted > array.shape).any():
        raise InvalidArgumentError(
            f"{name}: size must have a number for each dimension of the value, none "
            f"of them larger, got {tuple(map(int, wanted))} for {array.shape}"
        )
    room, most = np.array(array.shape, np.int32) - wanted + 1, int32.max
    if seed is None:
        drawn = random.uniform([array.ndim], 0, most, int32)
    else:
        drawn = random.stateless_uniform([array.ndim], seed, 0, most, int32)
    starts = np.asarray(drawn) % room
    return wrap(array[tuple(slice(a, a + n) for a, n in zip(starts, wanted))])


def _random(name: str, parameters: str, what: str) -> Any:
    """`random_x(image, ..., seed)` and `stateless_random_x(image, ..., seed)`."""
    call = getattr(engine, name.removeprefix("stateless_"))
    stateless = name.startswith("stateless_")
    rank = (1, 9) if name.endswith("random_crop") else (3, 4)
    moves = name.endswith("random_crop") or "_flip_" in name

    def function(image: Any, *args: Any) -> Any:
        *given, seed = args
        pixels = _pixels(name, image, *rank)
        if name.endswith("random_crop") and not _is_picture(pixels, given[0]):
            return _random_part(name, pixels, given[0], seed if stateless else None)
        if name.endswith("random_crop") and not kinds.native(pixels):
            given = [tuple(_number(n) for n in given[0])[:2]]
        # A seed of TensorFlow's own names one stream of the program; here the
        # values are keyed to the element by the seed of the pipeline.
        own: dict[str, Any] = {}
        if stateless and seed is None:
            raise TypeError(f"{name}() missing the argument 'seed'")
        if stateless:
            own["seed"] = seed if has_traced(seed) else dims(seed)
        numbers = [_number(v) for v in given]

        def drawn(some: Any) -> Any:
            return call(some, *numbers, **own)

        if moves:
            return _made(kinds.moved(name, pixels, drawn))
        return _made(kinds.in_float32(pixels, drawn, saturate=True))

    return signed(function, name, parameters, what)


_BETWEEN = "image, lower, upper, seed=None"
random_brightness = _random(
    "random_brightness",
    "image, max_delta, seed=None",
    "Brighter or darker by at most `max_delta`.",
)
random_contrast = _random("random_contrast", _BETWEEN, "Contrast between two factors.")
random_flip_left_right = _random(
    "random_flip_left_right", "image, seed=None", "Mirrored or not, left and right."
)
random_flip_up_down = _random(
    "random_flip_up_down", "image, seed=None", "Mirrored or not, top and bottom."
)
random_hue = _random(
    "random_hue",
    "image, max_delta, seed=None",
    "Colours turned by at most `max_delta`.",
)
random_saturation = _random(
    "random_saturation", _BETWEEN, "Colours between two factors."
)
random_crop = _random(
    "random_crop",
    "value, size, seed=None, name=None",
    "A part of the size that is given.",
)
stateless_random_brightness = _random(
    "stateless_random_brightness",
    "image, max_delta, seed",
    "Brighter or darker, by the seed.",
)
stateless_random_contrast = _random(
    "stateless_random_contrast", "image, lower, upper, seed", "Contrast by the seed."
)
stateless_random_flip_left_right = _random(
    "stateless_random_flip_left_right", "image, seed", "Mirrored or not, by the seed."
)
stateless_random_flip_up_down = _random(
    "stateless_random_flip_up_down", "image, seed", "Mirrored or not, by the seed."
)
stateless_random_hue = _random(
    "stateless_random_hue", "image, max_delta, seed", "Colours by the seed."
)
stateless_random_saturation = _random(
    "stateless_random_saturation", _BETWEEN, "Colours by the seed."
)
stateless_random_crop = _random(
    "stateless_random_crop", "value, size, seed, name=None", "A part, by the seed."
)


@traceable
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any = 0,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> Any:
    """(begin, size, box) of a random part that covers enough of a box."""
    return _part_of(
        (image_size, bounding_boxes),
        (min_object_covered, aspect_ratio_range, area_range),
        max_attempts,
        use_image_if_no_bounding_boxes,
        None,
    )


def _part_of(
    given: tuple[Any, Any], limits: Any, attempts: Any, whole: Any, seed: Any
) -> Any:
    """`limits` are the part of a box that is covered, ratios of sides and areas."""
    covered, ratios, areas = limits
    size, boxes = (
        v if has_traced(v) else np.asarray(convert_to_tensor(v)) for v in given
    )
    # Where the part is has the dtype of the size.
    kind = getattr(size, "dtype", np.int32)
    begin, extent, box = engine.sample_distorted_bounding_box(
        size,
        boxes,
        float(covered),
        ratios or (0.75, 1.33),
        areas or (0.05, 1.0),
        int(attempts or 100),
        bool(whole),
        seed=seed,
    )
    return cast(_made(begin), kind), cast(_made(extent), kind), _made(box)


@traceable
def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> Any:
    """(begin, size, box) of a part that covers enough of a box, by the seed.

    >>> import penstock.tf as tf
    >>> boxes = [[[0.0, 0.0, 1.0, 1.0]]]
    >>> one, two = (tf.image.stateless_sample_distorted_bounding_box(
    ...     (40, 30, 3), boxes, seed=(1, 2)) for _ in range(2))
    >>> bool(tf.reduce_all(one[0] == two[0]) and tf.reduce_all(one[1] == two[1]))
    True
    """
    return _part_of(
        (image_size, bounding_boxes),
        (min_object_covered, aspect_ratio_range, area_range),
        max_attempts,
        use_image_if_no_bounding_boxes,
        seed if has_traced(seed) else dims(seed),
    )


def __getattr__(name: str) -> Any:
    return _missing.resolve("image", name)
