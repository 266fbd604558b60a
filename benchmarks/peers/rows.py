"""What is measured: sizes, and how outputs are compared."""

import dataclasses
import hashlib

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """`elements` at scale 1; `compare` is how outputs must agree."""

    title: str
    unit: str
    elements: int
    compare: str  # "ints", "images", "shapes", "bytes", "example"


ROWS = {
    "P1": Row("range -> map(x+1) -> batch(1024)", "elements", 1024 * 200, "ints"),
    "P2": Row("range -> map(x+1), one by one", "elements", 20_000, "ints"),
    "P3": Row("JPEG -> resize 224 -> batch(32)", "images", 384, "images"),
    "P3r": Row("JPEG -> random crop, flip, normalise", "images", 384, "shapes"),
    "P4-100": Row("TFRecord of 100 B, checked", "records", 200_000, "bytes"),
    "P4-1000": Row("TFRecord of 1 kB, checked", "records", 50_000, "bytes"),
    "P4-100000": Row("TFRecord of 100 kB, checked", "records", 1_000, "bytes"),
    "P5": Row("Example -> parsed -> batch(256)", "examples", 20_480, "example"),
    "P6": Row("CPU-bound Python function", "calls", 60, "ints"),
    "P7": Row("calls that sleep 0.1 s", "calls", 100, "ints"),
}

MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
STD = np.array([0.229, 0.224, 0.225], np.float32) * 255


def size(row, scale):
    """Elements of a row: whole batches of it."""
    unit = {"P1": 1024, "P3": 32, "P3r": 32, "P5": 256}.get(row, 1)
    most = 0 if row in ("P6", "P7") else 1
    wanted = int(ROWS[row].elements * (scale if most else max(scale, 0.2)))
    return max(unit, wanted // unit * unit)


def burn(x):
    """The CPU-bound function of P6: about 10 ms of Python."""
    total = 0
    for i in range(200_000):
        total += i * int(x)
    return np.int64(total & 0xFFFF)


class Digest:
    """What an engine gave, so that it can be compared."""

    def __init__(self, compare):
        self.compare = compare
        self.count = 0
        self._hash = hashlib.sha256()
        self._numbers = []
        self._sums = np.zeros(3)

    def add(self, batch):
        """One element or batch; gives how many elements it is."""
        if self.compare == "ints":
            values = np.atleast_1d(np.asarray(batch, np.int64))
            self._hash.update(values.tobytes())
            n = len(values)
        elif self.compare == "bytes":
            n = len(batch)
            for record in batch:
                self._hash.update(bytes(record))
        elif self.compare == "example":
            labels, vectors, ids = batch
            n = len(labels)
            self._sums += [np.sum(labels), np.sum(vectors, dtype=np.float64), ids]
        else:
            images = np.asarray(batch)
            n = len(images)
            if images.shape[1:] != (224, 224, 3):
                raise ValueError(f"images of {images.shape[1:]}")
            if self.compare == "images" and len(self._numbers) < 64:
                blocks = images.reshape(n, 14, 16, 14, 16, 3).mean((2, 4))
                self._numbers.append(np.round(blocks, 4))
        self.count += n
        return n

    def result(self):
        if self.compare in ("ints", "bytes"):
            return [self.count, self._hash.hexdigest()]
        if self.compare == "example":
            return [self.count, self._sums.tolist()]
        if self.compare == "images":
            return [self.count, np.concatenate(self._numbers)[:64].tolist()]
        return [self.count, None]


def agree(compare, ours, theirs):
    """None, or why two digests differ."""
    if ours[0] != theirs[0]:
        return f"{theirs[0]} elements, not {ours[0]}"
    if compare == "images":
        difference = np.abs(np.array(ours[1]) - np.array(theirs[1]))
        # Decoders and resizing differ in the last bits, pictures do not.
        if difference.mean() > 0.01 or difference.max() > 0.12:
            return f"images differ by {difference.mean():.4f} on average"
    elif compare == "example":
        if not np.allclose(ours[1], theirs[1], rtol=1e-5):
            return f"sums {theirs[1]}, not {ours[1]}"
    elif ours[1] != theirs[1]:
        return "other values"
    return None
