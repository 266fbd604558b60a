"""Long records become `bytes` where they were read: a real object each."""

import gc
import hashlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import tracemalloc

import pytest

import penstock as ps

SIZES = [40_000, 16_384, 16_383, 20, 0, 1, 300_000, 100_001]


@pytest.fixture
def records():
    return [bytes([65 + i % 26]) * SIZES[i % len(SIZES)] for i in range(64)]


@pytest.fixture
def path(tmp_path, records):
    path = str(tmp_path / "long.tfrecord")
    with ps.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def test_they_are_bytes_as_any_other(path, records):
    given = list(ps.Dataset.tfrecord(path))
    assert given == records
    for value, wanted in zip(given, records, strict=True):
        assert type(value) is bytes
        assert hash(value) == hash(wanted)
        assert sys.getsizeof(value) == sys.getsizeof(wanted)
        assert pickle.loads(pickle.dumps(value)) == wanted
        assert value + b"" == wanted
        assert {value: 1}[wanted] == 1


def test_they_outlive_their_batch_iterator_and_dataset(path, records):
    batches = list(ps.Dataset.tfrecord(path).batch(10))
    kept = [value for batch in batches for value in batch]
    digests = [hashlib.sha256(value).digest() for value in kept]
    del batches
    gc.collect()
    list(ps.Dataset.tfrecord(path).batch(10))  # takes memory that was let go
    assert [hashlib.sha256(value).digest() for value in kept] == digests
    assert kept == records


def test_a_part_of_a_record_is_another_value(path, records):
    ds = ps.Dataset.tfrecord(path).take(3).cache()
    assert list(ds) == records[:3]
    parts = ds.map(lambda record: ps.strings.substr(record, 0, 20_000))
    assert [bytes(part) for part in parts] == [r[:20_000] for r in records[:3]]


def test_a_cache_gives_the_same_values_again(path, records):
    ds = ps.Dataset.tfrecord(path).cache().repeat(3)
    assert list(ds) == records * 3


def test_each_is_freed_once(path):
    gc.collect()
    first = None
    for turn in range(6):
        for batch in ps.Dataset.tfrecord(path).repeat(20).batch(16):
            kept = batch[::5]
        del batch, kept
        gc.collect()
        with open("/proc/self/statm") as f:
            resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        if turn == 1:
            first = resident
    assert resident < first + 60_000_000  # of 1.2 GB read by then


def test_many_threads_take_from_one_iterator(path, records):
    it = iter(ps.Dataset.tfrecord(path).repeat(10))
    seen = []
    lock = threading.Lock()

    def take():
        mine = [hashlib.sha256(value).digest() for value in it]
        with lock:
            seen.extend(mine)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [hashlib.sha256(record).digest() for record in records] * 10
    assert sorted(seen) == sorted(wanted)


def test_tracing_may_begin_and_end_while_they_live(path, records):
    it = iter(ps.Dataset.tfrecord(path))
    before = [next(it) for _ in range(20)]
    tracemalloc.start()
    try:
        within = [next(it) for _ in range(20)]
        del before
        gc.collect()
    finally:
        tracemalloc.stop()
    assert within + list(it) == records[20:]


@pytest.mark.parametrize(
    "options",
    [
        {"PYTHONMALLOC": "debug"},
        {"PYTHONMALLOC": "malloc"},
        {"PYTHONMALLOC": "malloc_debug"},
        {"PYTHONTRACEMALLOC": "1"},
        {"PYTHONDEVMODE": "1"},
        *([{"PYTHONMALLOC": "mimalloc"}] if sys.version_info >= (3, 13) else []),
    ],
    ids=lambda options: "=".join(*options.items()),
)
def test_other_allocators_of_python(path, records, options):
    program = textwrap.dedent(
        """
        import gc, hashlib, sys
        import penstock as ps
        path = sys.argv[1]
        kept = [v for batch in ps.Dataset.tfrecord(path).batch(7) for v in batch]
        print(hashlib.sha256(b"".join(kept)).hexdigest())
        del kept
        gc.collect()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        env=os.environ | options,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == hashlib.sha256(b"".join(records)).hexdigest()


def test_the_child_of_a_fork_lets_go_of_what_it_inherited(path, records):
    it = iter(ps.Dataset.tfrecord(path))
    kept = [next(it) for _ in range(20)]
    child = os.fork()
    if child == 0:
        right = kept == records[:20]
        del kept
        gc.collect()
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert kept + list(it) == records
