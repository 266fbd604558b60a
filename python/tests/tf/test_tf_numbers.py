"""Arithmetic on numbers gives numbers with `.numpy()`, at NumPy's speed."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import resource
import time

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

KINDS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
BITS = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def is_number(x, dtype):
    return (
        type(x).__module__ == "penstock.tf._values"
        and x.shape.rank == 0
        and x.dtype == dtype
        and type(x.numpy()) is np.dtype(dtype).type
        and tf.is_tensor(x)
        and isinstance(x, tf.Tensor)
    )


@pytest.mark.parametrize("kind", KINDS.split())
def test_operators_keep_the_kind(kind):
    x, y = tf.constant(7, kind), tf.constant(2, kind)
    plain_x, plain_y = (np.dtype(kind).type(v) for v in (7, 2))
    for name, op in BINARY.items():
        for got in (op(x, y), op(x, 2), op(x, plain_y), op(plain_x, y), op(7, y)):
            assert is_number(got, kind), (name, type(got))
            assert got.numpy() == op(plain_x, plain_y), name
    if "int" in kind:
        for name, op in BITS.items():
            assert is_number(op(x, y), kind), name
            assert op(x, y).numpy() == op(plain_x, plain_y), name
        assert is_number(~x, kind)
        assert (~x).numpy() == ~plain_x
    assert is_number(abs(x), kind)
    if not kind.startswith("u"):
        assert is_number(-y, kind)
    assert is_number(+x, kind)


@pytest.mark.parametrize("kind", KINDS.split())
def test_comparisons_give_truth_values(kind):
    x = tf.constant(7, kind)
    for got, expected in (
        (x < 8, True), (x <= 7, True), (x > 8, False),
        (x >= 8, False), (x == 7, True), (x != 7, False), (3 < x, True),
    ):  # fmt: skip
        assert isinstance(got, tf.Tensor)
        assert got.dtype == tf.bool
        assert got.shape == ()
        assert got.numpy() == np.bool_(expected)
        assert bool(got) is expected
    assert (x == "seven").numpy() == np.False_
    assert {x: 1}[7] == 1


def test_division_as_tensorflow_divides():
    assert is_number(tf.constant(7) / 2, "float64")
    assert is_number(tf.constant(7, tf.int64) / tf.constant(2, tf.int64), "float64")
    assert is_number(tf.constant(7, tf.uint8) / 2, "float32")
    assert is_number(2 / tf.constant(7, tf.int16), "float32")
    assert is_number(tf.constant(7.0) / 2, "float32")


def test_numbers_meet_arrays_and_other_kinds():
    x = tf.constant(3)
    for got in (
        x * tf.constant([1, 2]), tf.constant([1, 2]) * x,
        x * np.array([1, 2], np.int32), np.array([1, 2], np.int32) * x,
    ):  # fmt: skip
        assert isinstance(got, tf.Tensor)
        assert got.numpy().tolist() == [3, 6]
        assert got.dtype == tf.int32
    assert is_number(x + np.int64(4), "int64")
    assert is_number(np.int64(4) + x, "int64")
    assert is_number(x + tf.constant(4, tf.int64), "int64")
    assert is_number(np.float64(2) * tf.constant(1.5), "float64")
    with pytest.raises(TypeError):
        x + object()

    class Left:
        def __radd__(self, other):
            return "mine"

    assert x + Left() == "mine"


def test_they_are_what_python_takes():
    x = tf.constant(3) + 1
    assert [0, 1, 2, 3, 4][x] == 4
    assert list(range(x)) == [0, 1, 2, 3]
    assert int(x) == 4
    assert float(x) == 4.0
    assert f"{x:03d}" == "004"
    assert hash(x) == hash(4)
    assert str(x) == "tf.Tensor(4, shape=(), dtype=int32)"
    for copied in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert is_number(copied, "int32")
        assert copied == 4
    np.testing.assert_allclose(x, 4)
    np.testing.assert_array_equal(tf.constant([1, 2]), [1, 2])


def test_the_dtype_is_tensorflows():
    for x in (tf.constant(1.5), tf.constant([1.5]), tf.constant(1.5) * 2):
        assert x.dtype is tf.float32
        assert x.dtype.is_floating
        assert x.dtype.as_numpy_dtype is np.float32
        assert x.numpy().astype(x.dtype).dtype == np.float32
    assert tf.constant("a").dtype is tf.string
    assert tf.constant([3], tf.uint8).dtype.max == 255
    assert tf.cast(2, tf.constant(1.0).dtype).dtype == tf.float32


def test_a_loop_leaks_nothing():
    x = tf.constant(3, tf.int64)
    total = tf.constant(0, tf.int64)

    def loop(n):
        result = total
        for _ in range(n):
            result = (result + x * 2) % 1000
            assert result >= 0
        return result

    loop(1000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loop(300_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000  # kB


def test_a_loop_is_about_as_fast_as_numpys():
    def loop(x, total):
        started = time.perf_counter()
        for i in range(60_000):
            total += i * x
        return time.perf_counter() - started

    ours = theirs = float("inf")
    for _ in range(7):
        theirs = min(theirs, loop(np.int64(3), 0))
        ours = min(ours, loop(tf.constant(3, tf.int64), 0))
    assert ours < 6 * theirs, (ours, theirs)  # a 0-d array takes 30 times as long


def test_division_by_zero_keeps_the_dtype():
    made = tf.math.divide_no_nan(tf.constant([1.0, 3.0]), [0.0, 2.0])
    assert made.numpy().tolist() == [0.0, 1.5]
    assert made.dtype == tf.float32
    assert tf.math.divide_no_nan(1.0, 0.0).dtype == tf.float32
