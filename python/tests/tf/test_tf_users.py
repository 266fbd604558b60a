"""What pipelines of users showed to differ from TensorFlow."""

from __future__ import annotations

import collections
import sys
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import penstock.tf as tf
import pytest


def test_an_index_out_of_bounds_is_an_invalid_argument():
    it = iter(tf.data.Dataset.range(3).map(lambda i: tf.gather([1, 2], i)))
    assert [int(next(it)), int(next(it))] == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        next(it)
    with pytest.raises(tf.errors.OutOfRangeError):
        it.get_next()


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_resampled_classes_have_the_functions_dtype(dtype):
    ds = tf.data.Dataset.range(8).rejection_resample(
        lambda x: tf.cast(x % 2, dtype), [0.5, 0.5], [0.5, 0.5], seed=1
    )
    assert ds.element_spec[0] == tf.TensorSpec((), dtype)
    assert all(c.dtype == dtype for c, _ in ds)


def test_parsed_features_come_in_the_order_of_tensorflow():
    record = tf.train.Example(
        features=tf.train.Features(
            feature={
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
                for name in "abcd"
            }
        )
    ).SerializeToString()
    features = {
        "d": tf.io.FixedLenFeature([], tf.int64),
        "c": tf.io.RaggedFeature(tf.int64),
        "b": tf.io.FixedLenFeature([], tf.int64),
        "a": tf.io.VarLenFeature(tf.int64),
    }
    assert list(tf.io.parse_single_example(record, features)) == ["a", "b", "d", "c"]
    ds = tf.data.Dataset.from_tensors(record)
    ds = ds.map(lambda r: tf.io.parse_single_example(r, features))
    assert list(next(iter(ds))) == ["a", "b", "d", "c"]


def test_a_string_is_compared_with_every_one_of_a_list():
    label = tf.constant("dog")
    assert (label == ["cat", "dog"]).numpy().tolist() == [False, True]
    assert (label != ("cat", "dog")).numpy().tolist() == [True, False]
    assert (label + ["s", "gy"]).numpy().tolist() == [b"dogs", b"doggy"]
    ds = tf.data.Dataset.from_tensor_slices(["/d/cat/1.jpg", "/d/dog/2.jpg"])
    ds = ds.map(lambda p: tf.argmax(tf.strings.split(p, "/")[-2] == ["cat", "dog"]))
    assert [int(x) for x in ds] == [0, 1]


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (TypeError("t"), tf.errors.InvalidArgumentError),
        (RuntimeError("r"), tf.errors.UnknownError),
        (KeyError("k"), tf.errors.UnknownError),
        (NotImplementedError("n"), tf.errors.UnimplementedError),
        (MemoryError("m"), tf.errors.ResourceExhaustedError),
    ],
)
def test_the_error_of_a_generator_is_one_of_tensorflow_and_the_users(raised, kind):
    def items():
        yield 1
        raise raised

    def fails():
        raise raised

    spec = tf.TensorSpec((), tf.int32)
    it = iter(tf.data.Dataset.from_generator(items, output_signature=spec))
    assert int(next(it)) == 1
    with pytest.raises(kind) as caught:
        next(it)
    assert isinstance(caught.value, type(raised))
    with pytest.raises(kind):
        list(tf.data.Dataset.from_generator(fails, output_signature=spec))


