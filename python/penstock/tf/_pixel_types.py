"""Pictures of dtypes and ranks that `penstock.image` has not, by what it has.

The engine's operations are of uint8, uint16, float16 and float32, of one picture
or a batch. TensorFlow moves pixels of any dtype, and computes others in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._trace_errors import refuse
from penstock._trace_value import Traced
from penstock.tf._apply import apply
from penstock.tf._making import cast, saturate_cast
from penstock.tf._values import convert_to_tensor

Call = Callable[[Any], Any]
_ENGINE = tuple(map(np.dtype, (np.uint8, np.uint16, np.float16, np.float32)))
_SAME_SIZE = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


def native(pixels: Any) -> bool:
    """Whether the engine has pictures of this dtype."""
    return pixels.dtype in _ENGINE


def plain(value: Any) -> Any:
    """NumPy's array of a tensor; a traced one as it is."""
    return value if isinstance(value, Traced) else np.asarray(value)


def moved(op: str, pixels: Any, call: Call) -> Any:
    """`call`, which only moves pixels, of any dtype: by the bits of its values."""
    dtype = pixels.dtype
    if native(pixels):
        return call(pixels)
    if dtype.kind in "bi" and dtype.itemsize in _SAME_SIZE:
        return call(pixels.astype(_SAME_SIZE[dtype.itemsize])).astype(dtype)
    if isinstance(pixels, Traced):
        refuse(f"{op} of {dtype} has no native form")
    if dtype.hasobject or dtype.itemsize % 2:
        return call(pixels)
    halves = np.ascontiguousarray(pixels).view(np.uint16)
    return np.ascontiguousarray(call(halves)).view(dtype)


def mirrored(op: str, pixels: Any, call: Call) -> Any:
    """flip_left_right, flip_up_down and transpose: by slices where traced."""
    if native(pixels) or not isinstance(pixels, Traced):
        return moved(op, pixels, call)
    if op == "transpose":
        return pixels.swapaxes(-3, -2)
    return pixels[..., ::-1, :] if op == "flip_left_right" else pixels[..., ::-1, :, :]


def resized(op: str, pixels: Any, nearest: bool, call: Call) -> Any:
    """`call`, which makes other sizes: float32 unless it takes nearest pixels."""
    if nearest:
        return moved(op, pixels, call)
    if pixels.dtype.kind == "i" or pixels.dtype == np.float64:
        pixels = pixels.astype(np.float32)
    return call(pixels)


def in_float32(pixels: Any, call: Call, saturate: bool = False) -> Any:
    """`call`, of colours between 0 and 1, for any number's dtype."""
    dtype = pixels.dtype
    if native(pixels) or dtype.kind not in "iuf":
        return call(pixels)
    made = call(plain(converted(pixels, np.dtype(np.float32), False)))
    return plain(converted(convert_to_tensor(made), dtype, saturate))


def cast_to_float32(pixels: Any, call: Call, back: bool = False) -> Any:
    """`call` of the same numbers as float32."""
    dtype = pixels.dtype
    if native(pixels) or dtype.kind not in ("biuf" if not back else "f"):
        return call(pixels)
    made = call(pixels.astype(np.float32))
    return made.astype(dtype) if back else made


def in_batches(pixels: Any, call: Call) -> Any:
    """`call` of pictures of any rank: as a batch, or as one row of pixels."""
    shape = tuple(pixels.shape)
    if len(shape) in (3, 4):
        return call(pixels)
    if None in shape:
        refuse("a picture of other than 3 or 4 dimensions has no known shape")
    if len(shape) > 4:
        made = call(pixels.reshape((-1, *shape[-3:])))
        return made.reshape((*shape[:-3], *made.shape[-3:]))
    made = call(pixels.reshape((1, -1, shape[-1] if shape else 1)))
    return made.reshape((*shape[:-1], made.shape[-1]))


def converted(tensor: Any, dtype: np.dtype[Any], saturate: bool) -> Any:
    """convert_image_dtype, by TensorFlow's rules."""
    made = saturate_cast if saturate else cast
    given = tensor.dtype
    if given == dtype:
        return tensor
    if given.kind == "f" and dtype.kind == "f":
        return made(tensor, dtype)
    if dtype.kind == "f":
        return apply("multiply", cast(tensor, dtype), dtype.type(1 / _most(given)))
    if given.kind == "f":
        # The half avoids that 1 becomes the number below the largest.
        return made(apply("multiply", tensor, given.type(_most(dtype) + 0.5)), dtype)
    down = (_most(given) + 1) // (_most(dtype) + 1)
    if _most(given) > _most(dtype):
        return made(apply("floor_divide", tensor, given.type(down)), dtype)
    up = (_most(dtype) + 1) // (_most(given) + 1)
    return apply("multiply", made(tensor, dtype), dtype.type(up))


def _most(dtype: np.dtype[Any]) -> int:
    return int(np.iinfo(dtype).max)


def grey_as_rgb(pixels: Any) -> Any:
    """Three channels of the one that is there."""
    return plain(apply("concatenate", [pixels, pixels, pixels], -1))
