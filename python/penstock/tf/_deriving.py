"""What all transformations of `tf.data.Dataset` have in common."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock._errors import ArgumentTypeError
from penstock.tf._options import Options

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


def whole(value: Any, parameter: str) -> int:
    """A whole number: Python's, NumPy's or a tensor."""
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{parameter} must be a whole number, got {value!r}"
        ) from None


class Deriving:
    """Mixed into `Dataset`, below its transformations."""

    __slots__ = ()
    _penstock_value: Any
    _ragged: bool
    _endless: bool
    options: Callable[[], Options]

    def _then(self, engine: Any) -> Dataset:
        """The next dataset of the chain; options stay."""
        from penstock.tf._dataset import Dataset

        assert isinstance(self, Dataset)
        return Dataset._of(engine, self._options)

    def _same(self, engine: Any) -> Dataset:
        """The next dataset of the chain, whose elements are of the same kind."""
        made = self._then(engine)
        made._ragged = self._ragged
        return made

    def _as_long(self, made: Dataset) -> Dataset:
        """`made` of this one, which is endless if this one is."""
        made._endless = self._endless
        return made
