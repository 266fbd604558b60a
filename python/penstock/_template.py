"""Functions that return datasets, traced to templates.

    lambda name: ps.Dataset.tfrecord(name).map(parse).take(3)

The copy of the function that is traced sees `Dataset` as `TemplateSources`. A
source whose arguments depend on the element becomes a hole in a real graph,
which the methods called on it go on building. For each element the engine then
computes the arguments and puts the sources in, without the GIL.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _penstock
from penstock._dataset import Dataset
from penstock._options import AUTOTUNE
from penstock._spec import UNKNOWN_SPEC, TensorSpec
from penstock._trace_errors import TraceRefused, refuse
from penstock._trace_value import ConstantBytes, Traced, TracedBytes, current

# Methods whose arguments are constants, and those that take a function.
_PLAIN = frozenset(
    "batch concatenate enumerate ignore_errors padded_batch prefetch ragged_batch "
    "rebatch repeat shard shuffle skip take unbatch window zip".split()
)
_WITH_FUNCTION = frozenset(("map", "filter"))


def _depends(value: Any) -> bool:
    """Whether a value depends on the element."""
    if isinstance(value, Traced):
        return not value.is_constant
    if isinstance(value, TracedBytes):
        return not isinstance(value, ConstantBytes)
    if isinstance(value, dict):
        return any(_depends(v) for v in value.values())
    return isinstance(value, (list, tuple)) and any(_depends(v) for v in value)


def _plain(value: Any) -> Any:
    """Arguments as the real methods take them."""
    if isinstance(value, TemplateDataset):
        return value.dataset
    if isinstance(value, Traced):
        return value._value[()]
    if isinstance(value, ConstantBytes):
        return value.value
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_plain(v) for v in value)
    return value


class TemplateDataset:
    """A dataset that a traced function builds."""

    __penstock_template__ = True

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getattr__(self, name: str) -> Any:
        if name not in _PLAIN and name not in _WITH_FUNCTION:
            refuse(f"calls {name} of a dataset, which no template has")

        def method(*args: Any, **kwargs: Any) -> Any:
            if _depends(args) or _depends(kwargs):
                refuse(f"{name} has an argument that depends on the element")
            if name in _WITH_FUNCTION:
                kwargs["executor"] = "native"
            return _build(getattr(self.dataset, name), args, kwargs)

        return method

    def _no(self, *_: object) -> Any:
        refuse("iterates or indexes a dataset")

    __iter__ = __len__ = __getitem__ = __bool__ = _no


def _build(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return TemplateDataset(
            method(
                *(_plain(a) for a in args), **{k: _plain(v) for k, v in kwargs.items()}
            )
        )
    except TraceRefused:
        raise
    except Exception as error:
        refuse(f"{getattr(method, '__name__', 'it')}: {error}")


class TemplateSources:
    """`Dataset` as a traced function sees it."""

    def __getattr__(self, name: str) -> Any:
        if name in _SOURCES:
            return _SOURCES[name]
        if name == "zip":
            return lambda *args, **kwargs: _build(Dataset.zip, args, kwargs)
        refuse(f"calls Dataset.{name}, which no template has")

    def __call__(self, *_: object, **__: object) -> Any:
        refuse("calls Dataset")


def _hole(kind: str, nest: Any, spec: Any, options: tuple[Any, ...]) -> Any:
    """A source that is filled in for each element."""
    native = _penstock.template_hole(spec)
    current().holes.append((native, kind, options, nest))
    return TemplateDataset(Dataset._make(native, None))


def window(leaf: int, spec: Any) -> Any:
    """A dataset that is a leaf of the element."""
    tracer = current()
    native = _penstock.template_hole(UNKNOWN_SPEC if spec is None else spec)
    tracer.holes.append((native, "element", (leaf,), ()))
    made = getattr(tracer.dialect, "template", lambda: TemplateDataset)()
    return made(Dataset._make(native, None))


def _range(*args: Any, name: str | None = None) -> Any:
    if not _depends(args):
        return _build(Dataset.range, args, {"name": name})
    from penstock._trace_numpy import as_constant, cast

    numbers = []
    for value in args:
        if not isinstance(value, Traced):
            if type(value) is not int:
                refuse("Dataset.range of something else than whole numbers")
            value = as_constant(np.asarray(value))
        if value.ndim or value.dtype.kind not in "iu" or value.dtype == np.uint64:
            refuse("Dataset.range of something else than whole numbers")
        numbers.append(cast(value, np.int64)._id)
    if not 1 <= len(numbers) <= 3:
        refuse("Dataset.range takes one to three numbers")
    return _hole("range", tuple(numbers), TensorSpec((), np.int64), (name or "",))


def _tensors(x: Any, name: str | None = None) -> Any:
    if not _depends(x):
        return _build(Dataset.from_tensors, (x,), {"name": name})
    nest = _nest(x)
    spec = current().program.nest_spec(nest)
    return _hole("from_tensors", nest, spec, (name or "",))


def _slices(x: Any, name: str | None = None) -> Any:
    if not _depends(x):
        return _build(Dataset.from_tensor_slices, (x,), {"name": name})
    nest = _nest(x)
    spec = _without_first(current().program.nest_spec(nest))
    return _hole("from_tensor_slices", nest, spec, (name or "",))


def _nest(x: Any) -> Any:
    from penstock._trace import leaves_of

    splits: list[list[int]] = []
    nest = leaves_of(x, splits)
    if any(splits):
        refuse("a dataset of ragged values")
    return nest


def _without_first(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {k: _without_first(s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        items = [_without_first(s) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    if spec.shape is None or not spec.shape:
        refuse("from_tensor_slices of a value whose dimensions are not known")
    return TensorSpec(spec.shape[1:], spec.dtype)


def _files(kind: str, method: Any, files: Any, given: dict[str, Any]) -> Any:
    """A source of the file that the element names, or of a dataset of names."""
    if _depends(given):
        refuse(f"{kind} has an argument that depends on the element")
    if isinstance(files, TemplateDataset):
        return _build(method, (files,), given)
    if not isinstance(files, TracedBytes) or files.shape != ():
        refuse(f"{kind} of a file whose name is not the element's")
    given = _plain(given)
    if given.get("num_parallel_reads") is None:
        given["num_parallel_reads"] = AUTOTUNE
    given["compression"] = given.get("compression") or ""
    given["name"] = given.get("name") or ""
    # The hole's spec, and wrong arguments, as the real source has them.
    spec = TensorSpec((), "string")
    return _hole(kind, files._id, spec, tuple(given.values()))


def _tfrecord(
    files: Any,
    compression: str | None = None,
    num_parallel_reads: int = AUTOTUNE,
    verify: bool = True,
    max_record_bytes: int = 1 << 30,
    index: bool | None = None,
    name: str | None = None,
) -> Any:
    given = dict(
        compression=compression,
        num_parallel_reads=num_parallel_reads,
        verify=verify,
        max_record_bytes=max_record_bytes,
        index=index,
        name=name,
    )
    return _files("tfrecord", Dataset.tfrecord, files, given)


def _text_lines(
    files: Any,
    compression: str | None = None,
    num_parallel_reads: int = AUTOTUNE,
    skip_lines: int = 0,
    max_record_bytes: int = 1 << 30,
    name: str | None = None,
) -> Any:
    given = dict(
        compression=compression,
        num_parallel_reads=num_parallel_reads,
        skip_lines=skip_lines,
        max_record_bytes=max_record_bytes,
        name=name,
    )
    return _files("text_lines", Dataset.text_lines, files, given)


def _fixed_length_records(
    files: Any,
    record_bytes: int,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    compression: str | None = None,
    num_parallel_reads: int = AUTOTUNE,
    index: bool | None = None,
    name: str | None = None,
) -> Any:
    given = dict(
        record_bytes=record_bytes,
        header_bytes=header_bytes,
        footer_bytes=footer_bytes,
        compression=compression,
        num_parallel_reads=num_parallel_reads,
        index=index,
        name=name,
    )
    return _files("fixed_length_records", Dataset.fixed_length_records, files, given)


def _by_names(kind: str, files: Any, given: dict[str, Any]) -> Any:
    """A source that a dataset of names feeds: the one of the element."""
    if _depends(given):
        refuse(f"{kind} has an argument that depends on the element")
    if not isinstance(files, TemplateDataset):
        if not isinstance(files, TracedBytes) or files.shape != ():
            refuse(f"{kind} of a file whose name is not the element's")
        files = _tensors(files)
    return _build(getattr(Dataset, kind), (files,), given)


def _csv(files: Any, columns: Any = None, **given: Any) -> Any:
    if columns is None:
        refuse("csv without columns: they are in the file's first line")
    return _by_names("csv", files, {"columns": columns, **given})


def _jsonl(files: Any, fields: Any, **given: Any) -> Any:
    return _by_names("jsonl", files, {"fields": fields, **given})


def _tar(files: Any, fields: Any = None, **given: Any) -> Any:
    return _by_names("tar", files, {"fields": fields, **given})


_SOURCES = {
    "range": _range,
    "from_tensors": _tensors,
    "from_tensor_slices": _slices,
    "tfrecord": _tfrecord,
    "text_lines": _text_lines,
    "fixed_length_records": _fixed_length_records,
    "csv": _csv,
    "jsonl": _jsonl,
    "tar": _tar,
}


def template(program: Any, result: Any, holes: list[Any], signature: Any) -> Any:
    """The function of a stage, from what a traced function returned."""
    if not isinstance(result, TemplateDataset):
        raise TraceRefused(f"it gives a {type(result).__name__}, not a dataset")
    if program.random:
        raise TraceRefused("it draws random values")
    prototype = result.dataset
    if signature is not None and prototype.element_spec != signature:
        raise TraceRefused(f"it gives {prototype.element_spec}, not {signature}")
    program.finish(tuple(nest for _, _, _, nest in holes))
    made = program.template(
        prototype._native, [(native, kind, o) for native, kind, o, _ in holes]
    )
    return made, prototype
