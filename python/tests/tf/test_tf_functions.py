"""Functions give what TensorFlow gives: results kept from TensorFlow 2.21."""

from __future__ import annotations

import importlib.util
import inspect
import json
import pathlib

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
EXPECTED = json.loads((HERE / "functions.json").read_text())


def cases():
    file = ROOT / "tests" / "compare" / "fixed.py"
    spec = importlib.util.spec_from_file_location("penstock_fixed_cases", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASES


CASES = cases()


def shown(value):
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if hasattr(value, "to_list"):
        return {"ragged": texts(value.to_list())}
    if hasattr(value, "dense_shape"):
        return [shown(v) for v in (value.indices, value.values, value.dense_shape)]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if not hasattr(value, "dtype"):
        return texts(value)
    return {"dtype": value.dtype.name, "value": texts(value.tolist())}


def texts(value):
    if isinstance(value, list):
        return [texts(v) for v in value]
    return value.decode("latin-1") if isinstance(value, bytes) else value


def near(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


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
    got = shown(call(tf))
    assert near(got, expected), f"{source}: {got}, TensorFlow gave {expected}"
