"""executor="auto": what may move to worker processes, and that it does."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import json
import math
import operator
import os
import pathlib
import random
import re
import sys
import threading
import time
import types
from typing import NamedTuple

import numpy as np
import pytest
from penstock._purity import keeps_to_itself

import penstock as ps

# What is measured here, others on the machine may disturb.
pytestmark = pytest.mark.flaky(reruns=2)

TABLE = [1, 2, 3]
VOCABULARY = {"a": 1, "b": 2}
ROWS = [[1, 2], [3]]
ROW = collections.namedtuple("Row", "cells rows")([1], ROWS)
SIZES = (1, 2)
WEIGHTS = np.arange(3)
WORD = re.compile(r"\w+")
counter = 0


def helper(x):
    return x + SIZES[0]


class Lookup:
    def __init__(self):
        self.vocabulary = {"a": 1}
        self.seen = []

    def __call__(self, x):
        return self.find(x) + 1

    def find(self, x):
        return self.vocabulary.get(x, 0)

    def remembers(self, x):
        self.seen.append(x)
        return x


lookup = Lookup()


def test_functions_that_keep_to_themselves():
    k = 4
    for fn in (
        lambda x: x + 1,
        lambda x: helper(x) * k,
        lambda x: np.sin(x) + WEIGHTS[0],
        lambda x: sum(i for i in range(int(x))),
        lambda x: os.path.join("a", str(x)),
        lambda x: os.environ.get("HOME"),
        lambda x: ps.random.generator().random(),
        functools.partial(helper),
        lookup,
        lookup.find,
        lambda x: lookup(x) + lookup.find(x),
        len,
        np.square,
        int,
    ):
        assert keeps_to_itself(fn) == "", fn


def test_lists_and_dicts_that_are_only_read_go_along():
    def looks_up(x):
        total = 0
        for i in range(10):
            total += TABLE[(i * 7) % len(TABLE)] + ROWS[0][i % 2]
        return total

    def counts_words(text):
        counts = {}
        for word in WORD.findall(text):
            counts[word] = counts.get(word, 0) + VOCABULARY[word]
        return len(counts)

    def collects(x):
        out = []
        for value in TABLE:
            out.append(value + x)
        return out

    for fn in (
        looks_up,
        counts_words,
        collects,
        lambda x: TABLE[x],
        lambda x: VOCABULARY[x] if x in VOCABULARY else 0,
        lambda text: [VOCABULARY.get(w, 0) for w in text.split()],
        lambda x: sum(TABLE) + max(TABLE) + len(VOCABULARY),
        lambda x: [*TABLE, x] + TABLE[1:],
        lambda x: np.array(TABLE)[x],
        lambda x, table=TABLE: table[x],
        lambda x: np.take(x, TABLE),
        lambda x: sorted(TABLE, key=abs),
        lambda x: len(ROWS) + ROW.cells[0] + len(ROW.rows),
        lambda x: sys.modules.get("penstock") is None,
        lambda x: ps.io.parse_single_example(x, FEATURES),
        lambda x: ps.io.parse_single_example(bytes(x), features=FEATURES),
    ):
        assert keeps_to_itself(fn) == "", fn


FEATURES = {"label": ps.io.FixedLenFeature([], ps.int64)}


def appends(into):
    into.append(1)


def test_functions_that_do_not_say_why():
    seen: list[int] = []
    lock = threading.Lock()
    module = types.ModuleType("module")
    module.log = []
    total = 0

    def writes_outer(x):
        nonlocal total
        total += x

    def writes_global(x):
        global counter
        counter += 1

    def writes_array(x):
        WEIGHTS[0] = x

    def writes_alias(x):
        table = TABLE
        table.append(x)

    def extends_alias(x):
        table = TABLE
        table += [x]

    def adds_to_default(x, total=np.zeros(1)):  # noqa: B008
        total += x

    def writes_default(x, seen=np.zeros(9)):  # noqa: B008
        seen[x] = 1

    def writes_rows(x):
        for row in ROWS:
            row.append(x)

    def sets_attribute(x):
        helper.calls = x

    class Counter:
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls += 1

    for fn, why in (
        (lambda x: seen.append(x), "seen is a list"),
        (lambda x: VOCABULARY.setdefault(x, 1), "VOCABULARY is a dict"),
        (lambda x: ROWS[0].append(x), "ROWS is a list"),
        (lambda x: (TABLE if x else []).append(x), "TABLE is a list"),
        (lambda x: appends(TABLE), "TABLE is a list"),
        (lambda x: random.shuffle(TABLE), "TABLE is a list"),
        (lambda x: module.log.append(x), "module.log is a list"),
        (lambda x: lookup.remembers(x), "self.seen is a list"),
        (lambda x: lock.locked(), "lock is a lock"),
        (lambda x: print(x), "calls print"),
        (lambda x: sys.stdout.write("x"), "sys.stdout is a file"),
        (lambda x: np.add(x, 1, out=WEIGHTS), "array WEIGHTS"),
        (lambda x: WEIGHTS.fill(x), "array WEIGHTS"),
        (writes_outer, "outer variable total"),
        (writes_global, "global counter"),
        (writes_array, "array WEIGHTS"),
        (writes_alias, "TABLE is a list"),
        (extends_alias, "TABLE is a list"),
        (writes_rows, "ROWS is a list"),
        (adds_to_default, "array total (a default of"),
        (writes_default, "array seen (a default of"),
        (sets_attribute, "attribute calls"),
        (lambda x: writes_global(x), "global counter"),
        (lambda x, into=[]: into, "a default of"),
        (Counter(), "attribute calls"),
        (functools.partial(appends, TABLE), "with a list"),
        (seen.append, "method of a list"),
    ):
        assert why in keeps_to_itself(fn), (why, keeps_to_itself(fn))


class Total:
    total = 0
    rows = []  # noqa: RUF012

    def __init__(self, x):
        self.x = x

    @classmethod
    def bump(cls):
        cls.total += 1

    @staticmethod
    def note():
        TABLE.append(1)

    @classmethod
    def remember(cls, x):
        cls.rows.append(x)


class Made:
    made = 0

    def __init__(self):
        Made.made += 1


class Keeps:
    seen = []  # noqa: RUF012

    def add(self, x):
        self.seen.append(x)
        return x


class Child(Keeps):
    pass


class Meta(type):
    count = 0

    def tick(cls):
        cls.count += 1


class Ticks(metaclass=Meta):
    pass


class Called:
    def __init__(self):
        self.n = 0

    def __call__(self, x):
        self.n += 1
        return x

    def step(self, x):
        self.n += 1
        return x


class Describes:
    def __get__(self, owner, kind):
        TABLE.append(1)


class Described:
    value = Describes()


class Cached(tuple):
    @functools.lru_cache  # noqa: B019
    def find(self, x):
        TABLE.append(x)


def weights():
    return WEIGHTS


def fills(a):
    a[0] = 1


def module_with_state():
    module = types.ModuleType("module_with_state")
    module.obj = Called()
    module.bound = Called().step
    module.kind = Total
    module.LIST = []
    module.fills = fills
    sys.modules[module.__name__] = module
    return module


def test_functions_that_write_through_classes_modules_and_numpy_stay():
    module = module_with_state()
    zeros = np.zeros(3)

    def made(x):
        return Made() and x

    def adds(x):
        keeps = Keeps()
        return keeps.add(x)

    def adds_to_base(x):
        return Child().add(x)

    def alias(x):
        kind = Total
        kind.bump()

    def writes_row(x):
        for row in zeros.reshape(3, 1):
            fills(row)

    def writes_view(x):
        view = zeros.view()
        view += x

    def adds_to_rows(x):
        for row in zeros.reshape(3, 1):
            row += x

    def writes_what_a_helper_returns(x):
        weights()[0] = x

    def adds_by_another_name(x):
        add = np.add
        return add(zeros, 1, zeros)

    def names_and_fills(x):
        row = zeros[1:]
        fills(row)

    def imports_module(x):
        import module_with_state

        module_with_state.LIST.append(x)

    def imports_list(x):
        from module_with_state import LIST as into

        into.append(x)

    def imports_what_is_not_there(x):
        import a_module_of_the_program

        return a_module_of_the_program.f(x)

    def imports_random(x):
        import random

        random.seed(1)

    def sets_class_attribute(x):
        setattr(Total, "total", x)  # noqa: B010

    for fn, why in (
        (lambda x: Total.bump(), "attribute total"),
        (lambda x: Total.note(), "TABLE is a list"),
        (lambda x: Total.remember(x), "rows is a list"),
        (lambda x: Total(x).bump(), "attribute total"),
        (lambda x: Ticks.tick(), "attribute count"),
        (alias, "attribute total"),
        (made, "attribute made"),
        (adds, "seen is a list"),
        (adds_to_base, "seen is a list"),
        (Made, "attribute made"),
        (sets_class_attribute, "setattr"),
        (lambda x: module.obj(x), "attribute n"),
        (lambda x: module.bound(x), "attribute n"),
        (lambda x: module.kind.bump(), "attribute total"),
        (lambda x: np.add.at(zeros, [0], 1), "array zeros"),
        (lambda x: np.add(WEIGHTS, 1, WEIGHTS), "array WEIGHTS"),
        (lambda x: np.clip(zeros, 0, 1, zeros), "array zeros"),
        (lambda x: np.add(*(zeros, 1, zeros)), "array zeros"),
        (lambda x: zeros.__setitem__(0, x), "array zeros"),
        (lambda x: zeros.__iadd__(x), "array zeros"),
        (lambda x: operator.iadd(zeros, x), "array zeros"),
        (lambda x: fills(zeros), "array zeros"),
        (lambda x: fills(zeros[1:]), "array zeros"),
        (lambda x: fills(zeros.reshape(-1)), "array zeros"),
        (lambda x: module.fills(zeros), "array zeros"),
        (writes_row, "array zeros"),
        (writes_view, "array zeros"),
        (adds_to_rows, "array zeros"),
        (writes_what_a_helper_returns, "array WEIGHTS"),
        (adds_by_another_name, "array zeros"),
        (names_and_fills, "array zeros"),
        (lambda x: helper.__dict__.update(calls=x), "__dict__"),
        (lambda x: Described().value, "Described.value is a Describes"),
        (lambda x: Cached(x).find(1), "TABLE is a list"),
        (imports_module, "module_with_state.LIST is a list"),
        (imports_list, "into is a list"),
        (imports_what_is_not_there, "a_module_of_the_program"),
        (imports_random, "random.seed"),
        (lambda x: globals().update(y=x), "globals"),
        (lambda x: exec("counter = 1", globals()), "exec"),
        (lambda x: np.random.seed(int(x)), "np.random.seed"),
    ):
        assert why in keeps_to_itself(fn), (why, keeps_to_itself(fn))
        ds = ps.Dataset.range(2).map(fn)
        assert "stays in threads" in ds.explain()


class Color(enum.Enum):
    RED = 1

    def shown(self):
        return self.name.lower()


@dataclasses.dataclass
class Box:
    x: float
    y: float = 2.0
    names: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.area = self.x * self.y

    def grow(self):
        self.x += 1
        self.names.append("grown")
        return self


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    x: float
    y: float = 2.0


class Pair(NamedTuple):
    a: int
    b: int = 1

    def total(self):
        return self.a + self.b


Old = collections.namedtuple("Old", "a b")


class Stack:
    size = 4

    def __init__(self, first):
        super().__init__()
        self.items = []
        self.n = 0
        self.push(first)

    def push(self, x):
        self.items.append(x * self.size)
        self.n += 1
        return self

    @property
    def top(self):
        return self.items[-1]

    @classmethod
    def of(cls, x):
        return cls(x)

    @staticmethod
    def twice(x):
        return x * 2


class BadRow(ValueError):
    pass


def squares(values):
    out = np.empty(len(values))
    for i, value in enumerate(values):
        out[i] = value * value
    return out


def test_functions_that_make_their_own_objects_go_along():
    module = types.ModuleType("module_with_functions")
    module.helper = helper
    module.SCALE = 3
    module.Box = Box
    sys.modules[module.__name__] = module

    def imports(x):
        import colorsys
        import math
        import os.path as paths
        from collections import Counter

        import numpy as xp

        rgb = colorsys.hsv_to_rgb(math.sin(x), 0, 0)
        return Counter([paths.join("a", "b"), *rgb]), xp.sum(x)

    def imports_own(x):
        from module_with_functions import SCALE, helper

        return helper(x) * SCALE

    def raises(x):
        if x < 0:
            raise BadRow("negative")
        return x

    def sums_rows(x):
        total = 0
        first = WEIGHTS[0]
        for row in WEIGHTS:
            total += row * first
        return total

    def counts(x):
        found = collections.Counter()
        found["a"] += 1
        return json.dumps(dict(found))

    for fn in (
        lambda x: Box(x, 1.0).grow().area,
        lambda x: Frozen(x) < Frozen(x, 3.0),
        lambda x: dataclasses.replace(Box(x), y=1),
        lambda x: Pair(x).total(),
        lambda x: Old(x, 1)._replace(a=2),
        lambda x: Stack.of(x).push(x).top,
        lambda x: Stack.twice(x) * Stack.size,
        lambda x: isinstance(x, Stack),
        lambda x: Color.RED.shown() if x else Color(1).value,
        lambda x: module.helper(x) * module.SCALE,
        lambda x: module.Box(x).area,
        lambda x: np.add(x, 1, dtype=np.float32) + np.add(WEIGHTS, 1),
        lambda x: np.add(WEIGHTS, x, dtype=np.float64),
        lambda x: np.clip(WEIGHTS, 0, 1).sum(),
        lambda x: squares([x]) + WEIGHTS,
        lambda x: helper(WEIGHTS) + module.helper(WEIGHTS[x]),
        lambda x: np.linalg.norm(WEIGHTS) + random.random(),
        lambda x: math.floor(x) + len(json.loads("[]")),
        lambda x: functools.reduce(operator.add, [x, x]),
        sums_rows,
        lambda x: weights()[0] + x,
        imports,
        imports_own,
        raises,
        counts,
        Box,
        Pair,
    ):
        assert keeps_to_itself(fn) == "", (fn, keeps_to_itself(fn))


def test_explain_names_what_keeps_a_function_in_threads():
    seen = []
    ds = ps.Dataset.range(3).map(lambda x: seen.append(int(x)) or x)
    assert "stays in threads: seen is a list" in ds.explain()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_a_function_that_the_gil_limits_moves_while_it_runs():
    def burn(x):
        total = 0
        for i in range(20_000):
            total += i * i
        return x, os.getpid(), total

    ds = ps.Dataset.range(10**6).map(burn, executor="auto")
    it = iter(ds)
    end = time.monotonic() + 30
    # Once: a consumer that works in Python would be the limit itself.
    wanted = sum(j * j for j in range(20_000))
    pids = []
    i = 0
    while time.monotonic() < end and len(set(pids) - {os.getpid()}) == 0:
        x, pid, total = next(it)
        assert x == i and total == wanted
        pids.append(int(pid))
        i += 1
    assert pids[0] == os.getpid()
    for _ in range(200):
        x, pid, _ = next(it)
        assert x == i
        i += 1
    (python,) = it.stats().python
    assert python.executor == "process"
    assert "the GIL limited it" in ds.explain()
    it.close()


def test_functions_that_wait_do_not_move():
    def nap(x):
        time.sleep(0.01)
        return x, os.getpid()

    ds = ps.Dataset.range(100).map(nap, executor="auto")
    assert {int(pid) for _, pid in ds} == {os.getpid()}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_functions_that_turn_out_to_wait_go_back(tmp_path):
    sleeps = str(tmp_path / "sleeps")

    def burn_then_sleep(x):
        if os.path.exists(sleeps):
            time.sleep(0.02)
            return x
        total = 0
        for i in range(20_000):
            total += i
        return x

    ds = ps.Dataset.range(10**6).map(burn_then_sleep, executor="auto")
    it = iter(ds)

    def until(executor):
        end = time.monotonic() + 30
        while time.monotonic() < end and it.stats().python[0].executor != executor:
            next(it)
        return it.stats().python[0].executor

    assert until("process") == "process"
    pathlib.Path(sleeps).touch()
    assert until("thread") == "thread"
    assert "back in threads" in ds.explain()
    # What seemed to sleep, or has slept until now, may move again.
    os.remove(sleeps)
    assert until("process") == "process"
    it.close()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_long_calls_that_take_turns_with_the_gil_do_not_run_in_threads_for_good():
    in_threads = 0

    def burn(x):
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            pass
        return x, os.getpid()

    for _ in range(3):
        ds = ps.Dataset.range(8).map(burn, executor="auto")
        it = iter(ds)
        pids = [int(pid) for _, pid in it]
        in_threads += pids.count(os.getpid())
        it.close()
    # Of eight the first two, and those that begin while workers start.
    assert in_threads <= 3 * 5
