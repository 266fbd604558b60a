r"""Regular expressions as TensorFlow has them: RE2's, over UTF-8.

A pattern is read here and said again in the syntax of Python's `re`, which finds
the same match first. What differs is written out: classes of characters as ranges
(``\s`` has no vertical tab, ``\p{L}`` is unknown to `re`), flags at each place they
hold for, the end of the text as ``\Z``. What RE2 refuses, such as a look-ahead, is
refused. Bytes that are no UTF-8 become lone surrogates, and nothing matches them.

Not the same: ``\C``, which is refused, and how long a match may take.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import NamedTuple, NoReturn

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._scripts import scripts_of

_LAST = 0x10FFFF
_MOST_REPEATS = 1000  # RE2's limit
_BROKEN = "\udc80-\udcff"  # what surrogateescape makes of bytes that are no UTF-8

_REPEAT = re.compile(r"([*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})(\??)")

Ranges = list[tuple[int, int]]


def _ascii(text: str) -> Ranges:
    """Ranges from pairs of characters."""
    return [(ord(a), ord(b)) for a, b in zip(text[::2], text[1::2])]


_PERL = {"d": _ascii("09"), "s": _ascii("\t\n\f\r  "), "w": _ascii("09AZ__az")}
_POSIX = {
    "alnum": _ascii("09AZaz"),
    "alpha": _ascii("AZaz"),
    "ascii": _ascii("\0\x7f"),
    "blank": _ascii("\t\t  "),
    "cntrl": _ascii("\0\x1f\x7f\x7f"),
    "digit": _ascii("09"),
    "graph": _ascii("!~"),
    "lower": _ascii("az"),
    "print": _ascii(" ~"),
    "punct": _ascii("!/:@[`{~"),
    "space": _ascii("\t\r  "),
    "upper": _ascii("AZ"),
    "word": _ascii("09AZ__az"),
    "xdigit": _ascii("09AFaf"),
}
_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
# By ICU's numbers, which begin with these.
_SCRIPTS = (
    "Common Inherited Arabic Armenian Bengali Bopomofo Cherokee Coptic Cyrillic "
    "Deseret Devanagari Ethiopic Georgian Gothic Greek Gujarati Gurmukhi Han Hangul "
    "Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar "
    "Ogham Old_Italic Oriya Runic Sinhala Syriac Tamil Telugu Thaana Thai Tibetan"
).split()


@functools.cache
def _categories() -> dict[str, Ranges]:
    """The characters of every general category, and of its first letter."""
    found: dict[str, Ranges] = {}
    at = 0
    codes = map(unicodedata.category, map(chr, range(_LAST + 1)))
    for name, run in itertools.groupby(codes):
        end = at + sum(1 for _ in run)
        if name not in ("Cn", "Cs"):  # in neither is a character
            for key in (name, name[0]):
                _add(found.setdefault(key, []), at, end - 1)
        at = end
    return found


def _add(ranges: Ranges, low: int, high: int) -> None:
    """Puts a range behind the others, into the last where it follows it."""
    if ranges and ranges[-1][1] + 1 == low:
        ranges[-1] = (ranges[-1][0], high)
    else:
        ranges.append((low, high))


@functools.cache
def _property(name: str) -> Ranges | None:
    r"""The characters of ``\p{name}``."""
    if name == "Any":
        return [(0, _LAST)]
    if name in _SCRIPTS:
        holds = scripts_of(np.arange(_LAST + 1)) == _SCRIPTS.index(name)
        edges = np.flatnonzero(np.diff(holds, prepend=False, append=False))
        return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
    return _categories().get(name)


def _without(ranges: Ranges) -> Ranges:
    """All characters but these."""
    made: Ranges = []
    at = 0
    for low, high in sorted(ranges):
        if low > at:
            made.append((at, low - 1))
        at = max(at, high + 1)
    if at <= _LAST:
        made.append((at, _LAST))
    return made


def _items(ranges: Ranges) -> str:
    """Ranges inside the brackets of a class, without the lone surrogates."""
    made = []
    for low, high in ranges:
        for a, b in ((low, min(high, 0xD7FF)), (max(low, 0xE000), high)):
            if a <= b:
                ends = re.escape(chr(a)), re.escape(chr(b))
                made.append(ends[0] if a == b else "-".join(ends))
    return "".join(made)


class _Flags(NamedTuple):
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


class _Reader:
    """Reads one pattern, from the left to the right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = _Flags()
        self.outer: list[tuple[_Flags, int]] = []  # and where groups begin in `made`
        self.made: list[str] = []
        self.last: int | None = None  # where what can be repeated begins in `made`
        self.asserts = False  # it matches no character
        self.repeated = ""  # the repetition just read

    def fail(self, why: str) -> NoReturn:
        raise InvalidArgumentError(f"Invalid pattern: {self.pattern}, error: {why}")

    def take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def translate(self) -> str:
        while self.at < len(self.pattern):
            self.one()
        if self.outer:
            self.fail(f"missing ): {self.pattern}")
        return "".join(self.made)

    def one(self) -> None:
        begin = self.at
        found = _REPEAT.match(self.pattern, begin)
        if found is not None:
            self.at = found.end()
            self.repeat(found)
            return
        self.repeated = ""
        c = self.pattern[begin]
        self.at += 1
        if c == "(":
            self.group(begin)
        elif c == ")":
            self.close()
        elif c == "|":
            self.made.append(c)
            self.last = None
        elif c == "[":
            self.atom(self.bracket(begin))
        elif c == ".":
            self.atom(f"[^{'' if self.flags.s else chr(10)}{_BROKEN}]")
        elif c == "^":
            self.atom("(?m:^)" if self.flags.m else "\\A", asserts=True)
        elif c == "$":
            self.atom("(?m:$)" if self.flags.m else "\\Z", asserts=True)
        elif c == "\\":
            self.escaped(begin)
        else:
            self.literal(ord(c))

    def atom(self, text: str, asserts: bool = False) -> None:
        self.last = len(self.made)
        self.asserts = asserts
        self.made.append(text)

    def literal(self, code: int) -> None:
        text = re.escape(chr(code))
        self.atom(f"(?i:{text})" if self.flags.i else text)

    def repeat(self, found: re.Match[str]) -> None:
        sign, least, comma, most, lazy = found.groups()
        if self.repeated:
            self.fail(f"bad repetition operator: {self.repeated}{found[0]}")
        if self.last is None:
            self.fail(f"no argument for repetition operator: {found[0]}")
        self.repeated = found[0]
        if least is not None:
            low = int(least)
            high = int(most) if most else low
            if max(low, high) > _MOST_REPEATS or high < low:
                self.fail(f"invalid repetition size: {sign}")
        if self.asserts:
            # `re` repeats no assertion; once is as often as any other number.
            if sign in "*?" or least is not None and int(least) == 0:
                self.made[self.last :] = ["(?:)"]
            return
        greedy = bool(lazy) == self.flags.U
        self.made.append(sign if greedy else sign + "?")

    def group(self, begin: int) -> None:
        """What an opening bracket begins: a group, or flags from here on."""
        flags, text = self.flags, "("
        if self.take("?P<"):
            end = self.pattern.find(">", self.at)
            name = self.pattern[self.at : end] if end >= 0 else ""
            if not re.fullmatch(r"\w+", name, re.ASCII):
                self.fail(f"invalid named capture group: {self.pattern[begin:]}")
            self.at = end + 1
        elif self.take("?"):
            found = re.compile("([imsU]*)(?:-([imsU]+))?([:)])").match(
                self.pattern, self.at
            )
            if found is None or found[0] == ")":
                self.fail(f"invalid perl operator: {self.pattern[begin : self.at + 1]}")
            self.at = found.end()
            for letters, on in ((found[1], True), (found[2] or "", False)):
                flags = flags._replace(**dict.fromkeys(letters, on))
            if found[3] == ")":
                self.flags = flags
                self.last = None
                return
            text = "(?:"
        self.outer.append((self.flags, len(self.made)))
        self.flags = flags
        self.last = None
        self.made.append(text)

    def close(self) -> None:
        if not self.outer:
            self.fail(f"unexpected ): {self.pattern}")
        self.made.append(")")
        self.flags, self.last = self.outer.pop()
        self.asserts = False

    def escaped(self, begin: int) -> None:
        """What a backslash begins, outside of a class."""
        if self.take("Q"):
            end = self.pattern.find("\\E", self.at)
            end = len(self.pattern) if end < 0 else end
            for c in self.pattern[self.at : end]:
                self.literal(ord(c))
            self.at = min(end + 2, len(self.pattern))
        elif self.take("E"):
            pass
        elif self.take("A"):
            self.atom("\\A", asserts=True)
        elif self.take("z"):
            self.atom("\\Z", asserts=True)
        elif self.take("b"):
            self.atom("(?a:\\b)", asserts=True)
        elif self.take("B"):
            self.atom("(?a:\\B)", asserts=True)
        else:
            ranges = self.named(begin)
            if ranges is None:
                self.literal(self.character(begin))
            else:
                self.atom(f"[{_items(ranges)}]" if ranges else "(?!)")

    def named(self, begin: int) -> Ranges | None:
        r"""``\d`` or ``\p{L}``, behind the backslash; None for a character."""
        c = self.pattern[self.at : self.at + 1]
        if c and c in "dswDSW":
            self.at += 1
            ranges = _PERL[c.lower()]
            return ranges if c.islower() else _without(ranges)
        if not c or c not in "pP":
            return None
        self.at += 1
        if self.take("{"):
            end = self.pattern.find("}", self.at)
            if end < 0:
                self.fail(f"invalid character class range: {self.pattern[begin:]}")
            name = self.pattern[self.at : end]
            self.at = end + 1
        else:
            name = self.pattern[self.at : self.at + 1]
            self.at += 1
        others = (c == "P") != name.startswith("^")
        found = _property(name.removeprefix("^"))
        if found is None:
            self.fail(f"invalid character class range: {self.pattern[begin : self.at]}")
        return _without(found) if others else found

    def character(self, begin: int) -> int:
        """The character that a backslash stands for, behind it."""
        c = self.pattern[self.at : self.at + 1]
        self.at += 1
        if not c:
            self.fail("trailing \\")
        octal = re.compile("0[0-7]{0,2}|[1-7][0-7]{1,2}").match(
            self.pattern, self.at - 1
        )
        hexadecimal = re.compile("x(?:([0-9a-fA-F]{2})|{([0-9a-fA-F]+)})").match(
            self.pattern, self.at - 1
        )
        if octal is not None:
            self.at = octal.end()
            return int(octal[0], 8)
        if hexadecimal is not None:
            self.at = hexadecimal.end()
            code = int(hexadecimal[1] or hexadecimal[2], 16)
            if code <= _LAST:
                return code
        elif c in _CONTROL:
            return _CONTROL[c]
        elif c.isascii() and not c.isalnum():
            return ord(c)
        self.fail(f"invalid escape sequence: {self.pattern[begin : self.at]}")

    def bracket(self, begin: int) -> str:
        """A class in brackets."""
        others = self.take("^")
        ranges: Ranges = []
        first = True
        while first or not self.take("]"):
            first = False
            at = self.at
            if at >= len(self.pattern):
                self.fail(f"missing ]: {self.pattern[begin:]}")
            end = self.pattern.find(":]", at + 2)
            if self.pattern.startswith("[:", at) and end >= 0:
                name = self.pattern[at + 2 : end]
                self.at = end + 2
                found = _POSIX.get(name.removeprefix("^"))
                if found is None:
                    self.fail(
                        f"invalid character class range: {self.pattern[at : self.at]}"
                    )
                ranges += _without(found) if name.startswith("^") else found
                continue
            if self.pattern[at] == "\\":
                self.at += 1
                several = self.named(at)
                if several is not None:
                    ranges += several
                    continue
                self.at = at
            low = high = self.member()
            after = self.pattern[self.at : self.at + 2]
            if after[:1] == "-" and after != "-]" and len(after) == 2:
                self.at += 1
                high = self.member()
            if high < low:
                self.fail(
                    f"invalid character class range: {self.pattern[at : self.at]}"
                )
            ranges.append((low, high))
        items = _items(ranges)
        if others:
            text = f"[^{items}{_BROKEN}]"
        else:
            text = f"[{items}]" if items else "(?!)"
        return f"(?i:{text})" if self.flags.i else text

    def member(self) -> int:
        """One character of a class."""
        begin = self.at
        self.at += 1
        c = self.pattern[begin]
        return self.character(begin) if c == "\\" else ord(c)


