"""Checks that includes under src/penstock follow the direction of the layers.

    base <- memory <- {io, formats, image, kernels} <- expr <- graph
         <- ops <- runtime <- {doctor, timeline}
         <- the facade (files directly in src/penstock)

A folder may include itself and lower layers, never a neighbour of its own
layer. Tests and benchmarks (*_test.cc, *_bench.cc, *_examples.cc) run whole
pipelines and may include anything. Headers of third-party codecs appear only in
.cc files and in *_private.h, which is not installed and for .cc files only, so
that no user of a penstock header needs them.
"""

import re
import sys
from pathlib import Path

LAYERS = [
    {"base"},
    {"memory"},
    {"io", "formats", "image", "kernels"},
    {"expr"},
    {"graph"},
    {"ops"},
    {"runtime"},
    {"doctor", "timeline"},
]
LEVEL = {folder: level for level, layer in enumerate(LAYERS) for folder in layer}

ONLY_IN_SOURCES = re.compile(
    r"(jpeglib|turbojpeg|spng|png|gif_lib|zlib|zstd\w*|lz4\w*|snappy[\w-]*|simdjson"
    r"|isa-l)\.h$|^(webp|isa-l|curl|protozero)/"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path: str) -> str:
    """'ops' for penstock/ops/take/take.h, '' for penstock/dataset.h."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def problem_with(src: Path, path: str, quote: str, included: str) -> str | None:
    """Why the file src/path may not include this, or None."""
    is_test = path.endswith(("_test.cc", "_bench.cc", "_examples.cc"))
    is_public = not path.endswith((".cc", "_private.h"))
    if is_public and ONLY_IN_SOURCES.search(included):
        return "third-party codec headers belong in .cc files"
    if is_public and included.endswith("_private.h"):
        return "private headers belong in .cc files"
    if not included.startswith("penstock/"):
        if quote == '"' and ((src / path).parent / included).exists():
            return 'our headers are included as "penstock/..."'
        return None
    if quote != '"':
        return "our headers are included with quotes"
    user, used = folder_of(path), folder_of(included)
    if used and used not in LEVEL:
        return f"{used}/ is not in the list of layers"
    if is_test or not user or user == used:
        return None
    if not used:
        return f"{user}/ may not include the facade"
    if LEVEL[used] >= LEVEL[user]:
        return f"{user}/ may not include {used}/"
    return None


def check(src: Path) -> list[str]:
    """All violations under src, as 'file:line: message'."""
    violations = []
    for file in sorted(p for p in src.rglob("*") if p.suffix in {".h", ".cc"}):
        path = file.relative_to(src).as_posix()
        folder = folder_of(path)
        if folder and folder not in LEVEL:
            violations.append(f"{path}:1: {folder}/ is not in the list of layers")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            problem = match and problem_with(src, path, *match.groups())
            if problem:
                violations.append(f"{path}:{number}: {match[2]}: {problem}")
    return violations


def main() -> int:
    violations = check(Path(__file__).resolve().parent.parent / "src")
    print("\n".join(violations) or "include direction: ok")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
