"""`make demo`: a slow input pipeline, what the doctor says, and its fixes.

Draws its own photos, trains on them with an input pipeline that is written as it
often is (one file, a Python function, one call at a time, nothing ahead of the
step), asks the doctor, applies what it proposes, one thing at a time, and
measures each. The accelerator is a sleep: it is idle when the loop waits. It is
faster than this machine's cores are with the Python function, so that on any
machine all of the faults count.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples" / "python")]

import photos  # noqa: E402

import penstock as ps  # noqa: E402

BATCH = 32
# Images the accelerator takes while all cores make one by the Python function.
FASTER = 1.2
FEATURES = {
    "image": ps.io.FixedLenFeature([], ps.string),
    "label": ps.io.FixedLenFeature([], ps.int64),
}


def python_load(record):
    """As one finds it: the random module, row by row in Python."""
    example = ps.io.parse_single_example(record, FEATURES)
    image = ps.image.decode_jpeg(example["image"], channels=3)
    image = ps.image.resize(image, (224, 224))
    if random.random() < 0.5:
        image = image[:, ::-1]
    rows = [np.asarray(row, np.float32) / 255.0 for row in image]
    return np.stack(rows), example["label"]


def native_load(record):
    """The same in Penstock's words: traced, without the GIL, reproducible."""
    example = ps.io.parse_single_example(record, FEATURES)
    image = ps.image.decode_jpeg(example["image"], channels=3)
    image = ps.image.resize(image, (224, 224))
    image = ps.image.random_flip_left_right(image)
    return ps.cast(image, ps.float32) / 255.0, example["label"]


# What answers a finding, in this script.
REMEDIES = {
    "serial-stage": ("map: no num_parallel_calls=1", {"parallel": True}),
    "parallelism-capped": ("map: no num_parallel_calls=1", {"parallel": True}),
    "no-prefetch": ("no prefetch(0)", {"prefetch": True}),
    "python-gil": ("map: worker processes", {"executor": "process"}),
    "unstable": ("", {}),  # nothing here keeps other load away
}
# Whatever else the doctor says about the function is answered by its native form.
NATIVE = (
    "map: native operations",
    {"native": True, "parallel": True, "executor": "auto"},
)


class Settings(dict):
    """What has been changed so far."""

    def dataset(self, path):
        ds = ps.Dataset.tfrecord(str(path)).repeat()
        load = native_load if self.get("native") else python_load
        options = {"name": "load", "executor": self.get("executor", "auto")}
        if not self.get("parallel"):
            options["num_parallel_calls"] = 1
        ds = ds.map(load, **options)
        ds = ds.batch(BATCH, drop_remainder=True)
        return ds if self.get("prefetch") else ds.prefetch(0)


class Accelerator:
    """Takes batches; what it does with one is a sleep."""

    def __init__(self, path):
        with ps.Dataset.tfrecord(str(path)).repeat().iterator() as records:
            calls = [self._call_s(next(records)) for _ in range(16)]
        cores = len(os.sched_getaffinity(0))
        self.step_s = BATCH * min(calls) / (FASTER * cores)

    @staticmethod
    def _call_s(record):
        began = time.perf_counter()
        python_load(record)
        return time.perf_counter() - began

    def step(self, batch):
        time.sleep(self.step_s)


def train(ds, seconds, step):
    """(images/s, share of the time in which the accelerator was idle)"""
    with ds.iterator() as it:
        next(it)  # the start is not the pipeline's pace
        batches, waited, began = 0, 0.0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            asked = time.perf_counter()
            batch = next(it)
            waited += time.perf_counter() - asked
            step(batch)
            batches += 1
        elapsed = time.perf_counter() - began
    return BATCH * batches / elapsed, waited / elapsed


def choose(report, settings):
    """The best finding whose remedy is still to be applied."""
    for finding in report.findings:
        other = NATIVE if finding.stage.op == "map" else ("", {})
        text, change = REMEDIES.get(finding.code, other)
        if any(settings.get(key) != value for key, value in change.items()):
            return finding, text, change
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--report", default="build/demo-report.html")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        run(args, folder)


def run(args, folder):
    began = time.perf_counter()
    path = photos.make(folder, args.photos)
    print(
        f"drew {args.photos} photos of {photos.WIDTH}x{photos.HEIGHT} into one file "
        f"({path.stat().st_size / 1e6:.0f} MB, {time.perf_counter() - began:.1f} s)"
    )
    settings = Settings()
    accelerator = Accelerator(path)
    step = accelerator.step
    measured = train(settings.dataset(path), args.seconds, step)
    rows = [("as it was written", "", None, measured)]
    reports = []
    for _ in range(5):
        report = ps.doctor(settings.dataset(path), args.seconds, step)
        reports.append(report)
        print(f"\ndoctor: {report.verdict}")
        found = choose(report, settings)
        if found is None:
            break
        finding, text, change = found
        for line in str(finding).splitlines():
            print(f"  {line}")
        settings.update(change)
        measured = train(settings.dataset(path), args.seconds, step)
        rows.append((text, finding.code, finding.predicted_speedup, measured))
    show(rows, BATCH / accelerator.step_s)
    report_path = pathlib.Path(args.report)
    report_path.parent.mkdir(parents=True, exist_ok=True)
    reports[0].to_html(report_path)
    print(f"\nthe report on the first pipeline: {report_path.resolve()}")
    print(f"took {time.perf_counter() - began:.0f} s")


def show(rows, most):
    """The table of before and after."""
    print(
        f"\n{'change':34}{'because of':18}{'images/s':>9}"
        f"{'gain':>7}{'said':>7}{'idle':>7}"
    )
    before = None
    for text, code, predicted, (rate, idle) in rows:
        gain = f"{rate / before:.2f}x" if before else ""
        said = f"{predicted:.2f}x" if predicted else ""
        print(f"{text:34}{code:18}{rate:>9,.0f}{gain:>7}{said:>7}{100 * idle:>5.0f} %")
        before = rate
    first, last = rows[0][3], rows[-1][3]
    print(
        f"in all {last[0] / first[0]:.1f}x; the accelerator could take at most "
        f"{most:,.0f} images/s"
    )


if __name__ == "__main__":
    main()
