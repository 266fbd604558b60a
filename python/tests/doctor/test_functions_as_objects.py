"""Functions that are objects: wrapped, bound, cached or compiled ones."""

from __future__ import annotations

import functools
import time
import warnings

import pytest
from penstock._doctor_draws import draws
from penstock._doctor_facts import plan_of
from penstock.tf._functions import Call

import penstock as ps
from penstock import _watch

R = ps.Dataset.range


def slow(x):
    time.sleep(0.003)
    return x


class Slow:
    def __call__(self, x):
        time.sleep(0.003)
        return x

    def method(self, x):
        time.sleep(0.003)
        return x


@functools.lru_cache
def cached(x):
    time.sleep(0.003)
    return x


class LikeAFunction:
    """As Numba's dispatchers: it has the code, and nothing else of a function."""

    def __init__(self, fn):
        self.py_func = fn
        self.__code__ = fn.__code__

    def __call__(self, x):
        return self.py_func(x)


OBJECTS = {
    "partial": functools.partial(slow),
    "object": Slow(),
    "method": Slow().method,
    "lru_cache": cached,
    "tf": Call(slow, "element"),
    "dispatcher": LikeAFunction(slow),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_their_lines_are_known(kind):
    plan = plan_of(R(10).map(OBJECTS[kind]).map(lambda x: (x, 1)))
    assert "map#1" in plan.codes.values()
    draws(OBJECTS[kind])  # whatever it says


def test_what_tf_wraps_is_looked_into():
    assert not draws(Call(slow, "element"))
    assert draws(Call(lambda x: ps.random.uniform(()) + x, "element"))


@pytest.mark.flaky(reruns=2)
def test_their_hot_lines_are_shown():
    report = ps.doctor(R(10_000).map(Slow(), num_parallel_calls=1), seconds=0.8)
    assert "time.sleep" in report.hot_lines["map#1"][0]["text"]


def test_who_watches_does_not_stop_an_iterator():
    def fails(it):
        raise AttributeError("it has no such thing")

    _watch.observe(fails)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert list(R(3)) == [0, 1, 2]
        assert "no such thing" in str(seen[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(R(3)) == [0, 1, 2]
    finally:
        _watch.forget(fails)
