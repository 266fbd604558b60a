"""Users' own native operations, from shared libraries."""

from __future__ import annotations

import os
from typing import Any

from penstock import _arguments as check
from penstock import _penstock
from penstock._errors import InvalidArgumentError
from penstock._ops import native, traceable


class OpLibrary:
    """The operations of a library, as functions."""

    __penstock_traceable__ = True
    _functions: dict[str, Any]

    def __init__(self, path: str, names: list[tuple[str, bool]]) -> None:
        self.path = path
        self._functions = {}
        for name, random in names:
            short = name.rsplit(".", 1)[-1]
            if short in self._functions:
                raise InvalidArgumentError(
                    f"load_op_library: two operations are called {short!r}"
                )
            self._functions[short] = _function(name, short, random)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(
                f"{os.path.basename(self.path)} has no operation {name!r}; it has "
                + ", ".join(self._functions)
            ) from None

    def __dir__(self) -> list[str]:
        return sorted(self._functions)

    def __repr__(self) -> str:
        return f"<OpLibrary {self.path}: {', '.join(self._functions)}>"

    def __reduce__(self) -> Any:
        return load_op_library, (self.path,)


def _function(name: str, short: str, random: bool) -> Any:
    def operation(*args: Any, **parameters: Any) -> Any:
        return native(name, *args, random=random, **parameters)

    operation.__name__ = operation.__qualname__ = short
    operation.__doc__ = f"The native operation {name!r}."
    return traceable(operation)


def load_op_library(path: Any) -> OpLibrary:
    """Loads native operations of your own; they are the result's methods.

    The library is built against ``penstock/expr/op_library.h``
    (docs/native-functions.md). Tensors are passed by position, constants by
    name. Inside a traced function an operation is part of the program.

    >>> import penstock as ps
    >>> ps.load_op_library("missing.so")
    Traceback (most recent call last):
    ...
    penstock._errors.NotFoundError: load_op_library: ...missing.so...
    """
    file = os.path.abspath(check.path("load_op_library", "path", path))
    return OpLibrary(file, _penstock.load_op_library(file))
