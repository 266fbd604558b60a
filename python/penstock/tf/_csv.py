"""The datasets of tables: CsvDataset, make_csv_dataset, SqlDataset."""

from __future__ import annotations

import csv
import io
import os
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._dataset import Dataset as Engine
from penstock._errors import InvalidArgumentError, NotFoundError
from penstock.tf import _seeds
from penstock.tf._dataset import Dataset
from penstock.tf._dtypes import DType, as_dtype, float32, float64, int32, int64, string
from penstock.tf._mapping import default_cycle
from penstock.tf._options import Options
from penstock.tf._shapes import TensorSpec
from penstock.tf._sources import paths
from penstock.tf._values import convert_to_tensor

_KINDS = (float32, float64, int32, int64, string)


def _typed(default: Any) -> Any:
    """A dtype for a field that must be there, or a scalar for what is missing."""
    if isinstance(default, (DType, np.dtype, type)):
        kind, value = as_dtype(default), None
    else:
        made = convert_to_tensor(default)
        kind = made.dtype
        values = [made] if isinstance(made, bytes) else np.asarray(made).reshape(-1)
        if len(values) > 1:
            raise ValueError(
                f"record_defaults: a default must be one value, got {default!r}"
            )
        value = values[0] if len(values) else None
    if kind not in _KINDS:
        raise TypeError(
            "record_defaults must be of float32, float64, int32, int64 or string, "
            f"got {default!r}"
        )
    if value is None:
        return kind
    return bytes(value) if isinstance(value, bytes) else kind.dtype.type(value)


def _columns(defaults: Any) -> dict[str, Any]:
    return {f"record_defaults[{i}]": _typed(d) for i, d in enumerate(defaults)}


def _compression(kind: Any) -> str | None:
    if isinstance(kind, bytes):
        kind = kind.decode()
    return kind or None


def _names(columns: Any) -> list[str]:
    return [c.decode() if isinstance(c, bytes) else str(c) for c in columns]


