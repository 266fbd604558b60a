"""The sources of `tf.data.Dataset`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _ops as engine_ops
from penstock._dataset import Dataset as Engine
from penstock._errors import InvalidArgumentError, NotFoundError
from penstock._functions import check_callable
from penstock._identity import function_identity
from penstock._options import INFINITE
from penstock.tf import _seeds, _shards, _structure, errors
from penstock.tf._dtypes import as_dtype, int64
from penstock.tf._options import Options
from penstock.tf._shapes import RaggedTensorSpec, TensorSpec, spec_from_tf
from penstock.tf._values import convert_to_tensor, unwrap

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


def _of(engine: Any) -> Dataset:
    from penstock.tf._dataset import Dataset

    return Dataset._of(engine)


def _joined(engine: Any, inputs: list[Any]) -> Dataset:
    """A dataset of several others, with the options of all of them."""
    from penstock.tf._dataset import Dataset

    options = Options()
    for one in inputs:
        options = options.merge(one.options())
    return Dataset._of(engine, options)


def engine_of(op: str, dataset: Any) -> Any:
    """The engine's dataset in ours."""
    from penstock.tf._dataset import Dataset

    if not isinstance(dataset, Dataset):
        raise TypeError(f"{op}: must be a Dataset, got {type(dataset).__name__}")
    return dataset._penstock_value


def as_type(dataset: Any, dtype: Any) -> Any:
    """Numbers of an engine's dataset in another dtype."""
    kind = as_dtype(dtype).dtype
    if kind == np.int64:
        return dataset
    return dataset.map(lambda x: engine_ops.cast(x, kind))


def paths(value: Any) -> Any:
    """File names: one, several, or an engine's dataset of them."""
    engine = getattr(value, "_penstock_value", None)
    if engine is not None:
        return engine
    if isinstance(value, np.ndarray):
        return [bytes(v) for v in value.ravel()]
    if isinstance(value, (list, tuple)):
        return [bytes(v) if isinstance(v, bytes) else v for v in value]
    return bytes(value) if isinstance(value, bytes) else value


class _Generated:
    """The items of a user's generator, in the declared types.

    An item that does not fit raises, and the generator goes on.
    """

    def __init__(self, items: Any, signature: Any) -> None:
        self._items = iter(items)
        self._signature = signature

    def __iter__(self) -> _Generated:
        return self

    def __next__(self) -> Any:
        try:
            item = next(self._items)
        except StopIteration:
            raise
        except Exception as error:  # noqa: BLE001 (whatever the user's code raises)
            errors.raise_of_function(error)
        if self._signature is None:
            return unwrap(tuple(item) if type(item) is list else item)
        try:
            return _fit(item, self._signature)
        except (TypeError, ValueError) as error:
            return _misfit(item, str(error))


class _Misfit:
    """Takes the place of an item that does not fit: an error of its own."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __array__(self, *unused: Any, **more: Any) -> Any:
        raise TypeError(self._message)


def _misfit(item: Any, message: str) -> Any:
    # Messages name the class of a value that fails: the user's.
    return type(type(item).__name__, (_Misfit,), {})(message)


def _fit(item: Any, spec: Any) -> Any:
    """One item of a generator as its spec says, or TypeError."""
    if isinstance(spec, TensorSpec):
        return _fit_tensor(item, spec)
    if isinstance(spec, RaggedTensorSpec):
        return unwrap(item)
    if isinstance(spec, dict):
        if not isinstance(item, dict) or set(item) != set(spec):
            raise TypeError(_mismatch(item, spec))
        return {k: _fit(item[k], s) for k, s in spec.items()}
    if isinstance(spec, (tuple, list)):
        if not isinstance(item, (tuple, list)) or len(item) != len(spec):
            raise TypeError(_mismatch(item, spec))
        parts = [_fit(i, s) for i, s in zip(item, spec)]
        return _structure.encode_tuple(spec, parts)
    return unwrap(item)


def _mismatch(item: Any, spec: Any) -> str:
    return (
        "from_generator: `generator` yielded an element that did not match the "
        f"expected structure. The expected structure was {spec}, but the yielded "
        f"element was {item!r}."
    )


def _fit_tensor(item: Any, spec: TensorSpec) -> Any:
    wanted = spec.dtype.dtype
    if isinstance(item, dict):
        raise TypeError(_mismatch(item, spec))
    value = _of_type(item, wanted)
    if value is None:
        raise TypeError(
            "from_generator: `generator` yielded an element that could not be "
            f"converted to the expected type. The expected type was "
            f"{spec.dtype.name}, but the yielded element was {item!r}."
        )
    shape = () if isinstance(value, (str, bytes)) else value.shape
    if not spec.shape.is_compatible_with(shape):
        raise TypeError(
            f"from_generator: `generator` yielded an element of shape {shape} where an "
            f"element of shape {spec.shape} was expected."
        )
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _of_type(item: Any, wanted: np.dtype[Any]) -> Any:
    """An item of a generator in a dtype; None if it cannot be."""
    if isinstance(item, (str, bytes)):
        return item if wanted == object else None
    if isinstance(item, (list, tuple)) and not len(item):
        return np.zeros(np.shape(item), wanted)
    value = np.asarray(unwrap(list(item) if isinstance(item, tuple) else item))
    if value.dtype.kind in "OSU" or wanted == object:
        return value if wanted == object and value.dtype.kind in "OSU" else None
    if value.dtype == wanted:
        return value
    # TensorFlow asks NumPy for an array of the type: fractions are cut off.
    with np.errstate(all="ignore"):
        return value.astype(wanted)


class _Generator:
    """Makes the iterator of an iteration; compares by the user's function."""

    def __init__(self, fn: Any, args: tuple[Any, ...], signature: Any) -> None:
        self.fn = fn
        self.args = args
        self.signature = signature

    @property
    def fingerprint(self) -> str:
        return function_identity((self.fn, self.args))

    def __call__(self) -> _Generated:
        try:
            return _Generated(self.fn(*self.args), self.signature)
        except Exception as error:  # noqa: BLE001 (whatever the user's code raises)
            errors.raise_of_function(error)


