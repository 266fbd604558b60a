"""What commands print: text or JSON, with `rich` or without.

Colour and progress only on a terminal. Results go to standard output, progress
and errors to standard error, so that a pipe gets results alone.
"""

from __future__ import annotations

import json as _json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from typing import Any, TextIO


class UsageError(Exception):
    """The command cannot be done as asked; ends with exit code 2."""


def human_bytes(count: float) -> str:
    """
    >>> human_bytes(999), human_bytes(1536), human_bytes(5 * 2**30)
    ('999 B', '1.5 KiB', '5.0 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def human_count(count: float) -> str:
    """
    >>> human_count(12), human_count(1234567), human_count(12.5)
    ('12', '1,234,567', '12.5')
    """
    return f"{count:,.0f}" if count == int(count) else f"{count:,.1f}"


def plural(count: int, word: str) -> str:
    """
    >>> plural(1, "record"), plural(2, "record")
    ('1 record', '2 records')
    """
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def printable(text: str) -> str:
    """Names of files need not be UTF-8; what is not, by number.

    >>> printable("caf\\udce9")
    'caf\\\\udce9'
    """
    return text.encode("utf-8", "backslashreplace").decode()


class Output:
    """Where a command's results go."""

    def __init__(self, json: bool = False, color: bool = True) -> None:
        self.json = json
        self._stdout = sys.stdout
        self._given = False
        self._terminal = _is_terminal(sys.stdout)
        plain = json or not color or "NO_COLOR" in os.environ
        self.color = self._terminal and not plain
        self._console = _rich_console() if self.color else None

    def result(self, value: Any) -> None:
        """The one JSON object, in `--json`."""
        if self.json:
            self._given = True
            print(_json.dumps(value, indent=2, sort_keys=False), file=self._stdout)

    def line(self, text: str = "", style: str = "") -> None:
        """A line of text; nothing in `--json`."""
        if self.json:
            return
        text = printable(text)
        if self._console is not None:
            self._console.print(text, style=style or None, markup=False)
        else:
            print(text, file=self._stdout)

    def text(self, text: str) -> None:
        """Lines of prose; on a terminal, long ones break between words."""
        columns = shutil.get_terminal_size().columns
        for line in text.splitlines():
            bare = line.lstrip()
            # Code stays as it is: it is to be copied.
            if not self._terminal or len(line) <= columns or bare.startswith("|"):
                self.line(line)
                continue
            indent = " " * (len(line) - len(bare) + 2)
            wrapped = textwrap.wrap(
                line,
                columns,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for part in wrapped:
                self.line(part)

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        right: Sequence[str] = (),
    ) -> None:
        """Aligned columns; those named in `right` are numbers."""
        if self.json:
            return
        cells = [[printable(str(cell)) for cell in row] for row in rows]
        if self._console is not None:
            self._rich_table(columns, cells, right)
            return
        widths = [
            max([len(name)] + [len(row[i]) for row in cells])
            for i, name in enumerate(columns)
        ]
        for row in [list(columns), *cells]:
            parts = [
                cell.rjust(width) if name in right else cell.ljust(width)
                for cell, width, name in zip(row, widths, columns)
            ]
            print("  ".join(parts).rstrip(), file=self._stdout)

    def _rich_table(
        self, columns: Sequence[str], rows: list[list[str]], right: Sequence[str]
    ) -> None:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in columns:
            table.add_column(name, justify="right" if name in right else "left")
        for row in rows:
            table.add_row(*row)
        assert self._console is not None
        self._console.print(table)

    def error(self, message: str) -> None:
        """A line on standard error."""
        print(f"penstock: {printable(message)}", file=sys.stderr)

    def fail(self, message: str) -> None:
        """Why there is no result: on standard error, in `--json` as one too."""
        if not self._given:
            self.result({"ok": False, "error": message})
        self.error(message)

    def progress(self, what: str, total: int) -> Progress:
        """A bar on standard error, if that is a terminal."""
        return Progress(what, total, shown=not self.json)


class Progress:
    """How far a command is; use with ``with``."""

    _EVERY = 0.1  # seconds between two drawings

    def __init__(self, what: str, total: int, shown: bool) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._shown = shown and _is_terminal(sys.stderr)
        self._drawn = 0.0
        self._began = time.monotonic()

    def add(self, count: int = 1) -> None:
        self._done += count
        now = time.monotonic()
        if self._shown and now - self._drawn >= self._EVERY:
            self._drawn = now
            self._draw(now)

    def _draw(self, now: float) -> None:
        share = self._done / self._total if self._total else 1.0
        width = 30
        filled = int(share * width)
        bar = "#" * filled + "-" * (width - filled)
        left = ""
        if 0 < share < 1:
            left = f"  {(now - self._began) * (1 - share) / share:.0f} s left"
        sys.stderr.write(
            f"\r{self._what} [{bar}] {self._done:,}/{self._total:,}{left}\033[K"
        )
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *unused: object) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _rich_console() -> Any:
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False, soft_wrap=True)