def test_a_generator_that_is_none_is_an_invalid_argument():
    spec = tf.TensorSpec((), tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not iterable"):
        list(tf.data.Dataset.from_generator(lambda: 5, output_signature=spec))


def test_py_function_and_numpy_function_are_decorators_without_a_function():
    @tf.numpy_function(Tout=tf.int64)
    def twice(x):
        """Twice."""
        return x * 2

    @tf.py_function(Tout=tf.float32)
    def added(x, y):
        return x.numpy() * 2.0 + y.numpy()

    assert twice.__name__ == "twice"
    assert int(twice(tf.constant(4, tf.int64))) == 8
    assert float(added(tf.constant(3.0), tf.constant(1.0))) == 7
    ds = tf.data.Dataset.range(3)
    assert ds.map(twice).element_spec == tf.TensorSpec(None, tf.int64)
    assert [int(x) for x in ds.map(twice)] == [0, 2, 4]
    both = ds.map(lambda x: added(x, x))
    assert both.element_spec == tf.TensorSpec(None, tf.float32)
    assert [float(x) for x in both] == [0, 3, 6]
    with pytest.raises(TypeError, match="Tout"):
        tf.py_function()


def numpy_result(value, Tout):
    ds = tf.data.Dataset.range(1)
    return next(iter(ds.map(lambda x: tf.numpy_function(lambda _: value, [x], Tout))))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, tf.int64),
        (1.5, tf.float64),
        (True, tf.bool),
        ("s", tf.string),
        (b"s", tf.string),
        (np.array(["a", "b"]), tf.string),
        (np.float32(1), tf.float32),
        (np.zeros(2, np.uint8), tf.uint8),
        ([[1, 2]], tf.int64),
    ],
)
def test_a_numpy_function_gives_what_numpy_sees_in_its_result(value, dtype):
    assert numpy_result(value, dtype).dtype == dtype


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (np.float32(1), tf.int32, "0-th .* is float, but expects int32"),
        (1, tf.int32, "is int64, but expects int32"),
        (1.5, tf.float32, "is double, but expects float"),
        (True, tf.int64, "is bool, but expects int64"),
        ("s", tf.int64, "is string, but expects int64"),
        (b"s", tf.int64, "is string, but expects int64"),
        (np.zeros(2), tf.string, "is double, but expects string"),
        (None, tf.int64, "returns 0 values, but expects to see 1"),
        ([1, 2], tf.int64, "returns 2 values, but expects to see 1"),
        ((1, 2.0), [tf.int64, tf.float32], "1-th .* is double, but expects float"),
        ((1, None), [tf.int64, tf.int64], "1-th .* no tensor has: None"),
    ],
)
def test_a_numpy_function_of_another_dtype_is_an_invalid_argument(
    value, dtype, message
):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        numpy_result(value, dtype)


@pytest.mark.parametrize("value", [None, 1.5, "s"])
def test_a_py_function_without_the_promised_value_is_an_invalid_argument(value):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.py_function(lambda: value, [], tf.int32)


RAGGED = tf.RaggedTensorSpec([None, None], tf.int32)


