"""All planted and healthy pipelines: `make doctor-suite`.

Prints what the doctor got right first, its false alarms, and how far predicted
gains are from measured ones (of the findings whose fix can be applied).
"""

from __future__ import annotations

import argparse
import sys
import tempfile

import penstock as ps

from .healthy import HEALTHY
from .planted import FAULTY


def examine(build, seconds, verify=False):
    """The doctor's report on what `build` makes."""
    with tempfile.TemporaryDirectory() as tmp:
        ds, consumer = build(tmp)
        return ps.doctor(ds, seconds=seconds, consumer=consumer, verify=verify)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    right, wrong, errors = 0, [], []
    for name, (codes, stages, build) in FAULTY.items():
        if args.names and name not in args.names:
            continue
        report = examine(build, args.seconds, not args.no_verify)
        first = report.findings[0] if report.findings else None
        ok = first is not None and first.code in codes and str(first.stage) in stages
        right += ok
        said = f"{first.code} at {first.stage}" if first else "nothing"
        gain = ""
        if first and first.predicted_speedup and first.verified_speedup:
            ratio = first.predicted_speedup / first.verified_speedup
            errors.append(abs(ratio - 1))
            gain = (
                f"  predicted {first.predicted_speedup:.2f}x, "
                f"measured {first.verified_speedup:.2f}x"
            )
        if not ok:
            wrong.append(name)
        print(f"{'ok   ' if ok else 'WRONG'} {name:45} {said}{gain}", flush=True)
    alarms, healthy = [], 0
    for name, build in HEALTHY.items():
        if args.names and name not in args.names:
            continue
        report = examine(build, args.seconds)
        healthy += 1
        if not report.healthy:
            alarms.append(name)
        said = ", ".join(f"{f.code} at {f.stage}" for f in report.findings)
        print(f"{'ok   ' if report.healthy else 'ALARM'} {name:45} {said}", flush=True)
    print(f"\nright code and stage first: {right} of {right + len(wrong)}")
    print(f"false alarms: {len(alarms)} of {healthy}")
    if errors:
        near = sum(e <= 0.15 for e in errors)
        errors.sort()
        print(
            f"predicted gain within 15 % of the measured one: {near} of {len(errors)}; "
            f"median error {100 * errors[len(errors) // 2]:.0f} %"
        )
    return 1 if wrong or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
