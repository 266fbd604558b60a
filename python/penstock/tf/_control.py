"""Branches and loops of `tf`: they do at once what Python would do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import eager_only, traceable
from penstock.tf._dtypes import as_dtype, int32, numpy_dtype
from penstock.tf._ragged import RaggedTensor
from penstock.tf._shapes import RaggedTensorSpec, TensorShape, TensorSpec
from penstock.tf._structure import flatten, map_structure
from penstock.tf._values import convert_to_tensor, unwrap, wrap


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """``true_fn()`` or ``false_fn()``.

    >>> import penstock.tf as tf
    >>> tf.cond(tf.constant(True), lambda: 1, lambda: 2)
    1
    """
    if true_fn is None or false_fn is None:
        raise TypeError("cond: true_fn and false_fn must be given")
    return true_fn() if pred else false_fn()


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The function of the first predicate that holds."""
    pairs = pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    for predicate, function in pairs:
        if predicate:
            return function()
    if default is None:
        raise ValueError("case: no predicate holds and there is no default")
    return default()


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """The function of a number; the default, or the last, for others."""
    functions = dict(
        branch_fns if isinstance(branch_fns, dict) else enumerate(branch_fns)
    )
    chosen = functions.get(int(branch_index), default)
    return (chosen or functions[max(functions)])()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Calls `body` on the variables while `cond` of them holds.

    >>> import penstock.tf as tf
    >>> tf.while_loop(lambda i: i < 5, lambda i: (i + 2,), (tf.constant(0),))[0].numpy()
    np.int32(6)
    """
    variables = map_structure(convert_to_tensor, loop_vars)
    left = None if maximum_iterations is None else int(maximum_iterations)
    while (left is None or left > 0) and cond(*variables):
        made = body(*variables)
        if not isinstance(made, (list, tuple)):
            made = (made,)
        variables = type(loop_vars)(made)
        left = None if left is None else left - 1
    return map_structure(convert_to_tensor, variables)


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` of every row, stacked.

    >>> import penstock.tf as tf
    >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).numpy()
    array([1, 4, 9], dtype=int32)
    """
    signature = dtype if fn_output_signature is None else fn_output_signature
    tensors = map_structure(
        lambda x: x if isinstance(x, RaggedTensor) else convert_to_tensor(x), elems
    )
    if signature is None and isinstance(tensors, RaggedTensor):
        signature = _row_spec(tensors)
    count = len(flatten(tensors)[0])
    rows = [fn(map_structure(lambda x, i=i: x[i], tensors)) for i in range(count)]
    if signature is None:
        if not rows:
            return elems
        return map_structure(lambda *parts: _stacked(parts, None), *rows)
    specs = flatten(signature)
    columns = list(zip(*map(flatten, rows))) if rows else [()] * len(specs)
    if len(columns) != len(specs):
        raise ValueError(
            f"map_fn: fn gave {len(columns)} values, fn_output_signature has "
            f"{len(specs)}"
        )
    made = iter([_stacked(parts, spec) for parts, spec in zip(columns, specs)])
    return map_structure(lambda _: next(made), rows[0] if rows else signature)


def _row_spec(tensor: RaggedTensor) -> RaggedTensorSpec:
    """What `fn` must give of the rows of a ragged tensor, if nobody says."""
    rank = tensor.shape.rank
    assert rank is not None
    return RaggedTensorSpec([None] * (rank - 1), tensor.dtype, tensor.ragged_rank - 1)


def _stacked(parts: Any, spec: Any) -> Any:
    """Results for the rows of a tensor as one, as a signature says."""
    if isinstance(spec, RaggedTensorSpec):
        return _stacked_ragged(parts, spec)
    if spec is None:
        return wrap(np.stack([np.asarray(unwrap(p)) for p in parts]))
    kind = numpy_dtype(getattr(spec, "dtype", spec))
    arrays = []
    for part in parts:
        known = isinstance(part, (np.ndarray, np.generic, bytes))
        array = convert_to_tensor(part, None if known else kind)
        if numpy_dtype(array.dtype) != kind:
            raise InvalidArgumentError(
                f"map_fn: fn gave {as_dtype(array.dtype).name}, fn_output_signature "
                f"is {as_dtype(kind).name}"
            )
        arrays.append(np.array(array.numpy(), kind))
    if arrays:
        return wrap(np.stack(arrays))
    shape = spec.shape if isinstance(spec, TensorSpec) else TensorShape(())
    return wrap(np.zeros((0, *[d or 0 for d in shape.dims or ()]), kind))


