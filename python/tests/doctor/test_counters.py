"""Every counter that the doctor's rules and model go by, against an injected truth.

A stage that sleeps, burns or waits a known time, files and pictures of a known
size. The last test reads the sources of the rules: a counter without a truth
here fails it. Bounds are wide above: other load makes things longer.
"""

from __future__ import annotations

import os
import re
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from penstock._doctor_facts import plan_of
from penstock._doctor_trials import padding_left

import penstock as ps
from penstock import _penstock

from . import work

# What is measured here, others on the machine may disturb.
pytestmark = pytest.mark.flaky(reruns=2)

R = ps.Dataset.range
N = 10_000_000
CHECKED: set[str] = set()


def truth(*names):
    """The counters that a test checks."""
    CHECKED.update(names)
    return lambda test: test


def facts_of(ds, seconds=0.6, consumer=None):
    return ps.doctor(ds, seconds=seconds, consumer=consumer).facts


def near_truth(measure, least, most, tries=4):
    """What `measure` gives: the first value within bounds, as load comes and goes."""
    for _ in range(tries):
        value = measure()
        if least <= value <= most:
            break
    assert least <= value <= most, (least, value, most)


@truth("busy_s", "cpu_s", "elements", "blocks", "calls", "gil_hold_s")
@truth("max_parallelism", "width", "blocking")
def test_two_calls_at_once_that_sleep():
    f = facts_of(R(N).map(work.sleeper(0.02), num_parallel_calls=2))
    s = f["stages"][1]
    assert f["elements"] - 4 <= s["elements"] <= f["elements"] + 4
    assert abs(s["calls"] - s["elements"]) <= 4
    assert 0 < s["blocks"] <= s["elements"]
    assert 0.02 <= s["busy_s"] / s["elements"] < 0.06
    assert 0.02 <= s["gil_hold_s"] / s["calls"] < 0.06
    assert s["cpu_s"] < 0.3 * s["busy_s"]
    assert s["max_parallelism"] == 2 and s["width"] == 2 and s["blocking"]


@truth("cpu_s", "own_cpu_s", "seconds", "elements")
def test_a_call_that_burns():
    f = facts_of(R(N).map(work.chained_burner(0.01), num_parallel_calls=1))
    s = f["stages"][1]
    assert 0.009 < s["cpu_s"] / s["elements"] < 0.015
    assert s["cpu_s"] < 1.2 * f["own_cpu_s"]
    assert 0.4 < f["seconds"] < 2.0


@truth("cpu_s")
def test_cpu_time_beside_other_load(tmp_path):
    work.other_load(str(tmp_path), 2 * os.cpu_count(), 1.0)
    ds = R(N).map(work.native_work(3_000)).batch(8)

    def counted():
        f = facts_of(ds, 1.0)
        return sum(s["cpu_s"] for s in f["stages"]) / f["own_cpu_s"]

    try:
        near_truth(counted, 0.6, 1.4)
    finally:
        tmp_path.rmdir()


@truth("calls", "gil_hold_s", "gil_held_s")
def test_calls_inside_an_interleave():
    sleeps = work.sleeper(0.01)
    f = facts_of(R(N).interleave(lambda i: R(50).map(sleeps), cycle_length=2))
    s = next(s for s in f["stages"] if s["label"] == "interleave#1.map#1")
    assert s["executor"] == "thread" and "sleeps" in s["function"]
    assert s["elements"] > 10 and abs(s["calls"] - s["elements"]) <= 128
    assert s["gil_hold_s"] / s["calls"] > 0.01
    assert s["gil_held_s"] < 0.5 * s["gil_hold_s"]


@truth("gil_held_s", "gil_busy")
def test_time_with_the_gil():
    def share(fn):
        f = facts_of(R(N).map(fn, executor="thread", num_parallel_calls=1), 1.0)
        s = f["stages"][1]
        return s["gil_held_s"] / f["seconds"], f["gil_busy"]

    near_truth(lambda: share(work.burner(0.004))[0], 0.6, 1.05)
    near_truth(lambda: share(work.burner(0.004))[1], 0.6, 1.05)
    near_truth(lambda: share(work.sleeper(0.004))[0], 0.0, 0.2)
    near_truth(lambda: share(work.sleeper(0.004))[1], 0.0, 0.4)


