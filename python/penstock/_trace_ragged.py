"""Ragged values of a function that is being traced."""

from __future__ import annotations

from typing import Any

from penstock._trace_errors import refuse


class TracedRagged:
    """A `Ragged` whose parts nobody has computed yet."""

    __slots__ = ("nested_row_splits", "values")
    values: Any
    nested_row_splits: tuple[Any, ...]

    def __init__(self, values: Any, row_splits: tuple[Any, ...]) -> None:
        self.values = values
        self.nested_row_splits = row_splits

    @property
    def row_splits(self) -> Any:
        return self.nested_row_splits[0]

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    def to_dense(self, fill: Any = 0) -> Any:
        from penstock._ragged import dense

        return dense(self.values, self.nested_row_splits, fill)

    # The names that TensorFlow has for them.

    @property
    def flat_values(self) -> Any:
        return self.values

    def to_tensor(
        self, default_value: Any = None, name: Any = None, shape: Any = None
    ) -> Any:
        if shape is not None:
            refuse("to_tensor of a ragged value with a shape")
        if default_value is None:
            default_value = b"" if self.values.dtype == object else 0
        return self.to_dense(default_value)

    def __getattr__(self, name: str) -> Any:
        refuse(f"uses .{name} of a ragged value")

    def _no(self, *_: object) -> Any:
        refuse("computes with a ragged value; its .values can be computed with")

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __add__ = _no
    __radd__ = __mul__ = __sub__ = __eq__ = __ne__ = __lt__ = __gt__ = _no
    __hash__ = _no
