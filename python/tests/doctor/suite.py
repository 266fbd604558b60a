"""All planted and healthy pipelines: `make doctor-suite`.

Prints what the doctor got right first, its false alarms, and how far predicted
gains are from measured ones (of the findings whose fix can be applied).
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import tempfile

from penstock._what_if import measured_gain

import penstock as ps

from .healthy import HEALTHY
from .planted import FAULTY


def examine(build, seconds, verify=False):
    """The doctor's report on what `build` makes."""
    with tempfile.TemporaryDirectory() as tmp:
        ds, consumer = build(tmp)
        report = ps.doctor(ds, seconds=seconds, consumer=consumer, verify=verify)
        if verify and "fixed" in inspect.signature(build).parameters:
            verify_by_hand(report, build, tmp, seconds, ds, consumer)
    return report


def verify_by_hand(report, build, tmp, seconds, ds, consumer):
    """Measures the pipeline that was mended by hand in turns with the faulty one."""
    if not report.findings or report.findings[0].predicted_speedup is None:
        return
    mended, _ = build(tmp, fixed=True)
    report.findings[0].verified_speedup = measured_gain(ds, mended, seconds, consumer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("--json", help="a file for the reports of planted pipelines")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    right, wrong, errors, far, reports = 0, [], [], [], {}
    for name, (codes, stages, build) in FAULTY.items():
        if args.names and name not in args.names:
            continue
        report = examine(build, args.seconds, not args.no_verify)
        reports[name] = json.loads(report.to_json())
        first = report.findings[0] if report.findings else None
        ok = first is not None and first.code in codes and str(first.stage) in stages
        right += ok
        said = f"{first.code} at {first.stage}" if first else "nothing"
        gain = ""
        if first and first.predicted_speedup and first.verified_speedup:
            ratio = first.predicted_speedup / first.verified_speedup
            errors.append(abs(ratio - 1))
            own = (report.predicted_throughput or 0) / report.throughput
            gain = (
                f"  predicted {first.predicted_speedup:.2f}x, "
                f"measured {first.verified_speedup:.2f}x; as it is {own:.2f}"
            )
            if abs(ratio - 1) > 0.15:
                far.append(name)
        if not ok:
            wrong.append(name)
        print(f"{'ok   ' if ok else 'WRONG'} {name:45} {said}{gain}", flush=True)
    alarms, healthy, others = [], 0, 0
    for name, build in HEALTHY.items():
        if args.names and name not in args.names:
            continue
        report = examine(build, args.seconds)
        healthy += 1
        said = ", ".join(f"{f.code} at {f.stage}" for f in report.findings)
        # That others take the cores is no fault of the pipeline, but may be true.
        loaded = {f.code for f in report.findings} == {"unstable"}
        if loaded:
            others += 1
        elif not report.healthy:
            alarms.append(name)
        mark = "LOAD " if loaded else "ok   " if report.healthy else "ALARM"
        print(f"{mark} {name:45} {said}", flush=True)
    print(f"\nright code and stage first: {right} of {right + len(wrong)}")
    beside = f"; {others} beside other load" if others else ""
    print(f"false alarms: {len(alarms)} of {healthy}{beside}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(reports, file)
    if errors:
        near = sum(e <= 0.15 for e in errors)
        errors.sort()
        print(
            f"predicted gain within 15 % of the measured one: {near} of {len(errors)}; "
            f"median error {100 * errors[len(errors) // 2]:.0f} %; "
            f"further: {', '.join(far) or 'none'}"
        )
    return 1 if wrong or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
