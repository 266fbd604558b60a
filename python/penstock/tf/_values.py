"""Tensors as users of TensorFlow know them, on NumPy.

    Tensor        an array: ndarray with `.numpy()`
    Int64 ...     a number: NumPy's own scalar with `.numpy()`, as fast as that;
                  arithmetic keeps the class, comparisons give a Tensor
    Bytes         a string: bytes with `.numpy()`, so that `open(x)` works

`wrap` makes them of what the engine gives, `unwrap` gives the engine what it
takes, with TensorFlow's dtypes: a Python int is int32, a float float32.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock import _penstock
from penstock._dataset import Dataset as EngineDataset
from penstock._ragged import Ragged
from penstock._trace_errors import refuse
from penstock._trace_numpy import as_constant
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import Traced, TracedBytes, current_or_none
from penstock.tf import _structure
from penstock.tf._dtypes import as_dtype, numpy_dtype, string
from penstock.tf._shapes import TensorShape

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_SMALL = frozenset(np.dtype(t) for t in ("int8", "uint8", "int16", "uint16"))


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind in "OSU" else dtype.name


class Reference:
    """Stands for one tensor; equal where it is the same object.

    >>> import penstock.tf as tf
    >>> x = tf.constant([1, 2])
    >>> x.ref() in {x.ref()}, x.ref().deref() is x
    (True, True)
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def deref(self) -> Any:
        """The tensor."""
        return self._tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._tensor is other._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._tensor!r}>"


