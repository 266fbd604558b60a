"""Programs as people write them for tf.data, with one import line changed."""

from __future__ import annotations

import threading
import time

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest


def heavy(element):
    tf.random.normal(shape=(300, 300))
    return element


@pytest.mark.parametrize("ahead", [False, True])
def test_batches_arrive_in_order_with_unused_random_work(ahead):
    numbers = tf.data.Dataset.range(200)
    numbers = numbers.map(heavy, num_parallel_calls=tf.data.AUTOTUNE).batch(16)
    if ahead:
        numbers = numbers.prefetch(tf.data.AUTOTUNE)
    seen = []
    for i, batch in enumerate(numbers):
        if i > 10:
            break
        seen.append(batch.numpy().tolist())
    assert seen == [list(range(16 * i, 16 * i + 16)) for i in range(11)]


def test_sleeping_calls_overlap():
    def load(element):
        time.sleep(0.1)
        return tf.constant(np.random.rand(8, 8), dtype=tf.float32)

    ds = tf.data.Dataset.range(60).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    started = time.monotonic()
    batches = list(ds.batch(16).prefetch(tf.data.AUTOTUNE))
    assert time.monotonic() - started < 4  # one at a time: 6 s
    assert [b.shape for b in batches] == [(16, 8, 8)] * 3 + [(12, 8, 8)]
    assert batches[0].dtype == tf.float32


def test_a_slow_loader_without_arguments_overlaps():
    def loader():
        time.sleep(0.3)
        return tf.constant([1])

    ds = tf.data.Dataset.from_tensor_slices([1, 2, 3, 4, 5, 6, 7, 8])
    ds = ds.map(lambda x: loader(), num_parallel_calls=tf.data.AUTOTUNE)
    started = time.monotonic()
    assert [x.numpy().tolist() for x in ds] == [[1]] * 8
    assert time.monotonic() - started < 2  # one at a time: 2.4 s


@pytest.mark.parametrize("calls", [1, tf.data.AUTOTUNE])
def test_a_cheap_function_gives_the_same_with_any_number_of_calls(calls):
    def plus_one(x):
        return x + 1

    ds = tf.data.Dataset.range(5000).map(plus_one, num_parallel_calls=calls)
    assert [int(x) for x in ds] == list(range(1, 5001))
    assert "native" in ds.explain()


@pytest.mark.parametrize("calls", [1, tf.data.AUTOTUNE])
def test_numpy_random_values_are_fresh_for_every_element(calls):
    def noisy(x):
        return x + np.sum(np.random.rand(20, 20))

    made = [float(x) for x in tf.data.Dataset.range(30).map(noisy, calls)]
    assert len(set(made)) == 30


def test_one_call_at_a_time_means_it():
    lock, running, most = threading.Lock(), [0], [0]

    def slow(x):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        return x

    order = []

    def note(x):
        order.append(int(x))
        return x

    list(tf.data.Dataset.range(10).map(slow, num_parallel_calls=1))
    assert most == [1]
    list(tf.data.Dataset.range(50).map(note))
    assert order == list(range(50))


def test_a_long_python_loop_over_a_scalar():
    def total_of(x):
        total = 0
        for i in range(20_000):
            total += i * x
        return total

    ds = tf.data.Dataset.range(6)
    for calls in (tf.data.AUTOTUNE, 4):
        made = [int(x) for x in ds.map(total_of, num_parallel_calls=calls)]
        assert made == [sum(range(20_000)) * x for x in range(6)]


def test_a_pool_that_forks_works_beside_a_pipeline(run_program):
    done = run_program(
        """
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        import penstock.tf as tf

        def total_of(x):
            total = 0
            for i in range(1000):
                total += i * x
            return total

        numbers = list(tf.data.Dataset.range(6).as_numpy_iterator())
        with multiprocessing.Pool(processes=2) as pool:
            results = pool.map(total_of, numbers)
        print([int(r) for r in results])
        """
    )
    assert done.stdout.strip() == str([499500 * x for x in range(6)])


@pytest.fixture
def pictures(tmp_path):
    chance = np.random.default_rng(1)
    for i in range(7):
        pixels = chance.integers(0, 255, (20 + i, 30, 3), np.uint8)
        tf.io.write_file(str(tmp_path / f"{i}.jpg"), tf.io.encode_jpeg(pixels))
    return tmp_path


