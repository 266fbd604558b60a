"""Datasets and iterators, as a user meets them."""

from __future__ import annotations

import collections
import copy
import datetime
import decimal
import inspect
import operator
import os
import pathlib
import pickle
import re
import threading

import numpy as np
import pytest
from penstock._reduced import reduced_state

import penstock as ps


def ints(ds):
    return [int(x) for x in ds]


def test_every_method_takes_a_name_last():
    for name, method in inspect.getmembers(ps.Dataset, callable):
        if name.startswith("_") or name in (
            "as_numpy_iterator", "cardinality", "explain", "iterator", "to_list",
        ):  # fmt: skip
            continue
        assert list(inspect.signature(method).parameters)[-1] == "name", name


def test_names_show_in_stages():
    ds = ps.Dataset.range(4, name="numbers").map(lambda x: x, name="same")
    assert "map#1:same" in repr(ds) and "range#0:numbers" in ds.explain()


def test_a_name_is_a_str_where_no_stage_is_made_too(tmp_path):
    ds = ps.Dataset.range(2)
    ds.save(tmp_path / "saved", name="dump")
    assert ints(ds.apply(lambda d: d.take(1), name="mine")) == [0]
    device = ds.prefetch_to_device(int, name="gpu")
    assert list(device) == [0, 1] and "prefetch_to_device:gpu(n=2)" in repr(device)
    for call in (ds.apply, ds.prefetch_to_device):
        with pytest.raises(TypeError, match="name must be a str, got 3"):
            call(int, name=3)


def test_names_of_reductions_and_options():
    ds = ps.Dataset.range(4).with_options(ps.Options(seed=1), name="fixed")
    assert "with_options#1:fixed" in repr(ds)
    assert int(ds.reduce(0, lambda s, x: s + x, name="total")) == 6
    with pytest.raises(ps.InvalidArgumentError, match="^reduce:total: element 0: "):
        ds.reduce(0, lambda s, x: object(), name="total")
    assert pickle.loads(pickle.dumps(ds)) == ds


def test_functions_in_branches_have_the_label_of_their_branch():
    def fn(*x):
        return str(x)

    def text(ds):
        return ds.map(fn, executor="thread")

    numbers = ps.Dataset.range(3)
    ds = ps.Dataset.zip(text(numbers), text(numbers.batch(1)))
    ds = text(ds.concatenate(text(numbers)))
    labels = [
        "concatenate#4[0].zip#3[0].map#1", "concatenate#4[0].zip#3[1].map#2",
        "concatenate#4[1].map#1", "map#5",
    ]  # fmt: skip
    explained = ds.explain().partition("functions:\n")[2]
    assert [line.split(":")[0].strip() for line in explained.splitlines()] == labels
    with iter(ds) as it:
        assert len(list(it)) == 6  # a branch has counters once it is reached
        stats = it.stats()
    assert [p.stage for p in stats.python] == labels
    assert set(labels) <= {stage["stage"] for stage in stats.stages}
    chosen = ps.Dataset.choose_from_datasets(
        [text(numbers)], ps.Dataset.from_tensor_slices([0])
    )
    assert f"{chosen._native.stage}[1].map#1: " in chosen.explain()
    skipping = numbers.with_options(ps.Options(on_error="skip"))
    assert "\n  map#2: " in text(skipping).explain()


def test_repr_shows_graph_and_spec():
    text = repr(ps.Dataset.range(4).batch(2))
    assert "range#0" in text and "batch#1" in text
    assert "TensorSpec(shape=(None,), dtype=penstock.int64)" in text


def test_len_and_cardinality():
    ds = ps.Dataset.range(10)
    assert len(ds.batch(3)) == 4
    assert ds.repeat().cardinality() == ps.INFINITE
    assert ds.filter(lambda x: x).cardinality() == ps.UNKNOWN
    with pytest.raises(TypeError, match="endless"):
        len(ds.repeat())
    with pytest.raises(TypeError, match="not known"):
        len(ds.filter(lambda x: x))
    assert ds.repeat() and ds.filter(lambda x: x)
    with pytest.raises(ps.InvalidArgumentError, match="endless"):
        ds.repeat().to_list()


