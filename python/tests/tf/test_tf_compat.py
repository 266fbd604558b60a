"""What programs around a pipeline use: Examples built in place, names of
TensorFlow 1, devices, strategies, errors."""

from __future__ import annotations

import json
import pickle

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

Dataset = tf.data.Dataset


def test_features_are_made_when_they_are_asked_for():
    example = tf.train.Example()
    feature = example.features.feature
    feature["z"].int64_list.value.extend([1, np.int64(-2)])
    feature["f"].float_list.value.append(0.5)
    feature["s"].bytes_list.value.append(b"cat")
    feature["copy"].CopyFrom(feature["s"])
    assert "absent" not in feature
    assert feature.get("absent") is None
    assert feature["z"].WhichOneof("kind") == "int64_list"
    assert feature["z"].HasField("int64_list")
    assert not feature["z"].HasField("float_list")
    parsed = tf.train.Example.FromString(example.SerializeToString())
    assert parsed == example
    assert parsed.features.feature["z"].int64_list.value == [1, -2]
    assert parsed.features.feature["f"].float_list.value == [0.5]
    assert parsed.features.feature["copy"].bytes_list.value == [b"cat"]
    assert pickle.loads(pickle.dumps(example)) == example


def test_feature_lists_are_made_when_they_are_asked_for():
    record = tf.train.SequenceExample()
    record.context.feature["n"].int64_list.value.append(2)
    for word in (b"to", b"be"):
        step = record.feature_lists.feature_list["words"].feature.add()
        step.bytes_list.value.append(word)
    parsed = tf.train.SequenceExample.FromString(record.SerializeToString())
    assert parsed == record
    steps = parsed.feature_lists.feature_list["words"].feature
    assert [s.bytes_list.value for s in steps] == [[b"to"], [b"be"]]


def test_numbers_are_no_bytes_of_a_feature():
    with pytest.raises(TypeError, match="must be bytes, got 5"):
        tf.train.BytesList(value=[5])


def test_devices_without_tensorflow():
    assert [d.name for d in tf.config.list_physical_devices()] == [
        "/physical_device:CPU:0"
    ]
    assert tf.config.list_physical_devices("GPU") == []
    assert tf.config.experimental.list_physical_devices("GPU") == []
    assert tf.config.get_visible_devices("CPU")[0].device_type == "CPU"
    tf.config.set_visible_devices([], "GPU")
    tf.config.threading.set_inter_op_parallelism_threads(2)
    assert tf.config.threading.get_inter_op_parallelism_threads() == 2


def test_a_strategy_without_tensorflow_has_one_replica():
    strategy = tf.distribute.MirroredStrategy(["/gpu:0"])
    assert strategy.num_replicas_in_sync == 1
    with strategy.scope():
        ds = Dataset.range(4).batch(2 * strategy.num_replicas_in_sync)
    shared = strategy.experimental_distribute_dataset(ds)
    sums = [int(strategy.run(tf.reduce_sum, args=(b,))) for b in shared]
    assert sums == [1, 5]
    made = tf.distribute.get_strategy().distribute_datasets_from_function(
        lambda context: Dataset.range(4).shard(
            context.num_input_pipelines, context.input_pipeline_id
        )
    )
    assert len(list(made)) == 4


def test_names_of_tensorflow_1(tmp_path):
    v1 = tf.compat.v1
    v1.enable_eager_execution()
    it = v1.data.make_one_shot_iterator(v1.data.Dataset.range(2).map(lambda x: x + 1))
    assert [int(it.get_next()) for _ in range(2)] == [1, 2]
    with pytest.raises(v1.errors.OutOfRangeError):
        it.get_next()
    assert int(Dataset.range(3).make_one_shot_iterator().get_next()) == 0
    pairs = Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
    assert v1.data.get_output_types(pairs) == (tf.int32, tf.string)
    assert v1.data.get_output_shapes(pairs) == ([], [])
    path = str(tmp_path / "a.tfrecord")
    with v1.python_io.TFRecordWriter(path) as writer:
        writer.write(b"one")
    assert list(v1.python_io.tf_record_iterator(path)) == [b"one"]
    assert v1.cast is tf.cast
    assert v1.FixedLenFeature is tf.io.FixedLenFeature
    assert tf.compat.v2 is tf
    with pytest.raises(RuntimeError, match="iterate over the dataset"):
        v1.disable_v2_behavior()


