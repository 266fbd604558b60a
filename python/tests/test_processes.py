"""Functions in worker processes."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import penstock as ps

process = functools.partial(ps.Dataset.map, executor="process")


def ints(ds):
    return [int(x) for x in ds]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_runs_in_other_processes_in_order():
    offset = 5

    def fn(x):
        return x + offset, os.getpid()

    pairs = process(ps.Dataset.range(500), fn).to_list()
    assert [int(x) for x, _ in pairs] == list(range(5, 505))
    assert os.getpid() not in {int(p) for _, p in pairs}


def test_values_cross_as_they_are():
    def fn(d):
        d["a"] += 1  # arguments belong to the call
        return {
            "a": d["a"],
            "s": d["s"] + b"!",
            "t": (np.float32(1.5), None, True),
            "many": np.array([b"x", b"", b"yz\0"], object),
            "ragged": ps.Ragged([1, 2, 3], [0, 2, 3]),
            "empty": np.zeros((0, 3), np.int16),
        }

    value = {"a": np.arange(6.0).reshape(2, 3), "s": "ä"}
    (out,) = process(ps.Dataset.from_tensors(value), fn).to_list()
    np.testing.assert_array_equal(out["a"], np.arange(6.0).reshape(2, 3) + 1)
    assert out["s"] == "ä".encode() + b"!"
    assert out["t"] == (1.5, None, True) and type(out["t"][0]) is np.float32
    assert out["many"].tolist() == [b"x", b"", b"yz\0"]
    assert out["ragged"].to_list() == [[1, 2], [3]]
    assert out["empty"].shape == (0, 3) and out["empty"].dtype == np.int16
    assert value["a"][0, 0] == 0


def test_results_of_any_size_come_back_right():
    ds = process(ps.Dataset.range(12), lambda x: np.full(int(4 ** (x % 11)), x))
    arrays = ds.to_list()
    for i, array in enumerate(arrays):
        assert array.shape == (4 ** (i % 11),) and (array == i).all()


def test_arrays_over_shared_memory_stay_valid():
    it = iter(process(ps.Dataset.range(40), lambda x: np.full(1 << 17, x)))
    held = [next(it) for _ in range(10)]
    rest = [int(x[0]) for x in it]
    del it
    assert rest == list(range(10, 40))
    for i, array in enumerate(held):
        assert (array == i).all()
    held[0][:] = 7
    assert (held[1] == 1).all()


def test_filters_and_keys_run_there_too():
    ds = ps.Dataset.range(20)
    assert ints(ds.filter(lambda x: x % 3 == 0, executor="process")) == list(
        range(0, 20, 3)
    )


def test_an_exception_comes_back_with_its_type_and_traceback():
    class Mine(Exception):
        pass

    def fails(x):
        if x == 4:
            raise Mine("four", int(x))
        return x

    it = iter(process(ps.Dataset.range(8), fails, name="f"))
    got = []
    with pytest.raises(Mine) as info:
        for x in it:
            got.append(int(x))
    assert got == [0, 1, 2, 3] and info.value.args == ("four", 4)
    assert info.value.__notes__ == ["penstock: in map#1:f, element 4, executor process"]
    assert "in fails" in str(info.value.__cause__)
    assert ints(it) == [5, 6, 7]


def test_exceptions_keep_their_type_whatever_their_init_takes():
    class Odd(Exception):
        def __init__(self, a, *, b):
            super().__init__("odd one", threading.Lock())
            self.lock = threading.Lock()
            self.b = b

    def fails(x):
        raise Odd(1, b=2)

    with pytest.raises(Odd, match="odd one") as info:
        list(process(ps.Dataset.range(2), fails))
    assert info.value.b == 2 and not hasattr(info.value, "lock")
    assert info.value.args[1].startswith("<unlocked _thread.lock")
    assert "in fails" in str(info.value.__cause__)


def test_exceptions_that_do_not_pickle_are_told():
    class Odd(Exception):
        lock = threading.Lock()

    def fails(x):
        Odd.lock = threading.Lock()  # made there
        raise Odd("odd one")

    del Odd.lock
    with pytest.raises(ps.WorkerError, match="odd one"):
        list(process(ps.Dataset.range(2), fails))


def test_what_does_not_pickle_is_named_when_the_graph_is_built():
    lock = threading.Lock()

    def fn(x):
        with lock:
            return x

    with pytest.raises(
        ValueError, match=r"map: fn cannot be pickled.*lock \(a _thread"
    ):
        process(ps.Dataset.range(3), fn)


def test_results_that_are_no_elements_name_stage_and_element():
    for fn, why in (
        (lambda x: 1j, "complex128 is not supported"),
        (lambda x: {1: x}, "keys of a dict must be str"),
    ):
        with pytest.raises(
            ps.InvalidArgumentError, match=f"^map#1: element 0: .*{why}"
        ):
            process(ps.Dataset.range(2), fn).to_list()


def test_random_values_are_those_of_threads():
    def draw(x):
        return ps.random.generator().random()

    def values(executor):
        ds = ps.Dataset.range(200).map(draw, executor=executor)
        return ds.with_options(ps.Options(seed=3)).to_list()

    assert values("process") == values("thread")


def test_a_dead_worker_costs_one_more_try(tmp_path):
    flag = tmp_path / "died"

    def fn(x):
        if x == 7 and not flag.exists():
            flag.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    assert ints(process(ps.Dataset.range(20), fn)) == list(range(20))


def test_a_row_that_kills_is_an_error_and_the_others_are_not():
    def fn(x):
        if x == 7:
            os.kill(os.getpid(), signal.SIGSEGV)
        if x == 11:
            os._exit(3)
        return x

    ds = process(ps.Dataset.range(20), fn, name="deadly")
    it = iter(ds)
    got, errors = [], []
    while True:
        try:
            got.append(int(next(it)))
        except ps.WorkerError as error:
            errors.append(error)
        except StopIteration:
            break
    assert got == [x for x in range(20) if x not in (7, 11)]
    assert "SIGSEGV (signal 11)" in str(errors[0])
    assert errors[0].stage == "map#1:deadly" and errors[0].element == "7"
    assert "exited with code 3" in str(errors[1]) and errors[1].element == "11"


def test_a_hung_call_is_ended():
    def fn(x):
        if x == 2:
            time.sleep(1000)
        return x

    ds = process(ps.Dataset.range(5), fn).with_options(ps.Options(worker_timeout=0.5))
    it = iter(ds)
    assert [int(next(it)), int(next(it))] == [0, 1]
    with pytest.raises(ps.WorkerError, match="worker_timeout"):
        next(it)
    assert ints(it) == [3, 4]


def test_a_time_limit_is_that_of_the_iterator():
    ds = process(ps.Dataset.range(1), lambda x: time.sleep(0.6) or x)
    limited = ds.with_options(ps.Options(worker_timeout=0.2))
    with pytest.raises(ps.WorkerError, match="worker_timeout"):
        limited.to_list()
    assert ints(ds) == [0]


def test_the_rest_of_a_block_that_takes_too_long_goes_to_other_workers():
    def fn(x):
        if 3000 <= x < 3030:
            time.sleep(0.1)
        return x, os.getpid()

    ds = process(ps.Dataset.range(5000), fn, num_parallel_calls=2)
    pairs = ds.to_list()
    assert [int(x) for x, _ in pairs] == list(range(5000))
    assert len({int(pid) for _, pid in pairs[3000:3030]}) == 2
    calls = iter(ds)
    assert sum(1 for _ in calls) == calls.stats().python[0].calls == 5000


def test_closing_ends_running_calls_at_once():
    it = iter(process(ps.Dataset.range(5), lambda x: time.sleep(1000)))
    time.sleep(0.5)
    begin = time.monotonic()
    it.close()
    assert time.monotonic() - begin < 5


def test_num_parallel_calls_is_a_cap():
    ds = process(ps.Dataset.range(60), lambda x: os.getpid(), num_parallel_calls=1)
    assert len(set(ints(ds))) >= 1
    assert ints(
        process(ps.Dataset.range(9), lambda x: x, num_parallel_calls=3)
    ) == list(range(9))


def nap_and_tell(x, seconds=0.2):
    began = time.monotonic()
    time.sleep(seconds)
    return began, time.monotonic()


def most_at_once(spans):
    """The largest number of (begin, end) that have a moment in common."""
    events = sorted([(b, 1) for b, _ in spans] + [(e, -1) for _, e in spans])
    most = now = 0
    for _, change in events:
        now += change
        most = max(most, now)
    return most


def test_calls_that_wait_have_as_many_workers_as_they_may():
    width = 4 * len(os.sched_getaffinity(0))
    ds = ps.Dataset.range(4 * width).map(
        nap_and_tell, executor="process", num_parallel_calls=width
    )
    most, end = 0, time.monotonic() + 30  # until all workers have started
    while most < width and time.monotonic() < end:
        most = most_at_once(list(ds))
        assert most <= width
    assert most == width


def test_one_worker_is_one_at_a_time():
    ds = ps.Dataset.range(5).map(nap_and_tell, executor="process", num_parallel_calls=1)
    assert most_at_once(list(ds)) == 1


def test_calls_that_wait_in_workers_leave_the_cores_to_others():
    """As many as there are cores, all asleep: a map in threads goes on."""
    cores = len(os.sched_getaffinity(0))

    asleep = ps.Dataset.range(20 * cores).map(
        lambda x: nap_and_tell(x, 0.8),
        executor="process",
        num_parallel_calls=cores,
    )
    with asleep.iterator() as it:
        for _ in range(2 * cores):  # the workers have started
            next(it)
        for tenth in itertools.cycle(range(1, 7)):
            time.sleep(tenth / 10)  # into the next calls, whenever they began
            began = time.monotonic()
            list(ps.Dataset.range(1).map(lambda x: hash(int(x)), executor="thread"))
            done = time.monotonic()
            spans = list(itertools.islice(it, cores))
            met = all(b < began and done < e for b, e in spans)
            if met or not spans:
                break
    assert met and spans


@pytest.mark.parametrize("signature", [None, ps.TensorSpec((), ps.int64)])
def test_workers_forget_functions_of_datasets_that_are_gone(tmp_path, signature):
    path = tmp_path / "gone"
    path.touch()

    class Told:
        def __init__(self):
            self.path = path

        def __del__(self):
            with open(self.path, "a") as f:
                f.write(f"{os.getpid()}\n")

    def dataset(told):
        def fn(x):
            return os.getpid() if told else 0

        return process(ps.Dataset.range(4), fn, output_signature=signature)

    ds = dataset(Told())
    workers = {str(pid) for pid in ints(ds)}
    assert ints(ds) and not workers & set(path.read_text().split())
    del ds
    until = time.monotonic() + 30
    while not workers <= set(path.read_text().split()):
        gc.collect()
        assert time.monotonic() < until, "the worker kept it"
        time.sleep(0.01)


def test_datasets_with_processes_pickle_and_resume():
    ds = process(ps.Dataset.range(30), lambda x: x * 2)
    again = pickle.loads(pickle.dumps(ds))
    it = iter(again)
    head = [int(next(it)) for _ in range(11)]
    assert head + ints(ds.iterator(it.state_dict())) == [2 * x for x in range(30)]


def test_main_and_notebook_functions_cross(run_program):
    done = run_program("""
        import penstock as ps
        FACTOR = 3
        def helper(x):
            return x * FACTOR
        class Op:
            def __call__(self, x):
                return helper(x) + 1
        ds = ps.Dataset.range(4).map(Op(), executor="process")
        print([int(x) for x in ds])
    """)
    assert done.stdout.strip() == "[1, 4, 7, 10]"
    assert done.stderr == ""


WORKER_PIDS = """
    import os, sys, time
    import penstock as ps
    ds = ps.Dataset.counter().map(lambda x: os.getpid(), executor="process")
    it = iter(ds)
    print(len({int(next(it)) for _ in range(50)}), flush=True)
    print(*{int(next(it)) for _ in range(50)}, flush=True)
