"""What parsed Examples give: tensors, and sparse tensors for VarLenFeature."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._ragged import Ragged
from penstock._trace_errors import refuse
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes
from penstock.io import VarLenFeature
from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._values import has_traced, wrap


class Listed(SparseTensor):
    """The sparse tensor of a list, or of a batch of lists."""

    __penstock_fields__ = ("indices", "values", "dense_shape")

    def __init__(self, held: Any) -> None:
        self._held = held

    @property
    def values(self) -> Any:
        ragged = isinstance(self._held, (Ragged, TracedRagged))
        return _tensor(self._held.values if ragged else self._held)

    @property
    def indices(self) -> Any:
        if isinstance(self._held, Ragged):
            lengths = np.diff(self._held.row_splits)
            rows = np.repeat(np.arange(len(lengths)), lengths)
            starts = np.repeat(self._held.row_splits[:-1], lengths)
            columns = np.arange(len(rows)) - starts
            return wrap(np.column_stack([rows, columns]).astype(np.int64))
        if isinstance(self._held, (Traced, TracedBytes, TracedRagged)):
            refuse("the indices of a sparse tensor have no native form")
        return wrap(np.arange(len(self._held), dtype=np.int64).reshape(-1, 1))

    @property
    def dense_shape(self) -> Any:
        if isinstance(self._held, Ragged):
            lengths = np.diff(self._held.row_splits)
            return wrap(np.array([len(lengths), lengths.max(initial=0)], np.int64))
        if isinstance(self._held, (Traced, TracedBytes, TracedRagged)):
            refuse("the shape of a sparse tensor has no native form")
        return wrap(np.array([len(self._held)], np.int64))

    def dense(self, fill: Any) -> Any:
        """The array, with `fill` where it has no values."""
        if isinstance(self._held, (Ragged, TracedRagged)):
            return _tensor(self._held.to_dense(0 if fill is None else fill))
        return _tensor(self._held)

    def __reduce__(self) -> Any:
        return Listed, (self._held,)


def _tensor(value: Any) -> Any:
    return value if has_traced(value) else wrap(value)


def tensors_of(parsed: dict[str, Any], features: Any) -> dict[str, Any]:
    """The parsed values as TensorFlow gives them."""
    out: dict[str, Any] = {}
    for name, value in parsed.items():
        if isinstance(features[name], VarLenFeature):
            out[name] = Listed(value)
        elif isinstance(value, Ragged):
            out[name] = RaggedTensor._of(value)
        else:
            out[name] = _tensor(value)
    return out
