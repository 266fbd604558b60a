"""Grain: its threads, and its processes where the row is about processes."""

from __future__ import annotations

import grain as google_grain
import rows

from engines import _pictures

VERSION = f"grain {google_grain.__version__}"
_TWO = google_grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)


def increment(config, row, n):
    """16 threads (its default)"""
    ds = google_grain.MapDataset.range(n)
    if row == "P1b":
        return ds.batch(1024).map(rows.increment).to_iter_dataset()
    ds = ds.map(rows.increment)
    return (ds.batch(1024) if row == "P1" else ds).to_iter_dataset()


def photos(config, row, n):
    """2 threads, libjpeg-turbo, OpenCV"""
    ds = google_grain.MapDataset.source(config.photos(n)).map(_pictures.of_row(row))
    return ds.batch(32).to_iter_dataset(_TWO)


def records(config, row, n):
    """TFRecordIterDataset, which does not check checksums"""
    ds = google_grain.experimental.TFRecordIterDataset(config.records(row))
    return ds.batch(rows.ROWS[row].batch, batch_fn=list)


def burn(config, row, n):
    """2 threads (its processes take longer to start than they win here)"""
    ds = google_grain.MapDataset.range(n).map(rows.burn)
    return ds.to_iter_dataset(_TWO)


def arrays(config, row, n):
    """2 processes"""
    ds = google_grain.MapDataset.range(n).map(rows.mebibyte)
    if row == "P6c":
        ds = ds.batch(8)
    options = google_grain.ReadOptions(num_threads=1, prefetch_buffer_size=8)
    processes = google_grain.multiprocessing.MultiprocessingOptions(num_workers=2)
    return ds.to_iter_dataset(options).mp_prefetch(processes)


def nap(config, row, n):
    """16 threads (its default)"""
    return google_grain.MapDataset.range(n).map(rows.sleep).to_iter_dataset()


def uneven(config, row, n):
    """2 threads"""
    return google_grain.MapDataset.range(n).map(rows.uneven).to_iter_dataset(_TWO)


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": photos, "P4-100": records, "P4-1000": records,
    "P4-100000": records, "P6": burn, "P6b": arrays, "P6c": arrays,
    "P7": nap, "P7w": nap, "P8": uneven,
}  # fmt: skip
