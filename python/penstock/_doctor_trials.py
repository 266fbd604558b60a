"""What a fix would leave of a stage's time, tried on an element.

Only where the fix is known and elements are cheap to come by: a smaller decode of
a picture; one path of a function as native code, where a branch keeps it from
being native. Some milliseconds each, after the pipeline was watched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock._errors import Error
from penstock._trace_value import branches_taken

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._doctor_facts import Plan

_REPEATS = 5
_LEAST_CALL_S = 20e-6  # below, a call is not what native code would save
_MOST_INPUT_S = 1e-3  # of making an element to try it on
_LEAST_RATIO = 6  # of pixels, as rules/oversized_decode.cc has it


def add_trials(plan: Plan, stages: list[dict[str, Any]]) -> None:
    """Sets `decode_left` of stages that decode pictures which are shrunk much, and
    `native_left` of Python functions that a rewrite would make native."""
    for i, facts in enumerate(stages):
        in_processes = facts.get("executor") == "process"
        if facts["op"] == "map" and (
            facts.get("refusal_fixable") or (in_processes and facts.get("native_form"))
        ):
            facts["native_left"] = native_left(plan, stages, i)
        if facts["decoded_pixels"] and facts["elements"]:
            scale = decode_scale(stages, i)
            if scale > 1:
                data = _encoded(plan, facts["inputs"])
                if data is not None:
                    facts["decode_left"] = decode_left(data, scale)


def native_left(plan: Plan, stages: list[dict[str, Any]], i: int) -> float:
    """CPU time of one path of stage's function as native code over that of the
    function; 0 if it cannot be tried."""
    facts, inputs = stages[i], stages[i]["inputs"]
    before = plan.stages[inputs[0]].dataset if len(inputs) == 1 else None
    if before is None or not facts["elements"]:
        return 0.0
    # Not by the time with the GIL: beside other load that is longer.
    now = (facts["cpu_s"] + facts["worker_cpu_s"]) / facts["elements"]
    ahead = [stages[k] for k in range(i) if stages[k]["elements"]]
    if now < _LEAST_CALL_S or (
        sum(s["busy_s"] / s["elements"] for s in ahead) > _MOST_INPUT_S
    ):
        return 0.0
    n = max(16, min(2000, int(0.05 / now)))
    try:
        with branches_taken():
            native = before.map(plan.stages[i].fn, executor="native").take(n)
        spent = _passes(native) - _passes(before.take(n))
    except Exception:
        return 0.0
    return float(min(1.5, max(1e-3, spent / (n * now))))


def _passes(ds: Dataset) -> float:
    """CPU seconds of a pass over `ds`, the best of some."""
    from penstock._doctor import fresh

    times = []
    for _ in range(_REPEATS):
        with fresh(ds).iterator() as it:
            began = time.process_time()
            for _ in it:
                pass
            times.append(time.process_time() - began)
    return min(times)


def decode_scale(stages: list[dict[str, Any]], i: int) -> int:
    """1/scale at which stage `i` could decode for what is kept behind it."""
    decoded = stages[i]["decoded_pixels"] / stages[i]["elements"]
    kept = 0.0
    for facts in stages[i:]:
        if facts["resized_pixels"] and facts["elements"]:
            kept = facts["resized_pixels"] / facts["elements"]
            break
    ratio = decoded / kept if kept else stages[i].get("shape_ratio", 0.0)
    if ratio < _LEAST_RATIO:
        return 1
    scale = 2
    while scale < 8 and ratio >= 4 * scale * scale:
        scale *= 2
    return scale


def decode_left(data: bytes, scale: int) -> float:
    """Time of decoding `data` at 1/scale over that of decoding it whole; 0 if it
    is no JPEG."""
    from penstock import image

    try:
        whole = _best(lambda: image.decode_jpeg(data))
        part = _best(lambda: image.decode_jpeg(data, ratio=scale))
    except Error:
        return 0.0
    return min(1.0, part / whole)


def _best(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def _encoded(plan: Plan, inputs: list[int]) -> bytes | None:
    """The bytes of the first element in front of a stage, if that is all it is."""
    from penstock._doctor import fresh

    if len(inputs) != 1:
        return None
    before: Dataset | None = plan.stages[inputs[0]].dataset
    if before is None:
        return None
    try:
        with fresh(before).iterator() as it:
            element = next(iter(it), None)
    except Exception:
        return None
    if isinstance(element, bytes):
        return element
    values: list[Any] = []
    if isinstance(element, dict):
        values = list(element.values())
    elif isinstance(element, tuple):
        values = list(element)
    found = [v for v in values if isinstance(v, bytes)]
    return found[0] if len(found) == 1 else None