def _signature(types: Any, shapes: Any) -> Any:
    """output_types and output_shapes as one signature."""
    if isinstance(types, dict):
        return {
            k: _signature(t, None if shapes is None else shapes[k])
            for k, t in types.items()
        }
    if isinstance(types, (tuple, list)):
        parts = [
            _signature(t, None if shapes is None else shapes[i])
            for i, t in enumerate(types)
        ]
        return _structure.encode_tuple(types, parts)
    return TensorSpec(shapes, types)


class Sources:
    """Mixed into `Dataset`."""

    __slots__ = ()

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """``range(stop)`` or ``range(start, stop[, step])``.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(2, 8, 3, output_type=tf.int32)]
        [2, 5]
        """
        dtype = kwargs.pop("output_type", int64)
        name = kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"range: unknown arguments {sorted(kwargs)}")
        if not 1 <= len(args) <= 3:
            raise ValueError(f"range takes 1 to 3 numbers, got {len(args)}")
        numbers = [int(a) for a in args]
        return _of(as_type(Engine.range(*numbers, name=name), dtype))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element.

        >>> import penstock.tf as tf
        >>> next(iter(tf.data.Dataset.from_tensors([1, 2]))).numpy()
        array([1, 2], dtype=int32)
        """
        return _of(Engine.from_tensors(unwrap(tensors), name=name))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The slices along the first dimension.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
        >>> [(int(n), s.numpy()) for n, s in ds]
        [(1, b'a'), (2, b'b')]
        """
        from penstock.tf.sparse import rows_of

        rows = rows_of(tensors)
        if rows is not None:
            made = _of(Engine.from_list([unwrap(r) for r in rows], name=name))
            made._ragged = _has_ragged(tensors)
            return made
        return _of(Engine.from_tensor_slices(_arrays(unwrap(tensors)), name=name))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a generator gives, in the declared types.

        >>> import penstock.tf as tf
        >>> def numbers(stop):
        ...     yield from range(stop)
        >>> ds = tf.data.Dataset.from_generator(
        ...     numbers, args=[3], output_signature=tf.TensorSpec((), tf.int32))
        >>> [int(x) for x in ds]
        [0, 1, 2]
        """
        check_callable("from_generator", "generator", generator)
        if output_types is not None:
            if output_signature is not None:
                raise TypeError(
                    "from_generator: give either output_signature or output_types"
                )
            output_signature = _signature(output_types, output_shapes)
        elif output_shapes is not None:
            raise TypeError("from_generator: output_shapes needs output_types")
        bound = tuple(convert_to_tensor(a).numpy() for a in args or ())
        engine = Engine.from_generator(
            _Generator(generator, bound, output_signature),
            None if output_signature is None else spec_from_tf(output_signature),
            name=name,
        )
        return _of(engine)

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The files that match, in random order unless ``shuffle=False``.

        >>> import penstock.tf as tf
        >>> tf.data.Dataset.list_files("/no/*")
        Traceback (most recent call last):
        ...
        penstock._errors.InvalidArgumentError: list_files: No files matched ...
        """
        patterns = paths(file_pattern)
        if isinstance(patterns, Engine):
            patterns = list(patterns)
        chosen: dict[str, Any] = {"shuffle": True, "seed": _seeds.of(seed)}
        try:
            return _of(
                Engine.list_files(
                    patterns,
                    name=name,
                    **(chosen if shuffle is None or shuffle else {}),
                )
            )
        except NotFoundError:
            listed = patterns if isinstance(patterns, list) else [patterns]
            texts = ", ".join(os.fsdecode(p) for p in listed)
            raise InvalidArgumentError(
                f"list_files: No files matched pattern: {texts}"
            ) from None

    @staticmethod
    def random(
        seed: Any = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Random int64 in [0, 2**32), without end.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.random(seed=4).take(3)
        >>> list(ds.as_numpy_iterator()) == list(ds.as_numpy_iterator())
        True
        """
        return _of(
            Engine.random(_seeds.of(seed), bool(rerandomize_each_iteration), name=name)
        )

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None
    ) -> Dataset:
        """``start, start + step, ...`` without end.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.counter(5, 2).take(2)]
        [5, 7]
        """
        return _of(as_type(Engine.counter(int(start), int(step), name=name), dtype))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Element i of every dataset as one; takes datasets or a structure.

        >>> import penstock.tf as tf
        >>> a, b = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9)
        >>> [(int(x), int(y)) for x, y in tf.data.Dataset.zip((a, b))]
        [(0, 5), (1, 6)]
        """
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        structure = datasets if datasets is not None else args
        if len(args) == 1:
            structure = args[0]
        if isinstance(structure, Sources):
            engine = Engine.zip(engine_of("zip", structure), name=name)
            return _joined(engine, [structure])

        def inner(value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                if isinstance(value, list):
                    raise TypeError(
                        "zip: the datasets must be given as a tuple, got a list"
                    )
                return _structure.encode_tuple(value, [inner(v) for v in value])
            if isinstance(value, dict):
                return {k: inner(v) for k, v in value.items()}
            return engine_of("zip", value)

        engine = Engine.zip(inner(structure), name=name)
        return _joined(engine, _structure.flatten(structure))

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Any = None,
        wait: bool = False,
    ) -> Dataset:
        """What `Dataset.save` wrote at `path`.

        `reader_func` makes the dataset of a dataset of the shards.

        >>> import penstock.tf as tf, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     tf.data.Dataset.range(2).save(where)
        ...     [int(x) for x in tf.data.Dataset.load(where)]
        [0, 1]
        """
        if reader_func is not None:
            return _shards.read("load", _shards.saved(paths(path)), reader_func)
        return _of(Engine.load(paths(path)))

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Each element from one of `datasets`, drawn at random.

        >>> import penstock.tf as tf
        >>> a = tf.data.Dataset.from_tensors(0).repeat(2)
        >>> ds = tf.data.Dataset.sample_from_datasets([a, a], [0.5, 0.5], seed=1)
        >>> [int(x) for x in ds]
        [0, 0, 0, 0]
        """
        op = "sample_from_datasets"
        if weights is not None and not isinstance(weights, Sources):
            weights = [float(w) for w in weights]
        inputs = list(datasets)
        engine = Engine.sample_from_datasets(
            [engine_of(op, d) for d in inputs],
            weights,
            _seeds.of(seed),
            bool(stop_on_empty_dataset),
            bool(rerandomize_each_iteration),
        )
        made = _joined(engine, inputs)
        made._endless = any(d._count() == INFINITE for d in inputs)
        return made

    @staticmethod
    def choose_from_datasets(
        datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Elements of `datasets` in the order that `choice_dataset` says.

        >>> import penstock.tf as tf
        >>> a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)
        >>> choice = tf.data.Dataset.from_tensor_slices([1, 0]).map(
        ...     lambda i: tf.cast(i, tf.int64))
        >>> ds = tf.data.Dataset.choose_from_datasets([a, b], choice)
        >>> [int(x) for x in ds]
        [10, 0]
        """
        op = "choose_from_datasets"
        inputs = list(datasets)
        engine = Engine.choose_from_datasets(
            [engine_of(op, d) for d in inputs],
            engine_of(op, choice_dataset),
            bool(stop_on_empty_dataset),
        )
        return _joined(engine, [*inputs, choice_dataset])


def _has_ragged(tensors: Any) -> bool:
    from penstock.tf._ragged import RaggedTensor

    return any(isinstance(t, RaggedTensor) for t in _structure.flatten(tensors))


def _arrays(value: Any) -> Any:
    """Leaves that the engine slices: a scalar cannot be."""
    if isinstance(value, dict):
        return {k: _arrays(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return _structure.encode_tuple(value, [_arrays(v) for v in value])
    if isinstance(value, (str, bytes, np.generic)):
        raise ValueError(  # noqa: TRY004 (as TensorFlow)
            "Unbatching a tensor is only supported for rank >= 1"
        )
    return value


__all__ = ["Sources", "engine_of", "paths"]


def _traced_source(name: str) -> Any:
    def form() -> Any:
        from penstock.tf import _template

        return getattr(_template.Sources, name)

    return form


# ``flat_map(tf.data.Dataset.from_tensor_slices)``: the function as it is.
for _name in ("range", "from_tensors", "from_tensor_slices"):
    getattr(Sources, _name).__penstock_form__ = _traced_source(_name)
