"""What is measured: the rows, their sizes, and how outputs are compared."""

import dataclasses
import hashlib
import time

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """`elements` at scale 1, a multiple of `batch`. `compare` says how outputs
    must agree. A row that grows runs as many elements as take `GROWN` seconds,
    each engine its own number; the check always uses `elements`."""

    group: str
    title: str
    unit: str
    elements: int
    compare: str  # a method of Digest
    batch: int = 1
    grows: bool = False
    fixed: bool = False  # not made smaller by the scale
    checked: int | None = None  # elements of the check, where fewer do
    fewest: int = 3  # repetitions, whatever they take


GROWN = 0.4  # seconds
GROUPS = {
    "elements": "Small elements",
    "images": "Pictures",
    "records": "Records",
    "functions": "Python functions",
    "start": "Start and memory",
}
ROWS = {
    "P1": Row("elements", "range -> map(x + 1) -> batch(1024)", "elements",
              10_240, "ints", 1024, grows=True),
    "P1b": Row("elements", "range -> batch(1024) -> map(x + 1)", "elements",
               10_240, "ints", 1024, grows=True),
    "P2": Row("elements", "range -> map(x + 1), one by one", "elements",
              2_000, "ints", grows=True),
    "P3": Row("images", "JPEG files -> decode, resize to 224 -> batch(32)",
              "images", 768, "images", 32),
    "P3r": Row("images", "JPEG files -> random crop, resize to 224, flip, "
               "normalise -> batch(32)", "images", 768, "random_images", 32),
    "P4-100": Row("records", "TFRecord, records of 100 B -> batch(1024)",
                  "records", 1_228_800, "records", 1024),
    "P4-1000": Row("records", "TFRecord, records of 1 kB -> batch(1024)",
                   "records", 204_800, "records", 1024),
    "P4-100000": Row("records", "TFRecord, records of 100 kB -> batch(16)",
                     "records", 3_200, "records", 16),
    "P5": Row("records", "TFRecord -> batch(256) -> parse_example", "examples",
              102_400, "examples", 256),
    "P5s": Row("records", "TFRecord -> parse_single_example -> batch(256)",
               "examples", 20_480, "examples", 256),
    "P6": Row("functions", "Python function of about 20 ms, CPU-bound", "calls",
              120, "ints", fixed=True, checked=20),
    "P6b": Row("functions", "arrays of 1 MiB from two processes", "arrays",
               1_200, "ints", 8),
    "P6c": Row("functions", "the same in batches of 8", "arrays",
               1_200, "ints", 8),
    "P7": Row("functions", "100 calls that sleep 0.1 s, width not set", "calls",
              100, "ints", fixed=True, checked=20, fewest=2),
    "P7w": Row("functions", "100 calls that sleep 0.1 s, 16 at once", "calls",
               100, "ints", fixed=True, checked=20),
    "P8": Row("functions", "NumPy function, one call in 16 takes 10 times "
              "as long, in order", "calls", 400, "ints", fixed=True),
    "P8u": Row("functions", "the same, order free", "calls", 400, "unordered",
               fixed=True),
    "P10i": Row("start", "import", "imports", 1, "ints", fixed=True),
    "P10": Row("start", "first batch(100) of range -> map(x + 1) after import",
               "batches", 1, "ints", fixed=True),
    "P12": Row("start", "memory of shuffle(1,000,000) over a range of int64",
               "bytes/element", 1_000_000, "ints", fixed=True),
}  # fmt: skip
# Rows that need a process of their own for each figure (fresh.py).
FRESH = ("P10i", "P10", "P12")

MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
STD = np.array([0.229, 0.224, 0.225], np.float32) * 255


