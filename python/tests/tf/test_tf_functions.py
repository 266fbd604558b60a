"""Functions give what TensorFlow gives: results kept from TensorFlow 2.21."""

from __future__ import annotations

import importlib.util
import inspect
import json
import pathlib

import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
EXPECTED = json.loads((HERE / "functions.json").read_text())


def load(name):
    """A module of the comparison with TensorFlow, which needs no TensorFlow."""
    file = ROOT / "tests" / "compare" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"penstock_compare_{name}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = load("fixed").CASES
RESULTS = load("results")


def test_every_call_has_a_result():
    assert len(CASES) == len(EXPECTED)


@pytest.mark.parametrize("number", range(len(EXPECTED)))
def test_a_call_gives_what_tensorflow_gave(number):
    call, expected = CASES[number], EXPECTED[number]
    source = inspect.getsource(call).strip()
    if expected == "error":
        with pytest.raises(Exception):  # noqa: B017, PT011 (any will do)
            call(tf)
        return
    got = RESULTS.shown(call(tf))
    assert RESULTS.near(got, expected), f"{source}: {got}, TensorFlow gave {expected}"
