"""Sums the test results of the given build presets.

Prints one line per stage and, last, "N passed, N failed"; exits 1 on a failure.
Counted are the single tests inside each program ctest ran: from the JSON that
gtest writes, from unittest's "Ran N tests", else the program as one test; in the
python stages the tests that pytest reports. A program that failed beyond its
tests (a crash, a leak, a time-out), and a stage that left no results at all,
count as one failure.
"""

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def count_gtest(report: dict) -> tuple[int, int]:
    """Passed and failed tests of a gtest JSON report; skipped are neither."""
    passed = failed = 0
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                failed += 1
            elif case.get("result") == "COMPLETED":
                passed += 1
    return passed, failed


def count_program(case: ET.Element, results: Path) -> tuple[int, int]:
    """Passed and failed tests of one program in ctest's JUnit report."""
    succeeded = case.get("status") == "run"
    passed, failed = (1, 0) if succeeded else (0, 0)
    report = results / f"{case.get('name')}.json"
    ran = re.search(r"(?m)^Ran (\d+) tests?", case.findtext("system-out", ""))
    if report.exists():
        try:
            passed, failed = count_gtest(json.loads(report.read_text()))
        except ValueError:  # cut off in the middle: the program died
            passed, failed = 0, 1
    elif ran and succeeded:
        passed = int(ran[1])
    if not succeeded and not failed:
        failed = 1
    return passed, failed


def count_pytest(report: Path) -> tuple[int, int]:
    """Passed and failed tests of pytest's JUnit report."""
    suites = list(ET.parse(report).iter("testsuite"))
    tests, failed, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites for key in keys)
        for keys in (("tests",), ("failures", "errors"), ("skipped",))
    )
    return tests - failed - skipped, failed if tests else 1


def count_stage(results: Path) -> tuple[int, int]:
    """Passed and failed tests of one stage."""
    if (results / "pytest.xml").exists():
        return count_pytest(results / "pytest.xml")
    if (results / "versions.txt").exists():
        reports = [
            results / f"pytest-{version}.xml"
            for version in (results / "versions.txt").read_text().split()
        ]
        counts = [count_pytest(r) if r.exists() else (0, 1) for r in reports]
        return sum(p for p, _ in counts), sum(f for _, f in counts)
    junit = results / "ctest.xml"
    if not junit.exists():
        return 0, 1
    counts = [count_program(case, results) for case in ET.parse(junit).iter("testcase")]
    if not counts:
        return 0, 1
    return sum(p for p, _ in counts), sum(f for _, f in counts)


def main(presets: list[str], build: Path = Path("build")) -> int:
    total_passed = total_failed = 0
    for preset in presets:
        passed, failed = count_stage(build / preset / "results")
        print(f"{preset}: {passed} passed, {failed} failed")
        total_passed += passed
        total_failed += failed
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed or not total_passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
