"""TensorShape, and the specs of elements as tf.data shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock import _spec as base
from penstock.tf._dtypes import DType, as_dtype, float32, int64

if TYPE_CHECKING:
    from typing_extensions import Self


class TensorShape(tuple):  # type: ignore[type-arg]
    """A shape whose dimensions, or whose rank, may be unknown.

    >>> import penstock.tf as tf
    >>> shape = tf.TensorShape([None, 3])
    >>> shape, shape.rank, shape.as_list(), shape.is_fully_defined()
    (TensorShape([None, 3]), 2, [None, 3], False)
    >>> tf.TensorShape(None)
    TensorShape(None)
    """

    _known: bool

    def __new__(cls, dims: Any = None) -> Self:
        known = True
        if isinstance(dims, TensorShape):
            known = dims._known
        if dims is None:
            known, dims = False, ()
        elif not isinstance(dims, Iterable):
            dims = (dims,)
        self = tuple.__new__(cls, base.as_shape(dims) or ())
        self._known = known
        return self

    @property
    def rank(self) -> int | None:
        return len(self) if self._known else None

    @property
    def ndims(self) -> int | None:
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        return list(self) if self._known else None

    def as_list(self) -> list[int | None]:
        if not self._known:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self)

    def num_elements(self) -> int | None:
        if not self.is_fully_defined():
            return None
        total = 1
        for dim in self:
            total *= dim
        return total

    def is_fully_defined(self) -> bool:
        return self._known and None not in tuple(self)

    def is_compatible_with(self, other: Any) -> bool:
        other = TensorShape(other)
        if not (self._known and other._known):
            return True
        return len(self) == len(other) and all(
            a is None or b is None or a == b for a, b in zip(self, other)
        )

    def merge_with(self, other: Any) -> TensorShape:
        shape = TensorShape(other)
        if not self.is_compatible_with(shape):
            raise ValueError(f"Shapes {self} and {shape} are not compatible")
        if not self._known:
            return shape
        if not shape._known:
            return self
        return TensorShape([b if a is None else a for a, b in zip(self, shape)])

    def concatenate(self, other: Any) -> TensorShape:
        other = TensorShape(other)
        if not (self._known and other._known):
            return TensorShape(None)
        return TensorShape((*self, *other))

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def with_rank(self, rank: int) -> TensorShape:
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        rank = TensorShape(other).rank
        if None not in (self.rank, rank) and self.rank != rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every shape that this stands for is one that `other` does."""
        shape = TensorShape(other)
        if not shape._known:
            return True
        return self.rank == shape.rank and all(
            b is None or a == b for a, b in zip(self, shape)
        )

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        shape = TensorShape(other)
        if self.rank is None or self.rank != shape.rank:
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self, shape)])

    def most_specific_common_supertype(self, others: Any) -> TensorShape:
        shape = self
        for other in others:
            shape = shape.most_specific_compatible_shape(other)
        return shape

    def __getitem__(self, key: Any) -> Any:
        got = tuple.__getitem__(self, key)
        return TensorShape(got) if isinstance(key, slice) else got

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        if other is None:
            return not self._known
        try:
            shape = TensorShape(other)
        except (TypeError, ValueError):
            return False
        return self._known == shape._known and tuple(self) == tuple(shape)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __bool__(self) -> bool:
        return self._known

    def __str__(self) -> str:
        if not self._known:
            return "<unknown>"
        return str(tuple(self))

    def __repr__(self) -> str:
        return f"TensorShape({list(self) if self._known else None})"

    def __reduce__(self) -> Any:
        return TensorShape, (list(self) if self._known else None,)


