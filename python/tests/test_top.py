"""`penstock top` and the socket behind it."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
import textwrap
import time

import pytest
from penstock.cli import _top as cli_top
from penstock.cli._output import Output

import penstock as ps
from penstock import _top

PROGRAM = textwrap.dedent("""
    import time
    import penstock as ps
    ds = ps.Dataset.counter().map(lambda x: time.sleep(0.002) or x, name="slow")
    with ds.batch(4).iterator() as it:
        print("ready", flush=True)
        for batch in it:
            time.sleep(0.005)
""")


@pytest.fixture
def private(tmp_path, monkeypatch):
    """Sockets in a folder of this test."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    _top.stop()
    yield tmp_path / "penstock"
    _top.stop()


def wait_for_the_socket(pid):
    """It listens a moment after the first iterator was made."""
    end = time.monotonic() + 30
    while True:
        try:
            return _top.ask(pid)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


@pytest.fixture
def running(private):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    wait_for_the_socket(process.pid)
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def top(*args):
    return subprocess.run(
        [sys.executable, "-m", "penstock", "top", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_shows_a_running_process(running):
    done = top(running.pid, "--interval", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    (process,) = json.loads(done.stdout)["processes"]
    assert process["pid"] == running.pid
    (it,) = process["iterators"]
    assert it["output"] == "batch#2"
    assert it["rate"] > 1
    stages = [s["stage"] for s in it["stages"]]
    assert stages == ["counter#0", "map#1:slow", "batch#2"]  # sources first
    slow = it["stages"][1]
    assert slow["rate"] > it["rate"]
    assert slow["busy"] > 0.1


def test_without_a_number_it_finds_all_and_prints_a_table(running):
    done = top("--interval", "0.2")
    assert done.returncode == 0, done.stderr
    assert f"process {running.pid}" in done.stdout
    assert "map#1:slow" in done.stdout and "consumer waits" in done.stdout
    assert "\033" not in done.stdout


def test_the_socket_is_private_and_goes_with_the_process(private):
    with ps.Dataset.range(3).iterator() as it:
        next(it)
        wait_for_the_socket(os.getpid())
        path = private / f"{os.getpid()}.sock"
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert _top.ask(os.getpid())["pid"] == os.getpid()
    _top.stop()
    assert not path.exists()


def test_another_user_gets_no_answer(private, monkeypatch):
    with ps.Dataset.range(3).iterator():
        wait_for_the_socket(os.getpid())
        monkeypatch.setattr(_top, "peer_uid", lambda connection: 12345)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(private / f"{os.getpid()}.sock"))
            try:
                client.sendall(b"snapshot\n")
                answer = client.recv(100)
            except ConnectionError:
                answer = b""
        assert answer == b""
        with pytest.raises(PermissionError, match="another user"):
            _top.ask(os.getpid())


def test_a_peer_is_known_by_the_kernel():
    a, b = socket.socketpair()
    with a, b:
        assert _top.peer_uid(a) == os.geteuid()


def test_a_folder_that_others_can_enter_is_refused(private):
    private.mkdir(mode=0o755)
    private.chmod(0o755)
    with pytest.raises(PermissionError, match="open to other users"):
        _top.checked_folder(create=True)
    # And the pipeline runs all the same.
    assert len(list(ps.Dataset.range(3))) == 3
    assert list(private.iterdir()) == []


def test_a_link_in_place_of_the_folder_is_refused(private, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    private.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="not a folder"):
        _top.checked_folder(create=True)


def test_nonsense_is_not_answered(private):
    with ps.Dataset.range(3).iterator():
        wait_for_the_socket(os.getpid())
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(private / f"{os.getpid()}.sock"))
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert client.recv(100) == b""
        assert _top.ask(os.getpid())["version"] == 1


def test_dead_processes_are_cleared_away(private):
    private.mkdir(mode=0o700)
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    left = private / f"{dead.stdout.strip()}.sock"
    left.touch()
    assert _top.processes() == []
    assert not left.exists()


def test_it_can_be_turned_off(private):
    program = PROGRAM.replace('print("ready", flush=True)', "break_now = True").replace(
        "time.sleep(0.005)", "break"
    )
    environment = {**os.environ, "PENSTOCK_TOP": "0"}
    subprocess.run(
        [sys.executable, "-c", program], check=True, env=environment, timeout=60
    )
    assert not private.exists()


def test_a_process_that_cannot_be_asked_is_code_2(private):
    done = top(1, "--interval", "0.1")
    assert done.returncode == 2
    assert "process 1 cannot be asked" in done.stderr


def test_a_busy_process_still_answers(private):
    def spin(x):
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass
        return x

    with ps.Dataset.counter().map(spin, executor="thread").iterator() as it:
        next(it)
        wait_for_the_socket(os.getpid())
        assert _top.ask(os.getpid())["iterators"][-1]["output"] == "map#1"


def snapshot(elements):
    stages = [
        {"stage": f"map#{i}", "elements": elements, "busy_ns": i * elements,
         "parallelism": 0, "width": 0, "blocking": False}
        for i in range(60)
    ]  # fmt: skip
    it = {"number": 1, "output": "map#59", "elements": elements, "elapsed_ns": 10**9,
          "consumer_wait_ns": 0, "consumer_think_ns": elements, "bytes_held": 0,
          "memory_budget": 1, "stages": stages, "pipes": []}  # fmt: skip
    return {"pid": 1, "command": ["a"], "time": float(elements), "iterators": [it]}


def test_an_iterator_that_goes_back_has_no_negative_rate():
    view = cli_top.difference(snapshot(9), snapshot(4))
    (it,) = view["iterators"]
    assert it["rate"] == 0 and it["stages"][0]["rate"] == 0


def test_a_screen_shows_the_busiest_stages_of_a_long_pipeline(monkeypatch, capsys):
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("COLUMNS", "100")
    views = [cli_top.difference(snapshot(4), snapshot(9))]
    views[0]["command"] = ["argument"] * 100
    cli_top._print(views, Output(), cli_top._fitting(views))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 29
    assert len(lines[0]) == 100 and lines[0].endswith("...")
    assert "map#59" in lines[-2] and "map#0" not in lines[3]
    assert re.fullmatch(r"  and \d+ stages that did no more", lines[-1])
