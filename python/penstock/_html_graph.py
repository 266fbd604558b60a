"""The pipeline as rails beside a list: one row per stage, sources on top.

Works for any number of stages on any width: a chain is one rail, each further
branch one more, and a stage that joins branches draws them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_STEP = 14  # from rail to rail
_HEIGHT = 28


def graph_rows(nodes: Sequence[dict[str, Any]]) -> list[str]:
    """An SVG for each node, in the given order: inputs before their users.

    >>> chain = [{"label": "a", "inputs": []}, {"label": "b", "inputs": ["a"]}]
    >>> [row.count("dot") for row in graph_rows(chain)]
    [1, 1]
    """
    plan = lay_out(nodes)
    rails = max((len(row["before"]) for row in plan), default=1)
    rails = max([rails, *(len(row["after"]) for row in plan)])
    return [_draw(row, rails) for row in plan]


def lay_out(nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each node: its rail, the rails in use before and after, and those that
    end in it."""
    users: dict[str, int] = {}
    for node in nodes:
        for name in node["inputs"]:
            users[name] = users.get(name, 0) + 1
    rails: list[str | None] = []  # whose output runs there
    plan = []
    for node in nodes:
        before = list(rails)
        joined = []
        for name in node["inputs"]:
            if name in rails:
                joined.append(rails.index(name))
                users[name] -= 1
        # An output that nobody else waits for ends here.
        for at in joined:
            if users[rails[at] or ""] <= 0:
                rails[at] = None
        free = [i for i, owner in enumerate(rails) if owner is None]
        own = [at for at in joined if rails[at] is None]
        at = own[0] if own else free[0] if free else len(rails)
        if at == len(rails):
            rails.append(None)
        rails[at] = node["label"] if users.get(node["label"]) else None
        while rails and rails[-1] is None and len(rails) - 1 > at:
            rails.pop()
        plan.append(
            {
                "rail": at,
                "before": before,
                "after": list(rails),
                "joined": joined,
            }
        )
    return plan


def _x(rail: int) -> float:
    return _STEP * rail + 8.0


def _draw(row: dict[str, Any], rails: int) -> str:
    lines = []
    at, middle = row["rail"], _HEIGHT / 2
    for i, owner in enumerate(row["before"]):
        if owner is None:
            continue
        goes_on = i < len(row["after"]) and row["after"][i] == owner
        if i in row["joined"]:
            bend = (
                f"M{_x(i)} 0L{_x(at)} {middle}" if i != at else f"M{_x(i)} 0V{middle}"
            )
            lines.append(bend)
        if goes_on and i != at:
            lines.append(f"M{_x(i)} 0V{_HEIGHT}")
    if at < len(row["after"]) and row["after"][at] is not None:
        lines.append(f"M{_x(at)} {middle}V{_HEIGHT}")
    width = _STEP * (rails - 1) + 16
    # The lines stretch to the height of a row that wraps; the dot stays round.
    return (
        f'<span class="rails" style="width:{width}px"><svg width="{width}" '
        f'viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" '
        'aria-hidden="true"><path class="rail" vector-effect="non-scaling-stroke" '
        f'd="{"".join(lines)}"/></svg>'
        f'<i class="dot" style="left:{_x(at) - 4}px"></i></span>'
    )
