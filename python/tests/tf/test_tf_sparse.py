"""Sparse and ragged tensors as elements of a pipeline."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

FEATURES = {
    "v": tf.io.VarLenFeature(tf.float32),
    "a": tf.io.FixedLenFeature([], tf.int64),
}


@pytest.fixture
def records(examples):
    return tf.data.TFRecordDataset(examples)


def shown(value):
    if isinstance(value, dict):
        return {k: shown(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(shown(v) for v in value)
    if isinstance(value, tf.SparseTensor):
        parts = value.indices, value.values, value.dense_shape
        return tuple(p.numpy().tolist() for p in parts)
    return value.numpy().tolist()


def test_parsed_lists_are_sparse_tensors_and_run_natively(records):
    ds = records.map(lambda r: tf.io.parse_single_example(r, FEATURES))
    assert ds.element_spec["v"] == tf.SparseTensorSpec([None], tf.float32)
    assert "native" in ds.explain()
    got = list(ds)
    assert all(isinstance(x["v"], tf.SparseTensor) for x in got)
    assert shown(got[2]) == {"v": ([[0], [1]], [0.5, 0.5], [2]), "a": 2}
    assert shown(got[0]["v"]) == ([], [], [0])


def test_batches_of_sparse_lists(records):
    ds = records.map(lambda r: tf.io.parse_single_example(r, FEATURES)).batch(2)
    assert ds.element_spec["v"] == tf.SparseTensorSpec([None, None], tf.float32)
    first, second, last = ds
    assert shown(first) == {"v": ([[1, 0]], [0.5], [2, 1]), "a": [0, 1]}
    assert shown(second["v"])[2] == [2, 3]
    assert shown(last["v"])[2] == [1, 4]
    dense = ds.map(lambda row: (tf.sparse.to_dense(row["v"], -1.0), row["a"]))
    assert "native" in dense.explain().splitlines()[-1]
    assert shown(list(dense)[1]) == ([[0.5, 0.5, -1.0], [0.5, 0.5, 0.5]], [2, 3])


def test_parsed_batches(records):
    ds = records.batch(3).map(lambda r: tf.io.parse_example(r, FEATURES))
    assert ds.element_spec["v"] == tf.SparseTensorSpec([None, None], tf.float32)
    first = next(iter(ds))
    assert shown(first["v"]) == ([[1, 0], [2, 0], [2, 1]], [0.5] * 3, [3, 2])
    dense = next(iter(ds.map(lambda row: tf.sparse.to_dense(row["v"]))))
    assert shown(dense) == [[0, 0], [0.5, 0], [0.5, 0.5]]


def test_sparse_tensors_of_any_rank_are_batched():
    def make(x):
        return tf.sparse.from_dense([[int(x), 0], [0, 7]]), x

    ds = tf.data.Dataset.from_tensors(make(1)).concatenate(
        tf.data.Dataset.from_tensors(make(2))
    )
    (batch,) = ds.batch(4)
    places = [[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    assert shown(batch) == ((places, [1, 7, 2, 7], [2, 2, 2]), [1, 2])
    assert tf.sparse.to_dense(batch[0]).shape == (2, 2, 2)


def test_a_signature_with_a_sparse_spec():
    def rows():
        yield tf.SparseTensor([[0, 1]], [5], [2, 2])

    signature = tf.SparseTensorSpec([2, 2], tf.int32)
    ds = tf.data.Dataset.from_generator(rows, output_signature=signature)
    assert ds.element_spec == tf.SparseTensorSpec([None, None], tf.int32)
    assert shown(next(iter(ds))) == ([[0, 1]], [5], [2, 2])


def test_slices_of_sparse_and_ragged_tensors():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    ds = tf.data.Dataset.from_tensor_slices(sparse)
    assert [shown(x) for x in ds] == [
        ([[1]], [5], [2]),
        ([], [], [2]),
        ([[0]], [6], [2]),
    ]
    ragged = tf.ragged.constant([[1, 2], [], [3]])
    ds = tf.data.Dataset.from_tensor_slices((ragged, [7, 8, 9]))
    assert [shown(x) for x in ds] == [([1, 2], 7), ([], 8), ([3], 9)]
    with pytest.raises(ValueError, match="one number of rows"):
        tf.data.Dataset.from_tensor_slices((ragged, [7, 8]))


def sequences():
    def steps(n):
        return [
            tf.train.Feature(int64_list=tf.train.Int64List(value=[i] * i))
            for i in range(n)
        ]

    def record(n):
        lists = {"s": tf.train.FeatureList(feature=steps(n))}
        context = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))}
        return tf.train.SequenceExample(
            context=tf.train.Features(feature=context),
            feature_lists=tf.train.FeatureLists(feature_list=lists),
        ).SerializeToString()

    return tf.data.Dataset.from_tensor_slices([record(n) for n in (2, 0, 3)])


CONTEXT = {"n": tf.io.FixedLenFeature([], tf.int64)}
STEPS = {"s": tf.io.VarLenFeature(tf.int64)}


def test_sequences_are_parsed_one_by_one_natively():
    ds = sequences().map(
        lambda r: tf.io.parse_single_sequence_example(r, CONTEXT, STEPS)
    )
    assert "native" in ds.explain()
    got = [(int(c["n"]), shown(s["s"])) for c, s in ds]
    assert got[0] == (2, ([[1, 0]], [1], [2, 1]))
    assert got[1] == (0, ([], [], [0, 0]))
    assert got[2][1][2] == [3, 2]


def test_batches_of_sequences():
    ds = sequences().batch(3)
    ds = ds.map(lambda r: tf.io.parse_sequence_example(r, CONTEXT, STEPS))
    ((context, steps, lengths),) = ds
    assert shown(context["n"]) == [2, 0, 3]
    assert shown(steps["s"]) == ([[0, 1, 0], [2, 1, 0], [2, 2, 0], [2, 2, 1]],
                                 [1, 1, 2, 2], [3, 3, 2])  # fmt: skip
    assert lengths == {}


def test_a_damaged_sequence_names_its_record():
    good = next(iter(sequences())).numpy()
    with pytest.raises(tf.errors.DataLossError, match="record 1 of the batch"):
        tf.io.parse_sequence_example([good, good[:-3]], None, STEPS)


def test_sparse_features_in_a_pipeline(examples):
    feature = tf.io.SparseFeature("a", "a", tf.int64, 5)
    ds = tf.data.TFRecordDataset(examples).batch(5)
    ds = ds.map(lambda r: tf.io.parse_example(r, {"x": feature})["x"])
    (batch,) = ds
    assert shown(tf.sparse.to_dense(batch))[3] == [0, 0, 0, 3, 0]


def test_rows_of_a_sparse_tensor_are_batched_to_one():
    whole = tf.sparse.SparseTensor([[0, 0], [1, 2], [1, 3]], [1, 2, 3], [2, 4])
    rows = tf.data.Dataset.from_tensor_slices(whole)
    (batch,) = rows.batch(2)
    assert batch.indices.numpy().tolist() == [[0, 0], [1, 2], [1, 3]]
    assert batch.values.numpy().tolist() == [1, 2, 3]
    assert batch.dense_shape.numpy().tolist() == [2, 4]
    (pair,) = tf.data.Dataset.zip((rows, tf.data.Dataset.range(2))).batch(2)
    assert tf.sparse.to_dense(pair[0]).numpy().tolist() == [[1, 0, 0, 0], [0, 0, 2, 3]]
    assert pair[1].numpy().tolist() == [0, 1]


def test_sparse_tensors_that_a_python_function_makes_are_batched():
    dense = tf.sparse.to_dense
    ds = tf.data.Dataset.range(3).map(lambda x: tf.SparseTensor([[x]], [1.0], [5]))
    assert ds.element_spec == tf.SparseTensorSpec([None], tf.float32)
    got = [dense(b).numpy().tolist() for b in ds.batch(2)]
    rows = np.eye(3, 5, dtype=np.float32)
    assert got == [rows[:2].tolist(), rows[2:].tolist()]
    made = tf.data.Dataset.from_tensor_slices(rows).map(tf.sparse.from_dense)
    assert [dense(b).numpy().tolist() for b in made.batch(2)] == got
    named = tf.data.Dataset.from_tensor_slices(rows).map(
        lambda x: {"sparse": tf.sparse.from_dense(x), "dense": x}
    )
    assert named.element_spec == {
        "sparse": tf.SparseTensorSpec([None], tf.float32),
        "dense": tf.TensorSpec([5], tf.float32),
    }
    for batch in named.batch(2):
        np.testing.assert_array_equal(dense(batch["sparse"]), batch["dense"])
