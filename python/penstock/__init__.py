"""Penstock: input pipelines that keep the consumer busy.

>>> import penstock as ps
>>> ds = ps.Dataset.range(6).map(lambda x: x * x).batch(3)
>>> for batch in ds:
...     print(batch)
[0 1 4]
[ 9 16 25]
"""

from __future__ import annotations

import atexit as _atexit
import pickle as _pickle
from typing import TYPE_CHECKING
from typing import Any as _Any

import numpy as _np

from penstock import (
    _compiled,  # noqa: F401  # the first map() needs it, and so does nearly everyone
    _dataset,
    _dtypes,
    _errors,
    _penstock,
    _top,
    _trace,  # noqa: F401
)
from penstock._dataset import Dataset
from penstock._dtypes import (
    DType,
    as_dtype,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from penstock._dtypes import bool_ as bool
from penstock._errors import (
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    Error,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    WorkerError,
)
from penstock._iterator import Iterator
from penstock._options import (
    AUTOTUNE,
    GLOBAL,
    INFINITE,
    UNKNOWN,
    Options,
    Replace,
    Skip,
)
from penstock._ragged import Ragged
from penstock._spec import UNKNOWN_SPEC, DatasetSpec, RaggedSpec, TensorSpec
from penstock._workers import load_failure as _load_failure

if TYPE_CHECKING:
    from penstock import image, io, random, strings
    from penstock._doctor import doctor
    from penstock._doctor_life import report
    from penstock._op_library import load_op_library
    from penstock._ops import (
        cast,
        clip_by_value,
        concat,
        expand_dims,
        gather,
        matmul,
        one_hot,
        reduce_all,
        reduce_any,
        reduce_max,
        reduce_mean,
        reduce_min,
        reduce_prod,
        reduce_sum,
        reshape,
        split,
        squeeze,
        stack,
        transpose,
        unstack,
        where,
    )
    from penstock._report import Evidence, Finding, Fix, Report, StageRef
    from penstock._timeline import Trace, trace
    from penstock._what_if import WhatIf, what_if

__version__ = "0.1.0"

__all__ = [
    "AUTOTUNE",
    "AlreadyExistsError",
    "CancelledError",
    "DType",
    "DataLossError",
    "Dataset",
    "DatasetSpec",
    "Error",
    "Evidence",
    "FailedPreconditionError",
    "Finding",
    "Fix",
    "GLOBAL",
    "INFINITE",
    "InternalError",
    "InvalidArgumentError",
    "Iterator",
    "NotFoundError",
    "Options",
    "OutOfRangeError",
    "PermissionDeniedError",
    "Ragged",
    "RaggedSpec",
    "Replace",
    "Report",
    "ResourceExhaustedError",
    "Skip",
    "StageRef",
    "TensorSpec",
    "Trace",
    "UNKNOWN",
    "UNKNOWN_SPEC",
    "UnavailableError",
    "UnimplementedError",
    "WhatIf",
    "WorkerError",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "clip_by_value",
    "concat",
    "doctor",
    "expand_dims",
    "float16",
    "float32",
    "float64",
    "gather",
    "image",
    "int16",
    "int32",
    "int64",
    "int8",
    "io",
    "load_op_library",
    "matmul",
    "one_hot",
    "random",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "report",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "string",
    "strings",
    "trace",
    "transpose",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unstack",
    "what_if",
    "where",
]

_penstock.set_types(
    {
        **{
            name: value
            for name, value in vars(_errors).items()
            if isinstance(value, type)
        },
        "Dataset": Dataset,
        "DatasetSpec": DatasetSpec,
        "Ragged": Ragged,
        "RaggedSpec": RaggedSpec,
        "TensorSpec": TensorSpec,
        "UNKNOWN": UNKNOWN_SPEC,
        "bfloat16_dtype": _dtypes.bfloat16_dtype,
        "dumps": _pickle.dumps,
        "from_dlpack": _np.from_dlpack,
        "load_failure": _load_failure,
        "loads": _pickle.loads,
        "wrap_dataset": _dataset.wrap_dataset,
    }
)
# After non-daemon threads have ended and before the interpreter is torn down:
# the engine's threads stop using it.
_atexit.register(_penstock.shutdown)
_top.start()

# What not every program uses is loaded when it is first asked for.
_LATER = {
    **dict.fromkeys(("image", "io", "random", "strings"), ""),
    **dict.fromkeys(
        (
            "cast clip_by_value concat expand_dims gather matmul one_hot reduce_all "
            "reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum "
            "reshape split squeeze stack transpose unstack where"
        ).split(),
        "_ops",
    ),
    "load_op_library": "_op_library",
    "doctor": "_doctor",
    "report": "_doctor_life",
    **dict.fromkeys(("Evidence", "Finding", "Fix", "Report", "StageRef"), "_report"),
    **dict.fromkeys(("Trace", "trace"), "_timeline"),
    **dict.fromkeys(("WhatIf", "what_if"), "_what_if"),
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"penstock.{_LATER[name] or name}")
    value = getattr(module, name) if _LATER[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
