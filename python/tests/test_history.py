"""Histories: bounded, and true."""

import pytest
from penstock._history import History


def counters(t, elements, wait, busy, width=1, held=0):
    return {
        "elapsed_ns": int(t * 1e9),
        "elements": elements,
        "consumer_wait_ns": int(wait * 1e9),
        "bytes_held": held,
        "stages": [{"stage": "map#1", "busy_ns": int(busy * 1e9), "width": width}],
    }


def test_a_sample_is_what_happened_between_two_readings():
    history = History()
    history.add(counters(0, 0, 0, 0))
    history.add(counters(2, 10, 0.5, 3, held=7))
    history.add(counters(3, 30, 0.5, 3.5))
    first, second = history.samples
    assert first == {
        "t": 2.0, "rate": 5.0, "bytes_held": 7, "wait_share": 0.25,
        "busy": {"map#1": 1.5},
    }  # fmt: skip
    assert second["rate"] == 20 and second["wait_share"] == 0


def test_an_hour_takes_no_more_room_than_a_minute_and_loses_nothing():
    history = History(most=100)
    for i in range(36_000):
        history.add(counters(i / 10, 7 * i, i / 20, i / 5))
    samples = history.samples
    assert 50 <= len(samples) <= 100
    assert samples[-1]["t"] > 3500
    assert [s["t"] for s in samples] == sorted(s["t"] for s in samples)
    for s in samples:
        assert s["rate"] == pytest.approx(70)
        assert s["busy"]["map#1"] == pytest.approx(2)


def test_widths_are_kept_when_they_change():
    history = History()
    for t, width in enumerate([1, 1, 4, 4, 2]):
        history.add(counters(t, t, 0, 0, width))
    assert history.widths("map#1") == [[0, 1], [2, 4], [4, 2]]