class Tensor(np.ndarray):
    """An array of a tensor's values.

    >>> import penstock.tf as tf
    >>> batch = next(iter(tf.data.Dataset.range(3).batch(3)))
    >>> batch
    <tf.Tensor: shape=(3,), dtype=int64, numpy=array([0, 1, 2])>
    >>> batch.numpy().tolist(), batch[1].numpy() + 1
    ([0, 1, 2], np.int64(2))
    """

    def numpy(self) -> Any:
        """The values as a plain array of their own, or a NumPy scalar."""
        plain = self.view(np.ndarray)
        if self.ndim == 0:
            return plain[()]
        return plain if plain.flags.writeable else plain.copy()

    @property
    def dtype(self) -> Any:
        return as_dtype(np.ndarray.dtype.__get__(self))

    @property
    def shape(self) -> Any:
        return TensorShape(np.ndarray.shape.__get__(self))

    @shape.setter
    def shape(self, value: Any) -> None:
        raise AttributeError("the shape of a tensor cannot be set; use tf.reshape")

    def get_shape(self) -> Any:
        """The same as ``shape``."""
        return self.shape

    def ref(self) -> Reference:
        """A key for dicts and sets: tensors themselves have no hash."""
        return Reference(self)

    def set_shape(self, shape: Any) -> None:
        """Checks that `shape` holds."""
        check_shape(self.shape, shape)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions give NumPy's values, as they do of TensorFlow's tensors."""
        return func(
            *map(_plain_argument, args),
            **{k: _plain_argument(v) for k, v in kwargs.items()},
        )

    def __getitem__(self, key: Any) -> Any:
        got = np.ndarray.__getitem__(self, key)
        return got if isinstance(got, Tensor) else wrap(got)

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    def __add__(self, other: Any) -> Any:
        return np.ndarray.__add__(self, _alike(self, _as_bytes(other)))

    def __radd__(self, other: Any) -> Any:
        return np.ndarray.__radd__(self, _alike(self, _as_bytes(other)))

    def __truediv__(self, other: Any) -> Any:
        other = _alike(self, other)
        if self.dtype in _SMALL and not isinstance(other, Traced):
            return np.ndarray.__truediv__(self.astype(np.float32), _as_float32(other))
        return np.ndarray.__truediv__(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        other = _alike(self, other)
        if self.dtype in _SMALL and not isinstance(other, Traced):
            return np.ndarray.__rtruediv__(self.astype(np.float32), _as_float32(other))
        return np.ndarray.__rtruediv__(self, other)

    def __eq__(self, other: object) -> Any:
        return self._compared(np.ndarray.__eq__, other, _FALSE)

    def __ne__(self, other: object) -> Any:
        return self._compared(np.ndarray.__ne__, other, _TRUE)

    def _compared(self, compare: Any, other: Any, otherwise: Any) -> Any:
        """The result of a comparison; `otherwise` where shapes do not fit."""
        try:
            return compare(self, self._comparable(other))
        except ValueError:
            if isinstance(other, Traced):
                raise
            return otherwise

    def _comparable(self, other: Any) -> Any:
        """`other` with text as bytes, where these are strings."""
        if self.dtype != object:
            return _alike(self, other)
        if isinstance(other, list) or getattr(other, "dtype", None) is not None:
            return _string_array(other) if np.ndim(other) else other
        return _as_bytes(other)

    __hash__ = None

    def __str__(self) -> str:
        text = np.array2string(self.view(np.ndarray))
        gap = "\n" if "\n" in text else ""
        return (
            f"tf.Tensor({gap}{text}, shape={self.shape}, "
            f"dtype={_dtype_name(self.dtype)})"
        )

    def __repr__(self) -> str:
        plain = self.view(np.ndarray)
        value = repr(plain) if self.ndim else repr(plain[()].item())
        gap = "\n" if "\n" in value else ""
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={_dtype_name(self.dtype)}, "
            f"numpy={gap}{value}>"
        )

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self.view(np.ndarray)[()], spec)
        return format(self.view(np.ndarray), spec)


def _plain_argument(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)([_plain_argument(v) for v in value])
    return value


def _operator(name: str) -> Any:
    own = getattr(np.ndarray, name)

    def method(self: Any, other: Any) -> Any:
        return own(self, _alike(self, other))

    method.__name__ = name
    return method


for _name in "sub mul floordiv mod pow".split():
    setattr(Tensor, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Tensor, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in "lt le gt ge".split():
    setattr(Tensor, f"__{_name}__", _operator(f"__{_name}__"))

# ``x -= 1`` gives a new tensor: others may hold this one.
for _name in "add sub mul truediv floordiv mod pow matmul and or xor".split():
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"__{_name}__"))


def _alike(tensor: Any, other: Any) -> Any:
    """The other operand of an operator: what is no tensor takes its dtype.

    A list, an array or a number of NumPy's. Floats stay floats beside integers,
    as in Python; TensorFlow cuts their fractions off, or has an error.
    """
    kind = type(other)
    if kind in _OPERANDS:
        return other
    wanted = _OBJECT if tensor.dtype == object else np.dtype(tensor.dtype.name)
    if wanted.kind not in "iuf":
        return other
    if isinstance(other, (list, tuple)):
        if has_traced(other):
            return other
        other = list_to_array(list(other))
    elif kind is not np.ndarray and not isinstance(other, np.generic):
        return other
    floats = other.dtype.kind == "f"
    if floats <= (wanted.kind == "f") and other.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return other.astype(wanted)
    return other


_OBJECT = np.dtype(object)


def alike(tensor: Any, other: Any) -> Any:
    """`other` in the dtype of `tensor`, if that is one and `other` is not."""
    if isinstance(tensor, Traced):
        if tensor.is_constant:
            return other
        if isinstance(other, Traced):
            if other.is_constant and other.dtype != tensor.dtype:
                value = _alike(tensor, np.asarray(other._value)[()])
                return as_constant(np.asarray(value))
            return other
    elif type(tensor) is not Tensor and type(tensor) not in _SCALARS:
        return other
    if type(other) in _SCALARS or type(other) is Tensor:
        return other
    return _alike(tensor, other)


def _as_float32(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype in _SMALL:
        return value.astype(np.float32)
    return value


def _scalar_class(name: str) -> Any:
    base = getattr(np, name)
    dtype = as_dtype(name)
    shown = dtype.name
    title = name.capitalize().replace("Uint", "UInt")
    made: Any = _penstock.number_type(f"{__name__}.{title}", base)

    def numpy(self: Any) -> Any:
        """The value as NumPy's own scalar."""
        return base(self)

    def text(self: Any) -> str:
        return f"tf.Tensor({base(self)!s}, shape=(), dtype={shown})"

    def representation(self: Any) -> str:
        return f"<tf.Tensor: shape=(), dtype={shown}, numpy={self.item()!r}>"

    def formatted(self: Any, spec: str) -> str:
        return format(base(self), spec)

    members = {
        "__doc__": f"A number of {name}: `np.{name}` with `.numpy()`.",
        "numpy": numpy,
        "dtype": property(lambda self: dtype),
        "__array_priority__": 100.0,  # NumPy's operands leave it to ours
        "shape": property(lambda self: TensorShape(())),
        "get_shape": lambda self: TensorShape(()),
        "ref": lambda self: Reference(self),
        "set_shape": lambda self, shape: check_shape(TensorShape(()), shape),
        "__str__": text,
        "__repr__": representation,
        "__format__": formatted,
        "__reduce__": lambda self: (made, (self.item(),)),
        "__copy__": lambda self: self,
        "__deepcopy__": lambda self, memo: self,
    }
    if np.dtype(name) in _SMALL:
        members["__truediv__"] = lambda self, other: wrap(
            np.float32(self) / _as_float32(_alike(self, other))
        )
        members["__rtruediv__"] = lambda self, other: wrap(
            _as_float32(_alike(self, other)) / np.float32(self)
        )
    for member, value in members.items():
        setattr(made, member, value)
    return made


