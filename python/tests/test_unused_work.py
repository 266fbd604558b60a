"""What nothing reads is not computed, if it cannot fail."""

from __future__ import annotations

import numpy as np

import penstock as ps


def left_out(ds):
    return [
        line.strip() for line in ds.explain().split("\n") if "does not compute" in line
    ]


def both(ds):
    """The elements, and that they are those of stages that stand alone."""
    got = [np.asarray(x).tolist() for x in ds]
    singly = ds.prefetch(1)
    assert got == [np.asarray(x).tolist() for x in singly]
    return got


def pair(x):
    return x + 1, np.sqrt(ps.cast(x, ps.float64))


def test_a_leaf_that_the_next_map_does_not_read():
    ds = ps.Dataset.range(5).map(pair).map(lambda a, b: a * 2)
    assert left_out(ds) == ["map#1 does not compute leaf 1: nothing reads it"]
    assert both(ds) == [2, 4, 6, 8, 10]


def test_the_element_itself_keeps_its_leaves():
    ds = ps.Dataset.range(3).map(pair)
    assert left_out(ds) == []
    assert len(ds.to_list()[0]) == 2


def test_a_filter_between_reads_too():
    ds = ps.Dataset.range(6).map(lambda x: (x, x * 2, x * 3))
    kept = ds.filter(lambda a, b, c: b > 4).map(lambda a, b, c: a)
    assert left_out(kept) == ["map#1 does not compute leaf 2: nothing reads it"]
    assert both(kept) == [3, 4, 5]


def test_what_is_left_out_is_not_asked_for_further_up():
    ds = (
        ps.Dataset.range(4)
        .map(lambda x: (x, x + 10, x + 20))
        .map(lambda a, b, c: (a, b + c))
        .map(lambda a, b: a - 1)
    )
    assert left_out(ds) == [
        "map#2 does not compute leaf 1: nothing reads it",
        "map#1 does not compute leaf 1, 2: nothing reads it",
    ]
    assert both(ds) == [-1, 0, 1, 2]


def test_dicts():
    ds = ps.Dataset.range(3).map(lambda x: {"a": x, "b": x * 5})
    ds = ds.map(lambda e: {"c": e["a"] + 1})
    assert left_out(ds) == ["map#1 does not compute leaf 1: nothing reads it"]
    assert [int(e["c"]) for e in ds] == [1, 2, 3]


def test_what_can_fail_is_computed():
    table = np.arange(3)
    ds = ps.Dataset.range(5).map(lambda x: (x, ps.gather(table, x)))
    ds = ds.map(lambda a, b: a)
    assert left_out(ds) == []


def outcomes(ds, count):
    it, found = iter(ds), []
    for _ in range(count):
        try:
            found.append(next(it))
        except (ValueError, IndexError) as error:
            found.append(type(error).__name__)
    return [x if isinstance(x, str) else "" for x in found]


def test_errors_of_what_a_function_does_not_use_are_errors():
    table, powers = np.arange(3), np.array([2, -1, 3])

    def looked_up(x):
        unused = ps.gather(table, x)
        return x + 0 * len(unused.shape)

    def raised(n):
        n**n
        return n

    for executor in ("native", "thread"):
        ds = ps.Dataset.range(4).map(looked_up, executor=executor)
        assert [bool(x) for x in outcomes(ds, 4)] == [False, False, False, True]
        ds = ps.Dataset.from_tensor_slices(powers[:, None]).map(
            raised, executor=executor
        )
        assert [bool(x) for x in outcomes(ds, 3)] == [False, True, False]


def test_powers_that_may_fail_are_computed_and_skipped():
    ds = ps.Dataset.from_tensor_slices(np.array([2, -1, 3]))
    ds = ds.map(lambda n: (n, 2**n), executor="native")
    assert left_out(ds.map(lambda n, power: n)) == []
    skipped = ds.with_options(ps.Options(on_error="skip"))
    assert [int(power) for _, power in skipped] == [4, 8]
    empty = ps.Dataset.from_tensor_slices((np.zeros((2, 0), int), np.array([-1, 2])))
    assert [x.shape for x in empty.map(lambda x, n: x**n)] == [(0,), (0,)]
    constant = ps.Dataset.range(3).map(lambda n: (n, n**3)).map(lambda n, cube: n)
    assert left_out(constant) == ["map#1 does not compute leaf 1: nothing reads it"]


def test_random_values_stay_what_they_are():
    def draw(x):
        return ps.random.uniform(), ps.random.uniform()

    ds = ps.Dataset.range(4).with_options(ps.Options(seed=3)).map(draw)
    second = ds.map(lambda a, b: b + 0.0)
    assert [float(x) for x in second] == [float(b) for _, b in ds]


def test_a_function_of_python_reads_everything():
    ds = ps.Dataset.range(3).map(lambda x: (x, x + 1))
    ds = ds.map(lambda a, b: a, executor="thread")
    assert left_out(ds) == []
    assert [int(x) for x in ds] == [0, 1, 2]
