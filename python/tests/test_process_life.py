"""Ctrl-C, interpreter exit, fork, daemon threads: no hang, no crash, no noise."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest

ENDLESS = """
    import time, threading, os, sys
    import penstock as ps
    def fn(x):
        return sum(range(100)) + x
    ds = ps.Dataset.counter().map(fn, executor="thread").batch(8)
"""


def quiet(done):
    assert done.stderr == "", done.stderr


def test_exit_while_an_iterator_runs(run_program):
    quiet(run_program(ENDLESS + "    it = iter(ds)\n    next(it)\n"))


def test_exit_with_an_iterator_in_a_cycle(run_program):
    quiet(
        run_program(
            ENDLESS
            + """
    class Holder: pass
    h = Holder(); h.self = h; h.it = iter(ds); next(h.it)
    """
        )
    )


def test_exit_while_a_function_sleeps(run_program):
    quiet(
        run_program(
            """
    import time, penstock as ps
    def slow(x):
        time.sleep(100 if x else 0)
        return x
    it = iter(ps.Dataset.range(10).map(slow, executor="thread"))
    next(it)
    """,
            timeout=20,
        )
    )


def test_exit_while_a_daemon_thread_iterates(run_program):
    quiet(
        run_program(
            ENDLESS
            + """
    def consume():
        for x in ds: pass
    threading.Thread(target=consume, daemon=True).start()
    def wait_forever():
        def never(x):
            time.sleep(1000)
        for x in ps.Dataset.range(3).map(never, executor="thread"): pass
    threading.Thread(target=wait_forever, daemon=True).start()
    time.sleep(0.2)
    """,
            timeout=20,
        )
    )


def test_exit_while_threads_come_back_from_the_engine(run_program):
    for _ in range(8):  # each time another moment
        done = run_program(f"""
            import threading
            import penstock as ps

            def iterate():
                for _ in ps.Dataset.counter().batch(8):
                    pass

            def read():
                while True:
                    ps.io.read_file({__file__!r})

            for target in (iterate, read):
                threading.Thread(target=target, daemon=True).start()
            lane = ps.Dataset.counter().batch(8).prefetch_to_device(lambda b: b)
            it = iter(lane)
            for _ in range(100):
                next(it)
        """)
        assert done.stderr == ""


def test_a_thread_that_is_no_daemon_may_finish(run_program):
    done = run_program(
        """
    import threading, time, penstock as ps
    def consume():
        time.sleep(0.2)
        ds = ps.Dataset.range(1000).map(lambda x: x + 1, executor="thread")
        print(sum(int(x) for x in ds))
    threading.Thread(target=consume).start()
    """
    )
    assert done.stdout.strip() == "500500"
    quiet(done)


def test_pipelines_where_the_system_gives_no_more_threads(run_program):
    done = run_program(
        """
    import os, resource, time, penstock as ps
    def slow(x):
        time.sleep(0.01)
        return x
    ds = ps.Dataset.range(20).map(slow, executor="thread")
    ds.take(1).to_list()
    if os.geteuid() == 0:
        os.setgid(61234); os.setuid(61234)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    print(sum(int(x) for x in ds), ds[3])
    """,
        PENSTOCK_TOP="0",  # its imports may lie where this user may not read
    )
    assert done.stdout.strip() == "190 3"
    quiet(done)


def test_exit_by_exception_and_sys_exit(run_program):
    done = run_program(
        ENDLESS + "    it = iter(ds); next(it)\n    sys.exit(3)\n", expect=3
    )
    quiet(done)
    done = run_program(ENDLESS + "    it = iter(ds); next(it)\n    1 / 0\n", expect=1)
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


def test_atexit_handlers_may_iterate(run_program):
    done = run_program(
        """
    import atexit, penstock as ps
    ds = ps.Dataset.range(4).map(lambda x: x * 2, executor="thread")
    atexit.register(lambda: print([int(x) for x in ds]))
    """
    )
    assert done.stdout.strip() == "[0, 2, 4, 6]"


def test_fork_in_the_users_program(run_program):
    done = run_program(
        ENDLESS
        + """
    it = iter(ds); first = next(it)
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(100000): next(it)
            print("child went on")
        except ps.FailedPreconditionError as e:
            print("child refused", flush=True)
        new = ps.Dataset.range(5).map(fn, executor="thread")
        print("child", sum(1 for _ in new), flush=True)
        del it
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    for _ in range(100): next(it)
    print("parent", os.waitstatus_to_exitcode(status))
    """
    )
    assert done.stdout.splitlines() == ["child refused", "child 5", "parent 0"]


def test_multiprocessing_pool_inside_a_function(run_program):
    done = run_program(
        """
    import multiprocessing, penstock as ps
    def square(x):
        return x * x
    def total(n):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return sum(pool.map(square, range(int(n))))
    if __name__ == "__main__":
        ds = ps.Dataset.from_tensor_slices([3, 4]).map(total, executor="thread")
        print([int(x) for x in ds])
    """
    )
    assert done.stdout.strip() == "[5, 14]"


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(1000)",
        "threading.Event().wait()",
        "while True: pass",
    ],
)
def test_ctrl_c_ends_a_waiting_next(body):
    ends_by_ctrl_c(
        f"""
        def stuck(x):
            {body}
        ds = ps.Dataset.range(3).map(stuck, executor="thread")
        """
    )


def test_ctrl_c_ends_a_next_that_works_itself():
    ends_by_ctrl_c(
        """
        ds = ps.Dataset.range(10**15).filter(lambda x: x < 0, executor="native")
        """
    )


@pytest.mark.parametrize(
    "stage",
    [
        "map(stuck, executor='thread')",
        "map(stuck, executor='process')",
        "map(slow, executor='thread').batch(1000)",
        "map(lambda x: ps.random.uniform((1 << 13,)).sum()).batch(10**5)",
    ],
)
def test_ctrl_c_ends_random_access(stage):
    ends_by_ctrl_c(
        f"""
        def stuck(x):
            time.sleep(1000)
        def slow(x):
            time.sleep(0.05)
            return x
        ds = ps.Dataset.range(10**6).{stage}
        """,
        "ds[0]",
    )


def test_random_access_starts_no_call_after_ctrl_c(run_program):
    done = run_program(
        """
        import signal, threading, time, penstock as ps
        signal.signal(signal.SIGINT, signal.default_int_handler)
        calls = []
        def slow(x):
            calls.append(int(x))
            if x == 2:
                signal.raise_signal(signal.SIGINT)
            time.sleep(0.05)
            return x
        ds = ps.Dataset.range(50).map(slow, executor="thread").batch(50)
        try:
            ds[0]
        except KeyboardInterrupt:
            time.sleep(1)
            print(max(calls) < 49)
        """
    )
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("shards", ["", ", 2", ", 2, lambda x: x % 2"])
def test_ctrl_c_ends_a_save(tmp_path, shards):
    ends_by_ctrl_c(
        """
        def slow(x):
            time.sleep(0.01)
            return x
        ds = ps.Dataset.range(10_000).map(slow, 1, executor="thread")
        """,
        f"ds.save({str(tmp_path / 'saved')!r}{shards})",
    )


def ends_by_ctrl_c(builds_ds, runs="next(iter(ds))"):
    source = textwrap.dedent(builds_ds)
    source = f"import threading, time, penstock as ps\n{source}" + textwrap.dedent(
        f"""
        try:
            print("ready", flush=True)
            {runs}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    program = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background with Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.monotonic()
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=20)
    assert out == "interrupted\n" and program.returncode == 0, err
    assert err == ""
    assert time.monotonic() - begin < 10


def test_import_is_light(run_program):
    done = run_program(
        """
    import sys, numpy
    before = set(sys.modules)
    import penstock
    new = {m.split(".")[0] for m in set(sys.modules) - before}
    print(sorted(new - set(sys.stdlib_module_names)))
    """
    )
    assert done.stdout.strip() == "['penstock']"
