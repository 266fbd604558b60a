"""prefetch_to_device, with a slow fake device."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import time

import pytest

import penstock as ps


def batches(n=20):
    return ps.Dataset.range(n * 2).batch(2)


def test_copies_overlap_with_the_step():
    def put(batch):
        time.sleep(0.02)
        return batch.tolist()

    begin = time.perf_counter()
    seen = []
    for batch in batches().prefetch_to_device(put):
        time.sleep(0.02)  # the step
        seen.append(batch)
    elapsed = time.perf_counter() - begin
    assert seen == [[2 * i, 2 * i + 1] for i in range(20)]
    assert elapsed < 20 * 0.04 * 0.85


@pytest.mark.parametrize("n", [1, 3])
def test_runs_at_most_n_ahead(n):
    put_count = 0

    def put(batch):
        nonlocal put_count
        put_count += 1
        return batch

    with batches().prefetch_to_device(put, n=n).iterator() as it:
        next(it)
        time.sleep(0.1)
        assert put_count == 1 + n


def test_put_runs_on_one_other_thread():
    threads = set()

    def put(batch):
        threads.add(threading.get_ident())
        return object()  # anything, not only elements

    assert len(list(batches().prefetch_to_device(put))) == 20
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_state_is_that_of_the_consumer():
    ds = batches().prefetch_to_device(lambda b: int(b[0]), n=3)
    it = iter(ds)
    head = [next(it) for _ in range(4)]
    time.sleep(0.05)
    rest = list(ds.iterator(it.state_dict()))
    assert head + rest == list(range(0, 40, 2))
    assert list(ds.iterator(iter(ds).state_dict())) == list(range(0, 40, 2))
    assert len(ds) == 20


def test_errors_come_in_their_place():
    def put(batch):
        if batch[0] == 4:
            raise OSError("device gone")
        return int(batch[0])

    it = iter(batches(4).prefetch_to_device(put))
    assert [next(it), next(it)] == [0, 2]
    with pytest.raises(OSError, match="device gone"):
        next(it)
    assert list(it) == [6]
    assert list(it) == []
    failing = ps.Dataset.range(2).map(lambda x: 1 // int(x)).prefetch_to_device(int)
    it = iter(failing)
    with pytest.raises(ZeroDivisionError):
        next(it)
    assert list(it) == [1]


def test_a_dropped_iterator_ends_its_thread():
    before = threading.active_count()
    it = iter(ps.Dataset.counter().batch(2).prefetch_to_device(lambda b: b))
    next(it)
    it.close()
    with pytest.raises(ps.CancelledError):
        next(it)
    it = iter(ps.Dataset.counter().batch(2).prefetch_to_device(lambda b: b))
    next(it)
    del it
    gc.collect()
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_it_is_a_stage_with_a_name():
    ds = ps.Dataset.range(4).map(lambda x: x, name="same").batch(2)
    device = ds.prefetch_to_device(lambda b: b, name="gpu")
    lines = device.explain().splitlines()
    assert lines[3].startswith("prefetch_to_device#3:gpu  prefetch_to_device(n=2)")
    assert lines[4] == "plan:"
    assert lines[:3] == ds.explain().splitlines()[:3]
    report = ps.doctor(device, seconds=0.2)
    assert report.stages[-1].label == "prefetch_to_device#3:gpu"
    assert report.stages[-1].name == "gpu"
    with pytest.raises(TypeError, match="name"):
        ds.prefetch_to_device(lambda b: b, name=3)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="n must be >= 1"):
        batches().prefetch_to_device(id, n=0)
    with pytest.raises(TypeError, match="put must be callable"):
        batches().prefetch_to_device(3)


def test_exit_while_it_runs(run_program):
    done = run_program("""
        import penstock as ps
        it = iter(ps.Dataset.counter().batch(8).prefetch_to_device(lambda b: b))
        next(it)
    """)
    assert done.stderr == ""


def test_an_iterator_loads_the_state_of_another():
    ds = ps.Dataset.range(10).batch(2).prefetch_to_device(lambda b: b.tolist())
    it, other = iter(ds), iter(ds)
    assert [next(it), next(it)] == [[0, 1], [2, 3]]
    state = pickle.loads(pickle.dumps(it.state_dict()))
    assert next(other) == [0, 1]
    other.load_state_dict(state)
    assert list(other) == [[4, 5], [6, 7], [8, 9]]
    with pytest.raises(TypeError, match="state must be what state_dict"):
        it.load_state_dict(5)
    assert next(it) == [4, 5]
    it.close()
    assert it.closed and not other.closed
    assert ds.to_list() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert ds.element_spec.dtype == ps.int64


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions without notes")
def test_an_error_of_put_names_stage_and_batch():
    def put(batch):
        if batch[0] in (4, 8):
            raise ValueError("no")
        return batch.tolist()

    def note(it):
        with pytest.raises(ValueError) as caught:
            list(it)
        return caught.value.__notes__

    device = batches().prefetch_to_device(put, name="gpu")
    it = iter(device)
    assert note(it) == ["penstock: in prefetch_to_device#2:gpu, element 2"]
    state = it.state_dict()
    # Counted on behind the error, and from a state.
    assert note(it) == ["penstock: in prefetch_to_device#2:gpu, element 4"]
    it.close()
    again = device.iterator(state)
    assert note(again) == ["penstock: in prefetch_to_device#2:gpu, element 4"]
    again.load_state_dict(state)
    assert note(again) == ["penstock: in prefetch_to_device#2:gpu, element 4"]
    again.close()
    # A state of the pipeline in front does not count batches.
    with batches().iterator() as plain:
        next(plain)
        other = device.iterator(plain.state_dict())
    assert note(other) == ["penstock: in prefetch_to_device#2:gpu"]
    other.close()
    unnamed = iter(ps.Dataset.range(5, 3, -1).batch(1).prefetch_to_device(put))
    assert note(unnamed) == ["penstock: in prefetch_to_device#2, element 1"]
    unnamed.close()
