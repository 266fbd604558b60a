"""Injected truths: functions that burn, sleep or wait a known time."""

from __future__ import annotations

import heapq
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import penstock as ps


def burn(seconds: float) -> float:
    """Holds the GIL and a core."""
    end = time.thread_time() + seconds
    x = 0.0
    while time.thread_time() < end:
        for i in range(50):
            x += i * 0.5
    return x


def burner(seconds: float):
    """A function that burns; it keeps to itself, so it may move to processes."""

    def burns(x):
        burn(seconds)
        return x

    return burns


def chained_burner(seconds: float):
    """A function that burns and shares a list with others: it stays in threads."""
    shared: list[int] = []

    def burns_and_counts(x):
        burn(seconds)
        shared.append(1)
        return x

    return burns_and_counts


def sleeper(seconds: float):
    def sleeps(x):
        time.sleep(seconds)
        return x

    return sleeps


def threaded(call, argument, threads: int = 4, calls: int = 4):
    """A function that does its work in threads of its own; with none, as it comes."""
    pool = ThreadPoolExecutor(threads) if threads else None
    run = pool.map if pool else map

    def spreads(x):
        list(run(call, [argument] * calls))
        return x

    return spreads


def native_work(size: int):
    """Computes natively on all cores; tens of microseconds and more."""
    weights = np.linspace(0.1, 1.0, size).astype(np.float32)

    def computes(x):
        y = ps.cast(x, ps.float32) * weights
        for _ in range(6):
            y = np.sin(y) + np.sqrt(np.abs(y))
        return y

    return computes


def step(seconds: float):
    """A training step on a device: the host only waits."""

    def waits(batch):
        time.sleep(seconds)

    return waits


def limited(calls: int, seconds: float, size: int = 0):
    """A service that answers at most `calls` at once, in the order they come."""
    lock = threading.Lock()
    free = [0.0] * calls  # when each of its servers is

    def asks(x):
        with lock:
            done = max(time.monotonic(), free[0]) + seconds
            heapq.heapreplace(free, done)
        time.sleep(max(0.0, done - time.monotonic()))
        return np.zeros(size, np.uint8) if size else x

    return asks


_LOAD = """
import os, sys, time
tmp, on, off = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
end = time.monotonic() + 20
while time.monotonic() < end and os.path.exists(tmp):
    until = time.time() // (on + off) * (on + off) + on
    while time.time() < until:
        pass
    time.sleep(0.005 if off else 0)
"""


_CHILDREN: list[subprocess.Popen[bytes]] = []  # they end by themselves


def other_load(
    tmp: str, processes: int, on: float, off: float = 0.0, children: bool = False
) -> None:
    """Processes that are not ours and burn, all of them `on` and `off` together,
    for as long as the directory `tmp` exists."""
    burn = [sys.executable, "-c", _LOAD, tmp, str(on), str(off)]
    for _ in range(processes):
        if children:
            _CHILDREN.append(subprocess.Popen(burn))
            continue
        # Of a shell that ends at once: nobody's child.
        subprocess.run(
            ["sh", "-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", *burn], check=True
        )


def endless(make):
    def generate():
        while True:
            yield make()

    return generate
