"""Pipelines that are as fast as they can be, or fast enough: near-misses.

A builder gives the dataset, and a consumer or None. The doctor may say
cpu-saturated of them and nothing else.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as ps

from . import work

R = ps.Dataset.range
N = 10_000_000
HEALTHY: dict[str, Callable[..., Any]] = {}


def healthy(build):
    HEALTHY[build.__name__] = build
    return build


@healthy
def native_on_all_cores(tmp):
    return R(N).map(work.native_work(3_000)).batch(8), None


@healthy
def native_with_a_slow_step(tmp):
    return R(N).map(work.native_work(1_000)).batch(8), work.step(0.01)


@healthy
def serial_but_fast_enough(tmp):
    ds = R(N).map(work.sleeper(0.002), num_parallel_calls=1).batch(2)
    return ds, work.step(0.02)


@healthy
def serial_but_cheap(tmp):
    ds = R(N).map(lambda x: x + 1, num_parallel_calls=1)
    return ds.map(work.native_work(3_000)).batch(8), None


@healthy
def capped_but_enough(tmp):
    ds = R(N).map(work.sleeper(0.005), num_parallel_calls=4).batch(4)
    return ds, work.step(0.03)


@healthy
def generator_that_keeps_up(tmp):
    def part():
        while True:
            time.sleep(0.001)
            yield np.float32(1)

    return ps.Dataset.from_generator(part).batch(4), work.step(0.02)


@healthy
def python_in_threads_that_keeps_up(tmp):
    ds = R(N).map(work.burner(0.0005), executor="thread").batch(4)
    return ds, work.step(0.02)


@healthy
def tiny_calls_that_keep_up(tmp):
    ds = R(N).map(lambda x: int(x) + 1, executor="thread").batch(32)
    return ds, work.step(0.01)


@healthy
def processes_that_saturate(tmp):
    return R(N).map(work.burner(0.004), executor="process").batch(4), None


@healthy
def range_alone(tmp):
    return R(N), None


@healthy
def range_in_batches(tmp):
    return R(N).batch(1024), None


@healthy
def a_cheap_native_chain(tmp):
    ds = R(N).map(lambda x: x * 2).filter(lambda x: x % 3 == 0).shuffle(N)
    return ds.batch(256), work.step(0.002)


@healthy
def a_global_shuffle(tmp):
    labels = np.repeat(np.arange(10), 10_000)
    ds = ps.Dataset.from_tensor_slices(labels).shuffle(ps.GLOBAL).batch(32)
    return ds.repeat(), work.step(0.002)


@healthy
def a_large_window(tmp):
    labels = np.repeat(np.arange(10), 1_000)
    ds = ps.Dataset.from_tensor_slices(labels).shuffle(2_000).batch(32)
    return ds.repeat(), work.step(0.002)


@healthy
def a_window_of_a_fifth_of_lines_of_many_epochs(tmp):
    with open(os.path.join(tmp, "sorted.txt"), "w") as file:
        file.writelines(f"line {i}\n" for i in range(5000))
    ds = ps.Dataset.text_lines(os.path.join(tmp, "*.txt")).repeat()
    return ds.shuffle(1000).batch(32), work.step(0.003)


@healthy
def floats_behind_a_shuffle(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).shuffle(500)
    ds = ds.map(lambda x: ps.cast(x, ps.float32))
    return ds.batch(16).repeat(), work.step(0.01)


@healthy
def floats_that_the_engine_makes_behind_the_shuffle(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).map(lambda x: ps.cast(x, ps.float32))
    return ds.shuffle(500).batch(16).repeat(), work.step(0.01)


@healthy
def bytes_to_a_device(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data).batch(16).repeat()
    return ds.prefetch_to_device(lambda b: b.astype(np.float32)), work.step(0.02)


@healthy
def pictures_decoded_before_a_device(tmp):
    data = ps.image.encode_jpeg(np.zeros((64, 64, 3), np.uint8))
    ds = ps.Dataset.from_list([data] * 64).map(ps.image.decode_jpeg).batch(8)
    return ds.repeat().prefetch_to_device(lambda b: b), work.step(0.02)


@healthy
def floats_behind_worker_processes(tmp):
    data = np.zeros((2000, 3000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(data)
    ds = ds.map(work.burner(0.0005), executor="process")
    ds = ds.map(lambda x: ps.cast(x, ps.float32))
    return ds.batch(4).repeat(), work.step(0.05)


@healthy
def prefetch_of_two(tmp):
    ds = R(N).map(work.sleeper(0.003)).batch(2).prefetch(2)
    return ds, work.step(0.01)


@healthy
def nothing_ahead_of_nothing(tmp):
    return R(N).map(lambda x: x + 1).batch(64).prefetch(0), work.step(0.01)


@healthy
def cached(tmp):
    ds = R(100).map(work.native_work(3_000)).cache().repeat().batch(8)
    return ds, work.step(0.005)


@healthy
def pictures_cached_as_they_are_used(tmp):
    y, x = np.mgrid[0:100, 0:120]
    picture = np.stack([x % 256, y % 256, (x * y) % 256], -1).astype(np.uint8)
    ds = ps.Dataset.from_list([ps.image.encode_jpeg(picture)] * 100)
    ds = ds.map(ps.image.decode_jpeg).cache().repeat().shuffle(100)
    return ds.batch(16), work.step(0.003)


@healthy
def files_of_long_names_that_are_cached(tmp):
    deep = os.path.join(tmp, "d" * 40, "e" * 40)
    os.makedirs(deep)
    paths = [os.path.join(deep, f"{i}.bin") for i in range(60)]
    for path in paths:
        with open(path, "wb") as file:
            file.write(bytes(5000))
    ds = ps.Dataset.from_list(paths).map(lambda p: ps.io.read_file(p)).cache()
    ds = ds.repeat().map(lambda b: ps.io.decode_raw(b, ps.uint8))
    return ds.batch(8), work.step(0.01)


@healthy
def repeated_but_cheap(tmp):
    return R(1000).map(lambda x: x + 1).repeat().batch(64), work.step(0.002)


@healthy
def filter_first(tmp):
    ds = R(N).filter(lambda x: x % 10 == 0).map(work.native_work(3_000))
    return ds.batch(4), None


@healthy
def filter_that_reads_what_was_made(tmp):
    def costly(x):
        time.sleep(0.001)
        return np.float32(1), x

    ds = R(N).map(costly).filter(lambda y, x: y > 0).batch(4)
    return ds, work.step(0.02)


@healthy
def all_outputs_are_read(tmp):
    def both(x):
        time.sleep(0.001)
        return x, np.float64(2)

    ds = R(N).map(both).map(lambda x, y: x + y).batch(4)
    return ds, work.step(0.02)


@healthy
def zip_of_two_that_are_read(tmp):
    ds = ps.Dataset.zip(R(N), R(N).map(lambda x: x * 2)).map(lambda a, b: a + b)
    return ds.batch(64), work.step(0.005)


@healthy
def padding_with_a_slow_step(tmp):
    rows = [np.zeros(i % 50 + 1, np.float32) for i in range(500)]
    ds = ps.Dataset.from_list(rows).repeat().padded_batch(16)
    return ds, work.step(0.005)


@healthy
def small_batches_with_a_slow_step(tmp):
    return R(N).map(lambda x: x + 1).batch(2), work.step(0.003)


@healthy
def a_fast_copy(tmp):
    ds = R(N).map(lambda x: x + 1).batch(32)
    return ds.prefetch_to_device(lambda b: b), work.step(0.01)


@healthy
def a_copy_that_overlaps(tmp):
    def put(batch):
        time.sleep(0.004)
        return batch

    return R(N).batch(32).prefetch_to_device(put), work.step(0.015)


@healthy
def stragglers_with_room(tmp):
    def sometimes(x):
        time.sleep(0.05 if x % 40 == 0 else 0.002)
        return x

    return R(N).map(sometimes).batch(4), work.step(0.02)


@healthy
def a_small_budget_that_is_enough(tmp):
    ds = R(N).map(lambda x: x + 1).batch(64)
    ds = ds.with_options(ps.Options(memory_budget=4_000_000))
    return ds, work.step(0.005)


@healthy
def a_waiting_map_that_keeps_up(tmp):
    return R(N).map(work.sleeper(0.01)).batch(8), work.step(0.03)


@healthy
def calls_of_equal_time_that_keep_up(tmp):
    ds = R(N).map(work.sleeper(0.01), num_parallel_calls=8).prefetch(2)
    return ds, work.step(0.005)


@healthy
def a_tiny_cache(tmp):
    ds = R(500).map(work.native_work(2_000)).cache().repeat()
    return ds.batch(8), None


@healthy
def threads_inside_a_function_that_wait(tmp):
    return R(N).map(work.threaded(time.sleep, 0.01)).batch(4), work.step(0.2)


@healthy
def a_service_that_is_fast_enough(tmp):
    return R(N).map(work.limited(4, 0.002)).batch(4), work.step(0.02)


@healthy
def records(tmp):
    path = os.path.join(tmp, "r.tfrecord")
    if not os.path.exists(path):
        with ps.io.TFRecordWriter(path) as writer:
            for i in range(500):
                writer.write(bytes(1000) + bytes([i % 256]))
    return ps.Dataset.tfrecord(path).repeat().batch(32), work.step(0.005)


@healthy
def compressed_records_that_keep_up(tmp):
    path = os.path.join(tmp, "r.gz")
    if not os.path.exists(path):
        with ps.io.TFRecordWriter(path, compression="GZIP") as writer:
            for i in range(500):
                writer.write(bytes(1000) + bytes([i % 256]))
    ds = ps.Dataset.tfrecord(path, compression="GZIP").repeat().batch(32)
    return ds, work.step(0.01)


@healthy
def small_files_that_keep_up(tmp):
    for i in range(100):
        path = os.path.join(tmp, f"{i}.txt")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write("a line\n")
    ds = ps.Dataset.list_files(os.path.join(tmp, "*.txt"))
    ds = ds.map(lambda p: ps.io.read_file(p)).repeat().batch(8)
    return ds, work.step(0.02)


@healthy
def an_interleave(tmp):
    ds = R(1000).interleave(lambda i: R(100)).batch(64)
    return ds, work.step(0.02)


@healthy
def python_inside_an_interleave_that_keeps_up(tmp):
    burns = work.chained_burner(0.0005)
    ds = R(1000).interleave(lambda i: R(100).map(burns)).batch(4)
    return ds, work.step(0.03)


@healthy
def a_branchy_function_that_keeps_up(tmp):
    def clip(x):
        return x * 2 if x > 5 else x

    return R(N).map(clip).batch(32), work.step(0.01)


@healthy
def in_memory_slices(tmp):
    data = np.zeros((1000, 100), np.float32)
    ds = ps.Dataset.from_tensor_slices(data).shuffle(ps.GLOBAL).repeat()
    return ds.map(lambda x: x / 255).batch(32), work.step(0.002)


@healthy
def scan_that_keeps_up(tmp):
    ds = R(N).scan(np.int64(0), lambda s, x: (s + x, s)).batch(32)
    return ds, work.step(0.01)


@healthy
def two_native_stages_saturate(tmp):
    ds = R(N).map(work.native_work(2_000))
    return ds.map(lambda y: np.sqrt(np.abs(y)) * 2).batch(16), None


@healthy
def a_slow_step_beside_other_load(tmp):
    work.other_load(tmp, 1, 0.5, 0.5)
    return R(N).map(work.sleeper(0.01)).batch(4), work.step(0.03)


@healthy
def a_function_that_gives_the_gil_up(tmp):
    data = np.linspace(0.0, 1.0, 200_000)

    def computes(x):
        return np.sin(data).sum() + x

    return R(N).map(computes, executor="thread").batch(4), None


@healthy
def a_checksum_without_the_gil(tmp):
    data = bytes(3_000_000)

    def checks(x):
        return np.int64(zlib.crc32(data) + x)

    return R(N).map(checks, executor="thread").batch(4), None


@healthy
def a_function_that_opens_a_file_and_computes(tmp):
    path = os.path.join(tmp, "seed")
    with open(path, "wb") as file:
        file.write(b"7")
    data = bytes(3_000_000)

    def checks(x):
        with open(path, "rb") as file:
            return np.int64(zlib.crc32(data, int(file.read())) + x)

    return R(N).map(checks, executor="thread").batch(4), None


@healthy
def unordered_stragglers(tmp):
    def sometimes(x):
        time.sleep(0.1 if x % 40 == 0 else 0.002)
        return x

    ds = R(N).map(sometimes, deterministic=False).batch(4)
    return ds, work.step(0.02)


@healthy
def a_long_loop_in_processes(tmp):
    def counts(x):
        s = 0
        for i in range(60_000):
            s = (s * 31 + i) % 1_000_003
        return s

    return R(N).map(counts).batch(4), None


@healthy
def a_filter_that_keeps_all_behind_calls_that_run_ahead(tmp):
    def keeps(x):
        return str(x) != ""

    ds = R(N).map(work.sleeper(0.004)).filter(keeps)
    return ds.batch(4), work.step(0.03)


@healthy
def seeded_noise_in_a_cache(tmp):
    def noise(i):
        return np.sort(np.random.default_rng(int(i)).random(5_000))

    return R(200).map(noise).cache().repeat().batch(8), work.step(0.005)


@healthy
def two_results_that_are_both_read(tmp):
    def both(x):
        return {"a": work.burn(0.001), "b": np.float64(x)}

    ds = R(N).map(both).map(lambda d: d["a"] + d["b"])
    return ds.batch(2), work.step(0.02)


@healthy
def a_copy_that_is_faster_than_the_step(tmp):
    def put(batch):
        time.sleep(0.002)
        return batch

    ds = R(N).map(lambda x: x * 2).batch(32)
    return ds.prefetch_to_device(put), work.step(0.012)


@healthy
def bytes_in_the_window_floats_behind(tmp):
    pictures = np.random.default_rng(2).integers(0, 255, (400, 48, 48, 3), np.uint8)
    ds = ps.Dataset.from_tensor_slices(pictures).shuffle(200)
    ds = ds.map(lambda x: ps.cast(x, ps.float32) / 255)
    return ds.batch(16), work.step(0.012)


@healthy
def computing_in_forced_processes(tmp):
    def counts(x):
        s = int(x)
        for i in range(40_000):
            s = (s * 31 + i) % 1_000_003
        return s

    return R(N).map(counts, executor="process").batch(4), None
