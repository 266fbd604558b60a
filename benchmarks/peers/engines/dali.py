"""NVIDIA DALI on the CPU, two threads."""

from __future__ import annotations

import nvidia.dali as nvidia_dali
import rows
from nvidia.dali import fn, pipeline_def, types

VERSION = f"dali {nvidia_dali.__version__}"


@pipeline_def(batch_size=32, num_threads=2, device_id=None, prefetch_queue_depth=2)
def _photos(files):
    jpegs, _ = fn.readers.file(files=files, labels=list(range(len(files))))
    images = fn.decoders.image(jpegs, device="cpu", output_type=types.RGB)
    images = fn.resize(
        images, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=False
    )
    return fn.cast(images, dtype=types.FLOAT) / 255.0


@pipeline_def(batch_size=32, num_threads=2, device_id=None, prefetch_queue_depth=2)
def _augmented(files):
    jpegs, _ = fn.readers.file(files=files, labels=list(range(len(files))))
    images = fn.decoders.image_random_crop(
        jpegs, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
    )
    images = fn.resize(
        images, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=False
    )
    return fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(),
        mean=rows.MEAN.tolist(),
        std=rows.STD.tolist(),
        output_layout="HWC",
    )


_built = {}


def _run(make):
    def run(config, row):
        files = config.photos(row)
        if row not in _built:  # building is not what is measured
            _built[row] = make(files=files)
            _built[row].build()
        for _ in range(len(files) // 32):
            (images,) = _built[row].run()
            yield images.as_array()

    return run


ROWS = {"P3": _run(_photos), "P3r": _run(_augmented)}
