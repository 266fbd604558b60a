"""Runs one engine: reads commands, writes results, as lines of JSON.

python serve.py ENGINE DATA SCALE

An engine is a module with ROWS: {row: function(config, row, n)}, whose result
is iterated (building it is not timed), CANONICAL: {row: function(item)}, which
makes an item comparable and runs in the check alone, and VERSION. The first
line of a function's docstring says how the engine is used there.
"""

import importlib
import json
import os
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import rows  # noqa: E402


class Config:
    """Where the data is."""

    def __init__(self, folder, scale):
        self.folder = pathlib.Path(folder)
        self.scale = scale

    def photos(self, n):
        found = sorted(str(p) for p in (self.folder / "photos").glob("*.jpg"))
        return (found * (n // len(found) + 1))[:n]

    def records(self, row):
        name = f"r{row[3:]}" if row.startswith("P4") else row
        return str(self.folder / f"{name}.tfrecord")


def main():
    name, folder, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    # Engines print; results must come through alone.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = importlib.import_module(f"engines.{name}")
    config = Config(folder, scale)
    how = {r: (fn.__doc__ or "").split("\n")[0] for r, fn in engine.ROWS.items()}
    print(json.dumps({"rows": how, "version": engine.VERSION}), file=out, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = run(engine, config, **command)
        except Exception:
            answer = {"error": traceback.format_exc()[-2000:]}
        print(json.dumps(answer), file=out, flush=True)


def run(engine, config, do, row, n):
    if do == "check":
        return {"digest": check(engine, config, row, n)}
    if do == "grow":
        while True:
            seconds, _ = timed(engine, config, row, n)
            if seconds > 0.7 * rows.GROWN:
                return {"n": n}
            factor = min(8, max(2, int(rows.GROWN / max(seconds, 1e-4))))
            n *= factor
    seconds, items = timed(engine, config, row, n)
    return {"seconds": seconds, "items": items}


def check(engine, config, row, n):
    digest = rows.Digest(rows.ROWS[row].compare, rows.photo_count(config.scale))
    canonical = getattr(engine, "CANONICAL", {}).get(row)
    for item in engine.ROWS[row](config, row, n):
        digest.add(item if canonical is None else canonical(item))
    return digest.result()


def timed(engine, config, row, n):
    pipeline = engine.ROWS[row](config, row, n)
    items = 0
    began = time.perf_counter()
    for _ in pipeline:
        items += 1
    return time.perf_counter() - began, items


if __name__ == "__main__":
    main()
