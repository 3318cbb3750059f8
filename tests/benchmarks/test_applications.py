"""The application benchmarks: truths and peers against other ways to know, and one run each."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra 'bench' is not installed")

import common
import motion
import scenes
import slicing_studies
import texts
from peers import ksg

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Run a benchmark with --quick: its report, and its page."""

    def run(name):
        out = tmp_path_factory.mktemp(name)
        script = ROOT / "benchmarks" / "applications" / f"{name}.py"
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", script, "--quick", "--out", out],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        report = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
        assert report["command"].startswith(f"python benchmarks/applications/{name}.py --quick")
        page = (out / f"{name}.md").read_text(encoding="utf-8")
        assert f"]({name}.png)" in page and "nan" not in page
        return report["rows"], page

    return run


def test_independence(quick):
    rows, page = quick("independence")
    assert len(rows) == 3 * 1 * 2 * 6
    assert all(0 <= row["auc"] <= 1 for row in rows)
    # Strong enough for anyone who looks at all coordinates, and nearly for slices of five.
    strong = [r for r in rows if r["relation"] == "independent coordinates" and r["n"] == 300]
    by = {row["score"]: row["auc"] for row in strong}
    assert by["distance correlation"] == by["HSIC"] == by["Gaussian copula, shrunk"] == 1
    assert by["infoatlas-rt"] > 0.9
    assert "| distance correlation |" in page


def test_embeddings(quick):
    rows, page = quick("embeddings")
    assert len(rows) == 2 * 5 * 4
    assert all(len(row["values"]) == 2 and np.isfinite(row["values"]).all() for row in rows)
    whole = [r["mean"] for r in rows if r["score"] == "distance correlation" and r["n"] == 100]
    assert whole == sorted(whole, reverse=True)  # noise takes away
    assert whole[0] > 0.2  # documentation and code have to do with each other
    assert "## Separation" in page


def test_motion(quick):
    rows, page = quick("motion")
    assert len(rows) == 3 * 2 * 5
    by = {(r["scene"], r["view"], r["score"]): r["auc_pr"] for r in rows}
    for scene in scenes.SCENES:
        # What defines a rigid body finds it.
        assert by[scene, "positions (3-D)", "distance constancy"] > 0.99
        assert by[scene, "image (2-D)", "infoatlas-rt"] > 0.4  # chance: 0.1
    assert "| chance |" in page


def test_slicing(quick):
    rows, page = quick("slicing")
    assert {row["study"] for row in rows} == {
        "slices",
        "structures",
        "vanishing",
        "samples",
        "windows",
    }
    walks = [r for r in rows if r["study"] == "windows" and r["motion"] == "random walks"]
    assert walks and max(abs(row["mean"]) for row in walks) < 1.5  # of nothing
    assert "too wide" in page


# --- truths ----------------------------------------------------------------------------------


def test_sparse_and_dense_have_the_same_slices():
    """The closed forms, against slices that are drawn; and the paper's own figure."""
    assert slicing_studies.dense(1.0) == pytest.approx(0.7963, abs=1e-4)
    for rho in (0.5, 0.95):
        for own in ([rho, 0.0], [slicing_studies.dense(rho)] * 2):
            drawn = slicing_studies.sliced_truth(np.array(own), 1, draws=20_000)
            assert drawn == pytest.approx(slicing_studies.circle(rho), rel=0.02)


def test_a_slice_of_all_coordinates_is_the_whole():
    rho = np.array([0.3, 0.6, 0.9])
    whole = -0.5 * np.log(1 - rho**2).sum()
    assert slicing_studies.sliced_truth(rho, 3, draws=5) == pytest.approx(whole)


@pytest.mark.parametrize(("d", "k", "ratio"), [(2, 1, 3.0), (20, 2, 3.0), (20, 1, 1.2)])
def test_information_of_a_common_radius(d, k, ratio):
    """By integration, against nearest neighbours on samples."""
    x, y, _ = slicing_studies.radius(3000, d, ratio, np.random.default_rng(1))
    found = ksg(x[:, :k], y[:, :k])
    assert slicing_studies.radius_truth(d, k, ratio) == pytest.approx(found, abs=0.05)


def test_a_common_radius_is_log_2_as_a_whole():
    x, y, length = slicing_studies.radius(200, 5, 1.01, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(x, axis=1), length[:, 0])
    assert np.allclose(np.linalg.norm(y, axis=1), length[:, 0])
    assert set(np.unique(length)) == {1.0, 1.01}


