"""Containers that a function only reads are taken when the graph is built."""

from __future__ import annotations

import collections
import functools
import gc
import importlib
import itertools
import pickle
import sys
import time
import weakref

import numpy as np
import pytest
from penstock._purity import keeps_to_itself

import penstock as ps

R = ps.Dataset.range
EXECUTORS = ["auto", "thread", "process"]

LIST = [1]
DICT = {"a": 1}
NESTED = {"rows": [[1, 2], [3, 4]]}
ARRAY = np.array([1, 2, 3])
mean = [5]
CALLS: list[int] = []
COUNTS = {"calls": 0}


@pytest.fixture(autouse=True)
def fresh_globals():
    global LIST, DICT, NESTED, ARRAY, mean
    LIST, DICT, ARRAY, mean = [1], {"a": 1}, np.array([1, 2, 3]), [5]
    NESTED = {"rows": [[1, 2], [3, 4]]}
    CALLS.clear()
    COUNTS["calls"] = 0


def untraced(x):
    time.sleep(0)
    return x


def numbers(ds):
    return [np.asarray(x).tolist() for x in ds]


def names_here():
    return [name for name in globals() if "by value" in name]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_captured_list_is_taken_when_the_graph_is_built(executor):
    k = [1]
    ds = R(3).map(lambda x: untraced(x) + k[0], executor=executor)
    k[0] = 100
    assert numbers(ds) == [1, 2, 3]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_globals_are_taken_when_the_graph_is_built(executor):
    global LIST

    def f(x):
        time.sleep(0)
        rows = NESTED["rows"]
        return x + LIST[0] + DICT["a"] + ARRAY[1] + rows[1][0]

    ds = R(2).map(f, executor=executor)
    LIST[0] = 100
    LIST = [200]
    DICT["a"] = 100
    NESTED["rows"][1][0] = 100
    ARRAY[:] = 100
    assert numbers(ds) == [7, 8]


def helper(x):
    return untraced(x) + LIST[0]


def countdown(x):
    return untraced(x) + LIST[0] if x <= 0 else countdown(x - 1)


def twice_removed(x):
    return helper(x) + len(DICT)


def test_what_helpers_read_is_taken():
    ds = R(2).map(lambda x: twice_removed(x), executor="thread")
    LIST[0] = 100
    DICT["b"] = 2
    assert numbers(ds) == [2, 3]


def test_what_a_function_that_calls_itself_reads_is_taken():
    def down(x):
        return untraced(x) + LIST[0] if x <= 0 else down(x - 1)

    ds = R(3).map(down, executor="thread")
    LIST[0] = 100
    assert numbers(ds) == [1, 1, 1]


def test_defaults_and_arguments_of_partials_are_taken():
    table = [1]

    def by_default(x, table=table, *, named={"a": table}):  # noqa: B006 (what is tested)
        return untraced(x) + table[0] + named["a"][0]

    def by_argument(table, x):
        return untraced(x) + table[0]

    ds = R(2).map(by_default, executor="thread")
    partial = R(2).map(functools.partial(by_argument, table), executor="thread")
    table[0] = 100
    assert numbers(ds) == [2, 3]
    assert numbers(partial) == [1, 2]


def test_tuples_arrays_sets_and_records_are_taken():
    Point = collections.namedtuple("Point", "x values")
    pair, point, members = ([1], 2), Point(1, [2]), {1, 2}
    array = np.asfortranarray([[1, 2], [3, 4]])

    def f(x):
        time.sleep(0)
        inside = 1 if x in members else 0
        return pair[0][0] + point.values[0] + inside + array[0, 1]

    ds = R(3).map(f, executor="thread")
    pair[0][0] = point.values[0] = 100
    members.clear()
    array[:] = 100
    assert numbers(ds) == [5, 6, 6]


def test_an_assignment_to_the_variable_is_not_seen():
    k = [1]
    ds = R(2).map(lambda x: untraced(x) + k[0], executor="thread")
    k = [100]
    assert numbers(ds) == [1, 2]


