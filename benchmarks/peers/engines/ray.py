"""Ray Data on two CPUs; pictures by libjpeg-turbo and OpenCV."""

from __future__ import annotations

import logging

import numpy as np
import ray as anyscale_ray
import rows

from engines import _pictures

VERSION = f"ray {anyscale_ray.__version__}"
anyscale_ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR)
_context = anyscale_ray.data.DataContext.get_current()
_context.enable_progress_bars = False
_context.execution_options.preserve_order = True


def _batches(ds, size, key="id"):
    return (batch[key] for batch in ds.iter_batches(batch_size=size))


def increment(config, row, n):
    """2 CPUs"""
    ds = anyscale_ray.data.range(n)
    if row == "P1b":
        ds = ds.map_batches(lambda b: {"id": b["id"] + 1}, batch_size=1024)
    else:
        ds = ds.map(lambda r: {"id": r["id"] + 1})
    return _batches(ds, 1 if row == "P2" else 1024)


def photos(config, row, n):
    """2 CPUs, libjpeg-turbo, OpenCV"""
    fn = _pictures.of_row(row)
    files = [{"path": p} for p in config.photos(n)]
    ds = anyscale_ray.data.from_items(files, override_num_blocks=8)
    ds = ds.map(lambda item: {"image": fn(item["path"])})
    return _batches(ds, 32, "image")


def _calls(fn, n, blocks, cpus=1.0):
    ds = anyscale_ray.data.range(n, override_num_blocks=blocks)
    return ds.map(lambda r: {"id": fn(r["id"])}, num_cpus=cpus)


def burn(config, row, n):
    """2 CPUs"""
    return (item["id"] for item in _calls(rows.burn, n, 8).iter_rows())


def arrays(config, row, n):
    """2 CPUs"""
    ds = _calls(rows.mebibyte, n, 8)
    if row == "P6c":
        return _batches(ds, 8)
    return (item["id"] for item in ds.iter_rows())


def nap(config, row, n):
    """2 CPUs"""
    return (item["id"] for item in _calls(rows.sleep, n, 8).iter_rows())


def nap_wide(config, row, n):
    """16 tasks of an eighth of a CPU"""
    ds = _calls(rows.sleep, n, 16, 0.125)
    return (item["id"] for item in ds.iter_rows())


def uneven(config, row, n):
    """2 CPUs"""
    return (item["id"] for item in _calls(rows.uneven, n, 8).iter_rows())


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": photos, "P6": burn, "P6b": arrays, "P6c": arrays, "P7": nap,
    "P7w": nap_wide, "P8": uneven,
}  # fmt: skip
CANONICAL = {"P3": np.asarray, "P3r": np.asarray}
