"""What a function reaches, found in its bytecode before it is ever called.

`inspect_function` looks at every instruction, global and closure cell of a
function and of the helpers it calls. If all of it is arithmetic, NumPy
functions that we have, Penstock operations and constants, it gives a copy of
the function that can reach nothing else: its globals, cells and builtins are
replaced by constants taken by value and by our own forms of the functions. So
tracing that copy cannot have an effect that anybody could observe.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock import _trace_methods, _trace_numpy
from penstock._dtypes import DType
from penstock._look import in_class, intercepts, look
from penstock._trace_errors import TraceRefused, line_of, refuse
from penstock._trace_value import (
    MAX_NODES,
    Traced,
    constant_strings,
    current_or_none,
)

# Instructions that act on something outside of the function.
_REFUSED = {
    "STORE_GLOBAL": "writes the global {}",
    "DELETE_GLOBAL": "writes the global {}",
    "STORE_NAME": "writes the name {}",
    "DELETE_NAME": "writes the name {}",
    "STORE_ATTR": "writes the attribute {}",
    "DELETE_ATTR": "writes the attribute {}",
    "IMPORT_NAME": "imports {}",
    "IMPORT_FROM": "imports {}",
    "IMPORT_STAR": "imports {}",
    "YIELD_VALUE": "is a generator",
    "YIELD_FROM": "is a generator",
    "GET_YIELD_FROM_ITER": "is a generator",
    "GET_AWAITABLE": "is a coroutine",
    "SEND": "is a coroutine",
    "SETUP_WITH": "has a with statement",
    "BEFORE_WITH": "has a with statement",
    "BEFORE_ASYNC_WITH": "has a with statement",
    "SETUP_FINALLY": "has a try statement",
    "PUSH_EXC_INFO": "has a try or with statement",
    "LOAD_BUILD_CLASS": "defines a class",
    "LOAD_LOCALS": "reads its local variables",
}
WHILE_LOOP = "has a while loop"
_SCALARS = frozenset(np.sctypeDict.values())
_MAX_CONTAINER = 100_000
# What a module of a library may hold that a function reads.
_MEMBERS = frozenset((bool, int, float, str, bytes, types.ModuleType))


def _is_known(module: types.ModuleType) -> bool:
    name = str(look(module, "__name__", ""))
    return module in (np, math) or name.partition(".")[0] == "penstock"


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module is Python's or a library's, not the user's own."""
    held = vars(module)
    name, file = str(held.get("__name__", "")), held.get("__file__")
    if name.partition(".")[0] in sys.stdlib_module_names or type(file) is not str:
        return name != "__main__"
    return "site-packages" in file or "dist-packages" in file


