import tempfile
import unittest
from pathlib import Path

import check_includes


class CheckIncludes(unittest.TestCase):
    def check(self, path: str, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "penstock" / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return check_includes.check(Path(directory))

    def assert_allowed(self, path: str, include: str) -> None:
        self.assertEqual(self.check(path, f"#include {include}\n"), [])

    def assert_refused(self, path: str, include: str, reason: str) -> None:
        violations = self.check(path, f"// x\n#include {include}\n")
        self.assertEqual(len(violations), 1)
        self.assertTrue(violations[0].startswith(f"penstock/{path}:2: "))
        self.assertIn(reason, violations[0])

    def test_lower_layers_and_own_folder_are_allowed(self):
        self.assert_allowed("memory/tensor.h", '"penstock/base/status.h"')
        self.assert_allowed("memory/tensor.h", '"penstock/memory/dtype.h"')
        self.assert_allowed("ops/take/take.cc", '"penstock/ops/operator.h"')
        self.assert_allowed("runtime/executor.cc", '"penstock/ops/operator.h"')
        self.assert_allowed("base/status.h", "<vector>")
        self.assert_allowed("base/status.h", '"absl/status/status.h"')

    def test_upward_is_refused(self):
        self.assert_refused(
            "base/status.h",
            '"penstock/memory/dtype.h"',
            "base/ may not include memory/",
        )
        self.assert_refused(
            "ops/take/take.cc",
            '"penstock/runtime/executor.h"',
            "ops/ may not include runtime/",
        )

    def test_neighbours_are_refused(self):
        self.assert_refused(
            "io/file.cc",
            '"penstock/image/jpeg.h"',
            "io/ may not include image/",
        )

    def test_facade_includes_all_and_is_included_by_none(self):
        self.assert_allowed("dataset.h", '"penstock/doctor/report.h"')
        self.assert_allowed("penstock.h", '"penstock/dataset.h"')
        self.assert_refused("graph/plan.h", '"penstock/dataset.h"', "the facade")

    def test_private_headers_are_for_sources(self):
        self.assert_allowed("formats/wire_private.h", "<protozero/pbf_reader.hpp>")
        self.assert_allowed("formats/wire.cc", '"penstock/formats/wire_private.h"')
        self.assert_refused(
            "formats/wire.h", '"penstock/formats/wire_private.h"', "private headers"
        )

    def test_tests_and_benchmarks_include_anything(self):
        self.assert_allowed("ops/take/take_test.cc", '"penstock/penstock.h"')
        self.assert_allowed("ops/take/take_test.cc", '"tests/support/model.h"')
        self.assert_allowed("base/random_bench.cc", '"penstock/runtime/executor.h"')

    def test_relative_and_angled_includes_are_refused(self):
        self.assert_refused("base/clock.h", '"clock.h"', '"penstock/..."')
        self.assert_refused("ops/x.h", '"../ops/x.h"', '"penstock/..."')
        self.assert_refused("base/clock.cc", "<penstock/base/clock.h>", "quotes")

    def test_codec_headers_only_in_sources(self):
        self.assert_allowed("image/jpeg.cc", "<jpeglib.h>")
        self.assert_allowed("io/checksum.cc", "<isa-l/crc.h>")
        self.assert_refused("image/jpeg.h", "<jpeglib.h>", "in .cc files")
        self.assert_refused("io/checksum.h", "<isa-l.h>", "in .cc files")
        self.assert_refused("image/webp.h", "<webp/decode.h>", "in .cc files")

    def test_unknown_folder_is_refused(self):
        self.assertIn("not in the list", self.check("utils/x.h", "")[0])
        self.assert_refused("base/x.cc", '"penstock/utils/x.h"', "not in the list")

    def test_commented_include_is_ignored(self):
        self.assertEqual(self.check("base/x.h", '// #include "penstock/ops/x.h"\n'), [])


if __name__ == "__main__":
    unittest.main()
