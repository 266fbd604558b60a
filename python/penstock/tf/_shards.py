"""The shards of saved datasets, for the functions that read them (`reader_func`).

`Dataset.load` takes one element of each shard in turn, shards that have ended
left out; so a shard is every so many elements of what is loaded. A snapshot is
one file: with a `shard_func` it holds the shards' numbers beside the elements.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock import io as engine_io
from penstock._dataset import Dataset as Engine
from penstock._functions import check_callable
from penstock._spec import DatasetSpec
from penstock.tf._functions import call

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


def read(op: str, shards: Engine, reader_func: Any) -> Dataset:
    """What `reader_func` makes of a dataset of the shards."""
    from penstock.tf._dataset import Dataset

    check_callable(op, "reader_func", reader_func)
    made = reader_func(Dataset._of(shards))
    if not isinstance(made, Dataset):
        raise TypeError(f"{op}: reader_func must return a Dataset, got {made!r}")
    return made


def numbered(engine: Engine, shard_func: Any) -> Engine:
    """(shard, element) for every element."""
    number = call("snapshot", shard_func, "number")
    if type(engine.element_spec) is tuple:
        return engine.map(lambda *element: (number(*element), element))
    return engine.map(lambda element: (number(element), element))


def elements(pairs: Engine) -> Engine:
    """What `numbered` numbered."""
    return pairs.map(lambda shard, element: element)


def by_number(pairs: Engine) -> Engine:
    """A dataset for every shard, told by reading all numbers."""

    def shard(wanted: int) -> Engine:
        return elements(pairs.filter(lambda shard, element: shard == wanted))

    def shards() -> Iterator[Engine]:
        numbers = pairs.map(lambda shard, element: shard)
        return map(shard, sorted({int(n) for n in numbers}))

    return Engine.from_generator(shards, output_signature=DatasetSpec())


def saved(path: Any) -> Engine:
    """A dataset of the shards at `path`."""
    loaded = Engine.load(path)
    rows = _rows(path)
    if len(rows) < 2:
        return Engine.from_list([loaded])
    parts: list[list[Any]] = [[] for _ in rows]
    start = done = 0
    for end in sorted(set(rows) - {0}):
        # From round `done` to round `end` the same shards take part.
        taking = [i for i, n in enumerate(rows) if n >= end]
        count = (end - done) * len(taking)
        rounds = loaded.skip(start).take(count)
        for at, i in enumerate(taking):
            parts[i].append(rounds.shard(len(taking), at))
        start, done = start + count, end
    return Engine.from_list([_chained(p) for p in parts if p])


def _chained(parts: list[Any]) -> Any:
    made = parts[0]
    for part in parts[1:]:
        made = made.concatenate(part)
    return made


def _rows(path: Any) -> list[int]:
    """How many elements every shard has, by the metadata: after its name."""
    data = engine_io.read_file(os.path.join(os.fsdecode(path), "dataset.metadata"))
    rows = []
    for name in re.finditer(rb"shard-\d+-[0-9a-f]+\.blocks", data):
        value = shift = 0
        for byte in data[name.end() :]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        rows.append(value >> 1)
    return rows
