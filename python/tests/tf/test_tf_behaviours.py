"""What users of tf.data rely on, one test per behaviour."""

from __future__ import annotations

import collections
import dataclasses
import os
import pickle
import time
import weakref

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

import penstock as ps

Dataset = tf.data.Dataset
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Pair:
    left: object
    right: object


def values(ds):
    return [x.tolist() if hasattr(x, "tolist") else x for x in ds.as_numpy_iterator()]


def drain(it, limit=50):
    """Elements, and the classes of errors in their places."""
    out = []
    while len(out) < limit:
        try:
            out.append(int(next(it)))
        except StopIteration:
            break
        except Exception as error:  # noqa: BLE001
            out.append(type(error))
    return out


def fails_at_two(x):
    if int(x) == 2:
        raise ValueError("two")
    return x


@pytest.mark.parametrize(
    "build",
    [
        lambda ds: ds.map(fails_at_two),
        lambda ds: ds.map(fails_at_two, num_parallel_calls=tf.data.AUTOTUNE),
        lambda ds: ds.map(fails_at_two).prefetch(2),
        lambda ds: ds.map(fails_at_two).interleave(
            lambda x: Dataset.from_tensors(x), cycle_length=1
        ),
    ],
)
def test_an_error_does_not_end_the_iterator(build):
    it = iter(build(Dataset.range(5)))
    assert drain(it) == [0, 1, ValueError, 3, 4]


def test_the_end_is_sticky_and_survives_a_state():
    ds = Dataset.range(2)
    it = iter(ds)
    assert drain(it) == [0, 1]
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(it)
        with pytest.raises(tf.errors.OutOfRangeError):
            it.get_next()
    again = iter(ds)
    again.load_state_dict(pickle.loads(pickle.dumps(it.state_dict())))
    assert drain(again) == []


def test_functions_are_called_once_per_element_and_not_ahead_of_prefetch():
    calls = []

    def count(x):
        calls.append(int(x))
        return x

    ds = Dataset.range(20).map(count)
    assert calls == []  # no trial call
    it = iter(ds.prefetch(2))
    next(it)
    time.sleep(0.1)
    assert len(calls) <= 3

    calls.clear()
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    it = iter(ds.with_options(options))
    next(it)
    time.sleep(0.1)
    assert calls == [0]


@pytest.mark.parametrize("error", [StopIteration, tf.errors.OutOfRangeError])
def test_the_end_raised_in_a_function_is_an_error(error):
    def stop(x):
        if int(x) == 1:
            raise error("stop")
        return x

    it = iter(Dataset.range(3).map(stop))
    assert drain(it) == [0, tf.errors.InvalidArgumentError, 2]


def test_only_a_plain_tuple_is_spread_over_the_arguments():
    assert values(Dataset.range(2).map(lambda x: (x, x)).map(lambda a, b: a + b)) == [
        0,
        2,
    ]
    for make in (
        lambda x: Point(x, x + 1),
        lambda x: {"x": x, "y": x + 1},
        lambda x: Pair(x, x + 1),
    ):
        ds = Dataset.range(2).map(make).map(lambda one: one).batch(2)
        (element,) = list(ds)
        assert type(element) is type(make(1))
    assert [int(p.right) for p in Dataset.range(2).map(lambda x: Pair(x, x + 1))] == [
        1,
        2,
    ]


def test_lists_and_python_values_in_results():
    element = next(iter(Dataset.range(1).map(lambda x: [x, [1, 2], 1.5, "a", 7])))
    assert type(element) is tuple
    assert [np.asarray(e).dtype.name for e in element[:3]] == [
        "int64",
        "int32",
        "float32",
    ]
    assert element[1].shape == (2,)
    assert element[3].numpy() == b"a"
    assert element[4].dtype == tf.int32


def test_none_and_empty_tuples_survive():
    ds = Dataset.range(2).map(lambda x: (x, None, ()))
    assert [(int(a), b, c) for a, b, c in ds] == [(0, None, ()), (1, None, ())]
    known = Dataset.from_tensors((1, None))
    with pytest.raises(TypeError):
        known.padded_batch(2)


def test_numpy_iterator_gives_read_only_arrays():
    array = next(Dataset.range(4).batch(4).as_numpy_iterator())
    assert type(array) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 9


def test_default_cycle_length_is_the_number_of_cores():
    cores = len(os.sched_getaffinity(0))

    def build(**cycle):
        return values(
            Dataset.range(8).interleave(
                lambda x: Dataset.from_tensors(x).repeat(3), **cycle
            )
        )

    assert build() == build(cycle_length=cores)
    assert build()[:cores] == list(range(8))[:cores]


