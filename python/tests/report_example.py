"""Reports for tests of what shows them: made up, but of the real shape."""

import math

from penstock._report import (
    Evidence,
    Finding,
    Fix,
    Report,
    StageRef,
    StageReport,
    Waits,
)


def stage(index, op, *, name=None, rate=312.0, limiting=False, **values):
    label = f"{op}#{index}" + (f":{name}" if name else "")
    fields = {
        "label": label, "op": op, "index": index, "name": name,
        "description": f"{op}(...)", "elements": int(rate * 5),
        "bytes": int(rate * 5 * 150_528), "rate": rate, "service_us": 41.2,
        "cpu_us": 39.0, "busy_share": 0.4, "cpu_share": 0.2,
        "waits": Waits(input=1.2, output=2.1), "parallelism_mean": 0.4,
        "parallelism_max": 2, "width": 0, "width_over_time": [], "ceiling": 5200.0,
        "ceiling_kind": "cores", "executor": "", "blocking": False,
        "limiting": limiting,
    }  # fmt: skip
    return StageReport(**{**fields, **values})


def small():
    """A folder of photos through a Python function that holds the GIL."""
    stages = [
        stage(0, "list_files", rate=320, service_us=0.4, busy_share=0.0,
              description='list_files("photos/*.jpg")', cpu_share=0.0,
              ceiling=71_900.0),
        stage(1, "map", name="load", rate=318, executor="thread", blocking=True,
              description="map(load)", width=8, service_us=410.0, cpu_share=0.08,
              width_over_time=[
                  [0, 1], [0.01, 2], [0.012, 4], [0.02, 8], [3, 6], [5, 8]
              ],
              waits=Waits(output=3.9, io=0.6), ceiling=444.0, ceiling_kind="wait"),
        stage(2, "map", name="augment", rate=312, limiting=True, executor="thread",
              description="map(augment)", service_us=3180.0, busy_share=0.99,
              cpu_share=0.5, ceiling=9.8, ceiling_kind="gil",
              waits=Waits(input=0.05, gil=3.1)),
        stage(3, "shuffle", rate=312, service_us=0.8, busy_share=0.0,
              description="shuffle(1000)", ceiling=28_100.0, cpu_share=0.0,
              waits=Waits(input=4.9)),
        stage(4, "batch", rate=9.75, service_us=210.0, description="batch(32)",
              ceiling=4_700.0, waits=Waits(input=4.7)),
    ]  # fmt: skip
    nodes = []
    for before, s in zip([None, *stages], stages):
        nodes.append(
            {
                "label": s.label,
                "op": s.op,
                "index": s.index,
                "name": s.name,
                "description": s.description,
                "inputs": [before.label] if before else [],
                "branch": "",
            }  # fmt: skip
        )
    findings = [
        Finding(
            "python-gil", "critical", StageRef("map", 2, "augment", "map#2:augment"),
            "the function holds the GIL: calls of augment run one after the other, "
            "however many are allowed",
            [Evidence("GIL held", 0.97, "of the time"),
             Evidence("waiting for the GIL", 0.0099, "s"),
             Evidence("one call", 0.00318, "s"),
             Evidence("cores used", 1.02, "cores")],
            Fix("Run the function in worker processes.",
                'ds.map(augment, executor="process")'),
            1.93, 1.88,
        ),
        Finding(
            "shuffle-window", "info", StageRef("shuffle", 3, None, "shuffle#3"),
            "the window covers 0.4 % of an ordered source",
            [Evidence("window", 1000, "elements"),
             Evidence("source", 250_000, "elements")],
            Fix("Shuffle the file names, which is free.",
                'ps.Dataset.list_files("photos/*.jpg", shuffle=True)\n'
                "  .map(load)"),
        ),
    ]  # fmt: skip
    samples = [
        {
            "t": 0.1 * (i + 1),
            "rate": 9.75 + 1.5 * math.sin(i / 5),
            "bytes_held": 40e6 + 1e6 * i,
            "wait_share": 0.55 + 0.3 * math.sin(i / 7),
            "busy": {"map#1:load": 0.3, "map#2:augment": 0.9, "batch#4": 0.02},
        }
        for i in range(50)
    ]
    return Report(
        verdict="The pipeline is the limit: map#2:augment holds the GIL and gives "
        "312 images/s; worker processes would give about 600.",
        bound="pipeline",
        healthy=False,
        throughput=9.75,
        findings=findings,
        predicted_throughput=9.81,
        seconds=5.0,
        elements=48,
        stages=stages,
        graph={"nodes": nodes, "output": "batch#4"},
        consumer={"wait_s": 3.1, "think_s": 1.9, "wait_share": 0.62,
                  "think_us": 39_000.0, "given": True},
        memory={"held": 52e6, "peak": 88e6, "budget": 2_000_000_000},
        decisions=[
            {"at_s": 0.008, "stage": "map#1:load", "what": "marked blocking, width 2",
             "reason": "2 calls waited over 5 ms with 3 % CPU"},
            {"at_s": 0.02, "stage": "map#1:load", "what": "width 8",
             "reason": "all 4 calls blocked while a core was idle"},
        ],
        machine={"cores": 2, "cpu_budget": 2, "python": "3.11.7", "numpy": "2.1.0",
                 "penstock": "0.1.0", "platform": "Linux x86_64", "cpu_used": 1.02,
                 "cpu_other": 0.31},
        samples=samples,
        hot_lines={"map#2:augment": [
            {"file": "/home/me/train.py", "line": 41, "function": "augment",
             "text": "for y in range(h): out[y] = blend(row[y], noise)",
             "share": 0.81},
            {"file": "/home/me/train.py", "line": 44, "function": "augment",
             "text": "return out / 255.0", "share": 0.11},
        ]},
    )  # fmt: skip