def test_pictures_of_files(pictures):
    def load(path):
        image = tf.io.read_file(path)
        image = tf.image.decode_jpeg(image, channels=3)
        image = tf.image.resize(image, (16, 16))
        return tf.image.convert_image_dtype(image, dtype=tf.float32)

    ds = tf.data.Dataset.list_files(str(pictures / "*.jpg"))
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(4)
    assert ds.element_spec == tf.TensorSpec([None, 16, 16, 3], tf.float32)
    assert "native" in ds.explain()
    batches = list(ds)
    assert [b.shape for b in batches] == [(4, 16, 16, 3), (3, 16, 16, 3)]
    # resize of uint8 gives float32 up to 255; converting that changes nothing.
    assert 100 < batches[0].numpy().max() <= 255


@pytest.fixture
def records(tmp_path):
    for shard in range(2):
        with tf.io.TFRecordWriter(str(tmp_path / f"{shard}.tfrecord")) as writer:
            for i in range(3):
                pixels = np.full((4, 5, 3), shard * 10 + i, np.uint8)
                feature = tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[pixels.tobytes()])
                )
                example = tf.train.Example(
                    features=tf.train.Features(feature={"image": feature})
                )
                writer.write(example.SerializeToString())
    return str(tmp_path / "*.tfrecord")


FEATURES = {"image": tf.io.FixedLenFeature([], tf.string)}


@tf.function
def shrink(image):
    image = tf.image.resize(image, (2, 2))
    return tf.image.convert_image_dtype(image, dtype=tf.float32)


def parsed(pattern):
    ds = tf.data.TFRecordDataset(pattern)
    return ds.map(
        lambda x: tf.io.parse_single_example(x, features=FEATURES),
        num_parallel_calls=tf.data.AUTOTUNE,
    )


def test_records_of_a_pattern(records):
    def picture(x):
        return tf.reshape(tf.io.decode_raw(x["image"], tf.uint8), (4, 5, 3))

    ds = parsed(records)
    ds = ds.map(lambda x: shrink(picture(x)), num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache().batch(32).prefetch(tf.data.AUTOTUNE)
    (batch,) = list(ds)
    assert batch.shape == (6, 2, 2, 3)
    assert batch[:, 0, 0, 0].numpy().tolist() == [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]


def test_a_flat_picture_is_refused_with_the_remedy(records):
    ds = parsed(records).map(
        lambda x: shrink(tf.io.decode_raw(x["image"], tf.uint8)),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    with pytest.raises(ValueError, match=r"resize: .*got \(60,\); .*tf\.reshape"):
        next(iter(ds.batch(4)))


def test_two_pictures_are_cropped_alike():
    pair = np.stack([np.arange(60, dtype=np.float32).reshape(5, 4, 3)] * 2)

    def jitter(images):
        images = tf.image.random_crop(images, size=[2, 3, 3, 3])
        if tf.random.uniform(()) > 0.5:
            images = tf.image.flip_left_right(images)
        return images[0], images[1]

    for first, second in tf.data.Dataset.from_tensors(pair).repeat(5).map(jitter):
        assert first.shape == (3, 3, 3)
        assert (first.numpy() == second.numpy()).all()
    one = tf.image.stateless_random_crop(pair[0], [3, 3, 2], seed=(1, 2))
    assert one.shape == (3, 3, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"random_crop: size .*9"):
        tf.image.random_crop(pair, [2, 9, 3, 3])


def test_arguments_of_a_generator_arrive_as_numpy_values():
    def names(count, stem, sizes):
        assert isinstance(count, np.int32)
        assert isinstance(sizes, np.ndarray)
        for i in range(count):
            yield stem + b"%d" % sizes[i]

    ds = tf.data.Dataset.from_generator(
        names,
        args=(2, "a", [3, 4]),
        output_signature=tf.TensorSpec((), tf.string),
    )
    assert list(ds.as_numpy_iterator()) == [b"a3", b"a4"]


def test_strings_are_reduced():
    words = tf.data.Dataset.from_tensor_slices(["a", "b"])
    joined = words.reduce("", lambda text, word: tf.strings.join([text, word]))
    assert joined.numpy() == b"ab"
    longest = words.reduce([""], lambda all_, word: tf.concat([all_, [word]], 0))
    assert longest.numpy().tolist() == [b"", b"a", b"b"]