def test_outside_of_penstock_tf_the_order_does_not_depend_on_the_machine():
    def build(**cycle):
        source = ps.Dataset.range(40)
        return source.interleave(
            lambda x: ps.Dataset.from_tensors(x).repeat(2), **cycle
        ).to_list()

    assert build() == build(cycle_length=16)
    assert build()[:16] == list(range(16))


def test_deterministic_false_may_reorder_and_the_stage_beats_the_option():
    def slow_first(x):
        if int(x) == 0:
            time.sleep(0.3)
        return x

    options = tf.data.Options()
    options.deterministic = False
    loose = Dataset.range(40).map(slow_first, num_parallel_calls=4, deterministic=False)
    first = values(loose)
    assert sorted(first) == list(range(40))
    assert first != list(range(40))
    by_option = Dataset.range(40).map(slow_first, num_parallel_calls=4)
    by_option = values(by_option.with_options(options))
    assert sorted(by_option) == list(range(40))
    assert by_option != list(range(40))
    strict = Dataset.range(40).map(slow_first, num_parallel_calls=4, deterministic=True)
    assert values(strict.with_options(options)) == list(range(40))


def test_a_file_cache_replays_and_a_memory_cache_completes(tmp_path):
    path = str(tmp_path / "cache")
    assert values(Dataset.range(3).cache(path)) == [0, 1, 2]
    assert values(Dataset.range(9).cache(path)) == [0, 1, 2]

    calls = []

    def count(x):
        calls.append(1)
        return x

    ds = Dataset.range(3).map(count).cache()
    it = iter(ds)
    for _ in range(3):
        next(it)  # all its elements, not the end
    assert values(ds) == [0, 1, 2]
    assert len(calls) == 3


def test_a_second_writer_of_a_cache_file_is_refused(tmp_path):
    path = str(tmp_path / "cache")
    ds = Dataset.range(5000).cache(path).prefetch(0)
    first = iter(ds)
    next(first)
    with pytest.raises(tf.errors.AlreadyExistsError):
        next(iter(Dataset.range(5000).cache(path).prefetch(0)))


def test_a_seeded_shuffle_reshuffles_and_a_rebuilt_one_repeats_it():
    def build():
        return Dataset.range(30).shuffle(30, seed=5)

    ds, again = build(), build()
    epochs = [values(ds) for _ in range(3)]
    assert len({tuple(e) for e in epochs}) == 3
    assert [values(again) for _ in range(3)] == epochs
    fixed = Dataset.range(30).shuffle(30, seed=5, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed)
    numbers = Dataset.random(seed=3).take(4)
    assert values(numbers) == values(numbers)
    fresh = Dataset.random(seed=3, rerandomize_each_iteration=True).take(4)
    assert values(fresh) != values(fresh)
    mixed = Dataset.sample_from_datasets(
        [Dataset.range(9), Dataset.range(10, 19)], [0.5, 0.5], seed=1
    )
    assert values(mixed) == values(mixed)


def test_shuffle_and_repeat_goes_on_past_an_empty_epoch():
    epochs = iter([[1, 2], [], [3]])

    def rows():
        yield from next(epochs, [4])

    ds = Dataset.from_generator(rows, tf.int64, [])
    it = iter(ds.shuffle(4).repeat())
    assert {int(next(it)) for _ in range(4)} >= {1, 2, 3}