def _stacked_ragged(parts: Any, spec: RaggedTensorSpec) -> RaggedTensor:
    """Rows of one ragged rank as a ragged tensor."""
    levels: list[list[Any]] = [[] for _ in range(spec.ragged_rank + 1)]
    values = []
    for part in parts:
        row = part if isinstance(part, RaggedTensor) else convert_to_tensor(part)
        splits = row.nested_row_splits if isinstance(row, RaggedTensor) else ()
        if len(splits) != spec.ragged_rank or not row.shape.rank:
            raise InvalidArgumentError(
                f"map_fn: fn gave {part!r}, which is not compatible with the "
                f"fn_output_signature {spec}"
            )
        if row.dtype != spec.dtype:
            raise InvalidArgumentError(
                f"map_fn: fn gave {as_dtype(row.dtype).name}, fn_output_signature is "
                f"{spec.dtype.name}"
            )
        levels[0].append([len(row)])
        for level, ends in zip(levels[1:], splits):
            level.append(np.diff(np.asarray(ends)))
        values.append(np.asarray(row.flat_values if splits else row))
    kind = numpy_dtype(spec.dtype)
    flat = np.concatenate(values) if values else np.zeros(0, kind)
    sizes = [np.concatenate([np.zeros(0, np.int64), *level]) for level in levels]
    return RaggedTensor.from_nested_row_lengths(flat, sizes)


def vectorized_map(
    fn: Callable[..., Any],
    elems: Any,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> Any:
    """The same as `map_fn`."""
    return map_fn(fn, elems)


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """``state = fn(state, row)`` from the first row to the last."""
    rows = list(convert_to_tensor(elems))
    state = rows.pop(0) if initializer is None else convert_to_tensor(initializer)
    for row in rows:
        state = fn(state, row)
    return state


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """``fn(result, row)`` over all rows, from the last."""
    turned = map_structure(lambda x: convert_to_tensor(x)[::-1], elems)
    return foldl(fn, turned, initializer)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Every ``state = fn(state, row)``, stacked.

    >>> import penstock.tf as tf
    >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
    array([1, 3, 6], dtype=int32)
    """
    count = len(convert_to_tensor(flatten(elems)[0]))
    order = list(range(count))[:: -1 if reverse else 1]

    def row(i: int) -> Any:
        return map_structure(lambda x: convert_to_tensor(x)[i], elems)

    state = initializer
    states = []
    if state is None:
        state = row(order[0])
        states.append(state)
        order = order[1:]
    for i in order:
        state = fn(state, row(i))
        states.append(state)
    if reverse:
        states.reverse()
    return map_structure(
        lambda *parts: wrap(np.stack([np.asarray(unwrap(p)) for p in parts])), *states
    )


def print_(*inputs: Any, **kwargs: Any) -> None:
    """Prints tensors, to standard error as TensorFlow does.

    >>> import sys, penstock.tf as tf
    >>> tf.print("x:", tf.constant([1, 2]), output_stream=sys.stdout)
    x: [1 2]
    """
    import sys

    from penstock.tf._printing import printed

    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    ending, between = kwargs.pop("end", "\n"), kwargs.pop("sep", " ")
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    text = printed(inputs, between, 3 if summarize is None else summarize) + ending
    if isinstance(stream, str):
        if not stream.startswith("file://"):
            raise ValueError(
                f"print: output_stream must be a stream or file://path, got {stream!r}"
            )
        with open(stream.removeprefix("file://"), "a") as file:
            file.write(text)
        return
    stream.write(text)


def timestamp(name: str | None = None) -> Any:
    """Seconds since 1970, as float64."""
    return wrap(np.float64(time.time()))


def group(*inputs: Any, **kwargs: Any) -> None:
    """Nothing: what it groups has been done."""


def no_op(name: str | None = None) -> None:
    """Nothing."""


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as NumPy's."""
    eager_only("get_static_value", tensor)
    return np.asarray(tensor) if isinstance(tensor, np.ndarray) else tensor


def executing_eagerly() -> bool:
    """Functions mean what Python means."""
    return True


def inside_function() -> bool:
    """The same, the other way around."""
    return False


def is_symbolic_tensor(tensor: Any) -> bool:
    """Values are there when a function sees them."""
    return False


class _Scope:
    """A block that is run as it is written."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    def __enter__(self) -> Any:
        return self._value

    def __exit__(self, *unused: object) -> None:
        return None


@traceable
def control_dependencies(control_inputs: Any) -> _Scope:
    """Accepted: what was written first has been done first."""
    return _Scope()


@traceable
def name_scope(name: Any) -> _Scope:
    """Accepted: gives the name.

    >>> import penstock.tf as tf
    >>> with tf.name_scope("pixels") as scope:
    ...     scope
    'pixels'
    """
    return _Scope(name)


@traceable
def device(device_name: Any) -> _Scope:
    """Accepted: elements are in host memory."""
    return _Scope()


@traceable
def init_scope() -> _Scope:
    """Accepted."""
    return _Scope()


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """Tensors as they are."""
    return [convert_to_tensor(x) for x in input]


def tuple_(
    tensors: Any, control_inputs: Any = None, name: str | None = None
) -> list[Any]:
    """Tensors as they are."""
    return [None if x is None else convert_to_tensor(x) for x in tensors]


def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list[Any]:
    """The shapes of tensors."""
    from penstock.tf._layout import shape

    return [shape(x, out_type) for x in input]