class _Spec:
    """What every spec has: a shape, as far as it is known, and a dtype."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    def _parts(self) -> tuple[Any, ...]:
        """What makes the same spec of another shape, behind the shape."""
        return (self._dtype,)

    def most_specific_common_supertype(self, others: Any) -> Any:
        """The spec of all that this or one of `others` describes, or None.

        >>> import penstock.tf as tf
        >>> a, b = tf.TensorSpec([2, 3]), tf.TensorSpec([2, 4])
        >>> a.most_specific_common_supertype([b])
        TensorSpec(shape=(2, None), dtype=tf.float32, name=None)
        """
        for other in others:
            if type(other) is not type(self) or other._parts() != self._parts():
                return None
        shapes = [other.shape for other in others]
        shape = self._shape.most_specific_common_supertype(shapes)
        return type(self)(shape, *self._parts())

    def most_specific_compatible_type(self, other: Any) -> Any:
        """The spec of all that this or `other` describes.

        >>> import penstock.tf as tf
        >>> tf.TensorSpec([2]).most_specific_compatible_type(tf.TensorSpec([2, 2]))
        TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found


class TensorSpec(_Spec):
    """One tensor: its shape, as far as it is known, and its dtype.

    >>> import penstock.tf as tf
    >>> tf.TensorSpec([None, 2], tf.int32)
    TensorSpec(shape=(None, 2), dtype=tf.int32, name=None)
    """

    __slots__ = ("_name",)

    def __init__(
        self, shape: Any = None, dtype: Any = float32, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype)
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def value_type(self) -> Any:
        from penstock.tf._values import AnyTensor

        return AnyTensor

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        from penstock.tf._values import convert_to_tensor

        value = convert_to_tensor(tensor)
        if isinstance(value, bytes):
            return cls((), "string", name)
        return cls(value.shape, value.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    def is_subtype_of(self, other: Any) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.dtype == other.dtype
            and self.shape.is_subtype_of(other.shape)
        )

    def is_compatible_with(self, other: Any) -> bool:
        if not isinstance(other, TensorSpec):
            other = TensorSpec.from_tensor(other)
        return self.dtype == other.dtype and self.shape.is_compatible_with(other.shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.name == other.name
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return (
            f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
        )

    def __reduce__(self) -> Any:
        return TensorSpec, (self._shape, self._dtype, self._name)


class _CompositeSpec(_Spec):
    """What the specs of ragged and sparse tensors have in common."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> Any:
        return type(self), (self._shape, self._dtype)

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """The spec of a value of this kind."""
        made = type_spec_from_value(value)
        if not isinstance(made, cls):
            raise TypeError(f"{cls.__name__}.from_value: got {value!r}")
        return made


class RaggedTensorSpec(_CompositeSpec):
    """A ragged tensor: shape, dtype, and how many of its levels are ragged.

    >>> import penstock.tf as tf
    >>> tf.RaggedTensorSpec([None, None], tf.int32)
    RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)
    """

    __slots__ = ("_ragged_rank",)

    @property
    def value_type(self) -> Any:
        from penstock.tf._ragged import RaggedTensor

        return RaggedTensor

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
        flat_values_spec: Any = None,
    ) -> None:
        super().__init__(shape, dtype)
        if ragged_rank is None:
            ragged_rank = max(0, (self._shape.rank or 2) - 1)
        self._ragged_rank = ragged_rank

    @property
    def ragged_rank(self) -> int:
        return self._ragged_rank

    def _parts(self) -> tuple[Any, ...]:
        return self._dtype, self._ragged_rank

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            "tf.int64)"
        )

    def __reduce__(self) -> Any:
        return RaggedTensorSpec, (self._shape, *self._parts())


class SparseTensorSpec(_CompositeSpec):
    """A sparse tensor: its dense shape and dtype.

    >>> import penstock.tf as tf
    >>> tf.SparseTensorSpec([None, 3], tf.float32)
    SparseTensorSpec(TensorShape([None, 3]), tf.float32)
    """

    __slots__ = ()

    @property
    def value_type(self) -> Any:
        from penstock.tf._ragged import SparseTensor

        return SparseTensor

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        super().__init__(shape, dtype)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


class DatasetSpec:
    """A nested dataset, as `Dataset.window` gives them.

    >>> import penstock.tf as tf
    >>> tf.data.Dataset.range(4).window(2).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
    """

    __slots__ = ("element_spec",)

    def __init__(self, element_spec: Any = None, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec)

    def __hash__(self) -> int:
        return hash(DatasetSpec)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"


class NoneTensorSpec:
    """The spec of None in a structure."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


