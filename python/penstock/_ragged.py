"""Rows of different length as one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError


class Ragged:
    """A ragged value: ``values`` and where its rows are cut, ``row_splits``.

    Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``. With several
    ragged levels ``nested_row_splits`` holds one array per level, the outermost
    first.

    >>> import penstock as ps
    >>> rows = ps.Ragged([1, 2, 3], [0, 2, 2, 3])
    >>> rows.to_list()
    [[1, 2], [], [3]]
    >>> rows.to_dense(fill=-1)
    array([[ 1,  2],
           [-1, -1],
           [ 3, -1]])
    """

    __slots__ = ("values", "nested_row_splits")
    values: Any
    nested_row_splits: tuple[Any, ...]

    def __init__(self, values: Any, row_splits: Any) -> None:
        levels = row_splits if isinstance(row_splits, tuple) else (row_splits,)
        if not levels:
            raise InvalidArgumentError("Ragged: row_splits must not be empty")
        self.values = np.asarray(values)
        self.nested_row_splits = tuple(
            np.asarray(splits, dtype=np.int64) for splits in levels
        )

    @property
    def row_splits(self) -> Any:
        """Where the outermost rows are cut."""
        return self.nested_row_splits[0]

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, i: int) -> Any:
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"row {i} of {n}")
        begin, end = self.row_splits[i % n : i % n + 2]
        inner = self.nested_row_splits[1:]
        if not inner:
            return self.values[begin:end]
        splits = [inner[0][begin : end + 1]]
        for level in inner[1:]:
            last = splits[-1]
            splits.append(level[last[0] : last[-1] + 1])
        first, stop = splits[-1][0], splits[-1][-1]
        return Ragged(
            self.values[first:stop], tuple(level - level[0] for level in splits)
        )

    def to_list(self) -> list[Any]:
        """Nested lists."""
        return [
            row.to_list() if isinstance(row, Ragged) else row.tolist()
            for row in (self[i] for i in range(len(self)))
        ]

    def to_dense(self, fill: Any = 0) -> Any:
        """An array with short rows filled up. One ragged level only."""
        return dense(self.values, self.nested_row_splits, fill)

    def __repr__(self) -> str:
        splits = ", ".join(repr(s.tolist()) for s in self.nested_row_splits)
        return f"Ragged(values={self.values!r}, row_splits={splits})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.values, other.values) and all(
            np.array_equal(a, b)
            for a, b in zip(self.nested_row_splits, other.nested_row_splits)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Ragged, (self.values, self.nested_row_splits)


def dense(values: Any, splits: tuple[Any, ...], fill: Any) -> Any:
    """Short rows filled up, traced or not."""
    from penstock._ops import native

    if len(splits) != 1:
        raise InvalidArgumentError(f"to_dense: needs ragged_rank 1, got {len(splits)}")
    dtype = getattr(values, "dtype", None)
    if dtype is None or dtype == object:
        fill = b"" if isinstance(fill, int) and fill == 0 else fill
    else:
        fill = np.asarray(fill).astype(dtype)[()]
    return native("ragged.to_dense", values, splits[0], fill)
