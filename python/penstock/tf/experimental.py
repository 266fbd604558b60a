"""`tf.experimental`: values that may be absent.

>>> import penstock.tf as tf
>>> it = iter(tf.data.Dataset.range(1))
>>> isinstance(it.get_next_as_optional(), tf.experimental.Optional)
True
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing
from penstock.tf._iterator import Optional

__all__ = ["Optional"]


def __getattr__(name: str) -> Any:
    return _missing.resolve("experimental", name)
