"""Functions that Numba compiled (`@njit`, `@cfunc`): called by pointer.

For elements of a known spec a small C function around the user's is compiled:
it takes the addresses of the element's values, calls the user's function and
writes what it returns into memory of the engine. Nothing of it needs the GIL.
Numba is never imported here unless the program has imported it.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy as np

from penstock import _penstock
from penstock._spec import UNKNOWN_SPEC, TensorSpec


class NotCompiled(Exception):
    """Why a function is not called by pointer."""


def is_compiled(fn: Any) -> bool:
    """Whether `fn` is one of Numba's functions."""
    numba = sys.modules.get("numba")
    if numba is None:
        return False
    return _is_dispatcher(fn) or _is_cfunc(fn)


def _is_dispatcher(fn: Any) -> bool:
    from numba.core.dispatcher import Dispatcher

    return issubclass(type(fn), Dispatcher)


def _is_cfunc(fn: Any) -> bool:
    from numba.core.ccallback import CFunc

    return issubclass(type(fn), CFunc)


def python_form(fn: Any) -> Any:
    """What Python would call in its place."""
    return fn.ctypes if _is_cfunc(fn) else fn


def compile_pointer(fn: Any, spec: Any, kind: str = "element") -> tuple[int, Any, Any]:
    """(address, owner of the code, spec of the result), or NotCompiled.

    A "predicate" gives the truth of the function's number, a "number" int64.
    """
    numba: Any = importlib.import_module("numba")
    types: Any = numba.types
    if spec is None or spec is UNKNOWN_SPEC:
        raise NotCompiled("the elements' spec is not known when the graph is built")
    leaves = list(spec) if type(spec) is tuple else [spec]
    arguments = [_numba_type(leaf) for leaf in leaves]
    try:
        if _is_cfunc(fn):
            wanted = fn._sig.args
            if len(wanted) != len(arguments):
                raise NotCompiled(
                    f"it takes {len(wanted)} arguments, the element has "
                    f"{len(arguments)}"
                )
            compiled = numba.njit(fn._sig)(fn._pyfunc)
            result = fn._sig.return_type
        else:
            options = {k: v for k, v in fn.targetoptions.items() if k != "nopython"}
            compiled = numba.njit(tuple(arguments), **options)(fn.py_func)
            signature = compiled.nopython_signatures[0]
            result = signature.return_type
        results = list(result) if isinstance(result, types.BaseTuple) else [result]
        specs = [_result_spec(r) for r in results]
        if kind != "element":
            specs = [_number_spec(kind, result, specs)]
        wrapper = _wrapper(compiled, leaves, results, specs)
    except numba.core.errors.NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise NotCompiled("Numba: " + ": ".join(lines[:2])) from None
    out = tuple(specs) if isinstance(result, types.BaseTuple) else specs[0]
    return wrapper.address, (wrapper, compiled, fn), out


def _numba_type(spec: Any) -> Any:
    from numba import from_dtype, types

    if not isinstance(spec, TensorSpec):
        raise NotCompiled("its argument is not an array or a tuple of arrays")
    dtype = spec.dtype.dtype
    if spec.dtype.name == "unknown" or spec.shape is None:
        raise NotCompiled("the elements' spec is not known when the graph is built")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise NotCompiled(f"its argument is {spec.dtype.name}")
    scalar = from_dtype(dtype)
    if not spec.shape:
        return scalar
    return types.Array(scalar, len(spec.shape), "C", readonly=True)


def _result_spec(kind: Any) -> TensorSpec:
    from numba import types
    from numba.np.numpy_support import as_dtype

    if isinstance(kind, types.Array):
        return TensorSpec((None,) * kind.ndim, as_dtype(kind.dtype))
    if isinstance(kind, types.Boolean):
        return TensorSpec((), np.bool_)
    if isinstance(kind, (types.Integer, types.Float)):
        return TensorSpec((), as_dtype(kind))
    raise NotCompiled(f"it returns {kind}")


def _number_spec(kind: str, result: Any, specs: list[TensorSpec]) -> TensorSpec:
    """What a predicate or a key becomes: a truth value, or int64."""
    if len(specs) != 1 or specs[0].shape != ():
        raise NotCompiled(f"it returns {result}, not one number")
    if kind == "predicate":
        return TensorSpec((), np.bool_)
    if specs[0].dtype.dtype.kind not in "iu" or specs[0].dtype.dtype == np.uint64:
        raise NotCompiled(f"it returns {result}, not a whole number")
    return TensorSpec((), np.int64)


@functools.lru_cache(maxsize=1)
def _as_pointer() -> Any:
    """An address as a pointer, inside compiled code."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def as_pointer(context: Any, address: Any) -> Any:
        def codegen(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], target.get_value_type(types.voidptr))

        return types.voidptr(address), codegen

    return as_pointer


def _wrapper(
    compiled: Any, leaves: list[Any], results: list[Any], specs: list[Any]
) -> Any:
    """A C function around `compiled`; a result is written as its spec says."""
    import ctypes

    numba: Any = importlib.import_module("numba")
    types: Any = numba.types
    memory = ctypes.CFUNCTYPE(
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
    )(_penstock.result_memory_address())
    scope: dict[str, Any] = {
        "as_pointer": _as_pointer(),
        "carray": numba.carray,
        "compiled": compiled,
        "memory": memory,
        "np": np,
    }
    lines = ["def wrapper(call, values, dims):"]
    at = 0
    for i, leaf in enumerate(leaves):
        scope[f"in{i}"] = leaf.dtype.dtype
        rank = len(leaf.shape)
        shape = ", ".join(f"dims[{at + k}]" for k in range(rank)) or "1"
        at += rank
        end = "" if rank else "[0]"
        lines.append(f"    a{i} = carray(values[{i}], ({shape},), in{i}){end}")
    args = ", ".join(f"a{i}" for i in range(len(leaves)))
    lines += [
        "    try:",
        f"        result = compiled({args})",
        "    except Exception:",
        "        return 1",
    ]
    several = len(results) != 1 or isinstance(
        compiled.nopython_signatures[0].return_type, types.BaseTuple
    )
    for i, kind in enumerate(results):
        value = f"result[{i}]" if several else "result"
        wanted = specs[i].dtype.dtype
        scope[f"out{i}"] = wanted
        if wanted == np.bool_ and not isinstance(kind, types.Boolean):
            value = f"{value} != 0"
        if isinstance(kind, types.Array):
            whole = "" if kind.layout == "C" else "np.ascontiguousarray"
            lines += [
                f"    r{i} = {whole}({value})",
                f"    s{i} = np.empty({max(kind.ndim, 1)}, np.int64)",
                *(f"    s{i}[{k}] = r{i}.shape[{k}]" for k in range(kind.ndim)),
                f"    p{i} = memory(call, {i}, {kind.ndim}, s{i}.ctypes)",
                f"    if p{i} == 0:",
                "        return 2",
                f"    o{i} = carray(as_pointer(p{i}), (r{i}.size,), out{i})",
                f"    f{i} = r{i}.ravel()",
                f"    for k in range(r{i}.size):",
                f"        o{i}[k] = f{i}[k]",
            ]
        else:
            lines += [
                f"    p{i} = memory(call, {i}, 0, call)",
                f"    if p{i} == 0:",
                "        return 2",
                f"    carray(as_pointer(p{i}), (1,), out{i})[0] = {value}",
            ]
    lines.append("    return 0")
    exec("\n".join(lines), scope)
    signature = types.int32(
        types.voidptr, types.CPointer(types.voidptr), types.CPointer(types.int64)
    )
    return numba.cfunc(signature)(scope["wrapper"])
