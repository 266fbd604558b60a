"""torch's DataLoader; pictures by libjpeg-turbo and OpenCV."""

from __future__ import annotations

import rows
import torch as pytorch
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler

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


class Batches(Dataset):
    """Whole batches by their numbers."""

    def __getitem__(self, numbers):
        return pytorch.as_tensor(numbers) + 1


def increment(config, row, n):
    """no workers (for so cheap a function they only cost)"""
    if row == "P1b":
        sampler = BatchSampler(SequentialSampler(range(n)), 1024, False)
        return DataLoader(Batches(), sampler=sampler, batch_size=None)
    batch_size = 1024 if row == "P1" else None
    return DataLoader(Mapped(range(n), rows.increment), batch_size=batch_size)


def photos(config, row, n):
    """2 workers, libjpeg-turbo, OpenCV"""
    data = Mapped(config.photos(n), _pictures.of_row(row))
    return DataLoader(data, batch_size=32, num_workers=2)


def burn(config, row, n):
    """2 workers"""
    return DataLoader(Mapped(range(n), rows.burn), batch_size=None, num_workers=2)


def arrays(config, row, n):
    """2 workers"""
    batch_size = 8 if row == "P6c" else None
    data = Mapped(range(n), rows.mebibyte)
    return DataLoader(data, batch_size=batch_size, num_workers=2)


def nap(config, row, n):
    """2 workers"""
    return DataLoader(Mapped(range(n), rows.sleep), batch_size=None, num_workers=2)


def nap_wide(config, row, n):
    """16 workers"""
    return DataLoader(Mapped(range(n), rows.sleep), batch_size=None, num_workers=16)


def uneven(config, row, n):
    """2 workers, in_order as the row says"""
    data = Mapped(range(n), rows.uneven)
    return DataLoader(data, batch_size=None, num_workers=2, in_order=row == "P8")


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": photos, "P6": burn, "P6b": arrays, "P6c": arrays, "P7": nap,
    "P7w": nap_wide, "P8": uneven, "P8u": uneven,
}  # fmt: skip
