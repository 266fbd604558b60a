"""What a restored iterator must not lose."""

from __future__ import annotations

import pathlib

import pytest

import penstock as ps


def _lines(path: pathlib.Path, name: str) -> str:
    path.write_text("".join(f"{name}{i}\n" for i in range(20)))
    return str(path)


@pytest.mark.parametrize("taken", [1, 3, 7])
@pytest.mark.parametrize("kind", ["shuffle", "filtered", "unique", "windows"])
def test_a_file_that_is_gone_is_an_error_of_the_restore(tmp_path, kind, taken):
    first = _lines(tmp_path / "a", "a")
    ds = ps.Dataset.text_lines([first, _lines(tmp_path / "b", "b")])
    if kind == "shuffle":
        ds = ds.shuffle(5, seed=1)
    elif kind == "filtered":
        ds = ds.filter(lambda x: x != b"").shuffle(5, seed=1)
    elif kind == "unique":
        ds = ds.unique()
    else:
        ds = ds.group_by_window(lambda x: 0, lambda _, w: w.batch(3), 3)
    with ds.iterator() as it:
        for _ in range(taken):
            next(it)
        state = it.state_dict()
        rest = [str(x) for x in it]
    pathlib.Path(first).rename(first + "x")
    with ds.iterator(state=state) as it:
        try:
            assert [str(x) for x in it] == rest  # nothing more was to be read
        except ps.NotFoundError as error:
            assert first in str(error)
            if taken > 1:  # or else the window has it in place of an element
                assert list(it) == []  # what follows is not what followed then
                assert it.state_dict() == state
    pathlib.Path(first + "x").rename(first)
    with ds.iterator(state=state) as it:
        assert [str(x) for x in it] == rest


def test_an_error_that_was_seen_does_not_come_again(tmp_path):
    names = [str(tmp_path / "none"), _lines(tmp_path / "b", "b")]
    ds = ps.Dataset.from_list(names).flat_map(lambda x: ps.Dataset.text_lines(x))
    with ds.shuffle(5, seed=1).iterator() as it:
        seen = 0
        while seen == 0:
            try:
                next(it)
            except ps.NotFoundError:
                seen = 1
        next(it)
        state = it.state_dict()
        rest = list(it)
    with ds.shuffle(5, seed=1).iterator(state=state) as it:
        assert list(it) == rest


def test_a_cache_that_is_being_written_is_restored_in_place(tmp_path):
    ds = ps.Dataset.range(50).filter(lambda x: x >= 0).cache(str(tmp_path / "c"))
    with ds.iterator() as it:
        it.load_state_dict(it.state_dict())
        next(it)
        state = it.state_dict()
        next(it)
        it.load_state_dict(state)
        assert [int(x) for x in it] == list(range(1, 50))


def test_a_restore_beside_the_writer_of_its_cache_is_an_error(tmp_path):
    large = ps.Dataset.range(10**9).filter(lambda x: x >= 0)  # is not all ahead
    ds = large.cache(str(tmp_path / "c"))
    with ds.iterator() as it:
        next(it)
        with (
            ds.iterator(state=it.state_dict()) as other,
            pytest.raises(ps.AlreadyExistsError),
        ):
            next(other)


def test_a_state_that_is_refused_leaves_the_iterator_as_it_was():
    it = iter(ps.Dataset.range(5))
    next(it)
    other = iter(ps.Dataset.range(6))
    with pytest.raises(ps.FailedPreconditionError):
        it.load_state_dict(other.state_dict())
    assert [int(x) for x in it] == [1, 2, 3, 4]
