"""The results as Markdown and SVG."""

import html
import json
import math

import rows

NAMES = {
    "penstock": "Penstock", "tfdata": "tf.data", "torch": "DataLoader",
    "grain": "Grain", "spdl": "SPDL", "dali": "DALI (CPU)", "mlx": "mlx-data",
    "ray": "Ray Data",
}  # fmt: skip
# Above this many cores used by others, figures are said to be disturbed.
DISTURBED = 0.15


def write(result, folder):
    """peers.md, peers.json and an SVG for each row; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "peers.json", folder / "peers.md"]
    paths[0].write_text(json.dumps(result, indent=1) + "\n")
    paths[1].write_text(markdown(result))
    for row, engines in result["rows"].items():
        paths.append(folder / f"{row}.svg")
        paths[-1].write_text(plot(row, engines))
    return paths


def figure(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(result):
    engines = list(result["versions"])
    lines = ["# Beside the peers", ""]
    load = result["other_load"]
    if load > DISTURBED:
        lines += [
            f"**Measured beside other load**: other programs used {load:.2f} of the "
            f"{result['machine']['cores']} cores meanwhile. Ratios inside one "
            "repetition hold better than absolute figures, but these should be "
            "measured again on a quiet machine.",
            "",
        ]
    lines += [
        "How many times longer than Penstock an element takes: the median over "
        f"{result['repeats']} interleaved repetitions of the ratio in the same "
        "repetition, with its spread. Penstock's own column is elements per second. "
        "Outputs were compared first; `benchmarks/peers/README.md` has the rules.",
        "",
        "| row | " + " | ".join(NAMES[e] for e in engines) + " |",
        "|---|" + "---|" * len(engines),
    ]
    for row, by_engine in result["rows"].items():
        about = rows.ROWS[row]
        cells = []
        for engine in engines:
            each = by_engine.get(engine)
            if each is None:
                cells.append("")
            elif engine == "penstock":
                cells.append(f"{figure(each['per_second'])} {about.unit}/s")
            else:
                spread = f"{figure(each['ratio_min'])} to {figure(each['ratio_max'])}"
                cells.append(f"{figure(each['ratio'])}x ({spread})")
        lines.append(f"| {row}: {about.title} | " + " | ".join(cells) + " |")
    lines += ["", *notes(result), ""]
    for row in result["rows"]:
        lines.append(f"![{row}: {rows.ROWS[row].title}]({row}.svg)")
    return "\n".join(lines) + "\n"


def notes(result):
    machine = result["machine"]
    lines = [
        f"- Machine: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}.",
        f"- Versions: {', '.join(result['versions'].values())}.",
        f"- Command: `{result['command']}`, {result['date']}; others used "
        f"{result['other_load']:.2f} cores.",
    ]
    for name, why in result["absent"].items():
        lines.append(f"- {NAMES[name]} is missing: {why}")
    for row, engines in result["refused"].items():
        for name, why in engines.items():
            lines.append(f"- {row}, {NAMES[name]}: not measured, {why}.")
    return lines


def plot(row, engines):
    """Bars of elements per second, on a logarithmic scale; whiskers: spread."""
    height, left, width = 22, 110, 640
    ours = engines["penstock"]["per_second"]
    bars = []
    for name, each in sorted(engines.items(), key=lambda x: -x[1]["per_second"]):
        low, high = ours / each["ratio_max"], ours / each["ratio_min"]
        bars.append((name, ours / each["ratio"], low, high))
    top = max(b[3] for b in bars)
    bottom = min(b[2] for b in bars) / 2
    span = math.log(top / bottom) or 1.0

    def x(value):
        return left + (width - left - 130) * math.log(value / bottom) / span

    title = f"{row}: {rows.ROWS[row].title}, {rows.ROWS[row].unit}/s"
    total = 34 + height * len(bars) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total}" '
        f'viewBox="0 0 {width} {total}" font-family="sans-serif" font-size="12">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{total}" fill="#fff"/>',
        f'<text x="8" y="20" font-weight="600">{html.escape(title)}</text>',
    ]
    for i, (name, rate, low, high) in enumerate(bars):
        y = 34 + i * height
        colour = "#a8410f" if name == "penstock" else "#7b8794"
        middle = y + height / 2 - 2
        parts += [
            f'<text x="8" y="{middle + 4}">{NAMES[name]}</text>',
            f'<rect x="{left}" y="{y}" width="{x(rate) - left:.1f}" '
            f'height="{height - 6}" fill="{colour}"/>',
            f'<path d="M{x(low):.1f} {middle}H{x(high):.1f}" stroke="#1d1d1b"/>',
            f'<text x="{x(max(rate, high)) + 6:.1f}" y="{middle + 4}">'
            f"{figure(rate)}</text>",
        ]
    return "\n".join(parts) + "\n</svg>\n"
