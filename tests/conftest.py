"""What tests of several folders share."""

import os

# Before torch and NumPy are imported: with two processes on two cores, and on a busy machine at
# all, more threads wait for each other most of the time. Numba would set OpenMP's number again.
for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

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
