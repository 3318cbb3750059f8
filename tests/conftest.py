"""Settings and fixtures for all tests."""

import os

# Before imports of torch and NumPy. With two processes on two cores, or on a busy machine, more
# threads would mostly wait for each other. Numba would set OpenMP's number again.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
# Environments of the tests lack the C++ engine on purpose; commands do not warn of that.
os.environ.setdefault("INFOATLAS_ENGINE", "0")

import pytest


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
