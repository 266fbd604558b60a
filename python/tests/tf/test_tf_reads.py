"""Functions read modules, text and objects, and run natively all the same."""

from __future__ import annotations

import argparse
import os
import sys
import types

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

NAMES = np.array(["cat", "dog"])
PATHS = ["/d/cat/1.png", "/d/dog/2.png"]


def paths():
    return tf.data.Dataset.from_tensor_slices(PATHS)


def executor(ds):
    return list(ds._penstock_value._functions.values())[-1].executor


def values(ds):
    return [np.asarray(v).tolist() for v in ds.as_numpy_iterator()]


@pytest.mark.parametrize(
    "names",
    [NAMES, list(NAMES), tuple(NAMES), tf.constant(NAMES), NAMES.astype("S")],
    ids=["array", "list", "tuple", "tensor", "bytes"],
)
def test_a_folders_name_is_compared_with_the_classes_natively(names):
    ds = paths().map(lambda p: tf.strings.split(p, os.path.sep)[-2] == names)
    assert executor(ds) == "native"
    assert ds.element_spec == tf.TensorSpec((2,), tf.bool)
    assert values(ds) == [[True, False], [False, True]]
    labels = paths().map(lambda p: tf.argmax(names == tf.strings.split(p, "/")[-2]))
    if not isinstance(names, np.ndarray):
        assert executor(labels) == "native"
    assert values(labels) == [0, 1]


def test_strings_are_joined_by_plus_natively():
    ds = paths().map(lambda p: "file:" + p + b".bak")
    assert executor(ds) == "native"
    assert list(ds.as_numpy_iterator())[0] == b"file:/d/cat/1.png.bak"
    parts = paths().map(lambda p: tf.strings.split(p, "/") + ";")
    assert executor(parts) == "native"
    assert next(iter(parts)).numpy().tolist() == [b";", b"d;", b"cat;", b"1.png;"]


def test_text_is_a_result():
    ds = paths().map(lambda p: {"path": p, "source": "disk"})
    assert executor(ds) == "native"
    assert ds.element_spec["source"] == tf.TensorSpec((), tf.string)
    assert next(iter(ds))["source"].numpy() == b"disk"
    several = paths().map(lambda p: (p, ["a", "b"]))
    assert next(iter(several))[1].numpy().tolist() == [b"a", b"b"]


@pytest.fixture
def settings(monkeypatch):
    module = types.ModuleType("settings")
    module.__file__ = "/home/me/settings.py"
    module.SIZE = 3
    exec("def scaled(x):\n    return x * SIZE\n", vars(module))
    monkeypatch.setitem(sys.modules, "settings", module)
    monkeypatch.setitem(globals(), "settings", module)
    return module


def test_a_module_of_the_user_is_read(settings):
    ds = tf.data.Dataset.range(3).map(lambda x: settings.scaled(x) + settings.SIZE)
    assert executor(ds) == "native"
    assert values(ds) == [3, 6, 9]


def test_functions_of_libraries_are_not_looked_into():
    ds = tf.data.Dataset.range(2).map(lambda x: os.path.getsize("/"))
    assert executor(ds) == "thread"
    assert "calls posixpath.getsize" in ds.explain() or "os.path" in ds.explain()


class Loader:
    step = 10

    def __init__(self):
        self.names = NAMES
        self.offset = 1
        self.calls = 0

    @property
    def double(self):
        return self.offset * 2

    @staticmethod
    def folder(path):
        return tf.strings.split(path, "/")[-2]

    def label(self, path):
        return tf.argmax(self.folder(path) == self.names) + self.double + self.step

    def __call__(self, path):
        return self.label(path)

    def counted(self, path):
        self.calls += 1
        return tf.strings.length(path)


def test_methods_and_callable_objects_run_natively():
    loader = Loader()
    for fn in (loader.label, loader, lambda p: loader.label(p)):
        ds = paths().map(fn)
        assert executor(ds) == "native"
        assert ds.element_spec == tf.TensorSpec((), tf.int64)
        assert values(ds) == [12, 13]


def test_a_method_that_writes_its_object_is_called_for_every_element():
    loader = Loader()
    ds = paths().map(loader.counted)
    assert executor(ds) == "thread"
    assert values(ds) == [12, 12]
    assert loader.calls == 2


def test_arguments_of_a_program_are_read():
    args = argparse.Namespace(size=4)
    ds = tf.data.Dataset.range(2).map(lambda x: x * args.size)
    assert executor(ds) == "native"
    args.size = 5  # read when the graph is built, as TensorFlow does
    assert values(ds) == [0, 4]


def test_an_object_that_makes_its_attributes_is_left_to_python():
    class Lazy:
        def __getattr__(self, name):
            return 7

    lazy = Lazy()
    ds = tf.data.Dataset.range(2).map(lambda x: x * lazy.size)
    assert executor(ds) == "thread"
    assert values(ds) == [0, 7]


def test_the_spec_of_a_method_that_calls_python_is_known():
    class Reader:
        def read(self, path):
            return len(path.numpy())

        def parse(self, path):
            size = tf.py_function(self.read, [path], tf.int64)
            size.set_shape(())
            return path, size

    ds = paths().map(Reader().parse)
    assert ds.element_spec == (
        tf.TensorSpec((), tf.string),
        tf.TensorSpec((), tf.int64),
    )
    assert [int(n) for _, n in ds] == [12, 12]


def test_scopes_are_native():
    def scaled(x):
        with tf.name_scope("scaled"), tf.device("/cpu:0"):
            x = x * 2
        with tf.control_dependencies([x]):
            return tf.identity(x)

    ds = tf.data.Dataset.range(3).map(scaled)
    assert executor(ds) == "native"
    assert values(ds) == [0, 2, 4]


def test_other_with_statements_run_as_python(tmp_path):
    def read(x):
        with open(tmp_path / "n") as file:
            return x + int(file.read())

    (tmp_path / "n").write_text("5")
    ds = tf.data.Dataset.range(2).map(read)
    assert executor(ds) == "thread"
    assert values(ds) == [5, 6]


def test_a_try_statement_is_refused():
    def careful(x):
        try:
            return x * 2
        finally:
            pass

    def caught(x):
        try:
            return x * 2
        except ValueError:
            return x

    ds = tf.data.Dataset.range(2).map(caught)
    assert executor(ds) == "thread"
    assert "try" in ds.explain()
    assert values(tf.data.Dataset.range(2).map(careful)) == [0, 2]
