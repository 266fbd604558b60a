"""A plot of a group of rows: time as a multiple of Penstock's, logarithmic.

Each row is a panel of its own, with its own scale; Penstock is the line at 1.
"""

import html
import math

import rows

WIDTH, LEFT, RIGHT = 820, 104, 230
LINE, HEAD, GAP = 20, 30, 14
OURS, THEIRS, FAINT, INK = "#a8410f", "#52606d", "#d9dee3", "#1d1d1b"


def group(name, members, names, value):
    """The SVG; `members` is {row: what was measured}."""
    parts, y = [], 40
    for row, about in members.items():
        panel, height = _panel(row, about["engines"], y, names, value)
        parts += panel
        y += height + GAP
    title = f"{rows.GROUPS[name]}: time as a multiple of Penstock's (log scale)"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
            f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12" '
            f'fill="{INK}">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>',
            f'<text x="12" y="24" font-size="15" font-weight="600">'
            f"{html.escape(title)}</text>",
            *parts,
            "</svg>\n",
        ]
    )


def _panel(row, engines, top, names, value):
    ordered = sorted(engines.items(), key=lambda x: x[1]["ratio"])
    low = min(1.0, *(each["ratio_min"] for each in engines.values())) / 1.15
    high = max(2.0, *(each["ratio_max"] for each in engines.values())) * 1.15

    def x(ratio):
        share = math.log(ratio / low) / math.log(high / low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    height = HEAD + LINE * len(ordered) + 18
    bottom = top + HEAD + LINE * len(ordered)
    parts = [
        f'<text x="12" y="{top + 18}" font-weight="600">'
        f"{html.escape(f'{row}: {rows.ROWS[row].title}')}</text>"
    ]
    for tick in _ticks(low, high):
        colour = OURS if tick == 1 else FAINT
        parts += [
            f'<path d="M{x(tick):.1f} {top + HEAD - 4}V{bottom}" stroke="{colour}"/>',
            f'<text x="{x(tick):.1f}" y="{bottom + 13}" font-size="10" '
            f'text-anchor="middle" fill="{THEIRS}">{tick:,g}x</text>',
        ]
    for i, (name, each) in enumerate(ordered):
        y = top + HEAD + LINE * i + LINE / 2
        at, text = x(each["ratio"]), value(row, each)
        colour = OURS if name == "penstock" else THEIRS
        if name != "penstock":
            text += f" · {_short(each['ratio'])}x"
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">'
            f"{html.escape(names[name])}</text>",
            f'<path d="M{x(1):.1f} {y}H{at:.1f}" stroke="{colour}" '
            f'stroke-width="7" stroke-opacity=".35"/>',
            f'<path d="M{x(each["ratio_min"]):.1f} {y}'
            f'H{x(each["ratio_max"]):.1f}" stroke="{colour}" stroke-width="1.5"/>',
            f'<circle cx="{at:.1f}" cy="{y}" r="4" fill="{colour}"/>',
            f'<text x="{WIDTH - RIGHT + 12}" y="{y + 4}" fill="{colour}">'
            f"{html.escape(text)}</text>",
        ]
    return parts, height


def _short(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _ticks(low, high):
    """1 and round ratios beside it, so few that their labels have room."""
    for steps in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,), (1, None)):
        ticks = []
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high))):
            if steps[-1] is not None or power % 2 == 0:
                ticks += [step * 10.0**power for step in steps if step]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= 8:
            break
    return ticks
