"""Operations of one's own, built with cmake against the installed package."""

from __future__ import annotations

import pathlib
import pickle
import shutil
import subprocess

import numpy as np
import pytest

import penstock as ps

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cpp" / "own_op"


def build_tree():
    """A build of the library that can be installed from."""
    trees = [p.parent for p in ROOT.glob("build/*/libpenstock.a")]
    for tree in sorted(trees, key=lambda t: t.name != "release"):
        return tree
    return None


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    tree = build_tree()
    if tree is None or shutil.which("cmake") is None:
        pytest.skip("there is no build of the library to install")
    where = tmp_path_factory.mktemp("own_op")

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    run("cmake", "--install", str(tree), "--prefix", str(where / "prefix"))
    run(
        "cmake", "-S", str(EXAMPLE), "-B", str(where / "build"),
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={where / 'prefix'}",
    )  # fmt: skip
    run("cmake", "--build", str(where / "build"))
    return ps.load_op_library(where / "build" / "libown_op.so")


def test_operations_are_functions(library):
    assert dir(library) == ["clamp", "histogram", "pick"]
    got = library.clamp(np.arange(10).reshape(2, 5), low=2, high=7)
    assert got.tolist() == [[2, 2, 2, 3, 4], [5, 6, 7, 7, 7]]
    assert library.histogram(b"banana")[ord("a")] == 3
    with pytest.raises(AttributeError, match="has no operation 'nothing'"):
        _ = library.nothing


def test_traced_functions_call_them(library):
    ds = ps.Dataset.range(20).map(
        lambda x: library.clamp(x * 3, low=4, high=30) + 1, executor="native"
    )
    assert [int(x) for x in ds] == [min(max(3 * x, 4), 30) + 1 for x in range(20)]
    words = ps.Dataset.from_list(["aab", "", "b"])
    ds = words.map(lambda w: library.histogram(w), executor="native").batch(3)
    assert ds.element_spec == ps.TensorSpec((None, 256), ps.int32)
    assert next(iter(ds))[:, 97:99].tolist() == [[2, 1], [0, 0], [0, 1]]


def test_random_ones_are_keyed_to_the_element(library):
    def run(executor, workers):
        ds = ps.Dataset.range(50).map(
            lambda x: library.pick(ps.stack([x, -x, x * 100])),
            executor=executor,
            num_parallel_calls=workers,
        )
        return [int(x) for x in ds.with_options(ps.Options(seed=4))]

    first = run("native", 1)
    assert first == run("native", 4) == run("thread", 2)
    assert len({(v > 0) + 2 * (abs(v) >= 100) for v in first}) == 3


def test_mistakes_name_operation_and_element(library):
    with pytest.raises(ps.InvalidArgumentError, match=r"own\.histogram: text must be"):
        library.histogram(3)
    with pytest.raises(ps.InvalidArgumentError, match=r"own\.histogram: text must be"):
        ps.Dataset.range(3).map(lambda x: library.histogram(x), executor="native")
    ds = ps.Dataset.range(3).map(
        lambda x: library.clamp(x, low=9, high=1), executor="native", name="cut"
    )
    with pytest.raises(
        ps.InvalidArgumentError,
        match=r"map#1:cut: element 0: own\.clamp: low must be <= high, got 9 and 1",
    ):
        next(iter(ds))
    with pytest.raises(ps.InvalidArgumentError, match="another dtype"):
        library.clamp(np.float32(1))


def test_it_loads_twice_and_pickles(library):
    again = pickle.loads(pickle.dumps(library))
    assert again.clamp(np.int64(200), high=3) == 3
    ds = ps.Dataset.range(3).map(lambda x: library.clamp(x, low=1), executor="native")
    assert [int(x) for x in pickle.loads(pickle.dumps(ds))] == [1, 1, 2]


def test_other_libraries_are_refused(tmp_path):
    source = tmp_path / "other.cc"
    source.write_text('extern "C" int nothing() { return 0; }')
    path = tmp_path / "other.so"
    done = subprocess.run(
        ["c++", "-shared", "-fPIC", str(source), "-o", str(path)], check=False
    )
    if done.returncode != 0:
        pytest.skip("there is no compiler")
    with pytest.raises(ps.InvalidArgumentError, match=r"has no operations"):
        ps.load_op_library(path)
