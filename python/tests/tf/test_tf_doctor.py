"""`ps.doctor`, `ps.report` and `ps.trace` take what `penstock.tf` makes."""

import threading
import time

import penstock.tf as tf
import pytest

import penstock as ps


def slow(x):
    time.sleep(0.002)
    return x


def dataset():
    ds = tf.data.Dataset.range(10_000)
    return ds.map(lambda x: tf.py_function(slow, [x], tf.int64))


@pytest.mark.flaky(reruns=2)
def test_a_dataset_is_examined_and_its_consumer_gets_tensors():
    seen = []
    report = ps.doctor(dataset(), seconds=0.6, consumer=seen.append)
    assert report.findings[0].code == "serial-stage"
    assert str(report.findings[0].stage) == "map#1"
    assert seen[0].numpy() == 0
    answer = ps.what_if(dataset(), {"map#1": {"num_parallel_calls": 4}}, seconds=0.5)
    assert answer.speedup > 2


def test_an_iterator_is_examined_reported_and_traced(tmp_path):
    for it in (iter(dataset()), dataset().as_numpy_iterator()):
        recording = ps.trace(it, tmp_path / "trace")
        stop = threading.Event()

        def take(it=it, stop=stop):
            while not stop.is_set():
                next(it)

        thread = threading.Thread(target=take)
        thread.start()
        assert it.doctor(seconds=0.2).bound == "pipeline"
        stop.set()
        thread.join()
        assert recording.stop()
        assert ps.report(it, tmp_path / "report.html").elements > 0
        it.close()
