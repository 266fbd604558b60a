"""The loop that takes elements, turns of pipelines, and how trials fill caches."""

from __future__ import annotations

import time

import numpy as np
import pytest
from penstock._doctor_facts import plan_of
from penstock._doctor_loop import Loop, Taken, in_turns, take

import penstock as ps
from penstock import _doctor_loop, _doctor_trials

from . import work

# What is measured here, others on the machine may disturb.
pytestmark = pytest.mark.flaky(reruns=2)

R = ps.Dataset.range


def loop_of(ds, consumer=None):
    return Loop(ds, plan_of(ds), consumer)


def soon(seconds=0.03):
    return time.perf_counter() + seconds


def test_data_that_ends_is_begun_again_and_every_pass_is_counted():
    loop = loop_of(R(10).map(lambda x: x + 1))
    assert loop.run(soon())
    assert loop.passes > 1 and loop.restart_s > 0
    assert 10 * (loop.passes - 1) <= loop.taken <= 10 * loop.passes
    counted = loop.end().stages["map#1"]["elements"]
    assert loop.taken <= counted <= 10 * loop.passes
    loop.close()


def test_what_went_before_is_not_counted():
    loop = loop_of(R(1 << 40).batch(64))
    loop.run(soon())
    loop.begin()
    assert (loop.taken, loop.passes, loop.restart_s, loop.wait_s) == (0, 1, 0, 0)
    loop.run(soon())
    assert loop.taken > 0
    assert loop.end().totals["elements"] == loop.taken
    loop.close()


def test_a_pass_that_began_before_counting_may_end_without_an_element():
    # Elements of the pass were taken, so that its end is not the end of all.
    loop = loop_of(R(3))
    for _ in range(3):
        loop._next()
    loop.taken = 3
    loop.begin()
    assert loop.run(soon())
    assert loop.taken > 0
    loop.close()


def test_every_pass_is_iteration_0():
    firsts = []
    loop = loop_of(R(100).shuffle(100, seed=7), lambda x: firsts.append(int(x)))
    loop.run(soon(0.1))
    loop.close()
    assert len(firsts) > 200
    assert firsts[:100] == firsts[100:200]


def test_a_step_is_the_consumers_time():
    loop = loop_of(R(1 << 40), lambda x: time.sleep(0.002))
    loop.run(soon(0.05))
    loop.close()
    assert loop.taken == len(loop.steps)
    assert loop.think_s >= 0.002 * loop.taken
    assert loop.think_cpu_s < loop.think_s


def test_errors_are_passed_over_unless_there_is_nothing_else():
    def odd(x):
        if x % 2:
            raise ValueError("odd")
        return x

    loop = loop_of(R(20).map(odd, executor="thread"))
    assert loop.run(soon(0.1))
    assert loop.errors > 5 and loop.taken > 5
    loop.close()

    loop = loop_of(R(1 << 40).map(odd, executor="thread"))
    while loop.errors <= 2000:
        loop.run(soon(0.1))
    loop.begin()
    assert loop.run(soon())  # there was something else, before it counted
    loop.close()

    def never(x):
        raise ValueError("never")

    loop = loop_of(R(5).map(never, executor="thread"))
    with pytest.raises(ValueError, match="never"):
        loop.run(soon(20))
    loop.close()


def test_without_elements_there_is_nothing_to_compare():
    loop = loop_of(R(0))
    assert not loop.run(soon())
    assert not loop.settle(0.01, 0.01)
    loop.close()
    assert take(R(0), 0.01, 0.01).elements == 0
    assert in_turns([R(10).repeat(), R(0)], 0.01, 0.01) is None


def test_a_run_without_a_core_is_no_empty_dataset(monkeypatch):
    run = Loop.run
    late = iter([False, False, True])  # the span is over before it began

    def starved(self, until):
        return run(self, 0.0 if next(late, False) else until)

    monkeypatch.setattr(Loop, "run", starved)
    assert take(R(1 << 40), 0.01, 0.01).elements > 0
    assert next(late, None) is None


def turns_of(monkeypatch, times):
    """`in_turns` of runs that took these times, and whose turn it was."""
    order = []
    left = {name: iter(values) for name, values in times.items()}

    def taken(ds, span_s, warm_s, consumer):
        order.append(ds)
        assert (span_s, warm_s, consumer) == (0.2, 0.5, print)
        return Taken(10, float(next(left[ds])), 1.0)

    monkeypatch.setattr(_doctor_loop, "take", taken)
    found = in_turns(list(times), 0.2, 0.5, print, turns=(5, 7))
    return [pytest.approx(10 * run.wall_s / run.elements) for run in found], order


