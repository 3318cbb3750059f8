"""A function of one episode over all of them: in this process, or on the workers of an executor."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from infoatlas_rt.errors import InfoAtlasError
from infoatlas_rt.estimation.parallel import run_jobs
from infoatlas_rt.inputs.checks import as_count

PIECE = 16  # episodes that a worker gets at once: sending one by one costs as much as their work
WAITING = 100 * PIECE  # episodes that are sent and wait for results: bounds the memory
FEW = 200  # episodes: below this number, starting workers costs more than the work

Result = TypeVar("Result")


def each(
    function: Callable[..., Result],
    *values: Iterable[Any],
    executor: Executor | None = None,
    piece: int = PIECE,
) -> list[Result]:
    """function(*own) for the values of every episode, in their order; the same bits on any workers.

    The function is one of a module, a `partial` or a method, so that it can be pickled.
    """
    episodes = zip(*values, strict=True)
    if executor is None:
        return [function(*own) for own in episodes]
    found = list[Result]()
    while some := [*islice(episodes, WAITING)]:
        jobs = ((some[k : k + piece],) for k in range(0, len(some), piece))
        for results in run_jobs(_of_piece, function, jobs, executor):
            found += results
    return found


def _of_piece(function: Callable[..., Result], episodes: list[Any]) -> list[Result]:
    return [function(*own) for own in episodes]


@contextmanager
def workers(jobs: int | None, episodes: int) -> Iterator[Executor | None]:
    """An executor of `jobs` processes, by default as many as cores; None if it would not pay.

    InfoAtlasError if one of them is killed.
    """
    count = (os.cpu_count() or 1) if jobs is None else as_count(jobs, "jobs", 1)
    if count == 1 or (jobs is None and episodes < FEW):
        yield None
        return
    # A copy of a process that has threads, as that of pyarrow, may wait for a lock forever.
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            why = "was killed, as the system does when memory is short"
            raise InfoAtlasError(f"one of {count} processes {why}: pass fewer --jobs") from error
