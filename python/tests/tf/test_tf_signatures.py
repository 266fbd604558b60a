"""Functions and methods take the arguments that TensorFlow 2.21's take."""

from __future__ import annotations

import json
import pathlib
import sys

import penstock.tf as tf  # noqa: PLR0402 (the line that users write)

HERE = pathlib.Path(__file__).parent
# The modules of the comparison that need no TensorFlow.
sys.path.insert(0, str(HERE.parents[2] / "tests" / "compare"))
import signatures  # noqa: E402

sys.path.pop(0)
EXPECTED = json.loads((HERE / "signatures.json").read_text())


def test_parameters_have_the_names_order_and_defaults_of_tensorflow():
    found = signatures.signatures(tf, EXPECTED)
    different = {
        name: (found.get(name), wanted)
        for name, wanted in EXPECTED.items()
        if not signatures.same(wanted, found.get(name) or [])
    }
    assert different == {}


def test_every_method_of_a_dataset_is_compared():
    methods = {n for n in EXPECTED if n.startswith("data.Dataset.")}
    assert len(methods) > 45
    assert {"data.Dataset.map", "data.Dataset.from_generator"} <= methods


def test_a_difference_is_seen():
    same = signatures.same
    assert same(["x", "axis=None"], ["x", "axis=None", "more=1"])
    assert not same(["x", "axis=None"], ["x", "dim=None"])
    assert not same(["x", "axis=None"], ["axis=None", "x"])
    assert not same(["x", "size=2"], ["x", "size=3"])
    assert not same(["x"], ["x", "y"])
