"""The sources of `Dataset` that read files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _arguments as check
from penstock import _penstock
from penstock._dtypes import DType, as_dtype
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._options import AUTOTUNE
from penstock._recipe import Recipe

if TYPE_CHECKING:
    from penstock._dataset import Dataset

_native = _penstock.Dataset


def _files(op: str, files: Any) -> tuple[Any, tuple[Dataset, ...]]:
    """What the engine takes, and the dataset it comes from."""
    from penstock._dataset import Dataset

    if isinstance(files, Dataset):
        return files._native, (files,)
    return check.paths(op, "files", files), ()


def _common(op: str, compression: Any, reads: Any) -> tuple[str, int]:
    return (
        "" if compression is None else check.text(op, "compression", compression),
        AUTOTUNE if reads is None else check.integer(op, "num_parallel_reads", reads),
    )


def _made(native: Any, recipe: Recipe, parents: tuple[Dataset, ...] = ()) -> Dataset:
    from penstock._dataset import Dataset

    return Dataset._make(native, recipe, parents)


def _typed(op: str, name: str, value: Any) -> tuple[str, Any]:
    """(dtype, default): a dtype alone means that a value must be there."""
    if isinstance(value, (DType, np.dtype, type)):
        return as_dtype(value).name, None
    if isinstance(value, np.generic):
        return as_dtype(value.dtype).name, value
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, int):
        return "int64", np.int64(value)
    if isinstance(value, float):
        return "float32", np.float32(value)
    if isinstance(value, (str, bytes)):
        return "string", value.encode() if isinstance(value, str) else value
    raise ArgumentTypeError(
        f"{op}: {name!r} must have a dtype or a default, got {value!r}"
    )


class FileSources:
    """Mixed into `Dataset`."""

    __slots__ = ()

    @staticmethod
    def text_lines(
        files: Any,
        compression: str | None = None,
        num_parallel_reads: int = AUTOTUNE,
        skip_lines: int = 0,
        max_record_bytes: int = 1 << 30,
        name: str | None = None,
    ) -> Dataset:
        """The lines of text files, as bytes without their ends.

        `files` is a path or glob, a list of them, or a dataset of names.

        >>> import penstock as ps, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     ps.io.write_file(file.name, "one\\ntwo\\n")
        ...     ps.Dataset.text_lines(file.name).to_list()
        [b'one', b'two']
        """
        op = "text_lines"
        given, parents = _files(op, files)
        native = _native.text_lines(
            given,
            *_common(op, compression, num_parallel_reads),
            check.integer(op, "skip_lines", skip_lines),
            check.integer(op, "max_record_bytes", max_record_bytes),
            check.stage_name(op, name),
        )
        kwargs = dict(
            compression=compression,
            num_parallel_reads=num_parallel_reads,
            skip_lines=skip_lines,
            max_record_bytes=max_record_bytes,
            name=name,
        )
        return _made(native, Recipe(op, None, (files,), kwargs), parents)

    @staticmethod
    def fixed_length_records(
        files: Any,
        record_bytes: int,
        header_bytes: int = 0,
        footer_bytes: int = 0,
        compression: str | None = None,
        num_parallel_reads: int = AUTOTUNE,
        index: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Records of one size between a header and a footer; plain files by index.

        With ``index=False`` files are opened by each iterator, from their start on.

        >>> import penstock as ps, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     ps.io.write_file(file.name, b"#abcd")
        ...     ps.Dataset.fixed_length_records(file.name, 2, header_bytes=1).to_list()
        [b'ab', b'cd']
        """
        op = "fixed_length_records"
        given, parents = _files(op, files)
        native = _native.fixed_length_records(
            given,
            check.integer(op, "record_bytes", record_bytes),
            check.integer(op, "header_bytes", header_bytes),
            check.integer(op, "footer_bytes", footer_bytes),
            *_common(op, compression, num_parallel_reads),
            check.optional_boolean(op, "index", index),
            check.stage_name(op, name),
        )
        kwargs = dict(
            header_bytes=header_bytes,
            footer_bytes=footer_bytes,
            compression=compression,
            num_parallel_reads=num_parallel_reads,
            index=index,
            name=name,
        )
        return _made(native, Recipe(op, None, (files, record_bytes), kwargs), parents)

    @staticmethod
    def csv(
        files: Any,
        columns: Mapping[str, Any] | None = None,
        select_columns: Any = None,
        header: bool = True,
        delimiter: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        compression: str | None = None,
        num_parallel_reads: int = AUTOTUNE,
        max_record_bytes: int = 1 << 30,
        column_indices: Sequence[int] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The records of CSV files, as dicts of scalars.

        `columns` names all fields in order, with a dtype, or with a default for
        what is empty. Without it names come from the header, dtypes from the
        first rows. `column_indices` says which fields they are, when others are
        to be passed over.

        >>> import penstock as ps, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     ps.io.write_file(file.name, "x,name\\n1,cat\\n2,\\n")
        ...     ps.Dataset.csv(file.name, {"x": ps.int64, "name": "?"}).to_list()
        [{'x': np.int64(1), 'name': b'cat'}, {'x': np.int64(2), 'name': b'?'}]
        """
        op = "csv"
        given, parents = _files(op, files)
        if columns is not None and not isinstance(columns, Mapping):
            raise ArgumentTypeError(f"{op}: columns must be a dict, got {columns!r}")
        places = [-1] * len(columns or {})
        if column_indices is not None:
            places = check.integers(op, "column_indices", column_indices)
            if len(places) != len(columns or {}) or min(places, default=0) < 0:
                raise InvalidArgumentError(
                    f"{op}: column_indices must be a place >= 0 for each of the "
                    f"columns, got {places}"
                )
        typed = [
            (n, _typed(op, n, v), at)
            for (n, v), at in zip((columns or {}).items(), places)
        ]
        select = check.texts(op, "select_columns", select_columns)
        native = _native.csv(
            given,
            typed,
            select,
            check.boolean(op, "header", header),
            check.text(op, "delimiter", delimiter),
            check.boolean(op, "use_quote_delim", use_quote_delim),
            check.text(op, "na_value", na_value),
            *_common(op, compression, num_parallel_reads),
            check.integer(op, "max_record_bytes", max_record_bytes),
            check.stage_name(op, name),
        )
        kwargs = dict(
            columns=None if columns is None else dict(columns),
            select_columns=select or None,
            header=header,
            delimiter=delimiter,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            compression=compression,
            num_parallel_reads=num_parallel_reads,
            max_record_bytes=max_record_bytes,
            column_indices=None if column_indices is None else places,
            name=name,
        )
        return _made(native, Recipe(op, None, (files,), kwargs), parents)

    @staticmethod
    def jsonl(
        files: Any,
        fields: Mapping[str, Any],
        compression: str | None = None,
        num_parallel_reads: int = AUTOTUNE,
        max_record_bytes: int = 1 << 30,
        name: str | None = None,
    ) -> Dataset:
        """JSON objects, one per line, as dicts of `fields`.

        A field has a dtype, a default for where it is absent, or ``[dtype]``
        for a list; "a.b" looks into objects.

        >>> import penstock as ps, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     ps.io.write_file(file.name, '{"id": 3, "tags": ["a", "b"]}')
        ...     ds = ps.Dataset.jsonl(file.name, {"id": ps.int64, "tags": [ps.string]})
        ...     next(iter(ds))
        {'id': np.int64(3), 'tags': array([b'a', b'b'], dtype=object)}
        """
        op = "jsonl"
        given, parents = _files(op, files)
        if not isinstance(fields, Mapping):
            raise ArgumentTypeError(f"{op}: fields must be a dict, got {fields!r}")
        wanted = []
        for field, value in fields.items():
            if isinstance(value, list):
                if len(value) != 1:
                    raise InvalidArgumentError(
                        f"{op}: field {field!r} must be [dtype], got {value!r}"
                    )
                try:
                    dtype = as_dtype(value[0])
                except ArgumentTypeError as error:
                    raise ArgumentTypeError(
                        f"{op}: field {field!r} must be [dtype]: {error}"
                    ) from None
                wanted.append((field, (dtype.name, None), True))
            else:
                wanted.append((field, _typed(op, field, value), False))
        native = _native.jsonl(
            given,
            wanted,
            *_common(op, compression, num_parallel_reads),
            check.integer(op, "max_record_bytes", max_record_bytes),
            check.stage_name(op, name),
        )
        kwargs = dict(
            compression=compression,
            num_parallel_reads=num_parallel_reads,
            max_record_bytes=max_record_bytes,
            name=name,
        )
        return _made(native, Recipe(op, None, (files, dict(fields)), kwargs), parents)

    @staticmethod
    def tar(
        files: Any,
        fields: Any = None,
        compression: str | None = None,
        num_parallel_reads: int = AUTOTUNE,
        max_record_bytes: int = 1 << 30,
        name: str | None = None,
    ) -> Dataset:
        """Samples of tar files as WebDataset has them.

        Dicts of ``__key__`` and the bytes of the files that share it, by
        extension. With `fields` each sample must have these.

        >>> import io, penstock as ps, tarfile, tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        ...     with tarfile.open(file.name, "w") as archive:
        ...         info = tarfile.TarInfo("7.txt"); info.size = 2
        ...         archive.addfile(info, io.BytesIO(b"hi"))
        ...     ps.Dataset.tar(file.name, ["txt"]).to_list()
        [{'__key__': b'7', 'txt': b'hi'}]
        """
        op = "tar"
        given, parents = _files(op, files)
        wanted = check.texts(op, "fields", fields)
        native = _native.tar(
            given,
            wanted,
            *_common(op, compression, num_parallel_reads),
            check.integer(op, "max_record_bytes", max_record_bytes),
            check.stage_name(op, name),
        )
        kwargs = dict(
            fields=wanted or None,
            compression=compression,
            num_parallel_reads=num_parallel_reads,
            max_record_bytes=max_record_bytes,
            name=name,
        )
        return _made(native, Recipe(op, None, (files,), kwargs), parents)

    @staticmethod
    def image_folder(
        root: Any, extensions: Any = None, name: str | None = None
    ) -> Dataset:
        """(path, label) of the pictures in a directory per class.

        `extensions` are those of pictures, as ".jpg" or "jpg".
        `class_names` of the dataset, or `ps.io.class_names(root)`, tells the
        classes.

        >>> import penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     ps.io.write_file(root + "/cat/1.jpg", b"")
        ...     ps.io.write_file(root + "/dog/2.jpg", b"")
        ...     ds = ps.Dataset.image_folder(root)
        ...     [(int(label), ds.class_names[label]) for _, label in ds]
        [(0, 'cat'), (1, 'dog')]
        """
        op = "image_folder"
        endings = None
        if extensions is not None:
            endings = check.texts(op, "extensions", extensions)
        where = check.path(op, "root", root)
        native = _native.image_folder(where, endings, check.stage_name(op, name))
        kwargs = dict(extensions=endings, name=name)
        ds = _made(native, Recipe(op, None, (root,), kwargs))
        ds._class_names = tuple(_penstock.class_names(where))
        return ds

    @staticmethod
    def npy(files: Any, name: str | None = None) -> Dataset:
        """Rows of the arrays in .npy files, or dicts of them in .npz files.

        The files are mapped into memory: elements are views of them. Compressed
        archives, arrays in Fortran order or another byte order and strings (bytes,
        str as UTF-8) are read and converted once, when the dataset is made.

        >>> import numpy as np, penstock as ps, tempfile
        >>> with tempfile.TemporaryDirectory() as where:
        ...     np.save(where + "/x.npy", np.arange(4).reshape(2, 2))
        ...     ps.Dataset.npy(where + "/x.npy").to_list()
        [array([0, 1]), array([2, 3])]
        """
        op = "npy"
        native = _native.npy(
            check.paths(op, "files", files), check.stage_name(op, name)
        )
        return _made(native, Recipe(op, None, (files,), dict(name=name)))

    @staticmethod
    def from_arrow(obj: Any, name: str | None = None) -> Dataset:
        """The rows of Arrow data, as dicts: anything with ``__arrow_c_stream__``.

        Tables and record batches of pyarrow, Polars, DuckDB and others; of a
        single column (a ``ChunkedArray``, a Series of Polars) its values. Numbers
        and large strings are not copied. Lists are arrays of any length (lists of
        lists `ps.Ragged`), records dicts, categories their values. A stream is
        read to its end when the dataset is made. Nulls of floats are NaN; others
        must be filled before.

        >>> import penstock as ps, pyarrow as pa
        >>> table = pa.table({"x": [1, 2], "name": ["a", "b"]})
        >>> ps.Dataset.from_arrow(table).to_list()
        [{'x': np.int64(1), 'name': b'a'}, {'x': np.int64(2), 'name': b'b'}]
        """
        op = "from_arrow"
        if not hasattr(obj, "__arrow_c_stream__"):
            raise ArgumentTypeError(
                f"{op}: obj must have __arrow_c_stream__, got {type(obj).__name__}"
            )
        native = _penstock.from_arrow(
            obj.__arrow_c_stream__(), check.stage_name(op, name)
        )
        return _made(native, Recipe(op, None, (obj,), dict(name=name)))
