"""Static descriptions of elements."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Union

from penstock._dtypes import DType, as_dtype
from penstock._errors import ArgumentTypeError, InvalidArgumentError

Shape = Union[tuple[int | None, ...], None]


def as_shape(shape: Any) -> Shape:
    """A tuple of sizes, None where one is unknown, or None for unknown rank."""
    if shape is None:
        return None
    if not isinstance(shape, Iterable) or isinstance(shape, (str, bytes)):
        raise ArgumentTypeError(
            f"shape: must be None or a sequence of int and None, got {shape!r}"
        )
    dims: list[int | None] = []
    for dim in shape:
        if dim is None:
            dims.append(None)
            continue
        try:
            size = operator.index(dim)
        except TypeError:
            raise ArgumentTypeError(
                f"shape: a dimension must be an int or None, got {dim!r}"
            ) from None
        if size < -1:
            raise InvalidArgumentError(
                f"shape: a dimension must be >= 0, -1 or None, got {size}"
            )
        dims.append(None if size == -1 else size)
    return tuple(dims)


class TensorSpec:
    """One tensor: its shape, as far as it is known, and its dtype.

    >>> import penstock as ps
    >>> ps.TensorSpec((None, 3), ps.float32)
    TensorSpec(shape=(None, 3), dtype=penstock.float32)
    >>> ps.Dataset.range(10).batch(4).element_spec
    TensorSpec(shape=(None,), dtype=penstock.int64)
    """

    __slots__ = ("shape", "dtype", "name")
    shape: Shape
    dtype: DType
    name: str | None

    def __init__(
        self, shape: Any = (), dtype: Any = "float32", name: str | None = None
    ) -> None:
        self.shape = as_shape(shape)
        self.dtype = as_dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        shape = "<unknown>" if self.shape is None else repr(self.shape)
        return f"TensorSpec(shape={shape}, dtype={self.dtype!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.shape == other.shape
            and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __reduce__(self) -> Any:
        return TensorSpec, (self.shape, self.dtype, self.name)


class RaggedSpec:
    """A ragged value: the spec of its values and how many levels are ragged.

    >>> import penstock as ps
    >>> ps.RaggedSpec(ps.TensorSpec((None,), ps.int64), 1)
    RaggedSpec(TensorSpec(shape=(None,), dtype=penstock.int64), ragged_rank=1)
    """

    __slots__ = ("values", "ragged_rank")
    values: TensorSpec
    ragged_rank: int

    def __init__(self, values: TensorSpec, ragged_rank: int = 1) -> None:
        self.values = values
        self.ragged_rank = ragged_rank

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    def __repr__(self) -> str:
        return f"RaggedSpec({self.values!r}, ragged_rank={self.ragged_rank})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RaggedSpec)
            and self.values == other.values
            and self.ragged_rank == other.ragged_rank
        )

    def __hash__(self) -> int:
        return hash((self.values, self.ragged_rank))

    def __reduce__(self) -> Any:
        return RaggedSpec, (self.values, self.ragged_rank)


class DatasetSpec:
    """A nested dataset, as `Dataset.window` gives them.

    >>> import penstock as ps
    >>> ps.Dataset.range(4).window(2).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=penstock.int64))
    """

    __slots__ = ("element_spec",)
    element_spec: Any  # None if it is not known

    def __init__(self, element_spec: Any = None) -> None:
        self.element_spec = element_spec

    def __repr__(self) -> str:
        return f"DatasetSpec({'' if self.element_spec is None else self.element_spec})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec)

    def __hash__(self) -> int:
        return hash(DatasetSpec)

    def __reduce__(self) -> Any:
        return DatasetSpec, (self.element_spec,)


class UnknownSpec:
    """The spec of elements nobody has described: `ps.UNKNOWN_SPEC`.

    >>> import penstock as ps
    >>> ps.UNKNOWN_SPEC
    <unknown>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<unknown>"

    def __reduce__(self) -> str:
        return "UNKNOWN_SPEC"


UNKNOWN_SPEC = UnknownSpec()


def check_scalar_signature(op: str, spec: Any) -> None:
    """Refuses what a predicate cannot give."""
    check_signature(op, spec)
    if spec is None or spec is UNKNOWN_SPEC:
        return
    if not isinstance(spec, TensorSpec) or spec.shape not in (None, ()):
        raise InvalidArgumentError(
            f"{op}: output_signature must be a scalar, as fn gives, got {spec!r}"
        )


def check_signature(op: str, spec: Any) -> Any:
    """`spec` if it is made of specs, tuples and dicts."""
    if spec is None or spec is UNKNOWN_SPEC:
        return spec
    if isinstance(spec, tuple):
        for child in spec:
            check_signature(op, child)
    elif isinstance(spec, dict):
        for child in spec.values():
            check_signature(op, child)
    elif not isinstance(spec, (TensorSpec, RaggedSpec, DatasetSpec)):
        raise ArgumentTypeError(
            f"{op}: output_signature must be made of TensorSpec, tuples and "
            f"dicts, got {spec!r}"
        )
    return spec
