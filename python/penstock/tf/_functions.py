"""A user's function as the engine calls it, and as the engine traces it.

`Call` hands it TensorFlow's values and takes its result with TensorFlow's
dtypes. Traced, the function runs with the same rules on symbols (`Dialect`), so
both ways give the same elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError, OutOfRangeError
from penstock._functions import check_callable
from penstock._identity import function_identity
from penstock._look import look
from penstock._trace_value import Traced, constant_strings
from penstock.tf import _structure, errors
from penstock.tf._dtypes import as_dtype, string
from penstock.tf._ragged import RaggedTensor
from penstock.tf._shapes import RaggedTensorSpec
from penstock.tf._values import (
    _SMALL,
    alike,
    convert_to_tensor,
    has_traced,
    list_dtype,
    list_to_array,
    python_number,
    unwrap,
    wrap,
)


class Dialect:
    """How TensorFlow differs from NumPy in a function that is traced."""

    string_dtype = string

    @staticmethod
    def template() -> Any:
        """The class of datasets in the element."""
        from penstock.tf._template import Template

        return Template

    @staticmethod
    def argument(value: Any) -> Any:
        return _structure.decode(value)

    @staticmethod
    def result(value: Any, kind: str) -> Any:
        return _result(value, kind)

    @staticmethod
    def strings(value: Any) -> Any:
        """What a string is compared or joined with; text is bytes."""
        if isinstance(value, (list, tuple)) and not has_traced(value):
            if list_dtype(value) is None:
                value = list_to_array(list(value))
        made = constant_strings(value)
        if made is None or made.shape:
            return value if made is None else made
        return made.value[()]

    @staticmethod
    def operands(name: str, a: Any, b: Any) -> tuple[Any, Any]:
        """What is no tensor takes the other's dtype; small integers are divided
        as float32."""
        a, b = alike(b, a), alike(a, b)
        if name == "divide":
            kinds = [x.dtype for x in (a, b) if hasattr(x, "dtype")]
            if all(kind in _SMALL for kind in kinds):
                return tuple(_float32(x) for x in (a, b))
        return a, b


def _float32(x: Any) -> Any:
    return x.astype(np.float32) if hasattr(x, "dtype") else np.float32(x)


class Call:
    """`fn` for the engine. Pickles; looks like `fn` to `explain()`."""

    __penstock_dialect__ = Dialect

    def __init__(self, fn: Callable[..., Any], kind: str) -> None:
        self.fn = fn
        self.kind = kind
        self.__qualname__ = look(fn, "__qualname__", type(fn).__qualname__)
        self.__name__ = look(fn, "__name__", type(fn).__name__)

    @property
    def __penstock_function__(self) -> Any:
        return self.fn

    @property
    def __code__(self) -> Any:
        return look(self.fn, "__code__")

    @property
    def fingerprint(self) -> str:
        return f"tf:{self.kind}:{function_identity(self.fn)}"

    def __call__(self, *args: Any) -> Any:
        try:
            result = self.fn(*[wrap(a) for a in args])
        except (StopIteration, OutOfRangeError) as error:
            raise InvalidArgumentError(
                f"{self.__name__} raised {type(error).__name__}: {error}"
            ) from error
        return _result(result, self.kind)

    def __reduce__(self) -> Any:
        return Call, (self.fn, self.kind)


class ScanCall(Call):
    """The function of a scan: state and element, a tuple not spread out."""

    def __init__(self, fn: Callable[..., Any], packed: bool) -> None:
        super().__init__(fn, "element")
        self.packed = packed

    def __call__(self, *args: Any) -> Any:
        if self.packed or len(args) != 2:
            args = (args[0], tuple(args[1:]))
        return super().__call__(*args)

    def __reduce__(self) -> Any:
        return ScanCall, (self.fn, self.packed)


def _result(value: Any, kind: str) -> Any:
    if kind == "element":
        if type(value) is list:
            value = tuple(value)
        return unwrap(value)
    if kind == "dataset":
        if getattr(type(value), "__penstock_template__", False):
            return value
        dataset = getattr(value, "_penstock_value", None)
        if dataset is None:
            raise TypeError(
                "The `map_func` argument must return a `Dataset` object. Got "
                f"{type(value).__name__!r}."
            )
        return dataset
    if kind == "predicate":
        return _truth(value)
    if isinstance(value, (bool, int)) and not isinstance(value, np.generic):
        value = python_number(value)
    if not isinstance(value, (np.generic, np.ndarray, Traced)) or (
        value.dtype.kind not in "iu" or value.ndim
    ):
        raise ValueError(
            "Invalid `key_func`. It must return a single `tf.int64` scalar tensor, "
            f"got {value!r}."
        )
    return value if isinstance(value, Traced) else np.int64(value)


def _truth(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    dtype = getattr(value, "dtype", None)
    if dtype != np.bool_ or getattr(value, "ndim", 0):
        what = f"dtype {dtype}" if dtype is not None else type(value).__name__
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, "
            f"but it gave {what}."
        )
    return value if isinstance(value, Traced) else bool(value)


def call(op: str, fn: Any, kind: str) -> Call:
    """Checks and wraps the function of a transformation."""
    check_callable(op, "map_func" if kind == "element" else "fn", fn)
    return Call(fn, kind)


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: Any = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: Any = None,
    experimental_compile: Any = None,
    experimental_follow_type_hints: Any = None,
) -> Any:
    """Accepted, and changes nothing: functions mean what Python means.

    >>> import penstock.tf as tf
    >>> @tf.function
    ... def double(x):
    ...     return x * 2
    >>> [int(x) for x in tf.data.Dataset.range(3).map(double)]
    [0, 2, 4]
    """
    if func is None:
        return lambda decorated: decorated
    return func


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Calls `func` with tensors; its results get the dtypes `Tout`.

    >>> import penstock.tf as tf
    >>> def halve(x):
    ...     return x.numpy() / 2
    >>> ds = tf.data.Dataset.range(3)
    >>> ds = ds.map(lambda x: tf.py_function(halve, [x], tf.float32))
    >>> [float(x) for x in ds]
    [0.0, 0.5, 1.0]

    Without `func` a decorator; the decorated function takes tensors.
    """
    if func is None:
        return _decorator(py_function, Tout)
    return _call_python(func, [_argument(x) for x in inp or ()], Tout, False)


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls `func` with NumPy values; its results must have the dtypes `Tout`.

    As NumPy sees them: Python's integers are int64, its floats float64.

    >>> import numpy as np, penstock.tf as tf
    >>> ds = tf.data.Dataset.range(2)
    >>> ds = ds.map(lambda x: tf.numpy_function(np.exp2, [x], tf.float64))
    >>> [float(x) for x in ds]
    [1.0, 2.0]

    Without `func` a decorator; the decorated function takes tensors.
    """
    if func is None:
        return _decorator(numpy_function, Tout)
    values = [_argument(x).numpy() for x in inp or ()]
    return _call_python(func, values, Tout, True)


def _decorator(function: Callable[..., Any], Tout: Any) -> Callable[..., Any]:
    """What ``@tf.py_function(Tout=...)`` decorates with."""
    if Tout is None:
        raise TypeError("Missing required argument: 'Tout'")

    def decorated(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*inp: Any) -> Any:
            return function(func, inp, Tout)

        return call

    return decorated


def _call_python(func: Any, args: list[Any], Tout: Any, exact: bool) -> Any:
    """What `func` gives; with `exact` in its own dtypes, which must be `Tout`."""
    try:
        result = func(*args)
    except Exception as error:  # noqa: BLE001 (whatever the user's code raises)
        errors.raise_of_function(error)
    several = isinstance(Tout, (list, tuple))
    wanted = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    if Tout is None or not wanted:
        return ()
    if result is None:
        results = []
    elif isinstance(result, (list, tuple)) and (several or exact):
        results = list(result)
    else:
        results = [result]
    if len(results) != len(wanted):
        raise InvalidArgumentError(
            f"pyfunc returns {len(results)} values, but expects to see {len(wanted)} "
            f"values: func gave {'None' if result is None else type(result).__name__}"
        )
    pairs = enumerate(zip(results, wanted))
    made = [_exact(i, r, t) if exact else _typed(r, t) for i, (r, t) in pairs]
    return made if several else made[0]


def _argument(value: Any) -> Any:
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value)


def _typed(value: Any, dtype: Any) -> Any:
    """A result in the dtype that was promised."""
    if isinstance(value, RaggedTensor) or isinstance(dtype, RaggedTensorSpec):
        return _ragged(value, dtype)
    kind = as_dtype(getattr(dtype, "dtype", dtype)).dtype
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != kind:
        both_numbers = value.dtype.kind in "biuf" and kind.kind in "biuf"
        if not both_numbers and not (value.dtype.kind in "SUO" and kind == object):
            raise InvalidArgumentError(
                f"py_function: func gave {value.dtype}, Tout is {kind}"
            )
    try:
        return convert_to_tensor(value, dtype=kind)
    except (TypeError, ValueError) as error:
        errors.raise_of_function(error)


def _ragged(value: Any, spec: Any) -> Any:
    """A ragged result, which must be as promised."""
    if (
        not isinstance(value, RaggedTensor)
        or not isinstance(spec, RaggedTensorSpec)
        or (value.dtype, value.ragged_rank) != (spec.dtype, spec.ragged_rank)
    ):
        raise InvalidArgumentError(
            f"py_function: func gave {value!r}, which is not compatible with the Tout "
            f"{spec}"
        )
    return value


# As TensorFlow's messages call them.
_CALLED = {"float16": "half", "float32": "float", "float64": "double"}


def _exact(place: int, value: Any, dtype: Any) -> Any:
    """A result that has the dtype that was promised, as NumPy sees it."""
    wanted = as_dtype(getattr(dtype, "dtype", dtype))
    try:
        array = np.asarray(bytes(value) if isinstance(value, bytes) else value)
    except ValueError as error:
        errors.raise_of_function(error)
    text = array.dtype.kind in "SU" or (
        array.dtype == object and all(isinstance(x, (str, bytes)) for x in array.flat)
    )
    if array.dtype == object and not text:
        raise InvalidArgumentError(
            f"{place}-th value returned by pyfunc is of a type that no tensor has: "
            f"{value!r}"
        )
    given = "string" if text else array.dtype.name
    if given != wanted.name:
        raise InvalidArgumentError(
            f"{place}-th value returned by pyfunc is {_CALLED.get(given, given)}, but "
            f"expects {_CALLED.get(wanted.name, wanted.name)}"
        )
    return convert_to_tensor(value if text else array)