def test_ragged_tensors_pass_through_a_py_function():
    rows = tf.ragged.constant([[1], [2, 3]])
    assert int(tf.py_function(lambda y: y.to_tensor().numpy().sum(), [rows], "int32"))
    twice = tf.py_function(lambda y: y * 2, [rows], RAGGED)
    assert twice.to_list() == [[2], [4, 6]]
    both = tf.py_function(lambda y: (y, 1.0), [rows], [RAGGED, tf.float32])
    assert both[0].to_list() == [[1], [2, 3]]
    assert float(both[1]) == 1
    ds = tf.data.Dataset.range(2).map(
        lambda x: tf.py_function(
            lambda n: tf.ragged.constant([[1], [2] * int(n)], dtype=tf.int32),
            [x],
            tf.RaggedTensorSpec([None, None], tf.int32),
        )
    )
    assert ds.element_spec == RAGGED
    assert [x.to_list() for x in ds] == [[[1], []], [[1], [2]]]
    named = tf.data.Dataset.range(2).map(
        lambda x: tf.py_function(lambda _: rows, [x], RAGGED)
    )
    assert named.element_spec == RAGGED
    assert [x.to_list() for x in named] == [rows.to_list()] * 2
    for value, Tout in (
        (rows, tf.int32),
        (rows, tf.RaggedTensorSpec([None, None], tf.float32)),
        (tf.constant([[1]]), RAGGED),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
            tf.py_function(lambda value=value: value, [], Tout)


def test_map_fn_takes_and_gives_ragged_tensors():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    row = tf.RaggedTensorSpec([None], tf.int32)
    sums = tf.map_fn(tf.reduce_sum, rows, fn_output_signature=tf.int32)
    assert sums.numpy().tolist() == [3, 0, 3]
    expected = [[2, 3], [], [4]]
    assert tf.map_fn(lambda x: x + 1, rows).to_list() == expected
    more = tf.map_fn(lambda x: x + 1, rows, fn_output_signature=row)
    assert more.to_list() == expected
    made = tf.map_fn(tf.range, tf.constant([3, 0, 2]), fn_output_signature=row)
    assert made.to_list() == [[0, 1, 2], [], [0, 1]]
    deep = tf.ragged.constant([[[1], [2, 3]], [[4]]])
    assert tf.map_fn(lambda x: x * 2, deep).to_list() == [[[2], [4, 6]], [[8]]]
    last = tf.map_fn(lambda x: tf.reduce_sum(x, axis=1), deep, fn_output_signature=row)
    assert last.to_list() == [[1, 5], [4]]
    parts, sizes = tf.map_fn(
        lambda x: (x, tf.size(x)), rows, fn_output_signature=(row, tf.int32)
    )
    assert parts.to_list() == rows.to_list()
    assert sizes.numpy().tolist() == [2, 0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
        tf.map_fn(tf.reduce_sum, rows)
    ds = tf.data.Dataset.from_tensors(rows).map(
        lambda x: tf.map_fn(lambda r: r + 1, x, fn_output_signature=row)
    )
    assert [x.to_list() for x in ds] == [expected]


def test_map_fn_gives_the_dtypes_of_its_signature():
    numbers = tf.constant([1, 2])
    ones = tf.map_fn(lambda _: 1, numbers, fn_output_signature=tf.float32)
    assert ones.dtype == tf.float32
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        tf.map_fn(lambda x: x, numbers, fn_output_signature=tf.float32)
    none = tf.map_fn(lambda x: x, tf.zeros([0]), fn_output_signature=tf.int32)
    assert none.dtype == tf.int32
    assert none.shape == (0,)
    words = tf.map_fn(
        lambda x: tf.strings.as_string(x), numbers, fn_output_signature=tf.string
    )
    assert words.numpy().tolist() == [b"1", b"2"]


def test_a_checkpoint_names_the_state_of_the_iterator(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # as if not installed
    with pytest.raises(AttributeError, match=r"state_dict\(\).*load_state_dict"):
        tf.train.Checkpoint(iterator=iter(tf.data.Dataset.range(3)))


def test_methods_of_resize_are_constants_of_a_traced_function():
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    ds = tf.data.Dataset.from_tensors(image)
    nearest = ds.map(
        lambda i: tf.image.resize(
            i, (2, 2), method=tf.image.ResizeMethod.NEAREST_NEIGHBOR
        )
    )
    assert nearest.element_spec == tf.TensorSpec((2, 2, 3), tf.uint8)
    assert nearest.explain().rstrip().endswith("native")
    np.testing.assert_array_equal(
        next(iter(nearest)), tf.image.resize(image, (2, 2), method="nearest")
    )
    bilinear = ds.map(
        lambda i: tf.image.resize(i, (2, 2), tf.image.ResizeMethod.BILINEAR)
    )
    assert bilinear.element_spec == tf.TensorSpec((2, 2, 3), tf.float32)


@pytest.mark.parametrize(
    "predicate", [lambda x: x, lambda x: 1, lambda x: tf.stack([x > 1])]
)
def test_a_predicate_of_no_truth_value_fails_when_the_graph_is_built(predicate):
    with pytest.raises(ValueError, match="must return a `tf.bool` scalar"):
        tf.data.Dataset.range(5).filter(predicate)


def test_predicates_that_run_as_python_are_not_judged_early():
    ds = tf.data.Dataset.range(5)
    odd = ds.filter(lambda x: tf.py_function(lambda y: y % 2 == 1, [x], tf.bool))
    assert [int(x) for x in odd] == [1, 3]
    assert [int(x) for x in ds.filter(lambda x: bool(x % 2 == 1))] == [1, 3]
    assert len(list(ds.filter(lambda x: True))) == 5


def test_numpy_iterators_give_arrays_of_ragged_and_sparse_values():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3]]))
    first, last = rows.batch(2).as_numpy_iterator()
    assert first.dtype == object
    assert [r.tolist() for r in first] == [[1, 2], []]
    assert last.tolist() == [[3]]
    sparse = tf.sparse.SparseTensor([[0, 1], [2, 0]], ["x", "y"], [3, 2])
    (dense,) = tf.data.Dataset.from_tensors(sparse).as_numpy_iterator()
    assert dense.tolist() == [[b"", b"x"], [b"", b""], [b"y", b""]]
    assert not dense.flags.writeable


