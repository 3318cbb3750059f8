"""The order in which pairs enter the graph, and the cyclic shifts, both seeded."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..models.model_file import LEAST_SHIFTS


def shuffle(
    n: int, shifts: int, seed: int, groups: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], ...]:
    """Draw the order in which pairs enter the graph, and the cyclic shifts.

    Neighbours in time are similar. After a shuffle, a cyclic shift pairs any two samples. With
    `groups` (0..G-1), shifts pair samples of different groups only; there may be fewer than
    `shifts`, and InputError is raised if the largest group leaves fewer than `LEAST_SHIFTS`.

    Returns
    -------
    order, place : [n] int64
        Position i contains sample order[i], and sample j is at position place[j].
    offsets : [M] int64
        Shifts.
    """
    if groups is None:
        return _shuffle(n, shifts, seed)
    return _shuffle_groups(groups, shifts, seed)


@lru_cache(maxsize=8)
def _shuffle(n: int, shifts: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """`shuffle` without groups."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    order = rng.permutation(n)
    offsets = rng.choice(n - 1, shifts, replace=False) + 1
    place = np.argsort(order)
    order.flags.writeable = place.flags.writeable = offsets.flags.writeable = False
    return order, place, offsets


def largest_group(n: int) -> int:
    """Largest size of a group among n samples for which there are `LEAST_SHIFTS` shifts."""
    return (n + 1 - LEAST_SHIFTS) // 2


def _shuffle_groups(
    groups: NDArray[np.int64], shifts: int, seed: int
) -> tuple[NDArray[np.int64], ...]:
    """`shuffle` with groups.

    The groups follow each other in random order. A cyclic shift by at least the size of the largest
    group, forwards and backwards, pairs samples of different groups only.
    """
    n, largest = len(groups), int(np.bincount(groups).max())
    allowed = n - 2 * largest + 1
    if largest > largest_group(n):
        raise InputError(
            f"the largest group has {largest} of {n} samples, and samples of different groups can "
            f"be paired up to {largest_group(n)}: leave some of its samples out, or collect more "
            "groups. If the samples are independent, leave out groups"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    order = rng.permutation(n)
    rank = rng.permutation(groups.max() + 1)
    order = order[np.argsort(rank[groups[order]], kind="stable")]
    offsets = rng.choice(allowed, min(shifts, allowed), replace=False) + largest
    return order, np.argsort(order), offsets
