"""Pictures: decoding, sizes, colours, augmentation, with TensorFlow's numbers.

The functions are native inside a traced function, and work on bytes and NumPy
arrays anywhere else. Pictures are [height, width, channels] or batches of
them, of uint8, uint16, float16 or float32.

>>> import numpy as np, penstock as ps
>>> def prepare(image):
...     return ps.image.normalize(ps.image.resize(image, (2, 2)), 7.0, 2.0)
>>> pictures = np.full((3, 4, 4, 1), 9, np.uint8)
>>> next(iter(ps.Dataset.from_tensor_slices(pictures).map(prepare))).ravel()
array([1., 1., 1., 1.], dtype=float32)
"""

from penstock.image._augment import (
    color_jitter,
    cutmix,
    mixup,
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    random_gamma,
    random_hue,
    random_resized_crop,
    random_saturation,
    sample_distorted_bounding_box,
)
from penstock.image._codecs import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
    encode_jpeg,
    encode_png,
    encode_webp,
    extract_jpeg_shape,
)
from penstock.image._color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    grayscale_to_rgb,
    hsv_to_rgb,
    normalize,
    per_image_standardization,
    rgb_to_grayscale,
    rgb_to_hsv,
    rgb_to_yuv,
    yuv_to_rgb,
)
from penstock.image._geometry import (
    central_crop,
    convert_image_dtype,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    hwc_to_chw,
    pad_to_bounding_box,
    resize,
    resize_with_crop_or_pad,
    resize_with_pad,
    rot90,
    rotate,
    transpose,
)

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "color_jitter",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "cutmix",
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
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "hwc_to_chw",
    "mixup",
    "normalize",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_gamma",
    "random_hue",
    "random_resized_crop",
    "random_saturation",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yuv",
    "rot90",
    "rotate",
    "sample_distorted_bounding_box",
    "transpose",
    "yuv_to_rgb",
]
