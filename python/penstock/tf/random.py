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
from penstock.image._call import call as engine_call
from penstock.tf import _missing, _seeds
from penstock.tf._apply import (
    apply,
    dims,
    eager_only,
    is_traced,
    numpy_of,
    traceable,
)
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


def _seed(seed: Any) -> Any:
    """Two whole numbers, which a traced function may compute."""
    if isinstance(seed, Traced) and not seed.is_constant:
        if seed.ndim != 1 or seed.shape[0] not in (2, None, -1):
            raise InvalidArgumentError(f"seed must have shape [2], got {seed.shape}")
        return seed
    if is_traced(seed) and isinstance(seed, (list, tuple)):
        if len(seed) != 2:
            raise InvalidArgumentError(f"seed must have shape [2], got [{len(seed)}]")
        return tuple(seed)
    given = seed._value if isinstance(seed, Traced) else convert_to_tensor(seed)
    numbers = np.asarray(given)
    if numbers.shape != (2,):
        raise InvalidArgumentError(
            f"seed must have shape [2], got {list(numbers.shape)}"
        )
    return tuple(int(n) for n in numbers.astype(np.int64))


def _stateless(kind: str, dtype: Any, shape: Any, seed: Any, bound: Any = 1) -> Any:
    """Values of the seed alone: plain, or traced where the seed is computed."""
    return engine_call(
        "random.stateless",
        params={"seed": _seed(seed), "bound": bound},
        kind=kind,
        dtype=np.dtype(dtype),
        shape=tuple(dims(shape)),
    )


def _scaled(values: Any, factor: Any, offset: Any, dtype: Any) -> Any:
    """values * factor + offset, computed in the dtype that was drawn."""
    kind = values.dtype
    made = values * engine_ops.cast(factor, kind) + engine_ops.cast(offset, kind)
    return _finish(made, numpy_dtype(dtype))


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
    wanted = numpy_dtype(dtype)
    if wanted.kind in "iu":
        if minval is None and maxval is None and wanted.itemsize <= 4:
            minval, maxval = np.iinfo(wanted).min, np.iinfo(wanted).max + 1
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted}")
        low = engine_ops.cast(minval, np.int64)
        reach = engine_ops.cast(maxval, np.int64) - low
        values = _stateless("below", np.int64, shape, seed, reach)
        return _finish(values + low, wanted)
    values = _stateless("uniform", _drawn(wanted), shape, seed)
    high = engine_ops.cast(1 if maxval is None else maxval, values.dtype)
    low = engine_ops.cast(minval, values.dtype)
    return _scaled(values, high - low, low, wanted)


