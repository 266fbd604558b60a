"""executor="auto": what may move to worker processes, and that it does."""

from __future__ import annotations

import functools
import os
import pathlib
import random
import re
import sys
import threading
import time
import types

import numpy as np
import pytest
from penstock._purity import keeps_to_itself

import penstock as ps

# What is measured here, others on the machine may disturb.
pytestmark = pytest.mark.flaky(reruns=2)

TABLE = [1, 2, 3]
VOCABULARY = {"a": 1, "b": 2}
ROWS = [[1, 2], [3]]
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
    it.close()
