"""mlx-data: its decoders, Python functions by key_transform, in order."""

from __future__ import annotations

import importlib.metadata

import mlx.data as dx
import numpy as np
import rows

VERSION = f"mlx-data {importlib.metadata.version('mlx-data')}"


def _values(samples, key):
    return (sample[key] for sample in samples)


def increment(config, row, n):
    """2 threads (ordered_prefetch)"""
    if row == "P1b":
        starts = range(0, n, 1024)
        items = [{"x": np.arange(i, i + 1024)} for i in starts]
    else:
        items = [{"x": i} for i in range(n)]
    buffer = dx.buffer_from_vector(items).key_transform("x", rows.increment)
    if row == "P1":
        buffer = buffer.batch(1024)
    return _values(buffer.ordered_prefetch(4, 2), "x")


def _images(config, n):
    items = [{"image": name.encode()} for name in config.photos(n)]
    return dx.buffer_from_vector(items).load_image("image", "")


def photos(config, row, n):
    """its own decoder, 2 threads"""
    images = _images(config, n).image_resize("image", 224, 224)
    images = images.key_transform("image", lambda x: x.astype(np.float32) / 255.0)
    return _values(images.batch(32).ordered_prefetch(4, 2), "image")


def augmented(config, row, n):
    """its own decoder, 2 threads"""
    images = _images(config, n)
    images = images.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
    images = images.image_resize("image", 224, 224).image_random_h_flip("image", 0.5)
    images = images.key_transform(
        "image", lambda x: (x.astype(np.float32) - rows.MEAN) / rows.STD
    )
    return _values(images.batch(32).ordered_prefetch(4, 2), "image")


def _calls(fn, n, width):
    items = dx.buffer_from_vector([{"x": i} for i in range(n)])
    calls = items.key_transform("x", lambda x: np.asarray(fn(x)))
    return _values(calls.ordered_prefetch(width, width), "x")


def burn(config, row, n):
    """2 threads"""
    return _calls(rows.burn, n, 2)


def nap(config, row, n):
    """2 threads"""
    return _calls(rows.sleep, n, 2)


def nap_wide(config, row, n):
    """16 threads"""
    return _calls(rows.sleep, n, 16)


def uneven(config, row, n):
    """2 threads"""
    return _calls(rows.uneven, n, 2)


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": augmented, "P6": burn, "P7": nap, "P7w": nap_wide, "P8": uneven,
}  # fmt: skip
