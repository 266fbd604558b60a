"""Pipelines with a known fault: code, stage, and how to build them.

Each entry is (codes that are right as the first finding, stages that are right,
builder). A builder gives the dataset, and a consumer or None. Where the doctor
cannot apply its own fix, the builder takes `fixed`: the same pipeline, mended by
hand as the finding says, for the gain that it predicts.
"""

from __future__ import annotations

import gzip
import os
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import penstock as ps

from . import work

R = ps.Dataset.range
N = 10_000_000
FAULTY: dict[str, tuple[tuple[str, ...], tuple[str, ...], Callable[..., Any]]] = {}


def fault(codes: str, stages: str):
    def add(build):
        FAULTY[build.__name__] = tuple(codes.split()), tuple(stages.split()), build
        return build

    return add


# --- explicit numbers -----------------------------------------------------------


@fault("serial-stage", "map#1")
def serial_sleep(tmp):
    return R(N).map(work.sleeper(0.008), num_parallel_calls=1).batch(4), None


@fault("serial-stage", "map#1")
def serial_burn(tmp):
    ds = R(N).map(work.burner(0.003), num_parallel_calls=1, executor="process")
    return ds.batch(4), None


@fault("serial-stage", "map#1:augment")
def serial_burn_in_a_thread(tmp):
    ds = R(N).map(work.burner(0.004), num_parallel_calls=1, name="augment")
    return ds.batch(2), work.step(0.002)


@fault("serial-stage", "map#2:decode")
def serial_among_decoys(tmp):
    ds = R(N).map(lambda x: x + 1, num_parallel_calls=1)
    ds = ds.map(work.sleeper(0.009), num_parallel_calls=1, name="decode")
    return ds.map(lambda x: x * 2).batch(2), work.step(0.001)


@fault("serial-stage", "interleave#1")
def serial_interleave_of_a_long_cycle(tmp):
    def shard(i):
        def make():
            for k in range(200):
                time.sleep(0.004)
                yield k

        return ps.Dataset.from_generator(make)

    ds = R(16).interleave(shard, cycle_length=8, num_parallel_calls=1)
    return ds.batch(4), None


@fault("serial-stage", "filter#1")
def serial_filter(tmp):
    def keeps(x):
        time.sleep(0.007)
        return True

    return R(N).filter(keeps, num_parallel_calls=1), None


@fault("parallelism-capped", "map#1")
def capped_sleep(tmp):
    return R(N).map(work.sleeper(0.01), num_parallel_calls=4).batch(8), None


@fault("parallelism-capped", "map#1")
def capped_at_two_with_a_step(tmp):
    ds = R(N).map(work.sleeper(0.01), num_parallel_calls=2)
    return ds.batch(2), work.step(0.002)


@fault("parallelism-capped", "map#2")
def capped_behind_another(tmp):
    ds = R(N).map(work.sleeper(0.001), num_parallel_calls=8)
    return ds.map(work.sleeper(0.02), num_parallel_calls=6).batch(4), None


@fault("parallelism-capped", "map#1")
def capped_calls_of_equal_time_behind_a_prefetch(tmp):
    # No straggler; and without a number prefetch(2) would allow three calls.
    return R(N).map(work.sleeper(0.02), num_parallel_calls=8).prefetch(2), None


@fault("parallelism-capped", "interleave#1")
def capped_cycle(tmp):
    def slow(i):
        def part():
            while True:
                time.sleep(0.008)
                yield np.int64(0)

        return ps.Dataset.from_generator(part)

    return R(64).interleave(slow, cycle_length=2).batch(4), None


@fault("serial-stage", "flat_map#1.map#1")
def serial_in_each_short_dataset(tmp, fixed=False):
    calls = ps.AUTOTUNE if fixed else 1

    def parts(i):
        return R(40).map(work.sleeper(0.008), num_parallel_calls=calls)

    return R(N).flat_map(parts).batch(4), None


@fault("serial-stage", "interleave#1")
def one_stream_after_the_other(tmp, fixed=False):
    def stream(i):
        def polls():
            for k in range(40):
                time.sleep(0.008)
                yield k

        return ps.Dataset.from_generator(polls)

    cycle = ps.AUTOTUNE if fixed else 1
    return R(N).interleave(stream, cycle_length=cycle).batch(8), None


