"""Settings and fixtures for all tests."""

import os

# Before imports of torch and NumPy. With two processes on two cores, or on a busy machine, more
# threads would mostly wait for each other. Numba would set OpenMP's number again.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
# Environments of the tests lack the C++ engine on purpose; commands do not warn of that.
os.environ.setdefault("INFOATLAS_ENGINE", "0")

import numpy as np
import pytest


@pytest.fixture(scope="session", autouse=True)
def shared_sessions():
    """Tests share the sessions of ONNX Runtime: to load a model takes a third of a second."""
    from infoatlas_rt.backends import onnxruntime as backend

    make, known = backend._session, {}

    def session(onnxruntime, model, provider, profiles):
        if provider != "cpu":
            return make(onnxruntime, model, provider, profiles)
        offered = tuple(onnxruntime.get_available_providers())
        key = onnxruntime.InferenceSession, offered, model
        if key not in known:
            made = make(onnxruntime, model, provider, profiles)
            if len(known) > 8:
                known.clear()
            known[key] = made
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "_session", session)
        yield


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved during a test, in order."""
    from matplotlib.figure import Figure

    saved, savefig = [], Figure.savefig

    def save(figure, *args, **options):
        saved.append(figure)
        savefig(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", save)
    return saved


@pytest.fixture(scope="session")
def estimator():
    """The shipped model "edge" with one thread."""
    from infoatlas_rt import Estimator

    return Estimator(threads=1)


@pytest.fixture(scope="session")
def found():
    """The task file of demonstrations with known phases."""
    from episodes import TASKS
    from infoatlas_rt import Task

    return Task.load(TASKS / "phases.json")


@pytest.fixture
def samples(tmp_path):
    """Two files of 80 dependent samples, x.npy and y.csv."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 2))
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "y.csv", x + rng.standard_normal((80, 2)), delimiter=",")
    return str(tmp_path / "x.npy"), str(tmp_path / "y.csv")
