"""`tf.random`: fresh values for every element, the same in every run of a seed.

Inside a function of a pipeline values are keyed to the element, whatever runs
it. TensorFlow's own numbers are not reproduced.

>>> import penstock.tf as tf
>>> ds = tf.data.Dataset.range(3).map(lambda x: tf.random.uniform(()))
>>> len({float(x) for x in ds})
3
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from penstock import _ops as engine_ops
from penstock import _penstock, _random_ops
from penstock._errors import InvalidArgumentError
from penstock._trace_value import Traced, current_or_none
from penstock.tf import _missing, _seeds
from penstock.tf._apply import apply, dims, eager_only, numpy_of, traceable
from penstock.tf._dtypes import float32, numpy_dtype
from penstock.tf._seeds import set_seed
from penstock.tf._values import convert_to_tensor, wrap


def _draw(kind: str, dtype: Any, shape: tuple[int, ...], bound: Any = None) -> Any:
    """Values of the engine's stream; outside of pipelines by the global seed."""
    if current_or_none() is not None:
        return _random_ops._draw(kind, dtype, shape, bound)
    key = _penstock.next_draw()
    if key is None:
        chosen = _seeds.draw_key()
        if chosen is None:
            chosen = int.from_bytes(os.urandom(8), "little")
        key = (chosen, 0)
    limit = 1 if bound is None else int(bound)
    return _penstock.random_values(kind, np.dtype(dtype), *key, limit, list(shape))


def _floats(kind: str, dtype: Any, shape: Any) -> tuple[Any, np.dtype[Any]]:
    wanted = numpy_dtype(dtype)
    if wanted.kind != "f":
        raise ValueError(f"random: dtype must be a float's, got {wanted}")
    drawn = wanted if wanted.itemsize >= 4 else np.dtype(np.float32)
    return _draw(kind, drawn, dims(shape)), wanted


def _finish(values: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(values, Traced):
        return values.astype(dtype)
    return wrap(np.asarray(values).astype(dtype, copy=False)[()])


@traceable
def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Values in [minval, maxval); integers need a maxval.

    >>> import penstock.tf as tf
    >>> bool(tf.reduce_all(tf.random.uniform((9,), 2, 5, tf.int32) >= 2))
    True
    """
    wanted = numpy_dtype(dtype)
    if wanted.kind in "iu":
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted}")
        low = engine_ops.cast(numpy_of(minval), np.int64)
        high = engine_ops.cast(numpy_of(maxval), np.int64)
        now = not isinstance(low, Traced) and not isinstance(high, Traced)
        if now and high <= low:
            raise InvalidArgumentError(
                f"uniform: Need minval < maxval, got {low} >= {high}"
            )
        return _finish(_draw("below", np.int64, dims(shape), high - low) + low, wanted)
    values, wanted = _floats("uniform", dtype, shape)
    low = numpy_of(minval)
    high = 1 if maxval is None else numpy_of(maxval)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        low, high = (values.dtype.type(v) for v in (low, high))
    return _finish(values * (high - low) + low, wanted)


@traceable
def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Normally distributed values."""
    values, wanted = _floats("normal", dtype, shape)
    return _finish(values * numpy_of(stddev) + numpy_of(mean), wanted)


@traceable
def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Normally distributed values less than two deviations away."""
    sizes = dims(shape)
    eager_only("truncated_normal")
    values = np.asarray(_draw("normal", np.float64, sizes))
    for _ in range(64):
        far = np.abs(values) > 2
        if not far.any():
            break
        again = np.asarray(_draw("normal", np.float64, sizes))
        values = np.where(far, again, values)
    values = np.clip(values, -2, 2)
    made = values * numpy_of(stddev) + numpy_of(mean)
    return _finish(made, numpy_dtype(dtype))


@traceable
def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Any:
    """The rows of a tensor in random order.

    >>> import penstock.tf as tf
    >>> sorted(tf.random.shuffle([3, 1, 2]).numpy().tolist())
    [1, 2, 3]
    """
    x = convert_to_tensor(value)
    order = _draw("permutation", np.int64, (len(x),))
    return apply("take", x, order, axis=0)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = np.int64,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Classes drawn with the probabilities of `logits`, for each row."""
    rows = np.asarray(convert_to_tensor(logits)).astype(np.float64)
    weights = np.exp(rows - rows.max(-1, keepdims=True))
    ends = np.cumsum(weights / weights.sum(-1, keepdims=True), -1)
    drawn = np.asarray(_draw("uniform", np.float64, (len(rows), int(num_samples))))
    made = [np.searchsorted(e, d, "right") for e, d in zip(ends, drawn)]
    top = rows.shape[-1] - 1
    return wrap(np.minimum(np.array(made), top).astype(numpy_dtype(dtype)))


# --- stateless ------------------------------------------------------------------


def _key(seed: Any) -> int:
    """Two numbers as one key."""
    numbers = np.asarray(convert_to_tensor(seed)).astype(np.int64).reshape(-1)
    if numbers.size != 2:
        raise InvalidArgumentError(
            f"seed must have shape [2], got {list(np.shape(numbers))}"
        )
    first, second = (int(n) % 2**64 for n in numbers)
    # Odd multipliers, so that neighbours give other streams.
    mixed = first * 0x9E3779B97F4A7C15 + second * 0xC2B2AE3D27D4EB4F
    return (mixed ^ (mixed >> 31)) % 2**64


def _stateless(kind: str, dtype: Any, shape: Any, seed: Any, bound: int = 1) -> Any:
    return _penstock.random_values(
        kind, np.dtype(dtype), _key(seed), 0, bound, list(dims(shape))
    )


@traceable
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Any:
    """Values in [minval, maxval): the same for the same seed, of two numbers.

    >>> import penstock.tf as tf
    >>> a = tf.random.stateless_uniform((3,), seed=(1, 2))
    >>> b = tf.random.stateless_uniform((3,), seed=(1, 2))
    >>> bool(tf.reduce_all(a == b))
    True
    """
    eager_only("stateless random values", seed, minval, maxval)
    wanted = numpy_dtype(dtype)
    if wanted.kind in "iu":
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted}")
        low, high = int(minval), int(maxval)
        values = _stateless("below", np.int64, shape, seed, high - low)
        return _finish(np.asarray(values) + low, wanted)
    values = _stateless("uniform", np.float32, shape, seed)
    high = 1 if maxval is None else numpy_of(maxval)
    low = numpy_of(minval)
    return _finish(values * np.float32(high - low) + np.float32(low), wanted)


