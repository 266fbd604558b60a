"""The virtual environments of the engines, made when they are first needed.

They are kept outside the tree (see `home`), so that every checkout shares
them; one is made anew when its requirements change.
"""

import fcntl
import os
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Missing(Exception):
    """The engine cannot be installed; says why in pip's words."""


def home():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "penstock" / "peers"


def variables(engine):
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # or every start compiles
    if engine == "penstock":
        env["PYTHONPATH"] = str(ROOT / "python")
    return env


def interpreter(engine, work, given):
    """The Python that has the engine."""
    if engine in given:
        return given[engine]
    if engine == "penstock":
        return sys.executable
    work.mkdir(parents=True, exist_ok=True)
    with open(work / f"venv-{engine}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _made(engine, work / f"venv-{engine}")


def _made(engine, folder):
    requirements = HERE / "requirements" / f"{engine}.txt"
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = requirements.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    print(f"installing {engine}", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
         "-r", requirements],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=3600,
    )  # fmt: skip
    if done.returncode != 0:
        errors = [x for x in done.stdout.splitlines() if x.startswith("ERROR")]
        raise Missing((errors or done.stdout.splitlines() or ["pip failed"])[-1])
    stamp.write_text(wanted)
    return str(python)
