"""Parameters of tf.data's methods and of functions, as text that can be compared.

`signatures(tf, names)` gives for every dotted name its parameters with their
order, kinds and defaults; `names(tf)` those of a module that have any.
"""

from __future__ import annotations

import enum
import inspect
import itertools

MODULES = [
    "",
    "audio",
    "bitwise",
    "data",
    "data.experimental",
    "debugging",
    "image",
    "io",
    "io.gfile",
    "linalg",
    "lookup",
    "math",
    "nest",
    "nn",
    "ragged",
    "random",
    "signal",
    "sparse",
    "strings",
]
CLASSES = [
    "data.Dataset",
    "data.TFRecordDataset",
    "data.TextLineDataset",
    "data.FixedLengthRecordDataset",
    "data.Iterator",
    "RaggedTensor",
    "SparseTensor",
    "TensorArray",
    "TensorShape",
]
# Classes that only tf.data makes, and what their own tests compare.
SKIPPED = {
    "DType",
    "OptionalSpec",
    "RaggedTensor",
    "data.Dataset",
    "data.Iterator",
    "data.experimental.Optional",
    "experimental.Optional",
    "image.ResizeMethod",
    "lookup.StaticHashTable",
    "lookup.StaticVocabularyTable",
}


def resolve(tf, dotted):
    found = tf
    for part in filter(None, dotted.split(".")):
        found = getattr(found, part)
    return found


def text(value):
    """A default as both modules write it."""
    if isinstance(value, str):
        return repr(str.__str__(value))
    if value is None or type(value) in (bool, int, float, tuple):
        return repr(value)
    return getattr(value, "name", None) or getattr(value, "__name__", "...")


def parameters(function):
    if isinstance(function, enum.EnumMeta):
        return None  # Python's own, and another in each version
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    out = []
    for p in found:
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"={text(p.default)}"
        if p.kind is p.KEYWORD_ONLY:
            stars = "(by name) "
        out.append(f"{stars}{p.name}{default}")
    return out


def names(tf, own):
    """Dotted names of functions and methods that both modules have."""
    for path in MODULES:
        here = vars(resolve(own, path))
        for name in sorted(dir(resolve(tf, path))):
            dotted = f"{path}.{name}".lstrip(".")
            if name.startswith("_") or dotted in SKIPPED or name not in here:
                continue
            if callable(here[name]) and not isinstance(here[name], enum.EnumMeta):
                yield dotted
    for path in CLASSES:
        mine = resolve(own, path)
        for name in sorted(dir(resolve(tf, path))):
            if not name.startswith("_") and callable(getattr(mine, name, None)):
                yield f"{path}.{name}"


def signatures(tf, dotted_names):
    found = {name: parameters(resolve(tf, name)) for name in dotted_names}
    return {name: own for name, own in found.items() if own is not None}


def same(theirs, ours):
    """Whether every call that theirs takes means the same with ours.

    Ours may have defaults where theirs have none, and more behind.
    """
    for a, b in itertools.zip_longest(theirs, ours):
        if a is None:
            if "=" not in b and "*" not in b:
                return False
            continue
        if b is None or a.partition("=")[0] != b.partition("=")[0]:
            return False
        # A default that cannot be written down is one of TensorFlow's own objects.
        free = "=" not in a or a.endswith("=...")
        free = free or a.startswith(("name=", "dtype=", "output_dtype="))
        if a != b and not free:
            return False
    return True
