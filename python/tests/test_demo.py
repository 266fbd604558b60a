"""`make demo` finds the faults of its pipeline and mends them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

# What is measured here, others on the machine may disturb.
pytestmark = pytest.mark.flaky(reruns=2)

DEMO = pathlib.Path(__file__).parents[2] / "tools" / "demo.py"


@pytest.mark.skipif(not DEMO.exists(), reason="an installed package, without tools")
def test_the_demo_ends_with_its_function_native(tmp_path):
    report = tmp_path / "report.html"
    options = ["--photos", "64", "--seconds", "1.5", "--report", str(report)]
    done = subprocess.run(
        [sys.executable, str(DEMO), *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "as it was written" in done.stdout
    assert "map: native operations" in done.stdout
    assert "trace-refused" in done.stdout or "python-gil" in done.stdout
    assert report.stat().st_size > 10_000
