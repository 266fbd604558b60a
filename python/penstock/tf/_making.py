"""Functions of `tf` that make tensors: of a value, or in another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _ops as engine_ops
from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced, TracedBytes
from penstock.tf._apply import (
    apply,
    dims,
    eager_only,
    is_traced,
    known,
    numpy_of,
    traceable,
)
from penstock.tf._dtypes import as_dtype, bool_, float32, numpy_dtype
from penstock.tf._ragged import RaggedTensor, SparseTensor
from penstock.tf._ragged_values import over_values
from penstock.tf._selection import clip_by_value
from penstock.tf._values import (
    Bytes,
    convert_to_tensor,
    list_dtype,
    wrap,
)


@traceable
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` in another dtype.

    >>> import penstock.tf as tf
    >>> tf.cast([1.7, -1.7], tf.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    if isinstance(x, SparseTensor):
        return x.with_values(cast(x.values, dtype))
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(cast(x.flat_values, dtype))
    x = convert_to_tensor(x)
    if isinstance(x, (bytes, TracedBytes)) or x.dtype == object:
        if as_dtype(dtype).name == "string":
            return x
        raise TypeError(f"cast: a string cannot be cast to {as_dtype(dtype).name}")
    kind = numpy_dtype(dtype)
    if isinstance(x, Traced):
        return engine_ops.cast(x, kind)
    return wrap(engine_ops.cast(numpy_of(x), kind))


@traceable
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """`value` in another dtype, between its least and largest value.

    >>> import penstock.tf as tf
    >>> tf.saturate_cast([300, -5], tf.uint8).numpy()
    array([255,   0], dtype=uint8)
    """
    value = convert_to_tensor(value)
    kind = as_dtype(dtype)
    source = as_dtype(value.dtype)
    if kind.is_integer and source.is_numeric:
        low, high = kind.min, kind.max
        if source.is_integer:
            low, high = max(low, source.min), min(high, source.max)
        elif float(value.dtype.type(high)) > high:
            # The largest integer has no float: the one below it.
            high = np.nextafter(value.dtype.type(high), value.dtype.type(0))
        value = clip_by_value(value, low, high)
    return cast(value, kind)


@traceable
def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """The bits of `input` as another dtype.

    Values of a smaller one are a last dimension; for a larger one there is one.

    >>> import penstock.tf as tf
    >>> tf.bitcast(tf.constant([1, 256], tf.int16), tf.uint8).numpy().tolist()
    [[1, 0], [0, 1]]
    """
    eager_only("bitcast", input)
    array = np.ascontiguousarray(convert_to_tensor(input))
    array = array.reshape(np.shape(convert_to_tensor(input)))
    kind = numpy_dtype(type)
    if kind.itemsize < array.itemsize:
        return wrap(array[..., None].view(kind))
    ratio = kind.itemsize // array.itemsize
    if ratio == 1:
        return wrap(array.view(kind)[()])
    if not array.ndim or array.shape[-1] != ratio:
        raise InvalidArgumentError(
            f"bitcast: from {array.dtype} to {kind} the last dimension must be "
            f"{ratio}, got {array.shape}"
        )
    return wrap(array.view(kind)[..., 0][()])


@traceable
def identity(input: Any, name: str | None = None) -> Any:
    """`input` as a tensor."""
    return convert_to_tensor(input)


@traceable
def stop_gradient(input: Any, name: str | None = None) -> Any:
    """`input`; there are no gradients here."""
    return convert_to_tensor(input)


@traceable
def zeros(
    shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None
) -> Any:
    """Zeros, or empty strings.

    >>> import penstock.tf as tf
    >>> tf.zeros([2]).numpy()
    array([0., 0.], dtype=float32)
    """
    return _full(shape, b"" if as_dtype(dtype).name == "string" else 0, dtype)


@traceable
def ones(
    shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None
) -> Any:
    """Ones."""
    return _full(shape, 1, dtype)


def _full(shape: Any, value: Any, dtype: Any) -> Any:
    return wrap(np.full(dims(shape), value, numpy_dtype(dtype))[()])


@traceable
def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """A value in every place.

    >>> import penstock.tf as tf
    >>> tf.fill([2], 7).numpy()
    array([7, 7], dtype=int32)
    """
    from penstock.tf._apply import dims as sizes

    value = convert_to_tensor(value)
    if isinstance(value, Traced):
        return apply("broadcast_to", value, sizes(dims))
    if isinstance(value, Bytes):
        return wrap(np.full(sizes(dims), bytes(value), object)[()])
    return wrap(np.full(sizes(dims), numpy_of(value))[()])


@traceable
def zeros_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Any:
    """Zeros of the shape and dtype of `input`."""
    return _like("zeros_like", input, dtype)


@traceable
def ones_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Any:
    """Ones of the shape and dtype of `input`."""
    return _like("ones_like", input, dtype)


def _like(np_name: str, input: Any, dtype: Any) -> Any:
    x = convert_to_tensor(input)
    if isinstance(x, bytes):
        return Bytes(b"")
    if x.dtype == object and dtype is None:
        return wrap(np.full(np.shape(x), b"", object))
    made = apply(np_name, x, dtype=x.dtype if dtype is None else numpy_dtype(dtype))
    return made if is_traced(made) else wrap(np.asarray(made)[()])


@traceable
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """Ones on the diagonal, zeros elsewhere."""
    columns = None if num_columns is None else int(known(num_columns))
    made = np.eye(int(known(num_rows)), columns, dtype=numpy_dtype(dtype))
    if batch_shape is not None:
        made = np.broadcast_to(made, (*dims(batch_shape), *made.shape)).copy()
    return wrap(made)


@traceable
def range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: Any = None,
    name: str | None = "range",
) -> Any:
    """``range(limit)`` or ``range(start, limit[, delta])``, as a tensor.

    >>> import penstock.tf as tf
    >>> tf.range(3).numpy(), tf.range(1.0, 2.0, 0.5).numpy()
    (array([0, 1, 2], dtype=int32), array([1. , 1.5], dtype=float32))
    """
    given = (0, start, delta) if limit is None else (start, limit, delta)
    values = [known(v) for v in given]
    if dtype is None:
        kind = list_dtype(values)
    else:
        kind = numpy_dtype(dtype)
    assert kind is not None
    return wrap(np.arange(*[np.asarray(v).item() for v in values]).astype(kind))


@traceable
def linspace(
    start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0
) -> Any:
    """`num` values at equal distances."""
    first, last = (known(v) for v in (start, stop))
    kind = list_dtype([first, last]) or np.dtype(np.float32)
    if kind.kind != "f":
        kind = np.dtype(np.float64)
    made = np.linspace(
        np.asarray(first, kind), np.asarray(last, kind), int(known(num)), axis=axis
    )
    return wrap(made.astype(kind))


def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Coordinates of a grid."""
    indexing = kwargs.pop("indexing", "xy")
    arrays = [np.asarray(convert_to_tensor(a)) for a in args]
    return [
        wrap(np.ascontiguousarray(g)) for g in np.meshgrid(*arrays, indexing=indexing)
    ]


@traceable
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Any:
    """True for the first `lengths` places of each row.

    >>> import penstock.tf as tf
    >>> tf.sequence_mask([1, 3], 3).numpy().astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    x = convert_to_tensor(lengths)
    if maxlen is None:
        eager_only("sequence_mask without maxlen", x)
        maxlen = np.asarray(x).max(initial=0)
    places = np.arange(int(known(maxlen)))
    mask = apply("less", places, apply("expand_dims", x, -1))
    return cast(mask, dtype)


over_values(
    globals(),
    "saturate_cast identity stop_gradient zeros_like ones_like",
)
