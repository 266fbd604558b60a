"""Values of a function that is being traced.

A `Traced` stands for a NumPy array or scalar: it knows dtype and shape, and
every operation on it becomes an operation of the program. Dtypes come from
NumPy itself (`ufunc.resolve_dtypes`), so promotion is NumPy's by construction.
What would need the data (a branch, an index into a list, printing) refuses.

A Traced with `_value` is a constant: operations on constants alone are done by
NumPy at once and stay constants.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np

from penstock._trace_errors import TraceRefused, refuse

MAX_NODES = 10_000
MAX_STEPS = 100_000  # of loops that compute nothing

_local = threading.local()

Shape = tuple["int | None", ...]


@contextmanager
def branches_taken(choose: Callable[[], bool] | None = None) -> Iterator[None]:
    """Meanwhile this thread traces one path of a function instead of refusing a
    branch on data, always the one that is true, or what `choose` says. Such a
    program means something else than the function: it is for measuring what the
    native form would cost, and for telling what each path gives."""
    _local.takes_branches = True
    _local.choose = choose
    try:
        yield
    finally:
        _local.takes_branches = False
        _local.choose = None


def chooser() -> Callable[[], bool] | None:
    """What decides branches on data, if anything does."""
    choose: Callable[[], bool] | None = getattr(_local, "choose", None)
    return choose


class Tracer:
    """A program that is being written."""

    def __init__(self, program: Any, codes: set[CodeType], dialect: Any = None) -> None:
        self.program = program
        self.codes = codes
        self.dialect = dialect
        self.refused: TraceRefused | None = None
        self.draws = 0
        self.steps = 0
        self._previous: Tracer | None = None
        # Equal operations are computed once.
        self._known: dict[Any, int] = {}
        # Sources of a template: (dataset, kind, options, arguments).
        self.holes: list[Any] = []
        # What a trace for the spec alone takes for a part that depends on data.
        self.unknown_part: Callable[[Any, Any], Any] | None = None

    def __enter__(self) -> Tracer:
        self._previous = current_or_none()
        _local.tracer = self
        return self

    def __exit__(self, *_: object) -> None:
        _local.tracer = self._previous

    def add(
        self,
        op: str,
        inputs: tuple[int, ...],
        ints: tuple[int, ...] = (),
        dtype: Any = None,
        keepdims: bool = False,
        name: str = "",
        attributes: dict[str, Any] | None = None,
    ) -> int:
        key = None
        if op not in ("random", "native"):
            key = (op, inputs, ints, dtype, keepdims, name)
            if key in self._known:
                return self._known[key]
        try:
            number = self.program.add(
                op, inputs, ints, dtype, keepdims, name, attributes or {}
            )
        except Exception as error:
            refuse(str(error))
        if key is not None:
            self._known[key] = number
        return int(number)

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            refuse(f"a loop of more than {MAX_STEPS} steps")

    def next_draw(self) -> int:
        self.draws += 1
        return self.draws - 1


@contextmanager
def untraced() -> Iterator[None]:
    """Operations compute at once, also while a function is traced."""
    tracer = current_or_none()
    _local.tracer = None
    try:
        yield
    finally:
        _local.tracer = tracer


def current_or_none() -> Tracer | None:
    return getattr(_local, "tracer", None)


def current() -> Tracer:
    tracer = current_or_none()
    if tracer is None:
        raise RuntimeError("no function is being traced")
    return tracer


def _declared(known: Shape | None, shape: Any, what: str) -> Shape | None:
    """What `shape` and the known one say together; None if it is nothing new."""
    if shape is None:
        return None
    asked = tuple(shape)
    if known is None:
        return asked
    if len(known) != len(asked) or any(
        a is not None and b is not None and a != b for a, b in zip(asked, known)
    ):
        refuse(f"set_shape to {asked} of {what} of shape {known}")
    merged = tuple(b if a is None else a for a, b in zip(asked, known))
    return None if merged == known else merged


def _ensured(value: Traced | TracedBytes, shape: Shape) -> int:
    """The number of `value`, an error where it has another shape."""
    dims = tuple(-1 if size is None else int(size) for size in shape)
    return current().add("ensure_shape", (value._id,), dims)


def _number_in(tracer: Tracer | None, number: int) -> int:
    """The number of a value that `tracer` made; in another program it is that of
    some other value."""
    if tracer is not current_or_none():
        refuse("uses a value that depends on the element of the function around it")
    return number


class TracedBytes:
    """A string, or an array of strings: handed on or to operations on strings."""

    __slots__ = ("_number", "_tracer", "shape")

    def __init__(self, number: int, shape: Shape | None) -> None:
        self._number = number
        self._tracer = current_or_none()
        self.shape = shape

    @property
    def _id(self) -> int:
        return _number_in(self._tracer, self._number)

    def __getattr__(self, name: str) -> Any:
        tracer = current_or_none()
        if name == "dtype" and tracer is not None:
            # Plain bytes have none; a dialect may give them one.
            kind = getattr(tracer.dialect, "string_dtype", None)
            if kind is not None:
                return kind
        refuse(f"uses .{name} of a string")

    def set_shape(self, shape: Any) -> None:
        found = _declared(self.shape, shape, "strings")
        if found is not None:
            self._number, self.shape = _ensured(self, found), found

    def _no(self, *_: object) -> Any:
        refuse("computes with a string")

    def __getitem__(self, index: Any) -> Any:
        from penstock._ops import native

        if self.shape is None or len(self.shape) != 1 or type(index) is not int:
            tracer = current_or_none()
            if tracer is not None and tracer.unknown_part is not None:
                return tracer.unknown_part(self, index)
            refuse("takes a part of strings; one of them by a constant index can be")
        return native("strings.item", self, index=index)

    def __eq__(self, other: Any) -> Any:
        from penstock._ops import native

        other = _text_operand(other)
        if self.shape is None or not isinstance(other, (bytes, TracedBytes)):
            refuse("compares a string with anything but bytes")
        _check_broadcast(self, other)
        return native("strings.equal", self, other)

    def __ne__(self, other: Any) -> Any:
        from penstock import _trace_numpy

        return _trace_numpy.ufunc("logical_not", self == other)

    def __add__(self, other: Any) -> Any:
        return _joined(self, other)

    def __radd__(self, other: Any) -> Any:
        return _joined(other, self)

    __bool__ = __len__ = __iter__ = __contains__ = _no
    __mul__ = __mod__ = __lt__ = __le__ = _no
    __gt__ = __ge__ = __str__ = __repr__ = __format__ = __bytes__ = _no
    __hash__ = _no


class ConstantBytes(TracedBytes):
    """Strings that do not depend on the element, by value.

    `value` is an array of bytes that nobody else holds.
    """

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        self.value = value
        self.shape = value.shape

    @property
    def _id(self) -> int:
        tracer = current()
        key = ("strings", self.shape, tuple(self.value.flat))
        number = tracer._known.get(key)
        if number is None:
            number = tracer._known[key] = tracer.program.constant(self.value[()])
        return int(number)

    def __getitem__(self, index: Any) -> Any:
        if self.value.ndim == 1 and type(index) is int:
            return self.value[index]
        return TracedBytes.__getitem__(self, index)

    def __len__(self, *_: object) -> int:
        return len(self.value)


def constant_strings(value: Any, text: bool = True) -> ConstantBytes | None:
    """A string or an array of them as a constant; None if it is none.

    With `text` also Python's and NumPy's text, as UTF-8.
    """
    if isinstance(value, (str, bytes)):
        value = np.array(value, dtype=object)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "SUO":
        return None
    if not text and value.dtype.kind != "O":
        return None
    made = np.empty(value.shape, object)
    flat = made.reshape(-1)
    for i, item in enumerate(value.reshape(-1).tolist()):
        if text and isinstance(item, str):
            item = item.encode()
        if not isinstance(item, bytes):
            return None
        flat[i] = bytes(item)
    return ConstantBytes(made)


def _text_operand(other: Any) -> Any:
    """What a string meets: in TensorFlow's functions text is bytes, too."""
    strings = getattr(current().dialect, "strings", None)
    return other if strings is None else strings(other)