"""


def wait_gone(pids):
    end = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(alive(pid) for pid in pids)


def test_functions_with_a_cache_cross_by_value(run_program):
    done = run_program(
        """
        import functools, pickle
        import penstock as ps

        @functools.lru_cache(maxsize=None)
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        def helped(x):
            return fib(int(x)) + 1

        def local():
            @functools.lru_cache
            def twice(x):
                return 2 * int(x)
            return twice

        numbers = ps.Dataset.range(10)
        for fn in (fib, helped, local()):
            there = numbers.map(fn, executor="process")
            print([int(x) for x in there])
            assert pickle.loads(pickle.dumps(there)).to_list() == there.to_list()
        """
    )
    assert done.stdout.splitlines() == [
        "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]",
        "[1, 2, 2, 3, 4, 6, 9, 14, 22, 35]",
        "[0, 2, 4, 6, 8, 10, 12, 14, 16, 18]",
    ]


def test_workers_end_with_the_program(run_program):
    done = run_program(WORKER_PIDS)
    assert done.stderr == ""
    assert wait_gone([int(p) for p in done.stdout.splitlines()[-1].split()])


def test_workers_end_with_a_killed_program(run_program):
    done = run_program(WORKER_PIDS + "    os.kill(os.getpid(), 9)\n", expect=-9)
    assert wait_gone([int(p) for p in done.stdout.splitlines()[-1].split()])


def test_workers_see_directory_environment_and_path(run_program, tmp_path):
    (tmp_path / "my_helper.py").write_text("def f(x):\n    return x + 40\n")
    done = run_program(
        f"""
        import os, sys
        os.chdir({str(tmp_path)!r})
        sys.path.insert(0, {str(tmp_path)!r})
        os.environ["MY_SETTING"] = "set"
        import my_helper, penstock as ps
        def fn(x):
            return my_helper.f(x), os.getcwd(), os.environ["MY_SETTING"]
        print(ps.Dataset.range(1).map(fn, executor="process").to_list())
        """
    )
    assert str(tmp_path) in done.stdout and "(np.int64(40)" in done.stdout
    assert "b'set'" in done.stdout


def test_workers_follow_directory_environment_and_path(tmp_path, monkeypatch):
    def fn(x):
        import surroundings_of_a_test

        return os.getcwd(), os.environ["PENSTOCK_TEST"], surroundings_of_a_test.NAME

    ds = process(ps.Dataset.range(3), fn)
    for name in ("one", "two"):
        where = tmp_path / name
        where.mkdir()
        (where / "surroundings_of_a_test.py").write_text(f"NAME = {name!r}")
        with monkeypatch.context() as patch:
            patch.chdir(where)
            patch.setenv("PENSTOCK_TEST", name)
            patch.syspath_prepend(where)
            expected = (str(where).encode(), name.encode(), name.encode())
            assert ds.to_list() == [expected] * 3


def ones(mebibytes):
    return lambda x: np.ones(mebibytes << 17)


def pages_of_a_result():
    """Pages that are new to a worker for each MiB it gives: 256 were they all."""
    result = np.ones(1 << 17)

    def faults(x):
        import os
        import resource

        result[:2] = os.getpid(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        return result

    seen = {}
    for i, x in enumerate(process(ps.Dataset.range(2000), faults)):
        if i >= 1000:  # by then each worker has seen all that is kept
            seen.setdefault(x[0], []).append(x[1])
    return sum(counts[-1] - counts[0] for counts in seen.values()) / 1000


def shared_bytes():
    """Of the pages behind the memory that is shared with workers."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if "memfd:penstock" in os.readlink(f"/proc/self/fd/{name}"):
                return os.stat(f"/proc/self/fd/{name}").st_blocks * 512
    raise AssertionError("there is no shared memory")


