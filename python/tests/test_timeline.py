"""Timelines, read with Perfetto's own schema."""

import pathlib
import subprocess
import sys
import textwrap
import threading
import time
from collections import defaultdict

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import penstock as ps

BEGIN = pb.TrackEvent.TYPE_SLICE_BEGIN
END = pb.TrackEvent.TYPE_SLICE_END
COUNTER = pb.TrackEvent.TYPE_COUNTER
INSTANT = pb.TrackEvent.TYPE_INSTANT


class Timeline:
    """A decoded trace; refuses one that breaks a rule of the format."""

    def __init__(self, path):
        trace = pb.Trace()
        trace.ParseFromString(pathlib.Path(path).read_bytes())
        self.tracks = {}  # uuid -> descriptor
        self.slices = []  # (track, name, begin, end, rows, flows)
        self.counters = defaultdict(list)  # name -> [(ts, value)]
        self.instants = []
        self.clocks = None
        state = {}  # of each sequence: defaults and interned names
        last = {}
        open_slices = defaultdict(list)
        flows = defaultdict(int)
        for packet in trace.packet:
            assert packet.WhichOneof("data") or packet.HasField("interned_data")
            if packet.HasField("track_descriptor"):
                descriptor = packet.track_descriptor
                assert descriptor.uuid not in self.tracks
                self.tracks[descriptor.uuid] = descriptor
                continue
            if packet.HasField("clock_snapshot"):
                self.clocks = {c.clock_id for c in packet.clock_snapshot.clocks}
                continue
            sequence = packet.trusted_packet_sequence_id
            assert sequence
            if packet.sequence_flags & 1:
                state[sequence] = (
                    packet.trace_packet_defaults,
                    {n.iid: n.name for n in packet.interned_data.event_names},
                    {
                        n.iid: n.name
                        for n in packet.interned_data.debug_annotation_names
                    },
                )
                continue
            assert packet.sequence_flags & 2
            defaults, names, annotations = state[sequence]
            assert defaults.timestamp_clock_id == 3
            assert packet.timestamp >= last.get(sequence, 0)
            last[sequence] = packet.timestamp
            event = packet.track_event
            track = event.track_uuid or defaults.track_event_defaults.track_uuid
            assert track in self.tracks
            name = names[event.name_iid] if event.name_iid else event.name
            notes = {
                annotations[a.name_iid]: a.int_value or a.string_value
                for a in event.debug_annotations
            }
            if event.type == BEGIN:
                assert name
                for flow in event.flow_ids:
                    flows[flow] += 1
                open_slices[track].append(
                    (name, packet.timestamp, notes, tuple(event.flow_ids))
                )
            elif event.type == END:
                begun, at, begun_notes, ids = open_slices[track].pop()
                self.slices.append(
                    (track, begun, at, packet.timestamp, begun_notes, ids)
                )
            elif event.type == COUNTER:
                assert self.tracks[track].HasField("counter")
                self.counters[self.tracks[track].name].append(
                    (packet.timestamp, event.counter_value)
                )
            else:
                assert event.type == INSTANT
                self.instants.append((name, notes))
        assert not any(open_slices.values()), "a slice that does not end"
        for descriptor in self.tracks.values():
            assert not descriptor.parent_uuid or descriptor.parent_uuid in self.tracks
        assert all(times >= 2 for times in flows.values()), "a flow from nowhere"
        self.flows = flows

    def of(self, name):
        return [s for s in self.slices if s[1] == name]

    def rows(self, name):
        return sum(s[4].get("rows", 0) for s in self.of(name))

    def is_thread(self, track):
        return self.tracks[track].HasField("thread")

    def name(self, track):
        descriptor = self.tracks[track]
        return descriptor.name or descriptor.thread.thread_name


def test_a_block_records_every_row_of_every_stage(tmp_path):
    path = tmp_path / "t.perfetto-trace"
    ds = ps.Dataset.range(600).map(lambda x: x + 1).filter(lambda x: x % 2 == 0)
    with ps.trace(path) as trace:
        assert trace.running
        batches = list(ds.batch(32))
    assert not trace.running
    assert len(batches) == 10
    t = Timeline(path)
    assert t.rows("map#1") == 600
    assert t.rows("filter#2") == 300
    # The sequencer passes 300 rows on in groups; stacking makes 10 batches.
    assert t.rows("wait") == 10
    assert t.clocks == {1, 3, 6}
    processes = [d for d in t.tracks.values() if d.HasField("process")]
    assert len(processes) == 1