@fault("parallelism-capped", "filter#2")
def a_filter_behind_calls_that_run_ahead(tmp):
    def asks(x):
        time.sleep(0.02)
        return x % 2 == 0

    ds = R(N).map(work.sleeper(0.004))
    return ds.filter(asks, num_parallel_calls=2).batch(4), None


# --- sources ----------------------------------------------------------------------


@fault("serial-source", "zip#2[1].from_generator#0")
def a_generator_beside_calls_that_wait_longer(tmp, fixed=False):
    def makes(i):
        time.sleep(0.004)
        return i

    if fixed:
        other = R(N).map(makes)
    else:
        other = ps.Dataset.from_generator(lambda: map(makes, range(N)))
    ds = ps.Dataset.zip(R(N).map(work.sleeper(0.008)), other)
    return ds.map(lambda a, b: a + b).batch(4), None


@fault("compression", "tfrecord#2 tfrecord#2.tfrecord#0")
def gzip_records_of_names(tmp, fixed=False):
    rng = np.random.default_rng(3)
    rows = [bytes(rng.integers(97, 105, 2000, dtype=np.uint8)) for _ in range(3000)]
    kind = None if fixed else "GZIP"
    paths = [f"{tmp}/{k}.{kind}" for k in range(3)]
    for path in paths:
        with ps.io.TFRecordWriter(path, compression=kind) as writer:
            for row in rows:
                writer.write(row)
    names = ps.Dataset.from_list(paths).take(3)
    return ps.Dataset.tfrecord(names, compression=kind).batch(64), None


@fault("serial-source", "from_generator#0")
def generator_that_sleeps(tmp, fixed=False):
    def part():
        while True:
            time.sleep(0.008)
            yield np.float32(1)

    def make(i):
        time.sleep(0.008)
        return np.float32(1)

    ds = R(N).map(make) if fixed else ps.Dataset.from_generator(part)
    return ds.map(lambda x: x * 2).batch(4), None


@fault("serial-source", "from_generator#0")
def generator_that_burns(tmp, fixed=False):
    if fixed:
        return R(N).map(work.burner(0.002)).batch(4), None

    def part():
        while True:
            work.burn(0.002)
            yield np.float32(1)

    return ps.Dataset.from_generator(part).batch(4), None


@fault("serial-source", "from_generator#0")
def generator_before_a_costly_map(tmp, fixed=False):
    def part():
        while True:
            time.sleep(0.009)
            yield np.arange(100, dtype=np.float32)

    def make(i):
        time.sleep(0.009)
        return np.arange(100, dtype=np.float32)

    ds = R(N).map(make) if fixed else ps.Dataset.from_generator(part)
    ds = ds.map(work.sleeper(0.007)).shuffle(16)
    return ds.batch(4), work.step(0.002)


@fault("compression", "tfrecord#0 tfrecord#1 tfrecord#1.tfrecord#0")
def gzip_records(tmp, fixed=False):
    compression = None if fixed else "GZIP"
    path = os.path.join(tmp, "r.records" if fixed else "r.gz")
    if not os.path.exists(path):
        rng = np.random.default_rng(0)
        with ps.io.TFRecordWriter(path, compression=compression) as writer:
            for _ in range(600):
                writer.write(bytes(rng.integers(0, 40, 20_000, np.uint8)))
    ds = ps.Dataset.tfrecord(path, compression=compression).repeat()
    return ds.batch(16), None


@fault("compression", "text_lines#0")
def gzip_lines(tmp, fixed=False):
    rng = np.random.default_rng(4)
    text = "".join(f"sample {a} {b}\n" for a, b in rng.integers(0, 10**7, (60_000, 2)))
    for k in range(3):
        with (open if fixed else gzip.open)(f"{tmp}/{fixed}{k}", "wt") as file:
            file.write(text)
    kind = None if fixed else "GZIP"
    return ps.Dataset.text_lines(f"{tmp}/{fixed}*", compression=kind).batch(128), None


@fault("small-files", "map#1 interleave#1 interleave#1.text_lines#0 text_lines#0")
def tiny_text_files(tmp, fixed=False):
    for i in range(4000):
        path = os.path.join(tmp, f"{i}.txt")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write("a line\n")
    ds = ps.Dataset.list_files(os.path.join(tmp, "*.txt"))
    ds = ds.map(lambda p: ps.io.read_file(p))
    if fixed:
        packed = os.path.join(tmp, "packed")
        if not os.path.exists(packed):
            ds.save(packed)
        ds = ps.Dataset.load(packed)
    return ds.batch(32), None