def test_numpy_iterators_give_arrays_of_parsed_lists(examples):
    features = {"v": tf.io.VarLenFeature(tf.float32)}
    ds = tf.data.TFRecordDataset(examples)
    batched = ds.batch(3).map(lambda r: tf.io.parse_example(r, features))
    first = next(batched.as_numpy_iterator())["v"]
    assert first.tolist() == [[0.0, 0.0], [0.5, 0.0], [0.5, 0.5]]
    single = ds.skip(2).map(lambda r: tf.io.parse_single_example(r, features))
    assert next(single.as_numpy_iterator())["v"].tolist() == [0.5, 0.5]


def test_specs_of_ragged_and_sparse_values():
    rows = tf.ragged.constant([[1, 2], []])
    spec = tf.RaggedTensorSpec.from_value(rows)
    assert spec == tf.RaggedTensorSpec([2, None], tf.int32, 1)
    sparse = tf.sparse.SparseTensor([[0, 1]], [5], [3, 2])
    assert tf.SparseTensorSpec.from_value(sparse).shape == [3, 2]
    with pytest.raises(TypeError, match="RaggedTensorSpec"):
        tf.RaggedTensorSpec.from_value(sparse)
    assert "values=tf.Tensor([5], shape=(1,), dtype=int32)" in str(sparse)


def test_tensors_print_as_tensorflows_do():
    assert repr(tf.constant(0.1)).endswith("numpy=0.10000000149011612>")
    assert repr(tf.constant(1e10)).endswith("numpy=10000000000.0>")
    assert str(tf.constant([[1.0, 2.0]])).startswith("tf.Tensor([[1. 2.]], ")
    assert "numpy=array([[1., 2.]], dtype=float32)>" in repr(tf.constant([[1.0, 2.0]]))
    assert str(tf.zeros([2, 2])).startswith("tf.Tensor(\n[[0. 0.]\n")


def test_samples_of_endless_datasets_are_endless():
    odd = tf.data.Dataset.range(9).filter(lambda x: x % 2 == 1).repeat()
    ds = tf.data.Dataset.sample_from_datasets([odd, odd])
    assert int(ds.batch(2).cardinality()) == tf.data.INFINITE_CARDINALITY


def test_stateless_integers_of_all_values():
    made = tf.random.stateless_uniform([1000], (1, 2), None, None, tf.int32).numpy()
    assert made.dtype == np.int32
    assert made.min() < -(2**30) < 2**30 < made.max()


def test_names_of_files_are_strings():
    with pytest.raises(TypeError, match="filenames must be strings, got 5"):
        tf.data.TFRecordDataset(5)


def word_table(value_dtype=tf.int64):
    words = tf.lookup.KeyValueTensorInitializer(
        ["a", "b"], tf.constant([0, 1], value_dtype)
    )
    return tf.lookup.StaticHashTable(words, default_value=-1)


def test_tables_look_up_ragged_and_sparse_keys():
    table = word_table()
    init = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([0], tf.int64))
    buckets = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=1)
    rows = tf.ragged.constant([["a"], ["b", "z"], []])
    assert table.lookup(rows).to_list() == [[0], [1, -1], []]
    assert buckets[rows].to_list() == [[0], [1, 1], []]
    sparse = table.lookup(tf.sparse.from_dense([["b", "", "z"]]))
    assert sparse.indices.numpy().tolist() == [[0, 0], [0, 2]]
    assert sparse.values.numpy().tolist() == [1, -1]
    ds = tf.data.Dataset.from_tensor_slices(["a b", "z"]).batch(2)
    ds = ds.map(lambda s: table.lookup(tf.strings.split(s)))
    assert [x.to_list() for x in ds] == [[[0, 1], [-1]]]


