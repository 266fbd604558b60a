"""Random values inside functions: the same for any executor and worker count.

They are keyed by seed, epoch, stage and element, so a pipeline that is resumed,
or run with other workers, draws what it would have drawn.
"""

from __future__ import annotations

import numpy as np

from penstock import _penstock
from penstock._random_ops import normal, permutation, shuffle, uniform

__all__ = ["generator", "normal", "permutation", "shuffle", "uniform"]


def generator() -> np.random.Generator:
    """A NumPy Generator that belongs to the element being computed.

    Each call inside one function call gives a further, independent stream.
    Outside of a pipeline's function it is seeded by the operating system.

    >>> import penstock as ps
    >>> def noisy(x):
    ...     return x + ps.random.generator().normal()
    >>> ds = ps.Dataset.range(3).map(noisy).with_options(ps.Options(seed=1))
    >>> again = ps.Dataset.range(3).map(noisy).with_options(ps.Options(seed=1))
    >>> ds.to_list() == again.to_list()
    True
    """
    draw = _penstock.next_draw()
    if draw is None:
        return np.random.default_rng()
    key, number = draw
    return np.random.Generator(np.random.Philox(key=[key, number]))
