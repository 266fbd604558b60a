"""SPDL's pipeline, results in order."""

from __future__ import annotations

import concurrent.futures
import importlib.metadata
import multiprocessing

import numpy as np
import rows
from spdl.pipeline import PipelineBuilder

from engines import _pictures

VERSION = f"spdl {importlib.metadata.version('spdl')}"


def _run(source, fn, width, batch=None, order="input", processes=False):
    executor = None
    if processes:
        executor = concurrent.futures.ProcessPoolExecutor(
            width, multiprocessing.get_context("forkserver")
        )
    builder = PipelineBuilder().add_source(source)
    builder = builder.pipe(fn, concurrency=width, output_order=order, executor=executor)
    if batch:
        builder = builder.aggregate(batch).pipe(np.stack)
    pipeline = builder.add_sink(3).build(num_threads=width + 1)

    def items():
        with pipeline.auto_stop():
            yield from pipeline
        if executor is not None:
            executor.shutdown()

    return items()


def increment(config, row, n):
    """2 threads"""
    if row == "P1b":
        source = (np.arange(i, i + 1024) for i in range(0, n, 1024))
        return _run(source, rows.increment, 2)
    return _run(range(n), rows.increment, 2, 1024 if row == "P1" else None)


def photos(config, row, n):
    """2 threads, libjpeg-turbo, OpenCV"""
    return _run(config.photos(n), _pictures.of_row(row), 2, 32)


def burn(config, row, n):
    """2 processes (ProcessPoolExecutor)"""
    return _run(range(n), rows.burn, 2, processes=True)


def arrays(config, row, n):
    """2 processes (ProcessPoolExecutor)"""
    batch = 8 if row == "P6c" else None
    return _run(range(n), rows.mebibyte, 2, batch, processes=True)


def nap(config, row, n):
    """2 threads"""
    return _run(range(n), rows.sleep, 2)


def nap_wide(config, row, n):
    """16 threads"""
    return _run(range(n), rows.sleep, 16)


def uneven(config, row, n):
    """2 threads, output_order as the row says"""
    order = "input" if row == "P8" else "completion"
    return _run(range(n), rows.uneven, 2, order=order)


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": photos, "P6": burn, "P6b": arrays, "P6c": arrays, "P7": nap,
    "P7w": nap_wide, "P8": uneven, "P8u": uneven,
}  # fmt: skip
