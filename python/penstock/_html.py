"""A report as one HTML file that needs nothing else.

Text, graph and tables are written here; `assets/report.js` draws the timeline
and `assets/report.css` the rest. A content policy in the page forbids every
request. Long histories are put into at most `MAX_SAMPLES` buckets.
"""

from __future__ import annotations

import html
import json
import math
import os
import pathlib
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from penstock._html_graph import graph_rows
from penstock._report import Finding, Report, StageReport, format_figure

MAX_SAMPLES = 1000
_ASSETS = pathlib.Path(__file__).parent / "assets"
_WAITS = ("input", "output", "memory", "order", "gil", "io")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:"
)


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes the page, all of it or nothing."""
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"report: there is no folder {folder}")
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".report-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(render(report))
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def render(report: Report) -> str:
    """The page as text.

    >>> import penstock as ps
    >>> page = render(ps.Report("the consumer is the limit", "consumer", True, 10.0))
    >>> page.startswith("<!doctype html>"), "https:" in page
    (True, False)
    """
    css = (_ASSETS / "report.css").read_text(encoding="utf-8")
    js = (_ASSETS / "report.js").read_text(encoding="utf-8")
    parts = [
        _head(report),
        _figures(report),
        _findings(report),
        _graph(report),
        _stages(report),
        _timeline(report),
        _decisions(report),
        _footer(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(report.verdict)}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(parts)}</main>\n<script>\n{js}</script>\n"
        "</body>\n</html>\n"
    )


def _e(text: object) -> str:
    return html.escape(str(text))


def _number(value: float) -> str:
    """Three significant digits, thousands apart.

    >>> _number(1234567), _number(12.345), _number(0.00123), _number(0)
    ('1,234,567', '12.3', '0.00123', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _duration(seconds: float) -> str:
    """
    >>> _duration(4.9), _duration(90), _duration(3700)
    ('4.9 s', '1 min 30 s', '1 h 1 min')
    """
    if seconds < 60:
        return format_figure(seconds, "s")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _head(report: Report) -> str:
    unsure = ""
    if report.unsure:
        unsure = (
            f'<p class="unsure">The figures do not settle it: {_e(report.unsure_why)}'
            "</p>\n"
        )
    return (
        "<header><span>Penstock report</span>"
        '<button id="theme" type="button">light / dark</button></header>\n'
        f'<h1 id="verdict">{_e(report.verdict)}</h1>\n{unsure}'
    )


def _figures(report: Report) -> str:
    consumer, memory, machine = report.consumer, report.memory, report.machine
    rows = [("throughput", f"{_number(report.throughput)} <small>elements/s</small>")]
    if report.predicted_throughput is not None:
        rows.append(
            ("by the model",
             f"{_number(report.predicted_throughput)} <small>elements/s</small>")
        )  # fmt: skip
    rows.append(("limited by", _e(report.bound)))
    if "wait_share" in consumer:
        rows.append(("consumer waits", f"{100 * consumer['wait_share']:.0f} %"))
    if memory.get("peak") is not None:
        budget = memory.get("budget")
        of = f" <small>of {format_figure(budget, 'bytes')}</small>" if budget else ""
        rows.append(("memory, at most", format_figure(memory["peak"], "bytes") + of))
    if machine.get("cpu_used") is not None:
        rows.append(
            ("cores used",
             f"{machine['cpu_used']:.2f} <small>of {machine.get('cores', '?')}"
             f"{_others(machine)}</small>")
        )  # fmt: skip
    if report.seconds:
        rows.append(("observed", _duration(report.seconds)))
    cells = "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in rows)
    return f'<dl class="figures">{cells}</dl>\n'


def _others(machine: dict[str, Any]) -> str:
    other = machine.get("cpu_other") or 0.0
    return f", others {other:.2f}" if other >= 0.05 else ""


def _findings(report: Report) -> str:
    if not report.findings:
        return '<h2>Findings</h2>\n<p class="note">None.</p>\n'
    found = "".join(_finding(f, report) for f in report.findings)
    return f'<h2>Findings</h2>\n<section id="findings">{found}</section>\n'


def _finding(finding: Finding, report: Report) -> str:
    gain = ""
    if finding.predicted_speedup is not None:
        gain = f"{finding.predicted_speedup:.2f}x predicted"
        if finding.verified_speedup is not None:
            gain += f", {finding.verified_speedup:.2f}x measured"
        gain = f'<span class="gain">{gain}</span>'
    hot = report.hot_lines.get(str(finding.stage), [])
    evidence = "".join(
        f"<li><span>{_e(e.what)}</span>"
        f"<span>{_e(format_figure(e.value, e.unit))}</span></li>"
        for e in finding.evidence
        if not (hot and e.what.startswith("hot line "))  # they have a table
    )
    code = ""
    if finding.fix.code:
        code = (
            f'<div class="fix"><pre><code>{_e(finding.fix.code)}</code></pre>'
            '<button class="copy" type="button">copy</button></div>'
        )
    return (
        '<article class="finding"><div class="head">'
        f"<h3>{_e(finding.code)}</h3>"
        f'<span class="label">{_e(finding.stage)}</span>'
        f'<span class="severity {_e(finding.severity)}">{_e(finding.severity)}</span>'
        f"{gain}</div><p>{_e(finding.cause)}</p>"
        f'<ul class="evidence">{evidence}</ul>{_hot_lines(hot)}'
        f"<p><b>Fix:</b> {_e(finding.fix.text)}</p>{code}</article>\n"
    )


def _hot_lines(lines: Sequence[dict[str, Any]]) -> str:
    if not lines:
        return ""
    rows = "".join(
        f"<tr><td>{100 * line['share']:.0f} %</td>"
        f'<td class="text"><code>{_e(line["text"])}</code> <small>'
        f"{_e(os.path.basename(line['file']))}:{line['line']}</small></td></tr>"
        for line in lines[:10]
    )
    return (
        '<table class="hot"><caption>Lines of the function, by how often they were '
        f"seen at work</caption><tbody>{rows}</tbody></table>"
    )


def _graph(report: Report) -> str:
    nodes = report.graph.get("nodes") or [
        {"label": s.label, "description": s.description, "inputs": []}
        for s in report.stages
    ]
    if not nodes:
        return ""
    by_label = {s.label: s for s in report.stages}
    if not report.graph.get("nodes"):
        for before, node in zip(nodes, nodes[1:]):
            node["inputs"] = [before["label"]]
    rows = []
    for node, rails in zip(nodes, graph_rows(nodes)):
        stage = by_label.get(node["label"])
        limiting = stage is not None and stage.limiting
        described = node.get("description") or ""
        small = f"<small>{_e(described)}</small>" if described else ""
        rows.append(
            f'<li class="{"limiting" if limiting else ""}">{rails}'
            f'<span class="name"><span class="label">{_e(node["label"])}</span>{small}'
            f"</span>{_load(stage, report)}"
            f'<span class="rate">{_rate(stage)}</span></li>\n'
        )
    limit = [s.label for s in report.stages if s.limiting]
    said = f"Limiting: {', '.join(limit)}. " if limit else ""
    return (
        f"<h2>Pipeline</h2>\n<p class='note'>{_e(said)}Data flows downwards. The bar "
        "is the measured rate as a share of what the stage would allow.</p>\n"
        f'<ol class="graph" id="graph">{"".join(rows)}</ol>\n'
    )


def _load(stage: StageReport | None, report: Report) -> str:
    if stage is None or not stage.ceiling:
        return '<span class="load" style="visibility:hidden"></span>'
    share = min(1.0, report.throughput / stage.ceiling)
    return (
        f'<span class="load" title="{100 * share:.0f} % of its ceiling">'
        f'<i style="width:{100 * share:.1f}%"></i></span>'
    )


def _rate(stage: StageReport | None) -> str:
    return f"{_number(stage.rate)}/s" if stage is not None and stage.elements else ""


def _stages(report: Report) -> str:
    if not report.stages:
        return ""
    seconds = report.seconds or 1.0
    kinds = [w for w in _WAITS if any(_waited(s, w, seconds) for s in report.stages)]
    columns = ["stage", "elements/s", "allows, output/s", "us/element", "busy calls",
               "cpu", *(f"waits, {w}" for w in kinds), "waits", "width",
               "width over time"]  # fmt: skip
    head = "".join(f"<th>{_e(c)}</th>" for c in columns)
    body = "".join(_stage_row(s, seconds, kinds, columns) for s in report.stages)
    legend = "".join(
        f'<span><i style="background:var(--w-{w})"></i>{w}</span>' for w in kinds
    )
    idle = ""
    if report.elements and not all(s.elements for s in report.stages):
        idle = (
            " A stage without a rate made nothing in this time: what was taken lay "
            "ready, or other stages do its work."
        )
    return (
        "<h2>Stages</h2>\n<p class='note'>Busy: calls at work, on average. Waits: "
        "time that calls or results stood still, by what they waited for; above "
        f"100 %, several at once. Width: calls allowed at once.{idle}</p>\n"
        f'<div class="legend">{legend}</div>\n'
        f'<table class="stages" id="stages"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>\n"
    )


def _waited(stage: StageReport, kind: str, seconds: float) -> float:
    """As a share of the time; 0 for what does not count."""
    share: float = getattr(stage.waits, kind) / seconds
    return share if share >= 0.005 else 0.0


def _stage_row(
    stage: StageReport, seconds: float, kinds: Sequence[str], columns: Sequence[str]
) -> str:
    ceiling = ""
    if stage.ceiling is not None:
        kind = f" <small>{_e(stage.ceiling_kind)}</small>" if stage.ceiling_kind else ""
        ceiling = _number(stage.ceiling) + kind
    waits = {w: _waited(stage, w, seconds) for w in kinds}
    bars = "".join(
        f'<i style="width:{min(100.0, 100 * share):.1f}%;background:var(--w-{w})"'
        f' title="{w} {100 * share:.0f} %"></i>'
        for w, share in waits.items()
        if share
    )
    bar = f'<span class="waits">{bars}</span>' if bars else ""
    executor = f" <small>{_e(stage.executor)}</small>" if stage.executor else ""
    blocking = " <small>blocking</small>" if stage.blocking else ""
    values = [
        f'<span class="label">{_e(stage.label)}</span>{executor}{blocking}',
        _number(stage.rate) if stage.elements else "",
        ceiling,
        _number(stage.service_us) if stage.elements else "",
        f"{stage.busy_share:.2f}",
        f"{100 * stage.cpu_share:.0f} %",
        *(f"{100 * share:.0f} %" if share else "" for share in waits.values()),
        bar,
        str(stage.width) if stage.width else "free",
        _spark(stage.width_over_time),
    ]
    cells = "".join(
        f'<td data-name="{_e(name)}">{f"<span>{value}</span>" if value else ""}</td>'
        for name, value in zip(columns, values)
    )
    return f'<tr class="{"limiting" if stage.limiting else ""}">{cells}</tr>\n'


def _spark(points: Sequence[Sequence[float]]) -> str:
    """A step line of a width over time."""
    if len({p[1] for p in points}) < 2:
        return ""
    width, height = 72, 16
    points = _thinned(points, 120)
    end = points[-1][0] or 1.0
    most = max(p[1] for p in points) or 1.0
    path: list[str] = []
    for t, value in points:
        x = width * t / end
        y = 1 + (height - 2) * (1 - value / most)
        path.append(f"H{x:.1f}V{y:.1f}" if path else f"M{x:.1f} {y:.1f}")
    label = f"width from {points[0][1]:g} to {points[-1][1]:g}, at most {most:g}"
    return (
        f'<svg class="spark" width="{width}" height="{height}" role="img" '
        f'aria-label="{label}"><title>{label}</title>'
        f'<path d="{"".join(path)}H{width}"/></svg>'
    )


def _thinned(points: Sequence[Sequence[float]], most: int) -> list[Sequence[float]]:
    """At most `most` points, with the highest and the last among them."""
    if len(points) <= most:
        return list(points)
    size = math.ceil(len(points) / (most - 1))
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [max(g, key=lambda p: p[1]) for g in groups[:-1]] + [points[-1]]


def _timeline(report: Report) -> str:
    if len(report.samples) < 2:
        return (
            "<h2>Timeline</h2>\n<p class='note'>An iterator keeps sums, no history. "
            "How it went over time is in the report of <code>ps.doctor(ds)</code>, "
            "<code>it.doctor()</code> or <code>penstock doctor script.py</code>; what "
            "each thread did, in <code>ps.trace(it, path)</code>.</p>\n"
        )
    data = json.dumps(timeline_data(report), separators=(",", ":"), allow_nan=False)
    data = data.replace("<", "\\u003c")
    buttons = "".join(
        f'<button type="button" data-do="{do}" aria-label="{label}">{text}</button>'
        for do, text, label in (
            ("in", "+", "zoom in"),
            ("out", "-", "zoom out"),
            ("left", "&larr;", "earlier"),
            ("right", "&rarr;", "later"),
            ("all", "all", "whole history"),
        )
    )
    return (
        "<h2>Timeline</h2>\n<p class='note'>Drag to zoom, double-click for all; "
        "Ctrl and wheel, or + and -, and the arrow keys work too. Rows are stages: "
        "the stronger, the more calls were at work. Ticks on top are decisions.</p>\n"
        f'<div id="timeline"><div class="controls">{buttons}'
        '<span class="range"></span></div><canvas tabindex="0" role="img" '
        'aria-label="rate, waits, memory and stages over time"></canvas>'
        '<div id="readout" aria-live="polite"></div></div>\n'
        f'<script type="application/json" id="samples">{data}</script>\n'
    )


def timeline_data(report: Report, most: int = MAX_SAMPLES) -> dict[str, Any]:
    """What the timeline draws: means, lows and highs of at most `most` spans."""
    samples = report.samples
    size = max(1, math.ceil(len(samples) / most))
    groups = [samples[i : i + size] for i in range(0, len(samples), size)]
    stages = []
    for stage in report.stages:
        busy = [
            round(_mean((s.get("busy") or {}).get(stage.label, 0.0) for s in group), 2)
            for group in groups
        ]
        if any(busy):
            stages.append(
                {
                    "label": stage.label,
                    "limiting": stage.limiting,
                    "most": max(busy),
                    "busy": busy,
                }
            )
    # A sample speaks of the time before it, the first one often from the start.
    ends = [group[-1]["t"] for group in groups]
    first = samples[0]["t"]
    step = samples[1]["t"] - first
    start = first - step if first > 2 * step else 0.0
    return {
        "t": [round(x, 3) for x in [start, *ends[:-1]]],
        "end": round(max(ends[-1], 1e-3), 3),
        "rate": _series(groups, "rate"),
        "wait": _series(groups, "wait_share"),
        "held": _series(groups, "bytes_held"),
        "stages": stages,
        "decisions": [
            {"at_s": d["at_s"], "stage": d["stage"], "what": d["what"]}
            for d in report.decisions
        ],
    }


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _series(groups: list[list[dict[str, Any]]], key: str) -> dict[str, Any]:
    mean: list[float | None] = []
    low: list[float | None] = []
    high: list[float | None] = []
    for group in groups:
        values = [s[key] for s in group if s.get(key) is not None]
        mean.append(_short(sum(values) / len(values)) if values else None)
        low.append(_short(min(values)) if values else None)
        high.append(_short(max(values)) if values else None)
    return {"mean": mean, "min": low, "max": high}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _decisions(report: Report) -> str:
    if not report.decisions:
        return ""
    shown = report.decisions[:500]
    rows = "".join(
        f"<tr><td>{_duration(d['at_s'])}</td>"
        f'<td class="text"><span class="label">{_e(d["stage"])}</span></td>'
        f'<td class="text">{_e(d["what"])}</td>'
        f'<td class="text">{_e(d["reason"])}</td></tr>\n'
        for d in shown
    )
    more = len(report.decisions) - len(shown)
    rest = f'<p class="note">{more:,} more.</p>' if more else ""
    return (
        "<h2>What the engine decided</h2>\n"
        '<div class="scroll" tabindex="0">'
        '<table class="log" id="decisions"><thead><tr><th>at</th>'
        '<th class="text">stage</th><th class="text">what</th>'
        '<th class="text">why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{rest}\n"
    )


def _footer(report: Report) -> str:
    machine = report.machine
    parts = []
    for key, name in (("platform", ""), ("cores", "cores"), ("python", "Python"),
                      ("numpy", "NumPy"), ("penstock", "Penstock")):  # fmt: skip
        if machine.get(key):
            value = machine[key]
            text = f"{value} {name}" if key == "cores" else f"{name} {value}".strip()
            parts.append(_e(text))
    return f"<footer>{' &middot; '.join(parts)}</footer>\n" if parts else ""