def _text_files(tmp, count):
    paths = [os.path.join(tmp, f"{i}.txt") for i in range(count)]
    for path in paths:
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write("a line\n")
    return paths


@fault("small-files", "map#1:load")
def tiny_files_that_a_function_opens(tmp, fixed=False):
    def load(path):
        with open(path, "rb") as file:
            return file.read()

    ds = ps.Dataset.from_tensor_slices(_text_files(tmp, 3000)).map(load, name="load")
    if fixed:
        packed = os.path.join(tmp, "packed")
        if not os.path.exists(packed):
            ds.save(packed, num_shards=16)
        ds = ps.Dataset.load(packed)
    return ds.batch(32), None


# --- Python -------------------------------------------------------------------------


@fault("python-gil", "map#1")
def gil_forced_threads(tmp):
    return R(N).map(work.burner(0.002), executor="thread").batch(4), None


@fault("python-gil", "map#1")
def gil_by_a_shared_list(tmp):
    return R(N).map(work.chained_burner(0.003)).batch(4), None


@fault("python-gil", "map#2")
def gil_behind_a_native_map(tmp):
    ds = R(N).map(lambda x: x * 3).map(work.chained_burner(0.001))
    return ds.batch(8), work.step(0.001)


@fault("python-gil", "map#1:tokenize")
def gil_that_does_not_pickle(tmp, fixed=False):
    lock = None if fixed else threading.Lock()

    def tokenize(x):
        work.burn(0.002)
        return x if lock is None else x + bool(lock) - 1

    executor = "process" if fixed else "auto"
    return R(N).map(tokenize, name="tokenize", executor=executor).batch(4), None


@fault("python-gil", "interleave#1.map#1")
def gil_inside_an_interleave(tmp):
    burns = work.chained_burner(0.003)
    return R(N).interleave(lambda i: R(200).map(burns)).batch(4), None


@fault("python-gil", "flat_map#1.map#1")
def gil_inside_a_flat_map(tmp):
    burns = work.chained_burner(0.003)
    return R(N).flat_map(lambda i: R(200).map(burns)).batch(4), None


@fault("python-overhead", "map#1")
def tiny_calls(tmp, fixed=False):
    if fixed:
        return R(N).map(lambda x: x + 1).batch(256), None
    return R(N).map(lambda x: int(x) + 1, executor="thread").batch(256), None


@fault("python-overhead", "map#1")
def tiny_calls_with_a_dict(tmp):
    table = {0: 1}
    return R(N).map(lambda x: table.get(int(x), 0)).batch(512), None


@fault("python-overhead", "filter#1")
def tiny_predicate(tmp, fixed=False):
    if fixed:
        return R(N).filter(lambda x: x % 2 == 0).batch(128), None
    return R(N).filter(lambda x: int(x) % 2 == 0, executor="thread").batch(128), None


@fault("process-overhead", "map#1")
def tiny_calls_in_processes(tmp):
    return R(N).map(lambda x: int(x) + 1, executor="process").batch(64), None


@fault("process-overhead", "filter#1")
def a_tiny_predicate_in_processes(tmp):
    ds = R(N).filter(lambda x: int(x) % 3 == 0, executor="process")
    return ds.batch(32), None


@fault("process-overhead", "map#2")
def large_elements_in_processes(tmp):
    data = np.zeros((64, 200_000), np.float32)
    ds = ps.Dataset.from_tensor_slices(data).repeat()
    return ds.map(lambda x: x[::2], executor="process").batch(8), None


@fault("trace-refused", "map#1")
def a_branch_keeps_it_from_being_native(tmp, fixed=False):
    def clip(x):
        y = np.sin(np.arange(3000, dtype=np.float32) * 0.001 + x)
        for _ in range(6):
            y = np.sqrt(np.abs(y)) + np.sin(y)
        if x > 5:
            return y * 2
        return y

    def native(x):
        y = np.sin(np.arange(3000, dtype=np.float32) * 0.001 + x)
        for _ in range(6):
            y = np.sqrt(np.abs(y)) + np.sin(y)
        return ps.where(x > 5, y * 2, y)

    return R(N).map(native if fixed else clip).batch(8), None


@fault("process-overhead", "map#1")
def sleeping_in_processes(tmp):
    ds = R(N).map(work.sleeper(0.01), executor="process")
    return ds.batch(4), None


# --- waiting, order, memory ---------------------------------------------------------


