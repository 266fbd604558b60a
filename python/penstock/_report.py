"""What the doctor found: plain data that prints, and travels as JSON.

The schema of `Report.to_json` is described in docs/doctor.md; viewers (the HTML
report, the command line) use nothing but a `Report`.
"""

from __future__ import annotations

import html
import json
import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from penstock._errors import InvalidArgumentError

SCHEMA_VERSION = 1

# Findings that speak of quality or memory, not of speed.
NOT_SPEED = frozenset({"shuffle-window", "early-inflate", "cpu-saturated"})
_COUNTED = frozenset({"calls", "cores", "elements", "files", "rows", "threads"})


@dataclass(frozen=True)
class StageRef:
    """A stage of the pipeline, as `Dataset.explain` numbers it.

    >>> import penstock as ps
    >>> str(ps.StageRef("map", 2, "decode", "map#2:decode"))
    'map#2:decode'
    """

    op: str
    index: int
    name: str | None
    label: str

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Evidence:
    """A measured figure: ``GIL wait: 8.1 ms per element``."""

    what: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.what}: {format_figure(self.value, self.unit)}"


class Fix(str):
    """What to change: a sentence, and code to paste (may be empty)."""

    text: str
    code: str

    def __new__(cls, text: str, code: str = "") -> Fix:  # noqa: PYI034
        self = super().__new__(cls, f"{text}\n{code}" if code else text)
        self.text = text
        self.code = code
        return self

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.text, self.code


@dataclass
class Finding:
    """One cause, with its evidence, its fix and what that would gain.

    `severity` is "critical" (a gain of 2 or more), "warning" or "info".
    `predicted_speedup` is the end-to-end gain of this fix alone.
    """

    code: str
    severity: str
    stage: StageRef
    cause: str
    evidence: list[Evidence]
    fix: Fix
    predicted_speedup: float | None = None
    verified_speedup: float | None = None

    def __str__(self) -> str:
        lines = [f"{self.code} at {self.stage}: {self.cause}"]
        lines += [f"    {e}" for e in self.evidence]
        lines.append(f"  fix: {self.fix.text}")
        lines += [f"    | {line}" for line in self.fix.code.splitlines()]
        if self.predicted_speedup is not None:
            gain = f"  predicted gain: {self.predicted_speedup:.2f}x"
            if self.verified_speedup is not None:
                gain += f", measured: {self.verified_speedup:.2f}x"
            lines.append(gain)
        return "\n".join(lines)


@dataclass
class Waits:
    """Seconds that a stage's hand-over stood still, by reason."""

    input: float = 0.0
    output: float = 0.0
    memory: float = 0.0
    order: float = 0.0
    gil: float = 0.0
    io: float = 0.0


@dataclass
class StageReport:
    """One row of the table of stages. Rates are per second of the run."""

    label: str
    op: str
    index: int
    name: str | None
    description: str
    elements: int
    bytes: int
    rate: float  # elements/s
    service_us: float  # wall time per element, one call
    cpu_us: float  # CPU time per element
    busy_share: float  # mean calls at work; 1.0 is one call all the time
    cpu_share: float  # of all cores
    waits: Waits
    parallelism_mean: float
    parallelism_max: int
    width: int  # calls allowed at once; 0 is no cap
    width_over_time: list[list[float]]  # [seconds, width]
    ceiling: float | None  # output elements/s that this stage allows
    ceiling_kind: str  # "cores", "width", "gil", "serial", "wait", ""
    executor: str  # "native", "thread", "process", "" without a function
    blocking: bool
    limiting: bool


