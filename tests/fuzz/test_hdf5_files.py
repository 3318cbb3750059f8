"""A short run of the fuzzer of HDF5 files, and its judge."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hdf5_files
from calls import Wrong


def test_files_are_read_right_or_refused(tmp_path):
    outcomes = set()
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcomes.add(hdf5_files.read(np.random.default_rng([1, number]), folder))
    assert outcomes == {"ok", "refused"}


def test_wrong_numbers_are_seen(tmp_path, monkeypatch):
    real = hdf5_files.load_trajectories

    def wrong(path, **options):
        found = real(path, **options)
        found.states[-1, -1] += 1
        return found

    monkeypatch.setattr(hdf5_files, "load_trajectories", wrong)
    monkeypatch.setattr(hdf5_files, "FAULTS", [lambda rng, case: None])
    with pytest.raises(Wrong, match="differs"):
        hdf5_files.read(np.random.default_rng(3), tmp_path)