def test_slices_lie_on_real_threads_and_flow_to_the_batch(tmp_path):
    def slow(x):
        time.sleep(0.002)
        return {"x": x, "thread": threading.get_native_id()}

    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path):
        for batch in ps.Dataset.range(64).map(slow, executor="thread").batch(8):
            used = set(batch["thread"].tolist())
    t = Timeline(path)
    tids = {d.thread.tid for d in t.tracks.values() if d.HasField("thread")}
    assert used <= tids
    calls = t.of("map#1")
    assert all(t.is_thread(s[0]) for s in calls)
    # A call took as long as it slept.
    assert max(s[3] - s[2] for s in calls) >= 2_000_000
    # Every batch is reached by a flow of a map.
    made = {flow for s in calls for flow in s[5]}
    stacked = [s for s in t.of("batch#2") if set(s[5]) & made]
    assert len(stacked) >= 8
    # And every batch flows on to the consumer.
    steps = [s for s in t.of("step") if s[5]]
    assert steps
    for step in steps:
        ends = [s for s in t.of("batch#2") if set(s[5]) & set(step[5])]
        assert ends and all(s[3] <= step[2] for s in ends)


def test_the_consumers_steps_and_waits_alternate(tmp_path):
    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path):
        for _ in ps.Dataset.range(5).batch(1):
            time.sleep(0.01)
    t = Timeline(path)
    consumer = sorted(
        (s for s in t.slices if t.name(s[0]) == "consumer"), key=lambda s: s[2]
    )
    assert {s[1] for s in consumer} == {"wait", "step"}
    for a, b in zip(consumer, consumer[1:]):
        assert a[3] <= b[2]
    assert sum(s[3] - s[2] for s in t.of("step")) >= 10_000_000


def test_counters_show_queues_memory_and_width(tmp_path):
    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path):
        it = iter(
            ps.Dataset.range(100).map(
                lambda x: time.sleep(0.01) or x, executor="thread"
            )
        )
        next(it)
        time.sleep(0.3)  # the queue fills
        it.close()
    t = Timeline(path)
    assert max(v for _, v in t.counters["queue map#1"]) > 0
    assert max(v for _, v in t.counters["held"]) > 0
    assert max(v for _, v in t.counters["running map#1"]) > 2
    assert max(v for _, v in t.counters["width map#1"]) > 2
    units = {d.name: d.counter.unit for d in t.tracks.values() if d.HasField("counter")}
    assert units["held"] == pb.CounterDescriptor.UNIT_SIZE_BYTES
    assert units["width map#1"] == pb.CounterDescriptor.UNIT_COUNT
    # Why the width grew stands beside it.
    assert any("map#1" in name and notes["reason"] for name, notes in t.instants)


def test_one_iterator_is_written_when_its_data_ends(tmp_path):
    path = tmp_path / "one.perfetto-trace"
    it = iter(ps.Dataset.range(10).map(lambda x: x * 2).prefetch(0))
    trace = ps.trace(it, path)
    assert not path.exists()
    assert [int(x) for x in it] == [2 * x for x in range(10)]
    assert path.exists() and not trace.running
    assert Timeline(path).rows("map#1") == 10


def test_one_iterator_is_written_when_it_is_closed(tmp_path):
    path = tmp_path / "one.perfetto-trace"
    it = iter(ps.Dataset.counter().map(lambda x: x * 2).prefetch(0))
    ps.trace(it, path)
    for _ in range(3):
        next(it)
    it.close()
    assert Timeline(path).rows("map#1") >= 3


def test_an_iterator_that_is_dropped_in_the_middle_is_in_the_trace(tmp_path):
    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path):
        for x in ps.Dataset.counter().map(lambda x: x + 1).prefetch(0):
            if int(x) == 5:
                break
    assert Timeline(path).rows("map#1") >= 5


def test_stop_ends_the_recording_and_the_iterator_goes_on(tmp_path):
    path = tmp_path / "one.perfetto-trace"
    it = iter(ps.Dataset.counter())
    trace = ps.trace(it, path)
    next(it)
    assert trace.stop() == str(path)
    written = path.read_bytes()
    assert int(next(it)) == 1
    it.close()
    assert path.read_bytes() == written
    assert trace.stop() == str(path)


