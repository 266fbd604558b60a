"""Transformations that say what is kept, and how the pipeline runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _arguments as check
from penstock._deriving import Deriving
from penstock._errors import ArgumentTypeError
from penstock._options import AUTOTUNE, Options

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Running(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def cache(self, path: Any = None, name: str | None = None) -> Dataset:
        """Keeps the elements in memory, or in the file `path`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).map(lambda x: x + 1).cache()
        >>> ds.to_list() == ds.to_list()
        True
        """
        native = self._native.cache(
            None if path is None else check.path("cache", "path", path),
            check.stage_name("cache", name),
        )
        return self._derive(native, "cache", path, name=name)

    def snapshot(self, path: Any, name: str | None = None) -> Dataset:
        """Keeps the elements in the directory `path`.

        >>> import penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     ds = ps.Dataset.range(3).snapshot(where + "/s")
        ...     ds.to_list() == ds.to_list()
        True
        """
        native = self._native.snapshot(
            check.path("snapshot", "path", path),
            check.stage_name("snapshot", name),
        )
        return self._derive(native, "snapshot", path, name=name)

    def prefetch(self, n: int = AUTOTUNE, name: str | None = None) -> Dataset:
        """At most `n` elements ahead of the next stage.

        A parallel map in front of it keeps its width: of its calls as many as
        else run at once, if need be for elements further ahead. Without it, or
        with AUTOTUNE, output is made ahead within the memory budget;
        ``prefetch(0)`` makes each element when it is asked for.

        >>> import penstock as ps
        >>> len(ps.Dataset.range(4).prefetch(2).to_list())
        4
        """
        native = self._native.prefetch(
            check.integer("prefetch", "n", n), check.stage_name("prefetch", name)
        )
        return self._derive(native, "prefetch", n, name=name)

    def ignore_errors(
        self, limit: int | None = None, name: str | None = None
    ) -> Dataset:
        """Leaves out elements that failed, at most `limit` of them.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).map(lambda x: 6 // int(x)).ignore_errors()
        >>> [int(x) for x in ds]
        [6, 3]
        """
        native = self._native.ignore_errors(
            check.optional_integer("ignore_errors", "limit", limit),
            check.stage_name("ignore_errors", name),
        )
        return self._derive(native, "ignore_errors", limit, name=name)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same elements, run as `options` say.

        ``on_error`` holds for every stage that has no policy of its own. Of what
        several of them give the outermost wins; `Options` says what holds in one
        branch only.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5).shuffle(5).with_options(ps.Options(seed=3))
        >>> len(ds.to_list())
        5
        """
        if not isinstance(options, Options):
            raise ArgumentTypeError(
                f"with_options: options must be ps.Options, got {options!r}"
            )
        native = self._native.with_options(
            options._native(), check.stage_name("with_options", name)
        )
        return self._derive(native, "with_options", options, options=options, name=name)
