"""Functions that build datasets with TensorFlow's names, traced to templates.

    lambda name: tf.data.TFRecordDataset(name).map(parse).take(3)

The traced copy of such a function sees `tf.data.Dataset` and the readers as what
is here: TensorFlow's signatures, on the holes and templates of the engine
(`penstock._template`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _template as engine
from penstock._options import AUTOTUNE
from penstock._trace_errors import refuse
from penstock._trace_value import TracedBytes
from penstock.tf import _dataset, _sources
from penstock.tf._dtypes import int64, numpy_dtype
from penstock.tf._functions import call
from penstock.tf._values import unwrap

_PLAIN = frozenset(
    "batch concatenate enumerate ignore_errors padded_batch prefetch ragged_batch "
    "rebatch repeat shard shuffle skip take unbatch window".split()
)


class Template(engine.TemplateDataset):
    """A dataset that a traced function builds, with the methods of tf.data."""

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        if name not in _PLAIN:
            refuse(f"calls {name} of a dataset, which no template has")

        def method(*args: Any, **kwargs: Any) -> Any:
            if engine._depends(args) or engine._depends(kwargs):
                refuse(f"{name} has an argument that depends on the element")
            of = getattr(_dataset.Dataset._of(self.dataset), name)
            return _build(of, *_real(args), **_real(kwargs))

        return method

    def map(
        self,
        map_func: Any,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        synchronous: Any = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Any:
        calls = AUTOTUNE if num_parallel_calls is None else int(num_parallel_calls)
        fn = call("map", map_func, "element")
        return _native(
            self.dataset.map, fn, calls, deterministic, executor="native", name=name
        )

    def filter(self, predicate: Any, name: str | None = None) -> Any:
        fn = call("filter", predicate, "predicate")
        return _native(self.dataset.filter, fn, executor="native", name=name)


def _real(value: Any) -> Any:
    """Arguments as the methods of tf.data take them."""
    if isinstance(value, engine.TemplateDataset):
        return _dataset.Dataset._of(value.dataset)
    if isinstance(value, dict):
        return {k: _real(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_real(v) for v in value)
    return engine._plain(value)


def _native(method: Any, *args: Any, **kwargs: Any) -> Template:
    return Template(engine._build(method, args, kwargs).dataset)


def _build(method: Any, *args: Any, **kwargs: Any) -> Template:
    try:
        return Template(method(*args, **kwargs)._penstock_value)
    except Exception as error:
        refuse(f"{getattr(method, '__name__', 'it')}: {error}")


class Sources:
    """`tf.data.Dataset` as a traced function sees it."""

    def __getattr__(self, name: str) -> Any:
        refuse(f"calls Dataset.{name}, which no template has")

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: str | None = None) -> Any:
        made = engine._range(*args, name=name).dataset
        if numpy_dtype(output_type) != np.int64:
            made = _sources.as_type(made, output_type)
        return Template(made)

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Any:
        return Template(engine._tensors(unwrap(tensors), name).dataset)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Any:
        return Template(engine._slices(unwrap(tensors), name).dataset)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Any:
        given = {} if datasets is None else {"datasets": _real(datasets)}
        return _build(_dataset.Dataset.zip, *_real(args), **given, name=name)


class Reader:
    """A class of files as a traced function sees it: calling it makes a source."""

    def __init__(self, real: Any, make: Any) -> None:
        self._real = real
        self._make = make

    def __call__(self, filenames: Any, *args: Any, **kwargs: Any) -> Any:
        if engine._depends(args) or engine._depends(kwargs):
            refuse(f"{self._real.__name__} has an argument that depends on the element")
        if isinstance(filenames, list) and len(filenames) == 1:
            filenames = filenames[0]
        if not engine._depends(filenames) and not isinstance(
            filenames, engine.TemplateDataset
        ):
            return _build(self._real, _real(filenames), *_real(args), **_real(kwargs))
        parallel = kwargs.get("num_parallel_reads")
        if parallel is not None and not isinstance(filenames, TracedBytes):
            if int(parallel) > 1:
                refuse("num_parallel_reads of files that depend on the element")
        return Template(self._make(filenames, *_real(args), **_real(kwargs)).dataset)


def _records(source: Any) -> Any:
    """TFRecordDataset or TextLineDataset of files that are traced."""

    def make(
        files: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> Any:
        return source(files, compression_type or None, name=name)

    return make


tfrecords = _records(engine._tfrecord)
lines = _records(engine._text_lines)


def fixed_length(
    files: Any,
    record_bytes: Any,
    header_bytes: Any = None,
    footer_bytes: Any = None,
    buffer_size: Any = None,
    compression_type: Any = None,
    num_parallel_reads: Any = None,
    name: str | None = None,
) -> Any:
    return engine._fixed_length_records(
        files,
        int(record_bytes),
        int(header_bytes or 0),
        int(footer_bytes or 0),
        compression_type or None,
        name=name,
    )
