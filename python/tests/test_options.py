"""What `with_options` says, where, and which of several wins."""

import inspect
import pickle

import pytest

import penstock as ps


def fails_on_two(x):
    if x == 2:
        raise ValueError("two")
    return int(x)


def test_defaults_read_and_print_as_documented():
    options = ps.Options()
    assert options.deterministic is True and options.autotune is True
    assert options.on_error == "raise"
    assert "deterministic=True" in repr(options) and "on_error='raise'" in repr(options)
    parameters = str(inspect.signature(ps.Options))
    assert "deterministic: 'bool' = True" in parameters
    assert "on_error: 'ErrorPolicy' = 'raise'" in parameters
    given = ps.Options(deterministic=True, seed=3)
    assert given != ps.Options(seed=3) and given == pickle.loads(pickle.dumps(given))
    assert pickle.loads(pickle.dumps(options)) == options == ps.Options()


def test_the_outermost_value_that_was_given_wins():
    ds = ps.Dataset.range(4).map(fails_on_two, executor="thread")
    skipping = ds.with_options(ps.Options(on_error="skip"))
    assert skipping.to_list() == [0, 1, 3]
    with pytest.raises(ValueError, match="two"):
        skipping.with_options(ps.Options(on_error="raise")).to_list()
    assert skipping.with_options(ps.Options(seed=1)).to_list() == [0, 1, 3]


def test_an_explicit_order_wins_over_none():
    loose = ps.Dataset.range(8).map(fails_on_two, executor="thread")
    loose = loose.with_options(ps.Options(deterministic=False))
    assert "in any order" in loose.explain()
    assert "in any order" in loose.with_options(ps.Options(seed=1)).explain()
    ordered = loose.with_options(ps.Options(deterministic=True))
    assert "in any order" not in ordered.explain()
    assert ordered.fingerprint != loose.fingerprint


def test_no_order_holds_in_the_branch_that_says_so():
    part = ps.Dataset.range(8).map(fails_on_two, executor="thread")
    loose = part.with_options(ps.Options(deterministic=False))
    assert loose.concatenate(part).map(fails_on_two).explain().count("any order") == 0
    text = ps.Dataset.zip(loose, part).explain()
    assert text.count("any order") == 1
    both = ps.Dataset.zip(loose, part).with_options(ps.Options(deterministic=True))
    assert "any order" not in both.explain()
    assert both.fingerprint != ps.Dataset.zip(loose, part).fingerprint


def test_errors_are_skipped_in_the_branch_that_says_so():
    good = ps.Dataset.range(4).with_options(ps.Options(on_error="skip"))
    bad = ps.Dataset.range(4).map(fails_on_two, executor="thread")
    with pytest.raises(ValueError, match="two"):
        ps.Dataset.zip(good, bad).to_list()
    both = good.map(fails_on_two, executor="thread").concatenate(ps.Dataset.range(2))
    assert both.to_list() == [0, 1, 3, 0, 1]
    pairs = ps.Dataset.zip(good, bad).with_options(ps.Options(on_error="skip"))
    assert [tuple(map(int, pair)) for pair in pairs] == [(0, 0), (1, 1), (2, 3)]


def test_options_of_a_pipeline_that_ends_on_a_device():
    ds = ps.Dataset.range(4).map(fails_on_two, executor="thread")
    device = ds.prefetch_to_device(lambda x: x, name="gpu")
    skipping = device.with_options(ps.Options(on_error="skip"))
    assert skipping.to_list() == [0, 1, 3]
    assert "prefetch_to_device#3:gpu" in skipping.explain()
