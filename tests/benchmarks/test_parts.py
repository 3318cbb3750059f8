"""Parts of benchmarks: intervals, a camera, tables of devices, flags, times of a push."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import devices, follower, intervals
from benchmarks.keystates import flags
from benchmarks.measure import OURS, Row
from benchmarks.tasks import scenes
from infoatlas_rt.cli.main import main


def row(family, estimates, stderrs, estimator=OURS, n=100):
    return Row({"family": family}, n, 1.0, estimator, estimates, 0.1, stderrs)


def test_a_family_that_misses_is_silent_though_most_draws_are_inside():
    rows = [
        row("good", (1.0, 1.1, 0.9, 1.05), (0.1,) * 4),
        row("missed", (0.5, 0.6, 1.4, 1.0), (0.2, 0.2, 0.2, 0.3)),
        row("good", (1.0,), (), "peer"),
    ]
    text = intervals.section(rows, [100], lambda r: r.label["family"])
    assert f"| 100 | {OURS} | 2 | 62% | 1 of 2 |" in text
    assert f"Silent: {OURS}, n = 100: missed." in text
    assert "peer" not in text
    # Half of them inside is not silent.
    found = intervals.judge({"half": ((1.0, 3.0), 1.0, (0.1, 0.3))})
    assert (found.inside, found.silent) == (0.5, ())
    assert found.half_width == pytest.approx(1.645 * 0.2)


def test_the_committed_page_is_that_of_the_files():
    assert (devices.FOLDER / "README.md").read_text() == devices.page(devices.FOLDER)


def test_a_row_for_each_provider_of_a_file(tmp_path):
    options = ["--k", "1", "--slices", "2", "--dims", "3", "3", "--duration", "0.01"]
    assert main(["bench", *options, "--json", str(tmp_path / "one.json")]) == 0
    one = json.loads((tmp_path / "one.json").read_text())
    both = {"reports": [one, {**one, "provider": "cuda", "gpu": "Orin"}], "refused": {}}
    (tmp_path / "two.json").write_text(json.dumps(both))
    rows = [line for line in devices.page(tmp_path).splitlines() if line.startswith("| ")][2:]
    assert [line.split("|")[1].split()[0] for line in rows] == ["one", "two", "two"]
    assert len({line.count("|") for line in rows}) == 1
    assert "| Orin | edge | cuda |" in rows[2]


def test_camera():
    """Its target, a point above it, and one half-way, with an axis that points up."""
    ahead = np.array([[[0, 0, 0.15], [0, 0, 0.5], [0.8, -1.1, 0.825]]])
    image = scenes.camera(ahead)[0]
    assert image[0] == pytest.approx([320, 240]) == image[2] and image[1][1] < 240


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
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line.split(" | ") for line in lines if line.startswith("| is_grasped"))
    assert row[:2] == ["| is_grasped", "15"] and float(row[2]) > 0.9


def test_make_demo_needs_no_scipy():
    code = "import sys; sys.modules['scipy'] = None; import benchmarks.keystates.flags"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.skipif(not follower.PREFIX.exists(), reason="make build/native/ready")
def test_both_followers_are_measured(tmp_path):
    follower.main(["--quick", "--out", tmp_path])
    cpp, python = json.loads((tmp_path / "follower.json").read_text())["rows"]
    assert cpp["pushes"] == python["pushes"] == 2000
    for row in (cpp, python):
        assert 0 < row["median"] <= row["p99"] <= row["p99.9"] <= row["largest"]
    assert cpp["median"] < python["median"]
