"""Jobs of an executor: in order, few at once, and cancelled after a failure."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest

from infoatlas_rt.estimation import parallel


class Manual(Executor):
    """Does nothing: the test resolves its futures."""

    def __init__(self):
        self.futures = []

    def submit(self, function, /, *arguments, **options):
        self.futures.append(Future())
        return self.futures[-1]


def test_a_worker_loads_the_model_once():
    before = parallel._load.cache_info()
    with ThreadPoolExecutor(1) as pool:
        assert list(parallel.run_jobs(divmod, 7001, [(2,), (3,), (4,)], pool)) == [
            (3500, 1),
            (2333, 2),
            (1750, 1),
        ]
    after = parallel._load.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)


def test_a_failure_cancels_what_has_not_begun():
    manual = Manual()
    results = parallel.run_jobs(divmod, 1, [(0,), (1,), (2,)], manual)
    with pytest.raises(StopIteration):
        next(iter(parallel.run_jobs(divmod, 1, [], manual)))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, results)
        while len(manual.futures) < 3:
            pass
        manual.futures[0].set_exception(ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            waiting.result()
    assert all(future.cancelled() for future in manual.futures[1:])


def test_samples_of_few_jobs_are_made_at_once(monkeypatch):
    monkeypatch.setattr(parallel, "AHEAD", 3)
    made = []

    def jobs():
        for i in range(10):
            made.append(i)
            yield (i + 1,)

    with ThreadPoolExecutor(1) as pool:
        results = parallel.run_jobs(divmod, 60, jobs(), pool)
        assert next(results) == (60, 0) and len(made) == 3 and len(list(results)) == 9
