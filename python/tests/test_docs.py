"""Every example in a docstring runs; every public name has one. What README.md and
docs/ show in Python runs, too."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import types
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(ps.__path__, "penstock.")
    if not name.split(".")[-1].startswith("__")
    and name not in ("penstock._penstock", "penstock._worker")
]


@pytest.mark.parametrize("name", ["penstock", *MODULES])
def test_examples_run(name):
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS
    )
    assert result.failed == 0


def public_things():
    for name in ps.__all__:
        thing = getattr(ps, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            yield name, thing
    for name, method in inspect.getmembers(ps.Dataset):
        if not name.startswith("_"):
            yield f"Dataset.{name}", method


def test_every_public_name_is_documented():
    bare = [n for n, thing in public_things() if not inspect.getdoc(thing)]
    assert bare == []


def test_every_method_of_dataset_has_an_example():
    bare = [
        name
        for name, thing in public_things()
        if name.startswith("Dataset.") and ">>>" not in (inspect.getdoc(thing) or "")
    ]
    assert bare == []


def snippets():
    root = Path(__file__).parents[2]
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        text = page.read_text()
        for found in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
            line = text.count("\n", 0, found.start()) + 1
            yield pytest.param(found[1], id=f"{page.name}:{line}")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    Path("data").mkdir()
    picture = np.random.default_rng(0).integers(0, 256, (300, 320, 3), np.uint8)
    for i in range(32):
        Path(f"photos/{i}.jpg").write_bytes(ps.image.encode_jpeg(picture))
    example = ps.io.serialize_example({"x": np.zeros(64, np.float32), "ids": [1, 2]})
    records = ps.Dataset.from_tensors(example).repeat(300)
    ps.io.write_tfrecord(records, "data/train-0")


@pytest.mark.parametrize("code", [*snippets()])
def test_snippets_run(code, data, monkeypatch):
    doctor = ps.doctor
    monkeypatch.setattr(
        ps, "doctor", lambda ds, **given: doctor(ds, **given | {"seconds": 0.2})
    )
    mine = types.SimpleNamespace(scale=lambda x, by: x * by)
    monkeypatch.setattr(ps, "load_op_library", lambda path: mine)
    ds = ps.Dataset.range(3000).map(lambda x: x + 1).batch(4)
    shown = {
        "ps": ps,
        "ds": ds,
        "it": iter(ds),
        "x": np.zeros((300, 4), np.float32),
        "y": np.arange(300),
        "augment": lambda row: row,
        "train": lambda batch: None,
        "train_step": lambda batch: None,
        "step": lambda *batch: None,
    }
    exec(code, shown)
