"""`tf.io.gfile`: local files under TensorFlow's names.

>>> import penstock.tf as tf, tempfile
>>> with tempfile.TemporaryDirectory() as where:
...     with tf.io.gfile.GFile(where + "/a", "w") as file:
...         _ = file.write("text")
...     tf.io.gfile.exists(where + "/a"), tf.io.gfile.listdir(where)
(True, ['a'])
"""

from __future__ import annotations

import contextlib
import glob as _glob
import io
import os
import shutil
import stat as _stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock._errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from penstock.tf import _missing

if TYPE_CHECKING:
    from typing_extensions import Self


class FileStatistics(NamedTuple):
    """What `stat` gives."""

    length: int
    mtime_nsec: int
    is_directory: bool


_MODES = ("r", "w", "a", "r+", "w+", "a+")


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """What the system refuses, as TensorFlow's errors."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"{path}; No such file or directory") from None
    except FileExistsError:
        raise AlreadyExistsError(f"{path}; File exists") from None
    except PermissionError:
        raise PermissionDeniedError(f"{path}; Permission denied") from None
    except (IsADirectoryError, NotADirectoryError) as error:
        raise FailedPreconditionError(f"{path}; {error.strerror}") from None


class GFile:
    """An open file, with what Python's files have and `size()`.

    >>> import penstock.tf as tf, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     with tf.io.gfile.GFile(file.name, "w") as out:
    ...         _ = out.write("text")
    ...     tf.io.gfile.GFile(file.name).size()
    4
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self.name, self.mode = os.fsdecode(name), mode
        if mode.replace("b", "") not in _MODES:
            raise InvalidArgumentError(
                f"GFile: mode must be one of {', '.join(_MODES)}, also with b, got "
                f"{mode!r}"
            )
        with _naming(self.name):
            self._file: Any = open(  # noqa: SIM115 (closed by close())
                self.name, mode, encoding=None if "b" in mode else "utf-8"
            )

    def __getattr__(self, name: str) -> Any:
        if name == "_file":
            raise AttributeError(name)
        found = getattr(self._file, name)
        if not callable(found):
            return found

        def method(*args: Any, _owner: Any = self, **kwargs: Any) -> Any:
            """A method of the file, which holds it open: GFile(path).readline()."""
            return found(*args, **kwargs)

        return method

    def size(self) -> int:
        """The length of the file, in bytes."""
        if self._file.writable():
            self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def seek(
        self, offset: int | None = None, whence: int = 0, position: int | None = None
    ) -> int:
        """Goes to a place; `position` is the old name of `offset`."""
        at = position if offset is None else offset
        if at is None:
            raise TypeError("seek(): offset argument required")
        found: int = self._file.seek(at, whence)
        return found

    def read(self, n: int = -1) -> Any:
        """`n` characters or bytes, or all that is left."""
        with self._allowed("reading"):
            return self._file.read(n)

    def write(self, file_content: Any) -> int:
        """Appends text, or bytes in a mode with b."""
        with self._allowed("writing"):
            written: int = self._file.write(file_content)
            return written

    @contextlib.contextmanager
    def _allowed(self, what: str) -> Iterator[None]:
        try:
            yield
        except io.UnsupportedOperation:
            raise PermissionDeniedError(
                f"{self.name}: File isn't open for {what}"
            ) from None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._file.close()

    def __del__(self) -> None:
        if "_file" in vars(self):  # GFile(path).read() closes it, without a warning
            self._file.close()


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
    with _naming(os.fsdecode(path)):
        return os.listdir(os.fsdecode(path))


def mkdir(path: Any) -> None:
    """Makes a directory, if it is not there."""
    if not os.path.isdir(os.fsdecode(path)):
        with _naming(os.fsdecode(path)):
            os.mkdir(os.fsdecode(path))


def makedirs(path: Any) -> None:
    """Makes a directory and those above it."""
    with _naming(os.fsdecode(path)):
        os.makedirs(os.fsdecode(path), exist_ok=True)


def remove(path: Any) -> None:
    """Removes a file."""
    with _naming(os.fsdecode(path)):
        os.remove(os.fsdecode(path))


def rmtree(path: Any) -> None:
    """Removes a directory and all in it."""
    with _naming(os.fsdecode(path)):
        shutil.rmtree(os.fsdecode(path))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Gives a file another name."""
    target = os.fsdecode(dst)
    if not overwrite and os.path.exists(target):
        raise AlreadyExistsError(f"{target}: file already exists")
    with _naming(os.fsdecode(src)):
        os.replace(os.fsdecode(src), target)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    target = os.fsdecode(dst)
    if not overwrite and os.path.exists(target):
        raise AlreadyExistsError(f"{target}: file already exists")
    with _naming(os.fsdecode(src)):
        shutil.copyfile(os.fsdecode(src), target)


def stat(path: Any) -> Any:
    """Length and time of a file.

    >>> import penstock.tf as tf, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     tf.io.gfile.stat(file.name).length
    0
    """
    with _naming(os.fsdecode(path)):
        found = os.stat(os.fsdecode(path))
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
