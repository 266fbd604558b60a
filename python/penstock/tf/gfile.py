"""`tf.io.gfile`: local files under TensorFlow's names.

>>> import penstock.tf as tf, tempfile
>>> with tempfile.TemporaryDirectory() as where:
...     with tf.io.gfile.GFile(where + "/a", "w") as file:
...         _ = file.write("text")
...     tf.io.gfile.exists(where + "/a"), tf.io.gfile.listdir(where)
(True, ['a'])
"""

from __future__ import annotations

import glob as _glob
import os
import shutil
import stat as _stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock._errors import AlreadyExistsError, NotFoundError
from penstock.tf import _missing


class FileStatistics(NamedTuple):
    """What `stat` gives."""

    length: int
    mtime_nsec: int
    is_directory: bool


def GFile(name: Any, mode: str = "r") -> Any:
    """An open file."""
    try:
        return open(os.fsdecode(name), mode)
    except FileNotFoundError:
        raise NotFoundError(f"{os.fsdecode(name)}; No such file or directory") from None


Open = GFile


def exists(path: Any) -> bool:
    """Whether there is a file or a directory."""
    return os.path.exists(os.fsdecode(path))


def isdir(path: Any) -> bool:
    """Whether it is a directory."""
    return os.path.isdir(os.fsdecode(path))


def glob(pattern: Any) -> list[str]:
    """The names that match a pattern, or one of several; sorted."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    found = [n for p in patterns for n in _glob.glob(os.fsdecode(p))]
    return sorted(found)


def listdir(path: Any) -> list[str]:
    """The names in a directory."""
    try:
        return os.listdir(os.fsdecode(path))
    except FileNotFoundError:
        raise NotFoundError(f"Could not find directory {os.fsdecode(path)}") from None


def mkdir(path: Any) -> None:
    """Makes a directory."""
    os.mkdir(os.fsdecode(path))


def makedirs(path: Any) -> None:
    """Makes a directory and those above it."""
    os.makedirs(os.fsdecode(path), exist_ok=True)


def remove(path: Any) -> None:
    """Removes a file."""
    try:
        os.remove(os.fsdecode(path))
    except FileNotFoundError:
        raise NotFoundError(f"{os.fsdecode(path)}; No such file or directory") from None


def rmtree(path: Any) -> None:
    """Removes a directory and all in it."""
    shutil.rmtree(os.fsdecode(path))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Gives a file another name."""
    target = os.fsdecode(dst)
    if not overwrite and os.path.exists(target):
        raise AlreadyExistsError(f"{target}: file already exists")
    os.replace(os.fsdecode(src), target)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    target = os.fsdecode(dst)
    if not overwrite and os.path.exists(target):
        raise AlreadyExistsError(f"{target}: file already exists")
    shutil.copyfile(os.fsdecode(src), target)


def stat(path: Any) -> Any:
    """Length and time of a file.

    >>> import penstock.tf as tf, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     tf.io.gfile.stat(file.name).length
    0
    """
    try:
        found = os.stat(os.fsdecode(path))
    except FileNotFoundError:
        raise NotFoundError(f"{os.fsdecode(path)}; No such file or directory") from None
    return FileStatistics(
        found.st_size, found.st_mtime_ns, _stat.S_ISDIR(found.st_mode)
    )


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[Any]:
    """Directories below one, with what is in them."""
    return os.walk(os.fsdecode(top), topdown, onerror)


def join(path: Any, *paths: Any) -> str:
    """Parts of a path as one."""
    return os.path.join(os.fsdecode(path), *map(os.fsdecode, paths))


def get_registered_schemes() -> list[str]:
    """The prefixes of names that can be read."""
    return ["", "file://", "http://", "https://"]


def __getattr__(name: str) -> Any:
    return _missing.resolve("io.gfile", name)
