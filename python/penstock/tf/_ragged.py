"""Ragged and sparse tensors: holders with the methods that pipelines use."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock._ragged import Ragged
from penstock._trace_ragged import TracedRagged
from penstock.tf import _structure
from penstock.tf._dtypes import as_dtype, int64, numpy_dtype
from penstock.tf._shapes import RaggedTensorSpec, SparseTensorSpec, TensorShape
from penstock.tf._values import convert_to_tensor, wrap


def _array(values: Any) -> Any:
    """Values with TensorFlow's dtypes: Python's integers are int32, text is bytes."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "U":
        return np.asarray(values)
    return np.asarray(convert_to_tensor(values))


_OPERANDS = (
    "RaggedTensor: the other operand must be a number, have equal rows, or one value "
    "for each row"
)


class RaggedTensor:
    """Rows of different length: flat values and where they are cut.

    >>> import penstock.tf as tf
    >>> rows = tf.ragged.constant([[1, 2], [], [3]])
    >>> rows.to_list(), rows.to_tensor().numpy().tolist()
    ([[1, 2], [], [3]], [[1, 2], [0, 0], [3, 0]])
    >>> (rows * 10)[:, :1].to_list()
    [[10], [], [30]]
    """

    __slots__ = ("_penstock_value",)
    _penstock_value: Ragged
    __penstock_ragged__ = True

    @staticmethod
    def __penstock_kind__(value: Any) -> bool:
        """`isinstance` of a value in a trace."""
        return isinstance(value, TracedRagged) or getattr(
            type(value), "__penstock_ragged__", False
        )

    @classmethod
    def _of(cls, ragged: Ragged) -> RaggedTensor:
        self = object.__new__(cls)
        self._penstock_value = ragged
        return self

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: Any = None, validate: bool = True
    ) -> RaggedTensor:
        inner = getattr(values, "_penstock_value", None)
        splits = np.asarray(row_splits, np.int64)
        flat = inner if isinstance(inner, Ragged) else _array(values)
        if validate and not (
            splits.size
            and splits[0] == 0
            and splits[-1] == len(flat)
            and (np.diff(splits) >= 0).all()
        ):
            raise InvalidArgumentError(
                f"RaggedTensor: row_splits must rise from 0 to the {len(flat)} values, "
                f"got {splits.tolist()[:20]}"
            )
        if isinstance(inner, Ragged):
            return cls._of(Ragged(inner.values, (splits, *inner.nested_row_splits)))
        return cls._of(Ragged(flat, (splits,)))

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: Any = None, validate: bool = True
    ) -> RaggedTensor:
        ends = np.cumsum(np.asarray(row_lengths, np.int64))
        return cls.from_row_splits(values, np.concatenate([[0], ends]))

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: Any = None,
        validate: bool = True,
    ) -> RaggedTensor:
        ids = np.asarray(value_rowids, np.int64)
        least = int(ids.max(initial=-1)) + 1 if nrows is None else int(nrows)
        return cls.from_row_lengths(values, np.bincount(ids, minlength=least))

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: Any = None, validate: bool = True
    ) -> RaggedTensor:
        starts = np.asarray(row_starts, np.int64)
        return cls.from_row_splits(values, np.append(starts, len(values)))

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: Any = None, validate: bool = True
    ) -> RaggedTensor:
        limits = np.asarray(row_limits, np.int64)
        return cls.from_row_splits(values, np.concatenate([[0], limits]))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: Any = None,
    ) -> RaggedTensor:
        size = int(uniform_row_length)
        rows = len(values) // size if nrows is None else int(nrows)
        return cls.from_row_splits(values, np.arange(rows + 1) * size)

    @classmethod
    def _nested(cls, flat_values: Any, level: Any, levels: Any) -> RaggedTensor:
        """`level(values, part)` for every part, the innermost first."""
        made: Any = flat_values
        for part in reversed(list(levels)):
            made = level(made, part)
        return cls._of(made._penstock_value)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: Any = None,
        validate: bool = True,
    ) -> RaggedTensor:
        return cls._nested(flat_values, cls.from_row_splits, nested_row_splits)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: Any = None,
        validate: bool = True,
    ) -> RaggedTensor:
        return cls._nested(flat_values, cls.from_row_lengths, nested_row_lengths)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: Any = None,
        row_splits_dtype: Any = int64,
    ) -> RaggedTensor:
        """The rows of an array, without their padding."""
        if ragged_rank != 1:
            raise ValueError(
                f"from_tensor: ragged_rank must be 1 here, got {ragged_rank}"
            )
        array = _array(tensor)
        if lengths is None:
            sizes = np.full(len(array), array.shape[1], np.int64)
            if padding is not None:
                fill = padding.encode() if isinstance(padding, str) else padding
                used = (array != fill).astype(np.int64)
                sizes = (used * np.arange(1, array.shape[1] + 1)).max(1, initial=0)
        else:
            sizes = np.asarray(lengths, np.int64)
        rows = [row[:size] for row, size in zip(array, sizes, strict=True)]
        flat = np.concatenate(rows) if rows else array.reshape(0, *array.shape[2:])
        return cls.from_row_lengths(flat, sizes)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: Any = None, row_splits_dtype: Any = int64
    ) -> RaggedTensor:
        """The rows of a sparse tensor of two dimensions without gaps."""
        places = np.asarray(st_input.indices)
        rows = int(np.asarray(st_input.dense_shape)[0])
        return cls.from_value_rowids(
            np.asarray(st_input.values), places[:, 0], nrows=rows
        )

    def to_sparse(self, name: Any = None) -> SparseTensor:
        """The values and where they are."""
        if self.ragged_rank > 1:
            inner = self.values.to_sparse()
            places = np.asarray(inner.indices)
            outer = np.asarray(self.value_rowids())[places[:, 0]]
            column = places[:, 0] - np.asarray(self.row_starts())[outer]
            widest = int(np.asarray(self.row_lengths()).max(initial=0))
            sizes = [len(self), widest, *np.asarray(inner.dense_shape)[1:]]
            return SparseTensor(
                np.column_stack([outer, column, places[:, 1:]]), inner.values, sizes
            )
        rows = np.asarray(self.value_rowids())
        columns = np.arange(len(rows)) - np.asarray(self.row_starts())[rows]
        widest = int(np.asarray(self.row_lengths()).max(initial=0))
        places = np.column_stack([rows, columns])
        return SparseTensor(places, self.flat_values, [len(self), widest])

    def value_rowids(self, name: Any = None) -> Any:
        return wrap(np.repeat(np.arange(len(self)), np.asarray(self.row_lengths())))

    def row_starts(self, name: Any = None) -> Any:
        return wrap(np.asarray(self._penstock_value.row_splits)[:-1])

    def row_limits(self, name: Any = None) -> Any:
        return wrap(np.asarray(self._penstock_value.row_splits)[1:])

    def nested_row_lengths(self, name: Any = None) -> tuple[Any, ...]:
        return tuple(
            wrap(np.diff(np.asarray(s))) for s in self._penstock_value.nested_row_splits
        )

    def nested_value_rowids(self, name: Any = None) -> tuple[Any, ...]:
        return tuple(
            wrap(np.repeat(np.arange(len(n)), np.asarray(n)))
            for n in self.nested_row_lengths()
        )

    def bounding_shape(
        self, axis: Any = None, name: Any = None, out_type: Any = None
    ) -> Any:
        sizes = [len(self)]
        for lengths in self.nested_row_lengths():
            sizes.append(int(np.asarray(lengths).max(initial=0)))
        sizes.extend(self._penstock_value.values.shape[1:])
        made = np.array(sizes, np.int64)
        if out_type is not None:
            made = made.astype(numpy_dtype(out_type))
        return wrap(made if axis is None else made[axis])

    @property
    def uniform_row_length(self) -> Any:
        return None

    def get_shape(self) -> TensorShape:
        return self.shape

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows with other values."""
        flat = np.asarray(convert_to_tensor(new_values))
        splits = tuple(self._penstock_value.nested_row_splits)
        return RaggedTensor._of(Ragged(flat, splits))

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same outer rows with other values."""
        return RaggedTensor.from_row_splits(new_values, self.row_splits)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Rows of several dimensions as those of one."""
        rank: Any = self.shape.rank
        outer, inner = outer_axis % rank, inner_axis % rank
        if outer > 1:
            return self.with_values(self.values.merge_dims(outer - 1, inner - 1))
        splits, made = np.asarray(self.row_splits), self.values
        for _ in range(inner - 1):
            if isinstance(made, RaggedTensor):
                splits, made = np.asarray(made.row_splits)[splits], made.values
            else:
                array = np.asarray(made)
                splits = splits * array.shape[1]
                made = wrap(array.reshape(-1, *array.shape[2:]))
        if outer == 1:
            return RaggedTensor.from_row_splits(made, splits)
        return made if inner else self

    @property
    def values(self) -> Any:
        ragged = self._penstock_value
        if ragged.ragged_rank > 1:
            return RaggedTensor._of(
                Ragged(ragged.values, tuple(ragged.nested_row_splits[1:]))
            )
        return wrap(ragged.values)

    @property
    def flat_values(self) -> Any:
        return wrap(self._penstock_value.values)

    @property
    def row_splits(self) -> Any:
        return wrap(np.asarray(self._penstock_value.row_splits))

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        return tuple(
            wrap(np.asarray(s)) for s in self._penstock_value.nested_row_splits
        )

    @property
    def ragged_rank(self) -> int:
        return self._penstock_value.ragged_rank

    @property
    def dtype(self) -> Any:
        return as_dtype(self._penstock_value.dtype)

    @property
    def shape(self) -> TensorShape:
        inner = self._penstock_value.values.shape[1:]
        return TensorShape([len(self), *[None] * self.ragged_rank, *inner])

    def nrows(self, out_type: Any = None, name: Any = None) -> Any:
        kind = np.dtype(np.int64) if out_type is None else numpy_dtype(out_type)
        return wrap(kind.type(len(self)))

    def row_lengths(self, axis: int = 1, name: Any = None) -> Any:
        if axis == 1:
            return wrap(np.diff(self._penstock_value.row_splits))
        return self.with_values(self.values.row_lengths(axis - 1))

    def to_list(self) -> list[Any]:
        return self._penstock_value.to_list()

    def to_tensor(
        self, default_value: Any = None, name: Any = None, shape: Any = None
    ) -> Any:
        fill: Any = 0 if default_value is None else default_value
        ragged = self._penstock_value
        if self.ragged_rank > 1:
            rows = np.asarray(self.values.to_tensor(default_value))
            ragged = Ragged(rows, (ragged.row_splits,))
        dense = ragged.to_dense(fill)
        if shape is not None:
            for axis, size in enumerate(TensorShape(shape)):
                if size is None or size == dense.shape[axis]:
                    continue
                dense = np.take(dense, range(min(size, dense.shape[axis])), axis)
                if dense.shape[axis] < size:
                    widths = [(0, 0)] * dense.ndim
                    widths[axis] = (0, size - dense.shape[axis])
                    dense = _padded(dense, widths, fill)
        return wrap(dense)

    def numpy(self) -> Any:
        rows = [
            row.numpy() if isinstance(row, RaggedTensor) else np.asarray(row)
            for row in self
        ]
        if len({len(r) for r in rows}) <= 1:
            return np.array(rows)
        out = np.empty(len(rows), object)
        out[:] = rows
        return out

    def __len__(self) -> int:
        return len(self._penstock_value)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._rows(np.arange(len(self))[key])
        if key is None or key is Ellipsis:
            key = (key,)
        if not isinstance(key, tuple):
            return wrap(self._penstock_value[key])
        first, *rest = key
        if first is Ellipsis:
            return self._innermost(rest)
        if first is None:
            whole = RaggedTensor.from_row_splits(self, [0, len(self)])
            return whole[(slice(None), *rest)] if rest else whole
        rows = self[first]
        if not rest:
            return rows
        if not isinstance(first, slice):
            return rows[tuple(rest) if len(rest) > 1 else rest[0]]
        if rest[0] is Ellipsis:
            return rows._innermost(rest[1:])
        if not isinstance(rest[0], slice):
            raise ValueError(
                f"RaggedTensor: {key!r} cannot be taken, because rows differ in "
                "length; take a slice of them"
            )
        columns = rows._columns(rest[0])
        if len(rest) == 1:
            return columns
        return columns.with_values(columns.values[(slice(None), *rest[1:])])

    def _innermost(self, rest: list[Any]) -> RaggedTensor:
        """What `[..., *rest]` takes."""
        taken = sum(k is not None for k in rest)
        rank: Any = self.shape.rank
        if taken < np.ndim(self.flat_values):
            return self.with_flat_values(np.asarray(self.flat_values)[(..., *rest)])
        made: RaggedTensor = self[(*[slice(None)] * (rank - taken), *rest)]
        return made

    def _picked(self, places: list[Any]) -> RaggedTensor:
        """Rows of the values at these places, one array for each row."""
        flat = np.concatenate(places) if places else np.empty(0, np.int64)
        values = self.values
        ragged = isinstance(values, RaggedTensor)
        inner = values._rows(flat) if ragged else wrap(np.asarray(values)[flat])
        return RaggedTensor.from_row_lengths(inner, [len(p) for p in places])

    def _rows(self, chosen: Any) -> RaggedTensor:
        splits = np.asarray(self._penstock_value.row_splits)
        return self._picked([np.arange(splits[i], splits[i + 1]) for i in chosen])

    def _columns(self, part: slice) -> RaggedTensor:
        splits = np.asarray(self._penstock_value.row_splits)
        return self._picked(
            [np.arange(a, b)[part] for a, b in zip(splits[:-1], splits[1:])]
        )

    def _flat_of(self, other: Any) -> Any:
        """What an operand is for each value: of equal rows, or one for each row."""
        if isinstance(other, RaggedTensor):
            pairs = zip(self.nested_row_splits, other.nested_row_splits, strict=True)
            if not all(np.array_equal(a, b) for a, b in pairs):
                raise InvalidArgumentError(
                    "RaggedTensor: the rows have different lengths"
                )
            return other.flat_values
        if isinstance(other, (list, tuple)):
            if any(isinstance(v, RaggedTensor) for v in other):
                return type(other)(self._flat_of(v) for v in other)
            kind = np.dtype(self.dtype.name) if self.dtype.name != "string" else None
            other = convert_to_tensor(other, kind)
        shape = np.shape(other) if isinstance(other, np.ndarray) else ()
        if not shape or len(self.nested_row_splits) != 1 or len(shape) != 2:
            if np.ndim(other) and not isinstance(other, (str, bytes)):
                raise ValueError(_OPERANDS)
            return other
        if shape[1] != 1 or shape[0] not in (1, len(self)):
            raise ValueError(_OPERANDS)
        column = np.broadcast_to(np.asarray(other)[:, 0], (len(self),))
        return wrap(np.repeat(column, np.asarray(self.row_lengths())))

    def _with(self, function: Any, other: Any, turned: bool = False) -> RaggedTensor:
        """`function` of the values and of another operand's."""
        mine, other = self.flat_values, self._flat_of(other)
        return self.with_flat_values(
            function(other, mine) if turned else function(mine, other)
        )

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return False if other is None else self._with(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else self._with(operator.ne, other)

    def __invert__(self) -> RaggedTensor:
        return self.with_flat_values(~self.flat_values)

    def __abs__(self) -> RaggedTensor:
        return self.with_flat_values(abs(self.flat_values))

    def __neg__(self) -> RaggedTensor:
        return self.with_flat_values(-self.flat_values)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {_shown(self)}>"

    def __reduce__(self) -> Any:
        return RaggedTensor._of, (self._penstock_value,)


def _shown(row: Any) -> str:
    """Rows as text, numbers with the digits of their dtype."""
    if isinstance(row, RaggedTensor) or np.ndim(row):
        return f"[{', '.join(map(_shown, row))}]"
    plain = row.numpy()
    return repr(plain) if isinstance(plain, bytes) else str(plain)


def _padded(dense: Any, widths: Any, fill: Any) -> Any:
    """`dense` with `fill` around it, also where it holds strings."""
    sizes = [before + n + behind for n, (before, behind) in zip(dense.shape, widths)]
    out = np.empty(sizes, dense.dtype)
    if dense.dtype == object:
        fill = b"" if isinstance(fill, int) else bytes(convert_to_tensor(fill))
    out.fill(fill)
    out[tuple(slice(w, w + n) for n, (w, _) in zip(dense.shape, widths))] = dense
    return out


def _operator(name: str, turned: bool) -> Any:
    function = getattr(operator, name)

    def method(self: RaggedTensor, other: Any) -> RaggedTensor:
        return self._with(function, other, turned)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(RaggedTensor, f"__{_name}__", _operator(_name, False))
    setattr(RaggedTensor, f"__r{_name}__", _operator(_name, True))
for _name in ("lt", "le", "gt", "ge", "and_", "or_", "xor"):
    _method = f"__{_name.rstrip('_')}__"
    setattr(RaggedTensor, _method, _operator(_name, False))


class SparseTensor:
    """The values that are not zero, and where they are.

    >>> import penstock.tf as tf
    >>> s = tf.sparse.SparseTensor([[0, 1]], [5], [2, 2])
    >>> tf.sparse.to_dense(s).numpy().tolist()
    [[0, 5], [0, 0]]
    """

    __penstock_fields__: tuple[str, ...] = ("indices", "values", "dense_shape")

    @staticmethod
    def __penstock_kind__(value: Any) -> bool:
        """`isinstance` of a value in a trace."""
        return isinstance(value, (SparseTensor, _structure.carrier(SparseTensor)))

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self.indices = convert_to_tensor(indices, "int64")
        self.values = convert_to_tensor(values)
        self.dense_shape = convert_to_tensor(dense_shape, "int64")

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape([int(d) for d in self.dense_shape])

    def get_shape(self) -> TensorShape:
        return self.shape

    @classmethod
    def __penstock_spec__(cls, parts: list[Any]) -> SparseTensorSpec:
        """The spec of a value that travels as `parts`."""
        if cls is SparseTensor:
            _, values, dense_shape = parts
            rank = (tuple(dense_shape.shape) or (None,))[0]
            shape = None if rank is None else (None,) * rank
            return SparseTensorSpec(shape, values.dtype)
        held = parts[0]
        rows = 2 if isinstance(held, RaggedTensorSpec) else 1
        return SparseTensorSpec((None,) * rows, held.dtype)

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def _scaled(self, function: Any, other: Any) -> SparseTensor:
        """Its values and those of a number or an array at their places."""
        if np.ndim(other):
            grid = np.broadcast_to(
                np.asarray(convert_to_tensor(other, self.values.dtype)),
                np.asarray(self.dense_shape),
            )
            other = wrap(grid[tuple(np.asarray(self.indices).T)])
        return self.with_values(function(self.values, other))

    def __mul__(self, other: Any) -> SparseTensor:
        return self._scaled(operator.mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._scaled(operator.truediv, other)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices!s}, values={self.values!s}, "
            f"dense_shape={self.dense_shape!s})"
        )
