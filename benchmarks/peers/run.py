"""`make bench-peers`: Penstock and its peers on the same rows, interleaved.

See README.md beside this file for the rules.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import select
import statistics
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import rows  # noqa: E402
import table  # noqa: E402

ENGINES = ["penstock", "tfdata", "torch", "grain", "spdl", "dali", "mlx", "ray"]
LONGEST = 600  # seconds that one run may take


def main():
    args = arguments()
    work = pathlib.Path(args.work)
    data = work / f"data-{args.scale:g}"
    if not (data / "complete").exists():
        print("making photos and records", flush=True)
        command = [sys.executable, str(HERE / "data.py"), str(data), str(args.scale)]
        subprocess.run(command, check=True, env=environment("penstock"))
        (data / "complete").touch()
    engines, absent = start(args, work, data)
    try:
        refused = check(engines, args)
        before = busy_times()
        began = time.perf_counter()
        times = measure(engines, args)
        load = other_load(before, began)
    finally:
        for engine in engines.values():
            engine.close()
    result = {
        "machine": machine(),
        "versions": {name: e.version for name, e in engines.items()},
        "absent": absent,
        "refused": refused,
        "other_load": load,
        "command": command(args),
        "scale": args.scale,
        "repeats": args.repeats,
        "date": time.strftime("%Y-%m-%d"),
        "rows": summary(times),
    }
    for path in table.write(result, pathlib.Path(args.output)):
        print(path)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--rows", default=",".join(rows.ROWS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--work", default=str(ROOT / "build" / "peers"))
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
    if args.engines != ENGINES:
        options.append(f"--engines {','.join(args.engines)}")
    if args.rows != list(rows.ROWS):
        options.append(f"--rows {','.join(args.rows)}")
    return f"make bench-peers BENCH_ARGS='{' '.join(options)}'"


def environment(engine):
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    if engine == "penstock":
        env["PYTHONPATH"] = str(ROOT / "python")
    return env


def interpreter(engine, work, given):
    """The Python that has the engine; makes an environment for it if need be."""
    if engine in given:
        return given[engine]
    if engine == "penstock":
        return sys.executable
    folder = work / f"venv-{engine}"
    python = folder / "bin" / "python"
    wanted = (HERE / "requirements" / f"{engine}.txt").read_text()
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {engine}: {', '.join(wanted.split())}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-q",
                   "--disable-pip-version-check", *wanted.split()]  # fmt: skip
        subprocess.run(command, check=True, timeout=3600)
        stamp.write_text(wanted)
    return str(python)


class Engine:
    """A process that runs one engine when told."""

    def __init__(self, name, python, data, scale):
        self.name = name
        self._process = subprocess.Popen(
            [python, str(HERE / "serve.py"), name, str(data), str(scale)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if name != "penstock" else None,
            env=environment(name),
        )
        if self._process.stderr is not None:
            os.set_blocking(self._process.stderr.fileno(), False)
        hello = self._read(180)
        self.rows, self.version = hello["rows"], hello["version"]

    def ask(self, do, row):
        command = json.dumps({"do": do, "row": row}) + "\n"
        self._process.stdin.write(command.encode())
        self._process.stdin.flush()
        answer = self._read(LONGEST)
        if "error" in answer:
            raise RuntimeError(answer["error"].strip().splitlines()[-1])
        return answer

    def _read(self, seconds):
        out, err = self._process.stdout, self._process.stderr
        end = time.monotonic() + seconds
        streams = [s for s in (out, err) if s is not None]
        last = b""
        while True:
            ready, _, _ = select.select(streams, [], [], max(0, end - time.monotonic()))
            if err in ready:
                last = (last + (err.read() or b""))[-2000:]  # must not fill up
                if out not in ready and self._process.poll() is None:
                    continue
            if out in ready:
                line = out.readline()
                if line:
                    return json.loads(line)
            words = last.decode(errors="replace").strip().splitlines()
            why = words[-1] if words else "it ended" if ready else "it took too long"
            raise RuntimeError(f"{self.name}: {why}")

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def start(args, work, data):
    engines, absent = {}, {}
    for name in args.engines:
        try:
            python = interpreter(name, work, args.python)
            engines[name] = Engine(name, python, data, args.scale)
            print(f"{name}: {engines[name].version}", flush=True)
        except (RuntimeError, subprocess.SubprocessError, OSError) as error:
            if name == "penstock":
                raise
            absent[name] = str(error).splitlines()[0][:200]
            print(f"{name} is left out: {absent[name]}", flush=True)
    return engines, absent


def check(engines, args):
    """Compares what all engines give; {row: {engine: why it is not measured}}"""
    refused = {}
    for row in args.rows:
        ours = engines["penstock"].ask("check", row)["digest"]
        for name, engine in engines.items():
            if name == "penstock" or row not in engine.rows:
                continue
            try:
                theirs = engine.ask("check", row)["digest"]
                why = rows.agree(rows.ROWS[row].compare, ours, theirs)
            except RuntimeError as error:
                why = str(error)[:200]
            if why is not None:
                refused.setdefault(row, {})[name] = why
                print(f"{row} {name}: not measured, {why}", flush=True)
                engine.rows.remove(row)
    return refused


def measure(engines, args):
    """{row: {engine: [seconds per element of each repetition]}}"""
    times = {row: {} for row in args.rows}
    for repetition in range(args.repeats):
        for row in args.rows:
            able = [e for e in engines.values() if row in e.rows]
            random.Random(f"{repetition} {row}").shuffle(able)
            for engine in able:
                answer = engine.ask("time", row)
                each = answer["seconds"] / answer["elements"]
                times[row].setdefault(engine.name, []).append(each)
        print(f"repetition {repetition + 1} of {args.repeats}", flush=True)
    return times


def summary(times):
    """Medians and spreads, and ratios to Penstock of the same repetition."""
    result = {}
    for row, by_engine in times.items():
        ours = by_engine["penstock"]
        result[row] = {}
        for name, each in by_engine.items():
            ratios = [theirs / own for theirs, own in zip(each, ours)]
            result[row][name] = {
                "per_second": 1 / statistics.median(each),
                "ratio": statistics.median(ratios),
                "ratio_min": min(ratios),
                "ratio_max": max(ratios),
            }
    return result


def machine():
    model = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def busy_times():
    """Seconds that all cores were busy, and this process and its children."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    numbers = [int(x) for x in fields]
    tick = os.sysconf("SC_CLK_TCK")
    own = 0.0
    for pid in family(os.getpid()):
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        own += sum(int(x) for x in stat.rpartition(")")[2].split()[11:15]) / tick
    return (sum(numbers) - numbers[3] - numbers[4]) / tick, own


def family(pid):
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            path = pathlib.Path(f"/proc/{pid}/task/{task}/children")
            for child in path.read_text().split():
                found += family(int(child))
    except OSError:
        pass
    return found


def other_load(before, began):
    """Cores that other programs used while it was measured."""
    after = busy_times()
    others = (after[0] - before[0]) - (after[1] - before[1])
    return round(max(0.0, others / (time.perf_counter() - began)), 2)


if __name__ == "__main__":
    main()
