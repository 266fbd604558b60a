"""Functions of single values on ragged tensors; results are TensorFlow's."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf
import pytest

ROWS = tf.ragged.constant([[1, 2], [], [3]])
WORDS = tf.ragged.constant([["Ab", "c"], [], ["d"]])
FLOATS = tf.cast(ROWS, tf.float32)

VALUES = {
    "lower": (lambda: tf.strings.lower(WORDS), [[b"ab", b"c"], [], [b"d"]]),
    "length": (lambda: tf.strings.length(WORDS), [[2, 1], [], [1]]),
    "strip": (lambda: tf.strings.strip(WORDS), [[b"Ab", b"c"], [], [b"d"]]),
    "substr": (lambda: tf.strings.substr(WORDS, 0, 1), [[b"A", b"c"], [], [b"d"]]),
    "regex_replace": (
        lambda: tf.strings.regex_replace(WORDS, "b", "x"), [[b"Ax", b"c"], [], [b"d"]],
    ),
    "regex_full_match": (
        lambda: tf.strings.regex_full_match(WORDS, "A.*"), [[True, False], [], [False]],
    ),
    "as_string": (lambda: tf.strings.as_string(ROWS), [[b"1", b"2"], [], [b"3"]]),
    "hash": (
        lambda: tf.strings.to_hash_bucket_fast(WORDS, 10), [[6, 2], [], [5]],
    ),
    "join": (lambda: tf.strings.join([WORDS, "!"]), [[b"Ab!", b"c!"], [], [b"d!"]]),
    "join two": (
        lambda: tf.strings.join([WORDS, WORDS], separator="-"),
        [[b"Ab-Ab", b"c-c"], [], [b"d-d"]],
    ),
    "to_number": (
        lambda: tf.strings.to_number(tf.ragged.constant([["1"], ["2", "3"]])),
        [[1.0], [2.0, 3.0]],
    ),
    "add": (lambda: tf.add(ROWS, 1), [[2, 3], [], [4]]),
    "multiply": (lambda: tf.multiply(ROWS, ROWS), [[1, 4], [], [9]]),
    "abs": (lambda: tf.abs(-ROWS), [[1, 2], [], [3]]),
    "maximum": (lambda: tf.maximum(ROWS, 2), [[2, 2], [], [3]]),
    "pow": (lambda: tf.pow(ROWS, 2), [[1, 4], [], [9]]),
    "clip": (lambda: tf.clip_by_value(ROWS, 1, 2), [[1, 2], [], [2]]),
    "one_hot": (
        lambda: tf.one_hot(ROWS, 4, dtype=tf.int32),
        [[[0, 1, 0, 0], [0, 0, 1, 0]], [], [[0, 0, 0, 1]]],
    ),
    "where": (lambda: tf.where(ROWS > 1, ROWS, 0), [[0, 2], [], [3]]),
    "zeros_like": (lambda: tf.zeros_like(ROWS), [[0, 0], [], [0]]),
    "identity": (lambda: tf.identity(ROWS), [[1, 2], [], [3]]),
    "logical_not": (lambda: tf.logical_not(ROWS > 1), [[True, False], [], [False]]),
    "equal": (lambda: tf.equal(ROWS, 1), [[True, False], [], [False]]),
    "==": (lambda: ROWS == 1, [[True, False], [], [False]]),
    "!=": (lambda: ROWS != ROWS, [[False, False], [], [False]]),  # noqa: PLR0124
    "== text": (lambda: WORDS == "c", [[False, True], [], [False]]),
    "&": (lambda: (ROWS > 1) & (ROWS < 3), [[False, True], [], [False]]),
    "~": (lambda: ~(ROWS > 1), [[True, False], [], [False]]),
    "a value for each row": (
        lambda: ROWS + tf.constant([[1], [2], [3]]), [[2, 3], [], [6]],
    ),
    "gather rows": (lambda: tf.gather(ROWS, [2, 0]), [[3], [1, 2]]),
    "gather at": (lambda: tf.gather([10, 20, 30, 40], ROWS), [[20, 30], [], [40]]),
}  # fmt: skip


@pytest.mark.parametrize("case", VALUES)
def test_rows_stay_and_values_change(case):
    make, rows = VALUES[case]
    made = make()
    assert isinstance(made, tf.RaggedTensor)
    assert made.to_list() == rows


def test_how_many_values_and_dimensions():
    assert tf.size(ROWS).numpy() == 3
    assert tf.rank(ROWS).numpy() == 2
    assert repr(tf.sqrt(FLOATS)) == (
        "<tf.RaggedTensor [[1.0, 1.4142135], [], [1.7320508]]>"
    )


def test_tokens_of_batches_in_a_pipeline():
    words = tf.data.Dataset.from_tensor_slices(["The cat", "a", "The dog"]).batch(3)
    ds = words.map(lambda s: tf.strings.lower(tf.strings.split(s)))
    assert next(iter(ds)).to_list() == [[b"the", b"cat"], [b"a"], [b"the", b"dog"]]
    known = ds.map(lambda t: tf.where(t == "the", "", t))
    assert next(iter(known)).to_list() == [[b"", b"cat"], [b"a"], [b"", b"dog"]]


def test_rows_that_differ_are_an_error():
    with pytest.raises(ValueError, match="different lengths"):
        tf.add(ROWS, tf.ragged.constant([[1], [2, 3], []]))
    with pytest.raises(ValueError, match="one value for each row"):
        ROWS + np.ones((2, 2), np.int32)
