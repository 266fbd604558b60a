"""`Dataset`: an immutable description of a pipeline.

Building one reads no data and calls no function. Every method returns a new
dataset; `iter` starts the pipeline. The sources are in `_sources`, the
transformations in `_transforms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock import _arguments as check
from penstock import _penstock
from penstock import _recipe as recipes
from penstock._device import DeviceDataset
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._file_sources import FileSources
from penstock._functions import Lowered, check_callable
from penstock._iterator import Iterator
from penstock._options import INFINITE, UNKNOWN
from penstock._reduced import alike, reduced_state, same_types
from penstock._sources import Sources
from penstock._transforms import Transforms
from penstock._windows import spec_of


class Dataset(Sources, FileSources, Transforms):
    """Elements in order, computed in parallel when they are iterated.

    Made by a source (`Dataset.range`, `Dataset.from_tensor_slices` ...) and
    extended by transformations. Each iteration counts as an epoch: shuffles
    draw anew. Datasets pickle, and are equal when their graphs are.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(10).map(lambda x: x * x).batch(4)
    >>> for batch in ds:
    ...     print(batch)
    [0 1 4 9]
    [16 25 36 49]
    [64 81]
    """

    __slots__ = (
        "_native", "_recipe", "_functions", "_options", "_class_names", "__weakref__"
    )  # fmt: skip
    _native: Any
    _recipe: recipes.Recipe | None
    _functions: dict[int, Lowered]
    _options: tuple[Any, ...]
    _class_names: tuple[str, ...]  # of an image_folder, else not there

    def __init__(self) -> None:
        raise ArgumentTypeError(
            "Dataset: made by its sources, for example Dataset.range(10)"
        )

    # What a traced function sees in place of the class, and of a dataset.

    @classmethod
    def __penstock_sources__(cls) -> Any:
        from penstock._template import TemplateSources

        return TemplateSources()

    def __penstock_dataset__(self) -> Any:
        from penstock._template import TemplateDataset

        return TemplateDataset(self)

    # --- looking at it ----------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """What the elements are, as far as it is known without running.

        >>> import penstock as ps
        >>> ps.Dataset.from_tensor_slices({"x": [1.0, 2.0]}).element_spec
        {'x': TensorSpec(shape=(), dtype=penstock.float64)}
        """
        return spec_of(self)

    @property
    def class_names(self) -> list[str]:
        """The classes of an `image_folder`, in the order of their labels.

        >>> import penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("dog", "cat"):
        ...         ps.io.write_file(f"{root}/{name}/1.jpg", b"")
        ...     ps.Dataset.image_folder(root).class_names
        ['cat', 'dog']
        """
        try:
            return list(self._class_names)
        except AttributeError:
            raise AttributeError(
                "class_names: only the dataset that image_folder gives has them"
            ) from None

    def cardinality(self) -> int:
        """How many elements there are: a count, `ps.INFINITE` or `ps.UNKNOWN`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(10)
        >>> ds.cardinality(), ds.repeat().cardinality() == ps.INFINITE
        (10, True)
        """
        return self._native.cardinality  # type: ignore[no-any-return]

    def __len__(self) -> int:
        n = self.cardinality()
        if n == INFINITE:
            raise TypeError("the dataset is endless: it has no len()")
        if n == UNKNOWN:
            raise TypeError(
                "the number of elements is not known without running the dataset"
            )
        return n

    def __bool__(self) -> bool:
        return True

    @property
    def fingerprint(self) -> str:
        """Equal for graphs that give equal elements.

        >>> import penstock as ps
        >>> a, b = ps.Dataset.range(5), ps.Dataset.range(5)
        >>> a.fingerprint == b.fingerprint, a == b
        (True, True)
        """
        return self._native.fingerprint()  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        # A state moves between shards, so that a fingerprint leaves them out.
        return self is other or (
            self.fingerprint == other.fingerprint
            and self._native.shards() == other._native.shards()
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def explain(self) -> str:
        """The graph, the plan it runs as, and how each function runs and why.

        >>> import penstock as ps
        >>> print(ps.Dataset.range(3).take(2).explain().splitlines()[0])
        range#0  range(0, 3, 1)  -> int64, 3 elements, indexed
        """
        text: str = self._native.explain()
        if self._functions:
            text += "functions:\n"
            for fn in self._functions.values():
                text += f"  {fn.describe()}\n"
        return text

    def __repr__(self) -> str:
        graph = "".join(
            f"  {line}\n" for line in self._native.explain_graph().splitlines()
        )
        return f"<Dataset\n{graph}  element_spec: {self.element_spec!r}>"

    # --- running ------------------------------------------------------------

    def __iter__(self) -> Iterator:
        return Iterator(self)

    def iterator(self, state: Any = None) -> Iterator:
        """A running pipeline, from the start or from a `state_dict`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4)
        >>> it = ds.iterator()
        >>> _ = next(it), next(it)
        >>> [int(x) for x in ds.iterator(state=it.state_dict())]
        [2, 3]
        """
        return Iterator(self, state)

    def as_numpy_iterator(self) -> Iterator:
        """The same as ``iter``: elements are NumPy values already.

        >>> import penstock as ps
        >>> list(ps.Dataset.from_list([b"a", b"b"]).as_numpy_iterator())
        [b'a', b'b']
        """
        return Iterator(self)

    def to_list(self) -> list[Any]:
        """All elements.

        >>> import penstock as ps
        >>> ps.Dataset.range(6).batch(3).to_list()
        [array([0, 1, 2]), array([3, 4, 5])]
        """
        if self.cardinality() == INFINITE:
            raise InvalidArgumentError("to_list: the dataset is endless; take(n) first")
        with Iterator(self) as it:
            return list(it)

    def __getitem__(self, i: int) -> Any:
        """Element `i` as iteration 0 gives it, of an indexed chain.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(100).shuffle(ps.GLOBAL, seed=1).batch(10)
        >>> bool((ds[3] == ds.to_list()[3]).all())
        True
        """
        index = check.integer("at", "i", i)
        size = self.cardinality()
        if -size <= index < 0:
            index += size
        return self._native.at(index)

    def reduce(self, init: Any, fn: Callable[..., Any], name: str | None = None) -> Any:
        """``state = fn(state, element)`` over all elements; the last state.

        >>> import penstock as ps
        >>> int(ps.Dataset.range(5).reduce(0, lambda total, x: total + x))
        10
        """
        check_callable("reduce", "fn", fn)
        label = f"reduce:{name}" if check.stage_name("reduce", name) else "reduce"
        state = reduced_state(label, init)
        first = _penstock.spec_of(state)
        with Iterator(self) as it:
            for i, element in enumerate(it):
                arguments = element if type(element) is tuple else (element,)
                try:
                    made = fn(state, *arguments)
                except Exception as error:
                    if hasattr(error, "add_note"):
                        error.add_note(f"penstock: in {label}, element {i}")
                    raise
                if alike(made, state):
                    state = made
                    continue
                state = reduced_state(f"{label}: element {i}", made, first)
                spec = _penstock.spec_of(state)
                if spec != first and not same_types(first, spec):
                    raise InvalidArgumentError(
                        f"{label}: element {i}: the state was {first!r}, "
                        f"fn made it {spec!r}"
                    )
        return state

    def save(
        self,
        path: Any,
        num_shards: int = 1,
        shard_func: Any = None,
        name: str | None = None,
    ) -> None:
        """Iterates, and writes all elements to the directory `path`.

        >>> import penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     ps.Dataset.range(3).save(where + "/numbers")
        ...     [int(x) for x in ps.Dataset.load(where + "/numbers")]
        [0, 1, 2]
        """
        check.stage_name("save", name)  # there is no stage: it runs at once
        if shard_func is not None:
            check_callable("save", "shard_func", shard_func)
        self._native.save(
            check.path("save", "path", path),
            check.integer("save", "num_shards", num_shards),
            shard_func,
        )

    def apply(self, fn: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """``fn(self)``: own transformations read like the built-in ones.

        >>> import penstock as ps
        >>> def evens(ds):
        ...     return ds.filter(lambda x: x % 2 == 0)
        >>> [int(x) for x in ps.Dataset.range(5).apply(evens)]
        [0, 2, 4]
        """
        check_callable("apply", "fn", fn)
        check.stage_name("apply", name)  # `fn` names the stages that it makes
        return fn(self)

    def prefetch_to_device(
        self, put: Callable[[Any], Any], n: int = 2, name: str | None = None
    ) -> DeviceDataset:
        """``put(batch)`` for every batch, `n` ahead of the step.

        `put` copies to any device and returns what the step takes. It runs on
        its own thread, so that the copy overlaps with step and pipeline. The
        last stage: the result iterates, and resumes, like a dataset.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4).batch(2).prefetch_to_device(lambda b: b.tolist())
        >>> list(ds)
        [[0, 1], [2, 3]]
        """
        op = "prefetch_to_device"
        ahead = check.integer(op, "n", n)
        return DeviceDataset(self, put, ahead, check.stage_name(op, name))

    # --- how it is built ------------------------------------------------------

    @classmethod
    def _make(
        cls,
        native: Any,
        recipe: recipes.Recipe | None,
        parents: tuple[Dataset, ...] = (),
        functions: tuple[Lowered, ...] = (),
        options: Any = None,
    ) -> Dataset:
        self = object.__new__(cls)
        self._native = native
        self._recipe = recipe
        self._functions = {}
        inherited: tuple[Any, ...] = ()
        for i, parent in enumerate(parents):
            branch = f"{native.stage}[{i}]." if len(parents) > 1 else ""
            for key, fn in parent._functions.items():
                inner = replace(fn, stage=branch + fn.stage) if branch else fn
                self._functions.setdefault(key, inner)
            inherited += parent._options
        for fn in functions:
            fn.stage = native.called_stage
            self._functions[id(fn.handle)] = fn
        self._options = inherited + ((options,) if options is not None else ())
        return self

    def __copy__(self) -> Dataset:
        return self  # immutable

    def __deepcopy__(self, memo: Any) -> Dataset:
        return self

    def __reduce__(self) -> Any:
        return recipes.load, (recipes.dump(self),)


def wrap_dataset(native: Any) -> Dataset:
    """A nested dataset that the engine made."""
    return Dataset._make(native, None)


__all__ = ["Dataset", "wrap_dataset"]
