"""What all transformations of `Dataset` have: making the next dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock._functions import Lowered
from penstock._recipe import Recipe
from penstock._sources import dataset_class

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
        made_of = cast("Dataset", self)
        recipe = Recipe(method, made_of, args, kwargs)
        inputs = (made_of, *parents)
        return dataset_class()._make(native, recipe, inputs, functions, options)
