"""Watch the live pipelines of running processes.

    penstock top            all processes of yours that run a pipeline
    penstock top PID        one of them

Rates, what the consumer and the stages wait for, widths, memory. On a terminal
the picture is renewed until Ctrl-C; in a pipe it is printed once. Only processes
of the same user can be seen, and nobody else can see yours. With --json and
--count each picture is a JSON object of its own.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import sys
import time
from typing import Any

from penstock import _top
from penstock.cli._output import Output, UsageError, human_bytes, plural

NAME = "top"
HELP = "watch live pipelines"

# Its own line, the head of the table with rich's rules, what is left out.
_LINES_AROUND = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", nargs="?", type=int, metavar="PID", help="a process")
    parser.add_argument(
        "--interval", type=float, default=1.0, metavar="S", help="seconds (1)"
    )
    parser.add_argument(
        "--count", type=int, metavar="N", help="pictures to print (1 in a pipe)"
    )


def run(args: argparse.Namespace, out: Output) -> int:
    if not 0 < args.interval < math.inf:
        raise UsageError(f"--interval must be > 0, got {args.interval}")
    live = sys.stdout.isatty() and not out.json
    count = args.count or (0 if live else 1)
    shown = 0
    before = _ask_all(args.pid)
    while True:
        time.sleep(args.interval)
        now = _ask_all(args.pid)
        views = [difference(before[pid], now[pid]) for pid in now if pid in before]
        before = now
        if live:
            sys.stdout.write("\033[H\033[J")
        out.result({"processes": views})
        _print(views, out, _fitting(views) if live else None)
        shown += 1
        if count and shown >= count:
            return 0


def _ask_all(pid: int | None) -> dict[int, dict[str, Any]]:
    pids = [pid] if pid is not None else _top.processes()
    answers = {}
    for each in pids:
        try:
            answers[each] = _top.ask(each)
        except OSError as error:
            if pid is not None:
                raise UsageError(
                    f"process {pid} cannot be asked: {error.strerror or error}; it "
                    "must be yours, run a Penstock pipeline and not have PENSTOCK_TOP=0"
                ) from error
    return answers


def difference(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What happened between two snapshots of one process."""
    seconds = max(now["time"] - before["time"], 1e-6)
    earlier = {it["number"]: it for it in before["iterators"]}
    iterators = []
    for it in now["iterators"]:
        old = earlier.get(it["number"])
        iterators.append(_iterator(old, it, seconds if old else it["elapsed_ns"] / 1e9))
    return {
        "pid": now["pid"],
        "command": now["command"],
        "seconds": seconds,
        "iterators": iterators,
    }


def explain_order(label: str) -> list[tuple[int, float]]:
    """Sorts labels as `Dataset.explain` lists them: sources first.

    >>> sorted(["map#4:a", "zip#3", "zip#3[1].map#1", "zip#3[0].map#1"],
    ...        key=explain_order)
    ['zip#3[0].map#1', 'zip#3[1].map#1', 'zip#3', 'map#4:a']
    """
    parts = re.findall(r"#(\d+)(?:\[(\d+)\])?", label.split(":")[0])
    return [(int(i), float(branch or "inf")) for i, branch in parts]


