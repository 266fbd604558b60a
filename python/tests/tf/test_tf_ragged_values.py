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


DEEP = [[[1, 2], [3]], [], [[4]]]


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (0, 1, [[1, 2], [3], [4]]),
        (1, 2, [[1, 2, 3], [], [4]]),
        (-2, -1, [[1, 2, 3], [], [4]]),
        (0, 2, [1, 2, 3, 4]),
    ],
)
def test_merged_dimensions_lose_no_value(outer, inner, expected):
    merged = tf.ragged.constant(DEEP).merge_dims(outer, inner)
    made = merged.to_list() if hasattr(merged, "to_list") else merged.numpy().tolist()
    assert made == expected


def test_dense_dimensions_are_merged_too():
    pairs = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert pairs.merge_dims(1, 2).to_list() == [[1, 2], [3, 4, 5, 6]]
    assert pairs[:, :, 0].to_list() == [[1], [3, 5]]
    assert pairs[..., 0].to_list() == [[1], [3, 5]]


def test_parts_of_deep_rows():
    rows = tf.ragged.constant(DEEP)
    assert rows[:, :, :1].to_list() == [[[1], [3]], [], [[4]]]
    assert rows[tf.newaxis].to_list() == [DEEP]
    assert rows[..., tf.newaxis].shape.as_list() == [3, None, None, 1]
    dense = [[[1, 2], [3, 0]], [[0, 0], [0, 0]], [[4, 0], [0, 0]]]
    assert rows.to_tensor().numpy().tolist() == dense
    assert rows.to_tensor(9, shape=[None, 1, 1])[1, 0, 0] == 9


def test_layout_of_ragged_tensors():
    rows = tf.ragged.constant([[1], [2, 3]])
    assert tf.expand_dims(rows, 0).to_list() == [[[1], [2, 3]]]
    assert tf.expand_dims(rows, 1).to_list() == [[[1]], [[2, 3]]]
    assert tf.expand_dims(rows, -1).to_list() == [[[1]], [[2], [3]]]
    assert tf.squeeze(tf.expand_dims(rows, 0), 0).to_list() == rows.to_list()
    assert tf.reverse(rows, [0, 1]).to_list() == [[3, 2], [1]]
    assert tf.tile(rows, [2, 2]).to_list() == [[1, 1], [2, 3, 2, 3]] * 2
    deep = tf.ragged.constant(DEEP)
    twice = [[[1, 2, 1, 2], [3, 3]], [], [[4, 4]]]
    assert tf.concat([deep, deep], axis=-1).to_list() == twice
    assert tf.tile(deep, [1, 1, 2]).to_list() == twice
    with pytest.raises(tf.errors.InvalidArgumentError, match="alike"):
        tf.concat([deep, deep[::-1]], axis=2)


def test_ragged_tensors_are_stacked():
    rows, other = tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[4], []])
    assert tf.stack([rows, other]).to_list() == [[[1], [2, 3]], [[4], []]]
    assert tf.stack([rows, other], axis=1).to_list() == [[[1], [4]], [[2, 3], []]]
    made = tf.ragged.stack([["a"], ["b", "c"]])
    assert made.to_list() == [[b"a"], [b"b", b"c"]]
    assert tf.ragged.stack([[1, 2], [3]]).dtype == tf.int32
    dense = tf.ragged.stack([tf.ones([2, 2]), tf.zeros([1, 2])])
    assert dense.to_list() == [[[1, 1], [1, 1]], [[0, 0]]]
    columns = tf.ragged.stack([[1, 2], [3, 4]], axis=1)
    assert columns.numpy().tolist() == [[1, 3], [2, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rows along axis 0"):
        tf.stack([rows, tf.ragged.constant([[1]])], axis=1)


def test_ragged_ranges_and_masks_have_the_dtype_of_tensorflow():
    assert tf.ragged.range(3).to_list() == [[0, 1, 2]]
    assert tf.ragged.range([1.0, 2.0]).dtype == tf.float32
    assert tf.ragged.range([2, 0]).to_list() == [[0, 1], []]
    masked = tf.ragged.boolean_mask([["a", "b"]], [[True, False]])
    assert masked.to_list() == [[b"a"]]
    assert tf.ragged.boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist() == [
        1,
        3,
    ]
    rows = tf.ragged.constant([[1], [2, 3]])
    assert tf.ragged.boolean_mask(rows, [False, True]).to_list() == [[2, 3]]


def test_rows_that_do_not_cover_the_values_are_refused():
    for wrong in ([1, 2], [0, 1], [0, 3], [0, 2, 1, 2]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="row_splits"):
            tf.RaggedTensor.from_row_splits([1, 2], wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_splits"):
        tf.RaggedTensor.from_row_lengths([1, 2, 3], [1, 1])


def test_strings_of_several_dimensions_keep_them_when_they_are_split():
    words = [["a b", "c"], ["d", ""]]
    parts = [[[b"a", b"b"], [b"c"]], [[b"d"], []]]
    assert tf.strings.split(words).to_list() == parts
    assert tf.strings.split(tf.ragged.constant(words)).to_list() == parts
    rows = tf.ragged.constant([["ab"], ["c", ""]])
    letters = [[[b"a", b"b"]], [[b"c"], []]]
    assert tf.strings.unicode_split(rows, "UTF-8").to_list() == letters
    assert tf.strings.bytes_split(rows).to_list() == letters
    joined = tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=[0, 1])
    assert joined.numpy() == b"acbd"
    ds = tf.data.Dataset.from_tensors(words).map(tf.strings.split)
    assert [x.to_list() for x in ds] == [parts]


def test_a_list_of_one_value_for_each_row_is_an_operand():
    rows = tf.ragged.constant([[1, 2], [3]])
    assert (rows + [[10], [20]]).to_list() == [[11, 12], [23]]
    sparse = tf.sparse.from_dense([[0.0, 2.0]])
    assert (sparse * 2).values.numpy().tolist() == [4.0]
    assert (sparse / [[1, 4]]).values.numpy().tolist() == [0.5]
    assert int(tf.size(sparse)) == 2


def test_deep_rows_are_sparse_values():
    made = tf.ragged.constant([[["a", "b"], ["c"]], [], [["d"]]]).to_sparse()
    places = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [2, 0, 0]]
    assert made.indices.numpy().tolist() == places
    assert made.values.numpy().tolist() == [b"a", b"b", b"c", b"d"]
    assert made.dense_shape.numpy().tolist() == [3, 2, 2]