def _joined(a: Any, b: Any) -> Any:
    from penstock._ops import native

    a, b = _text_operand(a), _text_operand(b)
    for part in (a, b):
        # Bytes are joined so in Python, too; arrays of them only by TensorFlow.
        if isinstance(part, TracedBytes):
            if part.shape != () and current().dialect is None:
                refuse("computes with an array of strings")
        elif not isinstance(part, bytes):
            refuse("computes with a string")
    _check_broadcast(a, b)
    return native("strings.join", a, b, separator="")


def _check_broadcast(a: Any, b: Any) -> None:
    """Native operations take strings of one shape, and single ones with any."""
    first, second = (getattr(x, "shape", ()) for x in (a, b))
    if first == () or second == ():
        return
    if first is None or None in first or first != second:
        refuse("computes with strings of two shapes")


def _binary(name: str) -> Any:
    def method(self: Traced, other: Any) -> Any:
        from penstock import _trace_numpy

        return _trace_numpy.operator(name, self, other)

    def reflected(self: Traced, other: Any) -> Any:
        from penstock import _trace_numpy

        return _trace_numpy.operator(name, other, self)

    def inplace(self: Traced, other: Any) -> Any:
        from penstock import _trace_numpy

        return _trace_numpy.inplace(name, self, other)

    return method, reflected, inplace


