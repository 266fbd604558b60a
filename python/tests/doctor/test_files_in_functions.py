"""Files that Python functions open: how many, how large, and who is looked at."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from penstock._doctor_files import Files

import penstock as ps
from penstock import _doctor_trials as trials

from . import test_counters as counters

ROWS = 200
BYTES = 3000
# np.load reads a buffer for the header, and the rest anew.
MOST_READ = 4096 + 2 * BYTES


def facts_of(ds, seconds=0.25):
    return counters.facts_of(ds, seconds)


@pytest.fixture(autouse=True)
def _no_fixes_are_tried(monkeypatch):
    monkeypatch.setattr(trials, "add_rest", lambda *_: None)


@pytest.fixture
def paths(tmp_path):
    """Arrays, each in a file of its own."""
    found = []
    for i in range(ROWS):
        found.append(str(tmp_path / f"{i}.npy"))
        np.save(found[-1], np.zeros(BYTES, np.uint8))
    return found


files = ps.Dataset.from_list


def with_open(path):
    with open(path, "rb") as file:
        return file.read()


def with_pathlib(path):
    return Path(path.decode()).read_bytes()


def with_numpy(path):
    return np.load(path.decode())


def without_a_header(path):
    return np.fromfile(path.decode(), np.uint8)


@pytest.mark.parametrize(
    "load", [with_open, with_pathlib, with_numpy, without_a_header]
)
def test_files_that_a_function_opens_are_counted(paths, load):
    stage = facts_of(files(paths).map(load, executor="thread").repeat())["stages"][1]
    assert stage["opens"] == stage["calls"] > 0
    assert BYTES <= stage["read_bytes"] / stage["opens"] < MOST_READ
    assert stage["reads"]
    assert 0 < stage["open_s"] < stage["busy_s"]


def test_files_that_a_function_in_a_worker_process_opens_are_counted(paths):
    ds = files(paths).map(with_numpy, executor="process")
    stage = facts_of(ds.repeat(), seconds=1.0)["stages"][1]  # they start meanwhile
    assert stage["opens"] == stage["calls"] > 0


def test_rows_of_an_object_that_opens_files_are_counted(paths):
    class Rows:
        def __len__(self):
            return len(paths)

        def __getitem__(self, i):
            return np.load(paths[i])

    stage = facts_of(ps.Dataset.from_indexable(Rows()).repeat())["stages"][0]
    assert stage["opens"] == stage["elements"] > 0
    assert BYTES <= stage["read_bytes"] / stage["opens"] < MOST_READ


def test_what_opening_takes_is_told_from_the_rest_of_the_call(paths):
    def load(path):
        time.sleep(0.002)
        return np.load(path.decode())

    stage = facts_of(files(paths).map(load, executor="thread").repeat())["stages"][1]
    assert stage["opens"] > 0
    assert stage["open_s"] < 0.5 * stage["busy_s"]


def test_what_the_profile_takes_is_not_opening():
    # Calls took twice the time under the profile, and open() of a library with them.
    seen = Files(calls=2, calls_s=2.0, profiled=2, profiled_s=4.0, opens=2)
    seen.open_s, seen.library_s = 0.2, 2.0
    assert seen.open_share() == pytest.approx(0.6)
    seen.profiled_s = 1.9  # not even slower
    seen.library_s = 1.0
    assert seen.open_share() == pytest.approx(0.6)


def test_an_own_function_of_that_name_is_no_library_s(paths):
    def load(path):
        time.sleep(0.002)
        return np.load(path)

    def loads(path):
        return load(path.decode())

    stage = facts_of(files(paths).map(loads, executor="thread").repeat())["stages"][1]
    assert stage["opens"] > 0
    assert stage["open_s"] < 0.5 * stage["busy_s"]


def test_no_profile_is_left_behind(paths):
    profiles = []

    def load(path):
        profiles.append(sys.getprofile())
        if len(profiles) % 7 == 0:
            raise ValueError("a damaged file")
        return np.load(path.decode())

    ds = files(paths).map(load, executor="thread", on_error="skip")
    facts_of(ds.repeat())
    assert any(profiles) and not sys.getprofile()
    assert not [p for p, q in zip(profiles, profiles[1:]) if p and q]


def test_functions_that_open_nothing_open_nothing():
    def computes(x):
        return sum(range(1000)) + x

    ds = ps.Dataset.range(10_000_000).map(computes, executor="thread")
    stage = facts_of(ds)["stages"][1]
    assert stage["opens"] == 0 and not stage["reads"]