class TypeFunction:
    """A NumPy or Python number type: a dtype, and a conversion when called."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.dtype = np.dtype(kind)

    def __call__(self, value: Any = 0) -> Any:
        if self._kind in (int, float, bool):
            return self._kind(value)  # a traced value refuses by itself
        if isinstance(value, Traced) and not value.is_constant:
            out = _trace_numpy.cast(value, self.dtype)
            # Of an array without dimensions NumPy's types make a scalar.
            return _trace_numpy.fresh(out) if out._zero_d else out
        plain = value._value[()] if isinstance(value, Traced) else value
        return _trace_numpy.as_constant(self._kind(plain))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeFunction):
            return bool(self.dtype == other.dtype)
        return bool(self.dtype == other)

    def __hash__(self) -> int:
        return hash(self._kind)  # a type and its dtype are two keys of a dict


_type_functions: dict[Any, TypeFunction] = {}


def type_function(kind: Any) -> TypeFunction:
    """Our form of a number type, one object, as the type is."""
    if kind not in _type_functions:
        _type_functions[kind] = TypeFunction(kind)
    return _type_functions[kind]


class Namespace:
    """A module of which only what can be traced is visible."""

    def __init__(self, module: types.ModuleType, sandbox: Sandbox) -> None:
        self._module = module
        self._sandbox = sandbox

    def __getattr__(self, name: str) -> Any:
        dotted = f"{self._module.__name__}.{name}"
        try:
            value = self._sandbox.member(self._module, name, dotted)
            return self._sandbox.resolve(value, dotted)
        except TraceRefused as refused:
            refuse(refused.reason)


class FrozenObject:
    """An object of a class of the user's, whose attributes are constants."""

    def __init__(self, value: Any, name: str, sandbox: Sandbox) -> None:
        self._penstock_object = value
        self._penstock_name = name
        self._penstock_sandbox = sandbox

    def __getattr__(self, name: str) -> Any:
        dotted = f"{self._penstock_name}.{name}"
        sandbox = self._penstock_sandbox
        value = self._penstock_object
        try:
            held = in_class(type(value), name)
            if isinstance(held, property):
                if type(held.fget) is not types.FunctionType:
                    raise TraceRefused(f"uses {dotted}")
                return sandbox.resolve(held.fget, dotted)(self)
            own = vars(value)
            if name in own:
                return sandbox.resolve(own[name], dotted)
            if type(held) is types.FunctionType:
                return functools.partial(sandbox.resolve(held, dotted), self)
            if type(held) is staticmethod:
                return sandbox.resolve(held.__func__, dotted)
            if held is None or in_class(type(held), "__get__") is not None:
                raise TraceRefused(f"uses {dotted}")
            return sandbox.resolve(held, dotted)
        except TraceRefused as refused:
            refuse(refused.reason)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("__call__")(*args, **kwargs)

    def _no(self, *_: object, **__: object) -> Any:
        refuse(f"uses {self._penstock_name} as something else than an object")

    __bool__ = __eq__ = __ne__ = __hash__ = __iter__ = _no
    __contains__ = __getitem__ = __str__ = __repr__ = __format__ = _no


def is_plain_object(value: Any) -> bool:
    """Whether reading attributes of an object runs no code but properties."""
    kind = type(value)
    if in_class(kind, "__getattr__") is not None or isinstance(value, type):
        return False
    if isinstance(value, (tuple, list, dict, set, frozenset, str, bytes, int, float)):
        return False
    return type(getattr(value, "__dict__", None)) is dict


class FrozenList(list):  # type: ignore[type-arg]
    """A captured list, by value."""

    def _no(self, *_: Any, **__: Any) -> Any:
        refuse("writes into a list that it did not make")

    append = extend = insert = pop = remove = clear = sort = reverse = _no
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _no

    def __iter__(self) -> Iterator[Any]:
        return counted(list.__iter__(self))


class FrozenDict(dict):  # type: ignore[type-arg]
    """A captured dict, by value."""

    def _no(self, *_: Any, **__: Any) -> Any:
        refuse("writes into a dict that it did not make")

    update = pop = popitem = clear = setdefault = __setitem__ = __delitem__ = _no
    __ior__ = _no


def counted(iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        tracer = current_or_none()
        if tracer is not None:
            tracer.step()
        yield item


class Range:
    """range(), of no more steps than a program has operations."""

    def __init__(self, *args: Any) -> None:
        self._range = range(*args)
        if len(self._range) > MAX_NODES:
            refuse(f"a loop of {len(self._range)} steps, more than {MAX_NODES}")

    def __iter__(self) -> Iterator[int]:
        return counted(iter(self._range))

    def __reversed__(self) -> Iterator[int]:
        return counted(reversed(self._range))

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, key: Any) -> Any:
        got = self._range[key]
        return list(got) if isinstance(got, range) else got

    def __contains__(self, item: object) -> bool:
        return item in self._range