def test_pipelines_take_turns_and_the_middle_half_counts(monkeypatch):
    times = {"a": [3.1, 3.0, 3.2, 3.1, 3.1], "b": [31, 30, 32, 31, 930]}
    usual, order = turns_of(monkeypatch, times)
    assert order == ["a", "b"] * 5
    assert usual == [3.1, 31]


def test_turns_of_a_machine_that_got_slower_are_compared_each_by_itself(monkeypatch):
    speeds = [1, 1, 1, 2, 2, 2, 2]
    times = {"a": [3 * s for s in speeds], "b": [30 * s for s in speeds]}
    usual, _ = turns_of(monkeypatch, times)
    assert usual[1] == 10 * usual[0].expected


def test_runs_that_differ_take_more_turns(monkeypatch):
    times = {"a": [3, 9, 2, 5, 6, 1, 4], "b": [30, 90, 20, 50, 60, 10, 40]}
    usual, order = turns_of(monkeypatch, times)
    assert order == ["a", "b"] * 7
    assert usual == [4, 40]


def test_of_two_speeds_the_usual_one_lies_between_them(monkeypatch):
    # As loops of microseconds have them, from one iterator to the next.
    times = {"a": [4, 5, 4, 5, 5, 4, 4]}
    usual, order = turns_of(monkeypatch, times)
    assert order == ["a"] * 7
    assert usual == [4.4]


# --- trials ------------------------------------------------------------------------


@pytest.fixture
def tried(monkeypatch):
    """What trials compared, and what that gave."""
    seen = []

    def spy(datasets, *args, **kwargs):
        found = in_turns(datasets, *args, **kwargs)
        seen.append((datasets, found))
        return found

    monkeypatch.setattr(_doctor_trials, "in_turns", spy)
    return seen


def costly(calls):
    def fn(x):
        calls.append(1)
        end = time.thread_time() + 0.001
        while time.thread_time() < end:
            pass
        return x

    return fn


def test_a_cache_is_full_before_its_trial_counts(monkeypatch):
    calls = []
    during = []

    def spy(datasets, *args, **kwargs):
        before = len(calls)
        found = in_turns(datasets[:1], *args, **kwargs)
        during.append(len(calls) - before)
        return found

    monkeypatch.setattr(_doctor_trials, "in_turns", spy)
    ds = R(50).map(costly(calls), executor="thread").repeat().batch(5)
    report = ps.doctor(ds, seconds=0.6)
    found = [f for f in report.findings if f.code == "cache-missing"]
    assert found and str(found[0].stage) == "map#1", report
    assert during and not any(during)
    wall, cpu = report.facts["stages"][1]["cached"]
    assert 0 < wall < 0.005 and cpu > 0


def test_what_a_cache_behind_a_repeat_gains_is_tried_in_front_of_it(tried):
    ds = R(50).repeat().map(work.native_work(20_000)).batch(5)
    report = ps.doctor(ds, seconds=0.6)
    assert "cached" in report.facts["stages"][2], report
    (datasets, _), *_ = tried
    chain = [line.split("#")[0] for line in datasets[0].explain().splitlines()[:5]]
    assert chain == ["range", "map", "cache", "repeat", "batch"]


def test_a_trial_takes_turns_with_the_pipeline_as_it_is(tried):
    ds = R(50).map(work.native_work(20_000)).repeat().batch(5)
    report = ps.doctor(ds, seconds=0.6)
    (datasets, runs), *_ = tried
    assert len(datasets) == 2
    assert str(datasets[1]._native.stage) == "batch#3"
    # Its times are of a machine as fast as when the pipeline was watched.
    now = report.facts["seconds"] / report.facts["elements"]
    drift = now * runs[1].elements / runs[1].wall_s
    wall, _ = report.facts["stages"][1]["cached"]
    if 1 / 1.5 < drift < 1.5:
        assert wall == pytest.approx(drift * runs[0].wall_s / runs[0].elements)


def test_a_pipeline_whose_width_is_still_to_be_found_takes_no_turns(tried):
    def sleeps(x):
        time.sleep(0.01)
        return x

    ds = R(100).map(sleeps, executor="thread").repeat().batch(4)
    report = ps.doctor(ds, seconds=1.0)
    assert any(f.code == "cache-missing" for f in report.findings), report
    assert tried and all(len(datasets) == 1 for datasets, _ in tried)


def test_rows_of_a_trial_are_those_of_the_stage():
    rows = [(np.float32(1), b"a"), (np.float32(2), b"b")]
    made = list(_doctor_trials._source(rows, 5))
    assert [float(x) for x, _ in made] == [1, 2, 1, 2, 1]
    stacked = _doctor_trials._stacked([np.arange(3), np.arange(3) + 1], 3)
    assert stacked.tolist() == [[0, 1, 2], [1, 2, 3], [0, 1, 2]]
    assert _doctor_trials._stacked([np.zeros(2), np.zeros(3)], 2) is None
