"""The package as it is installed: types, stubs, wheel."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import penstock

PACKAGE = pathlib.Path(penstock.__file__).parent
ROOT = PACKAGE.parent.parent


def test_the_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / "_penstock.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-m", "penstock._penstock",
         "-o", str(made)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    assert made.read_text() == (PACKAGE / "_penstock.pyi").read_text(), (
        "python -m nanobind.stubgen -m penstock._penstock "
        "-o python/penstock/_penstock.pyi"
    )


def test_the_package_is_typed():
    pytest.importorskip("mypy")
    assert (PACKAGE / "py.typed").exists()
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_only_numpy_and_cloudpickle_are_needed():
    """Every module is imported where nothing else can be found."""
    program = """
import importlib, pkgutil, sys
allowed = {"numpy", "cloudpickle", "penstock"}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first not in sys.stdlib_module_names and first not in allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
import penstock
for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
    if not module.name.startswith("penstock.cli") and "__main__" not in module.name:
        importlib.import_module(module.name)
print("ok")
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path}{program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr


def wheels():
    return sorted((ROOT / "dist").glob("penstock-*.whl"))


@pytest.mark.skipif(
    not wheels() and "PENSTOCK_EXPECT_WHEEL" not in os.environ,
    reason="make wheel has not been run",
)
def test_the_wheel_runs_in_an_empty_venv(tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
         str(wheels()[-1])],
        check=True,
    )  # fmt: skip
    program = """
import importlib.metadata as m, penstock as ps
names = {d.metadata["Name"].lower() for d in m.distributions()}
assert names <= {"penstock", "numpy", "cloudpickle", "pip", "setuptools"}, names
ds = ps.Dataset.range(100).map(lambda x: x * 2).shuffle(10, seed=1).batch(10)
assert sorted(int(x) for b in ds for x in b) == list(range(0, 200, 2))
ds = ps.Dataset.range(10).map(lambda x: x + 1, executor="process")
assert [int(x) for x in ds] == list(range(1, 11))
import penstock.tf as tf
assert [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x + 1)] == [1, 2, 3]
ps.io.set_http_options(retries=0)
try:
    ps.Dataset.text_lines("http://127.0.0.1:1/x").to_list()
except ps.UnavailableError as e:
    assert "cannot load" not in str(e), e
assert "penstock.libs/libcurl" in open("/proc/self/maps").read()
print("ok")
"""
    done = subprocess.run(
        [python, "-c", program],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr
    shutil.rmtree(venv)
