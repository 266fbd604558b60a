"""The results as Markdown, JSON and SVG."""

import json
import time

import plot
import rows

NAMES = {
    "penstock": "Penstock", "tfdata": "tf.data", "torch": "DataLoader",
    "grain": "Grain", "spdl": "SPDL", "dali": "DALI (CPU)", "mlx": "mlx-data",
    "ray": "Ray Data",
}  # fmt: skip
# Above this many cores used by others, figures are said to be disturbed.
DISTURBED = 0.15


def write(result, folder):
    """README.md, peers.json and an SVG for each group; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "peers.json", folder / "README.md"]
    paths[0].write_text(json.dumps(result, indent=1) + "\n")
    paths[1].write_text(markdown(result))
    for group in groups(result):
        paths.append(folder / f"{group}.svg")
        paths[-1].write_text(plot.group(group, groups(result)[group], NAMES, value))
    return paths


def groups(result):
    """{group: {row: about}} of what was measured, in the order of the rows."""
    found = {}
    for row, about in result["rows"].items():
        found.setdefault(rows.ROWS[row].group, {})[row] = about
    return found


def value(row, each):
    """An engine's figure in its unit."""
    unit = rows.ROWS[row].unit
    if row == "P12":
        return f"{each['each']:.0f} {unit}"
    if row in rows.FRESH:
        return f"{figure(each['each'] * 1e3)} ms"
    if row in ("P1", "P1b", "P2"):
        return f"{figure(each['each'] * 1e9)} ns/element"
    return f"{figure(1 / each['each'])} {unit}/s"


def ratio(each):
    return f"{figure(each['ratio'])}x"


def spread(each):
    return f"{figure(each['ratio_min'])} to {figure(each['ratio_max'])}"


def sentence(row, name, each):
    if name == "penstock":
        return value(row, each)
    return f"{value(row, each)}, {ratio(each)} ({spread(each)})"


def figure(number):
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def markdown(result):
    lines = ["# Penstock beside its peers", ""]
    lines += disturbed(result)
    lines += [
        "How many times as long as Penstock an engine takes for an element (for "
        "P12: how many times as much memory): 1 is as fast, below 1 is faster "
        "than Penstock. Medians of the ratio inside one repetition; all engines "
        "run in every repetition, and their outputs were compared first. "
        "[How it is measured](../../benchmarks/peers/README.md).",
        "",
    ]
    lines += overview(result)
    for group, members in groups(result).items():
        lines += ["", f"## {rows.GROUPS[group]}", ""]
        lines += [f"![{rows.GROUPS[group]}: time as a multiple of Penstock's]"
                  f"({group}.svg)"]  # fmt: skip
        for row, about in members.items():
            lines += ["", *details(row, about)]
    lines += ["", "## Conditions", "", *conditions(result)]
    return "\n".join(lines) + "\n"


def disturbed(result):
    loads = {r: about["other_load"] for r, about in result["rows"].items()}
    busy = [load for load in loads.values() if load > DISTURBED]
    if not busy:
        return []
    return [
        f"**Preliminary: measured beside other load.** In {len(busy)} of "
        f"{len(loads)} rows other programs used up to {max(busy):.2f} of the "
        f"{result['machine']['cores']} cores meanwhile (the load of each row is "
        "below). Ratios inside one repetition hold better than absolute figures, "
        "but these should be measured again on a quiet machine.",
        "",
    ]


def overview(result):
    present = [
        name
        for name in NAMES
        if any(name in about["engines"] for about in result["rows"].values())
    ]
    head = ["Penstock", *(NAMES[name] for name in present[1:])]
    lines = ["| row | " + " | ".join(head) + " |", "|---|" + "---:|" * len(head)]
    for row, about in result["rows"].items():
        cells = [value(row, about["engines"]["penstock"])]
        for name in present[1:]:
            each = about["engines"].get(name)
            cells.append("" if each is None else ratio(each))
        lines.append(f"| {row}: {rows.ROWS[row].title} | " + " | ".join(cells) + " |")
    return lines


def details(row, about):
    lines = [
        f"**{row}: {rows.ROWS[row].title}** ({about['repeats']} repetitions, others "
        f"used {about['other_load']:.2f} cores)",
        "",
        "| engine | measured | to Penstock | lowest to highest | used with |",
        "|---|---:|---:|---:|---|",
    ]
    for name, each in sorted(about["engines"].items(), key=lambda x: x[1]["ratio"]):
        own = name == "penstock"
        lines.append(
            f"| {NAMES[name]} | {value(row, each)} | {'1' if own else ratio(each)} | "
            f"{'' if own else spread(each)} | {about['how'][name].strip()} |"
        )
    for name, why in about["refused"].items():
        lines += ["", f"{NAMES[name]} is not measured here: {why}."]
    return lines


def conditions(result):
    machine = result["machine"]
    versions, absent, days = {}, {}, set()
    for about in result["rows"].values():
        versions |= about["versions"]
        absent |= about["absent"]
        days.add(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(about["time"])))
    lines = [
        f"- Machine: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}.",
        f"- Versions: {', '.join(versions.values())}.",
        f"- Photos: 500x375 pixels, {result['photos']}"
        + (" by `examples/python/photos.py`." if result["photos"] == "drawn" else "."),
        f"- Command: `{result['command']}`, {min(days)} to {max(days)[11:]}.",
    ]
    for name, why in absent.items():
        if name not in versions:
            lines.append(f"- {NAMES[name]} is missing: {why}")
    return lines