def test_a_name_that_is_an_attribute_too_is_taken():
    ds = R(2).map(lambda x: untraced(x).mean() + mean[0], executor="thread")
    mean[0] = 100
    assert numbers(ds) == [5.0, 6.0]


def test_code_inside_of_the_function_reads_what_was_taken():
    k = [1, 2]

    def f(x):
        time.sleep(0)
        return sum(v + LIST[0] for v in k) + (lambda: k[0] + LIST[0])()

    ds = R(1).map(f, executor="thread")
    k[0] = LIST[0] = 100
    assert numbers(ds) == [7]


@pytest.mark.parametrize(
    "build",
    [
        lambda f: R(4).filter(lambda x: f(x) > 1),
        lambda f: R(4).take_while(lambda x: f(x) < 3),
        lambda f: R(4).flat_map(lambda x: R(f(x))),
        lambda f: R(4).interleave(lambda x: R(f(x)), cycle_length=2),
        lambda f: R(4).scan(0, lambda s, x: (s + x, f(x))),
        lambda f: R(4).group_by_window(
            lambda x: f(x) % 2, lambda k, w: w.batch(f(k) + 1), 2
        ),
        lambda f: R(4).group_by_window(
            lambda x: x % 2, lambda k, w: w.batch(2), window_size_func=f
        ),
        lambda f: (
            R(4)
            .map(lambda x: np.ones(int(x) + 1))
            .bucket_by_sequence_length(lambda x: f(len(x)), [3], [2, 2])
        ),
        lambda f: R(4).rejection_resample(lambda x: f(x) % 2, [0.5, 0.5], seed=1),
    ],
)
def test_every_stage_that_calls_a_function_takes_what_it_reads(build):
    k = [1]

    def f(x):
        time.sleep(0)
        return int(x) + k[0] + LIST[0] - 1

    expected = build(f).to_list()
    ds = build(f)
    k[0] = LIST[0] = 3
    np.testing.assert_equal(ds.to_list(), expected)


def test_what_a_function_writes_stays_the_programs():
    seen, counts, total, cache = [], {"n": 0}, np.zeros(1), {}

    def f(x):
        seen.append(int(x))
        counts["n"] += 1
        total[0] += x
        CALLS.append(int(x))
        COUNTS["calls"] += 1
        return x

    def g(x, memo=cache):
        memo[int(x)] = len(seen)
        return x

    R(3).map(f, 1, executor="thread").map(g, 1, executor="thread").to_list()
    assert sorted(seen) == sorted(CALLS) == [0, 1, 2]
    assert counts["n"] == COUNTS["calls"] == 3 and total[0] == 3
    assert sorted(cache) == [0, 1, 2]


def test_what_a_helper_writes_is_live_in_the_whole_function():
    log = []

    def note(x):
        log.append(int(x))

    def f(x):
        note(x)
        return len(log)

    assert numbers(R(3).map(f, 1, executor="thread")) == [1, 2, 3]
    assert log == [0, 1, 2]


@pytest.mark.parametrize(
    "write",
    [
        lambda k: lambda x: k.append(int(x)),
        lambda k: (lambda add: lambda x: add(int(x)))(k.append),
        lambda k: functools.partial(lambda to, x: to.append(int(x)), k),
        lambda k: functools.partial(list.append, k),
        lambda k: (lambda: lambda x: (lambda: k)().append(int(x)))(),
        lambda k: lambda x: [k][0].append(int(x)),
        lambda k: lambda x: {"k": k}["k"].append(int(x)),
        lambda k: lambda x: setattr(Box, "held", k) or Box.held.append(int(x)),
        lambda k: lambda x: eval("k.append(int(x))", {"k": k, "x": x}),
        lambda k: Box(k).add,
        lambda k: Box(k),
        lambda k: lambda x, box=Box(k): box.add(x),  # noqa: B008 (what is tested)
    ],
)
def test_ways_to_write_a_list_are_seen(write):
    k = []
    fn = write(k)
    R(2).map(lambda x: (fn(x), len(k), x)[2], 1, executor="thread").to_list()
    assert len(k) == 2