def _plain_only(function: Any, name: str) -> Any:
    """A pure function of Python numbers; traced values refuse in it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = name
    return call


class Kind:
    """A class of which a traced function may ask whether a value is one."""

    def __init__(
        self, name: str, holds: Callable[[Any], bool], make: Any = None
    ) -> None:
        self.holds = holds
        self._name = name
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._make is None:
            refuse(f"calls {self._name}")
        return self._make(*args, **kwargs)


def _isinstance(value: Any, kinds: Any) -> bool:
    """`isinstance` where a trace knows what Python would say."""
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(kind, Kind):
            if kind.holds(value):
                return True
        elif kind not in (dict, tuple, list):
            refuse("calls isinstance")
        elif isinstance(value, kind):
            return True
    return False


_BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in (
        "abs enumerate zip reversed tuple list dict min max sum any all len "
        "slice divmod sorted map filter set frozenset AssertionError ValueError "
        "TypeError IndexError KeyError RuntimeError NotImplementedError Exception"
    ).split()
}
_BUILTINS.update(
    range=Range,
    int=type_function(int),
    float=type_function(float),
    bool=type_function(bool),
    pow=lambda a, b: a**b,
    isinstance=_isinstance,
)
_BUILTIN_IDS = {id(getattr(builtins, n)): v for n, v in _BUILTINS.items()}

_MATH = {
    id(getattr(math, name))
    for name in dir(math)
    if not name.startswith("_") and callable(getattr(math, name))
}


def _numpy_table() -> dict[int, Any]:
    """Our forms of NumPy's functions, by identity."""
    table: dict[int, Any] = {}

    def ufunc_form(name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            dtype = kwargs.pop("dtype", None)
            if kwargs or dtype is not None or len(args) != getattr(np, name).nin:
                refuse(f"np.{name} with out, where or dtype")
            return _trace_numpy.ufunc(name, *args)

        return call

    for name in [*_trace_numpy.UFUNCS, "positive"]:
        table[id(getattr(np, name))] = ufunc_form(name)
    for name in (
        "reshape ravel transpose swapaxes moveaxis expand_dims squeeze broadcast_to "
        "flip fliplr flipud concatenate stack split array asarray sum prod mean max "
        "min any all argmax argmin where clip round take repeat matmul zeros_like "
        "ones_like full_like shape ndim size astype"
    ).split():
        if hasattr(np, name):
            table[id(getattr(np, name))] = getattr(_trace_methods, name)

    def vstack(arrays: Any) -> Any:
        parts = [_trace_numpy.strong(a) for a in arrays]
        if any(p.ndim < 2 for p in parts):
            refuse("vstack of less than two dimensions")
        return _trace_methods.concatenate(parts, 0)

    def hstack(arrays: Any) -> Any:
        parts = [_trace_numpy.strong(a) for a in arrays]
        if any(p.ndim == 0 for p in parts):
            refuse("hstack of scalars")
        return _trace_methods.concatenate(parts, 0 if parts[0].ndim == 1 else 1)

    table[id(np.copy)] = _trace_methods.copied
    table[id(np.vstack)] = vstack
    table[id(np.hstack)] = hstack
    table[id(np.divmod)] = lambda a, b: (
        _trace_numpy.ufunc("floor_divide", a, b),
        _trace_numpy.ufunc("remainder", a, b),
    )

    def constants_only(function: Any, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                if isinstance(value, Traced) and not value.is_constant:
                    refuse(f"np.{name} of values that depend on data")
            plain = [a._value[()] if isinstance(a, Traced) else a for a in args]
            named = {
                k: v._value[()] if isinstance(v, Traced) else getattr(v, "dtype", v)
                for k, v in kwargs.items()
            }
            plain = [
                getattr(v, "dtype", v) if isinstance(v, TypeFunction) else v
                for v in plain
            ]
            return _trace_numpy.as_constant(function(*plain, **named))

        return call

    for name in "arange zeros ones full linspace eye identity".split():
        table[id(getattr(np, name))] = constants_only(getattr(np, name), name)
    return table


_NUMPY = _numpy_table()


def traced_form(function: Any) -> Any:
    """Our form of a NumPy function."""
    return _NUMPY[id(function)]


_KEEP_ALIVE = list(vars(np).values())


class Sandbox:
    """Makes what a function may see out of what it would see."""

    def __init__(self, dialect: Any = None) -> None:
        # TensorFlow's functions are traced there once, with what they read as it
        # is then: text is bytes, and objects are read as containers are.
        self._text = getattr(dialect, "strings", None) is not None
        self.reads_objects = self._text
        self.codes: set[types.CodeType] = set()
        self._functions: dict[int, Any] = {}
        # What one object becomes is one object, too: `a is b` asks for that.
        self._constants: dict[int, Any] = {}
        self._inside: list[Any] = []
        self._keep: list[Any] = []
        self._count = 0

    def resolve(self, value: Any, name: str) -> Any:
        if id(value) in self._constants:
            return self._constants[id(value)]
        made = self._resolve(value, name)
        if isinstance(made, (Traced, list, dict, tuple, frozenset)):
            self._constants[id(value)] = made
            self._keep.append(value)
        return made

    def _resolve(self, value: Any, name: str) -> Any:
        if value is None or value is Ellipsis or value is NotImplemented:
            return value
        kind = type(value)
        if kind in (bool, int, float, str, bytes, slice):
            return value
        if intercepts(kind):
            raise TraceRefused(f"uses {name}, a {kind.__name__}")
        if isinstance(value, (np.generic, np.ndarray)):
            if self._text and isinstance(value, (str, bytes)):
                return value.item()
            if value.dtype.kind in "SUO":
                return self._strings(value, name)
            return _trace_numpy.as_constant(value)
        if isinstance(value, (np.dtype, DType)):
            return value
        ours = _may_be_ours(value)
        if ours and look(value, "__penstock_traceable__") is True:
            return value
        if id(value) in _NUMPY:
            return _NUMPY[id(value)]
        if id(value) in _BUILTIN_IDS:
            return _BUILTIN_IDS[id(value)]
        if id(value) in _MATH:
            return _plain_only(value, name)
        form = look(value, "__penstock_form__") if ours else None
        if form is not None:
            return form()
        dataset = in_class(kind, "__penstock_dataset__")
        if dataset is not None:
            return dataset(value)
        if isinstance(value, type):
            return self._type(value, name)
        if isinstance(value, types.ModuleType):
            return Namespace(value, self)
        if isinstance(value, types.FunctionType):
            return self.function(value, name)
        if isinstance(value, functools.partial):
            return functools.partial(
                self.resolve(value.func, name),
                *(self.resolve(a, name) for a in value.args),
                **{k: self.resolve(v, name) for k, v in value.keywords.items()},
            )
        if kind in (tuple, list, dict, set, frozenset) or (
            isinstance(value, tuple) and look(kind, "_fields") is not None
        ):
            return self._container(value, name)
        if self.reads_objects and type(value) is types.MethodType:
            if type(value.__func__) is types.FunctionType:
                owner = self.resolve(value.__self__, f"the object of {name}")
                return functools.partial(self.resolve(value.__func__, name), owner)
        if self.reads_objects and is_plain_object(value):
            return FrozenObject(value, name, self)
        if callable(value):
            raise TraceRefused(f"calls {name}")
        raise TraceRefused(f"uses {name}, a {kind.__name__}")

    def member(self, module: types.ModuleType, attribute: str, dotted: str) -> Any:
        """What a module holds under a name; of installed ones constants alone."""
        if _is_known(module):
            if not hasattr(module, attribute):
                raise TraceRefused(f"{dotted} does not exist")
            return getattr(module, attribute)
        if attribute not in vars(module):  # nor is it made: that may run code
            raise TraceRefused(f"{dotted} does not exist")
        value = vars(module)[attribute]
        if value is OrderedDict:
            return value
        if _is_installed(module) and type(value) not in _MEMBERS:
            raise TraceRefused(f"{'calls' if callable(value) else 'uses'} {dotted}")
        return value

    def _strings(self, value: Any, name: str) -> Any:
        self._count += value.size
        if self._count > _MAX_CONTAINER:
            raise TraceRefused(f"reads {name}, which is too large for a constant")
        made = constant_strings(value, self._text)
        if made is None:
            raise TraceRefused(f"uses {name}, an array of {value.dtype}")
        return made

    def _type(self, value: type, name: str) -> Any:
        if issubclass(value, np.generic):
            if value not in _SCALARS:  # np.integer and other classes of several
                raise TraceRefused(f"uses {name}")
            dtype = np.dtype(value)
            if dtype.kind not in "biuf" or dtype.itemsize > 8:
                raise TraceRefused(f"uses {name}")
            return type_function(value)
        if issubclass(value, tuple) and look(value, "_fields") is not None:
            return value
        if "__penstock_sources__" in value.__dict__:
            return value.__penstock_sources__()  # type: ignore[attr-defined]
        if value is OrderedDict:
            return value
        if "__penstock_kind__" in value.__dict__:
            return Kind(name, value.__penstock_kind__)  # type: ignore[attr-defined]
        raise TraceRefused(f"calls {name}")

    def _container(self, value: Any, name: str) -> Any:
        self._count += len(value)
        if self._count > _MAX_CONTAINER:
            raise TraceRefused(f"reads {name}, which is too large for a constant")
        if any(value is outer for outer in self._inside):
            raise TraceRefused(f"reads {name}, which holds itself")
        self._inside.append(value)
        try:
            return self._copied(value, name)
        finally:
            self._inside.pop()

    def _copied(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return FrozenDict(
                (self._key(k, name), self.resolve(v, name)) for k, v in value.items()
            )
        if isinstance(value, (set, frozenset)):
            return frozenset(self._key(k, name) for k in value)
        items = [self.resolve(v, name) for v in value]
        if isinstance(value, list):
            return FrozenList(items)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)

    def _key(self, key: Any, name: str) -> Any:
        if isinstance(key, (bool, int, float, str, bytes)) or key is None:
            return key
        if isinstance(key, tuple):
            return tuple(self._key(k, name) for k in key)
        raise TraceRefused(f"reads {name}, with keys of {type(key).__name__}")

    def function(self, fn: types.FunctionType, name: str) -> Any:
        if id(fn) in self._functions:
            return self._functions[id(fn)]
        if any(fn is outer for outer in self._inside):
            raise TraceRefused(f"{name} calls itself")
        self._inside.append(fn)
        try:
            safe = self._copy(fn)
        finally:
            self._inside.pop()
        self._functions[id(fn)] = safe
        self._keep.append(fn)
        return safe

    def _copy(self, fn: types.FunctionType) -> Any:
        code = fn.__code__
        names: dict[str, Any] = {}
        self._check_code(code, fn, names, frozenset(code.co_freevars))
        cells = []
        for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
            try:
                contents = cell.cell_contents
            except ValueError:
                raise TraceRefused(f"reads {name} before it is set") from None
            try:
                cells.append(types.CellType(self.resolve(contents, name)))
            except TraceRefused as refused:
                self._locate(refused, code, name)
                raise
        scope = {
            "__builtins__": dict(_BUILTINS),
            "__name__": "penstock.traced",
            **names,
        }
        safe = types.FunctionType(code, scope, fn.__name__, None, tuple(cells))
        if fn.__defaults__:
            safe.__defaults__ = tuple(
                self.resolve(d, "a default argument") for d in fn.__defaults__
            )
        if fn.__kwdefaults__:
            safe.__kwdefaults__ = {
                k: self.resolve(d, k) for k, d in fn.__kwdefaults__.items()
            }
        return safe

    def _locate(self, refused: TraceRefused, code: types.CodeType, name: str) -> None:
        if refused.where:
            return
        line = None
        for instruction in dis.get_instructions(code):
            line = _line(instruction) or line
            if instruction.argval == name:
                break
        refused.where = line_of(code, line)

    def _check_code(
        self,
        code: types.CodeType,
        fn: types.FunctionType,
        names: dict[str, Any],
        outer: frozenset[str],
    ) -> None:
        """Refuses what `code` does, or collects the globals that it reads."""
        self.codes.add(code)
        flags = code.co_flags
        if flags & 0x20 or flags & 0x80 or flags & 0x200:
            if code.co_name != "<genexpr>":
                raise TraceRefused("is a generator or coroutine", line_of(code, None))
        instructions = [
            i
            for i in dis.get_instructions(code)
            if i.opname not in ("CACHE", "EXTENDED_ARG")
        ]
        targets = {i.offset: i for i in instructions}
        line = code.co_firstlineno
        for at, instruction in enumerate(instructions):
            line = _line(instruction) or line
            op = instruction.opname
            try:
                self._check_instruction(
                    code, fn, instructions, at, targets, names, outer
                )
            except TraceRefused as refused:
                refused.where = refused.where or line_of(code, line)
                raise
            if op in ("LOAD_CONST", "KW_NAMES") and isinstance(
                instruction.argval, types.CodeType
            ):
                self._check_code(instruction.argval, fn, names, outer)

    def _check_instruction(
        self,
        code: types.CodeType,
        fn: types.FunctionType,
        instructions: list[dis.Instruction],
        at: int,
        targets: dict[int, dis.Instruction],
        names: dict[str, Any],
        outer: frozenset[str],
    ) -> None:
        instruction = instructions[at]
        op, value = instruction.opname, instruction.argval
        generator = code.co_name == "<genexpr>"
        if self.reads_objects and _is_with(instructions, at):
            return  # only what is ours can be entered
        if op in _REFUSED and not (generator and op.startswith(("YIELD", "GEN"))):
            raise TraceRefused(_REFUSED[op].format(value))
        if op in ("STORE_DEREF", "DELETE_DEREF") and value in outer:
            raise TraceRefused(f"writes the outer variable {value}")
        if "JUMP" in op and isinstance(value, int) and value <= instruction.offset:
            target = targets.get(value)
            if target is None or target.opname not in ("FOR_ITER", "END_FOR"):
                raise TraceRefused(WHILE_LOOP)
        if op == "IS_OP" and "type" in code.co_names:
            # x.dtype.type is NumPy's own type, and np.float32 our form of it.
            raise TraceRefused("may compare types by identity")
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            self._check_global(fn, instructions, at, names)

    def _check_global(
        self,
        fn: types.FunctionType,
        instructions: list[dis.Instruction],
        at: int,
        names: dict[str, Any],
    ) -> None:
        name = instructions[at].argval
        if name in fn.__globals__:
            value = fn.__globals__[name]
        elif hasattr(builtins, name):
            if name not in _BUILTINS:
                raise TraceRefused(f"calls {name}")
            return
        else:
            raise TraceRefused(f"reads {name}, which is not defined")
        dotted = name
        # np.random.rand: each step must be something we know.
        while isinstance(value, types.ModuleType):
            self.resolve(value, dotted)
            at += 1
            step = instructions[at]
            if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                raise TraceRefused(f"uses the module {dotted} as a value")
            dotted = f"{dotted}.{step.argval}"
            value = self.member(value, step.argval, dotted)
        resolved = self.resolve(value, dotted)
        if name not in names:
            names[name] = (
                resolved if dotted == name else self.resolve(fn.__globals__[name], name)
            )


def _is_with(instructions: list[dis.Instruction], at: int) -> bool:
    """Whether an instruction is part of a with statement."""
    op = instructions[at].opname
    if op in ("BEFORE_WITH", "SETUP_WITH"):
        return True
    if op == "PUSH_EXC_INFO":
        return instructions[at + 1].opname == "WITH_EXCEPT_START"
    # Where __exit__ takes the exception; try statements are refused before.
    before = [i.opname for i in instructions[max(at - 3, 0) : at]]
    return "JUMP" in op and before == ["POP_EXCEPT", "POP_TOP", "POP_TOP"]


def _may_be_ours(value: Any) -> bool:
    """Not a function around one of ours: functools.wraps copies its marks."""
    if type(value) is not types.FunctionType:
        return True
    module = str(value.__globals__.get("__name__", ""))
    return module.partition(".")[0] == "penstock"


def _line(instruction: dis.Instruction) -> int | None:
    number = getattr(instruction, "line_number", None)
    if number is not None:
        return int(number)
    start = instruction.starts_line
    return start if isinstance(start, int) and not isinstance(start, bool) else None


def inspect_function(fn: Any) -> tuple[Any, set[types.CodeType]]:
    """A copy of `fn` that can only be traced, or TraceRefused."""
    sandbox = Sandbox(look(fn, "__penstock_dialect__"))
    fn = look(fn, "__penstock_function__", fn)
    name = str(look(fn, "__qualname__", type(fn).__name__))
    try:
        if type(fn) is types.MethodType and not sandbox.reads_objects:
            raise TraceRefused(f"{name} is a method: it may change its object")
        return sandbox.resolve(fn, name), sandbox.codes
    except TraceRefused as refused:
        code = look(fn, "__code__") or look(in_class(type(fn), "__call__"), "__code__")
        if not refused.where and isinstance(code, types.CodeType):
            refused.where = line_of(code, None)
        raise
    except RecursionError:
        raise TraceRefused("what it reads is nested too deeply") from None
