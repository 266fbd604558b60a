"""Random values belong to elements: in any function, however it runs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset


class Indexable:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return draw()


def draw():
    return float(ps.random.generator().random()) + float(ps.random.uniform())


PIPELINES = {
    "map": lambda: Dataset.range(6).map(lambda x: draw(), executor="thread"),
    "map in processes": lambda: Dataset.range(6).map(
        lambda x: float(ps.random.generator().random()), executor="process"
    ),
    "filter": lambda: Dataset.range(20).filter(lambda x: draw() < 1.0),
    "take_while": lambda: Dataset.range(50).take_while(lambda x: draw() < 1.6),
    "flat_map": lambda: Dataset.range(6).flat_map(
        lambda x: Dataset.from_tensors(draw())
    ),
    "interleave": lambda: Dataset.range(6).interleave(
        lambda x: Dataset.from_tensors(draw()), cycle_length=3
    ),
    "scan": lambda: Dataset.range(6).scan(0.0, lambda s, x: (s + draw(), s)),
    "from_generator": lambda: Dataset.from_generator(
        lambda: (draw() for _ in range(6))
    ),
    "from_indexable": lambda: Dataset.from_indexable(Indexable()),
}


def values(ds, **options):
    ds = ds.with_options(ps.Options(seed=3, **options))
    return [np.asarray(x).tolist() for x in ds]


@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_for_every_run(name):
    make = PIPELINES[name]
    first = values(make())
    assert len(set(first)) == len(first)
    assert values(make(), cpu_budget=1) == first
    assert values(make().prefetch(0)) == first


@pytest.mark.parametrize("name", PIPELINES)
def test_others_in_the_next_epoch_and_for_another_seed(name):
    ds = PIPELINES[name]().with_options(ps.Options(seed=3))
    first = [np.asarray(x).tolist() for x in ds]
    assert [np.asarray(x).tolist() for x in ds] != first
    other = PIPELINES[name]().with_options(ps.Options(seed=4))
    assert [np.asarray(x).tolist() for x in other] != first


@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_after_a_resume(name):
    ds = PIPELINES[name]().with_options(ps.Options(seed=3))
    whole = [np.asarray(x).tolist() for x in ds.iterator()]
    # Another object, because a dataset counts its iterations.
    ds = PIPELINES[name]().with_options(ps.Options(seed=3))
    it = ds.iterator()
    head = [np.asarray(next(it)).tolist() for _ in range(min(3, len(whole)))]
    rest = [np.asarray(x).tolist() for x in ds.iterator(state=it.state_dict())]
    assert head + rest == whole


def test_defaults_are_those_that_are_documented():
    parameters = inspect.signature(ps.random.uniform).parameters.values()
    assert {p.name: p.default for p in parameters} == {
        "shape": (), "minval": 0.0, "maxval": 1.0, "dtype": ps.float32
    }  # fmt: skip
    assert 0.0 <= ps.random.uniform() < 1.0


@pytest.mark.parametrize("executor", ["native", "thread"])
def test_whole_numbers_have_the_range_that_is_given(executor):
    def drawn(function, count=200):
        ds = ps.Dataset.range(count).with_options(ps.Options(seed=7))
        return [int(v) for v in ds.map(function, executor=executor)]

    whole = drawn(lambda x: ps.random.uniform((), -(2**63), 2**63 - 1, ps.int64))
    assert min(whole) < -(2**61) and max(whole) > 2**61 and len(set(whole)) == 200
    upper = drawn(lambda x: ps.random.uniform((), 2**63, 2**64, ps.uint64))
    assert min(upper) >= 2**63 and max(upper) > 2**63 + 2**62
    every = drawn(lambda x: ps.random.uniform((), 0, 2**64, ps.uint64))
    assert min(every) < 2**62 and max(every) > 2**63
    byte = drawn(lambda x: ps.random.uniform((), 0, 256, ps.uint8), 2000)
    assert (min(byte), max(byte)) == (0, 255)
    data = drawn(lambda x: ps.random.uniform((), x - 3, x + 1, ps.int8), 100)
    assert all(x - 3 <= v <= x for x, v in enumerate(data))
    for wrong in (
        lambda x: ps.random.uniform((), x, x + 300, ps.uint8),
        lambda x: ps.random.uniform((), x - 1, 9, ps.uint8),
        lambda x: ps.random.uniform((), x, x, ps.int64),
    ):
        with pytest.raises(ps.InvalidArgumentError, match="uniform: m..val must be"):
            drawn(wrong, 1)


@pytest.mark.parametrize(
    "low, high, dtype, told",
    [
        (0, 300, "uint8", "maxval must be from 0 to 256 for uint8, got 300"),
        (-1, 1, "uint8", "minval must be from 0 to 255 for uint8, got -1"),
        (0, 2**63 + 1, "int64", f"maxval must be from .* got {2**63 + 1}"),
        (5, 5, "int32", "maxval must be above minval, got minval=5, maxval=5"),
    ],
)
def test_bounds_outside_of_the_dtype_are_told(low, high, dtype, told):
    with pytest.raises(ps.InvalidArgumentError, match=f"^uniform: {told}"):
        ps.random.uniform((2,), low, high, dtype)
    with pytest.raises(ps.InvalidArgumentError, match=f"uniform: {told}"):
        ps.Dataset.range(1).map(
            lambda x: ps.random.uniform((2,), low, high, dtype), executor="native"
        )
