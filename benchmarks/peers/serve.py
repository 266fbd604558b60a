"""Runs one engine: reads commands, writes results, as lines of JSON.

python serve.py ENGINE DATA SCALE
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
    """Where the data is, and how much of it."""

    def __init__(self, folder, scale):
        self.folder = pathlib.Path(folder)
        self.scale = scale

    def size(self, row):
        return rows.size(row, self.scale)

    def photos(self, row):
        found = sorted(str(p) for p in (self.folder / "photos").glob("*.jpg"))
        count = self.size(row)
        return (found * (count // len(found) + 1))[:count]

    def records(self, row):
        name = "examples" if row == "P5" else f"r{row.split('-')[1]}"
        return str(self.folder / f"{name}.tfrecord")


def main():
    name, folder, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    # Engines print; results must come through alone.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = importlib.import_module(f"engines.{name}")
    config = Config(folder, scale)
    print(json.dumps({"rows": list(engine.ROWS), "version": engine.VERSION}), file=out)
    out.flush()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = run(engine, config, command)
        except Exception:
            answer = {"error": traceback.format_exc()[-2000:]}
        print(json.dumps(answer), file=out)
        out.flush()


def run(engine, config, command):
    row = command["row"]
    compare = rows.ROWS[row].compare
    make = engine.ROWS[row]
    if command["do"] == "check":
        digest = rows.Digest(compare)
        for batch in make(config, row):
            digest.add(batch)
        return {"digest": digest.result()}
    began = time.perf_counter()
    for _ in make(config, row):
        pass
    return {"seconds": time.perf_counter() - began, "elements": config.size(row)}


if __name__ == "__main__":
    main()