@functools.lru_cache(maxsize=1024)
def compiled(pattern: bytes) -> re.Pattern[str]:
    """A pattern of RE2 for text of `text_of`; InvalidArgumentError if it is none."""
    try:
        text = pattern.decode()
    except UnicodeDecodeError:
        raise InvalidArgumentError(
            f"Invalid pattern: {pattern!r}, error: invalid UTF-8"
        ) from None
    try:
        return re.compile(_Reader(text).translate())
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidArgumentError(f"Invalid pattern: {text}, error: {error}") from None


def text_of(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@functools.lru_cache(maxsize=1024)
def rewriting(rewrite: bytes, groups: int) -> tuple[str | int, ...]:
    """Text and numbers of groups, in turn, that a match is replaced by."""
    parts = re.split(r"\\([0-9\\]?)", text_of(rewrite))
    made: list[str | int] = [parts[0]]
    for sign, rest in zip(parts[1::2], parts[2::2]):
        if not sign:
            raise InvalidArgumentError(
                "Invalid rewrite pattern: a backslash must come before a digit or a "
                f"backslash, got {text_of(rewrite)!r}"
            )
        if sign == "\\":
            made.append(sign)
        elif int(sign) > groups:
            raise InvalidArgumentError(
                f"Invalid rewrite pattern: {text_of(rewrite)!r} names group {sign}, "
                f"the pattern has {groups}"
            )
        else:
            made.append(int(sign))
        made.append(rest)
    return tuple(made)


def replace(
    pattern: re.Pattern[str], rewrite: bytes, value: bytes, every: bool
) -> bytes:
    """`value` with what matches replaced.

    Unlike `re.sub`, nothing is found right behind a match where nothing stands.
    """
    parts = rewriting(rewrite, pattern.groups)
    text = text_of(value)
    made: list[str] = []
    done = at = 0
    behind = -1  # where the last match ended
    while at <= len(text):
        found = pattern.search(text, at)
        if found is None:
            break
        begin, end = found.span()
        if begin == end == behind:
            at = end + 1
            continue
        made.append(text[done:begin])
        made += [p if isinstance(p, str) else found[p] or "" for p in parts]
        done = at = behind = end
        if not every:
            break
    return bytes_of("".join(made) + text[done:])