class Box:
    held: list[int] = []

    def __init__(self, held):
        self.kept = held

    def add(self, x):
        self.kept.append(int(x))

    def __call__(self, x):
        self.add(x)


def test_objects_stay_the_programs():
    class Scale:
        factor = 2

        def __init__(self):
            self.table = [1]

        def __call__(self, x):
            return untraced(x) * self.factor + self.table[0] + LIST[0]

    scale = Scale()
    called = R(2).map(scale, executor="thread")
    bound = R(2).map(scale.__call__, executor="thread")
    scale.factor, scale.table[0], LIST[0] = 10, 100, 1000
    assert numbers(called) == numbers(bound) == [101, 111]


def test_a_number_and_a_function_assigned_later_are_seen():
    factor = 2

    def late(x):
        return x

    ds = R(2).map(lambda x: untraced(late(x)) * factor + LIST[0], executor="thread")
    factor = 10

    def late(x):  # noqa: F811
        return x + 1

    LIST[0] = 100
    assert numbers(ds) == [11, 21]


def test_an_array_above_the_limit_is_shared(monkeypatch):
    monkeypatch.setattr("penstock._by_value.MAX_BYTES", 1000)
    large, small = np.ones(1000), np.ones(10)
    ds = R(1).map(lambda x: untraced(x) + large[0] + small[0], executor="thread")
    large[0] = small[0] = 5
    assert numbers(ds) == [6.0]


def test_containers_keep_their_identity_among_each_other():
    inner = [1]
    outer = {"a": inner, "b": inner}

    def f(x):
        time.sleep(0)
        return outer["a"] is inner and outer["a"] is outer["b"]

    assert numbers(R(1).map(f, executor="thread")) == [True]


def test_a_cycle_of_containers_is_left_alone():
    k = [1]
    k.append(k)
    deep = []
    for _ in range(2000):
        deep = [deep]

    def f(x, held=k, unused=deep):  # noqa: B008 (what is tested)
        return untraced(x) + held[0]

    for fn in (lambda x: untraced(x) + k[0], f, functools.partial(f, unused=k)):
        assert numbers(R(2).map(fn, executor="thread")) == [1, 2]


@pytest.mark.parametrize("executor", ["auto", "thread"])
def test_a_dataset_pickles_with_what_it_took(executor):
    k = [1]

    def f(x):
        time.sleep(0)
        return x + k[0] + LIST[0]

    ds = R(2).map(f, executor=executor)
    k[0] = LIST[0] = 100
    again = pickle.loads(pickle.dumps(ds))
    assert numbers(again) == numbers(ds) == [2, 3]
    assert again.fingerprint == ds.fingerprint


def test_fingerprints_tell_what_was_taken():
    def f(x):
        time.sleep(0)
        return x + LIST[0]

    a, b = R(2).map(f), R(2).map(f)
    LIST[0] = 100
    assert a == b != R(2).map(f)


def test_what_was_taken_is_freed_with_the_dataset():
    def f(x):
        time.sleep(0)
        return x + ARRAY[0] + helper(x)

    ds = R(2).map(f, executor="thread").map(countdown, executor="thread")
    assert names_here()
    ds.to_list()
    del ds, f
    gc.collect()
    assert not names_here()


def test_a_function_without_containers_is_called_as_it_is():
    held = threading_like = object()

    def f(x):
        time.sleep(0)
        return x if held is threading_like else None

    ds = R(2).map(f)
    assert ds._recipe.args[0] is f


def test_a_generator_reads_what_the_program_has():
    rows = [1, 2]

    def generate():
        yield from rows

    ds = ps.Dataset.from_generator(generate)
    rows.append(3)
    assert numbers(ds) == [1, 2, 3]


