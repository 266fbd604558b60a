"""An engine's process, as run.py sees it: a question, an answer."""

import json
import os
import pathlib
import select
import subprocess
import time

import environments
import rows

HERE = pathlib.Path(__file__).resolve().parent
LONGEST = 300  # seconds that one run may take


class Failed(Exception):
    """The engine could not do it; says why."""


class Engine:
    """One process, started once, that runs one engine when told."""

    def __init__(self, name, python, data, scale):
        self.name = name
        self.python = python
        self._errors = b""
        self._spare = {}
        self._process = subprocess.Popen(
            [python, str(HERE / "serve.py"), name, str(data), str(scale)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environments.variables(name),
        )
        os.set_blocking(self._process.stderr.fileno(), False)
        hello = self._read(180)
        self.rows, self.version = hello["rows"], hello["version"]
        self.rows |= fresh_rows(name)

    def ask(self, do, row, n):
        command = json.dumps({"do": do, "row": row, "n": n}) + "\n"
        self._process.stdin.write(command.encode())
        self._process.stdin.flush()
        answer = self._read(LONGEST)
        if "error" in answer:
            raise Failed(answer["error"].strip().splitlines()[-1][:200])
        return answer

    def fresh(self, row):
        """A figure of fresh.py, which gives import and first batch at once: the
        one that was not asked for is kept for when it is."""
        if self._spare.get(row):
            return self._spare[row].pop(0)
        what = "P12" if row == "P12" else "P10"
        done = subprocess.run(
            [self.python, str(HERE / "fresh.py"), self.name, what],
            capture_output=True,
            text=True,
            errors="replace",
            env=environments.variables(self.name),
            timeout=LONGEST,
        )
        if done.returncode != 0:
            raise Failed((done.stderr.strip() or "it failed").splitlines()[-1][:200])
        figures = json.loads(done.stdout.strip().splitlines()[-1])
        for other in figures.keys() - {row}:
            self._spare.setdefault(other, []).append(figures[other])
        return figures[row]

    def _read(self, seconds):
        out, err = self._process.stdout, self._process.stderr
        end = time.monotonic() + seconds
        while True:
            left = max(0, end - time.monotonic())
            ready, _, _ = select.select([out, err], [], [], left)
            if err in ready:  # it must not fill up
                self._errors = (self._errors + (err.read() or b""))[-2000:]
            if out in ready:
                line = out.readline()
                if line:
                    return json.loads(line)
                raise Failed(self._last_words("it ended"))
            if not ready:
                self.close()
                raise Failed(f"it took longer than {seconds} s")

    def _last_words(self, otherwise):
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else otherwise

    def close(self):
        if self._process.stdin.closed:
            return
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()


def fresh_rows(name):
    """Rows that fresh.py has for an engine."""
    import fresh

    known = {}
    if hasattr(fresh, name):
        known |= dict.fromkeys(("P10i", "P10"), "a new process")
    if hasattr(fresh, f"{name}_shuffled"):
        known["P12"] = "a new process"
    return {row: known[row] for row in rows.FRESH if row in known}