@dataclass
class Report:
    """What `ps.doctor` says about a pipeline. Prints for people.

    >>> import penstock as ps
    >>> report = ps.Report("the consumer is the limit", "consumer", True, 10.0)
    >>> ps.Report.from_json(report.to_json()) == report
    True
    """

    verdict: str
    bound: str  # "pipeline", "consumer" or "balanced"
    healthy: bool
    throughput: float  # output elements/s
    findings: list[Finding] = field(default_factory=list)
    unsure: bool = False
    unsure_why: str = ""
    predicted_throughput: float | None = None  # by the model, as it is now
    seconds: float = 0.0  # observed
    elements: int = 0  # given to the consumer
    stages: list[StageReport] = field(default_factory=list)
    graph: dict[str, Any] = field(default_factory=dict)
    pipes: list[dict[str, Any]] = field(default_factory=list)
    consumer: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    hot_lines: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # What the model was given: `ps.what_if(report, ...)` needs nothing else.
    facts: dict[str, Any] = field(default_factory=dict)
    version: int = SCHEMA_VERSION

    def stage(self, label: str) -> StageReport:
        """The row of the stage that prints as `label`, with or without name."""
        for stage in self.stages:
            if label in (stage.label, stage.label.split(":")[0]):
                return stage
        known = ", ".join(stage.label for stage in self.stages)
        raise KeyError(f"no stage {label!r}; there are {known}")

    def to_json(self, indent: int | None = None) -> str:
        """The whole report; `Report.from_json` reads it."""
        values = asdict(self)
        for finding, plain in zip(self.findings, values["findings"]):
            plain["fix"] = {"text": finding.fix.text, "code": finding.fix.code}
        return json.dumps(values, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """What `to_json` wrote. Fields of later versions are left out."""
        try:
            return cls._from_plain(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidArgumentError(
                "Report.from_json: text must be what to_json() gave: "
                f"{type(error).__name__}: {error}"
            ) from None

    @classmethod
    def _from_plain(cls, values: Any) -> Report:
        if not isinstance(values, dict):
            raise TypeError(f"it holds a {type(values).__name__}")
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in values.items() if k in known}
        values["findings"] = [
            Finding(
                **{
                    **f,
                    "stage": StageRef(**f["stage"]),
                    "evidence": [Evidence(**e) for e in f["evidence"]],
                    "fix": Fix(**f["fix"]),
                }
            )
            for f in values.get("findings", [])
        ]
        values["stages"] = [
            StageReport(**{**s, "waits": Waits(**s["waits"])})
            for s in values.get("stages", [])
        ]
        return cls(**values)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """One self-contained page."""
        from penstock._html import write_report

        write_report(self, path)

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.unsure:
            lines.append(f"(unsure: {self.unsure_why})")
        for number, finding in enumerate(self.findings, 1):
            head, *rest = str(finding).splitlines()
            lines += ["", f"{number}. {head}", *(f"  {line}" for line in rest)]
        if self.stages:
            lines += ["", *self._table()]
        return "\n".join(lines)

    __repr__ = __str__

    def _table(self) -> list[str]:
        width = max(5, *(len(s.label) for s in self.stages)) + 2
        head = f"  {'stage':{width}}{'elements/s':>12}{'us/element':>12}"
        rows = [f"{head}{'busy':>7}{'cpu':>6}{'limit/s':>12}"]
        for s in self.stages:
            limit = "" if s.ceiling is None else _cell(s.ceiling)
            rate, service = _cell(s.rate), f"{s.service_us:,.1f}"
            if not s.elements:  # not slow: it had nothing to do
                rate = service = "-"
            rows.append(
                f"{'>' if s.limiting else ' '} {s.label:{width}}{rate:>12}"
                f"{service:>12}{s.busy_share:>7.2f}"
                f"{100 * s.cpu_share:>5.0f}%{limit:>12}"
            )
        return rows

    def _repr_html_(self) -> str:
        out = [f"<p><b>{html.escape(self.verdict)}</b></p>"]
        for f in self.findings:
            evidence = "".join(f"<li>{html.escape(str(e))}</li>" for e in f.evidence)
            gain = (
                ""
                if f.predicted_speedup is None
                else f" &mdash; predicted gain {f.predicted_speedup:.2f}x"
            )
            out.append(
                f"<p><code>{html.escape(f.code)}</code> at "
                f"<code>{html.escape(str(f.stage))}</code>: "
                f"{html.escape(f.cause)}{gain}</p><ul>{evidence}</ul>"
                f"<p>{html.escape(f.fix.text)}</p>"
            )
            if f.fix.code:
                out.append(f"<pre>{html.escape(f.fix.code)}</pre>")
        table = html.escape("\n".join(self._table())) if self.stages else ""
        return "".join(out) + (f"<pre>{table}</pre>" if table else "")


def format_figure(value: float, unit: str) -> str:
    """A figure for people, in three significant digits.

    >>> format_figure(999_900, "bytes")
    '1,000 kB'
    >>> format_figure(0.0042, "s"), format_figure(0, "s")
    ('4.2 ms', '0 s')
    >>> format_figure(1, "calls"), format_figure(2, "calls")
    ('1 call', '2 calls')
    """
    if unit == "bytes":
        for limit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
            if abs(value) >= limit:
                return f"{_digits(value / limit)} {name}"
        return f"{value:.0f} bytes"
    if unit == "s":
        for limit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
            if abs(value) >= limit or value == 0:
                return f"{_digits(value / limit)} {name}"
        return f"{_digits(value * 1e9)} ns"
    if value == 1 and unit in _COUNTED:
        unit = unit[:-1]
    return f"{_digits(value)} {unit}".rstrip()


def _cell(value: float) -> str:
    """For a column of the table of stages."""
    return _digits(value) if value < 999_999_999 else f"{value:.3e}"


def _digits(value: float) -> str:
    # Above 999.5 the format for digits would write an exponent.
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
