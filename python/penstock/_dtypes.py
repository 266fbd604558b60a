"""Element types of tensors.

`ps.float32` and the others are `DType` objects. They work wherever NumPy takes
a dtype and compare equal to NumPy's:

>>> import numpy as np, penstock as ps
>>> np.zeros(2, dtype=ps.float32).dtype == ps.float32
True
>>> ps.string
penstock.string
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import ArgumentTypeError


def bfloat16_dtype() -> np.dtype[Any]:
    """The NumPy dtype of bfloat16: that of ml_dtypes, if it can be imported.

    Without ml_dtypes it is a structured dtype with the field ``bfloat16`` of
    the 16 stored bits: the upper half of a float32. So no arithmetic takes it
    for an integer, and ``x["bfloat16"].astype("u4") << 16`` viewed as float32
    gives the values.
    """
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype([("bfloat16", "<u2")])
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


class DType:
    """The type of a tensor's values.

    >>> import penstock as ps
    >>> ps.int64.name, ps.int64.size
    ('int64', 8)
    >>> ps.as_dtype("float32") is ps.float32
    True
    """

    __slots__ = ("name", "size")
    name: str
    size: int

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype: arrays of strings hold bytes objects."""
        if self.name in ("string", "unknown"):
            return np.dtype(object)
        if self.name == "bfloat16":
            return bfloat16_dtype()
        return np.dtype(self.name)

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type."""
        return self.dtype.type

    @property
    def is_floating(self) -> bool:
        return "float" in self.name

    @property
    def is_integer(self) -> bool:
        return "int" in self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        try:
            return self.name == as_dtype(other).name
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dtype) if self.size else hash(self.name)

    def __repr__(self) -> str:
        return f"penstock.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


bool_ = DType("bool", 1)
int8 = DType("int8", 1)
int16 = DType("int16", 2)
int32 = DType("int32", 4)
int64 = DType("int64", 8)
uint8 = DType("uint8", 1)
uint16 = DType("uint16", 2)
uint32 = DType("uint32", 4)
uint64 = DType("uint64", 8)
float16 = DType("float16", 2)
bfloat16 = DType("bfloat16", 2)
float32 = DType("float32", 4)
float64 = DType("float64", 8)
string = DType("string", 0)
unknown = DType("unknown", 0)

_BY_NAME = {
    t.name: t
    for t in (
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


def as_dtype(value: Any) -> DType:
    """The `DType` of a name, a NumPy dtype or a Python type.

    >>> import numpy as np, penstock as ps
    >>> ps.as_dtype(np.uint8), ps.as_dtype(float), ps.as_dtype(bytes)
    (penstock.uint8, penstock.float64, penstock.string)
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if value in (str, bytes):
        return string
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise ArgumentTypeError(f"dtype: {value!r} is not a dtype") from None
    if dtype.kind in "SUOT":
        return string
    if dtype == bfloat16_dtype():
        return bfloat16
    found = _BY_NAME.get(dtype.name)
    if found is None:
        raise ArgumentTypeError(f"dtype: {dtype} is not supported")
    return found