class CsvDataset(Dataset):
    """The records of CSV files, as tuples of scalars.

    A dtype in `record_defaults` means that the field must be there.

    >>> import penstock.tf as tf, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     _ = pathlib.Path(where, "a.csv").write_text("1,cat\\n,dog\\n")
    ...     ds = tf.data.experimental.CsvDataset(where + "/a.csv", [-1, tf.string])
    ...     list(ds.as_numpy_iterator())
    [(np.int32(1), b'cat'), (np.int32(-1), b'dog')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise ValueError("Only one of `select_cols` and `exclude_cols` can be set.")
        columns = _columns(record_defaults)
        places = None if select_cols is None else [int(c) for c in select_cols]
        if exclude_cols is not None:
            left = {int(c) for c in exclude_cols}
            total = len(columns) + len(left)
            places = [i for i in range(total) if i not in left][: len(columns)]
        if places is not None and places != sorted(set(places)):
            raise InvalidArgumentError(
                f"CsvDataset: select_cols must rise, got {places}"
            )
        rows = Engine.csv(
            paths(filenames),
            columns,
            header=bool(header),
            delimiter=field_delim,
            use_quote_delim=bool(use_quote_delim),
            na_value=na_value,
            compression=_compression(compression_type),
            column_indices=places,
        )
        keys = tuple(columns)
        self._penstock_value = rows.map(lambda row: tuple([row[k] for k in keys]))
        self._options = Options()
        self._ragged = self._endless = False
        self._running = None

    def __reduce__(self) -> Any:
        return Dataset._of, (self._penstock_value,)


# --- columns by the file --------------------------------------------------------------


def _matching(file_pattern: Any) -> list[str]:
    """Names and patterns as files, in order."""
    given = paths(file_pattern)
    if not isinstance(given, list):
        given = [given]
    found: list[str] = []
    for pattern in given:
        text = os.fsdecode(pattern)
        try:
            found.extend(os.fsdecode(f) for f in Engine.list_files(text))
        except NotFoundError:
            continue
    if not found:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    return sorted(found)


class _Sheet:
    """How the files of a table are written."""

    def __init__(self, delim: str, quotes: bool, na: str, header: bool, kind: Any):
        self.delim, self.quotes, self.na = delim, quotes, na
        self.header, self.compression = header, _compression(kind)

    def rows(self, file: str, encoding: str, limit: int | None) -> list[list[str]]:
        """The first records of a file, the header among them."""
        count = None if limit is None else limit + 1
        lines = Engine.text_lines(file, self.compression)
        lines = lines if count is None else lines.take(4 * count)
        text = b"\n".join(lines).decode(encoding, "replace")
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        found = csv.reader(
            io.StringIO(text, newline=""), delimiter=self.delim, quoting=quoting
        )
        made = [row for row in found if row]
        return made if count is None else made[:count]


def _fits(kind: DType, text: str) -> bool:
    try:
        if kind == string:
            return True
        if kind.is_integer:
            return bool(kind.min <= int(text) <= kind.max)
        value = float(text)
        finite = abs(value) <= float(np.finfo(kind.dtype).max)
        return finite or value != value or abs(value) == float("inf")
    except ValueError:
        return False


_WIDENING = (int32, int64, float32, float64, string)


def _infer(rows: list[list[str]], width: int, places: list[int], na: str) -> list[Any]:
    """The narrowest kind of each column that all of its values have."""
    kinds = [0] * len(places)
    for number, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"Problem inferring types: CSV row {number + 1} has {len(row)} number "
                f"of fields. Expected: {width}."
            )
        for i, at in enumerate(places):
            if row[at] in ("", na):
                continue
            while not _fits(_WIDENING[kinds[i]], row[at]):
                kinds[i] += 1
    zero = {int32: np.int32(0), int64: np.int64(0), float32: np.float32(0)}
    zero[float64], zero[string] = np.float64(0), b""
    return [zero[_WIDENING[k]] for k in kinds]


def _selected(names: list[str], select: Any) -> list[int]:
    if select is None:
        return list(range(len(names)))
    places = []
    for column in select:
        if isinstance(column, (str, bytes)):
            (text,) = _names([column])
            if text not in names:
                raise ValueError(f"Value {text} of `select_columns` is not in {names}.")
            places.append(names.index(text))
        else:
            places.append(int(column))
            if not 0 <= places[-1] < len(names):
                raise ValueError(
                    f"`select_columns` must be in [0, {len(names)}), got {column}"
                )
    if len(set(places)) != len(places):
        raise ValueError("The select_columns argument has duplicates.")
    return sorted(places)


def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Any = None,
    column_defaults: Any = None,
    label_name: str | None = None,
    select_columns: Any = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of CSV files: dicts of columns, or (dict, label).

    Names come from the header of the first file, dtypes from its first rows,
    unless they are given. Without `num_epochs` it has no end.

    >>> import penstock.tf as tf, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     _ = pathlib.Path(where, "a.csv").write_text("x,y\\n1,cat\\n2,dog\\n")
    ...     ds = tf.data.experimental.make_csv_dataset(
    ...         where + "/*.csv", 2, label_name="y", shuffle=False, num_epochs=1)
    ...     list(ds.as_numpy_iterator())
    [({'x': array([1, 2], dtype=int32)}, array([b'cat', b'dog'], dtype=object))]
    """
    files = _matching(file_pattern)
    sheet = _Sheet(field_delim, use_quote_delim, na_value, header, compression_type)
    if column_names is None and not header:
        raise ValueError("Expected `column_names` or `header` arguments.")
    rows: list[list[str]] = []
    if column_names is None or column_defaults is None:
        rows = sheet.rows(files[0], encoding, num_rows_for_inference)
        if header:
            first, rows = rows[:1], rows[1:]
            if column_names is None:
                column_names = first[0] if first else []
        elif num_rows_for_inference is not None:
            rows = rows[:num_rows_for_inference]
    names = _names(column_names)
    if len(set(names)) != len(names):
        raise ValueError("Cannot have duplicate column names.")
    places = _selected(names, select_columns)
    if column_defaults is None:
        column_defaults = _infer(rows, len(names), places, na_value)
    elif len(column_defaults) != len(places):
        raise ValueError(
            "If specified, column_defaults must have one element per column, got "
            f"{len(column_defaults)} for {len(places)}"
        )
    chosen = [names[i] for i in places]
    if label_name is not None and label_name not in chosen:
        raise ValueError(
            f"`label_name` provided must be one of the columns: {chosen}. "
            f"Received: {label_name}."
        )
    columns = dict(zip(chosen, (_typed(d) for d in column_defaults)))
    indices = None if len(places) == len(names) else places
    compression = sheet.compression

    def read(file: Any) -> Any:
        made = Engine.csv(
            file,
            columns,
            header=header,
            delimiter=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            compression=compression,
            column_indices=indices,
        )
        return made.ignore_errors() if ignore_errors else made

    cycle = 1 if num_parallel_reads is None else int(num_parallel_reads)
    if cycle == -1:
        cycle = default_cycle(cycle)
    listed: Any = Engine.from_list(files)
    if shuffle:
        listed = listed.shuffle(len(files), _seeds.of(shuffle_seed))
    if cycle <= 1 and not shuffle:
        table = read(files)
    else:
        table = listed.interleave(
            read,
            max(cycle, 1),
            1,
            max(cycle, 1),
            deterministic=not sloppy,
            output_signature=read(files[0]).element_spec,
        )
    made = Dataset._of(table)
    if shuffle:
        made = made.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        made = made.repeat(num_epochs)
    made = made.batch(batch_size, drop_remainder=num_epochs is None)
    if label_name is not None:
        made = made.map(_with_label(label_name))
    return made.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _with_label(label: str) -> Callable[[Any], Any]:
    def split(row: Any) -> Any:
        return {k: row[k] for k in row if k != label}, row[label]

    return split