def large(stages=60, hours=1.0):
    """Many stages in three branches, and a sample a second for hours."""
    listed, nodes = [], []

    def add(op, inputs, branch="", **values):
        index = len(listed)
        made = stage(index, op, name=f"step_{index}", **values)
        made.label = f"{branch}{made.label}"
        listed.append(made)
        nodes.append(
            {"label": made.label, "op": op, "index": index, "name": made.name,
             "description": f"{op}(a_function_with_a_long_name_{index})",
             "inputs": inputs, "branch": branch}
        )  # fmt: skip
        return made.label

    ends = []
    for b in range(3):
        last = add("tfrecord", [], f"zip#50[{b}].")
        for _ in range(12):
            last = add("map", [last], f"zip#50[{b}].")
        ends.append(last)
    last = add("zip", ends)
    while len(listed) < stages:
        last = add("map", [last], limiting=len(listed) == 45)
    count = int(3600 * hours)
    samples = [
        {
            "t": i + 1.0,
            "rate": 1000 + 200 * math.sin(i / 50) - (900 if 1800 <= i < 1830 else 0),
            "bytes_held": 1e9 + 1e5 * i,
            "wait_share": 0.1 + (0.8 if 1800 <= i < 1830 else 0),
            "busy": {s.label: abs(math.sin(i / 100 + s.index)) for s in listed},
        }
        for i in range(count)
    ]
    for s in listed[::7]:
        s.width = 8
        s.width_over_time = [[i, 1 + i % 8] for i in range(0, count, 5)]
    return Report(
        "The pipeline is the limit: one stage of sixty.", "pipeline", False, 1000.0,
        seconds=float(count), stages=listed, graph={"nodes": nodes, "output": last},
        samples=samples, consumer={"wait_share": 0.1},
        decisions=[{"at_s": float(i), "stage": last, "what": f"width {i % 9}",
                    "reason": "the measured rate"} for i in range(0, count, 4)],
    )  # fmt: skip