def test_random_access_equals_iteration():
    ds = ps.Dataset.range(50).map(lambda x: x * 3).shuffle(ps.GLOBAL, seed=5).batch(7)
    for i, batch in enumerate(ds.to_list()):
        np.testing.assert_array_equal(ds[i], batch)
    np.testing.assert_array_equal(ds[-1], ds[7])
    with pytest.raises(IndexError):
        ds[8]
    with pytest.raises(ps.FailedPreconditionError, match="filter#1"):
        ps.Dataset.range(3).filter(lambda x: True)[0]
    with pytest.raises(TypeError):
        ds["x"]


@pytest.mark.parametrize("at", [0, 1, 5, 13, 20])
def test_state_continues_exactly(at):
    ds = (
        ps.Dataset.range(20)
        .shuffle(8, seed=3)
        .map(lambda x: x * 2, executor="thread")
        .filter(lambda x: x % 6 != 0)
        .repeat(2)
    )
    it = iter(ds)
    for _ in range(at):
        next(it)
    state = pickle.loads(pickle.dumps(it.state_dict()))
    rest = ints(it)
    assert ints(ds.iterator(state=state)) == rest
    other = iter(ds)
    next(other)
    other.load_state_dict(state)
    assert ints(other) == rest


def test_a_state_of_another_graph_is_refused():
    state = iter(ps.Dataset.range(3)).state_dict()
    with pytest.raises(ps.FailedPreconditionError, match="another pipeline"):
        ps.Dataset.range(4).iterator(state)
    with pytest.raises(ps.DataLossError):
        ps.Dataset.range(3).iterator(state["state"][:-1])
    with pytest.raises(TypeError, match="state_dict"):
        ps.Dataset.range(3).iterator(17)


def test_each_iteration_reshuffles():
    ds = ps.Dataset.range(50).shuffle(50, seed=1)
    assert ints(ds) != ints(ds)
    still = ps.Dataset.range(50).shuffle(50, seed=1, reshuffle_each_iteration=False)
    assert ints(still) == ints(still)


def test_datasets_pickle_and_compare_by_graph():
    offset = 3
    ds = (
        ps.Dataset.zip(
            {
                "a": ps.Dataset.range(6),
                "b": ps.Dataset.from_tensor_slices(np.arange(6.0)),
            }
        )
        .map(lambda d: d["a"] + offset)
        .concatenate(ps.Dataset.range(2))
        .batch(3)
    )
    again = pickle.loads(pickle.dumps(ds))
    assert again == ds and hash(again) == hash(ds)
    assert [b.tolist() for b in again] == [b.tolist() for b in ds]
    assert again != ds.take(1) and ds != 3
    assert copy.copy(ds) is ds and copy.deepcopy(ds) is ds
    long = ps.Dataset.range(2)
    for _ in range(2000):
        long = long.take(2)
    assert len(pickle.loads(pickle.dumps(long))) == 2


def test_shards_differ_and_their_states_move():
    ds = ps.Dataset.range(10)
    first, second = ds.shard(2, 0), ds.shard(2, 1)
    assert first != second and first == ds.shard(2, 0)
    assert hash(first) == hash(ds.shard(2, 0))
    zipped = ps.Dataset.zip(first, second)
    assert zipped != ps.Dataset.zip(second, first)
    assert zipped.fingerprint == ps.Dataset.zip(second, first).fingerprint


def test_indexables_of_other_content_differ():
    def of(obj):
        return ps.Dataset.from_indexable(obj)

    assert of([1, 2]) != of([1, 3]) and of([1, 2]) == of([1, 2])
    assert of([(b"a", 1)]) != of([(b"b", 1)])
    assert of(range(3)) != of(range(1, 4))
    assert of(np.arange(3)) != of(np.arange(1, 4)) and of([1]) != of([1, 2])

    class Reader:
        def __init__(self):
            self.cache = {}

        def __len__(self):
            return 3

        def __getitem__(self, i):
            return self.cache.setdefault(i, i)

    reader = Reader()
    before = of(reader)
    it = iter(before)
    next(it)
    # What reading changed does not refuse the state.
    assert ints(of(reader).iterator(it.state_dict())) == [1, 2]


