"""Building a graph runs nothing of the user's, whatever objects a function holds."""

from __future__ import annotations

import functools
import sys
import types
from unittest import mock

import numpy as np
import penstock.tf as tf
import pytest
from penstock._look import look

import penstock as ps

EXECUTORS = ("auto", "thread", "process")


class AttrDict(dict):
    __getattr__ = dict.__getitem__


class Counts:
    """Gives any attribute, and counts who asks."""

    asked: list[str] = []

    def __getattr__(self, name):
        self.asked.append(name)
        return len(self.asked)


class Fails:
    """Any attribute that it does not have is a KeyError."""

    def __getattr__(self, name):
        raise KeyError(name)

    def __getstate__(self):
        return {}

    def __reduce__(self):
        return Fails, ()


class CountsAll(Counts):
    """Is asked even for __class__."""

    def __getattribute__(self, name):
        Counts.asked.append(name)
        return object.__getattribute__(self, name)


class Asked(type):
    def __getattr__(cls, name):
        Counts.asked.append(name)
        return 3


class OfMeta(metaclass=Asked):
    pass


class Properties:
    @property
    def fingerprint(self):
        Counts.asked.append("fingerprint")
        return "mine"

    __wrapped__ = __code__ = packed = fingerprint
    __penstock_function__ = __penstock_traceable__ = fingerprint

    def __call__(self, x):
        return x + 1


@pytest.fixture(autouse=True)
def nobody_asked_yet():
    Counts.asked.clear()


def ints(ds):
    return [int(x) for x in ds]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_config_with_attributes_is_used_as_it_is(executor):
    cfg = AttrDict(scale=3)
    ds = ps.Dataset.range(3).map(lambda x: x * cfg.scale, executor=executor)
    assert ints(ds) == [0, 3, 6]
    fails = Fails()
    fails.scale = 3
    if executor != "process":
        ds = ps.Dataset.range(3).map(lambda x: x * fails.scale, executor=executor)
        assert ints(ds) == [0, 3, 6]


def test_a_config_with_attributes_in_every_stage_that_takes_a_function():
    cfg = AttrDict(scale=3)
    ds = ps.Dataset.range(3)
    assert ints(ds.filter(lambda x: x < cfg.scale)) == [0, 1, 2]
    assert ints(ds.flat_map(lambda x: ps.Dataset.range(cfg.scale)))[:4] == [0, 1, 2, 0]
    assert ints(ds.scan(0, lambda s, x: (s + cfg.scale, s))) == [0, 3, 6]
    mapped = tf.data.Dataset.range(3).map(lambda x: x * cfg.scale)
    assert [int(x) for x in mapped.as_numpy_iterator()] == [0, 3, 6]


def test_values_that_code_makes_are_not_frozen():
    c = Counts()
    module = types.ModuleType("asked_module")
    module.__getattr__ = c.__getattr__
    for fn in (
        lambda x: x * 0 + c.step,
        lambda x: x * 0 + module.step,
        lambda x: x * 0 + OfMeta.step * len(Counts.asked) // 3,
    ):
        Counts.asked.clear()
        ds = ps.Dataset.range(4).map(fn)
        ds.explain(), ds.element_spec, ds.fingerprint
        assert Counts.asked == []
        assert "native" not in ds.explain()
        assert ints(ds.prefetch(0)) == [1, 2, 3, 4]


@pytest.mark.parametrize("executor", ["auto", "thread"])
def test_objects_that_give_or_refuse_any_attribute_are_called(executor):
    class Adds(Counts):
        def __call__(self, x):
            return x + 1

    class FailsAdds(Fails):
        def __call__(self, x):
            return x + 1

    class AllAdds(CountsAll):
        def __call__(self, x):
            return x + 1

    for fn in (Adds(), FailsAdds(), Properties(), AllAdds()):
        ds = ps.Dataset.range(3).map(fn, executor=executor)
        ds.explain(), ds.fingerprint
        assert Counts.asked == []
        assert ints(ds) == [1, 2, 3]
        Counts.asked.clear()


def test_such_objects_are_captured():
    for held in (CountsAll(), Properties(), OfMeta, mock.MagicMock(), [Counts()]):

        def fn(x, held=held):
            return x + 1 if held is not None else x

        ds = ps.Dataset.range(2).map(fn)
        ds.explain(), ds.fingerprint
        assert Counts.asked == [], held
        assert ints(ds) == [1, 2]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_mock_is_a_function(executor):
    ds = ps.Dataset.range(3).map(mock.MagicMock(return_value=5), executor=executor)
    assert ints(ds) == [5, 5, 5]
    held = mock.MagicMock()
    held.scale.return_value = 2
    ds = ps.Dataset.range(3).map(lambda x: x * held.scale(x), executor="thread")
    assert ints(ds) == [0, 2, 4]
    assert held.scale.call_count == 3


def test_native_says_what_it_refuses():
    c = Counts()
    with pytest.raises(ps.InvalidArgumentError, match="uses c, a Counts"):
        ps.Dataset.range(2).map(lambda x: x * c.step, executor="native")
    assert Counts.asked == []


def test_a_function_around_one_of_ours_is_the_users():
    @functools.wraps(ps.cast)
    def cast(x, dtype):
        Counts.asked.append("called")
        return ps.cast(x, dtype)

    ds = ps.Dataset.range(3).map(lambda x: cast(x, ps.int32))
    assert Counts.asked == []
    assert ints(ds) == [0, 1, 2]
    assert len(Counts.asked) == 3


def test_sets_are_told_apart_without_their_repr():
    class Item:
        def __init__(self, i):
            self.i = i

        def __repr__(self):
            Counts.asked.append("repr")
            return "item"

    def of(*numbers):
        held = frozenset(Item(i) for i in numbers)
        return ps.Dataset.range(2).map(lambda x: x + len(held), executor="thread")

    assert of(1, 2, 3).fingerprint == of(3, 2, 1).fingerprint
    assert of(1, 2, 3).fingerprint != of(1, 2, 4).fingerprint
    assert Counts.asked == []


def test_look_finds_what_getattr_finds():
    class Slots:
        __slots__ = ("packed",)

        def method(self):
            pass

        @classmethod
        def made(cls):
            pass

    slots = Slots()
    slots.packed = 1
    cached = functools.lru_cache(ints)
    partial = functools.partial(ints)
    for value, name in (
        (ints, "__qualname__"),
        (ints, "__code__"),
        (slots, "packed"),
        (slots, "__module__"),
        (slots, "absent"),
        (slots.method, "__code__"),
        (slots.method, "__self__"),
        (slots.method, "__qualname__"),
        (Slots, "__qualname__"),
        (Slots, "made"),
        (cached, "__wrapped__"),
        (partial, "keywords"),
        (np.sin, "__name__"),
        (np.mean, "__name__"),
        (np.mean, "__wrapped__"),
        (sys, "__name__"),
        (len, "__qualname__"),
        (ps.Dataset.range(2), "fingerprint"),
        (Counts(), "__module__"),
        (AttrDict, "__qualname__"),
        (OfMeta, "__qualname__"),
    ):
        assert look(value, name) == getattr(value, name, None), (value, name)
    held = Counts()
    held.packed = True
    assert look(held, "packed") is True
    assert look(OfMeta, "packed") is look(AttrDict(packed=1), "packed") is None
    assert look(mock.MagicMock(), "fingerprint") is None
    assert Counts.asked == []
