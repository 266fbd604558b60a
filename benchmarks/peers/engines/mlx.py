"""mlx-data with two threads."""

from __future__ import annotations

import importlib.metadata

import mlx.data as dx
import numpy as np
import rows

VERSION = f"mlx-data {importlib.metadata.version('mlx-data')}"


def increment(config, row):
    items = [{"x": i} for i in range(config.size(row))]
    stream = dx.buffer_from_vector(items).key_transform("x", lambda x: x + 1)
    stream = stream.to_stream()
    if row == "P1":
        stream = stream.batch(1024)
    for sample in stream.prefetch(2, 2):
        yield sample["x"]


def _images(config, row):
    items = [{"image": name.encode()} for name in config.photos(row)]
    return dx.buffer_from_vector(items).to_stream().load_image("image", "")


def photos(config, row):
    stream = _images(config, row).image_resize("image", 224, 224)
    stream = stream.key_transform("image", lambda x: x.astype(np.float32) / 255.0)
    for sample in stream.batch(32).prefetch(4, 2):
        yield sample["image"]


def augmented(config, row):
    stream = _images(config, row)
    stream = stream.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
    stream = stream.image_resize("image", 224, 224).image_random_h_flip("image", 0.5)
    stream = stream.key_transform(
        "image", lambda x: (x.astype(np.float32) - rows.MEAN) / rows.STD
    )
    for sample in stream.batch(32).prefetch(4, 2):
        yield sample["image"]


ROWS = {"P1": increment, "P2": increment, "P3": photos, "P3r": augmented}
