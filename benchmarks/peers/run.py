"""`make bench-peers`: Penstock and its peers on the same rows, interleaved.

See README.md beside this file for the rules.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import environments  # noqa: E402
import machine  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402
from engine import Engine, Failed  # noqa: E402

ENGINES = ["penstock", "tfdata", "torch", "grain", "spdl", "dali", "mlx", "ray"]
RESUME_HOURS = 3  # a row that was measured since is not measured again


def main():
    args = arguments()
    machine.adopt_orphans()
    work = pathlib.Path(args.work)
    done_rows = {} if args.fresh else finished(args)
    left = [row for row in args.rows if row not in done_rows]
    if left:
        data = make_data(args, work)
        engines, absent = start(args, work, data)
        try:
            for row in left:
                about = measure_row(engines, row, args)
                about |= {"settings": settings(args), "absent": absent}
                about["versions"] = {n: e.version for n, e in engines.items()}
                save(args, row, about)
                publish(args)
        finally:
            for engine in engines.values():
                engine.close()
    for path in publish(args):
        print(path)


def publish(args):
    """Writes tables and plots of all rows that are there; gives their paths."""
    result = {
        "machine": machine.about(),
        "command": command(args),
        "photos": "given" if args.photos else "drawn",
        "rows": {row: load(args, row) for row in rows.ROWS if saved(args, row)},
    }
    return table.write(result, pathlib.Path(args.output))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--rows", default=",".join(rows.ROWS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument(
        "--row-seconds",
        type=float,
        default=20,
        help="no new repetition of a row after this, 3 at the least (P7: 2)",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="measure rows that are there again"
    )
    parser.add_argument("--photos", help="a folder of JPEG files to use")
    parser.add_argument("--work", default=str(environments.home()))
    parser.add_argument("--output", default=str(ROOT / "docs" / "benchmarks"))
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="ENGINE=PATH",
        help="an interpreter that has the engine, instead of a new environment",
    )
    args = parser.parse_args()
    args.engines = args.engines.split(",")
    args.rows = args.rows.split(",")
    unknown = (set(args.engines) - set(ENGINES)) | (set(args.rows) - set(rows.ROWS))
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if "penstock" not in args.engines:
        args.engines.insert(0, "penstock")
    args.python = dict(pair.split("=", 1) for pair in args.python)
    return args


def command(args):
    """What to type for the same, wherever it is typed."""
    options = [f"--scale {args.scale:g}", f"--repeats {args.repeats}"]
    if args.photos:
        options.append("--photos FOLDER")
    if args.engines != ENGINES:
        options.append(f"--engines {','.join(args.engines)}")
    return f"make bench-peers BENCH_ARGS='{' '.join(options)}'"


# --- results, one file for each row ------------------------------------------


def settings(args):
    """What a row's figures hang on; when it changed they are measured again."""
    built = hashlib.sha256()
    for path in sorted((ROOT / "python" / "penstock").glob("_penstock*.so")):
        built.update(path.read_bytes())
    return {
        "engines": args.engines,
        "scale": args.scale,
        "repeats": args.repeats,
        "photos": "given" if args.photos else "drawn",
        "build": built.hexdigest()[:12],
    }


def saved(args, row):
    return (pathlib.Path(args.output) / "rows" / f"{row}.json").exists()


def load(args, row):
    path = pathlib.Path(args.output) / "rows" / f"{row}.json"
    return json.loads(path.read_text())


def save(args, row, about):
    path = pathlib.Path(args.output) / "rows" / f"{row}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(about, indent=1) + "\n")
    whole.replace(path)


def finished(args):
    """Rows that were measured with these settings not long ago."""
    done = {}
    for row in args.rows:
        if saved(args, row):
            about = load(args, row)
            recent = time.time() - about["time"] < RESUME_HOURS * 3600
            if recent and about["settings"] == settings(args):
                done[row] = about
                print(f"{row}: measured before (--fresh measures again)", flush=True)
    return done


