"""NVIDIA DALI on the CPU, two threads. Each run builds its pipeline anew."""

from __future__ import annotations

import functools
import os
import struct

import numpy as np
import nvidia.dali as nvidia_dali
import nvidia.dali.tfrecord as tfrec
import rows
from nvidia.dali import fn, pipeline_def, types

VERSION = f"dali {nvidia_dali.__version__}"
_pipeline = functools.partial(
    pipeline_def, num_threads=2, device_id=None, prefetch_queue_depth=2
)


def _load(files, decode):
    jpegs, _ = fn.readers.file(files=files, labels=list(range(len(files))))
    return fn.resize(
        decode(jpegs, device="cpu", output_type=types.RGB),
        size=[224, 224],
        interp_type=types.INTERP_LINEAR,
        antialias=False,
    )


@_pipeline(batch_size=32)
def _photos(files):
    return fn.crop_mirror_normalize(
        _load(files, fn.decoders.image),
        mean=[0.0] * 3,
        std=[255.0] * 3,
        output_layout="HWC",
    )


@_pipeline(batch_size=32)
def _augmented(files):
    decode = functools.partial(
        fn.decoders.image_random_crop,
        random_area=[0.08, 1.0],
        random_aspect_ratio=[3 / 4, 4 / 3],
    )
    return fn.crop_mirror_normalize(
        _load(files, decode),
        mirror=fn.random.coin_flip(),
        mean=rows.MEAN.tolist(),
        std=rows.STD.tolist(),
        output_layout="HWC",
    )


@_pipeline(batch_size=256)
def _examples(path, index):
    features = {
        "label": tfrec.FixedLenFeature((), tfrec.int64, -1),
        "vec": tfrec.FixedLenFeature((64,), tfrec.float32, 0.0),
        "name": tfrec.FixedLenFeature((), tfrec.string, ""),
        "ids": tfrec.VarLenFeature([], tfrec.int64, -1),
    }
    out = fn.readers.tfrecord(path=path, index_path=index, features=features)
    return out["label"], out["vec"], out["name"], out["ids"]


def photos(config, row, n):
    """its own decoder, 2 threads"""
    pipeline = (_photos if row == "P3" else _augmented)(files=config.photos(n))
    pipeline.build()
    return (pipeline.run()[0].as_array() for _ in range(n // 32))


def examples(config, row, n):
    """readers.tfrecord with an index, 2 threads; does not check checksums"""
    path = config.records(row)
    pipeline = _examples(path=path, index=_index(path))
    pipeline.build()
    return (pipeline.run() for _ in range(n // 256))


def _index(path):
    """Offsets and lengths of the records, as the reader wants them."""
    index = f"{path}.idx"
    if not os.path.exists(index):
        offset, size = 0, os.path.getsize(path)
        with open(path, "rb") as data, open(index, "w") as file:
            while offset < size:
                data.seek(offset)
                length = 16 + struct.unpack("<Q", data.read(8))[0]
                file.write(f"{offset} {length}\n")
                offset += length
    return index


def _example(batch):
    labels, vectors, names, ids = batch
    rows_of_ids = [np.asarray(row) for row in ids]
    return (np.ravel(labels.as_array()), vectors.as_array(),
            [np.asarray(name).tobytes() for name in names],
            np.concatenate(rows_of_ids), [len(row) for row in rows_of_ids])  # fmt: skip


ROWS = {"P3": photos, "P3r": photos, "P5": examples}
CANONICAL = {"P5": _example}
