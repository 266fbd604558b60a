"""SPDL's pipeline: two threads, 16 for what sleeps, results in order."""

from __future__ import annotations

import importlib.metadata
import time

import numpy as np
import rows
from spdl.pipeline import PipelineBuilder

from engines import _pictures

VERSION = f"spdl {importlib.metadata.version('spdl')}"


def _increment(x):
    return x + 1


def _sleep(x):
    time.sleep(0.1)
    return x


def _run(source, fn, width, batch=None):
    builder = PipelineBuilder().add_source(source)
    builder = builder.pipe(fn, concurrency=width, output_order="input")
    if batch:
        builder = builder.aggregate(batch).pipe(np.stack)
    pipeline = builder.add_sink(3).build(num_threads=width + 1)
    with pipeline.auto_stop():
        yield from pipeline


def increment(config, row):
    batch = 1024 if row == "P1" else None
    return _run(range(config.size(row)), _increment, 2, batch)


def photos(config, row):
    return _run(config.photos(row), _pictures.plain, 2, 32)


def augmented(config, row):
    return _run(config.photos(row), _pictures.augmented, 2, 32)


def burn(config, row):
    return _run(range(config.size(row)), rows.burn, 2)


def nap(config, row):
    return _run(range(config.size(row)), _sleep, 16)


ROWS = {
    "P1": increment, "P2": increment, "P3": photos, "P3r": augmented,
    "P6": burn, "P7": nap,
}  # fmt: skip
