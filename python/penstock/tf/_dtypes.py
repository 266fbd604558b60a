"""TensorFlow's dtypes: Penstock's, printed and asked the way of TensorFlow.

They work wherever NumPy takes a dtype, and compare equal to NumPy's, to
Penstock's and to their names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _dtypes as base


class DType(base.DType):
    """The type of a tensor's values.

    >>> import penstock.tf as tf
    >>> tf.float32
    tf.float32
    >>> tf.uint8.max, tf.int64.is_integer, tf.float16.as_numpy_dtype.__name__
    (255, True, 'float16')
    """

    __slots__ = ()
    _is_numeric = True  # asked by numpy.testing

    @property
    def is_floating(self) -> bool:
        return "float" in self.name

    @property
    def is_integer(self) -> bool:
        return "int" in self.name

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("uint")

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_numeric(self) -> bool:
        return self.is_floating or self.is_integer

    def __getattr__(self, name: str) -> Any:
        """What NumPy's dtype has besides: kind, char, itemsize, type ..."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dtype, name)

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number of this dtype; 0 if it is unknown.

        >>> import penstock.tf as tf
        >>> tf.float32.as_datatype_enum, tf.as_dtype(3)
        (1, tf.int32)
        """
        return _NUMBERS.get(self.name, 0)

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def real_dtype(self) -> DType:
        return self

    @property
    def min(self) -> Any:
        """The least value, as a NumPy scalar's Python value."""
        return self._limits()[0]

    @property
    def max(self) -> Any:
        """The largest value."""
        return self._limits()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """(0, the largest value) of integers, (0, 1) of floats."""
        return (0, 1) if self.is_floating else (0, self.max)

    def _limits(self) -> tuple[Any, Any]:
        if self.is_bool:
            return False, True
        if self.is_integer:
            info = np.iinfo(self.dtype)
            return info.min, info.max
        if self.is_floating and self.name != "bfloat16":
            floats = np.finfo(self.dtype)
            return floats.min, floats.max
        raise TypeError(f"{self!r} has no minimum and maximum")

    def is_compatible_with(self, other: Any) -> bool:
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        return base.DType.__eq__(self, other)

    def __hash__(self) -> int:
        return base.DType.__hash__(self)

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


class _Complex(DType):
    """Of arrays inside a function only: elements of a pipeline have none."""

    __slots__ = ()

    @property
    def is_complex(self) -> bool:
        return True

    @property
    def is_numeric(self) -> bool:
        return True

    @property
    def real_dtype(self) -> DType:
        return float64 if self.name == "complex128" else float32

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, (str, DType, np.dtype, type)) and (
                self.name == as_dtype(other).name
            )
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dtype)


class _Text(DType):
    __slots__ = ()
    _is_numeric = False


bool_ = DType("bool", 1)
int8 = DType("int8", 1)
int16 = DType("int16", 2)
int32 = DType("int32", 4)
int64 = DType("int64", 8)
uint8 = DType("uint8", 1)
uint16 = DType("uint16", 2)
uint32 = DType("uint32", 4)
uint64 = DType("uint64", 8)
float16 = half = DType("float16", 2)
bfloat16 = DType("bfloat16", 2)
float32 = DType("float32", 4)
float64 = double = DType("float64", 8)
complex64 = _Complex("complex64", 8)
complex128 = _Complex("complex128", 16)
string = _Text("string", 0)
unknown = _Text("unknown", 0)

_COMPLEX: dict[str, DType] = {
    "complex64": complex64,
    "complex128": complex128,
    "complex": complex128,
}
_BY_NAME = {
    dtype.name: dtype
    for dtype in (
        bool_,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
        float16,
        bfloat16,
        float32,
        float64,
        string,
        unknown,
    )
}
# TensorFlow's DataType, as its files and protocol messages have it.
_NUMBERS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
_BY_NUMBER = {
    number: _BY_NAME.get(name) or _COMPLEX[name] for name, number in _NUMBERS.items()
}
# Python's types mean other dtypes to TensorFlow than to NumPy.
_BY_TYPE = {float: float32, int: int64, bool: bool_, str: string, bytes: string}


def as_dtype(type_value: Any) -> DType:
    """The `DType` of a name, a NumPy dtype, a Python type or TensorFlow's number.

    >>> import numpy as np, penstock.tf as tf
    >>> tf.as_dtype("int32"), tf.as_dtype(np.float64), tf.as_dtype(float)
    (tf.int32, tf.float64, tf.float32)
    """
    if isinstance(type_value, DType):
        return type_value
    if type(type_value) is int and type_value in _BY_NUMBER:
        return _BY_NUMBER[type_value]
    if isinstance(type_value, type) and type_value in _BY_TYPE:
        return _BY_TYPE[type_value]
    if str(getattr(type_value, "__name__", type_value)) in _COMPLEX:
        return _COMPLEX[str(getattr(type_value, "__name__", type_value))]
    try:
        return _BY_NAME[base.as_dtype(type_value).name]
    except TypeError:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow "
            "DType."
        ) from None


def numpy_dtype(type_value: Any) -> np.dtype[Any]:
    """The NumPy dtype of whatever names one."""
    return as_dtype(type_value).dtype
