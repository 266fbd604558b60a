"""Ray Data on two CPUs; pictures by libjpeg-turbo and OpenCV."""

from __future__ import annotations

import logging
import time

import numpy as np
import ray as anyscale_ray
import rows

from engines import _pictures

VERSION = f"ray {anyscale_ray.__version__}"
anyscale_ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR)
anyscale_ray.data.DataContext.get_current().enable_progress_bars = False
anyscale_ray.data.DataContext.get_current().execution_options.preserve_order = True


def increment(config, row):
    ds = anyscale_ray.data.range(config.size(row))
    ds = ds.map_batches(lambda b: {"id": b["id"] + 1})
    for batch in ds.iter_batches(batch_size=1024 if row == "P1" else 1):
        yield batch["id"]


def _pictures_of(fn):
    def run(config, row):
        files = [{"path": p} for p in config.photos(row)]
        ds = anyscale_ray.data.from_items(files)
        ds = ds.map(lambda item: {"image": fn(item["path"])})
        for batch in ds.iter_batches(batch_size=32):
            yield np.asarray(batch["image"])

    return run


def _calls(fn):
    def run(config, row):
        ds = anyscale_ray.data.range(config.size(row))
        for item in ds.map(lambda r: {"id": fn(r["id"])}).iter_rows():
            yield item["id"]

    return run


def _sleep(x):
    time.sleep(0.1)
    return x


ROWS = {
    "P1": increment, "P2": increment, "P3": _pictures_of(_pictures.plain),
    "P3r": _pictures_of(_pictures.augmented), "P6": _calls(rows.burn),
    "P7": _calls(_sleep),
}  # fmt: skip