def _method(name: str) -> Any:
    def method(self: Traced, *args: Any, **kwargs: Any) -> Any:
        from penstock import _trace_methods

        return getattr(_trace_methods, name)(self, *args, **kwargs)

    return method


class Traced:
    """A NumPy array or scalar that nobody has computed yet."""

    __slots__ = (
        "__weakref__",
        "_c_order",
        "_contiguous",
        "_dims",
        "_dtype",
        "_number",
        "_owned",
        "_tracer",
        "_value",
        "_zero_d",
    )
    # NumPy scalars and arrays leave operations with a Traced to it.
    __array_ufunc__ = None

    def __init__(
        self,
        number: int | None,
        dtype: np.dtype[Any],
        shape: Shape | None,
        value: Any = None,
    ) -> None:
        self._number = number
        self._tracer = current_or_none()
        self._dtype = dtype
        self._dims = shape
        self._value = value
        # In NumPy it would be a fresh array that no view refers to.
        self._owned = False
        self._zero_d = False
        self._contiguous = True
        self._c_order = True

    # --- what it is -------------------------------------------------------
    @property
    def _id(self) -> int:
        if self._number is None:
            tracer = current()
            key = (
                "const",
                self.dtype.str,
                self._value.shape,
                self._value.tobytes(),
            )
            number = tracer._known.get(key)
            if number is None:
                try:
                    number = tracer.program.constant(self._value)
                except Exception as error:
                    refuse(str(error))
                tracer._known[key] = number
            return int(number)
        return _number_in(self._tracer, self._number)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def shape(self) -> ShapeTuple:
        if self._dims is None:
            refuse("the rank is not known when the function is traced")
        return ShapeTuple(self._dims)

    @property
    def is_constant(self) -> bool:
        return self._value is not None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for dim in self.dims():
            n *= dim
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def get_shape(self) -> ShapeTuple:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Declares the shape, as TensorFlow has it; it is checked."""
        found = _declared(self._dims, shape, "an array")
        if found is not None:
            self._number, self._dims = _ensured(self, found), found

    def dims(self) -> tuple[int, ...]:
        """The shape, all of which must be known."""
        return tuple(self.shape)

    def __getattr__(self, name: str) -> Any:
        refuse(f"uses .{name} of an array, which has no native form")

    # --- what needs the data ----------------------------------------------
    def _plain(self, what: str) -> Any:
        if self._value is None:
            refuse(what)
        return self._value[()]

    def __bool__(self) -> bool:
        if self._value is None and getattr(_local, "takes_branches", False):
            choose = chooser()
            return True if choose is None else choose()
        return bool(self._plain("a branch depends on data"))

    def __int__(self) -> int:
        return int(self._plain("makes a Python int of data"))

    def __float__(self) -> float:
        return float(self._plain("makes a Python float of data"))

    def __index__(self) -> int:
        value = self._plain("an index, a count or a shape depends on data")
        return int(value.__index__())

    def __complex__(self) -> complex:
        refuse("complex numbers have no native form")

    def __round__(self, digits: int | None = None) -> Any:
        refuse("round() makes a Python number of data")

    def __hash__(self) -> int:
        refuse("a key depends on data")

    def __str__(self) -> str:
        refuse("makes text of data")

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        refuse("makes text of data")

    def __contains__(self, item: Any) -> bool:
        refuse("'in' depends on data")

    def __array__(self, *_: Any, **__: Any) -> Any:
        refuse("a function that has no native form reads an array")

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse("writes into an array")

    def __delitem__(self, key: Any) -> None:
        refuse("writes into an array")

    def __reduce_ex__(self, protocol: Any) -> Any:
        refuse("copies or pickles an array")

    # --- structure --------------------------------------------------------
    def __len__(self) -> int:
        if self.ndim == 0:
            refuse("len() of a scalar")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        choose = chooser()
        if choose is not None and self._dims and self._dims[0] is None:
            while choose():
                yield self[0]
            return
        for i in range(len(self)):
            current().step()
            yield self[i]

    def __reversed__(self) -> Iterator[Any]:
        for i in reversed(range(len(self))):
            yield self[i]

    def __getitem__(self, key: Any) -> Any:
        from penstock import _trace_index

        return _trace_index.getitem(self, key)

    @property
    def T(self) -> Any:
        from penstock import _trace_methods

        return _trace_methods.transpose(self)

    def __neg__(self) -> Any:
        return _unary("negative", self)

    def __pos__(self) -> Any:
        return _unary("positive", self)

    def __abs__(self) -> Any:
        return _unary("absolute", self)

    def __invert__(self) -> Any:
        return _unary("invert", self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __matmul__(self, other: Any) -> Any:
        from penstock import _trace_methods

        return _trace_methods.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from penstock import _trace_methods

        return _trace_methods.matmul(other, self)

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __pow__, __rpow__, __ipow__ = _binary("power")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __eq__ = _binary("equal")[0]
    __ne__ = _binary("not_equal")[0]
    __lt__ = _binary("less")[0]
    __le__ = _binary("less_equal")[0]
    __gt__ = _binary("greater")[0]
    __ge__ = _binary("greater_equal")[0]

    astype = _method("astype")
    reshape = _method("reshape")
    transpose = _method("transpose")
    swapaxes = _method("swapaxes")
    ravel = _method("ravel")
    flatten = _method("flatten")
    squeeze = _method("squeeze")
    copy = _method("copy")
    sum = _method("sum")
    prod = _method("prod")
    mean = _method("mean")
    max = _method("max")
    min = _method("min")
    any = _method("any")
    all = _method("all")
    argmax = _method("argmax")
    argmin = _method("argmin")
    clip = _method("clip")
    round = _method("round")
    take = _method("take")
    repeat = _method("repeat")


def _unary(name: str, x: Traced) -> Any:
    from penstock import _trace_numpy

    return _trace_numpy.ufunc(name, x)


class ShapeTuple(tuple):  # type: ignore[type-arg]
    """A shape with dimensions that may be unknown: those refuse when read."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        got = tuple.__getitem__(self, key)
        if isinstance(got, tuple):
            return ShapeTuple(got)
        return known_dim(got)

    def __iter__(self) -> Iterator[Any]:
        return (known_dim(d) for d in tuple.__iter__(self))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    def __ne__(self, other: object) -> bool:
        return tuple(self) != other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __lt__(self, other: Any) -> bool:
        return bool(tuple(self) < other)

    def __le__(self, other: Any) -> bool:
        return bool(tuple(self) <= other)

    def __gt__(self, other: Any) -> bool:
        return bool(tuple(self) > other)

    def __ge__(self, other: Any) -> bool:
        return bool(tuple(self) >= other)

    def __contains__(self, dim: object) -> bool:
        return dim in tuple(self)

    def count(self, dim: Any) -> int:
        return tuple(self).count(dim)

    def index(self, dim: Any, *between: Any) -> int:
        return tuple(self).index(dim, *between)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return ShapeTuple((*self.raw(), *tuple.__iter__(other)))

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return ShapeTuple((*tuple.__iter__(other), *self.raw()))

    def __mul__(self, times: Any) -> Any:
        return ShapeTuple(self.raw() * times)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return repr(tuple(self))

    def raw(self) -> Shape:
        return tuple(tuple.__iter__(self))

    def as_list(self) -> list[int]:
        return list(self)

    @property
    def rank(self) -> int:
        return len(self)

    ndims = rank


def known_dim(dim: int | None) -> int:
    if dim is None:
        refuse("a dimension is not known when the function is traced")
    return dim