def four_at_a_time(ask, fixed):
    """One request for each, or for four as the doctor proposes."""
    return R(N).batch(4).map(ask).unbatch() if fixed else R(N).map(ask)


@fault("io-latency", "map#1")
def a_service_that_answers_eight(tmp, fixed=False):
    return four_at_a_time(work.limited(8, 0.012), fixed).batch(8), None


@fault("io-latency", "map#1:fetch")
def a_service_behind_a_step(tmp, fixed=False):
    ask = work.limited(4, 0.01)
    if fixed:
        return four_at_a_time(ask, fixed).batch(4), work.step(0.002)
    return R(N).map(ask, name="fetch").batch(4), work.step(0.002)


@fault("io-bandwidth", "map#1")
def a_network_of_bytes(tmp, fixed=False):
    half = 2 if fixed else 1
    ask = work.limited(4, 0.01 / half, size=400_000 // half)
    return R(N).map(ask).batch(2), None


@fault("head-of-line", "map#1")
def stragglers(tmp):
    def sometimes(x):
        time.sleep(0.4 if x % 40 == 0 else 0.005)
        return x

    ds = R(N).map(sometimes, num_parallel_calls=8)
    return ds.prefetch(2), None


@fault("memory-budget", "map#1")
def no_room_for_batches_of_two_large_elements(tmp):
    def make(x):
        time.sleep(0.03)
        return np.zeros((1000, 1000), np.float32)

    options = ps.Options(memory_budget=32_000_000)
    return R(N).map(make).batch(2).with_options(options), work.step(0.001)


@fault("memory-budget", "map#1")
def no_room_for_results(tmp):
    def large(x):
        time.sleep(0.01)
        return np.zeros(300_000, np.uint8)

    ds = R(N).map(large)
    return ds.with_options(ps.Options(memory_budget=1_000_000)), None


@fault("memory-budget", "map#1:load")
def no_room_for_results_that_are_taken_apart_natively(tmp):
    def load(x):
        time.sleep(0.02)
        return np.zeros((1000, 1000), np.float32), x

    ds = R(N).map(load, name="load").map(lambda array, x: array)
    return ds.with_options(ps.Options(memory_budget=16_000_000)), None


@fault("no-prefetch", "prefetch#2")
def nothing_ahead_of_a_generator(tmp):
    def make():
        while True:
            time.sleep(0.005)
            yield np.zeros(10)

    ds = ps.Dataset.from_generator(make)
    return ds.batch(2).prefetch(0), work.step(0.008)


@fault("no-prefetch", "prefetch#2")
def nothing_ahead(tmp):
    return R(N).map(work.sleeper(0.008)).prefetch(0), work.step(0.008)


@fault("no-prefetch", "prefetch#3")
def nothing_ahead_of_batches(tmp):
    ds = R(N).map(work.native_work(20_000)).batch(16).prefetch(0)
    return ds, work.step(0.01)


# --- repeated, late, unused ---------------------------------------------------------


@fault("cache-missing", "map#1")
def the_same_every_epoch(tmp):
    return R(200).map(work.native_work(6_000)).repeat().batch(8), None


@fault("cache-missing", "map#2")
def the_same_behind_a_repeat(tmp):
    return R(200).repeat().map(work.native_work(6_000)).batch(8), None


@fault("cache-missing", "map#1:decode")
def pictures_decoded_again_for_other_crops(tmp):
    y, x = np.mgrid[0:480, 0:640]
    picture = np.stack([x % 256, y % 256, (x * y) % 256], -1).astype(np.uint8)
    data = ps.image.encode_jpeg(picture)
    ds = ps.Dataset.from_list([data] * 40)
    ds = ds.map(lambda b: ps.image.decode_jpeg(b, channels=3), name="decode")
    ds = ds.repeat().map(lambda i: ps.image.random_crop(i, (64, 64, 3)))
    return ds.batch(8), None


@fault("cache-missing", "map#1")
def the_same_before_a_shuffle(tmp):
    def slow(x):
        time.sleep(0.02)
        return x

    ds = R(100).map(slow).shuffle(100).repeat().batch(4)
    return ds, None


@fault("late-filter", "filter#2 map#1")
def filter_behind_a_costly_map(tmp, fixed=False):
    def costly(x):
        time.sleep(0.01)
        return np.float32(1), x

    if fixed:
        ds = R(N).filter(lambda x: x % 10 == 0)
        return ds.map(costly, num_parallel_calls=8), None
    ds = R(N).map(costly, num_parallel_calls=8)
    return ds.filter(lambda y, x: x % 10 == 0), None


@fault("unused-result", "map#1")
def an_output_that_nothing_reads(tmp, fixed=False):
    if fixed:
        return R(N).map(lambda x: x).batch(4), None

    def both(x):
        y = work.burn(0.002)
        return x, np.float64(y)

    ds = R(N).map(both)
    return ds.map(lambda x, y: x).batch(4), None


@fault("unused-result", "map#1")
def one_of_two_in_a_line(tmp, fixed=False):
    wave = np.random.default_rng(0).random(20_000)

    def features(x):
        few = np.sort(wave[:2000] * x)
        return {"least": few[0], "spectrum": np.abs(np.fft.fft(wave * x))}

    def least(x):
        few = np.sort(wave[:2000] * x)
        return {"least": few[0]}

    ds = R(N).map(least if fixed else features)
    return ds.map(lambda d: d["least"]).batch(16), None


@fault("cache-missing", "map#1")
def seeded_noise_every_epoch(tmp, fixed=False):
    def noise(i):
        rng = np.random.default_rng(int(i))
        return np.sort(rng.random(40_000))[::100].copy()

    ds = R(256).map(noise)
    return (ds.cache() if fixed else ds).repeat().batch(8), None


@fault("unused-result", "zip#2[1].map#1")
def a_branch_that_nothing_reads(tmp, fixed=False):
    if fixed:
        return R(N).map(lambda a: a).batch(4), None
    other = R(N).map(work.sleeper(0.01))
    ds = ps.Dataset.zip(R(N), other).map(lambda a, b: a)
    return ds.batch(4), None


# --- batches, devices, machine ------------------------------------------------------


@fault("batch-copy", "padded_batch#1 padded_batch#2")
def mostly_padding(tmp, fixed=False):
    rng = np.random.default_rng(1)
    long = [np.zeros(200_000 if i % 32 == 0 else 100, np.float32) for i in range(1024)]
    rng.shuffle(long)
    if fixed:
        long.sort(key=len)  # like lengths together, as buckets do
    return ps.Dataset.from_list(long).repeat().padded_batch(32), None


@fault("batch-size", "batch#1")
def batches_of_one(tmp):
    ds = R(N).batch(1).map(lambda x: np.sum(np.asarray(x)).item(), executor="thread")
    return ds, None


@fault("batch-size", "batch#1")
def batches_of_two_for_a_function(tmp):
    def centred(x):
        return np.asarray(x) - np.asarray(x).mean()

    ds = ps.Dataset.from_tensor_slices(np.zeros((10_000, 4), np.float32)).batch(2)
    return ds.map(centred, executor="thread"), None


@fault("batch-size", "batch#1")
def batches_of_one_that_nothing_follows(tmp):
    return R(100 * N).batch(1), None


@fault("transfer", "prefetch_to_device#3")
def a_slow_copy(tmp, fixed=False):
    def put(batch):
        time.sleep(0.01 if fixed else 0.02)
        return batch

    ds = R(N).map(lambda x: x + 1).batch(32)
    return ds.prefetch_to_device(put), work.step(0.002)


@fault("python-gil noisy-neighbour", "map#1")
def training_beside_a_gil_map(tmp):
    def train(batch):
        work.burn(0.004)

    # The step computes in Python; map and step take turns.
    return R(N).map(work.chained_burner(0.001)).batch(4), train


@fault("noisy-neighbour", "map#1")
def a_step_that_waits_for_the_gil(tmp):
    def train(batch):
        work.burn(0.01)

    return R(N).map(work.chained_burner(0.001)).batch(8).prefetch(2), train


@fault("noisy-neighbour", "map#1")
def training_on_the_same_cores(tmp):
    weights = np.ones(20_000)
    out = np.empty_like(weights)

    def train(batch):
        # One core, without the GIL.
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            np.sin(weights, out=out)

    # Small results: the pipeline runs ahead on all cores, for minutes.
    ds = R(N).map(work.native_work(20_000)).map(lambda y: ps.reduce_sum(y)).batch(8)
    return ds, train


@fault("oversubscribed", "map#1")
def more_workers_than_cores(tmp, fixed=False):
    calls = ps.AUTOTUNE if fixed else 4 * os.cpu_count()
    ds = R(N).map(work.burner(0.003), num_parallel_calls=calls, executor="process")
    return ds.batch(4), None


@fault("oversubscribed", "map#1")
def threads_inside_a_function(tmp, fixed=False):
    threads = 0 if fixed else 4
    spreads = work.threaded(np.sin, np.linspace(0.0, 1.0, 400_000), threads)
    # Natively, what nobody reads would not be computed.
    executor = "thread" if fixed else "auto"
    return R(N).map(spreads, executor=executor).batch(4), None


@fault("oversubscribed", "map#1")
def threads_inside_worker_processes(tmp):
    blob = zlib.compress(bytes(range(256)) * 4000)

    def spreads(x):
        with ThreadPoolExecutor(8) as pool:
            return sum(map(len, pool.map(zlib.decompress, [blob] * 16))) + int(x)

    return R(N).map(spreads, executor="process").batch(2), None


@fault("oversubscribed", "map#1")
def threads_inside_a_function_beside_other_load(tmp):
    work.other_load(tmp, 2 * os.cpu_count(), 1.0)
    spreads = work.threaded(np.sin, np.linspace(0.0, 1.0, 400_000))
    return R(N).map(spreads).batch(4), None


@fault("unstable", "map#1")
def others_take_the_cores_now_and_then(tmp):
    work.other_load(tmp, 3 * os.cpu_count(), 0.5, 0.5)
    return R(N).map(work.native_work(3_000)).batch(8), None


@fault("unstable", "map#1")
def others_take_the_cores_all_the_time(tmp):
    work.other_load(tmp, 2 * os.cpu_count(), 1.0)
    return R(N).map(work.native_work(3_000)).batch(8), None


@fault("unstable", "map#1")
def children_of_the_users_take_the_cores(tmp):
    work.other_load(tmp, 2 * os.cpu_count(), 1.0, children=True)
    return R(N).map(work.native_work(3_000)).batch(8), None


@fault("oversized-decode", "map#1:decode map#2:decode")
def large_pictures_shrunk_later(tmp, fixed=False):
    y, x = np.mgrid[0:1200, 0:1600]
    picture = np.stack([x % 256, y % 256, (x + y) % 256], -1).astype(np.uint8)
    data = ps.image.encode_jpeg(picture)
    ds = ps.Dataset.from_list([data] * 64)
    ratio = 8 if fixed else 1
    ds = ds.map(
        lambda b: ps.image.decode_jpeg(b, channels=3, ratio=ratio), name="decode"
    )
    ds = ds.map(lambda i: ps.image.resize(i, (64, 64)))
    return ds.batch(4), None


# --- quality and memory: beside any bound ---------------------------------------------


@fault("shuffle-window", "shuffle#1")
def a_window_of_ten(tmp):
    labels = np.repeat(np.arange(10), 10_000)
    return ps.Dataset.from_tensor_slices(labels).shuffle(10).batch(32), None


@fault("shuffle-window", "shuffle#1")
def a_window_of_ten_with_a_slow_consumer(tmp):
    labels = np.repeat(np.arange(10), 10_000)
    ds = ps.Dataset.from_tensor_slices(labels).shuffle(16).batch(32)
    return ds, work.step(0.005)


@fault("shuffle-window", "shuffle#2")
def a_window_of_ten_lines_of_many_epochs(tmp):
    with open(os.path.join(tmp, "sorted.txt"), "w") as file:
        file.writelines(f"line {i}\n" for i in range(5000))
    ds = ps.Dataset.text_lines(os.path.join(tmp, "*.txt")).repeat()
    return ds.shuffle(10).batch(32), work.step(0.003)


@fault("early-inflate", "map#1 shuffle#3")
def floats_before_a_shuffle(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).map(lambda x: ps.cast(x, ps.float32))
    ds = ds.filter(lambda x: x[0] >= 0)
    return ds.shuffle(500).batch(16).repeat(), work.step(0.01)


@fault("early-inflate", "map#1 cache#2")
def floats_before_a_cache(tmp):
    data = np.zeros((500, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).map(lambda x: ps.cast(x, ps.float32))
    return ds.cache().batch(16).repeat(), work.step(0.01)


@fault("early-inflate", "map#1")
def floats_before_a_device(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).map(lambda x: ps.cast(x, ps.float32))
    return ds.batch(16).repeat().prefetch_to_device(lambda b: b), work.step(0.01)


@fault("early-inflate", "map#1")
def floats_before_worker_processes(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).map(lambda x: ps.cast(x, ps.float32))
    ds = ds.map(work.burner(0.0005), executor="process")
    return ds.batch(4).repeat(), work.step(0.05)
