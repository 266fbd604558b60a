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
    """The sparse tensor of a list, or of a batch of lists.

    It travels as what it holds, one array or one ragged value, so that functions
    that parse run natively.
    """

    __penstock_fields__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    @property
    def _held(self) -> Any:
        held = self.held
        return held._penstock_value if isinstance(held, RaggedTensor) else held

    @property
    def values(self) -> Any:
        held = self._held
        ragged = isinstance(held, (Ragged, TracedRagged))
        return _tensor(held.values if ragged else held)

    @property
    def indices(self) -> Any:
        held = self._held
        if isinstance(held, Ragged):
            lengths = np.diff(held.row_splits)
            rows = np.repeat(np.arange(len(lengths)), lengths)
            starts = np.repeat(held.row_splits[:-1], lengths)
            columns = np.arange(len(rows)) - starts
            return wrap(np.column_stack([rows, columns]).astype(np.int64))
        if isinstance(held, (Traced, TracedBytes, TracedRagged)):
            refuse("the indices of a sparse tensor have no native form")
        return wrap(np.arange(len(held), dtype=np.int64).reshape(-1, 1))

    @property
    def dense_shape(self) -> Any:
        held = self._held
        if isinstance(held, Ragged):
            lengths = np.diff(held.row_splits)
            return wrap(np.array([len(lengths), lengths.max(initial=0)], np.int64))
        if isinstance(held, (Traced, TracedBytes, TracedRagged)):
            refuse("the shape of a sparse tensor has no native form")
        return wrap(np.array([len(held)], np.int64))

    def dense(self, fill: Any) -> Any:
        """The array, with `fill` where it has no values."""
        held = self._held
        if isinstance(held, (Ragged, TracedRagged)):
            if fill is None:
                fill = b"" if held.values.dtype == object else 0
            return _tensor(held.to_dense(fill))
        return _tensor(held)

    def __reduce__(self) -> Any:
        return Listed, (self.held,)


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
