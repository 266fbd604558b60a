"""`tf.data.Options`: what they say is handed to the engine where it has a
meaning there; the rest is kept and given back."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

import numpy as np

from penstock import _options as engine


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What saving does about state outside of the pipeline."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """Accepted; the engine has one of its own."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Group:
    """Settings with fixed names: a misspelt one is an error, and another type."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _kinds: ClassVar[dict[str, Any]] = {}
    _frozen = False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no property {name}")

    def __init__(self) -> None:
        for name, default in self._defaults.items():
            value = default() if isinstance(default, type) else default
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}."
            )
        if self._frozen:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` "
                "has no effect. Use `tf.data.Dataset.with_options(options)` instead."
            )
        kind = self._kinds.get(name) or type(getattr(self, name))
        if value is not None and not _is_a(value, kind):
            raise TypeError(
                f'Property "{name}" must be of type {kind.__name__}, got: {value!r} '
                f"(type: {type(value).__name__})"
            )
        object.__setattr__(self, name, value)

    def _freeze(self) -> None:
        """What `Dataset.options()` gives is not the dataset's own."""
        object.__setattr__(self, "_frozen", True)
        for name in self._defaults:
            value = getattr(self, name)
            if isinstance(value, _Group):
                value._freeze()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self._defaults
        )

    __hash__ = None  # type: ignore[assignment]

    def _merged(self, other: Any) -> Any:
        """Both; what `other` sets wins."""
        out = type(self)()
        for name, default in self._defaults.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, _Group):
                value = mine._merged(theirs)
            else:
                value = mine if theirs == default else theirs
            object.__setattr__(out, name, value)
        return out


def _is_a(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if kind is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return isinstance(value, kind)


class AutotuneOptions(_Group):
    """Budgets of the engine's own tuning.

    >>> import penstock.tf as tf
    >>> options = tf.data.Options()
    >>> options.autotune.cpu_budget = 2
    >>> list(tf.data.Dataset.range(2).with_options(options).as_numpy_iterator())
    [np.int64(0), np.int64(1)]
    """

    _kinds: ClassVar[dict[str, Any]] = {
        "enabled": bool,
        "cpu_budget": int,
        "ram_budget": int,
        "autotune_algorithm": AutotuneAlgorithm,
        "initial_parallelism": int,
        "min_parallelism": int,
    }
    _defaults: ClassVar[dict[str, Any]] = dict.fromkeys(_kinds)


class ThreadingOptions(_Group):
    """``private_threadpool_size`` limits the cores that a pipeline uses."""

    _kinds: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("max_intra_op_parallelism", "private_threadpool_size"), int
    )
    _defaults: ClassVar[dict[str, Any]] = dict.fromkeys(_kinds)


class OptimizationOptions(_Group):
    """Of these only ``inject_prefetch = False`` has a meaning here: nothing is
    made before it is asked for. The engine's rewrites never change results."""

    _kinds: ClassVar[dict[str, Any]] = dict.fromkeys(
        (
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "seq_interleave_prefetch",
            "shuffle_and_repeat_fusion",
        ),
        bool,
    )
    _defaults: ClassVar[dict[str, Any]] = dict.fromkeys(_kinds)


class DistributeOptions(_Group):
    """Kept, for those who read them."""

    _defaults: ClassVar[dict[str, Any]] = {
        "auto_shard_policy": AutoShardPolicy.AUTO,
        "num_devices": None,
    }
    _kinds: ClassVar[dict[str, Any]] = {"num_devices": int}


class ServiceOptions(_Group):
    """Kept, for those who read them."""

    _kinds: ClassVar[dict[str, Any]] = {"pinned": bool}
    _defaults: ClassVar[dict[str, Any]] = {"pinned": None}


def _switch(value: Any) -> Any:
    """On, unless it is False; None was not given."""
    return None if value is None else value is not False


class Options(_Group):
    """How a pipeline runs.

    >>> import penstock.tf as tf
    >>> options = tf.data.Options()
    >>> options.deterministic = False
    >>> ds = tf.data.Dataset.range(3).with_options(options)
    >>> ds.options().deterministic
    False
    """

    _defaults: ClassVar[dict[str, Any]] = {
        "autotune": AutotuneOptions,
        "dataset_name": None,
        "deterministic": None,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": None,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
        "experimental_slack": None,
        "experimental_symbolic_checkpoint": None,
        "experimental_warm_start": None,
        "framework_type": None,
        "threading": ThreadingOptions,
    }
    _kinds: ClassVar[dict[str, Any]] = {
        "dataset_name": str,
        "deterministic": bool,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_warm_start": bool,
        "framework_type": list,
    }
    # What the defaults above make.
    autotune: AutotuneOptions
    deterministic: bool | None
    experimental_distribute: DistributeOptions
    experimental_optimization: OptimizationOptions
    threading: ThreadingOptions

    _OLD: ClassVar[dict[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self._OLD.get(name, name), value)

    def __getattr__(self, name: str) -> Any:
        if name in Options._OLD:
            return getattr(self, Options._OLD[name])
        raise AttributeError(f"Options has no property {name}")

    def merge(self, options: Options) -> Options:
        """Both; what `options` sets wins."""
        merged: Options = self._merged(options)
        return merged

    def _engine(self) -> engine.Options:
        """What of it the engine knows."""
        cpu = self.threading.private_threadpool_size or self.autotune.cpu_budget
        return engine.Options(
            cpu_budget=int(cpu) if cpu else None,
            memory_budget=self.autotune.ram_budget or None,
            deterministic=_switch(self.deterministic),
            autotune=_switch(self.autotune.enabled),
        )