def size(row, scale):
    """Elements of a row: whole batches of it."""
    about = ROWS[row]
    wanted = about.elements * (1 if about.fixed or about.grows else scale)
    return max(about.batch, int(wanted) // about.batch * about.batch)


def photo_count(scale):
    """So few that each is loaded several times: random rows compare those."""
    return max(8, min(256, size("P3r", scale) // 3))


# --- the functions of the rows: the same code in every engine ---------------


def increment(x):
    return x + 1


def burn(x):
    """About 20 ms of Python."""
    total = 0
    for i in range(200_000):
        total += i * int(x)
    return np.int64(total & 0xFFFF)


def mebibyte(x):
    return np.full(1 << 18, x, np.float32)


def sleep(x):
    time.sleep(0.1)
    return np.int64(x)


def uneven(x):
    """About 1 ms in NumPy without the GIL, every sixteenth call 10 ms."""
    n = 200_000 if int(x) % 16 == 0 else 20_000
    values = (np.arange(n, dtype=np.int64) * 7919) % 1_000_003
    return np.int64(np.sort(values)[int(x) % 1000])


# --- comparison -------------------------------------------------------------


class Digest:
    """What an engine gave, so that it can be compared."""

    def __init__(self, compare, photos=0):
        self.count = 0
        self.items = 0
        self._compare = compare
        self._photos = photos
        self._hash = hashlib.sha256()
        self._kept = []
        self._thumbs = []

    def add(self, item):
        """One element or batch, as NumPy arrays (or lists of bytes)."""
        self.items += 1
        self.count += getattr(self, f"_{self._compare}")(item)

    def result(self):
        result = {"count": self.count, "items": self.items}
        if self._compare == "images":
            result["blocks"] = np.concatenate(self._kept)[:64].tolist()
        elif self._compare == "random_images":
            result |= self._statistics()
        elif self._compare == "unordered":
            values = np.sort(np.concatenate(self._kept))
            result["hash"] = hashlib.sha256(values.tobytes()).hexdigest()
        else:
            result["hash"] = self._hash.hexdigest()
        return result

    def _ints(self, item):
        """Whole numbers; arrays of P6b are full of one and count as one."""
        values = np.asarray(item)
        if values.ndim and values.shape[-1] == 1 << 18:
            if not (values == values[..., :1]).all():
                raise ValueError("an array with other values")
            values = values[..., 0]
        values = np.atleast_1d(values).astype(np.int64)
        n = len(values)
        self._hash.update(values.tobytes())
        return n

    def _unordered(self, item):
        self._kept.append(np.atleast_1d(np.asarray(item, np.int64)))
        return len(self._kept[-1])

    def _records(self, item):
        for record in item:
            data = bytes(record)
            self._hash.update(len(data).to_bytes(8, "little"))
            self._hash.update(data)
        return len(item)

    def _examples(self, item):
        """(labels, vectors, names, ids of all rows, ids per row)"""
        labels, vectors, names, ids, lengths = item
        for values, dtype in (
            (labels, np.int64), (vectors, np.float32), (ids, np.int64),
            (lengths, np.int64),
        ):  # fmt: skip
            self._hash.update(np.ascontiguousarray(values, dtype).tobytes())
        self._hash.update(b"\0".join(bytes(name) for name in names))
        if np.shape(vectors) != (len(labels), 64) or len(names) != len(labels):
            raise ValueError(f"vectors of {np.shape(vectors)}, {len(names)} names")
        return len(labels)

    def _images(self, item):
        images = self._pictures(item)
        if sum(map(len, self._kept)) < 64:
            blocks = images.reshape(len(images), 14, 16, 14, 16, 3).mean((2, 4))
            self._kept.append(np.round(blocks, 4))
        return len(images)

    def _random_images(self, item):
        images = self._pictures(item)
        for image in images:
            # Coarse, so that the filters of the engines do not matter.
            thumb = image.reshape(28, 8, 28, 8, 3).mean((1, 3))
            edges = np.abs(np.diff(thumb, axis=1)).mean()
            self._kept.append([*thumb.mean((0, 1)), *thumb.std((0, 1)), edges])
            self._thumbs.append(thumb)
        return len(images)

    def _statistics(self):
        """What any fair draw of crops and flips has in common, and in how many
        cases the same photo gave the same picture again."""
        same = 0
        for i in range(self._photos, len(self._thumbs)):
            difference = self._thumbs[i] - self._thumbs[i - self._photos]
            same += bool(np.abs(difference).max() < 0.05)
        numbers = np.mean(self._kept, axis=0)
        return {"statistics": numbers.tolist(), "repeated": same}

    def _pictures(self, item):
        images = np.asarray(item)
        if images.shape[1:] != (224, 224, 3) or images.dtype != np.float32:
            raise ValueError(f"images of {images.dtype}{list(images.shape[1:])}")
        return images


def agree(compare, ours, theirs):
    """None, or why two digests differ."""
    for key in ("count", "items"):
        if ours[key] != theirs[key]:
            return f"{theirs[key]} {key}, not {ours[key]}"
    if compare == "images":
        difference = np.abs(np.array(ours["blocks"]) - np.array(theirs["blocks"]))
        # Decoders and resizing differ in the last bits, pictures do not.
        if difference.mean() > 0.004 or difference.max() > 0.03:
            return (
                f"pictures differ by {difference.mean():.4f} on average, "
                f"{difference.max():.4f} at most (black 0, white 1)"
            )
    elif compare == "random_images":
        if theirs["repeated"] > 0.02 * theirs["count"]:
            return f"{theirs['repeated']} pictures came again unchanged"
        a, b = np.array(ours["statistics"]), np.array(theirs["statistics"])
        # Draws differ the more, the fewer there are.
        luck = 1 / theirs["count"] ** 0.5
        if (
            np.abs(a - b)[:6].max() > 0.06 + luck
            or abs(b[6] / a[6] - 1) > 0.08 + 2 * luck
        ):
            return (
                f"statistics {np.round(b, 3).tolist()}, not {np.round(a, 3).tolist()}"
            )
    elif ours["hash"] != theirs["hash"]:
        return "other values"
    return None
