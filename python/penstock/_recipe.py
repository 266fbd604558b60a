"""How a Dataset was built, so that it can be built again elsewhere.

A recipe is one method call with its arguments; datasets among them refer to
their own recipes. Pickling a dataset writes the recipes of its graph in order,
with functions by cloudpickle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock._by_value import original
from penstock._errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Recipe(NamedTuple):
    """`method(*args, **kwargs)` of `parent`, or of the class."""

    method: str
    parent: Dataset | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class _Step:
    number: int  # stands for the dataset that this step built


def _map_datasets(value: Any, replace: Any) -> Any:
    from penstock._dataset import Dataset

    if isinstance(value, (Dataset, _Step)):
        return replace(value)
    if type(value) is tuple:
        return tuple(_map_datasets(v, replace) for v in value)
    if type(value) is list:
        return [_map_datasets(v, replace) for v in value]
    if type(value) is dict:
        return {k: _map_datasets(v, replace) for k, v in value.items()}
    return value


# (method, parent, args, kwargs), datasets replaced by the steps that build them.
_Steps = list[tuple[str, _Step | None, Any, Any]]


def steps_of(dataset: Dataset) -> _Steps:
    """The calls that build `dataset`, in order. No deep recursion."""
    numbers: dict[int, int] = {}
    steps: _Steps = []
    stack = [dataset]
    while stack:
        top = stack[-1]
        if id(top) in numbers:
            stack.pop()
            continue
        recipe = top._recipe
        if recipe is None:
            raise InvalidArgumentError(
                "pickle: a nested dataset (a window) cannot be pickled"
            )
        inputs: list[Dataset] = [] if recipe.parent is None else [recipe.parent]
        # Found in place, so that functions are left alone.
        _map_datasets((recipe.args, recipe.kwargs), inputs.append)
        missing = [d for d in inputs if id(d) not in numbers]
        if missing:
            stack.extend(missing)
            continue

        def step(d: Dataset) -> _Step:
            return _Step(numbers[id(d)])

        steps.append(
            (
                recipe.method,
                None if recipe.parent is None else step(recipe.parent),
                _map_datasets(recipe.args, step),
                _map_datasets(recipe.kwargs, step),
            )
        )
        numbers[id(top)] = len(steps) - 1
        stack.pop()
    return steps


def build(steps: _Steps) -> Dataset:
    """Calls them again."""
    from penstock._dataset import Dataset

    built: list[Dataset] = []

    def get(step: _Step) -> Dataset:
        return built[step.number]

    for method, parent, args, kwargs in steps:
        owner = Dataset if parent is None else get(parent)
        call = getattr(owner, method)
        built.append(call(*_map_datasets(args, get), **_map_datasets(kwargs, get)))
    return built[-1]


def dump(dataset: Dataset) -> bytes:
    """The graph as bytes."""
    from penstock import _pickling

    steps = steps_of(dataset)
    try:
        return _pickling.dumps(steps)
    except Exception:
        # A module's own functions go by name, whatever they use there.
        given = [_with_originals(step) for step in steps]
        return _pickling.dumps(given)


def _with_originals(step: Any) -> Any:
    method, parent, args, kwargs = step
    named = {k: original(v) for k, v in kwargs.items()}
    return method, parent, tuple(map(original, args)), named


def load(data: bytes) -> Dataset:
    """The dataset that `dump` wrote."""
    import cloudpickle

    return build(cloudpickle.loads(data))
