"""Windows over pictures: what convolutions, pools and patches look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError


def sizes(value: Any, what: str) -> tuple[int, int]:
    """(rows, columns) of a number, of two, or of all four dimensions."""
    given = [int(v) for v in np.atleast_1d(value)]
    if len(given) == 4:
        given = given[1:3]
    if len(given) == 1:
        given *= 2
    if len(given) != 2:
        raise ValueError(f"{what} must be one, two or four numbers, got {value!r}")
    return given[0], given[1]


def windows(
    x: Any, size: Any, strides: Any, padding: Any, dilations: Any, fill: Any
) -> Any:
    """[batch, rows, columns, channels, size...] of all places of a window."""
    steps, far = sizes(strides, "strides"), sizes(dilations, "dilations")
    reach = [(n - 1) * d + 1 for n, d in zip(size, far, strict=True)]
    if padding == "SAME":
        widths = [(0, 0)]
        for total, own, step in zip(x.shape[1:3], reach, steps, strict=True):
            missing = max((-(-total // step) - 1) * step + own - total, 0)
            widths.append((missing // 2, missing - missing // 2))
        x = np.pad(x, [*widths, (0, 0)], constant_values=fill)
    elif isinstance(padding, (list, tuple)):
        x = np.pad(x, [tuple(int(v) for v in pair) for pair in padding])
    elif padding != "VALID":
        raise InvalidArgumentError(
            f"padding must be SAME, VALID or a list, got {padding!r}"
        )
    views = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(1, 2))
    return views[:, :: steps[0], :: steps[1], :, :: far[0], :: far[1]]