def make_data(args, work):
    """The folder of photos and records, made if it is not there."""
    sources = [HERE / "data.py", HERE / "rows.py"]
    key = hashlib.sha256(b"".join(p.read_bytes() for p in sources))
    key.update(f"{args.scale:g} {args.photos}".encode())
    data = work / f"data-{key.hexdigest()[:12]}"
    if not (data / "complete").exists():
        print("making photos and records", flush=True)
        options = [args.photos] if args.photos else []
        subprocess.run(
            [sys.executable, HERE / "data.py", data, str(args.scale), *options],
            check=True,
            env=environments.variables("penstock"),
        )
        (data / "complete").touch()
    return data


# --- measuring ---------------------------------------------------------------


def start(args, work, data):
    engines, absent = {}, {}
    for name in args.engines:
        try:
            python = environments.interpreter(name, work, args.python)
            engines[name] = Engine(name, python, data, args.scale)
            print(f"{name}: {engines[name].version}", flush=True)
        except (Failed, environments.Missing, subprocess.SubprocessError) as error:
            if name == "penstock":
                raise
            absent[name] = str(error)[:200]
            print(f"{name} is left out: {absent[name]}", flush=True)
    return engines, absent


def measure_row(engines, row, args):
    able = {n: e for n, e in engines.items() if row in e.rows}
    print(f"{row}: {rows.ROWS[row].title}", flush=True)
    before = machine.Load()
    if row in rows.FRESH:
        refused, sizes = {}, {name: 1 for name in able}
    else:
        sizes, refused = check(able, row, args.scale)
    times = {name: [] for name in sizes}
    began = time.perf_counter()
    for repetition in range(args.repeats):
        order = list(times)
        random.Random(f"{repetition} {row}").shuffle(order)
        for name in order:
            try:
                times[name].append(once(able[name], row, sizes[name], args.scale))
            except Failed as error:
                refused[name] = str(error)
        for name in refused:
            times.pop(name, None)
        late = time.perf_counter() - began > args.row_seconds
        if late and repetition + 1 >= min(rows.ROWS[row].fewest, args.repeats):
            break
    load = before.others()
    for name, why in refused.items():
        print(f"  {name} is not measured: {why}", flush=True)
    for name, each in summary(times).items():
        print(f"  {name:9} {table.sentence(row, name, each)}", flush=True)
    return {
        "engines": summary(times),
        "refused": refused,
        "how": {name: able[name].rows[row] for name in times},
        "elements": sizes,
        "repeats": min(map(len, times.values())),
        "other_load": load,
        "time": int(time.time()),
    }


def check(able, row, scale):
    """Compares what the engines give, and finds how many elements each runs;
    {engine: elements}, {engine: why it is not measured}"""
    n = rows.size(row, scale)
    sizes, refused = {}, {}
    few = rows.ROWS[row].checked or n
    ours = able["penstock"].ask("check", row, few)["digest"]
    if ours["count"] != few:
        raise SystemExit(f"{row}: {ours['count']} elements, not {few}")
    for name, engine in able.items():
        try:
            theirs = ours
            if name != "penstock":
                theirs = engine.ask("check", row, few)["digest"]
            why = rows.agree(rows.ROWS[row].compare, ours, theirs)
            if why is not None:
                refused[name] = why
                continue
            sizes[name] = n
            if rows.ROWS[row].grows:
                sizes[name] = engine.ask("grow", row, n)["n"]
        except Failed as error:
            if name == "penstock":
                raise
            refused[name] = str(error)
    return sizes, refused


def once(engine, row, n, scale):
    """Seconds per element (bytes per element for P12)."""
    if row in rows.FRESH:
        return engine.fresh(row)
    answer = engine.ask("time", row, n)
    about = rows.ROWS[row]
    single = (n, n // about.batch)  # P6b gives arrays of batches one by one
    if answer["items"] not in single:
        raise Failed(f"{answer['items']} items, not {single[1]}")
    return answer["seconds"] / n


def summary(times):
    """Medians and spreads, and ratios to Penstock of the same repetition."""
    result = {}
    ours = times["penstock"]
    for name, each in times.items():
        ratios = [theirs / own for theirs, own in zip(each, ours)]
        result[name] = {
            "each": statistics.median(each),
            "ratio": statistics.median(ratios),
            "ratio_min": min(ratios),
            "ratio_max": max(ratios),
        }
    return result


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