def test_tables_that_change():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a", "b"]), [1, 2])
    table.insert("c", 3)
    table.remove(["a", "q"])
    assert int(table.size()) == 2
    assert table.lookup(tf.constant([["a", "c"]])).numpy().tolist() == [[-1, 3]]
    assert table.lookup(tf.ragged.constant([["b"], []])).to_list() == [[2], []]
    keys, values = table.export()
    assert sorted(zip(keys.numpy(), values.numpy())) == [(b"b", 2), (b"c", 3)]
    ds = tf.data.Dataset.from_tensor_slices(["b", "x"]).map(table.lookup)
    assert [int(x) for x in ds] == [2, -1]
    with pytest.raises(TypeError, match="keys"):
        table.lookup(tf.constant(1))
    rows = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.5])
    rows.insert([1], [[1.0, 2.0]])
    assert rows.lookup([1, 3]).numpy().tolist() == [[1.0, 2.0], [0.0, 0.5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        rows.insert([1], [2.0])
    dense = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, -1, empty_key=0, deleted_key=-9
    )
    dense.insert([7], [70])
    assert dense[[7, 8]].numpy().tolist() == [70, -1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
        dense.insert([0], [1])


def test_the_value_of_an_optional_is_a_tensor():
    optional = tf.experimental.Optional.from_value({"a": 1.0, "b": "x"})
    value = optional.get_value()
    assert value["a"].dtype == tf.float32
    assert value["b"].numpy() == b"x"


class Pair(NamedTuple):
    """A structure of the user's."""

    x: object
    y: object


def test_zip_keeps_named_tuples():
    sources = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9)
    ds = tf.data.Dataset.zip(Pair(*sources))
    assert ds.element_spec == Pair(*[tf.TensorSpec((), tf.int64)] * 2)
    assert [(int(p.x), int(p.y)) for p in ds] == [(0, 5), (1, 6)]
    assert [int(x) for x in ds.map(lambda pair: pair.x + pair.y)] == [5, 7]
    nested = next(iter(tf.data.Dataset.zip({"p": Pair(*sources)})))
    assert type(nested["p"]) is Pair


def test_ordered_dicts_are_traced():
    def named(x):
        made = collections.OrderedDict([("z", x), ("a", x * 2)])
        made["m"] = OrderedDict(q=x)
        made.move_to_end("z")
        return made

    ds = tf.data.Dataset.range(2).map(named)
    assert ds.explain().rstrip().endswith("native")
    assert list(ds.element_spec) == ["a", "m", "z"]
    first = next(iter(ds.skip(1)))
    assert [int(first["a"]), int(first["m"]["q"]), int(first["z"])] == [2, 1, 1]
    assert list(first) == ["a", "m", "z"]


def test_functions_of_numpy_give_numpys_values():
    image = tf.constant([[0.0, 0.5], [1.0, 0.25]])
    assert f"{np.min(image)} {np.max(image)}" == "0.0 1.0"
    assert type(np.mean(image)) is np.float32
    for made in (
        np.squeeze(image),
        np.transpose(image),
        np.concatenate([image, image]),
        np.stack((image, image)),
        np.where(image > 0.3, image, 0),
        np.clip(a=image, a_min=0, a_max=1),
    ):
        assert type(made) is np.ndarray
    assert tf.is_tensor(image + np.ones(2)) and tf.is_tensor(np.ones(2) + image)


def test_a_generators_numbers_are_converted_as_numpy_does():
    def items():
        yield 1.5, np.array([1.7, 300.0]), np.float64(1)
        yield "text", np.zeros(2), 0
        yield tf.constant(2.5), [3, 4], True

    ds = tf.data.Dataset.from_generator(
        items,
        output_signature=(
            tf.TensorSpec((), tf.int32),
            tf.TensorSpec((2,), tf.uint8),
            tf.TensorSpec((), tf.bool),
        ),
    )
    it = iter(ds)
    a, b, c = next(it)
    assert (int(a), b.numpy().tolist(), bool(c)) == (1, [1, 44], True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected type was int32"):
        next(it)
    assert int(next(it)[0]) == 2


def test_flags_of_a_dataset_are_features():
    ds = tf.data.Dataset.from_tensor_slices([True, False])
    lists = [tf.train.Int64List(value=[flag]) for flag in ds]
    assert [x.value for x in lists] == [[1], [0]]


def test_messages_that_do_not_fit_are_refused_where_they_are_given():
    numbers = tf.train.Int64List(value=[1])
    with pytest.raises(TypeError, match=r"feature\['a'\] must be a tf.train.Feature"):
        tf.train.Features(feature={"a": numbers})
    with pytest.raises(TypeError, match="features must be a tf.train.Features"):
        tf.train.Example(features={"a": numbers})
    with pytest.raises(TypeError, match="context must be a tf.train.Features"):
        tf.train.SequenceExample(context=numbers)


def test_a_padded_length_may_be_a_number():
    rows = tf.data.Dataset.range(1, 3).map(lambda x: tf.fill([x], x))
    ds = rows.padded_batch(2, padded_shapes=4)
    assert next(iter(ds)).numpy().tolist() == [[1, 0, 0, 0], [2, 2, 0, 0]]
    pairs = rows.map(lambda r: (r, {"n": r})).padded_batch(2, (3, {"n": [None]}))
    assert pairs.element_spec[0] == tf.TensorSpec([None, 3], tf.int64)


@pytest.mark.parametrize("check_types", [True, False])
def test_structures_of_other_types_are_a_type_error(check_types):
    same = tf.nest.assert_same_structure
    same({"a": 1}, OrderedDict(a=1), check_types)
    with pytest.raises(TypeError if check_types else ValueError):
        same([1], (1, 2), check_types)
    if not check_types:
        same([1, {"a": 2}], (1, {"b": 2}), check_types)


def test_ragged_and_sparse_values_are_tensors_that_have_a_name_of_their_own():
    rows = tf.ragged.constant([[1], [2, 3]])
    assert tf.is_tensor(rows) and not isinstance(rows, tf.Tensor)
    assert tf.is_tensor(tf.sparse.from_dense([1, 0]))
    pairs = tf.lookup.KeyValueTensorInitializer(["a"], [1])
    assert tf.lookup.StaticHashTable(pairs, -1, name="words").name == "words"


@pytest.mark.parametrize(
    "name, meant",
    [
        ("tf.reduce_summ", "did you mean tf.reduce_sum"),
        ("tf.io.parse_exemple", "did you mean tf.io.parse_example"),
        ("tf.FixedLenFeature", "did you mean tf.io.FixedLenFeature"),
        ("tf.random_uniform", "did you mean tf.random.uniform"),
        ("tf.log", "did you mean tf.math.log"),
        ("tf.to_float", r"use tf.cast\(x, tf.float32\)"),
        ("tf.compat.v1.placeholder", "nothing needs a session"),
        ("tf.profiler", "penstock.doctor"),
        ("tf.nn.dropout", "compute it with NumPy"),
    ],
)
def test_a_name_that_is_not_ours_says_what_to_do(name, meant, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(AttributeError, match=meant) as caught:
        eval(name)
    assert "Install tensorflow" in str(caught.value)


def test_an_optional_has_the_spec_of_its_value():
    spec = tf.TensorSpec((), tf.int32)
    assert tf.experimental.Optional.from_value(3).element_spec == spec
    assert tf.experimental.Optional.empty(spec).element_spec == spec
    it = iter(tf.data.Dataset.range(1))
    assert bool(it.get_next_as_optional().has_value())
    assert it.get_next_as_optional().element_spec == tf.TensorSpec((), tf.int64)
