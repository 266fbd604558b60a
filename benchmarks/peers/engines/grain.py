"""Grain with its threads; two processes for the CPU-bound function."""

from __future__ import annotations

import time

import grain as google_grain
import rows

from engines import _pictures

VERSION = f"grain {getattr(google_grain, '__version__', '')}".strip()
_THREADS = google_grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)


def _increment(x):
    return x + 1


def _sleep(x):
    time.sleep(0.1)
    return x


def increment(config, row):
    ds = google_grain.MapDataset.range(config.size(row)).map(_increment)
    return (ds.batch(1024) if row == "P1" else ds).to_iter_dataset()


def _pictures_of(fn):
    def run(config, row):
        ds = google_grain.MapDataset.source(config.photos(row)).map(fn).batch(32)
        return ds.to_iter_dataset(_THREADS)

    return run


def burn(config, row):
    ds = google_grain.MapDataset.range(config.size(row)).map(rows.burn)
    return ds.to_iter_dataset(_THREADS)


def nap(config, row):
    ds = google_grain.MapDataset.range(config.size(row)).map(_sleep)
    return ds.to_iter_dataset()


ROWS = {
    "P1": increment, "P2": increment, "P3": _pictures_of(_pictures.plain),
    "P3r": _pictures_of(_pictures.augmented), "P6": burn, "P7": nap,
}  # fmt: skip
