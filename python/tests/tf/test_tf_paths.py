"""Branches and loops on data: their specs are known before anything runs."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf
import pytest

NUMBERS = tf.data.Dataset.range(1, 6)
calls: list[int] = []


def _if(x):
    if x > 2:
        y = x * 2
    else:
        y = -x
    return y


def _returns(x):
    if x % 2 == 0:
        return tf.constant("even")
    return tf.constant("odd")


def _for(x):
    total = tf.constant(0, tf.int64)
    for i in tf.range(x):
        if i == 3:
            break
        total += i
    return total


def _while(x):
    i = tf.constant(1)
    while i < 100:
        i *= 3
    return tf.cast(i, tf.int64) + x


def _of_data(x):
    while x < 20:
        x = x * 2
    return x


def _rows(x):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(3):
        rows = rows.write(i, tf.cast(i, tf.float32) * tf.cast(x, tf.float32))
    return rows.stack()


def _grows(x):
    made = tf.zeros([1], tf.int64)
    while tf.size(made) < tf.cast(x, tf.int32):
        made = tf.concat([made, [x]], 0)
    return made


def _flipped(x):
    image = tf.ones([4, 6, 3])
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_left_right(image)
    return image


def _raises(x):
    if x > 9:
        raise ValueError("too large")
    return {"x": x, "n": None}


def _shapes(x):
    if x > 2:
        return tf.zeros([2, 3])
    return tf.zeros([2, 4])


def _many(x):
    for bit in range(20):
        if (x >> bit) % 2 == 1:
            x = x + 1
    return x


def _augmented(x):
    image = tf.ones([4, 6, 3]) * tf.cast(x, tf.float32)
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_left_right(image)
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_up_down(image)
    if tf.random.uniform(()) > 0.5:
        image = tf.image.adjust_brightness(image, 0.1)
    if tf.random.uniform(()) > 0.5:
        image = tf.image.adjust_contrast(image, 1.1)
    if tf.random.uniform(()) > 0.5:
        image = image * 2
    if tf.random.uniform(()) > 0.5:
        image = image - 1
    if tf.random.uniform(()) > 0.5:
        image = image[:, :5]
    return image


PATHS = {
    "many branches": (_augmented, tf.TensorSpec((4, None, 3), tf.float32)),
    "if": (_if, tf.TensorSpec((), tf.int64)),
    "expression": (lambda x: x if x > 1 else x * 2, tf.TensorSpec((), tf.int64)),
    "two returns": (_returns, tf.TensorSpec((), tf.string)),
    "for": (_for, tf.TensorSpec((), tf.int64)),
    "while": (_while, tf.TensorSpec((), tf.int64)),
    "while of data": (_of_data, tf.TensorSpec((), tf.int64)),
    "rows": (_rows, tf.TensorSpec((None,), tf.float32)),
    "grows": (_grows, tf.TensorSpec((None,), tf.int64)),
    "random": (_flipped, tf.TensorSpec((4, 6, 3), tf.float32)),
    "raises": (_raises, {"x": tf.TensorSpec((), tf.int64), "n": tf.NoneTensorSpec()}),
    "shapes": (_shapes, tf.TensorSpec((2, None), tf.float32)),
    "in a loop": (_many, tf.TensorSpec((), tf.int64)),
    "and": (lambda x: x > 1 and x < 4, tf.TensorSpec((), tf.bool)),
    "not": (lambda x: not x > 1, tf.TensorSpec((), tf.bool)),
}


@pytest.mark.parametrize("case", PATHS)
def test_branches_on_data_leave_the_spec_known(case):
    fn, spec = PATHS[case]
    ds = NUMBERS.map(fn)
    assert ds.element_spec == spec
    for made, x in zip(ds, NUMBERS):
        expected = fn(x)
        if case == "raises":
            assert made == expected
        elif case not in ("random", "many branches"):
            np.testing.assert_array_equal(
                made.numpy(), tf.convert_to_tensor(expected).numpy()
            )


def test_paths_of_several_dtypes_leave_it_unknown():
    ds = NUMBERS.map(lambda x: 1.0 if x > 2 else 2)
    assert ds.element_spec == tf.TensorSpec(None, "unknown")


def test_a_branch_runs_nothing_before_the_first_element():
    def seen(x):
        if x > 2:
            calls.append(int(x))
            return x
        return -x

    ds = NUMBERS.map(seen)
    assert calls == []
    assert [int(x) for x in ds] == [-1, -2, 3, 4, 5]
    assert calls == [3, 4, 5]


def test_a_loop_without_end_does_not_hold_up_the_graph():
    def endless(x):
        turns = 0
        while turns < 10**9:
            turns += 1
        return x

    assert NUMBERS.map(endless).element_spec == tf.TensorSpec(None, "unknown")


def test_print_leaves_the_spec_known(capfd):
    def shown(x):
        print("x", int(x))
        return x if x > 1 else -x

    def told(x):
        print("tracing")
        return x + 1

    assert NUMBERS.map(shown).element_spec == tf.TensorSpec(None, "unknown")
    ds = NUMBERS.take(1).map(told)
    assert ds.element_spec == tf.TensorSpec((), tf.int64)
    assert capfd.readouterr().out == ""
    assert [int(x) for x in ds] == [2]
    assert capfd.readouterr().out == "tracing\n"


def test_datasets_of_captured_values_have_a_spec():
    pairs = NUMBERS.flat_map(
        lambda i: tf.data.Dataset.range(i).map(lambda j: {"i": i, "j": (j, None)})
    )
    number = tf.TensorSpec((), tf.int64)
    assert pairs.element_spec == {"i": number, "j": (number, tf.NoneTensorSpec())}
    assert [(int(e["i"]), int(e["j"][0])) for e in pairs.take(3)] == [
        (1, 0), (2, 0), (2, 1),
    ]  # fmt: skip
    sums = NUMBERS.map(
        lambda x: tf.data.Dataset.range(x).reduce(np.int64(0), lambda a, b: a + b)
    )
    assert sums.element_spec == number
    assert [int(x) for x in sums] == [0, 1, 3, 6, 10]


def test_seeds_of_a_generator_have_a_spec():
    generator = tf.random.Generator.from_seed(1)

    def augmented(x):
        seed = generator.make_seeds(1)[:, 0]
        return tf.image.stateless_random_crop(tf.ones([6, 6, 3]), [2, 3, 3], seed), seed

    ds = NUMBERS.map(augmented)
    assert ds.element_spec == (
        tf.TensorSpec((2, 3, 3), tf.float32),
        tf.TensorSpec((2,), tf.int64),
    )
    assert len({tuple(seed.numpy()) for _, seed in ds}) == 5