def _drawn(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which floats are drawn."""
    if dtype.kind != "f":
        raise ValueError(f"random: dtype must be a float's, got {dtype}")
    return dtype if dtype.itemsize >= 4 else np.dtype(np.float32)


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
    """Normally distributed values: the same for the same seed.

    >>> import penstock.tf as tf
    >>> ds = tf.data.Dataset.range(2).map(
    ...     lambda i: tf.random.stateless_normal((2,), seed=[1, i]))
    >>> first, second = ds
    >>> bool(tf.reduce_all(first == tf.random.stateless_normal((2,), seed=[1, 0])))
    True
    """
    values = _stateless("normal", _drawn(numpy_dtype(dtype)), shape, seed)
    return _scaled(values, stddev, mean, dtype)


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
    values = _stateless("truncated_normal", _drawn(numpy_dtype(dtype)), shape, seed)
    return _scaled(values, stddev, mean, dtype)


@traceable
def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = np.int64, name: Any = None
) -> Any:
    """Classes drawn with the probabilities of `logits`: the same for a seed."""
    eager_only("stateless_categorical", logits, seed)
    rows = np.asarray(convert_to_tensor(logits)).astype(np.float64)
    weights = np.exp(rows - rows.max(-1, keepdims=True))
    ends = np.cumsum(weights / weights.sum(-1, keepdims=True), -1)
    drawn = np.asarray(
        _stateless("uniform", np.float64, (len(rows), int(num_samples)), seed)
    )
    made = [np.searchsorted(e, d, "right") for e, d in zip(ends, drawn)]
    top = rows.shape[-1] - 1
    return wrap(np.minimum(np.array(made), top).astype(numpy_dtype(dtype)))


def _python_stream(op: str, seed: Any, *values: Any) -> Any:
    """A NumPy generator of a seed, for distributions that are no operations."""
    eager_only(op, seed, *values)
    key = np.array(_seed(seed), np.int64).astype(np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


@traceable
def stateless_binomial(
    shape: Any,
    seed: Any,
    counts: Any,
    probs: Any,
    output_dtype: Any = np.int32,
    name: str | None = None,
) -> Any:
    """Successes of `counts` trials: the same for the same seed."""
    stream = _python_stream("stateless_binomial", seed, counts, probs)
    drawn = stream.binomial(np.int64(counts), numpy_of(probs), dims(shape))
    return _finish(drawn, numpy_dtype(output_dtype))


@traceable
def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = np.int32, name: str | None = None
) -> Any:
    """Poisson distributed counts: the same for the same seed."""
    stream = _python_stream("stateless_poisson", seed, lam)
    return _finish(stream.poisson(numpy_of(lam), dims(shape)), numpy_dtype(dtype))


@traceable
def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """Gamma distributed values: the same for the same seed."""
    stream = _python_stream("stateless_gamma", seed, alpha, beta)
    scale = 1.0 if beta is None else 1.0 / np.asarray(numpy_of(beta))
    drawn = stream.gamma(numpy_of(alpha), scale, dims(shape))
    return _finish(drawn, numpy_dtype(dtype))


@traceable
def poisson(
    shape: Any,
    lam: Any,
    dtype: Any = float32,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Poisson distributed counts; the shape of `lam` comes last.

    >>> import penstock.tf as tf
    >>> tf.random.poisson([4], 2.5).shape
    TensorShape([4])
    """
    eager_only("poisson", lam)
    rates = np.asarray(convert_to_tensor(lam))
    stream = np.random.Generator(np.random.Philox(key=_fresh_key()))
    drawn = stream.poisson(rates, (*dims(shape), *rates.shape))
    return _finish(drawn, numpy_dtype(dtype))


@traceable
def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = float32,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Gamma distributed values; the shape of `alpha` comes last."""
    eager_only("gamma", alpha, beta)
    shapes = np.asarray(convert_to_tensor(alpha))
    scale = 1.0 if beta is None else 1.0 / np.asarray(numpy_of(beta))
    stream = np.random.Generator(np.random.Philox(key=_fresh_key()))
    sizes = (*dims(shape), *np.broadcast_shapes(shapes.shape, np.shape(scale)))
    return _finish(stream.gamma(shapes, scale, sizes), numpy_dtype(dtype))


def _fresh_key() -> Any:
    """Two words of the element's stream, or of the global seed."""
    drawn = np.asarray(_draw("below", np.int64, (2,), 2**62))
    return drawn.astype(np.uint64)


@traceable
def experimental_stateless_shuffle(value: Any, seed: Any, **more: Any) -> Any:
    """The rows of a tensor in the order that a seed says."""
    x = convert_to_tensor(value)
    length = x.shape[0]
    if isinstance(x, Traced) and (length is None or length < 0):
        eager_only("stateless shuffle of a number of rows that is not known", x)
    order = _stateless("permutation", np.int64, (int(length),), seed)
    if is_traced(x, order):
        return engine_ops.gather(x, order)
    return wrap(np.asarray(x)[np.asarray(order)])


@traceable
def split(seed: Any, num: int = 2, alg: str = "auto_select") -> Any:
    """Several seeds of one.

    >>> import penstock.tf as tf
    >>> tf.random.split([1, 2], 3).shape
    TensorShape([3, 2])
    """
    values = _stateless("below", np.int64, (int(num), 2), seed, 2**31 - 1)
    return _finish(values, np.dtype(np.int32))


@traceable
def fold_in(seed: Any, data: Any, alg: str = "auto_select") -> Any:
    """A seed of a seed and a number."""
    first = _stateless("below", np.int64, (2,), seed, 2**31 - 1)
    number = engine_ops.cast(data, np.int64)
    mixed = engine_ops.stack([first[0] + number, first[1]])
    values = _stateless("below", np.int64, (2,), mixed, 2**31 - 1)
    return _finish(values, np.dtype(np.int32))


class Generator:
    """A stream of random values with a state of its own.

    >>> import penstock.tf as tf
    >>> g, h = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    >>> bool(tf.reduce_all(g.normal((3,)) == h.normal((3,))))
    True
    """

    def __init__(
        self, copy_from: Any = None, state: Any = None, alg: Any = None
    ) -> None:
        """A copy of another, or one whose state is (key, calls so far)."""
        if copy_from is not None:
            state = copy_from._key, copy_from._calls
        if state is None:
            raise ValueError("Generator: copy_from or state must be given")
        values = [int(v) for v in np.asarray(state).reshape(-1)]
        self._key = values[0]
        self._calls = values[1] if len(values) > 1 else 0

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        return cls(state=state)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        return cls(state=int(np.asarray(seed).reshape(-1)[0]))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        return cls(state=int.from_bytes(os.urandom(7), "little"))

    @property
    def state(self) -> Any:
        """What a generator that goes on from here is made of."""
        return wrap(np.array([self._key, self._calls], np.int64))

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

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        return stateless_truncated_normal(shape, self._seed(), mean, stddev, dtype)

    def uniform_full_int(
        self, shape: Any, dtype: Any = "uint64", name: str | None = None
    ) -> Any:
        """Integers of every value that the dtype has."""
        wanted, sizes = numpy_dtype(dtype), dims(shape)
        if wanted.kind not in "iu" or wanted.itemsize < 4:
            raise ValueError(f"uniform_full_int: no dtype of its: {wanted}")
        half = wanted.itemsize // 4
        words = stateless_uniform(
            (*sizes, half), self._seed(), None, None, np.dtype(np.uint32)
        )
        return wrap(np.ascontiguousarray(words).view(wanted).reshape(sizes)[()])

    def split(self, count: int = 1) -> list[Generator]:
        """`count` generators of streams of their own."""
        seeds = np.asarray(self.make_seeds(count))
        return [Generator(state=[int(s[0]), int(s[1])]) for s in seeds.T]

    def skip(self, delta: Any) -> None:
        """Goes on as after `delta` further calls."""
        self._calls += int(delta)

    def reset(self, state: Any) -> None:
        """Goes on from a `state`."""
        self.__init__(state=state)  # type: ignore[misc]

    def reset_from_seed(self, seed: Any) -> None:
        """Starts anew."""
        self.reset(int(np.asarray(seed).reshape(-1)[0]))

    def make_seeds(self, count: int = 1) -> Any:
        """`count` seeds, as two rows."""
        return wrap(np.asarray(split(self._seed(), count)).astype(np.int64).T)


_global_generator: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator that everybody shares."""
    if not _global_generator:
        _global_generator.append(Generator.from_non_deterministic_state())
    return _global_generator[0]


def set_global_generator(generator: Generator) -> None:
    """Makes `generator` the one that everybody shares."""
    _global_generator[:] = [generator]


def __getattr__(name: str) -> Any:
    if name == "experimental":
        from penstock.tf import _random_experimental

        return _random_experimental
    return _missing.resolve("random", name)


__all__ = [
    "Generator",
    "categorical",
    "experimental_stateless_shuffle",
    "fold_in",
    "gamma",
    "get_global_generator",
    "normal",
    "poisson",
    "set_global_generator",
    "set_seed",
    "shuffle",
    "split",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