@truth("gil_wait_s")
def test_time_without_it_for_others_sake():
    def wait(calls):
        ds = R(N).map(work.burner(0.004), executor="thread", num_parallel_calls=calls)
        f = facts_of(ds.prefetch(64))
        return f["stages"][1]["gil_wait_s"] / f["seconds"]

    near_truth(lambda: wait(4), 0.5, 4.2)  # three of four wait; fewer have a core
    near_truth(lambda: wait(1), 0.0, 0.3)


@truth("work_s", "worker_cpu_s")
def test_calls_in_worker_processes():
    def ran(fn):
        ds = R(N).map(fn, executor="process", num_parallel_calls=1)
        s = facts_of(ds)["stages"][1]
        return s["work_s"] / s["calls"], s["worker_cpu_s"] / s["calls"]

    slept, used = ran(work.sleeper(0.01))
    assert 0.01 <= slept < 0.03 and used < 0.004
    burned, used = ran(work.burner(0.01))
    assert 0.01 <= burned and 0.0095 < used < 0.015


@truth("wait_memory_s", "memory_budget", "bytes_peak")
def test_calls_that_have_no_room():
    def large(x):
        time.sleep(0.01)
        return np.zeros(300_000, np.uint8)

    ds = R(N).map(large)
    tight = facts_of(ds.with_options(ps.Options(memory_budget=1_000_000)))
    assert tight["memory_budget"] == 1_000_000
    assert 300_000 <= tight["bytes_peak"] <= 2_000_000  # with what is under way
    assert tight["stages"][1]["wait_memory_s"] > 0.4 * tight["seconds"]
    roomy = facts_of(R(N).map(work.sleeper(0.01)))
    assert roomy["stages"][1]["wait_memory_s"] < 0.1 * roomy["seconds"]


@truth("wait_order_s")
def test_results_that_wait_for_an_earlier_one():
    def uneven(x):
        time.sleep(0.04 if x % 2 == 0 else 0.001)
        return x

    s = facts_of(R(N).map(uneven, num_parallel_calls=2), 1.0)["stages"][1]
    # Every second result waits for most of 40 ms.
    assert 0.008 < s["wait_order_s"] / s["elements"] < 0.1
    even = facts_of(R(N).map(work.sleeper(0.02), num_parallel_calls=1))["stages"][1]
    assert even["wait_order_s"] < 0.005 * even["elements"]


@truth("opens", "open_s", "read_s", "read_bytes")
def test_files(tmp_path):
    for i in range(16):
        (tmp_path / f"{i:02}.bin").write_bytes(bytes(1_000_000))
    it = iter(
        ps.Dataset.list_files(str(tmp_path / "*.bin"))
        .map(lambda p: ps.io.read_file(p))
        .repeat(4)
    )
    for _ in it:
        pass
    rows = it.stats().stages
    it.close()
    total = {
        key: sum(row[key] for row in rows)
        for key in ("opens", "open_ns", "read_ns", "read_bytes", "busy_ns")
    }
    assert total["opens"] == 64 and total["read_bytes"] == 64_000_000
    assert 0 < total["open_ns"] < total["busy_ns"]
    assert 0 < total["read_ns"] < 1.2 * total["busy_ns"]


@truth("inflate_s")
def test_inflating(tmp_path):
    path = str(tmp_path / "r.gz")
    rng = np.random.default_rng(0)
    data = bytes(rng.integers(0, 40, 4_000_000, np.uint8))
    with ps.io.TFRecordWriter(path, compression="GZIP") as writer:
        writer.write(data)
    packed = zlib.compress(data)
    began = time.thread_time()
    zlib.decompress(packed)
    alone = time.thread_time() - began

    def inflate():
        it = iter(ps.Dataset.tfrecord(path, compression="GZIP"))
        list(it)
        spent = sum(row["inflate_ns"] for row in it.stats().stages) / 1e9
        it.close()
        return spent / alone

    near_truth(inflate, 0.1, 3.0)


@truth("decoded_pixels", "resized_pixels")
def test_pictures():
    data = ps.image.encode_jpeg(np.zeros((120, 160, 3), np.uint8))
    ds = ps.Dataset.from_list([data] * 8)
    ds = ds.map(lambda b: ps.image.resize(ps.image.decode_jpeg(b), (30, 40)))
    it = iter(ds)
    for _ in it:
        pass
    rows = it.stats().stages
    it.close()
    assert sum(row["decoded_pixels"] for row in rows) == 8 * 120 * 160
    assert sum(row["resized_pixels"] for row in rows) == 8 * 30 * 40