class OptionalSpec(NoneTensorSpec):
    """The spec of a `tf.experimental.Optional`."""


def type_spec_from_value(value: Any) -> Any:
    """The spec of a value.

    >>> import penstock.tf as tf
    >>> tf.type_spec_from_value(tf.constant([1, 2]))
    TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """
    from penstock.tf._dataset import Dataset
    from penstock.tf._ragged import RaggedTensor, SparseTensor

    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    if isinstance(value, Dataset):
        return DatasetSpec(value.element_spec)
    return TensorSpec.from_tensor(value)


def spec_to_tf(spec: Any) -> Any:
    """Penstock's spec in TensorFlow's classes."""
    from penstock.tf import _structure

    if isinstance(spec, base.TensorSpec):
        return TensorSpec(spec.shape, spec.dtype)
    if isinstance(spec, base.RaggedSpec):
        rows = [None] * (spec.ragged_rank + 1)
        inner = spec.values.shape or (None,)
        return RaggedTensorSpec((*rows, *inner[1:]), spec.dtype, spec.ragged_rank)
    if isinstance(spec, base.DatasetSpec):
        inner = spec.element_spec
        return DatasetSpec(None if inner is None else spec_to_tf(inner))
    if spec is None:
        return NoneTensorSpec()
    if isinstance(spec, dict):
        return {k: spec_to_tf(v) for k, v in spec.items()}
    if isinstance(spec, tuple):
        parts = [spec_to_tf(v) for v in spec]
        carried: Any = getattr(type(spec), "carried", None)
        if hasattr(carried, "__penstock_spec__"):
            return carried.__penstock_spec__(parts)
        return _structure.rebuild(spec, parts)
    return TensorSpec(None, "unknown")


def spec_from_tf(spec: Any) -> Any:
    """A signature as the engine takes it."""
    from penstock.tf import _structure

    if isinstance(spec, TensorSpec):
        shape = tuple(spec.shape) if spec.shape._known else None
        return base.TensorSpec(shape, spec.dtype.name)
    if isinstance(spec, RaggedTensorSpec):
        inner = tuple(spec.shape)[spec.ragged_rank + 1 :]
        return base.RaggedSpec(
            base.TensorSpec((None, *inner), spec.dtype.name), spec.ragged_rank
        )
    if isinstance(spec, DatasetSpec):
        inner = spec.element_spec
        return base.DatasetSpec(None if inner is None else spec_from_tf(inner))
    if isinstance(spec, SparseTensorSpec):
        from penstock.tf._ragged import SparseTensor

        rank = spec.shape.rank
        parts = (
            ((None, rank), "int64"),
            ((None,), spec.dtype.name),
            ((rank,), "int64"),
        )
        made = (base.TensorSpec(shape, dtype) for shape, dtype in parts)
        return _structure.carrier(SparseTensor)(*made)
    if isinstance(spec, NoneTensorSpec) or spec is None:
        return None
    if isinstance(spec, dict):
        return {k: spec_from_tf(v) for k, v in spec.items()}
    if isinstance(spec, list):
        return tuple(spec_from_tf(v) for v in spec)
    if isinstance(spec, tuple):
        return _structure.encode_tuple(spec, [spec_from_tf(v) for v in spec])
    if isinstance(spec, (base.TensorSpec, base.RaggedSpec, base.DatasetSpec)):
        return spec
    return _structure.encode_fields(spec, spec_from_tf)
