"""The benchmark of promises: what it counts as found and as false."""

import numpy as np

from benchmarks.keystates.promises import promises
from benchmarks.tasks.demonstrations import load


def test_promises_of_a_planners_task():
    rows = promises(load("stack", 16), 8)
    assert rows.shape[1] == 4 and len(rows) >= 3  # grasp, release, and a change that all share
    promised, found, promised_false, false = rows.T
    assert (promised >= 0.6).all() and (promised_false <= 0.5).all()  # followed
    assert ((found >= 0) & (found <= 1)).all() and (false >= 0).all()
    assert np.mean(promised - found) <= 0.05 and np.mean(false - promised_false) <= 0.05
