"""`tf.config` where TensorFlow is not installed: one CPU, and settings that are
kept for those who read them.

>>> import penstock.tf as tf
>>> [d.device_type for d in tf.config.list_physical_devices()]
['CPU']
>>> tf.config.list_physical_devices("GPU")
[]
"""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.tf import _missing


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as operations name it."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The CPU: nothing runs on an accelerator here."""
    if device_type not in (None, "CPU"):
        return []
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The CPU: nothing runs on an accelerator here."""
    if device_type not in (None, "CPU"):
        return []
    return [LogicalDevice("/device:CPU:0", "CPU")]


get_visible_devices = list_physical_devices


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Accepted: there is one device."""


def set_soft_device_placement(enabled: bool) -> None:
    """Accepted: there is one device."""


def get_soft_device_placement() -> bool:
    """True: what is asked of a device that is not there runs on the CPU."""
    return True


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Accepted: functions mean what Python means either way."""
    _kept["eagerly"] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """What `run_functions_eagerly` was told."""
    return bool(_kept["eagerly"])


_kept: dict[str, int] = {"eagerly": False, "intra": 0, "inter": 0}


class threading:
    """Numbers of threads: kept. A pipeline's own are in `tf.data.Options`."""

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        _kept["intra"] = int(num_threads)

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        return _kept["intra"]

    @staticmethod
    def set_inter_op_parallelism_threads(num_threads: int) -> None:
        _kept["inter"] = int(num_threads)

    @staticmethod
    def get_inter_op_parallelism_threads() -> int:
        return _kept["inter"]


class optimizer:
    """Settings of graphs, of which there are none."""

    @staticmethod
    def set_jit(enabled: Any) -> None:
        """Accepted."""

    @staticmethod
    def get_jit() -> str:
        return ""

    @staticmethod
    def set_experimental_options(options: dict[str, Any]) -> None:
        """Accepted."""

    @staticmethod
    def get_experimental_options() -> dict[str, Any]:
        return {}


class experimental:
    """The older names."""

    list_physical_devices = staticmethod(list_physical_devices)
    list_logical_devices = staticmethod(list_logical_devices)
    get_visible_devices = staticmethod(list_physical_devices)
    set_visible_devices = staticmethod(set_visible_devices)

    @staticmethod
    def set_memory_growth(device: Any, enable: bool) -> None:
        """Accepted: host memory grows anyway."""

    @staticmethod
    def get_memory_growth(device: Any) -> bool:
        return True


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def __getattr__(name: str) -> Any:
    return _missing.resolve("config", name)