def test_the_object_behind_a_function_does_not_outlive_it():
    class Holder:
        def __init__(self):
            self.n = 1

    holder = Holder()
    alive = weakref.ref(holder)
    ds = R(2).map(lambda x: untraced(x) + holder.n + LIST[0], executor="thread")  # noqa: F821 (deleted below)
    ds.to_list()
    del ds, holder
    gc.collect()
    assert alive() is None


MODULE = """
import threading, time

LABELS = [1]
LOCK = threading.Lock()
model = None

def load():
    global model
    if model is None:
        model = lambda x: x + 10

def with_a_model(x):
    load()
    return model(x) + LABELS[0]

def with_a_lock(x):
    with LOCK:
        return x + LABELS[0]

def plain(x):
    time.sleep(0)
    return x + LABELS[0]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "users_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("users_module")
    del sys.modules["users_module"]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_modules_containers_are_as_when_the_graph_was_built(module, executor):
    module.LABELS[0] = 5
    ds = R(2).map(module.plain, executor=executor)
    module.LABELS[0] = 100
    assert numbers(ds) == [5, 6]
    assert numbers(pickle.loads(pickle.dumps(ds))) == [5, 6]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_modules_function_keeps_its_globals_in_a_worker(module, executor):
    ds = R(2).map(module.with_a_model, executor=executor)
    assert numbers(ds) == [11, 12]
    assert numbers(pickle.loads(pickle.dumps(ds))) == [11, 12]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_modules_function_needs_not_pickle_what_it_uses(module, executor):
    ds = R(2).map(module.with_a_lock, executor=executor)
    assert numbers(ds) == [1, 2]
    assert numbers(pickle.loads(pickle.dumps(ds))) == [1, 2]


def test_a_function_that_fills_an_array_of_its_own_only_reads_the_others():
    table, scale = np.array([1, 2, 3]), [np.array([10])]

    def f(x):
        time.sleep(0)
        out = np.zeros(2, np.int64)
        out[0] = table[x]
        out[1] = scale[0][0]
        result = {}
        result["out"] = out
        x = x.copy()
        return result

    def into_the_element(x):
        x = x.copy()
        x[0] = table[1]
        return x

    ds = R(1).map(f, executor="thread")
    other = R(2).batch(2).map(into_the_element, executor="thread")
    table[:] = scale[0][0] = 100
    assert ds.to_list()[0]["out"].tolist() == [1, 10]
    assert numbers(other) == [[2, 1]]


@pytest.mark.parametrize(
    "write",
    [
        lambda t, x: t.__setitem__(0, 5),
        lambda t, x: np.copyto(t, 5),
        lambda t, x: np.add(t, 1, out=t),
        lambda t, x: write_into(t),
        lambda t, x: write_into(t[:1]),
        lambda t, x: write_view(t),
        lambda t, x: write_alias(t),
        lambda t, x: write_one_of(np.zeros(1), t, x),
        lambda t, x: write_not_a_copy(t),
        lambda t, x: write_in_a_list(t),
        lambda t, x: write_in_place(t),
        lambda t, x: write_what_is_the_same(t),
        lambda t, x: write_one_of_two(t),
        lambda t, x: write_rows(t),
    ],
)
def test_ways_to_write_an_array_are_seen(write):
    table = np.zeros(3)

    def f(x):
        write(table, x)
        return table[0]

    R(1).map(f, executor="thread").to_list()
    assert table[0] != 0


def write_into(array):
    array[0] = 5


def write_view(array):
    view = array[:2]
    view[0] = 5


def write_alias(array):
    same = array
    same += 5


def write_one_of(new, array, x):
    target = np.zeros(1)
    if x == 0:
        target = array
    target[0] = 5


def write_not_a_copy(array):
    same = np.array(array, copy=None)
    same[0] = 5


def write_in_a_list(array):
    held = [array]
    held[0][0] = 5


def write_in_place(array):
    array += 5


def write_what_is_the_same(array):
    same = np.asarray(array)
    same += 5


def write_one_of_two(array):
    same, number = array, 5
    same += number


def write_rows(array):
    for row in array[None]:
        row += 5


DETOURS = """
def same(value): return value
def give(): return array
def items(): yield array
def add(value): value += 1
def add_to_part(value): value["a"] += 1
numbers, rows, array = [3, 1], [[5], [4]], np.zeros(3)
pair, parts, table = (np.zeros(3), 1), {"a": np.zeros(3)}, {"f": add}
record = Record([1], np.zeros(3))
def state(): return repr((numbers, rows, array, pair, parts, record))
"""


@pytest.mark.parametrize(
    "statement",
    [
        "a, b = numbers, 1; a.append(1)",
        "a, *b = rows; b[0].append(1)",
        "dict(held=numbers)['held'].append(1)",
        "max(numbers, [0]).append(1)",
        "sum([], numbers).append(1)",
        "next(itertools.repeat(numbers)).append(1)",
        "next(itertools.accumulate([], initial=numbers)).append(1)",
        "y = give(); y += 1",
        "y = (lambda: array)(); y += 1",
        "y = next(items()); y += 1",
        "y = same(array); y += 1",
        "y = same(array[1:]); y += 1",
        "y = max([array], key=len); y += 1",
        "y = array if x > 5 else array; y += 1",
        "y = np.zeros(3) if x > 5 else array; y += 1",
        "y = pair[0]; y += 1",
        "y, number = pair; y += 1",
        "same(pair)[0][0] = 1",
        "add(pair[0])",
        "add(value=array)",
        "add(*[array])",
        "add_to_part(parts)",
        "table['f'](array)",
        "record.numbers.append(1)",
        "record[0].append(1)",
        "a, b = record; a.append(1)",
        "y = record.array; y += 1",
        "add(record.array)",
        "np.dot(np.eye(3), array + 1, array)",
    ],
)
def test_detours_to_a_write_are_seen(statement):
    for arguments in ("x", "x, same=same, give=give, add=add, array=array, pair=pair"):
        record = collections.namedtuple("Record", "numbers array")
        scope = {"np": np, "itertools": itertools, "Record": record}
        exec(DETOURS, scope)
        body = f"    {statement}\n    return int(str(x))\n"
        exec(f"def fn({arguments}):\n{body}", scope)
        before = scope["state"]()
        assert keeps_to_itself(scope["fn"])
        R(1).map(scope["fn"], executor="thread").to_list()
        assert scope["state"]() != before


@pytest.mark.parametrize("match", ["[y, *_]", "[[*_] as y, *_]", "y if y.append([])"])
def test_what_a_match_binds_is_seen(match):
    scope = {}
    exec(
        "rows = [[5], [4]]\ndef fn(x):\n    match rows:\n"
        f"        case {match}: y.append(1)\n    return int(str(x))\n",
        scope,
    )
    assert keeps_to_itself(scope["fn"])
    R(1).map(scope["fn"], executor="thread").to_list()
    assert scope["rows"] != [[5], [4]]


def test_what_a_method_given_as_a_default_writes_is_seen():
    written = []

    class Holder:
        def write(self, x):
            written.append(int(x))

    def fn(x, write=Holder().write):  # noqa: B008 (what is tested)
        write(x)
        return len(written)

    assert sorted(numbers(R(3).map(fn, executor="thread"))) == [1, 2, 3]
    assert len(written) == 3


def test_what_a_class_in_a_function_writes_is_seen():
    written = []

    def fn(x):
        class Writer:
            written.append(int(x))

        return len(written) * isinstance(Writer, type)

    assert sorted(numbers(R(3).map(fn, executor="thread"))) == [1, 2, 3]
    assert len(written) == 3


def test_several_names_that_are_only_read_stay_movable():
    rows, stats = [[1, 2], [3, 4]], (np.zeros(2), np.ones(2))

    def fn(x):
        a, b = rows
        mean, std = stats
        y = (untraced(x) - mean) / std
        return y + a[0] + b[1] + len(rows) - len(stats)

    ds = R(1).map(fn, executor="thread")
    rows[0][0], stats[0][0] = 100, 100
    assert ds.to_list()[0].tolist() == [5, 5]
