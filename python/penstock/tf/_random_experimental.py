"""`tf.random.experimental`: the names of before.

>>> import penstock.tf as tf
>>> seed = tf.random.experimental.stateless_fold_in([1, 2], 3)
>>> bool(tf.reduce_all(seed == tf.random.fold_in([1, 2], 3)))
True
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing
from penstock.tf.random import Generator as Generator
from penstock.tf.random import experimental_stateless_shuffle as stateless_shuffle
from penstock.tf.random import fold_in as stateless_fold_in
from penstock.tf.random import get_global_generator as get_global_generator
from penstock.tf.random import set_global_generator as set_global_generator
from penstock.tf.random import split as stateless_split

__all__ = [
    "Generator",
    "get_global_generator",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]


def __getattr__(name: str) -> Any:
    return _missing.resolve("random.experimental", name)