def test_the_page_for_users():
    """Its code runs, and the truths it quotes are those of the benchmark."""
    page = (ROOT / "docs" / "when-to-trust.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)), {})
    half = np.sqrt(0.5)
    for d, said in ((64, "a slice of five holds {:.2f}"), (20, "a slice of five {:.2f}")):
        truth = slicing_studies.sliced_truth(np.full(d, half), 5)
        assert said.format(truth) in page.replace("\n", " ")
    for ratio, digits, said in ((1.5, 2, "which hold {}"), (1.01, 3, "{} in a slice")):
        truth = slicing_studies.radius_truth(2, 1, ratio)
        assert said.format(f"{truth:.{digits}f}") in page
    assert f"{slicing_studies.dense(1.0):.3f} each" in page


# --- peers -----------------------------------------------------------------------------------


def test_distance_correlation_by_hand():
    """Székely and Rizzo's U-centred matrices, entry by entry."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 12, 3))
    n = len(x)

    def centred(side):
        a = np.array([[np.sqrt(((p - q) ** 2).sum()) for q in side] for p in side])
        u = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i != j:
                    u[i, j] = (
                        a[i, j]
                        - a[i].sum() / (n - 2)
                        - a[:, j].sum() / (n - 2)
                        + a.sum() / ((n - 1) * (n - 2))
                    )
        return u

    a, b = centred(x), centred(y)
    expected = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
    assert common.distance_correlation(x, y) == pytest.approx(expected)


@pytest.mark.parametrize("score", [common.distance_correlation, common.hsic])
def test_peers_know_the_extremes(score):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 200, 8))
    assert score(x, x) == pytest.approx(1)
    assert score(x, 3 * x[:, ::-1] + 1) == pytest.approx(1)  # rotated, scaled, moved
    assert abs(score(x, y)) < (0.05 if score is common.distance_correlation else 0.5)
    assert score(x, x + y) > score(x, x + 3 * y) > score(x, y)


def test_shrunk_copula():
    rng = np.random.default_rng(0)
    x, y = slicing_studies.gaussian(3000, np.array([0.6, 0.3]), rng)
    truth = -0.5 * np.log((1 - 0.36) * (1 - 0.09))
    assert common.shrunk_copula(x, y) == pytest.approx(truth, abs=0.04)
    wide = rng.standard_normal((2, 50, 100))  # more coordinates than samples
    assert 0 <= common.shrunk_copula(*wide) < 20


def test_slices_are_orthonormal_and_seeded():
    columns = common.projections(6, 3, 4, np.random.default_rng(0))
    assert columns.shape == (4, 6, 3)
    assert np.allclose(columns.swapaxes(1, 2) @ columns, np.eye(3))
    x, y = np.random.default_rng(0).standard_normal((2, 50, 6))
    score = common.sliced(lambda a, b: float((a * b).mean()), 2, 3)
    assert score(x, y) == score(x, y)


# --- data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", scenes.SCENES)
def test_bodies_are_rigid_and_move(scene):
    recording = scenes.record(scene, frames=60, points=3)
    tracks, bodies = recording.tracks, recording.bodies
    assert tracks.shape == (len(bodies), 60, 3) and len(np.unique(bodies)) >= 6
    reference = tracks[0]
    for track, body in zip(tracks[1:], bodies[1:], strict=True):
        if body == bodies[0]:
            assert motion.constancy(reference, track) == pytest.approx(0, abs=1e-9)
        else:
            assert motion.constancy(reference, track) < -1e-3
    assert np.abs(tracks).max() < 3  # nothing escapes
    again = scenes.record(scene, frames=60, points=3)
    assert np.array_equal(tracks, again.tracks)


def test_camera():
    ahead = np.array([[[0, 0, 0.15], [0, 0, 0.5], [0.8, -1.1, 0.825]]])  # target, above, half-way
    image = scenes.camera(ahead)[0]
    assert image[0] == pytest.approx([320, 240])
    assert image[1][1] < 240  # up is up
    assert image[2] == pytest.approx([320, 240])


def test_velocity_correlation_is_of_vectors():
    path = np.cumsum(np.random.default_rng(0).standard_normal((50, 3)), axis=0)
    assert motion.velocity(path, 2 * path + 1) == pytest.approx(1)
    assert motion.velocity(path, -path) == pytest.approx(-1)


def test_code_comes_without_its_documentation():
    said, code = next(pair for pair in texts.functions() if len(pair[0]) > 60)
    assert said not in code and len(code) > 0
