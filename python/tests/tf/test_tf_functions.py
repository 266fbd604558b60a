"""Functions give what TensorFlow gives: results kept from TensorFlow 2.21."""

from __future__ import annotations

import inspect
import json
import pathlib
import sys

import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
EXPECTED = json.loads((HERE / "functions.json").read_text())


# The modules of the comparison that need no TensorFlow.
sys.path.insert(0, str(ROOT / "tests" / "compare"))
from all_fixed import CASES  # noqa: E402
from results import near, shown  # noqa: E402

sys.path.pop(0)


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
