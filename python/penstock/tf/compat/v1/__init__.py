"""`tf.compat.v1`: what input pipelines of TensorFlow 1 use, run eagerly.

Names that are the same in both versions are those of `penstock.tf`.

>>> import penstock.tf as tf
>>> ds = tf.compat.v1.data.Dataset.range(3)
>>> it = tf.compat.v1.data.make_one_shot_iterator(ds)
>>> int(it.get_next()), int(it.get_next())
(0, 1)
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf import _missing, io, random, sparse, strings
from penstock.tf._ragged import RaggedTensor
from penstock.tf._values import convert_to_tensor
from penstock.tf.compat import as_bytes, as_str, as_str_any, as_text, path_to_str
from penstock.tf.compat.v1 import data, gfile


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Nothing: functions run eagerly here."""


def enable_v2_behavior() -> None:
    """Nothing: this is TensorFlow 2."""


enable_v2_tensorshape = enable_v2_behavior
enable_resource_variables = enable_v2_behavior


def disable_eager_execution() -> None:
    """There are no graphs to run later: an error that says so."""
    raise RuntimeError(
        "compat.v1: penstock.tf has no graphs and sessions; iterate over the dataset "
        "instead"
    )


disable_v2_behavior = disable_eager_execution


class python_io:
    """`tf.python_io` of TensorFlow 1."""

    TFRecordOptions = io.TFRecordOptions
    TFRecordWriter = io.TFRecordWriter

    @staticmethod
    def tf_record_iterator(path: Any, options: Any = None) -> Any:
        """The records of a file, as bytes."""
        kind = getattr(options, "compression_type", options)
        return data.TFRecordDataset(path, kind).as_numpy_iterator()


# Names that TensorFlow 2 moved.
FixedLenFeature = io.FixedLenFeature
FixedLenSequenceFeature = io.FixedLenSequenceFeature
VarLenFeature = io.VarLenFeature
decode_csv = io.decode_csv
decode_raw = io.decode_raw
matching_files = io.matching_files
parse_example = io.parse_example
parse_single_example = io.parse_single_example
parse_single_sequence_example = io.parse_single_sequence_example
parse_tensor = io.parse_tensor
read_file = io.read_file
write_file = io.write_file
random_normal = random.normal
random_shuffle = random.shuffle
random_uniform = random.uniform
set_random_seed = random.set_seed
sparse_tensor_to_dense = sparse.to_dense
string_join = strings.join
string_to_number = strings.to_number


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The parts of each string, as a sparse or a ragged tensor.

    Every byte of `sep` separates; parts without any byte are left out.

    >>> import penstock.tf as tf
    >>> tf.compat.v1.string_split(["a b", "c"]).values.numpy().tolist()
    [b'a', b'b', b'c']
    """
    between = as_bytes(delimiter if sep is None else sep)
    texts = convert_to_tensor(source)
    if len(texts.shape) != 1:
        raise InvalidArgumentError(
            f"string_split: source must be of rank 1, got {len(texts.shape)}"
        )
    rows = [
        [part for part in _parts(text, between) if part or (text and not skip_empty)]
        for text in np.asarray(texts).tolist()
    ]
    made = RaggedTensor.from_row_lengths(
        convert_to_tensor([part for row in rows for part in row], "string"),
        [len(row) for row in rows],
    )
    return made.to_sparse() if result_type == "SparseTensor" else made


def _parts(text: bytes, between: bytes) -> list[bytes]:
    if not between:
        return [text[i : i + 1] for i in range(len(text))]
    return text.translate(bytes.maketrans(between, between[:1] * len(between))).split(
        between[:1]
    )


def __getattr__(name: str) -> Any:
    here = vars(importlib.import_module("penstock.tf"))
    if name in here and not name.startswith("_"):
        return here[name]
    return _missing.resolve("compat.v1", name)


__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "VarLenFeature",
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "data",
    "decode_csv",
    "decode_raw",
    "disable_eager_execution",
    "disable_v2_behavior",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "gfile",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "path_to_str",
    "python_io",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "read_file",
    "set_random_seed",
    "sparse_tensor_to_dense",
    "string_join",
    "string_split",
    "string_to_number",
    "write_file",
]
