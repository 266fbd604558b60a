"""A pipeline that gives no element is given up, and the report says so."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as ps

R = ps.Dataset.range


def asleep(x):
    time.sleep(3)
    return x


SILENT = {
    "a filter that drops all": R(10**15).filter(lambda x: x < 0),
    "calls that take too long": R(100).map(asleep, num_parallel_calls=1),
    "behind them a device": R(100).map(asleep).prefetch_to_device(lambda x: x),
}


@pytest.mark.flaky(reruns=2)
@pytest.mark.parametrize(
    ("ds", "where"),
    [
        (R(10**15).filter(lambda x: x < 0), "filter#1 works most"),
        (R(100).map(asleep, name="a"), "no call of map#1:a has come back"),
        (
            R(9).map(lambda x: x + 1).map(asleep).batch(2).prefetch_to_device(list),
            "no call of map#2 has come back",
        ),
        (
            ps.Dataset.zip(R(9), R(9).map(asleep)),
            "no call of zip#2[1].map#1 has come back",
        ),
    ],
)
def test_the_stage_that_nothing_comes_out_of_is_named(ds, where):
    report = ps.doctor(ds, seconds=0.5)
    assert where in report.verdict
    assert [s.label for s in report.stages if s.limiting] == [
        next(word for word in where.split() if "#" in word)
    ]


@pytest.mark.flaky(reruns=2)
@pytest.mark.parametrize("kind", SILENT)
def test_the_doctor_gives_up(kind):
    began = time.perf_counter()
    report = ps.doctor(SILENT[kind], seconds=0.5, verify=True)
    assert time.perf_counter() - began < 6
    assert report.bound == "pipeline" and not report.healthy
    assert "The pipeline is the limit: no element came in" in report.verdict
    assert ps.Report.from_json(report.to_json()) == report


def test_a_long_step_is_no_reason_to_give_up():
    report = ps.doctor(R(100), seconds=0.2, consumer=lambda x: time.sleep(1.6))
    assert report.elements and report.bound == "consumer"


@pytest.mark.flaky(reruns=2)
@pytest.mark.parametrize("all_of_them", [True, False])
def test_elements_that_fail_are_told(all_of_them):
    def bad(x):
        time.sleep(0.01)
        if all_of_them or x % 10 == 3:
            raise ValueError("what is wrong")
        return x

    report = ps.doctor(R(10_000).map(bad, num_parallel_calls=1), seconds=0.5)
    assert "the first with ValueError: what is wrong" in report.verdict
    assert " failed, " in report.verdict and report.verdict.endswith(".")
    assert report.bound in report.verdict
    if all_of_them:
        assert "no element came in" in report.verdict
        assert not report.healthy and not report.findings


@pytest.mark.parametrize("ds", [R(0), R(9).filter(lambda x: x > 10)])
def test_an_empty_dataset_is_said_to_be_empty(ds):
    report = ps.doctor(ds, seconds=0.3)
    assert report.verdict == "The pipeline gave no elements: the dataset is empty."
    assert report.bound == "pipeline" and report.healthy and not report.findings


@pytest.mark.flaky(reruns=2)
def test_a_report_from_json_answers_what_if():
    def costly(x):
        return np.sort(np.random.default_rng(7).normal(size=20_000))[:3] + x

    ds = R(200).map(costly).repeat().batch(8)
    report = ps.doctor(ds, seconds=1.0)
    again = ps.Report.from_json(report.to_json())
    change = {"map#1": {"num_parallel_calls": np.int64(1)}}
    assert ps.what_if(again, change) == ps.what_if(report, change)
    with pytest.raises(ps.InvalidArgumentError, match="no facts of a run"):
        ps.what_if(ps.Report("", "consumer", True, 1.0), change)


@pytest.mark.parametrize(
    ("stage", "change", "message"),
    [
        ("range#0", {"executor": "process"}, "range#0 calls no function"),
        ("range#0", {"num_parallel_calls": 2}, "range#0 makes no calls"),
        ("map#1", {"prefetch": 2}, "map#1 is no prefetch"),
        ("batch#2", {"executor": "thread"}, "batch#2 calls no function"),
    ],
)
def test_what_if_refuses_what_a_stage_cannot_take(stage, change, message):
    report = ps.doctor(R(100_000).map(lambda x: x + 1).batch(2), seconds=0.2)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.what_if(report, {stage: change})


def test_large_limits_keep_the_columns_of_the_table_apart():
    stage = ps.doctor(R(1000), seconds=0.2).stages[0]
    stage.ceiling = stage.rate = 6.7e10
    report = ps.Report("", "consumer", True, 1.0, stages=[stage])
    assert report._table()[1].split()[-1] == "6.700e+10"


@pytest.mark.flaky(reruns=2)
def test_a_fix_in_front_of_a_device_is_verified():
    def slow(x):
        time.sleep(0.004)
        return x

    ds = R(10**6).map(slow, num_parallel_calls=1).prefetch_to_device(lambda x: x)
    report = ps.doctor(ds, seconds=0.6, verify=True)
    assert report.findings[0].verified_speedup > 1.5


def test_what_is_cached_behind_a_repeat_is_verified_in_front_of_it():
    from penstock._what_if import cache_edits, repeat_before
    from penstock._what_if import changed as rebuilt

    repeat = R(3).repeat(2)
    ds = repeat.map(lambda x: x + 1)
    assert repeat_before(ds) is repeat
    made = rebuilt(ds, cache_edits(ds))
    assert made.to_list() == ds.to_list()
    assert [line.split("#")[0] for line in made.explain().splitlines()[:4]] == [
        "range",
        "map",
        "cache",
        "repeat",
    ]


def test_an_iterator_at_its_end_is_said_to_stand_still():
    with ps.Dataset.range(8).batch(4).iterator() as it:
        assert len(list(it)) == 2
        report = it.doctor(seconds=0.1)
    assert report.bound == "consumer" and report.healthy and report.unsure
    assert report.predicted_throughput is None
    assert "at its end" in report.verdict and "consumer" in report.verdict
    assert "0 elements/s" not in report.verdict


def test_a_consumer_that_takes_nothing_of_what_is_ready_is_the_limit():
    with ps.Dataset.range(10_000_000).batch(4).iterator() as it:
        next(it)
        report = it.doctor(seconds=0.1)
    assert report.bound == "consumer"
    assert "it took no element" in report.verdict
    assert "at its end" not in report.verdict


def test_a_next_that_waits_for_a_call_is_no_limit_of_the_consumer():
    going = threading.Event()

    def hangs(x):
        going.wait()
        return x

    with ps.Dataset.range(4).map(hangs, num_parallel_calls=1).iterator() as it:
        taker = threading.Thread(target=next, args=(it,))
        taker.start()
        try:
            report = it.doctor(seconds=0.2)
        finally:
            going.set()
            taker.join()
    assert report.bound == "pipeline" and not report.healthy
    assert "no call of map#1 has come back" in report.verdict
