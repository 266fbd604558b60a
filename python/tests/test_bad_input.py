"""Wrong arguments fail on the user's line; wrong results name what and where."""

from __future__ import annotations

import pickle
import struct
import threading
import traceback

import numpy as np
import penstock.tf as tf
import pytest

import penstock as ps
from penstock import _penstock

R = ps.Dataset.range(3)
T = tf.data.Dataset.range(3)
F = ps.TensorSpec((), ps.float32)
lock = threading.Lock()

# (call, class that it must be besides, what its message says)
U = ps.random.uniform
WRONG = [
    (lambda: R.batch("x"), TypeError, "batch: batch_size must be an int, got 'x'"),
    (lambda: R.batch(0), ValueError, "batch: batch_size must be >= 1, got 0"),
    (lambda: R.take(1.5), TypeError, "take: count must be an int, got 1.5"),
    (lambda: R.take(-3), ValueError, "take: count must be >= 0"),
    (lambda: R.map(3), TypeError, "map: fn must be callable, got int"),
    (lambda: R.filter(None), TypeError, "filter: fn must be callable"),
    (lambda: R.shuffle(0), ValueError, "shuffle: buffer_size must be >= 1"),
    (lambda: R.shard(2, 5), ValueError, r"shard: index must be in \[0, 2\), got 5"),
    (lambda: R.window(0), ValueError, "window: size must be >= 1, got 0"),
    (lambda: R.map(abs, executor="gpu"), ValueError, "executor must be one of"),
    (lambda: R.map(abs, num_parallel_calls=0), ValueError, "num_parallel_calls"),
    (lambda: R.repeat("a"), TypeError, "repeat: count must be an int, got 'a'"),
    (lambda: R.prefetch(-5), ValueError, "prefetch: n must be >= 0"),
    (lambda: R.concatenate(3), TypeError, "concatenate"),
    (lambda: ps.Dataset.zip(3), TypeError, "zip"),
    (lambda: ps.Dataset.range("a"), TypeError, "range"),
    (lambda: ps.Dataset.tfrecord(3), TypeError, "tfrecord: files must be"),
    (lambda: R.map(abs, output_signature=3), TypeError, "output_signature"),
    (lambda: ps.Dataset.from_tensor_slices(([1], [1, 2])), ValueError, "slices"),
    (lambda: R.batch(2, nope=1), TypeError, "nope"),
    (lambda: R.with_options(3), TypeError, "with_options"),
    (lambda: R.map(lambda a, b: a), TypeError, "takes 2 arguments.* element has 1"),
    (lambda: R.filter(lambda: True), TypeError, "takes 0 arguments"),
    (lambda: R.enumerate().map(lambda x: x), TypeError, "takes 1 arguments.* has 2"),
    (lambda: R.map(lambda x, *, k: x), TypeError, "needs k, which no element has"),
    (lambda: R.range(2**70), ValueError, "range: stop must fit into 64 bits"),
    (lambda: R[-7], IndexError, "index -7 is not in"),
    (lambda: R.with_options(ps.Options(cpu_budget=0)), ValueError, "cpu_budget must"),
    (lambda: R.with_options(ps.Options(memory_budget="1G")), TypeError, "memory_budg"),
    (lambda: R.map(abs, on_error=ps.Skip(limit="a")), TypeError, "Skip.limit must be"),
    (lambda: R.group_by_window(abs, abs, 0), ValueError, "window_size must be >= 1"),
    (lambda: R.group_by_window(abs, 3, 2), TypeError, "reduce_fn must be callable"),
    (lambda: R.reduce(0, lambda s, x: (s, s)), ValueError, "the state was"),
    (lambda: ps.Dataset.zip({1: R}), TypeError, "zip: a key of datasets must be a str"),
    (lambda: ps.Dataset.sample_from_datasets(R.repeat()), TypeError, "got one Dataset"),
    (lambda: R.shuffle(-5), ValueError, r">= 1 or ps\.GLOBAL, got -5"),
    (lambda: R.scan(0, lambda s: (s, s)), TypeError, "scan: .*takes 1 arg.* have 2"),
    (lambda: R.enumerate().scan(0, lambda s, x: (s, s)), TypeError, "have 3"),
    (lambda: R.reduce(object(), max), ValueError, "^reduce: a value of type object"),
    (lambda: R.map(lambda x: x, output_signature=F), ValueError, "declared is"),
    (lambda: R.filter(abs, output_signature=(F,)), ValueError, "must be a scalar"),
    (lambda: R.filter(abs, output_signature=3), TypeError, "output_signature"),
    (lambda: ps.Options(worker_timeout=-1), ValueError, "Options: worker_timeout"),
    (lambda: ps.Options(cpu_budget=0), ValueError, "Options: cpu_budget must be >= 1"),
    (lambda: ps.Options(on_error="no"), TypeError, "Options: on_error must be"),
    (lambda: ps.Options(on_error=ps.Skip(rate=2)), ValueError, "Skip.rate must be in"),
    (lambda: ps.Skip(limit=-1), ValueError, "on_error: Skip.limit must be >= 0"),
    (lambda: ps.Skip(rate="x"), TypeError, "on_error: Skip.rate must be a number"),
    (lambda: ps.random.uniform(dtype=ps.int32), ValueError, "maxval must be given"),
    (lambda: U("a"), TypeError, "uniform: shape must be whole numbers, got 'a'"),
    (lambda: U((2.5,)), TypeError, r"shape must be whole numbers, got \(2.5,\)"),
    (lambda: U(None), TypeError, "shape must be whole numbers, got None"),
    (lambda: U((2,), 3, 1, ps.int32), ValueError, "uniform: .*minval=3, maxval=1"),
    (lambda: ps.random.permutation("a"), TypeError, "permutation: n must be .* 'a'"),
    (lambda: ps.random.permutation(-1), ValueError, "n must be >= 0, got -1"),
    (lambda: ps.unstack(3), ValueError, "unstack: x must have an axis"),
    (lambda: ps.unstack([1], axis=2), ValueError, "axis must be from -1 to 0, got 2"),
    (lambda: ps.doctor(R, seconds="5"), TypeError, "seconds must be a number, got '5'"),
    (lambda: ps.Report.from_json("[1]"), ValueError, "from_json: .* holds a list"),
    (lambda: ps.Report.from_json("{"), ValueError, "from_json: text must be what"),
    (lambda: ps.Report.from_json("{}"), ValueError, "from_json: text must be what"),
    (lambda: T.batch("x"), TypeError, "batch_size must be a whole number, got 'x'"),
    (lambda: T.take(1.5), TypeError, "count must be a whole number, got 1.5"),
    (lambda: T.batch(-1), ValueError, "batch_size must be >= 1, got -1"),
    (lambda: T.map(None), TypeError, "map_func must be callable"),
    (lambda: T.map(lambda a, b: a), TypeError, "takes 2 arguments"),
    (lambda: T.with_options(3), TypeError, "must be tf.data.Options"),
    (lambda: T.zip(3), TypeError, "must be a Dataset, got int"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_fail_where_they_are_written(number):
    call, kind, message = WRONG[number]
    with pytest.raises(kind, match=message) as caught:
        call()
    frames = traceback.extract_tb(caught.tb)
    mine = [f for f in frames if f.filename == __file__]
    # The line of the call is in the traceback, behind that of this test.
    assert mine[-1].lineno == call.__code__.co_firstlineno


def test_functions_with_defaults_and_any_number_of_arguments_fit():
    assert R.map(lambda x, k=2: x * k).to_list() == [0, 2, 4]
    assert R.enumerate().map(lambda *both: both[1]).to_list() == [0, 1, 2]
    assert [int(x) for x in T.map(lambda x, k=2: x * k)] == [0, 2, 4]


def locked(x):
    with lock:
        return int(x) + 1


@pytest.mark.parametrize("method", [R.map, T.map], ids=["ps", "tf"])
def test_what_does_not_pickle_is_named_and_runs_in_threads(method):
    ds = method(locked)
    line = ds.explain().strip().splitlines()[-1]
    assert "thread" in line
    assert "lock" in line
    assert [int(x) for x in ds] == [1, 2, 3]


def test_forced_processes_name_what_does_not_pickle():
    lock = threading.Lock()

    def locked(x):
        with lock:
            return int(x) + 1

    with pytest.raises(ps.InvalidArgumentError, match=r"lock \(a _thread.lock\)"):
        R.map(locked, executor="process")
    with pytest.raises(ps.InvalidArgumentError, match=r": lock \(a _thread.lock\)"):
        R.map(lambda x: locked(x) + 1, executor="process")
    with pytest.raises(
        ps.InvalidArgumentError, match=r"held\['locks'\]\[0\] \(a _thread.lock\)"
    ):
        R.map(lambda x, held={"locks": [lock]}: x, executor="process")  # noqa: B006
    from penstock._workers import pickle_function
    from penstock.tf._functions import Call

    with pytest.raises(ps.InvalidArgumentError, match=r"lock \(a _thread.lock\)"):
        pickle_function("map", Call(locked, "element"))


def changing(ds, fn, **more):
    return ds.map(fn, executor="thread", **more)


CHANGES = [
    (
        lambda: changing(R, lambda x: np.zeros(int(x) + 1)).batch(3),
        r"differ in shape: element 0 has \(1,\), element 1 has \(2,\)",
    ),
    (
        lambda: changing(R, lambda x: np.int64(x) if x else np.float32(x)).batch(3),
        "differ in dtype: element 0 has float32, element 1 has int64",
    ),
    (
        lambda: changing(R, lambda x: (x, x) if x < 2 else x).batch(3),
        r"differ in structure: element 0 has \(\*, \*\), element 2 has \*",
    ),
    (
        lambda: changing(
            R,
            lambda x: np.zeros(int(x)),
            output_signature=ps.TensorSpec((0,), ps.float64),
        ),
        r"map#1: element 1: expected float64\(0,\), got float64\(1,\)",
    ),
    (
        lambda: changing(
            R,
            lambda x: "a" if x == 2 else np.float32(x),
            output_signature=ps.TensorSpec((), ps.float32),
        ),
        "map#1: element 2: expected float32, got string",
    ),
    (
        lambda: changing(R, lambda x: object() if x == 1 else x),
        "map#1: element 1: a value of type object cannot be an element",
    ),
    (
        lambda: R.flat_map(lambda x: int(x)),
        "flat_map#1: element 0: the function must return a Dataset.* type int",
    ),
    (
        lambda: R.filter(lambda x: np.zeros(3), executor="thread"),
        "filter#1: element 0: the predicate gave no truth value",
    ),
    (
        lambda: T.map(lambda x: np.zeros(int(x))).batch(3),
        r"differ in shape: element 0 has \(0,\), element 1 has \(1,\)",
    ),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_results_that_change_name_both_and_the_element(number):
    build, message = CHANGES[number]
    with pytest.raises(ps.InvalidArgumentError, match=message):
        list(build())


def test_no_record_above_the_limit_is_read_and_the_next_ones_are(tmp_path):
    for index in (True, False):
        path = tmp_path / f"index-{index}"
        with ps.io.TFRecordWriter(path, index=index) as writer:
            for record in (b"a", b"x" * 1000, b"b"):
                writer.write(record)
        ds = ps.Dataset.tfrecord(path, max_record_bytes=100)
        assert ds.ignore_errors().to_list() == [b"a", b"b"]
        with pytest.raises(ps.ResourceExhaustedError, match="record 1 at byte 17"):
            ds.to_list()


def test_a_length_beyond_the_limit_hides_nothing(tmp_path):
    def framed(*records):
        return _penstock.tfrecord_frame(list(records))

    length = struct.pack("<Q", 2**63)
    checksum = framed(length)[20:24]
    path = tmp_path / "x"
    path.write_bytes(framed(b"first") + length + checksum + b"junk" + framed(b"next"))
    ds = ps.Dataset.tfrecord(path)
    assert ds.ignore_errors().to_list() == [b"first", b"next"]


def test_the_policy_of_the_pipeline_is_for_native_functions_too():
    ds = ps.Dataset.from_list([b"ab", b"abc", b"cd"])
    ds = ds.map(lambda x: ps.io.decode_raw(x, ps.uint16), executor="native")
    skipping = ds.with_options(ps.Options(on_error="skip"))
    assert [x.item() for x in skipping] == [0x6261, 0x6463]
    seven = ps.Replace(np.array([7], np.uint16))
    replacing = ds.with_options(ps.Options(on_error=seven))
    assert [x.item() for x in replacing] == [0x6261, 7, 0x6463]


def test_what_cannot_fail_keeps_random_access_under_a_policy():
    ds = ps.Dataset.range(5).map(lambda x: x * 2, executor="native")
    ds = ds.with_options(ps.Options(on_error="skip"))
    assert len(ds) == 5 and ds[3] == 6


JPEG = ps.image.encode_jpeg(np.zeros((4, 6, 3), np.uint8))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.void, np.bytes_])
def test_bytes_of_every_kind_are_decoded(kind):
    assert ps.image.decode_jpeg(kind(JPEG)).shape == (4, 6, 3)
    assert ps.image.decode_image(kind(JPEG)).shape == (4, 6, 3)
    assert ps.image.extract_jpeg_shape(kind(JPEG)).tolist() == [4, 6, 3]
    assert ps.io.decode_raw(kind(b"\1\2"), ps.uint8).tolist() == [1, 2]
    example = ps.io.serialize_example({"x": 1.5})
    features = {"x": ps.io.FixedLenFeature([], ps.float32)}
    assert ps.io.parse_single_example(kind(example), features) == {"x": 1.5}
    tensor = ps.io.serialize_tensor(np.arange(3))
    assert ps.io.parse_tensor(kind(tensor), ps.int64).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ps.image.resize(None, (2, 2)), "resize: image must be an array, got"),
        (lambda: ps.image.adjust_hue(None, 0.1), "adjust_hue: image must be an array"),
        (lambda: ps.image.flip_up_down({}), "flip_up_down: image must be an array"),
        (lambda: ps.image.decode_png(None), "decode_png: contents must be bytes"),
        (lambda: ps.io.decode_raw(None, "u1"), "decode_raw: bytes must be bytes"),
        (lambda: ps.io.parse_tensor(None, ps.int8), "parse_tensor: serialized must be"),
        (lambda: ps.strings.join(None), "join: inputs must be a list of strings"),
        (lambda: ps.io.decode_csv(b"1", None), "decode_csv: record_defaults must be a"),
    ],
)
def test_operations_that_are_called_at_once_say_who_they_are(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_masked_array_is_no_element():
    values = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(ps.InvalidArgumentError, match="masked .*filled"):
        ps.Dataset.from_tensors(values)
    with pytest.raises(ps.InvalidArgumentError, match="map#1: element 0: .*masked"):
        ps.Dataset.range(1).map(lambda x: values, executor="thread").to_list()
    assert ps.Dataset.from_tensor_slices(values[:1]).to_list() == [1]


def test_a_required_keyword_is_named():
    with pytest.raises(TypeError, match="map: .* needs k, which no element has"):
        ps.Dataset.range(3).map(lambda x, *, k: x)


def test_pickling_an_iterator_names_its_state():
    with pytest.raises(TypeError, match=r"pickle its state_dict\(\)"):
        pickle.dumps(iter(ps.Dataset.range(3)))


def test_async_functions_are_refused_where_they_are_given():
    async def fetch(x):
        return x

    async def rows():
        yield 1

    class Service:
        async def fetch(self, x):
            return x

    ds = ps.Dataset.range(3)
    for fn in (fetch, Service().fetch):
        with pytest.raises(TypeError, match="map: fn must be a plain function, got"):
            ds.map(fn)
    with pytest.raises(TypeError, match="async function rows"):
        ps.Dataset.from_generator(rows)