# Those that loops are made of first: arithmetic looks for its class in order.
Int64, Float32, Int32, Float64 = map(
    _scalar_class, ("int64", "float32", "int32", "float64")
)
Int8, Int16, UInt8, UInt16 = map(_scalar_class, ("int8", "int16", "uint8", "uint16"))
UInt32, UInt64, Float16 = map(_scalar_class, ("uint32", "uint64", "float16"))


class Bytes(bytes):
    """A string.

    >>> import penstock.tf as tf
    >>> word = tf.constant("penstock")
    >>> word, word.numpy(), (word == "penstock").numpy()
    (<tf.Tensor: shape=(), dtype=string, numpy=b'penstock'>, b'penstock', np.True_)
    """

    __slots__ = ()

    def numpy(self) -> bytes:
        """The value as plain bytes."""
        return bytes(self)

    @property
    def shape(self) -> Any:
        return TensorShape(())

    def get_shape(self) -> Any:
        return TensorShape(())

    def ref(self) -> Reference:
        return Reference(self)

    def set_shape(self, shape: Any) -> None:
        check_shape(TensorShape(()), shape)

    @property
    def dtype(self) -> Any:
        return string

    @property
    def ndim(self) -> int:
        return 0

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (np.ndarray, list, tuple)):
            return (_string_array(other) == bytes(self)).view(Tensor)
        return _truth(bytes.__eq__(self, _as_bytes(other)) is True)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __hash__ = bytes.__hash__
    __array_ufunc__ = None  # arrays leave their operators to ours

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (np.ndarray, list, tuple)):
            return (bytes(self) + _string_array(other)).view(Tensor)
        return Bytes(bytes.__add__(self, _as_bytes(other)))

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, (np.ndarray, list, tuple)):
            return (_string_array(other) + bytes(self)).view(Tensor)
        return Bytes(_as_bytes(other) + bytes(self))

    def __str__(self) -> str:
        return f"tf.Tensor({bytes(self)!r}, shape=(), dtype=string)"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape=(), dtype=string, numpy={bytes(self)!r}>"

    def __format__(self, spec: str) -> str:
        return format(str(bytes(self)), spec)

    def __reduce__(self) -> Any:
        return Bytes, (bytes(self),)


