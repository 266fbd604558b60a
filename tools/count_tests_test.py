import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import count_tests


def gtest_report(*results: str) -> str:
    cases = []
    for result in results:
        case = {"name": "t", "status": "RUN", "result": "COMPLETED"}
        if result == "failed":
            case["failures"] = [{"failure": "no"}]
        elif result == "skipped":
            case["result"] = "SKIPPED"
        elif result == "disabled":
            case.update(status="NOTRUN", result="SUPPRESSED")
        cases.append(case)
    return json.dumps({"testsuites": [{"testsuite": cases}]})


class CountTests(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.build = Path(directory.name)

    def stage(self, preset: str, junit: str, **reports: str) -> None:
        results = self.build / preset / "results"
        results.mkdir(parents=True)
        (results / "ctest.xml").write_text(f"<testsuite>{junit}</testsuite>")
        for name, text in reports.items():
            (results / f"{name}.json").write_text(text)

    def count(self, *presets: str) -> tuple[str, int]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = count_tests.main(list(presets), self.build)
        return out.getvalue().splitlines()[-1], status

    def test_sums_over_stages(self):
        ok = '<testcase name="unit" status="run"/>'
        self.stage("release", ok, unit=gtest_report("passed", "passed"))
        self.stage("tsan", ok, unit=gtest_report("passed"))
        self.assertEqual(self.count("release", "tsan"), ("3 passed, 0 failed", 0))

    def test_counts_what_pytest_reports(self):
        results = self.build / "python" / "results"
        results.mkdir(parents=True)
        report = results / "pytest.xml"
        report.write_text(
            '<testsuites><testsuite tests="7" failures="1" errors="1" skipped="2"/>'
            "</testsuites>"
        )
        self.assertEqual(self.count("python"), ("3 passed, 2 failed", 1))
        report.write_text('<testsuites><testsuite tests="0"/></testsuites>')
        self.assertEqual(self.count("python"), ("0 passed, 1 failed", 1))

    def test_counts_every_other_python_that_was_found(self):
        results = self.build / "pythons" / "results"
        results.mkdir(parents=True)
        (results / "versions.txt").write_text("")
        ok = '<testcase name="unit" status="run"/>'
        self.stage("release", ok, unit=gtest_report("passed"))
        self.assertEqual(self.count("release", "pythons"), ("1 passed, 0 failed", 0))
        (results / "versions.txt").write_text("3.10\n3.12\n")
        (results / "pytest-3.10.xml").write_text(
            '<testsuites><testsuite tests="4" skipped="1"/></testsuites>'
        )
        # The build of the other one failed.
        self.assertEqual(self.count("pythons"), ("3 passed, 1 failed", 1))

    def test_skipped_and_disabled_are_neither(self):
        self.stage(
            "release",
            '<testcase name="unit" status="run"/>',
            unit=gtest_report("passed", "skipped", "disabled"),
        )
        self.assertEqual(self.count("release"), ("1 passed, 0 failed", 0))

    def test_failed_tests_are_counted_once(self):
        self.stage(
            "release",
            '<testcase name="unit" status="fail"/>',
            unit=gtest_report("passed", "failed"),
        )
        self.assertEqual(self.count("release"), ("1 passed, 1 failed", 1))

    def test_leak_after_passing_tests_fails(self):
        self.stage(
            "asan",
            '<testcase name="unit" status="fail"/>',
            unit=gtest_report("passed"),
        )
        self.assertEqual(self.count("asan"), ("1 passed, 1 failed", 1))

    def test_crash_without_report_fails(self):
        self.stage("release", '<testcase name="unit" status="fail"/>')
        self.assertEqual(self.count("release"), ("0 passed, 1 failed", 1))

    def test_report_cut_off_by_a_crash_fails(self):
        self.stage("release", '<testcase name="unit" status="fail"/>', unit='{"te')
        self.assertEqual(self.count("release"), ("0 passed, 1 failed", 1))

    def test_unittest_and_plain_programs(self):
        self.stage(
            "release",
            '<testcase name="tools" status="run">'
            "<system-out>..\n---\nRan 2 tests in 0.1s\n\nOK</system-out></testcase>"
            '<testcase name="install" status="run"/>',
        )
        self.assertEqual(self.count("release"), ("3 passed, 0 failed", 0))

    def test_missing_stage_fails(self):
        self.assertEqual(self.count("tsan"), ("0 passed, 1 failed", 1))


if __name__ == "__main__":
    unittest.main()
