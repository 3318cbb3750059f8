"""What tests of several folders share."""

import os

# Before torch and NumPy are imported: with two processes on two cores, and on a busy machine at
# all, more threads wait for each other most of the time. Numba would set OpenMP's number again.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import pytest


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved while a test runs, in order."""
    from matplotlib.figure import Figure

    saved, savefig = [], Figure.savefig

    def save(figure, *args, **options):
        saved.append(figure)
        savefig(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", save)
    return saved
