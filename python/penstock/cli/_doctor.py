"""Run a script and say what limits its input pipelines.

    penstock doctor train.py --epochs 1
    penstock doctor -m package.train

The script runs unchanged, with its arguments; every iterator it makes is
watched. Afterwards, or at Ctrl-C, comes the verdict for each pipeline, and the
full report as an HTML file. Exit code: the script's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import tempfile
import threading
import traceback
import weakref
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from penstock import _doctor_probe as probe
from penstock import _errors, _watch
from penstock._doctor_life import Life
from penstock._iterator import Iterator
from penstock._report import Report
from penstock.cli._output import Output, UsageError, plural

NAME = "doctor"
HELP = "run a script and say what limits its pipelines"

_EVERY = 0.1  # seconds between two readings of the counters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-m", dest="module", action="store_true", help="SCRIPT is a module"
    )
    parser.add_argument(
        "--output",
        "-o",
        default="penstock-report.html",
        metavar="FILE",
        help="the report (penstock-report.html)",
    )
    parser.add_argument(
        "--no-report", action="store_true", help="only print the verdict"
    )
    # Unlike two arguments, this leaves the script a `--` of its own.
    parser.add_argument(
        "script",
        nargs=argparse.PARSER,
        metavar="SCRIPT",
        help="a Python file, or a module, and what it is given",
    )


def run(args: argparse.Namespace, out: Output) -> int:
    script, *arguments = args.script
    if not args.module and not os.path.exists(script):
        raise FileNotFoundError(2, "No such file or directory", script)
    here = os.getcwd()  # the script may go elsewhere
    if not args.no_report:
        _check_output(args.output)
    watcher = Watcher()
    with _apart() if out.json else contextlib.nullcontext(), watcher:
        code = run_script(script, args.module, arguments)
    pipelines = watcher.pipelines()
    names = _write(pipelines, None if args.no_report else args.output, here, out)
    out.result(
        {
            "exit_code": code,
            "pipelines": [
                {
                    "iterators": p.iterators,
                    "file": name,
                    **_as_dict(p.report),
                }
                for p, name in zip(pipelines, names)
            ],
        }
    )
    _print(pipelines, names, out)
    return code


def _check_output(output: str) -> None:
    """Before the script runs, which may take hours."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise UsageError(f"--output: there is no folder {folder}")
    if os.path.isdir(output):
        raise UsageError(f"--output: {output} is a folder")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(f"--output: {folder}: {error.strerror}") from error


@contextlib.contextmanager
def _apart() -> Generator[None, None, None]:
    """The words of the script, and of processes that it starts, go to stderr: they
    must not end up in the JSON."""
    standard, sys.stdout = sys.stdout, sys.stderr
    standard.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout = standard
        os.dup2(saved, 1)
        os.close(saved)


def _join_threads() -> None:
    """Waits for the script's threads, as the interpreter does at its end."""
    while True:
        running = [
            thread
            for thread in threading.enumerate()
            if not thread.daemon and thread is not threading.current_thread()
        ]
        if not running:
            return
        for thread in running:
            thread.join()


def run_script(script: str, module: bool, arguments: list[str]) -> int:
    """The script as ``python script`` would run it; its exit code."""
    saved = sys.argv, sys.path[0]
    sys.argv = [script, *arguments]
    sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(script))
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            # As `python script` has it: `__file__` is absolute.
            runpy.run_path(os.path.abspath(script), run_name="__main__")
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if not isinstance(stop.code, int | None):
            print(stop.code, file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.argv, sys.path[0] = saved
    try:
        _join_threads()
    except KeyboardInterrupt:
        return 130
    return code


@dataclass
class Pipeline:
    """One dataset of the script, over all its epochs."""

    report: Report
    iterators: int = 1


@dataclass
class _Watched:
    iterator: weakref.ref[Iterator]
    life: Life
    # The watching thread and the end of the iterator may come together.
    lock: threading.Lock = field(default_factory=threading.Lock)


class Watcher:
    """Looks at every iterator that is made while it is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, _Watched] = {}
        self._found: dict[str, Pipeline] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._sample, name="penstock-watch", daemon=True
        )

    def __enter__(self) -> Watcher:
        probe.calibrate()  # measured once, by a pipeline that is not the script's
        _watch.observe(self._started)
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        _watch.forget(self._started)
        self._stop.set()
        self._thread.join()
        for number in list(self._watched):
            self._finished(number)

    def _started(self, it: Iterator) -> None:
        number = it._number
        watched = _Watched(weakref.ref(it), Life(it))
        with self._lock:
            self._watched[number] = watched
        it.on_finish(lambda: self._finished(number))

    def _finished(self, number: int) -> None:
        with self._lock:
            watched = self._watched.pop(number, None)
        it = watched.iterator() if watched is not None else None
        if watched is None or it is None or it.closed:
            return
        try:
            with watched.lock:
                report = watched.life.finish(it)
        except _errors.Error:
            return
        # The same data read with other numbers of calls is another pipeline.
        key = it._dataset.fingerprint + it._dataset.explain()
        with self._lock:
            known = self._found.get(key)
            if known is None:
                self._found[key] = Pipeline(report)
                return
            known.iterators += 1
            # The longest look says most.
            if report.seconds > known.report.seconds:
                known.report = report

    def _sample(self) -> None:
        while not self._stop.wait(_EVERY):
            with self._lock:
                watched = list(self._watched.values())
            for each in watched:
                it = each.iterator()
                if it is None or it.closed:
                    continue
                # A life that ends is not waited for: its end needs this thread.
                if each.lock.acquire(blocking=False):
                    try:
                        each.life.tick(it)
                    except _errors.Error:
                        pass  # closed meanwhile
                    finally:
                        each.lock.release()

    def pipelines(self) -> list[Pipeline]:
        """What was seen, the one that cost its consumer most first."""
        return sorted(
            self._found.values(),
            key=lambda p: -float(p.report.consumer.get("wait_s") or 0.0),
        )


def _as_dict(report: Report) -> dict[str, Any]:
    import json

    values: dict[str, Any] = json.loads(report.to_json())
    return values


def _write(
    pipelines: list[Pipeline], output: str | None, here: str, out: Output
) -> list[str | None]:
    """The names of the files; none for one that could not be written."""
    names: list[str | None] = []
    for i, pipeline in enumerate(pipelines):
        name = None
        if output is not None:
            stem, ending = os.path.splitext(output)
            name = output if i == 0 else f"{stem}-{i + 1}{ending}"
            try:
                pipeline.report.to_html(os.path.join(here, name))
            except OSError as error:
                out.error(f"{name}: {error.strerror or error}")
                name = None
        names.append(name)
    return names


def _print(pipelines: list[Pipeline], names: list[str | None], out: Output) -> None:
    out.line()
    if not pipelines:
        out.line("penstock doctor: the script ran no pipeline")
    for number, (pipeline, name) in enumerate(zip(pipelines, names), 1):
        stages = pipeline.report.stages
        ends = f"{stages[0].label} to {stages[-1].label}, " if stages else ""
        out.line(
            f"--- pipeline {number} of {len(pipelines)}: {ends}"
            f"{plural(pipeline.iterators, 'iterator')} ---",
            style="bold",
        )
        out.text(str(pipeline.report))
        if name is not None:
            out.line(f"report: {name}")
        out.line()