@traceable
def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Any:
    """Normally distributed values: the same for the same seed."""
    eager_only("stateless random values", seed, mean, stddev)
    values = _stateless("normal", np.float32, shape, seed)
    return _finish(values * numpy_of(stddev) + numpy_of(mean), numpy_dtype(dtype))


@traceable
def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Any:
    """Normally distributed values less than two deviations away."""
    eager_only("stateless random values", seed, mean, stddev)
    sizes = dims(shape)
    key = _key(seed)
    values: Any = np.full(sizes, 3.0)
    for call in range(64):
        far = np.abs(values) > 2
        if not far.any():
            break
        again: Any = _penstock.random_values(
            "normal", np.dtype(np.float64), key, call, 1, list(sizes)
        )
        values = np.where(far, again, values)
    made = np.clip(values, -2, 2) * numpy_of(stddev) + numpy_of(mean)
    return _finish(made, numpy_dtype(dtype))


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = np.int64, name: Any = None
) -> Any:
    """Classes drawn with the probabilities of `logits`: the same for a seed."""
    rows = np.asarray(convert_to_tensor(logits)).astype(np.float64)
    weights = np.exp(rows - rows.max(-1, keepdims=True))
    ends = np.cumsum(weights / weights.sum(-1, keepdims=True), -1)
    drawn = np.asarray(
        _stateless("uniform", np.float64, (len(rows), int(num_samples)), seed)
    )
    made = [np.searchsorted(e, d, "right") for e, d in zip(ends, drawn)]
    top = rows.shape[-1] - 1
    return wrap(np.minimum(np.array(made), top).astype(numpy_dtype(dtype)))


@traceable
def experimental_stateless_shuffle(value: Any, seed: Any, **more: Any) -> Any:
    """The rows of a tensor in the order that a seed says."""
    eager_only("stateless random values", value, seed)
    x = np.asarray(convert_to_tensor(value))
    order = np.asarray(_stateless("permutation", np.int64, (len(x),), seed))
    return wrap(x[order])


def split(seed: Any, num: int = 2, **more: Any) -> Any:
    """Several seeds of one."""
    values = np.asarray(_stateless("below", np.int64, (int(num), 2), seed, 2**31 - 1))
    return wrap(values.astype(np.int32))


def fold_in(seed: Any, data: Any, **more: Any) -> Any:
    """A seed of a seed and a number."""
    mixed = np.asarray(convert_to_tensor(seed)).astype(np.int64) + [0, int(data)]
    values = _stateless("below", np.int64, (2,), mixed, 2**31 - 1)
    return wrap(np.asarray(values).astype(np.int32))


class Generator:
    """A stream of random values with a state of its own.

    >>> import penstock.tf as tf
    >>> g, h = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    >>> bool(tf.reduce_all(g.normal((3,)) == h.normal((3,))))
    True
    """

    def __init__(self, key: int) -> None:
        self._key = key
        self._calls = 0

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        return cls(int(np.asarray(seed).reshape(-1)[0]))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        return cls(int.from_bytes(os.urandom(7), "little"))

    def _seed(self) -> tuple[int, int]:
        self._calls += 1
        return self._key, self._calls

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        return stateless_uniform(shape, self._seed(), minval, maxval, dtype)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        return stateless_normal(shape, self._seed(), mean, stddev, dtype)

    def make_seeds(self, count: int = 1) -> Any:
        """`count` seeds, as two rows."""
        return wrap(np.asarray(split(self._seed(), count)).astype(np.int64).T)


_global_generator: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator that everybody shares."""
    if not _global_generator:
        _global_generator.append(Generator.from_non_deterministic_state())
    return _global_generator[0]


def __getattr__(name: str) -> Any:
    return _missing.resolve("random", name)


__all__ = [
    "Generator",
    "categorical",
    "experimental_stateless_shuffle",
    "fold_in",
    "get_global_generator",
    "normal",
    "set_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
