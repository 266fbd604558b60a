"""Fixes are pasted: what is printed must run, and must fit what was written."""

from __future__ import annotations

import numpy as np
import pytest
from penstock._doctor_facts import plan_of

import penstock as ps

R = ps.Dataset.range


def facts_of(ds, label):
    plan = plan_of(ds)
    return plan.stages[plan.number(label)].facts


def test_numbers_of_numpy_are_numbers():
    n = np.int64(1)
    assert facts_of(R(9).map(str, num_parallel_calls=n), "map#1")["parallel_calls"] == 1
    assert facts_of(R(9).prefetch(np.int32(0)), "prefetch#1")["prefetch"] == 0
    assert facts_of(R(9).shuffle(np.int64(4)), "shuffle#1")["window"] == 4
    assert facts_of(R(9).batch(np.int64(4)), "batch#1")["batch_size"] == 4
    assert facts_of(R(9).repeat(np.int64(4)), "repeat#1")["repeats"] == 4


def test_a_batch_is_written_with_its_other_arguments():
    ds = R(9).padded_batch(2, padded_shapes=(), drop_remainder=True, name="small")
    assert facts_of(ds, "padded_batch#1")["arguments"] == (
        ", padded_shapes=(), drop_remainder=True, name='small'"
    )
    assert facts_of(R(9).ragged_batch(2), "ragged_batch#1")["arguments"] == ""
    assert facts_of(R(9).batch(3).rebatch(1), "rebatch#2")["batch_size"] == 1


def test_only_finite_data_with_an_index_is_shuffled_by_it():
    assert facts_of(R(9).shuffle(2), "range#0")["indexed"]
    assert not facts_of(R(9).repeat().shuffle(2), "repeat#1")["indexed"]
    assert not facts_of(R(9).filter(lambda x: x > 2).shuffle(2), "filter#1")["indexed"]


def to_dict(a, b):
    return {"k": a, "v": b * 2}


def of_dict(d):
    return d["v"] + 1, d["k"]


def same_places(a, b):
    return a * 2, b


PREDICATES = [
    (to_dict, lambda d: d["k"] % 2 == 0, "lambda a, b: predicate({'k': a})"),
    (same_places, lambda a, b: b % 2 == 0, "predicate"),
    (lambda a, b: (b, a * 2), lambda b, a: b > 1, "lambda a, b: predicate(b, None)"),
]


@pytest.mark.parametrize(("fn", "predicate", "there"), PREDICATES)
def test_a_predicate_in_front_reads_what_the_map_is_given(fn, predicate, there):
    pairs = ps.Dataset.zip(R(8), R(8))
    late = pairs.map(fn).filter(predicate)
    assert facts_of(late, "filter#3")["filter_there"] == there
    early = pairs.filter(eval(there, {"predicate": predicate})).map(fn)
    assert early.to_list() == late.to_list()


def test_a_predicate_in_front_reads_the_keys_of_a_dict():
    dicts = ps.Dataset.from_tensor_slices({"k": np.arange(6), "v": np.arange(6)})

    def predicate(v, k):
        return k % 2 == 0

    late = dicts.map(of_dict).filter(predicate)
    there = facts_of(late, "filter#2")["filter_there"]
    assert there == "lambda d: predicate(None, d['k'])"
    early = dicts.filter(eval(there, {"predicate": predicate})).map(of_dict)
    assert early.to_list() == late.to_list()


def test_a_function_that_does_not_pickle_is_known():
    import threading

    lock = threading.Lock()

    def locked(x):
        with lock:
            return int(x)

    facts = facts_of(R(9).map(locked), "map#1")
    assert facts["pickles"] is False and "lock" in facts["stays"]
    assert facts_of(R(9).map(str), "map#1").get("pickles", True)


def test_a_branch_that_nothing_reads_is_named_by_its_zip():
    costly = R(9).map(lambda x: str(x), executor="thread")
    ds = ps.Dataset.zip(R(9), costly).map(lambda a, b: a + 1)
    facts = facts_of(ds, "zip#2[1].map#1")
    assert facts["unused_what"] == "branch 1"
    assert plan_of(ds).stages[facts["unused_in"]].label == "zip#2"
