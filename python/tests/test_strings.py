"""ps.strings on values and in traced functions."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

WORDS = np.array([b"  Cat ", b"dog", b"", "mäus".encode(), b"7"], object)
FUNCTIONS = {
    "length": lambda x: ps.strings.length(x),
    "characters": lambda x: ps.strings.length(x, unit="UTF8_CHAR"),
    "lower": lambda x: ps.strings.lower(x),
    "upper": lambda x: ps.strings.upper(x),
    "strip": lambda x: ps.strings.strip(x),
    "substr": lambda x: ps.strings.substr(ps.strings.join([x, "abcd"]), -3, 2),
    "join": lambda x: ps.strings.join(["<", x, ">"], separator="-"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_strings_batches_and_traced_ones_agree(name):
    fn = FUNCTIONS[name]
    single = [fn(w) for w in WORDS]
    assert fn(WORDS).tolist() == single
    ds = ps.Dataset.from_tensor_slices(WORDS)
    assert ds.map(fn, executor="native").to_list() == single
    batch = next(iter(ds.batch(5).map(fn, executor="native")))
    assert batch.tolist() == single


def test_what_they_give():
    assert ps.strings.length(WORDS).tolist() == [6, 3, 0, 5, 1]
    assert ps.strings.length(WORDS, "UTF8_CHAR").tolist() == [6, 3, 0, 4, 1]
    assert ps.strings.strip(WORDS)[0] == b"Cat"
    assert ps.strings.substr("hello", 1, 99) == b"ello"
    with pytest.raises(ps.InvalidArgumentError, match="pos 9 is out of range"):
        ps.strings.substr("hello", 9, 1)


def test_numbers():
    assert ps.strings.to_number("12", ps.int64) == 12
    assert ps.strings.to_number(["1e3", "-.5"]).tolist() == [1000, -0.5]
    ds = ps.Dataset.from_list(["1", "two", "3"]).map(
        lambda x: ps.strings.to_number(x, ps.int32), executor="native"
    )
    it = iter(ds)
    assert next(it) == 1
    with pytest.raises(ps.InvalidArgumentError, match=r"to_number: 'two'"):
        next(it)
    assert next(it) == 3


def test_the_label_of_a_path():
    classes = ("cat", "dog", "eel")
    paths = [f"data/{c}/{i}.jpg" for i, c in enumerate(("dog", "eel", "cat"))]

    def label(path):
        parts = ps.strings.split(path, "/")
        return ps.stack([parts[-2] == c.encode() for c in classes]).argmax()

    # str.encode is not ours to trace: constants are made outside.
    names = tuple(c.encode() for c in classes)

    def traced(path):
        parts = ps.strings.split(path, "/")
        return ps.stack([parts[-2] == name for name in names]).argmax()

    ds = ps.Dataset.from_list(paths)
    assert [int(x) for x in ds.map(traced, executor="native")] == [1, 2, 0]
    assert [int(x) for x in ds.map(label)] == [1, 2, 0]


def test_batches_split_to_ragged_values():
    ds = ps.Dataset.from_list(["a b", "c", ""]).batch(3)
    ragged = next(iter(ds.map(lambda x: ps.strings.split(x), executor="native")))
    assert ragged.to_list() == [[b"a", b"b"], [b"c"], []]
    assert ps.strings.split("a,,b", ",").tolist() == [b"a", b"", b"b"]


def test_a_str_is_never_equal_to_bytes_so_it_is_refused():
    ds = ps.Dataset.from_list(["a"])
    with pytest.raises(ps.InvalidArgumentError, match="anything but bytes"):
        ds.map(lambda x: x == "a", executor="native")
    assert ds.map(lambda x: x == b"a", executor="native").to_list() == [True]
    assert ds.map(lambda x: x != b"a", executor="native").to_list() == [False]
