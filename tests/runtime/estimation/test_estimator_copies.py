"""Estimators and windows in other processes: forked, copied, pickled."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.errors import ModelError
from infoatlas_rt.streams.online import OnlineEstimator
from refusals import fails

N = 100
rng = np.random.default_rng(0)


def sliced():
    return Estimator(k=3, slices=8, threads=2)


def answer(estimator, queue):
    x = np.random.default_rng(1).standard_normal((N, 6))
    queue.put(estimator.estimate(x, x[:, ::-1] + 1).per_slice)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_process_estimates_like_its_parent():
    context = multiprocessing.get_context("fork")
    estimator, queue = sliced(), context.SimpleQueue()
    answer(estimator, queue)  # starts the threads, which the child lacks
    child = context.Process(target=answer, args=(estimator, queue), daemon=True)
    child.start()
    child.join(60)
    hangs = child.is_alive()
    child.kill()
    assert not hangs
    np.testing.assert_array_equal(queue.get(), queue.get())


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_estimators_are_copied_by_model_and_settings(way, tmp_path):
    path = tmp_path / "my.onnx"
    path.write_bytes(Estimator().model_file.bytes)
    x = rng.standard_normal((N, 6))
    for model in ("edge", path):
        one = Estimator(model, k=2, slices=3, sides="x", shifts=9, seed=4, threads=1)
        other = way(one)
        assert other.backend is not one.backend and other.backend.threads == 1
        assert other.model_file == one.model_file
        assert other.estimate(x, x[:, :2]).to_dict(True) == one.estimate(x, x[:, :2]).to_dict(True)


def test_a_pickle_is_small_and_names_its_model(tmp_path):
    path = tmp_path / "my.onnx"
    path.write_bytes(Estimator("edge").model_file.bytes)
    stored = pickle.dumps(Estimator(path))
    assert len(stored) < 1000
    path.write_bytes(Estimator("base").model_file.bytes)
    fails(ModelError, "not the file that this estimator was pickled with", pickle.loads, stored)
    path.unlink()
    fails(ModelError, r"my\.onnx", pickle.loads, stored)


def test_a_stream_goes_on_where_it_was_pickled():
    estimator = Estimator(threads=1)
    states = rng.standard_normal((90, 3))
    online = OnlineEstimator(estimator, window=50, resolution=0.01)
    for state in states[:70]:
        online.push(state)
    again = pickle.loads(pickle.dumps(online))
    for state in states[70:]:
        one, other = online.push(state), again.push(state)
        assert one.estimate.mi == other.estimate.mi
    assert again.counts == online.counts