def test_several_iterators_and_nested_ones_share_the_file(tmp_path):
    def inner(x):
        return sum(int(y) for y in ps.Dataset.range(3).map(lambda y: y + 1))

    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path):
        first = [int(x) for x in ps.Dataset.range(4).map(inner, executor="thread")]
        second = list(ps.Dataset.range(7).batch(2))
    assert first == [6] * 4 and len(second) == 4
    t = Timeline(path)
    groups = [d.name for d in t.tracks.values() if d.name.startswith("pipeline")]
    assert len(groups) == 6
    assert len(set(groups)) == 6


def test_two_traces_of_one_iterator_are_refused(tmp_path):
    it = iter(ps.Dataset.counter())
    with ps.trace(it, tmp_path / "a"):
        with pytest.raises(ValueError, match="recorded already"):
            ps.trace(it, tmp_path / "b")
    with ps.trace(it, tmp_path / "b"):
        next(it)
    assert (tmp_path / "b").exists()


def test_two_traces_of_all_iterators_are_refused(tmp_path):
    with ps.trace(tmp_path / "a"):
        with pytest.raises(ValueError, match="every new iterator is recorded already"):
            ps.trace(tmp_path / "b")
        list(ps.Dataset.range(3))
    with ps.trace(tmp_path / "b"):
        list(ps.Dataset.range(3))
    assert (tmp_path / "a").stat().st_size > 0 < (tmp_path / "b").stat().st_size


def test_a_trace_is_written_where_it_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recording = ps.trace("here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert recording.stop() == str(tmp_path / "here")
    assert (tmp_path / "here").exists()


def test_arguments_are_checked_at_once(tmp_path):
    it = iter(ps.Dataset.range(3))
    with pytest.raises(FileNotFoundError, match="no folder"):
        ps.trace(it, tmp_path / "absent" / "file")
    with pytest.raises(TypeError, match="path"):
        ps.trace(it)
    with pytest.raises(ValueError, match="events_per_thread must be >= 1, got 0"):
        ps.trace(tmp_path / "x", events_per_thread=0)
    with pytest.raises(TypeError, match="events_per_thread must be an int"):
        ps.trace(tmp_path / "x", events_per_thread=2.5)
    with pytest.raises(ValueError, match="events_per_thread must be <="):
        ps.trace(tmp_path / "x", events_per_thread=2**40)
    for wrong in (lambda: ps.trace(it, tmp_path), lambda: ps.trace(tmp_path)):
        with pytest.raises(IsADirectoryError, match="is a folder"):
            wrong()
    it.close()
    with pytest.raises(ps.Error, match="closed"):
        ps.trace(it, tmp_path / "x")


def test_a_full_ring_keeps_a_valid_rest(tmp_path):
    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path, events_per_thread=50):
        n = sum(1 for _ in ps.Dataset.range(3000).map(lambda x: x).batch(1))
    assert n == 3000
    assert 0 < len(Timeline(path).slices) < 1000


def test_an_unfinished_trace_is_written_at_exit(tmp_path):
    path = tmp_path / "exit.perfetto-trace"
    program = textwrap.dedent(f"""
        import penstock as ps
        it = iter(ps.Dataset.counter().map(lambda x: x + 1).prefetch(0))
        ps.trace(it, {str(path)!r})
        for _ in range(10): next(it)
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert Timeline(path).rows("map#1") >= 10


def test_a_trace_ends_with_the_restart_of_its_iterator(tmp_path):
    path = tmp_path / "t.perfetto-trace"
    with ps.trace(path):
        it = iter(ps.Dataset.range(20).map(lambda x: x))
        state = it.state_dict()
        first = [int(x) for x in it]
        it.load_state_dict(state)
        assert [int(x) for x in it] == first
    assert Timeline(path).rows("map#1") == 40


def add_one(x):
    return x + 1


def test_processes_nested_datasets_and_a_device_are_in_one_valid_trace(tmp_path):
    def nested(i):
        return ps.Dataset.range(6).interleave(
            lambda j: ps.Dataset.range(2), cycle_length=2
        )

    ds = ps.Dataset.range(4).interleave(nested, cycle_length=2)
    ds = ds.map(add_one, executor="process", name="far").batch(8)
    path = tmp_path / "t"
    with ps.trace(path):
        assert len(list(ds.prefetch_to_device(lambda batch: batch))) == 6
    t = Timeline(path)
    assert t.rows("map#2:far") == 48
    assert t.of("interleave#1") and t.of("interleave#1.interleave#1")
    assert t.rows("wait") == 6  # of the thread that copies
