"""`tf.gfile` of TensorFlow 1: the functions of `tf.io.gfile` by their first names.

>>> import penstock.tf as tf
>>> tf.compat.v1.gfile.Exists("/")
True
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing
from penstock.tf.gfile import (
    GFile,
    Open,
    copy,
    exists,
    glob,
    isdir,
    listdir,
    makedirs,
    mkdir,
    remove,
    rename,
    rmtree,
    stat,
    walk,
)

FastGFile = GFile
Copy = copy
DeleteRecursively = rmtree
Exists = exists
Glob = glob
IsDirectory = isdir
ListDirectory = listdir
MakeDirs = makedirs
MkDir = mkdir
Remove = remove
Rename = rename
Stat = stat
Walk = walk


def __getattr__(name: str) -> Any:
    return _missing.resolve("compat.v1.gfile", name)


__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
