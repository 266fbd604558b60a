"""`penstock doctor script.py` and `ps.report`."""

import json
import subprocess
import sys
import textwrap
import time

import pytest
from penstock.cli._output import Output

import penstock as ps

# What is measured here, others on the machine may disturb.
pytestmark = pytest.mark.flaky(reruns=2)

SLOW = """
    import sys, time
    import penstock as ps

    def slow(x):
        time.sleep(0.004)
        return x

    ds = ps.Dataset.range(int(sys.argv[1])).map(slow, num_parallel_calls=1).batch(4)
    for epoch in range(2):
        for batch in ds:
            pass
    print("trained", sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    def write(text):
        path = tmp_path / "train.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


def doctor(*args, cwd):
    return subprocess.run(
        [sys.executable, "-m", "penstock", "doctor", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cwd,
    )


COUNTED = """
    import penstock as ps

    calls = 0

    def parse(path):
        global calls
        calls += 1
        with open(path, "rb") as file:
            return len(file.read())

    def halves(x):
        y = sum(range(2000)) + x
        if x > 5:
            return y // 2
        return y

    files = ps.Dataset.from_list([__file__] * 400)
    for batch in files.map(parse, executor="thread").batch(4):
        pass
    for batch in ps.Dataset.range(4000).map(halves, executor="thread").batch(4):
        pass
    print("calls", calls)
