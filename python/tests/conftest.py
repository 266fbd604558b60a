"""Shared by all tests of the Python package."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run_program():
    """Runs a program in an interpreter of its own; it must end by itself."""

    def run(source: str, timeout: float = 60, expect: int = 0, **env: str):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(source)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **env},
            check=False,
        )
        assert done.returncode == expect, (
            f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    return run
