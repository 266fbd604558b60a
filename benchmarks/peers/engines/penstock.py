"""Penstock, without any setting."""

from __future__ import annotations

import time

import numpy as np
import rows

import penstock as ps

VERSION = f"penstock {ps.__version__}"

_FEATURES = {
    "label": ps.io.FixedLenFeature([], ps.int64),
    "vec": ps.io.FixedLenFeature([64], ps.float32),
    "name": ps.io.FixedLenFeature([], ps.string),
    "ids": ps.io.VarLenFeature(ps.int64),
}


def increment(config, row):
    ds = ps.Dataset.range(config.size(row)).map(lambda x: x + 1)
    return ds.batch(1024) if row == "P1" else ds


def photos(config, row):
    def load(path):
        image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
        return ps.image.resize(image, (224, 224)) / 255.0

    return ps.Dataset.from_tensor_slices(config.photos(row)).map(load).batch(32)


def augmented(config, row):
    def load(path):
        image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
        image = ps.image.random_resized_crop(image, (224, 224))
        image = ps.image.random_flip_left_right(image)
        return ps.image.normalize(image, rows.MEAN.tolist(), rows.STD.tolist())

    return ps.Dataset.from_tensor_slices(config.photos(row)).map(load).batch(32)


def records(config, row):
    return ps.Dataset.tfrecord(config.records(row)).batch(1024)


def examples(config, row):
    ds = ps.Dataset.tfrecord(config.records(row)).batch(256)
    for batch in ds.map(lambda r: ps.io.parse_example(r, _FEATURES)):
        yield batch["label"], batch["vec"], _count(batch["ids"])


def _count(ids):
    return len(ids.values)


def burn(config, row):
    return ps.Dataset.range(config.size(row)).map(rows.burn)


def nap(config, row):
    def sleep(x):
        time.sleep(0.1)
        return np.int64(x)

    return ps.Dataset.range(config.size(row)).map(sleep)


ROWS = {
    "P1": increment, "P2": increment, "P3": photos, "P3r": augmented,
    "P4-100": records, "P4-1000": records, "P4-100000": records,
    "P5": examples, "P6": burn, "P7": nap,
}  # fmt: skip