def _iterator(
    old: dict[str, Any] | None, it: dict[str, Any], seconds: float
) -> dict[str, Any]:
    def since(key: str) -> int:
        # An iterator that goes back to a saved state counts from there.
        return max(0, int(it[key] - (old[key] if old else 0)))

    waited, busy = since("consumer_wait_ns"), since("consumer_think_ns")
    old_stages = {s["stage"]: s for s in old["stages"]} if old else {}
    old_pipes = {p["stages"]: p for p in old["pipes"]} if old else {}
    waits = {}
    for pipe in it["pipes"]:
        was = old_pipes.get(pipe["stages"], {})
        last = pipe["stages"].split(" ")[-1]
        waits[last] = {
            kind: (pipe[f"wait_{kind}_ns"] - was.get(f"wait_{kind}_ns", 0))
            / (seconds * 1e9)
            for kind in ("input", "output", "memory", "order")
        }
    stages = []
    for s in sorted(it["stages"], key=lambda s: explain_order(s["stage"])):
        was = old_stages.get(s["stage"], {})
        stages.append(
            {
                "stage": s["stage"],
                "rate": max(0, s["elements"] - was.get("elements", 0)) / seconds,
                "busy": (s["busy_ns"] - was.get("busy_ns", 0)) / (seconds * 1e9),
                "running": s["parallelism"],
                "width": s["width"],
                "blocking": s["blocking"],
                "waits": waits.get(s["stage"], {}),
            }
        )
    return {
        "number": it["number"],
        "output": it["output"],
        "rate": since("elements") / seconds,
        "elements": it["elements"],
        "wait_share": waited / max(waited + busy, 1),
        "bytes_held": it["bytes_held"],
        "memory_budget": it["memory_budget"],
        "stages": stages,
    }


def fair_shares(wanted: list[int], available: int) -> list[int]:
    """Rows for each: whoever wants few gets them, the others share the rest.

    >>> fair_shares([2, 40, 3, 40], 25)
    [2, 10, 3, 10]
    """
    shares = [0] * len(wanted)
    by_size = sorted(range(len(wanted)), key=lambda i: wanted[i])
    for taken, i in enumerate(by_size):
        shares[i] = max(1, min(wanted[i], available // (len(wanted) - taken)))
        available -= shares[i]
    return shares


def _fitting(views: list[dict[str, Any]]) -> list[int]:
    """Stages to show of each iterator, so that all iterators are seen."""
    wanted = [len(it["stages"]) for view in views for it in view["iterators"]]
    lines = shutil.get_terminal_size().lines - len(views) - 1
    return fair_shares(wanted, lines - _LINES_AROUND * len(wanted))


def busiest(stages: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The `count` stages that do most, in their order.

    >>> stages = [{"busy": b} for b in (0.1, 0.9, 0.0, 0.4)]
    >>> busiest(stages, 2)
    [{'busy': 0.9}, {'busy': 0.4}]
    """
    by_load = sorted(range(len(stages)), key=lambda i: -stages[i]["busy"])
    return [stages[i] for i in sorted(by_load[:count])]


def _print(
    views: list[dict[str, Any]], out: Output, rows: list[int] | None = None
) -> None:
    left = iter(rows or [])
    if not views:
        out.line("no process of yours runs a pipeline")
    for view in views:
        line = f"process {view['pid']}: {' '.join(view['command'])}"
        columns = shutil.get_terminal_size().columns
        if rows is not None and len(line) > columns:
            line = line[: columns - 3] + "..."
        out.line(line)
        if not view["iterators"]:
            out.line("  no live iterator")
        for it in view["iterators"]:
            out.line(
                f"  iterator {it['number']} ({it['output']}): {it['rate']:,.1f}/s, "
                f"{plural(it['elements'], 'element')}; consumer waits "
                f"{100 * it['wait_share']:.0f} %; holds "
                f"{human_bytes(it['bytes_held'])} of {human_bytes(it['memory_budget'])}"
            )
            shown = busiest(it["stages"], next(left, len(it["stages"])))
            out.table(
                ["stage", "per second", "busy", "running", "width", "waits for"],
                ([s["stage"], f"{s['rate']:,.1f}", f"{s['busy']:.2f}", s["running"],
                  s["width"] or "", _waits_text(s)] for s in shown),
                right=["per second", "busy", "running", "width"],
            )  # fmt: skip
            if len(shown) < len(it["stages"]):
                more = plural(len(it["stages"]) - len(shown), "stage")
                out.line(f"  and {more} that did no more")


def _waits_text(stage: dict[str, Any]) -> str:
    parts = [
        f"{kind} {100 * share:.0f} %"
        for kind, share in stage["waits"].items()
        if share >= 0.01
    ]
    return ", ".join(parts)