def test_the_version_is_named():
    assert tf.version.VERSION == tf.__version__


def test_tensors_are_keys_by_reference():
    x = tf.constant([1, 2])
    for tensor in (x, tf.constant(3), tf.constant("a")):
        assert {tensor.ref(): 1}[tensor.ref()] == 1
        assert tensor.ref().deref() is tensor
    assert x.ref() != tf.constant([1, 2]).ref()


def test_specs_of_values():
    ragged = tf.ragged.constant([[1, 2], [3]])
    assert tf.type_spec_from_value(tf.constant("a")) == tf.TensorSpec([], tf.string)
    assert tf.type_spec_from_value(ragged) == tf.RaggedTensorSpec([2, None], tf.int32)
    sparse = tf.SparseTensor([[0, 1]], [5], [2, 2])
    assert tf.type_spec_from_value(sparse) == tf.SparseTensorSpec([2, 2], tf.int32)


def test_sparse_and_ragged_tensors_are_cast():
    sparse = tf.cast(tf.SparseTensor([[0, 1]], [5], [2, 2]), tf.float32)
    assert sparse.dtype == tf.float32
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[0, 5], [0, 0]]
    ragged = tf.cast(tf.ragged.constant([[1, 2], [3]]), tf.float64)
    assert ragged.dtype == tf.float64
    assert ragged.to_list() == [[1.0, 2.0], [3.0]]


def test_unique_gives_a_named_tuple():
    made = tf.unique([7, 5, 7])
    assert made.y.numpy().tolist() == [7, 5]
    assert made.idx.numpy().tolist() == [0, 1, 0]
    assert tf.unique_with_counts([7, 5, 7]).count.numpy().tolist() == [2, 1]


def test_tables_are_exported():
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], [5, 6]), default_value=-1
    )
    keys, values = table.export()
    assert keys.numpy().tolist() == [b"a", b"b"]
    assert values.numpy().tolist() == [5, 6]


def test_files_have_a_length(tmp_path):
    (tmp_path / "a").write_bytes(b"four")
    found = tf.io.gfile.stat(str(tmp_path / "a"))
    assert (found.length, found.is_directory) == (4, False)
    assert found.mtime_nsec > 0
    assert tf.io.gfile.stat(str(tmp_path)).is_directory
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.stat(str(tmp_path / "absent"))


def test_errors_say_what_tensorflows_say():
    with pytest.raises(tf.errors.OutOfRangeError) as caught:
        iter(Dataset.range(0)).get_next()
    assert caught.value.message == "End of sequence"
    assert caught.value.error_code == tf.errors.OUT_OF_RANGE
    assert caught.value.op is None
    assert caught.value.node_def is None
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        Dataset.range(3).batch(0)
    assert caught.value.error_code == tf.errors.INVALID_ARGUMENT


def test_errors_are_made_as_tensorflows_are():
    for error in (
        tf.errors.OutOfRangeError(None, None, "end"),
        tf.errors.NotFoundError(None, None, "end"),
        tf.errors.ResourceExhaustedError(node_def=None, op=None, message="end"),
        tf.errors.AbortedError("end"),
    ):
        assert error.message == str(error) == "end"
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert again.message == "end"


