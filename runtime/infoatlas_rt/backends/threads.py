"""Number of threads of an engine on the CPU."""

import os

from ..inputs.checks import as_count


def default_threads() -> int:
    """Two, or one if this process may use a single core; more hardly speed up one window."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return min(2, cores)


def cpu_threads(threads: int | None) -> int:
    """The requested number, or the default; InputError if it is not valid."""
    return default_threads() if threads is None else as_count(threads, "threads", 1, 4096)
