"""`tf.data.Dataset`: tf.data's names, signatures and defaults on the engine.

A dataset holds one of the engine's (`penstock.Dataset`) and gives TensorFlow's
values. Where tf.data traces a function silently, Python's meaning is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _dataset as engine_dataset
from penstock import _recipe as recipes
from penstock._errors import InvalidArgumentError, OutOfRangeError
from penstock._functions import check_callable
from penstock._options import GLOBAL, INFINITE, UNKNOWN
from penstock._options import Options as EngineOptions
from penstock.tf import _seeds, _structure
from penstock.tf._functions import call
from penstock.tf._iterator import Iterator, NumpyIterator
from penstock.tf._options import Options
from penstock.tf._shapes import spec_to_tf
from penstock.tf._sources import Sources, paths
from penstock.tf._transforms import Transforms
from penstock.tf._values import Int64, UInt64, unwrap, wrap


class Dataset(Sources, Transforms):
    """Elements in order, with the methods of `tf.data.Dataset`.

    >>> import penstock.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])
    >>> for batch in ds.map(lambda x: x * 2).batch(2):
    ...     print(batch.numpy())
    [2. 4.]
    [6.]
    """

    __slots__ = (
        "__weakref__",
        "_endless",
        "_indexed",
        "_options",
        "_penstock_value",
        "_ragged",
        "_running",
    )
    _penstock_value: engine_dataset.Dataset
    _options: Options
    _endless: bool  # repeats what may be empty, and then ends
    _ragged: bool  # rows of a ragged tensor: a batch of them is one again
    _running: engine_dataset.Dataset | None
    _indexed: engine_dataset.Dataset | None

    def __init__(self, *unused: Any) -> None:
        raise TypeError(
            "Dataset: made by its sources, for example tf.data.Dataset.range(10)"
        )

    # What a traced function sees in place of the class, and of a dataset.

    @classmethod
    def __penstock_sources__(cls) -> Any:
        from penstock.tf import _template

        return _template.Sources()

    def __penstock_dataset__(self) -> Any:
        from penstock.tf import _template

        return _template.Template(self._penstock_value)

    @classmethod
    def _of(
        cls,
        engine: Any,
        options: Options | None = None,
        ragged: bool = False,
        endless: bool = False,
    ) -> Dataset:
        """A dataset of ours around one of the engine's."""
        self = object.__new__(Dataset)
        self._penstock_value = engine
        self._options = options or Options()
        self._ragged = ragged
        self._endless = endless
        self._running = self._indexed = None
        return self

    # --- looking at it --------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """What the elements are, as far as it is known without running.

        >>> import penstock.tf as tf
        >>> tf.data.Dataset.range(3).element_spec
        TensorSpec(shape=(), dtype=tf.int64, name=None)
        """
        return spec_to_tf(self._penstock_value.element_spec)

    def cardinality(self) -> Any:
        """How many elements there are, or a negative number.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(3)
        >>> ds.cardinality().numpy(), ds.repeat().cardinality().numpy()
        (np.int64(3), np.int64(-1))
        """
        return Int64(self._count())

    def _count(self) -> int:
        """The cardinality; of `repeat()` infinite, whether it may end or not."""
        count: int = self._penstock_value.cardinality()
        return INFINITE if self._endless and count == UNKNOWN else count

    def __len__(self) -> int:
        count = self._count()
        if count == INFINITE:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self) -> bool:
        return True

    def options(self) -> Options:
        """The options of this dataset and its inputs.

        >>> import penstock.tf as tf
        >>> tf.data.Dataset.range(3).options().deterministic
        """
        self._options._freeze()
        return self._options

    def fingerprint(self) -> Any:
        """Equal for graphs that give equal elements.

        >>> import penstock.tf as tf
        >>> a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(3)
        >>> bool(a.fingerprint() == b.fingerprint())
        True
        """
        text = self._penstock_value.fingerprint.encode()
        from hashlib import sha256

        return UInt64(int.from_bytes(sha256(text).digest()[:8], "little"))

    def explain(self) -> str:
        """How it will run; see `penstock.Dataset.explain`.

        >>> import penstock.tf as tf
        >>> print(tf.data.Dataset.range(3).explain().splitlines()[0])
        range#0  range(0, 3, 1)  -> int64, 3 elements, indexed
        """
        return self._penstock_value.explain()

    def __repr__(self) -> str:
        return f"<Dataset element_spec={self.element_spec!r}>"

    # --- running ----------------------------------------------------------------

    def _runnable(self) -> Any:
        """The engine's dataset as it is iterated."""
        if self._running is None:
            engine = self._penstock_value
            lazy = self._options.experimental_optimization.inject_prefetch is False
            if lazy and not engine._native.stage.startswith("prefetch"):
                # Nothing ahead of the consumer, unless the user says so.
                engine = engine.prefetch(0)
            seed = _seeds.global_seed()
            if seed is not None:
                engine = engine.with_options(EngineOptions(seed=seed % 2**63))
            self._running = engine
        return self._running

    def __iter__(self) -> Iterator:
        return Iterator(self._runnable())

    def make_one_shot_iterator(self) -> Iterator:
        """``iter(self)``, by its name in TensorFlow 1.

        >>> import penstock.tf as tf
        >>> int(tf.data.Dataset.range(3).make_one_shot_iterator().get_next())
        0
        """
        return iter(self)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Elements as plain NumPy values; arrays are read-only.

        >>> import penstock.tf as tf
        >>> list(tf.data.Dataset.range(2).as_numpy_iterator())
        [np.int64(0), np.int64(1)]
        """
        return NumpyIterator(self._runnable())

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        >>> import penstock.tf as tf
        >>> int(tf.data.Dataset.range(7, 8).get_single_element())
        7
        """
        first = list(self.take(2))
        if len(first) != 1:
            what = "empty" if not first else "of more than one element"
            raise InvalidArgumentError(f"get_single_element: the dataset is {what}.")
        return first[0]

    def reduce(
        self,
        initial_state: Any,
        reduce_func: Callable[..., Any],
        name: str | None = None,
    ) -> Any:
        """``state = reduce_func(state, element)`` over all elements.

        >>> import penstock.tf as tf
        >>> int(tf.data.Dataset.range(5).reduce(tf.constant(0, tf.int64),
        ...                                     lambda total, x: total + x))
        10
        """
        check_callable("reduce", "reduce_func", reduce_func)
        state = _same_state(unwrap(initial_state))
        kinds = [_kind(leaf) for leaf in _structure.flatten(state)]
        for element in self:
            state = reduce_func(wrap(state), element)
            if type(state) is list:
                state = tuple(state)
            state = _same_state(unwrap(state))
            found = [_kind(leaf) for leaf in _structure.flatten(state)]
            if found != kinds:
                raise TypeError(
                    "The element types for the new state must match the initial "
                    f"state. Expected {kinds}; got {found}."
                )
        return wrap(state)

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Iterates, and writes all elements to the directory `path`.

        >>> import penstock.tf as tf, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     tf.data.Dataset.range(4).save(where, shard_func=lambda x: x % 2)
        ...     [int(x) for x in tf.data.Dataset.load(where)]
        [0, 1, 2, 3]
        """
        where = paths(path)
        if shard_func is None:
            self._runnable().save(where)
            return
        fn = call("save", shard_func, "number")
        shards = 1 + max((int(fn(*_arguments(e))) for e in self), default=0)
        self._runnable().save(where, shards, fn)

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """``transformation_func(self)``.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(4).apply(lambda d: d.take(2))
        >>> [int(x) for x in ds]
        [0, 1]
        """
        check_callable("apply", "transformation_func", transformation_func)
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `Dataset` object. Got {made!r}."
            )
        return made

    def _at(self, index: Any) -> Any:
        """Element `index`, for `tf.data.experimental.at`."""
        i = int(index)
        count = self._penstock_value.cardinality()
        if i < 0 or 0 <= count <= i:
            raise OutOfRangeError(f"Index out of range [0, {count}): {i}")
        if self._indexed is None:
            self._indexed = _with_random_access(self._penstock_value)
        return wrap(self._indexed[i])

    def __copy__(self) -> Dataset:
        return self

    def __deepcopy__(self, memo: Any) -> Dataset:
        return self

    def __reduce__(self) -> Any:
        state = self._penstock_value, self._options, self._ragged, self._endless
        return Dataset._of, state


def _with_random_access(engine: engine_dataset.Dataset) -> engine_dataset.Dataset:
    """`engine`, where every shuffle is one of all elements: so does TensorFlow."""
    if engine._recipe is None:
        return engine
    steps = [
        (method, parent, (GLOBAL, *args[1:]) if method == "shuffle" else args, kwargs)
        for method, parent, args, kwargs in recipes.steps_of(engine)
    ]
    if all(step[0] != "shuffle" for step in steps):
        return engine
    try:
        return recipes.build(steps)
    except InvalidArgumentError:
        return engine  # which says what has no random access


def _arguments(element: Any) -> tuple[Any, ...]:
    return element if type(element) is tuple else (element,)


def _kind(leaf: Any) -> str:
    if isinstance(leaf, (str, bytes)):
        return "string"
    dtype = np.asarray(leaf).dtype
    return "string" if dtype == object else str(dtype)


def _same_state(state: Any) -> Any:
    """Strings of a state as bytes."""
    return state.encode() if isinstance(state, str) else state