def test_window_sizes_count_in_a_fingerprint():
    def grouped(size):
        return ps.Dataset.range(6).group_by_window(
            lambda x: x % 2, lambda key, window: window.batch(3), window_size_func=size
        )

    assert grouped(lambda key: 2) != grouped(lambda key: 3)
    assert grouped(lambda key: 2) == grouped(lambda key: 2)


def test_unbatch_of_ragged_batches_knows_its_dtype():
    rows = ps.Dataset.from_list([[1], [2, 3]])
    ds = rows.ragged_batch(2).unbatch()
    assert ds.element_spec == ps.TensorSpec((None,), ps.int64)
    assert [x.tolist() for x in ds] == [[1], [2, 3]]
    pairs = rows.enumerate().ragged_batch(2).unbatch()
    number, values = pairs.element_spec
    assert number == ps.TensorSpec((), ps.int64)
    assert values == ps.TensorSpec((None,), ps.int64)
    assert [(int(i), x.tolist()) for i, x in pairs] == [(0, [1]), (1, [2, 3])]


def test_fingerprints_are_equal_in_another_process(run_program):
    source = """
        import penstock as ps
        table = {"a": 1, "b": (2, 3)}
        def outer(k):
            def fn(x):
                return x + k + len(table)
            return fn
        ds = ps.Dataset.range(5).map(outer(4)).filter(lambda x: x > 1)
        print(ds.fingerprint)
        print(ps.Dataset.from_indexable([("a", 1), ("b", 2)]).fingerprint)
        import collections, datetime, operator, pathlib, re
        class Slots:
            __slots__ = ("k", "unset")
            def __init__(self): self.k = {"a", "b", "c"}
        held = [re.compile("a"), range(3), pathlib.Path("a"), Slots(), ps.int32,
                datetime.date(2020, 1, 1), collections.deque([1]),
                re.compile("b").match, operator.itemgetter(1, "a")]
        print(ps.Dataset.range(5).map(lambda x, held=held: held).fingerprint)
    """
    a = run_program(source, PYTHONHASHSEED="1").stdout
    b = run_program(source, PYTHONHASHSEED="2").stdout
    c = run_program(source.replace("outer(4)", "outer(5)")).stdout
    assert a == b != c


class _Slots:
    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_Slots(1), _Slots(2)),
        (re.compile("a"), re.compile("b")),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        (re.compile("a").match, re.compile("b").match),
        (np.add.reduce, np.multiply.reduce),
        (operator.itemgetter(1), operator.itemgetter(2)),
        (range(3), range(4)),
        (slice(1), slice(2)),
        (np.dtype("f4"), np.dtype("f8")),
        (ps.int32, ps.int64),
        (ps.TensorSpec((), ps.int32), ps.TensorSpec((2,), ps.int32)),
        (pathlib.Path("a"), pathlib.Path("b")),
        (datetime.timedelta(1), datetime.timedelta(2)),
        (decimal.Decimal("1"), decimal.Decimal("1.0")),
        (collections.deque([1]), collections.deque([2])),
        (bytearray(b"a"), bytearray(b"b")),
    ],
)
def test_what_a_function_holds_counts_in_a_fingerprint(one, other):
    def holds(value):
        return ps.Dataset.range(3).map(lambda x: (value, print(end=""))[0])

    assert holds(one).fingerprint == holds(one).fingerprint
    assert holds(one).fingerprint != holds(other).fingerprint
    if callable(one) and not isinstance(one, type(ps.int32)):
        ds = ps.Dataset.range(3)
        assert ds.map(one).fingerprint != ds.map(other).fingerprint
    state = iter(holds(one)).state_dict()
    with pytest.raises(ps.Error, match="another pipeline"):
        holds(other).iterator(state=state)


def test_sets_without_an_order_have_one_fingerprint():
    def holds(numbers):
        held = {frozenset((_Slots(n), pathlib.Path(str(n)))) for n in numbers}
        kept = {_Slots(n) for n in numbers}
        return ps.Dataset.range(3).map(lambda x: (held, kept, print(end=""))[0])

    # Their order is that of addresses and of salted hashes.
    first = holds(range(40)).fingerprint
    assert holds(range(39, -1, -1)).fingerprint == first
    assert holds(range(1, 41)).fingerprint != first


