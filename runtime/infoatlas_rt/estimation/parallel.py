"""Runs many estimates, one after the other or on an executor, with the same bits.

Any `concurrent.futures.Executor` can be used: a pool of threads or processes, dask's
`client.get_executor()`, an MPI pool. Workers receive the estimator's settings and the samples, and
each loads the model once. With as many workers as cores, use an estimator with `threads=1`.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from functools import lru_cache
from typing import Any, TypeVar

from ..errors import InputError

AHEAD = 1000  # jobs that wait for their results at once: bounds the memory of their samples

Result = TypeVar("Result")


def run_jobs(
    function: Callable[..., Result],
    estimator: Any,
    jobs: Iterable[tuple[Any, ...]],
    executor: Executor | None = None,
) -> Iterator[Result]:
    """function(estimator, *job) of every job, in the order of the jobs; these may be a generator.

    The function is one of a module, so that it can be pickled. Without an executor, the jobs run in
    this thread. Errors of the function or of the executor pass through, and jobs that have not
    begun are cancelled. InputError if `executor` is none.
    """
    if executor is None:
        for job in jobs:
            yield function(estimator, *job)
        return
    if not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"executor is {executor!r}: pass a concurrent.futures.Executor, such as "
            "ProcessPoolExecutor(), or leave it out"
        )
    settings = pickle.dumps(estimator)
    waiting: deque[Future[Result]] = deque()
    try:
        for job in jobs:
            waiting.append(executor.submit(_run, function, settings, *job))
            if len(waiting) == AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _run(function: Callable[..., Result], settings: bytes, *job: Any) -> Result:
    return function(_load(settings), *job)


@lru_cache(maxsize=2)
def _load(settings: bytes) -> Any:
    """The estimator, loaded once in each worker."""
    return pickle.loads(settings)
