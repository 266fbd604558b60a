"""Files and records: reading, parsing, writing.

`read_file`, the `parse_` and `decode_` functions are native inside a traced
function, and work on bytes and arrays anywhere else.

>>> import penstock as ps
>>> features = {"x": ps.io.FixedLenFeature([], ps.int64)}
>>> records = [ps.io.serialize_example({"x": i}) for i in range(3)]
>>> ds = ps.Dataset.from_list(records)
>>> ds = ds.map(lambda r: ps.io.parse_single_example(r, features)["x"] * 10)
>>> [int(x) for x in ds]
[0, 10, 20]
"""

from penstock.io._features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)
from penstock.io._files import (
    TFRecordWriter,
    class_names,
    matching_files,
    read_file,
    write_file,
    write_tfrecord,
)
from penstock.io._http import set_http_options
from penstock.io._records import (
    decode_csv,
    decode_raw,
    parse_example,
    parse_single_example,
    parse_single_sequence_example,
    parse_tensor,
    serialize_example,
    serialize_tensor,
)

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "TFRecordWriter",
    "VarLenFeature",
    "class_names",
    "decode_csv",
    "decode_raw",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_example",
    "serialize_tensor",
    "set_http_options",
    "write_file",
    "write_tfrecord",
]
