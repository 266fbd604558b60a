"""Every example in a docstring runs; every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

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