def _as_bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def check_shape(shape: Any, asked: Any) -> None:
    """Raises where a tensor does not have the shape that was asked for."""
    if not TensorShape(shape).is_compatible_with(asked):
        raise ValueError(
            f"Tensor's shape {tuple(shape)} is not compatible with supplied shape "
            f"{TensorShape(asked)}."
        )


def _zero_d(value: Any) -> Tensor:
    return np.asarray(value).view(Tensor)


def _constant(value: bool) -> Tensor:
    made = _zero_d(value)
    made.flags.writeable = False
    return made


_TRUE, _FALSE = _constant(True), _constant(False)


def _truth(value: Any) -> Tensor:
    return _TRUE if value else _FALSE


def _array(value: np.ndarray[Any, Any]) -> Any:
    return value.view(Tensor)


_WRAPPERS: dict[type, Any] = {
    np.ndarray: _array,
    bytes: Bytes,
    np.bool_: _truth,
    **{
        cls.__base__: cls
        for cls in (
            Int8,
            Int16,
            Int32,
            Int64,
            UInt8,
            UInt16,
            UInt32,
            UInt64,
            Float16,
            Float32,
            Float64,
        )
    },
}


def wrap(value: Any) -> Any:
    """What the engine gives, as users of TensorFlow know it."""
    wrapper = _WRAPPERS.get(type(value))
    if wrapper is not None:
        return wrapper(value)
    if type(value) is tuple:
        return tuple([wrap(v) for v in value])
    if type(value) is dict:
        return {k: wrap(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return _structure.rebuild(value, [wrap(v) for v in value])
    if isinstance(value, EngineDataset):
        from penstock.tf._dataset import Dataset

        return Dataset._of(value)
    if isinstance(value, Ragged):
        from penstock.tf._ragged import RaggedTensor

        return RaggedTensor._of(value)
    if isinstance(value, np.generic):
        return _zero_d(value)
    return value


def plain(value: Any) -> Any:
    """What the engine gives, as `as_numpy_iterator` gives it."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value
    if type(value) is dict:
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        if _structure.is_carried(value):
            return _dense(value)
        return _structure.rebuild(value, [plain(v) for v in value])
    if isinstance(value, EngineDataset):
        from penstock.tf._dataset import Dataset

        return Dataset._of(value).as_numpy_iterator()
    if isinstance(value, Ragged):
        from penstock.tf._ragged import RaggedTensor

        return RaggedTensor._of(value).numpy()
    return value


def _dense(value: Any) -> Any:
    """A value of a class that is carried: a sparse tensor as an array."""
    from penstock.tf._ragged import SparseTensor
    from penstock.tf.sparse import to_dense

    made = wrap(value)
    if not isinstance(made, SparseTensor):
        return _structure.rebuild(value, [plain(v) for v in value])
    dense = np.array(to_dense(made))
    dense.flags.writeable = False
    return dense


def python_number(value: Any) -> Any:
    """A Python number in the dtype that TensorFlow gives it."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, float):
        return np.float32(value)
    if value in _INT32:
        return np.int32(value)
    if value not in _INT64:
        raise ValueError(
            "Can't convert Python sequence with out-of-range integer to Tensor."
        )
    return np.int64(value)


_PLAIN_NUMBERS = frozenset((bool, int, float))
_SCALARS = frozenset(c for c in _WRAPPERS.values() if isinstance(c, type))
_OPERANDS = _SCALARS | _PLAIN_NUMBERS | {Tensor, Traced}
_ENGINES = (Traced, TracedBytes, TracedRagged, np.ndarray, np.generic, Ragged)
_PASSED_ON = _SCALARS | {np.ndarray, Tensor, bytes, str, type(None)}


def unwrap(value: Any) -> Any:
    """A structure as the engine takes it; lists in it are tensors."""
    kind = type(value)
    if kind in _PASSED_ON:
        return value
    if kind in _PLAIN_NUMBERS:
        return python_number(value)
    if isinstance(value, _ENGINES):
        return value
    if kind is tuple:
        return tuple([unwrap(v) for v in value])
    if isinstance(value, dict):
        return {k: unwrap(v) for k, v in value.items()}
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return type(value)(*[unwrap(v) for v in value])
        return tuple([unwrap(v) for v in value])
    if isinstance(value, (list, range)):
        return list_to_array(list(value))
    engine = getattr(value, "_penstock_value", None)
    if engine is not None:
        return engine
    if isinstance(value, (int, float)):
        return python_number(value)
    if _structure.carrier(kind) is not None:
        return _structure.encode_fields(value, unwrap)
    return value


def _leaves(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def has_traced(value: Any) -> bool:
    """Whether a value, or one in a list, is that of a traced function."""
    if isinstance(value, (Traced, TracedBytes)):
        return True
    return isinstance(value, (list, tuple)) and any(has_traced(v) for v in value)


def list_dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype of a list of numbers; None for strings.

    Python numbers take the dtype of the tensors beside them.
    """
    strong: list[np.dtype[Any]] = []
    weak = {bool: 0, int: 0, float: 0}
    large = False
    for leaf in _leaves(value):
        if isinstance(leaf, (str, bytes)):
            return None
        if isinstance(leaf, (np.ndarray, np.generic, Traced)):
            strong.append(leaf.dtype)
        elif isinstance(leaf, bool):
            weak[bool] += 1
        elif isinstance(leaf, float):
            weak[float] += 1
        elif hasattr(leaf, "__array__"):
            strong.append(np.asarray(leaf).dtype)
        else:
            weak[int] += 1
            large = large or operator.index(leaf) not in _INT32
    if strong:
        found = np.result_type(*set(strong))
        if found.kind in "biu" and weak[float]:
            return np.dtype(np.float32)
        return found
    if weak[float] or not any(weak.values()):
        return np.dtype(np.float32)
    if weak[int]:
        return np.dtype(np.int64 if large else np.int32)
    return np.dtype(np.bool_)


def list_to_array(value: Any, dtype: Any = None) -> Any:
    """A nested list as an array, with TensorFlow's dtypes."""
    if has_traced(value):
        from penstock._trace_methods import array

        return array(value, dtype or list_dtype(value))
    found = list_dtype(value) if dtype is None else np.dtype(dtype)
    if found is None or found.kind in "SUO":
        return _string_array(value)
    if dtype is not None and found.kind in "iub" and _has_float(value):
        raise TypeError(f"Cannot convert {value} to EagerTensor of dtype {found}")
    try:
        made = np.array(value, dtype=found)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                "Can't convert non-rectangular Python sequence to Tensor."
            ) from None
        raise
    return made


def _has_float(value: Any) -> bool:
    """Whether a float of Python's own is in a nested list."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_float, value))
    return type(value) is float


def _string_array(value: Any) -> Any:
    made = np.array(value, dtype=object)
    flat = made.reshape(-1)
    for i, item in enumerate(flat):
        if not isinstance(item, (str, bytes)):
            raise ValueError(  # noqa: TRY004 (as TensorFlow)
                "Can't convert Python sequence with mixed types to Tensor."
            )
        flat[i] = _as_bytes(bytes(item) if isinstance(item, Bytes) else item)
    return made


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """`value` as a tensor: a Python int is int32, a float float32.

    >>> import penstock.tf as tf
    >>> tf.convert_to_tensor([1.5, 2]).dtype
    tf.float32
    """
    if dtype_hint is not None and dtype is None:
        try:
            return convert_to_tensor(value, dtype_hint)
        except (TypeError, ValueError):
            return convert_to_tensor(value)
    kind = None if dtype is None else numpy_dtype(dtype)
    if isinstance(value, TracedBytes):
        return value
    if isinstance(value, Traced):
        return value if kind is None or value.dtype == kind else value.astype(kind)
    if isinstance(value, (list, tuple, range)):
        made = list_to_array(list(value), kind)
        return made if isinstance(made, Traced) else wrap(made)
    if isinstance(value, (str, bytes)):
        if kind is not None and kind != object:
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {kind}")
        return Bytes(_as_bytes(value))
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        if kind is None:
            return wrap(python_number(value))
        if isinstance(value, float) and kind.kind in "iub":
            raise TypeError(f"Cannot convert {value} to EagerTensor of dtype {kind}")
        return wrap(np.asarray(value).astype(kind)[()])
    if value is None or isinstance(value, dict):
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type "
            f"({type(value)}) to a Tensor."
        )
    array = np.asarray(getattr(value, "_penstock_value", value))
    if array.dtype.kind in "SU":
        array = np.vectorize(_as_bytes, otypes=[object])(array)
    elif kind is not None and array.dtype != kind:
        array = array.astype(kind)
    return wrap(array[()])


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = None
) -> Any:
    """A tensor of a Python value, in a dtype and a shape.

    >>> import penstock.tf as tf
    >>> tf.constant(7), tf.constant(0.5, shape=(2,)).numpy()
    (<tf.Tensor: shape=(), dtype=int32, numpy=7>, array([0.5, 0.5], dtype=float32))
    """
    made = convert_to_tensor(value, dtype)
    if shape is None or isinstance(made, (Traced, TracedBytes)):
        return made
    array = np.asarray(made, dtype=object if isinstance(made, bytes) else None)
    if isinstance(made, bytes):
        array[()] = bytes(made)
    dims = tuple(TensorShape(shape))
    if array.size == 1:
        return wrap(np.full(dims, array.reshape(-1)[0], array.dtype)[()])
    return wrap(np.reshape(array, dims))


def is_tensor(x: Any) -> bool:
    """Whether `x` is a value that a pipeline or an operation gave, also a ragged one.

    >>> import penstock.tf as tf
    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor(1)
    (True, False)
    """
    from penstock.tf._ragged import RaggedTensor, SparseTensor

    return _is_dense(x) or isinstance(x, (RaggedTensor, SparseTensor))


def _is_dense(x: Any) -> bool:
    if isinstance(x, (Traced, TracedBytes, Tensor, Bytes)):
        return True
    return type(x) in _SCALARS


class _AnyTensor(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return _is_dense(x)


def _held_as_tensor(value: Any) -> bool:
    """`isinstance` of a value in a trace, which has constants as tensors."""
    if isinstance(value, bytes) or (isinstance(value, Traced) and value.is_constant):
        refuse("asks whether a constant is a tensor")
    return _is_dense(value) or getattr(type(value), "__penstock_tensor__", False)


class AnyTensor(metaclass=_AnyTensor):
    """What `isinstance` takes for a tensor: arrays, numbers and strings.

    >>> import penstock.tf as tf
    >>> x = tf.constant(3)
    >>> isinstance(x + 1, tf.Tensor), isinstance(3, tf.Tensor)
    (True, False)
    """

    __penstock_kind__ = staticmethod(_held_as_tensor)


AnyTensor.__name__ = AnyTensor.__qualname__ = "Tensor"


def tracing() -> bool:
    """Whether a function is being traced on this thread."""
    return current_or_none() is not None


def _number_alike(number: Any, other: Any) -> Any:
    """`_alike`, as a tensor in any case."""
    made = _alike(number, other)
    return wrap(made) if isinstance(made, (np.ndarray, np.generic)) else made


_penstock.set_number_results(wrap, _number_alike, _TRUE, _FALSE)

for _function in (constant, convert_to_tensor, is_tensor):
    setattr(_function, "__penstock_traceable__", True)  # noqa: B010
