"""How many threads an engine takes on the CPU."""

from __future__ import annotations

import os

from ..inputs.checks import as_count


def default_threads() -> int:
    """Two, or one where this process may use a single core; more do not pay for one window."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return min(2, cores)


def cpu_threads(threads: int | None) -> int:
    """The number that was asked for, or the default one; InputError if it is none."""
    return default_threads() if threads is None else as_count(threads, "threads", 1, 4096)
