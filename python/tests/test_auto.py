"""executor="auto": what may move to worker processes, and that it does."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from penstock._purity import keeps_to_itself

import penstock as ps

TABLE = [1, 2, 3]
SIZES = (1, 2)
WEIGHTS = np.arange(3)
counter = 0


def helper(x):
    return x + SIZES[0]


def test_functions_that_keep_to_themselves():
    k = 4
    for fn in (
        lambda x: x + 1,
        lambda x: helper(x) * k,
        lambda x: np.sin(x) + WEIGHTS[0],
        lambda x: sum(i for i in range(int(x))),
        lambda x: os.path.join("a", str(x)),
        lambda x: ps.random.generator().random(),
        len,
        np.square,
        int,
    ):
        assert keeps_to_itself(fn) == "", fn


def test_functions_that_do_not_say_why():
    seen: list[int] = []
    lock = threading.Lock()
    total = 0

    def writes_outer(x):
        nonlocal total
        total += x

    def writes_global(x):
        global counter
        counter += 1

    def writes_array(x):
        WEIGHTS[0] = x

    def sets_attribute(x):
        helper.calls = x

    class Callable:
        def __call__(self, x):
            return x

    for fn, why in (
        (lambda x: seen.append(x), "seen is a list"),
        (lambda x: TABLE[x], "TABLE is a list"),
        (lambda x: lock.locked(), "lock is a lock"),
        (writes_outer, "outer variable total"),
        (writes_global, "global counter"),
        (writes_array, "array WEIGHTS"),
        (sets_attribute, "attribute calls"),
        (lambda x: writes_global(x), "global counter"),
        (lambda x, into=[]: into, "a default of"),
        (Callable(), "is a Callable"),
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