@truth("padding_left")
def test_what_is_left_without_padding_is_more_than_the_bytes_that_are_no_padding():
    # One row in eight is long: a batch of eight like ones has no padding.
    long, short = np.ones(200_000, np.float32), np.ones(20_000, np.float32)
    rows = [long if i % 8 == 0 else short for i in range(256)]
    ds = ps.Dataset.from_list(rows).repeat().padded_batch(8)
    stages = plan_of(ds)
    facts = [dict(stage.facts, elements=1.0) for stage in stages.stages]
    share = (200_000 + 7 * 20_000) / (8 * 200_000)
    near_truth(lambda: padding_left(stages, facts, 2), 0.8 * share, 0.9)
    ds = ps.Dataset.from_list([long] * 64).repeat().padded_batch(8)
    near_truth(lambda: padding_left(plan_of(ds), facts, 2), 0.7, 1.0)
    ds = ps.Dataset.from_list([long] * 9).padded_batch(8)  # hardly any
    assert padding_left(plan_of(ds), facts[:1] + facts[2:], 1) == 0


@truth("reads")
def test_who_reads_files(tmp_path):
    path = tmp_path / "some bytes"
    path.write_bytes(bytes(100))
    ds = ps.Dataset.from_list([str(path)] * 8).map(lambda p: ps.io.read_file(p))
    stages = facts_of(ds.map(lambda b: ps.io.decode_raw(b, ps.uint8)))["stages"]
    assert [s["reads"] for s in stages] == [False, True, False]


@truth("decodes")
def test_who_decodes_pictures():
    data = ps.image.encode_jpeg(np.zeros((120, 160, 3), np.uint8))
    ds = ps.Dataset.from_list([data] * 8).map(ps.image.decode_jpeg).repeat()
    stages = facts_of(ds)["stages"]
    assert [s["decodes"] for s in stages] == [False, True, False]


@truth("decodes", "cpu_s", "busy_s")
def test_time_of_fused_maps_is_where_pictures_are_decoded():
    data = ps.image.encode_jpeg(np.zeros((240, 320, 3), np.uint8))
    ds = ps.Dataset.from_list([data] * 8)
    ds = ds.map(lambda b: ps.image.decode_jpeg(b, channels=3)).repeat()
    ds = ds.map(lambda i: ps.image.random_crop(i, (32, 32, 3)))
    assert "map#1 and map#3: fused" in ds.explain()
    stages = facts_of(ds)["stages"]
    assert [s["decodes"] for s in stages] == [False, True, False, False]
    assert stages[1]["busy_s"] > 0 and stages[3]["busy_s"] == 0


@truth("bytes")
def test_bytes_of_elements():
    s = facts_of(R(N).map(lambda x: ps.cast(np.zeros(1000, np.uint8), ps.uint8) + 0))
    assert s["stages"][1]["bytes"] / s["stages"][1]["elements"] == 1000


@truth("consumer_think_s", "consumer_wait_s", "consumer_cpu_s")
@truth("step_alone_s", "step_alone_cpu_s", "consumer_given")
def test_a_consumer():
    f = facts_of(R(N).batch(4), consumer=work.step(0.01))
    n = f["elements"]
    assert 0.01 <= f["consumer_think_s"] / n < 0.03 and f["consumer_given"]
    assert f["consumer_wait_s"] < 0.3 * f["seconds"]
    assert f["consumer_cpu_s"] / n < 0.003
    assert 0.01 <= f["step_alone_s"] < 0.03 and f["step_alone_cpu_s"] < 0.003
    f = facts_of(R(N).batch(4), consumer=lambda batch: work.burn(0.01))
    assert 0.009 < f["consumer_cpu_s"] / f["elements"] < 0.02
    assert 0.009 < f["step_alone_cpu_s"] < 0.02
    f = facts_of(R(N).map(work.sleeper(0.01), num_parallel_calls=1))
    assert f["consumer_wait_s"] > 0.7 * f["seconds"] and not f["consumer_given"]


@truth("put_s", "put_wait_s", "device")
def test_a_copy_to_a_device():
    def put(batch):
        time.sleep(0.01)
        return batch

    f = facts_of(R(N).batch(4).prefetch_to_device(put))
    assert f["device"] == 2
    assert 0.0095 < f["put_s"] / f["elements"] < 0.03
    slow = R(N).map(work.sleeper(0.02), num_parallel_calls=1)
    f = facts_of(slow.prefetch_to_device(lambda batch: batch))
    assert f["put_wait_s"] > 0.6 * f["seconds"]