def wait_until_shared(most):
    for _ in range(1000):
        if shared_bytes() <= most:
            return
        time.sleep(0.01)
    assert shared_bytes() <= most


def test_shared_memory_is_used_again_after_a_burst():
    """Pages beyond what is kept idle go back to the system; later results of the
    same size are written where pages are."""
    held = process(ps.Dataset.range(300), ones(1)).to_list()
    assert shared_bytes() > 250 << 20
    del held
    # Running far ahead, as beside other load, costs pages too, but not each time.
    assert any(pages_of_a_result() < 128 for _ in range(10))
    wait_until_shared(160 << 20)


def test_shared_memory_for_results_of_another_size_is_kept_as_well():
    held = process(ps.Dataset.range(40), ones(8)).to_list()
    del held
    wait_until_shared(160 << 20)  # full of ranges that nobody asks for now
    assert any(pages_of_a_result() < 128 for _ in range(10))


def test_prefetch_zero_starts_no_call_after_next(tmp_path):
    log = tmp_path / "calls"
    log.touch()

    def fn(x):
        with open(log, "a") as file:
            file.write("x")
        time.sleep(0.005)
        return x

    for calls in (ps.AUTOTUNE, 3):
        log.write_text("")
        ds = ps.Dataset.range(100).map(fn, calls, executor="process").prefetch(0)
        it = iter(ds)
        for i in range(1, 11):
            assert int(next(it)) == i - 1
            assert len(log.read_text()) == i
            time.sleep(0.01)
            assert len(log.read_text()) == i
        it.close()
