"""What all transformations of `Dataset` have: making the next dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock._functions import Lowered
from penstock._recipe import Recipe

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Deriving:
    """Mixed into `Dataset`, below its transformations."""

    __slots__ = ()
    _native: Any

    def _derive(
        self,
        native: Any,
        method: str,
        *args: Any,
        functions: tuple[Lowered, ...] = (),
        parents: tuple[Dataset, ...] = (),
        options: Any = None,
        **kwargs: Any,
    ) -> Dataset:
        from penstock._dataset import Dataset

        assert isinstance(self, Dataset)
        recipe = Recipe(method, self, args, kwargs)
        return Dataset._make(native, recipe, (self, *parents), functions, options)