"""


def test_what_the_doctor_tries_is_no_pipeline_of_the_script(script, tmp_path):
    done = doctor("--json", script(COUNTED), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not watched" not in done.stderr and "calls 400" in done.stderr
    assert len(json.loads(done.stdout)["pipelines"]) == 2


def test_it_runs_the_script_unchanged_and_says_what_limits_it(script, tmp_path):
    done = doctor("-o", "r.html", script(SLOW), "300", "--fast", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "trained ['300', '--fast']" in done.stdout
    # Two epochs, one pipeline.
    assert "--- pipeline 1 of 1: range#0 to batch#2, 2 iterators ---" in done.stdout
    assert "serial-stage at map#1" in done.stdout
    page = (tmp_path / "r.html").read_text()
    assert "serial-stage" in page and 'id="timeline"' in page


def test_json_keeps_the_scripts_words_apart(script, tmp_path):
    done = doctor("--json", "--no-report", script(SLOW), "300", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert "trained" in done.stderr
    (pipeline,) = result["pipelines"]
    assert pipeline["findings"][0]["code"] == "serial-stage"
    assert pipeline["bound"] == "pipeline"
    assert pipeline["file"] is None
    assert len(pipeline["samples"]) > 3
    assert sum(s["rate"] > 0 for s in pipeline["samples"]) > 3


def test_a_consumer_that_is_the_limit_gets_no_finding(script, tmp_path):
    text = SLOW.replace("num_parallel_calls=1", "").replace(
        "            pass", "            time.sleep(0.05)"
    )
    done = doctor("--json", "--no-report", script(text), "120", cwd=tmp_path)
    (pipeline,) = json.loads(done.stdout)["pipelines"]
    assert pipeline["bound"] == "consumer"
    assert pipeline["consumer"]["wait_share"] < 0.5
    assert not any(stage["limiting"] for stage in pipeline["stages"])


def test_a_loop_that_breaks_off_is_seen_too(script, tmp_path):
    text = SLOW.replace("            pass", "            if int(batch[0]) > 200: break")
    done = doctor("--no-report", script(text), "100000", cwd=tmp_path)
    assert "serial-stage at map#1" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "ending, code",
    [("sys.exit(7)", 7), ("raise ValueError('mine')", 1), ("sys.exit('why')", 1)],
)
def test_the_exit_code_is_the_scripts(script, tmp_path, ending, code):
    done = doctor("--no-report", script(SLOW + "    " + ending), "20", cwd=tmp_path)
    assert done.returncode == code
    if "mine" in ending:
        assert "ValueError: mine" in done.stderr
    assert "map#1" in done.stdout  # the verdict comes all the same


def test_a_module_and_a_script_without_a_pipeline(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "quiet.py").write_text("print('nothing here')")
    done = doctor("-m", "quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nothing here" in done.stdout and "ran no pipeline" in done.stdout
    assert doctor("absent.py", cwd=tmp_path).returncode == 2


def test_report_looks_back_at_an_iterator(tmp_path):
    def slow(x):
        time.sleep(0.005)
        return x

    it = iter(ps.Dataset.range(200).map(slow, num_parallel_calls=1).batch(2))
    for _ in it:
        pass
    time.sleep(0.3)  # after its end nobody waits any more
    report = ps.report(it, tmp_path / "r.html")
    assert report.elements == 100
    assert 0.9 <= report.seconds
    assert report.throughput == pytest.approx(100 / report.seconds)
    assert report.bound == "pipeline"
    assert report.findings[0].code == "serial-stage"
    assert report.verdict in (tmp_path / "r.html").read_text()


def test_report_tells_an_iterator_from_others_of_its_dataset(tmp_path):
    ds = ps.Dataset.range(50).map(lambda x: time.sleep(0.001) or x, executor="thread")
    for _ in range(3):
        list(ds)
    it = iter(ds)
    list(it)
    report = ps.report(it, tmp_path / "r.html")
    assert report.stage("map#1").elements == 50


def test_report_wants_an_iterator(tmp_path):
    it = iter(ps.Dataset.range(3))
    it.close()
    ps.report(it, tmp_path / "r.html")  # of what it had done
    assert "range#0" in (tmp_path / "r.html").read_text()
    with pytest.raises(TypeError, match="must be an Iterator, got Dataset"):
        ps.report(ps.Dataset.range(3), tmp_path / "r.html")


def test_a_terminal_breaks_prose_between_words_and_leaves_code(monkeypatch, capsys):
    prose = "  fix: leave the number out, the engine runs as many calls as help"
    code = "    | .map(fn)  # a line of code that is longer than the terminal is wide"
    monkeypatch.setenv("COLUMNS", "40")
    out = Output()
    out.text(f"{prose}\n{code}")
    assert capsys.readouterr().out == f"{prose}\n{code}\n"  # no terminal
    out._terminal = True
    out.text(f"{prose}\n{code}")
    assert capsys.readouterr().out.splitlines() == [
        "  fix: leave the number out, the engine",
        "    runs as many calls as help",
        code,
    ]


def test_options_of_the_script_are_left_to_it(script, tmp_path):
    text = "import sys\nprint('got', sys.argv[1:])\n"
    args = ["--n", "3", "--o", "x", "--no", "-m", "--json", "--output=y"]
    done = doctor("--no-report", script(text), *args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"got {args}" in done.stdout


def test_pipelines_that_differ_in_their_calls_are_shown_apart(script, tmp_path):
    text = """
        import time
        import penstock as ps

        def slow(x):
            time.sleep(0.004)
            return x

        for calls in (1, 2):
            for _ in ps.Dataset.range(200).map(slow, num_parallel_calls=calls):
                pass
    """
    done = doctor("--no-report", script(text), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pipeline 2 of 2" in done.stdout
    assert "serial-stage at map#1" in done.stdout
    assert "parallelism-capped at map#1" in done.stdout


def test_threads_of_the_script_are_watched_to_their_end(script, tmp_path):
    text = """
        import threading, time
        import penstock as ps

        def slow(x):
            time.sleep(0.004)
            return x

        def train():
            time.sleep(0.3)
            for x in ps.Dataset.range(150).map(slow, num_parallel_calls=1):
                pass

        threading.Thread(target=train).start()
    """
    done = doctor("--no-report", script(text), cwd=tmp_path)
    assert "serial-stage at map#1" in done.stdout, done.stdout + done.stderr


def test_output_is_checked_before_the_script_runs(script, tmp_path):
    for output, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent" / "r.html", "there is no folder"),
        ("/proc/r.html", "--output: /proc"),
    ):
        done = doctor("-o", output, script(SLOW), "20", cwd=tmp_path)
        assert done.returncode == 2 and message in done.stderr
        assert "trained" not in done.stdout


def test_what_the_script_does_to_the_output_does_not_cost_the_verdict(script, tmp_path):
    text = (
        SLOW
        + """
    import os
    os.mkdir("r.html")
    sys.exit(7)
    """
    )
    done = doctor("-o", "r.html", script(text), "20", cwd=tmp_path)
    assert done.returncode == 7
    assert "map#1" in done.stdout and "r.html: Is a directory" in done.stderr


def test_paths_are_those_of_the_start(script, tmp_path):
    text = """
        import os
        import penstock as ps
        print("file", __file__)
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        list(ps.Dataset.range(3))
    """
    script(text)
    done = doctor("-o", "r.html", "train.py", cwd=tmp_path)
    assert f"file {tmp_path / 'train.py'}" in done.stdout, done.stderr
    assert "report: r.html" in done.stdout
    assert (tmp_path / "r.html").exists()


def test_json_keeps_the_words_of_child_processes_apart(script, tmp_path):
    text = (
        SLOW
        + """
    import os
    os.system("echo from a child")
    """
    )
    done = doctor("--json", "--no-report", script(text), "20", cwd=tmp_path)
    assert json.loads(done.stdout)["exit_code"] == 0
    assert "from a child" in done.stderr


def test_two_dashes_are_the_scripts(script, tmp_path):
    done = doctor(
        "--no-report", script("import sys; print(sys.argv[1:])"), "--", "7", "--x",
        cwd=tmp_path,
    )  # fmt: skip
    assert "['--', '7', '--x']" in done.stdout, done.stderr