def test_items_that_do_not_fit_are_named_by_their_own_class():
    ds = Dataset.from_generator(
        lambda: ["a"], output_signature=tf.TensorSpec((), tf.int32)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected type") as caught:
        list(ds)
    assert "a value of type str" in str(caught.value)
    assert "_Misfit" not in str(caught.value)


def test_examples_print_in_the_text_format_of_protobuf():
    feature = tf.train.Feature
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "n": feature(int64_list=tf.train.Int64List(value=[1, -2])),
                "f": feature(float_list=tf.train.FloatList(value=[0.1, 2, 1e10])),
                "b": feature(bytes_list=tf.train.BytesList(value=[b'a"\x00\xff\n'])),
            }
        )
    )
    lines = str(example).splitlines()
    assert lines[:8] == [
        "features {", "  feature {", '    key: "b"', "    value {",
        "      bytes_list {", '        value: "a\\"\\000\\377\\n"', "      }", "    }",
    ]  # fmt: skip
    floats = [line.strip() for line in lines if "value: " in line][1:4]
    assert floats == ["value: 0.1", "value: 2", "value: 1e+10"]
    assert str(example.features.feature["n"]) == (
        "int64_list {\n  value: 1\n  value: -2\n}\n"
    )
    assert repr(example) == str(example)
    steps = tf.train.FeatureList(feature=[example.features.feature["n"]])
    record = tf.train.SequenceExample(
        feature_lists=tf.train.FeatureLists(feature_list={"s": steps})
    )
    assert str(record).startswith("feature_lists {\n  feature_list {\n    key: ")
    assert str(tf.train.Example()) == ""
    third = feature(float_list=tf.train.FloatList(value=[1 / 3]))
    assert "value: 0.333333343" in str(third)


def test_gfiles_have_what_tensorflows_have(tmp_path):
    gfile, path = tf.io.gfile, str(tmp_path / "a")
    with gfile.GFile(path, "w") as file:
        assert file.write("l1\né\n") == 5
        assert file.size() == 6
    with gfile.GFile(path, "rb") as file:
        assert isinstance(file, gfile.GFile)
        assert (file.name, file.mode, file.size()) == (path, "rb", 6)
        file.seek(3)
        assert file.read(2) == "é".encode()
        file.seek(position=0)
        assert (file.read(2), file.tell()) == (b"l1", 2)
    assert [line for line in gfile.GFile(path)] == ["l1\n", "é\n"]  # noqa: C416
    assert list(gfile.GFile(path)) == gfile.GFile(path).readlines()
    assert gfile.GFile(path).readline() == "l1\n"
    lines = iter(gfile.GFile(path))
    assert (next(lines), next(lines)) == ("l1\n", "é\n")
    assert json.load(gfile.GFile(_written(tmp_path / "j", "[1]"))) == [1]
    with gfile.GFile(str(tmp_path / "n"), "wb") as file:
        np.save(file, np.arange(3))
    assert np.load(gfile.GFile(str(tmp_path / "n"), "rb")).tolist() == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
        gfile.GFile(path, "x")
    with pytest.raises(tf.errors.PermissionDeniedError, match="reading"):
        gfile.GFile(path, "a").read()
    with pytest.raises(tf.errors.PermissionDeniedError, match="writing"):
        gfile.GFile(path).write("x")


def _written(path, text):
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "call",
    [
        lambda g, absent: g.GFile(absent),
        lambda g, absent: g.GFile(f"{absent}/b", "w"),
        lambda g, absent: g.listdir(absent),
        lambda g, absent: g.remove(absent),
        lambda g, absent: g.rmtree(absent),
        lambda g, absent: g.rename(absent, f"{absent}2"),
        lambda g, absent: g.copy(absent, f"{absent}2"),
        lambda g, absent: g.stat(absent),
        lambda g, absent: g.mkdir(f"{absent}/b"),
    ],
)
def test_gfile_says_that_files_are_absent(tmp_path, call):
    absent = str(tmp_path / "absent")
    with pytest.raises(tf.errors.NotFoundError, match="absent"):
        call(tf.io.gfile, absent)
    tf.io.gfile.mkdir(absent)
    tf.io.gfile.mkdir(absent)
    with pytest.raises(tf.errors.FailedPreconditionError, match="directory"):
        tf.io.gfile.remove(absent)


