"""Running pipelines, with TensorFlow's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock._dataset import Dataset as EngineDataset
from penstock._errors import InvalidArgumentError, OutOfRangeError
from penstock._iterator import Iterator as EngineIterator
from penstock.tf._shapes import spec_to_tf
from penstock.tf._values import plain, wrap

if TYPE_CHECKING:
    from typing_extensions import Self

    from penstock._report import Report


class Iterator:
    """What ``iter(ds)`` gives.

    >>> import penstock.tf as tf
    >>> it = iter(tf.data.Dataset.range(2))
    >>> int(next(it)), int(it.get_next())
    (0, 1)
    """

    __slots__ = ("__weakref__", "_dataset", "_it")
    _convert: Any = staticmethod(wrap)

    def __init__(self, dataset: EngineDataset) -> None:
        self._dataset = dataset
        self._it = EngineIterator(dataset)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        try:
            return self._convert(next(self._it))
        except OutOfRangeError as error:
            # That is the end, there; a bad index is an argument that is wrong.
            other = InvalidArgumentError(str(error))
            other.__notes__ = getattr(error, "__notes__", [])
            raise other from error

    next = __next__

    def get_next(self) -> Any:
        """The next element; `tf.errors.OutOfRangeError` at the end."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None

    def get_next_as_optional(self) -> Optional:
        """The next element, or an `Optional` without value at the end."""
        try:
            return Optional(next(self))
        except StopIteration:
            return Optional(spec=self.element_spec)

    @property
    def element_spec(self) -> Any:
        return spec_to_tf(self._dataset.element_spec)

    def state_dict(self) -> dict[str, Any]:
        """Where this iterator is, for `load_state_dict`."""
        return self._it.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Continues where another iterator of an equal dataset was."""
        self._it.load_state_dict(state)

    def stats(self) -> Any:
        """The counters of the pipeline; see `penstock.Iterator.stats`."""
        return self._it.stats()

    def doctor(self, seconds: float = 2.0) -> Report:
        """What limits the pipeline; see `penstock.Iterator.doctor`."""
        return self._it.doctor(seconds)

    def close(self) -> None:
        self._it.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class NumpyIterator(Iterator):
    """What ``ds.as_numpy_iterator()`` gives: plain NumPy, read-only.

    >>> import penstock.tf as tf
    >>> next(tf.data.Dataset.range(3).batch(3).as_numpy_iterator())
    array([0, 1, 2])
    """

    __slots__ = ()
    _convert = staticmethod(plain)


_MISSING = object()


class Optional:
    """A value, or none: what `Iterator.get_next_as_optional` gives.

    >>> import penstock.tf as tf
    >>> it = iter(tf.data.Dataset.range(1))
    >>> first, second = it.get_next_as_optional(), it.get_next_as_optional()
    >>> bool(first.has_value()), bool(second.has_value())
    (True, False)
    """

    __slots__ = ("_spec", "_value")

    def __init__(self, value: Any = _MISSING, spec: Any = None) -> None:
        self._value = value
        self._spec = spec

    def has_value(self, name: str | None = None) -> Any:
        from penstock.tf._values import convert_to_tensor

        return convert_to_tensor(self._value is not _MISSING)

    @property
    def element_spec(self) -> Any:
        """The spec of the value, or the one that an empty one was given."""
        from penstock.tf import _structure
        from penstock.tf._shapes import type_spec_from_value

        if self._value is _MISSING:
            return self._spec
        return _structure.map_structure(type_spec_from_value, self._value)

    def get_value(self, name: str | None = None) -> Any:
        if self._value is _MISSING:
            raise InvalidArgumentError("The given optional does not have a value.")
        return self._value

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An `Optional` with this value, its parts as tensors."""
        from penstock.tf import _structure
        from penstock.tf._values import convert_to_tensor

        return Optional(_structure.map_structure(convert_to_tensor, value))

    @staticmethod
    def empty(element_spec: Any = None) -> Optional:
        return Optional(spec=element_spec)