_PROGRAM = """
    import functools
    import helpers
    import penstock as ps

    SCALE = 3
    TABLE = {"a": [1, 2]}
    calls = []

    class Tool:
        LIMIT = 9
        def use(self, x):
            return x + 4

    tool = Tool()

    @functools.lru_cache
    def kept(x):
        return x + 5

    def deep(x):
        return [helpers.outer(i) for i in (x,)][0]

    def reads(x):
        return deep(int(x)) + SCALE + TABLE["a"][0] + tool.use(kept(0))

    def writes(x):
        calls.append(int(x))
        return int(x) * SCALE

    read = ps.Dataset.range(5).map(reads, executor="thread")
    print(read.fingerprint)
    written = ps.Dataset.range(5).map(writes, executor="thread")
    print(written.fingerprint)
    written.to_list()
    again = ps.Dataset.range(5).map(writes, executor="thread")
    assert again.fingerprint == written.fingerprint
"""
_HELPERS = """
OFFSET = 1

def inner(x):
    return x + OFFSET

def outer(x):
    return inner(x) * 2
"""


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("", "", "neither"),
        ("SCALE = 3", "SCALE = 4", "both"),
        ("[1, 2]}", "[2, 2]}", "reads"),
        ("return x + 4", "return x + 7", "reads"),
        ("LIMIT = 9", "LIMIT = 8", "reads"),
        ("return x + 5", "return x + 6", "reads"),
        ("OFFSET = 1", "OFFSET = 2", "reads"),
        ("return x + OFFSET", "return x - OFFSET", "reads"),
        ("calls = []", "calls = [1]", "neither"),
    ],
)
def test_helpers_and_constants_count_in_a_fingerprint(
    run_program, tmp_path, monkeypatch, old, new, changes
):
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    prints = []
    for was, is_now in ((old, old), (old, new)):
        (tmp_path / "helpers.py").write_text(_HELPERS.replace(was, is_now))
        program = run_program(_PROGRAM.replace(was, is_now))
        prints.append(program.stdout.split())
    (reads, writes), (other_reads, other_writes) = prints
    assert (reads != other_reads) == (changes in ("reads", "both"))
    assert (writes != other_writes) == (changes == "both")


def test_a_state_is_refused_once_a_helper_has_changed(monkeypatch):
    def dataset():
        return ps.Dataset.range(4).map(_calls_helper, executor="thread")

    it = iter(dataset())
    next(it)
    state = it.state_dict()
    assert ints(dataset().iterator(state)) == [2, 3, 4]
    monkeypatch.setitem(globals(), "_helper", lambda x: x + 2)
    with pytest.raises(ps.Error, match="another"):
        dataset().iterator(state)


def _helper(x):
    return x + 1


def _calls_helper(x):
    return _helper(int(x))


def test_arguments_fail_where_they_are_written():
    ds = ps.Dataset.range(3)
    with pytest.raises(ValueError, match="^take: count must be >= 0, got -3"):
        ds.take(-3)
    with pytest.raises(ValueError, match="^skip: count must be >= 0, got -3"):
        ds.skip(-3)
    with pytest.raises(ValueError, match="^repeat: count must be >= 0, got -3"):
        ds.repeat(-3)
    with pytest.raises(ps.InvalidArgumentError, match="batch_size must be"):
        ds.batch(0)
    for wrong in (
        lambda: ds.take("3"),
        lambda: ds.take(True),
        lambda: ds.batch(2.0),
        lambda: ds.batch(2, drop_remainder="yes"),
        lambda: ds.map(3),
        lambda: ds.shuffle(None),
        lambda: ds.concatenate([1]),
        lambda: ds.with_options({}),
        lambda: ds.take(1, name=3),
        lambda: ds.map(lambda x: x, on_error=3),
        lambda: ps.Dataset.zip(1, 2),
        lambda: ps.Dataset.range("a"),
        lambda: ps.Dataset.range(),
        lambda: ps.Dataset.from_indexable(3),
        lambda: ps.Dataset(),
    ):
        with pytest.raises(TypeError) as info:
            wrong()
        assert isinstance(info.value, ps.Error), info.value
    with pytest.raises(ValueError, match="executor must be one of"):
        ds.map(lambda x: x, executor="gpu")
    with pytest.raises(ps.InvalidArgumentError, match="GLOBAL|kGlobal"):
        ds.filter(lambda x: x).shuffle("global")