def test_gfile_of_tensorflow_1(tmp_path):
    gfile = tf.compat.v1.gfile
    gfile.MakeDirs(str(tmp_path / "a/b"))
    with gfile.FastGFile(str(tmp_path / "a/c"), "w") as file:
        file.write("x")
    assert sorted(gfile.ListDirectory(str(tmp_path / "a"))) == ["b", "c"]
    gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not gfile.Exists(str(tmp_path / "a"))


def test_steps_of_a_strategy_are_reduced():
    strategy = tf.distribute.get_strategy()
    ds = strategy.experimental_distribute_dataset(Dataset.range(4).batch(4))
    for x in ds:
        sums = strategy.run(tf.reduce_sum, args=(x,))
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)
        assert int(total) == 6
        assert int(strategy.reduce("SUM", x, axis=0)) == 6
        assert float(strategy.reduce("mean", tf.cast(x, tf.float32), axis=0)) == 1.5
    with pytest.raises(ValueError, match="PROD"):
        strategy.reduce("PROD", 1.0)
    assert tf.distribute.get_replica_context().num_replicas_in_sync == 1


def test_options_take_values_of_their_type():
    options = tf.data.Options()
    for owner, name, wrong in (
        (options, "deterministic", 3),
        (options, "threading", 3),
        (options, "experimental_slack", "yes"),
        (options.autotune, "enabled", "x"),
        (options.threading, "private_threadpool_size", "a"),
        (options.experimental_distribute, "auto_shard_policy", 1),
    ):
        with pytest.raises(TypeError, match=f'"{name}" must be of type'):
            setattr(owner, name, wrong)
    options.autotune.cpu_budget = np.int64(2)
    options.deterministic = None
    ds = Dataset.range(3).with_options(options)
    with pytest.raises(ValueError, match="with_options"):
        ds.options().autotune.cpu_budget = 4
    again = tf.data.Options()
    again.autotune.cpu_budget = 2
    assert ds.options() == again
    assert ds.with_options(again).options().autotune.cpu_budget == 2


def test_words_are_split_into_a_sparse_tensor():
    split = tf.compat.v1.string_split
    made = split(["a b  c", "", "d "])
    assert made.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2], [2, 0]]
    assert made.values.numpy().tolist() == [b"a", b"b", b"c", b"d"]
    assert made.dense_shape.numpy().tolist() == [3, 3]
    rows = split(["a b  c", "", "d "], skip_empty=False, result_type="RaggedTensor")
    assert rows.to_list() == [[b"a", b"b", b"", b"c"], [], [b"d", b""]]
    assert split(["a,b;c"], ",;").values.numpy().tolist() == [b"a", b"b", b"c"]
    assert split(["ab"], "").values.numpy().tolist() == [b"a", b"b"]
    ds = Dataset.from_tensor_slices(["a b", "c"]).map(lambda s: split([s]).values)
    assert [x.numpy().tolist() for x in ds] == [[b"a", b"b"], [b"c"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank 1"):
        split("a b")


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (tf.train.Int64List, 1.5),
        (tf.train.Int64List, np.float64(3.0)),
        (tf.train.Int64List, "1"),
        (tf.train.Int64List, None),
        (tf.train.FloatList, "1.5"),
        (tf.train.FloatList, None),
        (tf.train.BytesList, 5),
    ],
)
def test_lists_of_features_take_their_own_kind(kind, wrong):
    with pytest.raises(TypeError, match=kind.__name__):
        kind(value=[wrong])
    filled = kind()
    filled.value.append(wrong)
    with pytest.raises(TypeError, match=kind.__name__):
        str(filled)


def test_whole_numbers_of_features_are_kept():
    given = [True, np.bool_(True), np.uint8(7), tf.constant(3), 2**63 - 1, -(2**63)]
    made = tf.train.Int64List(value=given)
    assert list(made.value) == [1, 1, 7, 3, 2**63 - 1, -(2**63)]
    with pytest.raises(ValueError, match="out of range"):
        tf.train.Int64List(value=[2**63])
    with pytest.raises(TypeError, match="Feature"):
        tf.train.Feature(int64_list=5)
