"""`tf.nest`: structures of tensors.

>>> import penstock.tf as tf
>>> tf.nest.flatten({"b": 2, "a": (1, [3])})
[1, 3, 2]
>>> tf.nest.map_structure(lambda x: x + 1, (1, {"a": 2}))
(2, {'a': 3})
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.tf import _missing
from penstock.tf._apply import traceable
from penstock.tf._structure import encode_tuple, field_names
from penstock.tf._structure import flatten as _leaves
from penstock.tf._structure import map_structure as _map


@traceable
def map_structure(func: Any, *structure: Any, **kwargs: Any) -> Any:
    """`func` of corresponding leaves, None among them.

    Structures that differ are a ValueError.

    >>> import penstock.tf as tf
    >>> tf.nest.map_structure(lambda a, b: a + b, {"x": [1, 2]}, {"x": [3, 4]})
    {'x': [4, 6]}
    """
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True))
    leaves = [flatten(s) for s in structure]
    if not is_nested(structure[0]) and field_names(type(structure[0])) is not None:
        return _map(func, *structure)
    return pack_sequence_as(structure[0], [func(*group) for group in zip(*leaves)])


@traceable
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure, those of dicts by their keys."""
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten(part)]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    return [None] if structure is None else _leaves(structure)


@traceable
def is_nested(seq: Any) -> bool:
    """Whether it is a list, a tuple or a dict."""
    return isinstance(seq, (list, tuple, dict))


@traceable
def pack_sequence_as(
    structure: Any, flat_sequence: Any, expand_composites: bool = False
) -> Any:
    """Leaves in a structure."""
    leaves = iter(flat_sequence)

    def pack(part: Any, items: Iterator[Any]) -> Any:
        if isinstance(part, dict):
            made = {k: pack(part[k], items) for k in sorted(part)}
            return type(part)((k, made[k]) for k in part)
        if isinstance(part, (list, tuple)):
            packed = [pack(p, items) for p in part]
            return packed if isinstance(part, list) else encode_tuple(part, packed)
        return next(items)

    return pack(structure, leaves)


@traceable
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises ValueError where two structures differ, TypeError where types do."""
    nested = is_nested(nest1)
    if nested and is_nested(nest2) and check_types and _kind(nest1) != _kind(nest2):
        raise TypeError(
            "The two structures don't have the same sequence types: "
            f"{type(nest1).__name__} and {type(nest2).__name__}"
        )
    keyed = isinstance(nest1, dict) and isinstance(nest2, dict) and check_types
    if (
        nested != is_nested(nest2)
        or (nested and len(nest1) != len(nest2))
        or (keyed and set(nest1) != set(nest2))
    ):
        raise ValueError(
            "The two structures don't have the same nested structure: "
            f"{nest1!r} and {nest2!r}"
        )
    pairs = zip(_parts(nest1), _parts(nest2)) if nested else ()
    for a, b in pairs:
        assert_same_structure(a, b, check_types)


def _kind(structure: Any) -> Any:
    """What must be alike: any two dicts are, and tuples of one name and fields."""
    if isinstance(structure, dict):
        return dict
    kind = type(structure)
    fields = getattr(kind, "_fields", None)
    return kind if fields is None else (kind.__name__, fields)


def _parts(structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def __getattr__(name: str) -> Any:
    return _missing.resolve("nest", name)


__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
