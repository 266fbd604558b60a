"""Functions that Numba compiled run by pointer, without the GIL."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import penstock as ps

numba = pytest.importorskip("numba")


@numba.njit
def affine(x):
    return x * 2 + 1


@numba.njit
def divide(a, b):
    return a // b


@numba.njit
def moments(a):
    return a - 1, a[0] + a[1], a.size


@numba.njit
def outer(a, n):
    out = np.empty((a.size, n))
    for i in range(a.size):
        for k in range(n):
            out[i, k] = a[i] * k
    return out


@numba.njit
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@numba.cfunc("float64(float64, float64)")
def hypot(a, b):
    return (a * a + b * b) ** 0.5


def by_pointer(ds):
    return "compiled by Numba, called by pointer" in ds.explain()


def test_numbers():
    ds = ps.Dataset.range(10_000).map(affine)
    assert by_pointer(ds)
    assert ds.element_spec == ps.TensorSpec((), ps.int64)
    np.testing.assert_array_equal(
        np.concatenate(ds.batch(1000).to_list()), np.arange(10_000) * 2 + 1
    )


def test_loops_that_tracing_cannot_follow():
    ds = ps.Dataset.range(1, 200).map(collatz, executor="native")
    assert [int(x) for x in ds] == [collatz.py_func(n) for n in range(1, 200)]


def test_arrays_and_several_results():
    data = np.arange(24, dtype=np.float32).reshape(6, 4)
    ds = ps.Dataset.from_tensor_slices(data).map(moments)
    assert by_pointer(ds)
    for (centred, total, size), row in zip(ds, data):
        np.testing.assert_array_equal(centred, row - 1)
        assert (total, size) == (row[0] + row[1], 4)
        assert centred.dtype == np.float32


def test_results_of_a_size_that_the_function_decides():
    source = (np.ones((5, 3)), np.arange(5))
    ds = ps.Dataset.from_tensor_slices(source).map(outer)
    assert by_pointer(ds)
    assert ds.element_spec == ps.TensorSpec((None, None), ps.float64)
    for i, got in enumerate(ds):
        np.testing.assert_array_equal(got, np.outer(np.ones(3), np.arange(i)))


def test_c_functions():
    ds = ps.Dataset.from_tensor_slices((np.array([3.0, 5.0]), np.array([4, 12])))
    ds = ds.map(hypot)
    assert by_pointer(ds)
    assert [float(x) for x in ds] == [5.0, 13.0]


def test_exceptions_are_the_users_own_and_in_place():
    source = (np.arange(6), np.array([1, 0, 1, 0, 1, 1]))
    for name in ("packed", "one by one"):
        ds = ps.Dataset.from_tensor_slices(source)
        if name == "one by one":
            ds = ds.filter(lambda a, b: a >= 0)
        ds = ds.map(divide)
        assert by_pointer(ds)
        it = iter(ds)
        got = []
        for _ in range(6):
            try:
                got.append(int(next(it)))
            except ZeroDivisionError as error:
                got.append("error")
                assert any("map#" in n for n in error.__notes__)
        assert got == [0, "error", 2, "error", 4, 5]


def test_the_gil_is_not_needed():
    """All is computed while this thread keeps the GIL for itself."""
    ds = ps.Dataset.range(1, 20_000).map(collatz)
    it = iter(ds)  # runs ahead of the consumer
    before = sys.getswitchinterval()
    sys.setswitchinterval(60.0)
    try:
        end = time.monotonic() + 30
        done = 0
        while done < 100 and time.monotonic() < end:
            stages = it.counters()["stages"]
            done = sum(s["elements"] for s in stages if s["stage"] == "map#1")
        assert done >= 100
    finally:
        sys.setswitchinterval(before)
        it.close()


def test_what_cannot_be_called_by_pointer_is_called_by_python():
    @numba.njit
    def writes(a):
        a[0] = 1
        return a

    data = np.zeros((2, 3))
    ds = ps.Dataset.from_tensor_slices(data).map(writes)
    assert not by_pointer(ds) and "not called by pointer" in ds.explain()
    assert data.sum() == 0
    unknown = ps.Dataset.range(3).map(lambda x: {"a": np.random.rand() * 0 + x})
    ds = unknown.map(lambda d: d["a"])
    ds = ds.map(affine)
    assert "spec is not known" in ds.explain()
    assert [int(x) for x in ds] == [1, 3, 5]
    keep = ps.Dataset.range(6).filter(numba.njit(lambda x: x % 2 == 0))
    assert [int(x) for x in keep] == [0, 2, 4]


def test_a_declared_result_must_be_the_compiled_one():
    with pytest.raises(ps.InvalidArgumentError, match="declared is"):
        ps.Dataset.range(3).map(
            affine,
            executor="native",
            output_signature=ps.TensorSpec((), ps.float32),
        )


@numba.njit
def even(x):
    return x % 2 == 0


@numba.njit
def remainder(x):
    return x % 3


@numba.njit
def length(row):
    return row.size


def test_filters_and_take_while():
    ds = ps.Dataset.range(10_000).filter(even)
    assert by_pointer(ds), ds.explain()
    assert [int(x) for x in ds.take(3)] == [0, 2, 4]
    # A number is true unless it is 0.
    ds = ps.Dataset.range(7).filter(remainder)
    assert by_pointer(ds)
    assert [int(x) for x in ds] == [1, 2, 4, 5]
    ds = ps.Dataset.range(1, 9).take_while(remainder)
    assert by_pointer(ds)
    assert [int(x) for x in ds] == [1, 2]


def test_keys_and_lengths():
    ds = ps.Dataset.range(9).group_by_window(
        remainder, lambda key, window: window.batch(9), 9
    )
    assert by_pointer(ds), ds.explain()
    assert [b.tolist() for b in ds] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    rows = ps.Dataset.from_generator(
        lambda: iter([np.ones(n, np.int64) for n in (1, 5, 2)]),
        ps.TensorSpec((None,), ps.int64),
    )
    ds = rows.bucket_by_sequence_length(length, [3], [2, 2])
    assert by_pointer(ds), ds.explain()
    assert [b.shape for b in ds] == [(2, 2), (1, 5)]


def test_a_predicate_that_gives_an_array_is_refused_with_the_reason():
    with pytest.raises(ps.InvalidArgumentError, match="not one number"):
        ps.Dataset.range(3).batch(2).filter(affine, executor="native")


def test_an_exception_in_a_filter_is_raised_at_its_element():
    @numba.njit
    def strict(x):
        if x == 2:
            raise ValueError("two")
        return x > 0

    ds = ps.Dataset.range(4).filter(strict)
    assert by_pointer(ds)
    it = iter(ds)
    assert next(it) == 1
    with pytest.raises(ValueError, match="two"):
        next(it)
    assert next(it) == 3