@truth("other_cpu", "run_delay_s", "cores")
def test_other_processes(tmp_path):
    cores = len(os.sched_getaffinity(0))
    load = tmp_path / "while this exists"
    load.mkdir()
    work.other_load(str(load), 3 * cores, 1.0)
    try:
        time.sleep(0.3)
        f = facts_of(R(N).map(work.native_work(3_000)).batch(8), 1.5)
    finally:
        load.rmdir()
    assert f["cores"] >= 1
    assert 0.3 * cores < f["other_cpu"] <= 1.1 * cores
    # Three others for each of our threads: they wait most of the time.
    assert f["run_delay_s"] > 0.3 * f["seconds"]


@truth("foreign_cpu_s", "foreign_threads")
def test_threads_of_the_functions_own():
    data = np.linspace(0.0, 1.0, 200_000)
    pool = ThreadPoolExecutor(6)

    def spreads(x):
        list(pool.map(lambda _: np.sin(data).sum(), range(6)))
        return x

    with pool:
        f = facts_of(R(N).map(spreads, num_parallel_calls=1), 1.0)
        assert f["foreign_threads"] >= 4
        assert f["foreign_cpu_s"] > 0.4 * f["own_cpu_s"] > 0
    f = facts_of(R(N).map(work.native_work(3_000)).batch(8))
    assert f["foreign_cpu_s"] < 0.5 * f["seconds"]


@truth("foreign_cpu_s", "foreign_threads")
def test_threads_inside_worker_processes():
    data = np.linspace(0.0, 1.0, 200_000)

    def spreads(x):
        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda _: np.sin(data).sum(), range(8))) + x

    def share(function):
        """Beside other load the workers may start late: then it takes longer."""
        for seconds in (1.5, 3.0, 6.0):
            f = facts_of(R(N).map(function, executor="process"), seconds)
            if f["own_cpu_s"] > 0.4:
                break
        return f["foreign_cpu_s"] / f["own_cpu_s"], f["foreign_threads"]

    foreign, threads = share(spreads)
    assert foreign > 0.4 and threads >= 2

    def alone(x):
        return np.sin(data).sum() + x

    foreign, _ = share(alone)
    assert foreign < 0.3


@truth("other_cpu")
def test_children_that_are_no_workers_are_others(tmp_path):
    load = tmp_path / "while this exists"
    load.mkdir()
    work.other_load(str(load), 2, 1.0, children=True)
    try:
        time.sleep(0.3)
        f = facts_of(R(N).map(work.sleeper(0.005), num_parallel_calls=2), 1.0)
    finally:
        load.rmdir()
    assert f["other_cpu"] > 0.5
    assert f["own_cpu_s"] < 0.5 * f["seconds"]


@truth("throttled_s")
def test_time_that_a_quota_took():
    path = Path("/sys/fs/cgroup/cpu.stat")
    if not path.exists():
        pytest.skip("there is no cpu.stat of a cgroup")
    found = re.search(r"throttled_usec (\d+)", path.read_text())
    told = _penstock.ProcessClocks().read()[2]
    assert told == pytest.approx(int(found[1]) / 1e6 if found else 0.0, abs=0.5)


@truth("call_overhead_s", "next_s", "native_row_s", "native_filter_s")
def test_what_is_measured_once():
    f = facts_of(R(100), 0.3)
    assert 20e-9 < f["call_overhead_s"] < 20e-6
    assert 50e-9 < f["next_s"] < 50e-6
    assert 0.1e-9 < f["native_row_s"] < 300e-9
    assert 0.1e-9 < f["native_filter_s"] < 600e-9


@truth("epochs_ever")
@pytest.mark.parametrize("files", ["*.txt", "0.txt", ["0.txt", "1.txt", "2.txt"]])
def test_epochs_of_files_that_are_read_again(tmp_path, files):
    for k in range(3):
        (tmp_path / f"{k}.txt").write_text("line\n" * 500)
    one = isinstance(files, str)
    paths = str(tmp_path / files) if one else [str(tmp_path / f) for f in files]
    ds = ps.Dataset.text_lines(paths).map(work.sleeper(0.0001))
    epoch = 500 if files == "0.txt" else 1500
    s = facts_of(ds.repeat(), 0.3)["stages"][0]
    epochs = s["elements_ever"] / epoch
    assert epochs <= s["epochs_ever"] < epochs + 2
    assert "epochs_ever" not in facts_of(R(10).repeat(), 0.3)["stages"][0]
    assert facts_of(ds, 0.3)["stages"][0]["epochs_ever"] == 1


