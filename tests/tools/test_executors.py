"""Estimates spread over executors equal sequential ones, bit for bit."""

import multiprocessing
import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from infoatlas_rt import Estimator, InfoAtlasError, InputError
from infoatlas_tools import Trajectories, discover_keystates, independence_test, mi_curve
from infoatlas_tools.annotations.clock_offsets import clock_offsets
from infoatlas_tools.each_episode import workers
from infoatlas_tools.files.load import load_trajectories
from regimes import demonstrations


class Counting(Executor):
    """Passes jobs on, and counts them."""

    def __init__(self, inner):
        self.inner, self.jobs = inner, 0

    def submit(self, function, /, *arguments, **options):
        self.jobs += 1
        return self.inner.submit(function, *arguments, **options)


@pytest.fixture(scope="module", params=["threads", "processes", "dask"])
def executor(request):
    if request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield Counting(pool)
    elif request.param == "processes":
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            yield Counting(pool)
    else:
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client:
            yield Counting(client.get_executor())


def test_curves_have_the_same_bits(executor):
    """One test for all loops, because a worker with a loaded model is kept."""
    estimator = Estimator(k=2, slices=2, threads=1)
    states, _ = demonstrations(count=40)
    trajectories = Trajectories(states)
    done = []
    before = executor.jobs
    curve = mi_curve(
        trajectories, estimator, points=3, executor=executor, progress=lambda *c: done.append(c)
    )
    assert executor.jobs == before + 3 and done == [(1, 3), (2, 3), (3, 3)]
    expected = mi_curve(trajectories, estimator, points=3)
    for name in ("mi", "stderr", "noise", "per_slice", "influence", "samples", "position"):
        np.testing.assert_array_equal(getattr(curve, name), getattr(expected, name))


def test_pairings_have_the_same_bits(executor):
    estimator = Estimator(k=2, slices=2, threads=1)
    x, y = np.random.default_rng(0).integers(0, 9, (2, 300, 3))  # repeated values: bounds apply
    for time_series in (False, True):
        options = {"permutations": 40, "time_series": time_series}
        before = executor.jobs
        found = independence_test(x, y, estimator, **options, executor=executor)
        assert executor.jobs > before
        expected = independence_test(x, y, estimator, **options)
        np.testing.assert_array_equal(found.null, expected.null)
        assert (found.mi, found.p_value) == (expected.mi, expected.p_value)


def test_key_states_and_clocks_have_the_same_bits(executor):
    data = load_trajectories("examples/data/pickcube.npz")
    data = Trajectories(data.split()[:20], names=data.names, rate=20.0)
    actions = [np.roll(own[:, :9], -2, axis=0) for own in data.split()]
    before = executor.jobs
    found = discover_keystates(data, executor=executor)
    clocks = clock_offsets(data, actions=actions, executor=executor)
    assert executor.jobs >= before + 8  # two pieces of each function
    expected = discover_keystates(data)
    assert found.to_dict() == expected.to_dict()
    assert clocks.to_dict() == clock_offsets(data, actions=actions).to_dict()


def test_processes_for_many_episodes_only():
    with workers(None, 10) as none, workers(1, 10**6) as one, workers(2, 10) as two:
        assert none is one is None and isinstance(two, ProcessPoolExecutor)
    with pytest.raises(InfoAtlasError, match=r"2 processes was killed, .*: pass fewer --jobs"):
        with workers(2, 10) as two:
            two.submit(os._exit, 1).result()


def test_something_else_is_no_executor():
    states, _ = demonstrations(count=40)
    with pytest.raises(InputError, match=r"executor is 4: pass a concurrent\.futures\.Executor"):
        mi_curve(states, Estimator(threads=1), points=2, executor=4)
