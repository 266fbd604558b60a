"""Penstock, without any setting where the row does not ask for one."""

from __future__ import annotations

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


def increment(config, row, n):
    """no setting"""
    ds = ps.Dataset.range(n)
    if row == "P1b":
        return ds.batch(1024).map(lambda x: x + 1)
    ds = ds.map(lambda x: x + 1)
    return ds.batch(1024) if row == "P1" else ds


def photos(config, row, n):
    """its own decoder, no setting"""

    def load(path):
        image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
        return ps.image.resize(image, (224, 224)) / 255.0

    return ps.Dataset.from_tensor_slices(config.photos(n)).map(load).batch(32)


def augmented(config, row, n):
    """its own decoder, no setting"""
    mean, std = rows.MEAN.tolist(), rows.STD.tolist()

    def load(path):
        image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
        image = ps.image.random_resized_crop(image, (224, 224))
        image = ps.image.random_flip_left_right(image)
        return ps.image.normalize(image, mean, std)

    return ps.Dataset.from_tensor_slices(config.photos(n)).map(load).batch(32)


def records(config, row, n):
    """checksums, bytes objects, no setting"""
    return ps.Dataset.tfrecord(config.records(row)).batch(rows.ROWS[row].batch)


def examples(config, row, n):
    """checksums, no setting"""
    ds = ps.Dataset.tfrecord(config.records(row))
    if row == "P5s":
        ds = ds.map(lambda r: ps.io.parse_single_example(r, _FEATURES))
        return ds.ragged_batch(256)
    return ds.batch(256).map(lambda r: ps.io.parse_example(r, _FEATURES))


def _example(batch):
    ids = batch["ids"]
    lengths = np.diff(ids.row_splits)
    return batch["label"], batch["vec"], batch["name"], ids.values, lengths


def burn(config, row, n):
    """no setting (it moves to processes by itself)"""
    return ps.Dataset.range(n).map(rows.burn)


def arrays(config, row, n):
    """executor="process" """
    ds = ps.Dataset.range(n).map(rows.mebibyte, executor="process")
    return ds.batch(8) if row == "P6c" else ds


def nap(config, row, n):
    """no setting"""
    return ps.Dataset.range(n).map(rows.sleep)


def nap_wide(config, row, n):
    """num_parallel_calls=16"""
    return ps.Dataset.range(n).map(rows.sleep, num_parallel_calls=16)


def uneven(config, row, n):
    """no setting"""
    return ps.Dataset.range(n).map(rows.uneven, deterministic=row == "P8")


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": augmented, "P4-100": records, "P4-1000": records,
    "P4-100000": records, "P5": examples, "P5s": examples, "P6": burn,
    "P6b": arrays, "P6c": arrays, "P7": nap, "P7w": nap_wide, "P8": uneven,
    "P8u": uneven,
}  # fmt: skip
CANONICAL = {"P5": _example, "P5s": _example}
