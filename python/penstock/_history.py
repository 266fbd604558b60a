"""How a pipeline went over time, in bounded memory.

Counters are read now and then; what happened between two readings is one sample.
Past `most` samples, neighbours are joined and readings become half as frequent:
an hour takes as much room as a minute, and the whole of it is kept.
"""

from __future__ import annotations

from typing import Any

_Reading = dict[str, Any]


class History:
    """Samples of one iterator, as `Report.samples` has them.

    >>> history = History(most=4)
    >>> for t in range(9):
    ...     history.add({"elapsed_ns": t * 10**9, "elements": 5 * t, "stages": [],
    ...                  "consumer_wait_ns": t * 10**9 // 2, "bytes_held": 0})
    >>> [(s["t"], s["rate"], s["wait_share"]) for s in history.samples]
    [(2.0, 5.0, 0.5), (4.0, 5.0, 0.5), (6.0, 5.0, 0.5), (8.0, 5.0, 0.5)]
    """

    def __init__(self, most: int = 2000) -> None:
        self._most = most
        self._every = 0.0  # seconds between two readings that are kept
        self._readings: list[_Reading] = []

    def add(self, counters: dict[str, Any]) -> None:
        """A reading of the counters; one that comes too early is left out."""
        reading = {
            "t": counters["elapsed_ns"] / 1e9,
            "elements": counters["elements"],
            "wait": counters["consumer_wait_ns"] / 1e9,
            "held": counters["bytes_held"],
            "stages": {
                s["stage"]: (s["busy_ns"] / 1e9, s["width"]) for s in counters["stages"]
            },
        }
        if self._readings:
            gap = reading["t"] - self._readings[-1]["t"]
            # A little early is in time: readers do not wake up on the dot.
            if gap <= 0 or gap < 0.75 * self._every:
                return
        self._readings.append(reading)
        if len(self._readings) > self._most + 1:
            self._readings = self._readings[::2]
            first, last = self._readings[0], self._readings[-1]
            self._every = (last["t"] - first["t"]) / (len(self._readings) - 1)

    @property
    def samples(self) -> list[dict[str, Any]]:
        """What happened between each two readings."""
        found = []
        for a, b in zip(self._readings, self._readings[1:]):
            seconds = b["t"] - a["t"]
            busy = {}
            for label, (ns, _) in b["stages"].items():
                before = a["stages"].get(label, (0.0, 0))[0]
                busy[label] = max(0.0, ns - before) / seconds
            found.append(
                {
                    "t": b["t"],
                    "rate": (b["elements"] - a["elements"]) / seconds,
                    "bytes_held": b["held"],
                    "wait_share": min(1.0, max(0.0, b["wait"] - a["wait"]) / seconds),
                    "busy": busy,
                }
            )
        return found

    def widths(self, label: str) -> list[list[float]]:
        """[seconds, width] whenever the width of a stage changed."""
        changes: list[list[float]] = []
        for reading in self._readings:
            width = reading["stages"].get(label, (0.0, 0))[1]
            if not changes or changes[-1][1] != width:
                changes.append([reading["t"], width])
        return changes