def test_padded_batch_takes_structures():
    ds = ps.Dataset.from_list([([1], 7), ([2, 3], 8)])
    (batch,) = ds.padded_batch(2, padded_shapes=([3], []), padding_values=(-1, None))
    assert batch[0].tolist() == [[1, -1, -1], [2, 3, -1]]
    named = ps.Dataset.from_list([{"a": [1]}, {"a": [2, 3]}])
    (batch,) = named.padded_batch(2, {"a": [None]}, {"a": 9})
    assert batch["a"].tolist() == [[1, 9], [2, 3]]
    with pytest.raises(TypeError, match="2 components"):
        ds.padded_batch(2, padded_shapes=([3],))


def test_options_reach_the_engine():
    ds = ps.Dataset.range(4).map(lambda x: 12 // int(x))
    skipping = ds.with_options(ps.Options(on_error="skip"))
    assert ints(skipping) == [12, 6, 4]
    it = iter(ds.with_options(ps.Options(cpu_budget=1, memory_budget=1 << 20)))
    with pytest.raises(ZeroDivisionError):
        next(it)
    stats = it.stats()
    assert stats.cpu_budget == 1 and stats.memory_budget == 1 << 20
    with pytest.raises(ps.InvalidArgumentError, match="cpu_budget"):
        iter(ds.with_options(ps.Options(cpu_budget=0)))


def test_counters_outlive_the_iterator():
    with ps.Dataset.range(1000).map(lambda x: x + 1).iterator() as it:
        for _ in range(7):
            next(it)
    assert it.closed and it.stats().elements == 7
    assert it.stats().stage("map#1")["elements"] >= 7
    assert ps.report(it).elements == 7


def test_an_error_of_random_access_names_the_stage_that_ends_it():
    odd = ps.Dataset.range(9).filter(lambda x: x % 2 == 1)
    ds = odd.map(lambda x: x).with_options(ps.Options(seed=1))
    with pytest.raises(ps.FailedPreconditionError, match="at: filter#1 does not give"):
        ds[0]
    pairs = ps.Dataset.zip(ps.Dataset.range(9), odd.take(2)).batch(2)
    message = r"at: zip#3\[1\].filter#1 does not give"
    with pytest.raises(ps.FailedPreconditionError, match=message):
        pairs[0]
    with pytest.raises(ps.InvalidArgumentError, match="but filter#1 does not give it"):
        ds.shuffle(ps.GLOBAL)


def test_a_replacement_of_another_structure_is_an_error_at_its_element():
    def pair(x):
        if x == 1:
            raise ValueError("one")
        return int(x), str(x)

    ds = ps.Dataset.range(3)
    fits = ds.map(pair, executor="thread", on_error=ps.Replace((-1, "")))
    assert len(fits.to_list()) == 3
    for wrong in (
        ds.map(pair, executor="thread", on_error=ps.Replace(-1)),
        ds.map(pair, executor="thread").with_options(
            ps.Options(on_error=ps.Replace(-1))
        ),
    ):
        message = "(map|on_error)#1: element 0: on_error: value must fit .*, got int64"
        with pytest.raises(ps.InvalidArgumentError, match=message):
            wrong.to_list()


def test_iterators_close():
    ds = ps.Dataset.range(10)
    with ds.iterator() as it:
        assert next(it) == 0
    with pytest.raises(ps.CancelledError, match="closed"):
        next(it)
    it.close()
    assert "closed" in repr(it)


def test_an_ended_iterator_stays_ended():
    it = iter(ps.Dataset.range(1))
    assert ints(it) == [0]
    assert list(it) == []
    with pytest.raises(StopIteration):
        next(it)


def test_threads_share_an_iterator():
    it = iter(ps.Dataset.range(20_000))
    parts: list[list[int]] = [[], [], [], []]

    def take(out):
        out.extend(ints(it))

    threads = [threading.Thread(target=take, args=(part,)) for part in parts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(sum(parts, [])) == list(range(20_000))
    assert all(part == sorted(part) for part in parts)


def test_stats_are_readable():
    it = iter(ps.Dataset.range(100).map(lambda x: x, executor="thread").batch(10))
    assert len(list(it)) == 10
    stats = it.stats()
    assert stats.elements == 10 and stats.stage("map#1")["elements"] == 100
    (python,) = stats.python
    assert python.stage == "map#1" and python.calls == 100
    assert python.gil_hold_ns > 0
    assert "map#1" in repr(stats)
    with pytest.raises(KeyError, match="there are"):
        stats.stage("nothing")


def test_python_functions_inside_opened_datasets_are_counted():
    def inner(x):
        return int(x) + 1

    def middle(i):
        return ps.Dataset.range(3).flat_map(
            lambda k: ps.Dataset.range(2).map(inner, executor="thread")
        )

    ds = ps.Dataset.range(5).interleave(middle, cycle_length=2)
    (opener,) = ds._functions.values()
    assert opener.handle.nested() == {}
    for _ in range(2):
        assert len(ds.to_list()) == 5 * 3 * 2
    nested = opener.handle.nested()
    assert set(nested) == {"flat_map#1", "flat_map#1.map#1"}
    counts = {label: one["counters"]["calls"] for label, one in nested.items()}
    assert counts == {"flat_map#1": 2 * 5 * 3, "flat_map#1.map#1": 2 * 5 * 3 * 2}
    assert nested["flat_map#1.map#1"]["executor"] == "thread"
    assert nested["flat_map#1.map#1"]["counters"]["gil_hold_ns"] > 0


def test_explain_says_how_functions_run():
    text = ps.Dataset.range(3).map(lambda x: x, executor="thread").explain()
    assert "plan:" in text and "<lambda> (test_dataset.py:" in text
    assert ": thread" in text


def test_windows_are_datasets():
    windows = ps.Dataset.range(6).window(3)
    assert windows.element_spec == ps.DatasetSpec()
    assert [ints(w) for w in windows] == [[0, 1, 2], [3, 4, 5]]
    assert ints(windows.flat_map(lambda w: w.skip(1))) == [1, 2, 4, 5]
    window = next(iter(windows))
    with pytest.raises(ps.InvalidArgumentError, match="cannot be pickled"):
        pickle.dumps(window)


def test_save_and_load(tmp_path):
    ds = ps.Dataset.range(10).map(lambda x: {"x": x, "s": str(x)})
    ds.save(tmp_path / "a", num_shards=3)
    assert ps.Dataset.load(tmp_path / "a").to_list() == ds.to_list()
    ds.save(tmp_path / "b", shard_func=lambda d: d["x"] % 2)
    loaded = ps.Dataset.load(str(tmp_path / "b")).to_list()
    assert sorted(int(d["x"]) for d in loaded) == list(range(10))
    with pytest.raises(FileNotFoundError):
        ps.Dataset.load(tmp_path / "nowhere")


def test_the_rest_of_the_sources():
    assert ints(ps.Dataset.counter(1, 2).take(3)) == [1, 3, 5]
    a = ps.Dataset.range(3)
    mixed = ps.Dataset.sample_from_datasets([a, a], weights=[0, 1], seed=1)
    assert ints(mixed.take(3)) == [0, 1, 2]
    choice = ps.Dataset.from_tensor_slices([0, 1, 1])
    chosen = ps.Dataset.choose_from_datasets([a, a.skip(1)], choice)
    assert ints(chosen) == [0, 1, 2]
    assert ints(ps.Dataset.random(seed=1).take(3)) == ints(
        ps.Dataset.random(seed=1).take(3)
    )


def test_reduce_keeps_structure_and_dtype():
    ds = ps.Dataset.zip(ps.Dataset.range(4), ps.Dataset.range(4))
    total, count = ds.reduce((0, 0), lambda s, a, b: (s[0] + a + b, s[1] + 1))
    assert (int(total), int(count)) == (12, 4)
    with pytest.raises(ps.InvalidArgumentError, match="element 0: the state was"):
        ds.reduce(0, lambda s, a, b: 1.5)
    with pytest.raises(ZeroDivisionError):
        ds.reduce(0, lambda s, a, b: 1 // 0)


def test_reduce_sees_a_state_that_changes_its_kind():
    ds = ps.Dataset.range(3)
    total = ds.reduce({"n": 0, "x": np.zeros(2)}, lambda s, x: {**s, "n": s["n"] + x})
    assert int(total["n"]) == 3 and total["x"].tolist() == [0, 0]
    grown = ds.reduce(np.zeros(0, int), lambda s, x: np.append(s, x))
    assert grown.tolist() == [0, 1, 2]
    with pytest.raises(ps.InvalidArgumentError, match="element 1: the state was"):
        ds.reduce(np.int64(0), lambda s, x: np.float32(x) if x else s)
    with pytest.raises(ps.InvalidArgumentError, match="element 2"):
        ds.reduce((0, 0), lambda s, x: s if x < 2 else (*s, s[0]))


def test_reduce_converts_no_state_of_the_same_kind(monkeypatch):
    calls = []
    convert = reduced_state

    def counted(*args):
        calls.append(args)
        return convert(*args)

    monkeypatch.setattr("penstock._dataset.reduced_state", counted)
    assert int(ps.Dataset.range(1000).reduce(0, lambda s, x: s + x)) == 499500
    assert len(calls) == 1


def test_a_zip_needs_room_for_one_tuple_only():
    def big():
        return ps.Dataset.range(40).map(lambda x: np.full(25_000, x, np.float64))

    ds = ps.Dataset.zip(big(), big(), big())
    ds = ds.with_options(ps.Options(memory_budget=1 << 20))
    assert sum(1 for _ in ds) == 40


def test_a_cache_in_memory_has_its_name():
    assert "cache#1:kept" in ps.Dataset.range(3).cache(name="kept").explain()


def test_stats_list_what_was_skipped_or_replaced():
    ds = ps.Dataset.range(4).map(lambda x: 6 // int(x), on_error=ps.Replace(0))
    it = iter(ds)
    assert ints(it) == [0, 6, 3, 2]
    stats = it.stats()
    assert stats.errors_replaced == 1 and stats.errors_skipped == 0
    (error,) = stats.quarantine
    assert error["stage"] == "map#1" and error["element"] == "0" and error["replaced"]
    assert "ZeroDivisionError" in error["message"]


def test_an_iterator_is_not_restarted_by_a_state_that_is_none():
    it = iter(ps.Dataset.range(3))
    next(it)
    for state in (None, b"", {"version": 1, "state": b""}):
        with pytest.raises(TypeError, match="state_dict"):
            it.load_state_dict(state)
    assert ints(it) == [1, 2]


def two_key_orders():
    n = np.arange(3)
    first = {"x": n, "in": {"a": n + 1, "b": n + 2}}
    other = {"in": {"b": n + 12, "a": n + 11}, "x": n + 10}
    slices = ps.Dataset.from_tensor_slices
    return slices(first), slices(other)


@pytest.mark.parametrize(
    "join",
    [
        lambda a, b: a.concatenate(b),
        lambda a, b: ps.Dataset.sample_from_datasets([a, b], seed=1),
        lambda a, b: ps.Dataset.choose_from_datasets(
            [a, b], ps.Dataset.from_list([0, 0, 0, 1, 1, 1])
        ),
    ],
)
@pytest.mark.parametrize("in_tuple", [False, True])
def test_keys_may_come_in_another_order(join, in_tuple):
    a, b = two_key_orders()
    if in_tuple:
        a, b = (d.map(lambda e: (e, e["x"])) for d in (a, b))
    ds = join(a, b)
    assert ds.element_spec == a.element_spec
    elements = [e[0] if in_tuple else e for e in ds]
    assert sorted(int(e["x"]) for e in elements) == [0, 1, 2, 10, 11, 12]
    for e in elements:
        assert list(e) == ["x", "in"] and list(e["in"]) == ["a", "b"]
        assert e["in"]["a"] == e["x"] + 1 and e["in"]["b"] == e["x"] + 2
    assert pickle.loads(pickle.dumps(ds)) == ds
    assert all(f.handle.executor == "native" for f in ds._functions.values())


def test_other_keys_are_refused():
    a, _ = two_key_orders()
    with pytest.raises(ps.InvalidArgumentError, match="do not fit"):
        a.concatenate(a.map(lambda e: {"x": e["x"], "y": e["x"]}))