@truth("elements_ever", "busy_ever_s")
def test_elements_since_the_iterator_was_made():
    began = time.monotonic()
    ds = R(N).map(work.sleeper(0.01), num_parallel_calls=1)
    with ds.iterator() as it:
        for _ in range(40):
            next(it)
        s = it.doctor(seconds=0.3).facts["stages"][1]
    most = (time.monotonic() - began) / 0.01
    assert 40 + s["elements"] <= s["elements_ever"] <= most
    assert s["busy_ever_s"] >= 0.01 * (s["elements_ever"] - 1)


@truth("windows")
def test_pieces_of_the_time():
    f = facts_of(R(N).map(work.sleeper(0.005), num_parallel_calls=1), 1.0)
    assert sum(w["seconds"] for w in f["windows"]) == pytest.approx(
        f["seconds"], rel=0.1
    )
    assert sum(w["elements"] for w in f["windows"]) == f["elements"]


@truth("begin_s")
def test_beginning_again():
    assert facts_of(R(1 << 40).batch(10))["begin_s"] == 0
    f = facts_of(R(40).batch(10))  # four of them in a pass
    # Beside other load the first element may be there before it is asked for.
    assert 0 < 4 * f["begin_s"] < 50e-3


@truth("engine_cpu_s")
def test_cpu_time_that_is_no_stages():
    def share(beside):
        ds = R(N).map(work.sleeper(0.01), num_parallel_calls=2)
        f = facts_of(ds, 1.0, lambda _: beside())
        return f["engine_cpu_s"] / f["seconds"]

    near_truth(lambda: share(lambda: None), 0.0, 0.3)
    # The step is no engine; a thread that is none of ours cannot be told from it.
    near_truth(lambda: share(lambda: work.burn(0.005)), 0.0, 0.3)
    data = np.linspace(0.0, 1.0, 200_000)
    ends = threading.Event()
    used = [0.0]

    def burns():
        while not ends.is_set():
            np.sin(data)
            used[0] = time.thread_time()

    def found():
        """What is counted of the CPU time that the thread got."""
        began, before = time.perf_counter(), used[0]
        counted = share(lambda: None)
        got = (used[0] - before) / (time.perf_counter() - began)
        return counted / got

    thread = threading.Thread(target=burns)
    thread.start()
    try:
        near_truth(found, 0.6, 3.0)
    finally:
        ends.set()
        thread.join()


@truth("wall_s")
def test_what_a_cache_would_leave():
    def ratio():
        ds = R(100).map(work.sleeper(0.01))
        tried = facts_of(ds.repeat().batch(4))["stages"][1]["cached"]
        with ds.cache().repeat().batch(4).iterator() as it:
            for _ in range(200):
                next(it)
            began = time.perf_counter()
            for _ in range(20_000):
                next(it)
            alone = (time.perf_counter() - began) / 20_000
        return tried[0] / alone

    near_truth(ratio, 0.4, 2.5)


# Not counters: the graph, and what was worked out from counters above.
_GRAPH = """
label op name index inputs parent source sequential user_code parallel_calls
cycle_length prefetch batch_size window ordered padded cardinality repeats
in_order_source moved_behind random files compression function executor
executor_forced stays refusal refusal_fixable native_form reads_passed_only
filter_could_pass unused_share unused_what hot_lines shape_ratio decode_left
native_left rest_native spec_bytes stages output bounded throttled step_beside_s
indexed pickles filter_there unused_in arguments batched_size
""".split()


def test_no_rule_goes_by_a_counter_without_a_truth():
    doctor = Path(__file__).parents[3] / "src" / "penstock" / "doctor"
    fields = re.findall(
        r"^  (?:double|int|bool|std::\w+(?:<[^;=]*>)?) (\w+)(?: =[^;]*)?;",
        (doctor / "facts.h").read_text(),
        re.M,
    )
    fields.append("windows")
    assert {"busy_s", "gil_held_s", "run_delay_s", "windows"} <= set(fields)
    sources = [*doctor.glob("*.cc"), *doctor.glob("*.h"), *doctor.glob("rules/*.cc")]
    text = "\n".join(p.read_text() for p in sources if not p.name.endswith("test.cc"))
    used = {
        name for name in fields if re.search(rf"[.>(]{name}\b|facts\w*\.{name}", text)
    }
    assert "busy_s" in used and len(used) > 30
    assert used - set(_GRAPH) - CHECKED == set()