def test_cardinalities():
    empty = Dataset.range(0).repeat()
    assert int(empty.cardinality()) == 0
    endless = Dataset.range(3).repeat()
    one = Dataset.from_tensors
    assert (
        int(endless.interleave(lambda x: one(x)).cardinality())
        == tf.data.INFINITE_CARDINALITY
    )
    finite = Dataset.range(3).interleave(lambda x: one(x))
    assert int(finite.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert (
        int(Dataset.range(3).ignore_errors().cardinality())
        == tf.data.UNKNOWN_CARDINALITY
    )
    full = Dataset.range(20).shuffle(tf.data.UNKNOWN_CARDINALITY, seed=1)
    assert sorted(values(full)) == list(range(20))
    assert any(values(full)[0] > 5 for _ in range(20))


def test_padded_batch_checks_shapes():
    def rows():
        yield [1]
        yield [1, 2, 3]

    ds = Dataset.from_generator(rows, tf.int32, [None])
    with pytest.raises(tf.errors.DataLossError):
        list(ds.padded_batch(2, padded_shapes=[2]))
    with pytest.raises(ValueError, match="padded_batch"):
        Dataset.from_tensors([1, 2]).padded_batch(2, padded_shapes=[1])
    unknown = Dataset.from_generator(rows, tf.int32)
    with pytest.raises(ValueError, match="unknown rank"):
        unknown.padded_batch(2)


def test_a_generator_goes_on_after_an_element_that_does_not_fit():
    def items():
        yield 0
        yield "text"
        yield [1, 2]
        yield (1, 2)
        yield 4

    ds = Dataset.from_generator(items, output_signature=tf.TensorSpec((), tf.int64))
    bad = tf.errors.InvalidArgumentError
    assert drain(iter(ds)) == [0, bad, bad, bad, 4]


def test_the_generator_object_is_destroyed_with_its_iterator():
    class Items:
        def __init__(self):
            self.left = 2

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

    made = []

    def start():
        items = Items()
        made.append(weakref.ref(items))
        return items

    it = iter(Dataset.from_generator(start, tf.int64, []))
    assert drain(it) == [1, 0]
    it.close()
    del it
    for _ in range(100):
        if made[0]() is None:
            break
        time.sleep(0.02)
    assert made[0]() is None


def test_zip_stays_aligned_when_one_input_fails():
    left = Dataset.range(4).map(fails_at_two)
    right = Dataset.range(10, 14)
    ds = Dataset.zip((left, right)).ignore_errors()
    assert [(int(a), int(b)) for a, b in ds] == [(0, 10), (1, 11), (3, 13)]


def test_a_corrupt_tail_moves_on_to_the_next_file(tmp_path):
    for name in ("a", "b"):
        with tf.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for i in range(3):
                writer.write(f"{name}{i}".encode())
    whole = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(whole[:-3])
    for index in tmp_path.glob(".*"):
        index.unlink()
    ds = tf.data.TFRecordDataset([str(tmp_path / "a"), str(tmp_path / "b")])
    it = iter(ds)
    assert [next(it).numpy(), next(it).numpy()] == [b"a0", b"a1"]
    with pytest.raises(tf.errors.DataLossError):
        next(it)
    assert [x.numpy() for x in it] == [b"b0", b"b1", b"b2"]


def test_the_state_of_a_scan_may_change_its_shape():
    ds = Dataset.range(3).scan(
        tf.zeros([1], tf.int64),
        lambda s, x: (tf.concat([s, s], 0), tf.reduce_sum(s) + tf.size(s, tf.int64)),
    )
    assert values(ds) == [1, 2, 4]
    grown = Dataset.range(3).scan(
        tf.zeros([1], tf.int64), lambda s, x: (tf.concat([s, s], 0), s)
    )
    # Known before it runs.
    assert grown.element_spec == tf.TensorSpec([None], tf.int64)
    assert values(grown) == [[0], [0, 0], [0, 0, 0, 0]]
    pairs = (
        Dataset.range(3)
        .enumerate()
        .scan(tf.constant(0, tf.int64), lambda s, pair: (s + pair[0] * pair[1], s))
    )
    assert "native" in pairs.explain()
    assert values(pairs) == [0, 0, 1]


def test_group_by_window_gives_leftovers_in_key_order_and_windows_twice():
    ds = Dataset.from_tensor_slices(tf.constant([5, 1, 5, 3, 1], tf.int64))
    grouped = ds.group_by_window(
        lambda x: x, lambda key, window: window.concatenate(window).batch(9), 9
    )
    assert [b.numpy().tolist() for b in grouped] == [[1, 1, 1, 1], [3, 3], [5, 5, 5, 5]]


def test_saved_shards_are_read_round_robin(tmp_path):
    path = str(tmp_path / "saved")
    Dataset.range(6).save(path, shard_func=lambda x: x // 3)
    ds = Dataset.load(path)
    assert int(ds.cardinality()) == 6
    assert ds.element_spec == tf.TensorSpec((), tf.int64)
    assert values(ds) == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize(
    "build",
    [
        lambda ds: ds,
        lambda ds: ds.map(lambda x: x + 1),
        lambda ds: ds.batch(3),
        lambda ds: ds.repeat(2),
        lambda ds: ds.shard(2, 1),
        lambda ds: ds.skip(2).take(5),
        lambda ds: ds.concatenate(ds),
        lambda ds: Dataset.zip((ds, ds)).map(lambda a, b: a + b),
        lambda ds: ds.cache(),
    ],
)
def test_random_access(build):
    ds = build(Dataset.range(10))
    expected = values(ds)
    at = tf.data.experimental.at
    assert [at(ds, i).numpy().tolist() for i in range(len(expected))] == expected
    for index in (-1, len(expected)):
        with pytest.raises(tf.errors.OutOfRangeError):
            at(ds, index)


def test_random_access_through_shuffles():
    at = tf.data.experimental.at
    ds = Dataset.range(10).shuffle(3, seed=4)
    order = [int(at(ds, i)) for i in range(10)]
    assert sorted(order) == list(range(10)) != order
    assert [int(at(ds, i)) for i in range(10)] == order
    batches = ds.map(lambda x: x + 1).batch(4)
    assert at(batches, 2).numpy().tolist() == [x + 1 for x in order[8:]]
    unseeded = Dataset.range(10).shuffle(10)
    assert sorted(int(at(unseeded, i)) for i in range(10)) == list(range(10))
    with pytest.raises(tf.errors.OutOfRangeError):
        at(ds, 10)
    with pytest.raises(tf.errors.FailedPreconditionError):
        at(Dataset.range(4).filter(lambda x: x > 1).shuffle(2), 0)


def test_the_state_stays_small_however_large_elements_are():
    big = 300_000

    def inner(x):
        return Dataset.range(3).map(lambda y: tf.fill([big], x + y))

    for ds in (
        Dataset.range(4).flat_map(inner),
        Dataset.range(4).interleave(inner, cycle_length=2),
    ):
        it = iter(ds)
        for _ in range(4):
            next(it)
        assert len(pickle.dumps(it.state_dict())) < 10_000


def test_python_code_runs_for_every_element(tmp_path):
    file = tmp_path / "x"
    file.write_bytes(b"data")
    seen = []

    def read(name):
        seen.append(np.random.rand())
        with open(name, "rb") as stream:
            return stream.read()

    ds = Dataset.from_tensor_slices([str(file)] * 4).map(read)
    assert [x.numpy() for x in ds] == [b"data"] * 4
    assert len(set(seen)) == 4


@pytest.mark.parametrize("reads", [None, 2, tf.data.AUTOTUNE])
def test_no_files_are_an_empty_dataset(reads):
    for files in ([], np.array([], object)):
        for reader in (tf.data.TFRecordDataset, tf.data.TextLineDataset):
            ds = reader(files, num_parallel_reads=reads)
            assert values(ds.map(tf.strings.length)) == []
            assert ds.element_spec == tf.TensorSpec([], tf.string)
    assert values(tf.data.FixedLengthRecordDataset([], 2)) == []


def test_a_range_is_a_tensor():
    assert values(Dataset.from_tensor_slices(range(3))) == [0, 1, 2]
    assert Dataset.from_tensor_slices(range(3)).element_spec.dtype == tf.int32
    assert values(Dataset.from_tensors(range(2))) == [[0, 1]]
    assert tf.constant(range(2)).dtype == tf.int32


def test_rows_of_a_ragged_tensor_batch_to_ragged_tensors():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    ds = Dataset.from_tensor_slices(rows)
    assert [b.to_list() for b in ds.batch(2)] == [[[1, 2], []], [[3]]]
    again = ds.filter(lambda x: True).take(3).repeat(2).prefetch(1)
    assert [b.to_list() for b in again.batch(4)] == [
        [[1, 2], [], [3], [1, 2]],
        [[], [3]],
    ]
    pairs = Dataset.from_tensor_slices({"row": rows, "label": [7, 8, 9]})
    (batch,) = pairs.batch(3)
    assert batch["row"].to_list() == [[1, 2], [], [3]]
    assert batch["label"].numpy().tolist() == [7, 8, 9]


def test_rows_of_different_length_do_not_batch():
    ds = Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        list(ds.map(lambda x: x * 2).batch(2))


def test_rows_of_a_ragged_tensor_are_joined():
    words = tf.ragged.constant([["a", "b"], [], ["c"]])
    joined = tf.strings.reduce_join(words, axis=-1, separator=" ")
    assert joined.numpy().tolist() == [b"a b", b"", b"c"]
    assert tf.strings.reduce_join(words, axis=1).numpy().tolist() == [b"ab", b"", b"c"]
    assert tf.strings.reduce_join(words).numpy() == b"abc"
    kept = tf.strings.reduce_join(words, axis=-1, keepdims=True)
    assert kept.to_list() == [[b"ab"], [b""], [b"c"]]


def test_datasets_of_several_have_the_options_of_all():
    options = tf.data.Options()
    options.deterministic = False
    loose, plain = Dataset.range(3).with_options(options), Dataset.range(3)
    choice = Dataset.range(2)
    for ds in (
        Dataset.zip((plain, loose)),
        Dataset.zip({"a": loose, "b": plain}),
        Dataset.sample_from_datasets([plain, loose]),
        Dataset.choose_from_datasets([loose, plain], choice),
        plain.concatenate(loose),
    ):
        assert ds.options().deterministic is False
        assert ds.take(1).options().deterministic is False


def test_padding_values_have_the_dtype_of_the_elements():
    floats = Dataset.range(1, 3).map(lambda x: tf.zeros([2], tf.float32))
    with pytest.raises(TypeError, match="must be float32"):
        floats.padded_batch(2, padding_values=1)
    wide = floats.padded_batch(2, padded_shapes=[3], padding_values=1.0)
    assert values(wide) == [[[0, 0, 1], [0, 0, 1]]]
    with pytest.raises(TypeError, match=r"tf.constant\(-1, tf.int64\)"):
        Dataset.range(2).batch(1).padded_batch(2, padding_values=-1)


def test_a_reader_function_gets_the_shards(tmp_path):
    path = str(tmp_path / "uneven")
    Dataset.range(10).save(path, shard_func=lambda x: tf.cast(x > 6, tf.int64))
    seen = []

    def in_turns(shards):
        seen.extend(values(shard) for shard in shards)
        return shards.interleave(lambda shard: shard, cycle_length=2, block_length=2)

    ds = Dataset.load(path, reader_func=in_turns)
    assert seen == [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9]]
    assert values(ds) == [0, 1, 7, 8, 2, 3, 9, 4, 5, 6]
    last = Dataset.load(path, reader_func=lambda s: s.skip(1).flat_map(lambda d: d))
    assert values(last) == [7, 8, 9]

    one = str(tmp_path / "one")
    Dataset.range(3).save(one)
    doubled = Dataset.load(one, reader_func=lambda s: s.repeat(2).flat_map(lambda d: d))
    assert values(doubled) == [0, 1, 2, 0, 1, 2]
    with pytest.raises(TypeError, match="reader_func must return a Dataset, got 3"):
        Dataset.load(one, reader_func=lambda shards: 3)


def test_functions_of_a_snapshot_are_followed(tmp_path):
    path = str(tmp_path / "s")
    ds = Dataset.range(3).snapshot(
        path, reader_func=lambda s: s.flat_map(lambda d: d.map(lambda x: x + 1))
    )
    assert values(ds) == values(ds) == [1, 2, 3]
    pairs = Dataset.zip((Dataset.range(5), Dataset.range(5, 10)))
    kept = pairs.snapshot(str(tmp_path / "t"), shard_func=lambda x, y: (x + 1) % 2)
    assert values(kept) == values(kept) == values(pairs)

    def one_after_the_other(shards):
        return shards.flat_map(lambda shard: shard.map(lambda x, y: y))

    by_shard = pairs.snapshot(
        str(tmp_path / "u"),
        shard_func=lambda x, y: (x + 1) % 2,
        reader_func=one_after_the_other,
    )
    assert values(by_shard) == values(by_shard) == [6, 8, 5, 7, 9]
    with pytest.raises(ValueError, match="single"):
        values(pairs.snapshot(str(tmp_path / "v"), shard_func=lambda x, y: 0.5))


def test_datasets_are_pickled_with_their_options(tmp_path):
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 1
    rows = Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
    again = pickle.loads(pickle.dumps(rows.with_options(options)))
    assert again.options() == options
    assert [b.to_list() for b in again.batch(2)] == [[[1], [2, 3]]]
    (tmp_path / "a").write_text("one\n")
    lines = tf.data.TextLineDataset(str(tmp_path / "a"))
    assert values(pickle.loads(pickle.dumps(lines))) == [b"one"]


def test_what_is_repeated_for_ever_is_infinite_also_of_unknown_size():
    unknown = Dataset.range(5).filter(lambda x: x > 1)
    endless = unknown.repeat()
    for ds in (
        endless,
        unknown.repeat(-1),
        endless.map(lambda x: x + 1),
        endless.batch(2).prefetch(1),
        endless.shuffle(3, seed=1),
        endless.skip(1),
        endless.with_options(tf.data.Options()),
        endless.repeat(2),
    ):
        assert int(ds.cardinality()) == tf.data.INFINITE_CARDINALITY
        with pytest.raises(TypeError, match="infinite"):
            len(ds)
    for ds in (unknown, unknown.repeat(2), endless.filter(lambda x: x > 2)):
        assert int(ds.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert int(endless.repeat(0).cardinality()) == 0
    assert values(endless.take(4)) == [2, 3, 4, 2]
