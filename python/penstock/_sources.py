"""The sources of `Dataset`."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _arguments as check
from penstock import _penstock
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._functions import check_callable
from penstock._identity import function_identity
from penstock._key_order import in_one_key_order
from penstock._options import AUTOTUNE, UNKNOWN
from penstock._recipe import Recipe
from penstock._spec import check_signature

if TYPE_CHECKING:
    from penstock._dataset import Dataset

_native = _penstock.Dataset
_STOP = ("stop",)
_START_STOP_STEP = ("start", "stop", "step")


@functools.cache
def dataset_class() -> type[Dataset]:
    """Looked up once: an import statement takes a microsecond each time."""
    from penstock._dataset import Dataset

    return Dataset


def _source(
    native: Any,
    method: str,
    *args: Any,
    parents: tuple[Dataset, ...] = (),
    **kwargs: Any,
) -> Dataset:
    return dataset_class()._make(native, Recipe(method, None, args, kwargs), parents)


def check_datasets(op: str, datasets: Any) -> tuple[Dataset, ...]:
    from penstock._dataset import Dataset

    if isinstance(datasets, Dataset):  # would be run to its end, if it has one
        raise ArgumentTypeError(
            f"{op}: datasets must be a sequence of Dataset objects, got one Dataset"
        )
    try:
        items = tuple(datasets)
    except TypeError:
        items = (datasets,)
    for item in items:
        if not isinstance(item, Dataset):
            raise ArgumentTypeError(
                f"{op}: datasets must be Dataset objects, got {type(item).__name__}"
            )
    return items


_CHEAP_ITEMS = 10_000
_CHEAP_BYTES = 1 << 20


def _indexable_identity(obj: Any) -> str:
    """Tells indexables apart, the same in every process.

    By content where that is small and cannot change by being read; of other
    objects only the type counts, because they may hold caches and open files.
    """
    kind = type(obj)
    name = f"{kind.__module__}.{kind.__qualname__}"
    content = b""
    if kind is np.ndarray:
        if obj.dtype != object and obj.nbytes <= _CHEAP_BYTES:
            content = f"{obj.dtype}{obj.shape}".encode() + obj.tobytes()
    elif kind is range or (len(obj) <= _CHEAP_ITEMS and _is_plain(obj)):
        content = repr(obj).encode(errors="surrogatepass")
    return f"{name}:{hashlib.sha256(content).hexdigest()[:16]}" if content else name


def _is_plain(value: Any, depth: int = 0) -> bool:
    if type(value) in (list, tuple):
        return depth < 4 and all(_is_plain(v, depth + 1) for v in value)
    return type(value) in (bool, int, float, complex, str, bytes, type(None))


class Sources:
    """Mixed into `Dataset`."""

    __slots__ = ()

    @staticmethod
    def range(*args: int, name: str | None = None) -> Dataset:
        """``range(stop)`` or ``range(start, stop[, step])``, as int64.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(2, 11, 3)]
        [2, 5, 8]
        """
        if not 1 <= len(args) <= 3:
            raise ArgumentTypeError(f"range: takes 1 to 3 numbers, got {len(args)}")
        names = _STOP if len(args) == 1 else _START_STOP_STEP
        numbers = [check.integer("range", n, v) for n, v in zip(names, args)]
        if len(numbers) == 1:
            start, stop, step = 0, numbers[0], 1
        else:
            start, stop, step = numbers if len(numbers) == 3 else (*numbers, 1)
        native = _native.range(start, stop, step, check.stage_name("range", name))
        return _source(native, "range", *args, name=name)

    @staticmethod
    def from_tensors(x: Any, name: str | None = None) -> Dataset:
        """One element: `x`. Arrays are not copied; do not write to them.

        >>> import penstock as ps
        >>> ps.Dataset.from_tensors({"a": [1, 2]}).to_list()
        [{'a': array([1, 2])}]
        """
        native = _native.from_tensors(x, check.stage_name("from_tensors", name))
        return _source(native, "from_tensors", x, name=name)

    @staticmethod
    def from_tensor_slices(x: Any, name: str | None = None) -> Dataset:
        """The slices along the first dimension of every array in `x`.

        Arrays are not copied; do not write to them. Rows of a `ps.Ragged` are
        arrays of different length.

        >>> import penstock as ps
        >>> ds = ps.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
        >>> [(int(n), s) for n, s in ds]
        [(1, b'a'), (2, b'b')]
        """
        native = _native.from_tensor_slices(
            x, check.stage_name("from_tensor_slices", name)
        )
        return _source(native, "from_tensor_slices", x, name=name)

    @staticmethod
    def from_list(elements: list[Any], name: str | None = None) -> Dataset:
        """The items of a list: one structure, shapes may differ.

        >>> import penstock as ps
        >>> ps.Dataset.from_list([[1], [2, 3]]).to_list()
        [array([1]), array([2, 3])]
        """
        if not isinstance(elements, (list, tuple)):
            raise ArgumentTypeError(
                f"from_list: elements must be a list, got {type(elements).__name__}"
            )
        native = _native.from_list(list(elements), check.stage_name("from_list", name))
        return _source(native, "from_list", elements, name=name)

    @staticmethod
    def from_generator(
        fn: Callable[..., Iterable[Any]],
        output_signature: Any = None,
        args: tuple[Any, ...] = (),
        name: str | None = None,
    ) -> Dataset:
        """What the iterator ``fn(*args)`` gives; a new one each iteration.

        If the iterator has ``state_dict`` and ``load_state_dict``, a restored
        pipeline continues it; else it is read again from its start. It reads what
        the program has when it runs: a list that has grown gives more.

        >>> import penstock as ps
        >>> def words():
        ...     yield "to"
        ...     yield "be"
        >>> ps.Dataset.from_generator(words).to_list()
        [b'to', b'be']
        """
        check_callable("from_generator", "fn", fn)
        if not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(
                f"from_generator: args must be a tuple, got {args!r}"
            )
        bound = tuple(args)
        native = _native.from_generator(
            (lambda: fn(*bound)) if bound else fn,
            check_signature("from_generator", output_signature),
            function_identity((fn, bound)),
            UNKNOWN,
            check.stage_name("from_generator", name),
        )
        return _source(
            native,
            "from_generator",
            fn,
            output_signature=output_signature,
            args=args,
            name=name,
        )

    @staticmethod
    def from_indexable(
        obj: Any, output_signature: Any = None, name: str | None = None
    ) -> Dataset:
        """``obj[0] ... obj[len(obj) - 1]``: any object with both methods.

        Read by index, from several threads: shuffles, shards and resumes
        without reading what it passes over.

        >>> import penstock as ps
        >>> class Squares:
        ...     def __len__(self): return 4
        ...     def __getitem__(self, i): return i * i
        >>> [int(x) for x in ps.Dataset.from_indexable(Squares())]
        [0, 1, 4, 9]
        """
        if not hasattr(obj, "__getitem__") or not hasattr(obj, "__len__"):
            raise ArgumentTypeError(
                "from_indexable: obj must have __getitem__ and __len__, got "
                f"{type(obj).__name__}"
            )
        native = _native.from_indexable(
            obj,
            len(obj),
            check_signature("from_indexable", output_signature),
            _indexable_identity(obj),
            check.stage_name("from_indexable", name),
        )
        return _source(
            native,
            "from_indexable",
            obj,
            output_signature=output_signature,
            name=name,
        )

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Random int64 in [0, 2**32), without end.

        >>> import penstock as ps
        >>> ds = ps.Dataset.random(seed=3).take(4)
        >>> ds.to_list() == ds.to_list()
        True
        """
        native = _native.random(
            check.seed("random", seed),
            check.boolean(
                "random", "rerandomize_each_iteration", rerandomize_each_iteration
            ),
            check.stage_name("random", name),
        )
        return _source(
            native,
            "random",
            seed,
            rerandomize_each_iteration=rerandomize_each_iteration,
            name=name,
        )

    @staticmethod
    def counter(start: int = 0, step: int = 1, name: str | None = None) -> Dataset:
        """``start, start + step, ...`` without end, as int64.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter(5, 2).take(3)]
        [5, 7, 9]
        """
        native = _native.counter(
            check.integer("counter", "start", start),
            check.integer("counter", "step", step),
            check.stage_name("counter", name),
        )
        return _source(native, "counter", start, step, name=name)

    @staticmethod
    def zip(*datasets: Any, name: str | None = None) -> Dataset:
        """Element i of every dataset as one tuple, as long as the shortest.

        Takes datasets, or one structure (tuple or dict) of them.

        >>> import penstock as ps
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 20)
        >>> [(int(x), int(y)) for x, y in ps.Dataset.zip(a, b)]
        [(0, 10), (1, 11), (2, 12)]
        >>> int(next(iter(ps.Dataset.zip({"a": a, "b": b})))["b"])
        10
        """
        from penstock._dataset import Dataset

        if not datasets:
            raise InvalidArgumentError("zip: datasets must not be empty")
        structure: Any = datasets
        if len(datasets) == 1 and isinstance(datasets[0], (tuple, list, dict)):
            structure = datasets[0]
        parents: list[Dataset] = []

        def convert(value: Any) -> Any:
            if isinstance(value, Dataset):
                parents.append(value)
                return value._native
            if isinstance(value, (tuple, list)):
                items = [convert(v) for v in value]
                return (
                    type(value)(*items) if hasattr(value, "_fields") else tuple(items)
                )
            if isinstance(value, dict):
                for key in value:
                    check.text("zip", "a key of datasets", key)
                return {k: convert(v) for k, v in value.items()}
            raise ArgumentTypeError(
                f"zip: datasets must be Dataset objects, got {type(value).__name__}"
            )

        native = _native.zip(convert(structure), check.stage_name("zip", name))
        return _source(native, "zip", *datasets, parents=tuple(parents), name=name)

    @staticmethod
    def list_files(
        pattern: Any,
        shuffle: bool = False,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The files that match a pattern, or one of several, sorted.

        ``**`` matches any directories. With `shuffle` in another order in each
        iteration.

        >>> import penstock as ps, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     for file in ("b.txt", "a.txt", "c.jpg"):
        ...         _ = pathlib.Path(where, file).write_text("")
        ...     names = ps.Dataset.list_files(where + "/*.txt").to_list()
        >>> [name.rsplit(b"/")[-1] for name in names]
        [b'a.txt', b'b.txt']
        """
        native = _native.list_files(
            check.paths("list_files", "pattern", pattern),
            check.boolean("list_files", "shuffle", shuffle),
            check.seed("list_files", seed),
            check.stage_name("list_files", name),
        )
        return _source(
            native, "list_files", pattern, shuffle=shuffle, seed=seed, name=name
        )

    @staticmethod
    def tfrecord(
        files: Any,
        compression: str | None = None,
        num_parallel_reads: int = AUTOTUNE,
        verify: bool = True,
        max_record_bytes: int = 1 << 30,
        index: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The records of TFRecord files, as bytes, one file after the other.

        `files` is a path or glob, a list of them, or a dataset of names.
        `compression` is "GZIP", "ZLIB", "ZSTD" or "auto". Plain files are read by
        index: ``ds[i]``, global shuffles, one file from all workers. The index is
        made when the graph is built; with ``index=False`` files are opened by each
        iterator, from their start on, and ``index=True`` makes it an error where
        there can be none.

        >>> import penstock as ps, tempfile
        >>> with tempfile.NamedTemporaryFile() as empty:
        ...     ps.Dataset.tfrecord(empty.name).to_list()
        []
        """
        from penstock._dataset import Dataset

        op = "tfrecord"
        parents = (files,) if isinstance(files, Dataset) else ()
        native = _native.tfrecord(
            files._native
            if isinstance(files, Dataset)
            else check.paths(op, "files", files),
            "" if compression is None else check.text(op, "compression", compression),
            AUTOTUNE
            if num_parallel_reads is None
            else check.integer(op, "num_parallel_reads", num_parallel_reads),
            check.boolean(op, "verify", verify),
            check.integer(op, "max_record_bytes", max_record_bytes),
            check.optional_boolean(op, "index", index),
            check.stage_name(op, name),
        )
        return _source(
            native,
            op,
            files,
            parents=parents,
            compression=compression,
            num_parallel_reads=num_parallel_reads,
            verify=verify,
            max_record_bytes=max_record_bytes,
            index=index,
            name=name,
        )

    @staticmethod
    def load(path: Any, name: str | None = None) -> Dataset:
        """What `Dataset.save` wrote at `path`.

        >>> import penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     ps.Dataset.range(2).save(where)
        ...     len(ps.Dataset.load(where).to_list())
        2
        """
        native = _native.load(
            check.path("load", "path", path), check.stage_name("load", name)
        )
        return _source(native, "load", path, name=name)

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Each element from one of `datasets`, drawn at random.

        >>> import penstock as ps
        >>> zeros = ps.Dataset.from_tensors(0).repeat(5)
        >>> ones = ps.Dataset.from_tensors(1).repeat(5)
        >>> ds = ps.Dataset.sample_from_datasets([zeros, ones], [0.5, 0.5], seed=1)
        >>> sorted(int(x) for x in ds)
        [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
        """
        op = "sample_from_datasets"
        inputs = in_one_key_order(check_datasets(op, datasets))
        native = _native.sample_from_datasets(
            [d._native for d in inputs],
            check.floats(op, "weights", weights),
            check.seed(op, seed),
            check.boolean(op, "stop_on_empty_dataset", stop_on_empty_dataset),
            check.boolean(op, "rerandomize_each_iteration", rerandomize_each_iteration),
            check.stage_name(op, name),
        )
        return _source(
            native,
            op,
            list(inputs),
            parents=inputs,
            weights=weights,
            seed=seed,
            stop_on_empty_dataset=stop_on_empty_dataset,
            rerandomize_each_iteration=rerandomize_each_iteration,
            name=name,
        )

    @staticmethod
    def choose_from_datasets(
        datasets: Any,
        choice: Dataset,
        stop_on_empty_dataset: bool = True,
        name: str | None = None,
    ) -> Dataset:
        """Elements of `datasets` in the order that `choice` says.

        >>> import penstock as ps
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 13)
        >>> choice = ps.Dataset.from_tensor_slices([1, 0, 1])
        >>> [int(x) for x in ps.Dataset.choose_from_datasets([a, b], choice)]
        [10, 0, 11]
        """
        op = "choose_from_datasets"
        inputs = in_one_key_order(check_datasets(op, datasets))
        (chooser,) = check_datasets(op, (choice,))
        native = _native.choose_from_datasets(
            [d._native for d in inputs],
            chooser._native,
            check.boolean(op, "stop_on_empty_dataset", stop_on_empty_dataset),
            check.stage_name(op, name),
        )
        return _source(
            native,
            op,
            list(inputs),
            choice,
            parents=(chooser, *inputs),  # as the engine numbers them
            stop_on_empty_dataset=stop_on_empty_dataset,
            name=name,
        )