class SqlDataset(Dataset):
    """The rows that a query gives on an SQLite file.

    >>> import penstock.tf as tf, sqlite3, tempfile
    >>> with tempfile.TemporaryDirectory() as where:
    ...     db = sqlite3.connect(where + "/x.db")
    ...     _ = db.execute("create table t as select 7 as a, 'cat' as b")
    ...     db.commit(); db.close()
    ...     ds = tf.data.experimental.SqlDataset(
    ...         "sqlite", where + "/x.db", "select * from t", (tf.int32, tf.string))
    ...     list(ds.as_numpy_iterator())
    [(np.int32(7), b'cat')]
    """

    __slots__ = ()

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        (driver,) = _names([driver_name])
        if driver != "sqlite":
            raise InvalidArgumentError(
                f"SqlDataset: driver_name must be 'sqlite', got {driver!r}"
            )
        (text,) = _names([query])
        file = os.fsdecode(paths(data_source_name))
        specs = tuple(TensorSpec((), t) for t in output_types)

        def generate() -> Any:
            if not os.path.exists(file):
                raise NotFoundError(f"SqlDataset: there is no file {file}")
            # Elements are read by whichever thread has time, one at a time.
            connection = sqlite3.connect(
                f"file:{file}?mode=ro", uri=True, check_same_thread=False
            )
            try:
                yield from connection.execute(text)
            except sqlite3.Error as error:
                raise InvalidArgumentError(f"SqlDataset: {error}") from error
            finally:
                connection.close()

        made = Dataset.from_generator(generate, output_signature=specs)
        self._penstock_value = made._penstock_value
        self._options = Options()
        self._ragged = self._endless = False
        self._running = None

    def __reduce__(self) -> Any:
        return Dataset._of, (self._penstock_value,)
