"""How files behind http:// and https:// names are read."""

from __future__ import annotations

import math
from typing import Any

from penstock import _arguments as check
from penstock import _penstock
from penstock._errors import ArgumentTypeError, InvalidArgumentError

_OP = "set_http_options"


def _seconds(parameter: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"{_OP}: {parameter} must be a number, got {type(value).__name__}"
        )
    if not math.isfinite(value) or value < 0:
        raise InvalidArgumentError(f"{_OP}: {parameter} must be >= 0, got {value}")
    return float(value)


def set_http_options(
    *,
    connect_timeout: float = 10.0,
    stall_timeout: float = 30.0,
    retries: int = 5,
    backoff: float = 0.1,
    headers: dict[str, str] | None = None,
    ca_file: Any = None,
) -> None:
    """Sets how files of the net are read, in this process, from now on.

    Times are in seconds. A request that stands still for `stall_timeout` has
    failed. What fails in a way that may pass is tried `retries` times again,
    after `backoff` and then twice as long each time; a transfer goes on where
    it was cut. `headers` are sent with every request; `ca_file` holds the
    certificates to trust instead of the system's. What is not given is as it
    is by default.

    >>> import penstock as ps
    >>> ps.io.set_http_options(headers={"Authorization": "Bearer token"})
    >>> ps.io.set_http_options()
    """
    count = check.integer(_OP, "retries", retries)
    if count < 0:
        raise InvalidArgumentError(f"{_OP}: retries must be >= 0, got {count}")
    lines = []
    for name, value in (headers or {}).items():
        line = f"{name}: {value}"
        if "\n" in line or "\r" in line:
            raise InvalidArgumentError(f"{_OP}: headers must be lines, got {line!r}")
        lines.append(line)
    _penstock.set_http_options(
        _seconds("connect_timeout", connect_timeout),
        _seconds("stall_timeout", stall_timeout),
        count,
        _seconds("backoff", backoff),
        lines,
        "" if ca_file is None else check.path(_OP, "ca_file", ca_file),
    )
