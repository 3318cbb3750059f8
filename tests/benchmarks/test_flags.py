"""Key states beside a simulator's flags."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.keystates import flags

PICKCUBE = Path(__file__).parents[2] / "examples/data/pickcube.npz"


def test_events_are_first_and_last_times():
    held = np.zeros(19, bool)
    held[[2, 3, 4, 5 + 1, 8 + 7]] = True  # in trajectories of 5, 3 and 11 steps
    late, never = np.arange(19) == 17, np.zeros(19, bool)
    found = flags.event_steps({"late": late, "held": held, "never": never}, np.array([5, 3, 11]))
    assert list(found) == ["held", "held ends", "late"]
    np.testing.assert_array_equal(found["held"], [2, 1, 7])
    np.testing.assert_array_equal(found["held ends"], [np.nan, 1, 7])
    np.testing.assert_array_equal(found["late"], [np.nan, np.nan, 9])


def test_a_file_without_flags(tmp_path):
    np.savez(tmp_path / "a.npz", states=np.eye(4))
    with pytest.raises(SystemExit, match="has no flags"):
        flags.main([str(tmp_path / "a.npz")])


def test_the_demonstration(tmp_path, capsys):
    with np.load(PICKCUBE) as file:
        lengths = file["lengths"][:15]
        cut = {name: file[name][: lengths.sum()] for name in ("states", "is_grasped")}
    np.savez(tmp_path / "a.npz", lengths=lengths, **cut)
    flags.main([str(tmp_path / "a.npz"), "--rate", "20", "--count", "3"])
    row = capsys.readouterr().out.splitlines()[-2].split(" | ")
    assert row[:2] == ["| is_grasped", "15"] and float(row[2]) > 0.9


def test_make_demo_needs_no_scipy():
    code = "import sys; sys.modules['scipy'] = None; import benchmarks.keystates.flags"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
