"""torch's DataLoader with two workers; pictures by libjpeg-turbo and OpenCV."""

from __future__ import annotations

import time

import numpy as np
import rows
import torch as pytorch
from torch.utils.data import DataLoader, Dataset

from engines import _pictures

VERSION = f"torch {pytorch.__version__}"
pytorch.set_num_threads(1)


class Mapped(Dataset):
    def __init__(self, items, fn):
        self.items, self.fn = items, fn

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.fn(self.items[i])


def _stack(batch):
    return np.stack(batch)


def _loader(items, fn, batch_size, collate=None):
    return DataLoader(
        Mapped(items, fn), batch_size=batch_size, num_workers=2, collate_fn=collate
    )


def _increment(x):
    return x + 1


def _sleep(x):
    time.sleep(0.1)
    return x


def increment(config, row):
    items = range(config.size(row))
    # Without workers: for a function this cheap they only cost.
    batch_size = 1024 if row == "P1" else None
    return DataLoader(Mapped(items, _increment), batch_size=batch_size)


def photos(config, row):
    return _loader(config.photos(row), _pictures.plain, 32, _stack)


def augmented(config, row):
    return _loader(config.photos(row), _pictures.augmented, 32, _stack)


def burn(config, row):
    return _loader(range(config.size(row)), rows.burn, None)


def nap(config, row):
    return _loader(range(config.size(row)), _sleep, None)


ROWS = {
    "P1": increment, "P2": increment, "P3": photos, "P3r": augmented,
    "P6": burn, "P7": nap,
}  # fmt: skip
