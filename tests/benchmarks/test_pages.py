"""All benchmarks in a short form."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bmi_unsliced
from benchmarks.measure import one, pick

for package in ("dcor", "mujoco", "bayesian_changepoint_detection"):
    pytest.importorskip(package, reason="the extra 'bench' is not installed")

ROOT = Path(__file__).parents[2]
ESTIMATORS = ("infoatlas-rt", "Gaussian copula", "KSG (k=5)")


def call(module, out, *arguments):
    """Run a benchmark with --quick in this process, which saves the imports; its report and page.

    The page has the name of the module, or is one of `bmi`, `sparse` and `keystates`.
    """
    import_module(f"benchmarks.{module}").main([*arguments, "--quick", "--out", out])
    name = {"bmi_unsliced": "bmi", "sparse_data": "sparse"}.get(module, module.split(".")[0])
    return read(out, name, module)


def read(out, name, module):
    report = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert report["command"].startswith(f"python -m benchmarks.{module} ")
    assert "--quick" in report["command"]
    assert {"date", "machine", "versions", "provider", "models"} <= set(report)
    page = (out / f"{name}.md").read_text(encoding="utf-8")
    assert not re.search(r"\bnan\b", page)
    if f"]({name}.png)" in page:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return report, page


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Samples of two tasks with names of the paper's and of one other, for three seeds."""
    folder = tmp_path_factory.mktemp("samples")
    rng = np.random.default_rng(0)
    for name, d, rho in (
        ("multinormal-dense-5-5-0.5", 5, 0.5),
        ("1v1-additive-0.1", 1, 0.9),
        ("1v1-normal-0.75", 1, 0.75),
    ):
        x, noise = rng.standard_normal((2, 3, 500, d)).astype(np.float32)
        y = rho * x + np.sqrt(1 - rho**2) * noise
        np.savez(folder / f"{name}.npz", x=x, y=y, mi=-d / 2 * np.log(1 - rho**2))
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Two kinds of 8 dimensions in three strengths; the benchmark has the middle one."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    for kind in ("multinormal-dense-8-8", "spiral-multinormal-sparse-8-8-2"):
        for strength, rho in ((0.5, 0.1), (1.0, 0.6), (2.0, 0.95)):
            x, noise = rng.standard_normal((2, 1, 200, 8)).astype(np.float32)
            y = rho * x + np.sqrt(1 - rho**2) * noise
            file = folder / f"{kind}-{strength}.npz"
            np.savez(file, x=x, y=y, mi=-4 * np.log(1 - rho**2), listed=strength == 1.0)
    return folder


def test_bmi_from_the_command_line(samples, tmp_path):
    command = [sys.executable, "-m", "benchmarks.bmi_unsliced", samples, "--quick"]
    done = subprocess.run(
        [*command, "--out", tmp_path], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0 and done.stderr == ""
    report, page = read(tmp_path, "bmi", "bmi_unsliced")
    assert report["command"].endswith("--quick --out " + str(tmp_path))
    (model,) = report["models"]
    assert len(model["sha256"]) == 64
    assert "bytes" not in model and "path" not in model
    rows = report["rows"]
    assert len(rows) == 3 * 2 * 3
    assert {row["estimator"] for row in rows} == set(ESTIMATORS)
    assert {row["n"] for row in rows} == {100, 500}
    for row in rows:
        assert len(row["estimates"]) == 2
        assert row["mean"] == pytest.approx(np.mean(row["estimates"]), abs=2e-6)
        assert row["bias"] == pytest.approx(row["mean"] - row["truth"], abs=2e-6)
        assert row["spread"] == pytest.approx(np.std(row["estimates"], ddof=1), abs=2e-6)
        assert row["seconds"] > 0
        own = row["estimator"] == "infoatlas-rt"
        assert ("mean_stderr" in row) == own and len(row.get("stderrs", [])) == 2 * own
    # All peers get the same samples. The Gaussian copula is right for Gaussians.
    copula = pick(rows, n=500, estimator="Gaussian copula")
    assert one(copula, task="1v1-normal-0.75")["bias"] == pytest.approx(0, abs=0.1)
    # The summary repeats the rows.
    found = re.search(r"\| 500 \| Gaussian copula \| ([\d.]+) \| ([\d.]+) \|", page).groups()
    paper = [abs(r["bias"]) for r in copula if r["task"] != "1v1-normal-0.75"]
    assert float(found[0]) == pytest.approx(np.mean(paper), abs=6e-4)
    assert float(found[1]) == pytest.approx(np.mean([abs(r["bias"]) for r in copula]), abs=6e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing-here"], "benchmarks.tasks.bmi_samples"),
        (["{samples}", "--sizes", "501"], "fewer than 501"),
    ],
)
def test_says_what_is_missing(samples, tmp_path, arguments, message):
    arguments = [a.format(samples=samples) for a in arguments]
    with pytest.raises(SystemExit, match=message):
        bmi_unsliced.main([*arguments, "--out", str(tmp_path / "results")])
    assert not (tmp_path / "results").exists()


def test_two_models_in_one_run(samples, tmp_path):
    copy = tmp_path / "other.onnx"
    copy.write_bytes((ROOT / "runtime/infoatlas_rt/models/edge.onnx").read_bytes())
    report, _ = call("bmi_unsliced", tmp_path, samples, "--model", "edge", copy)
    assert len(report["models"]) == 2
    edge, other = (
        [row["estimates"] for row in pick(report["rows"], estimator=f"infoatlas-rt {name}")]
        for name in ("edge", "other")
    )
    assert len(edge) == 3 * 2 and edge == other


def test_families(tmp_path):
    call("families", tmp_path)
    for name, count, kept_apart in (
        ("families", 25, "development"),
        ("more_families", 20, "development"),
        ("unseen", 18, "test"),
        ("blind", 20, "test"),
        ("blind_second", 12, "test"),
    ):
        report, page = read(tmp_path, name, "families")
        assert len(report["rows"]) == count * 4
        assert {row["set"] for row in report["rows"]} == {kept_apart}
        for estimator in [*ESTIMATORS, "KDE"]:
            own = [abs(row["bias"]) for row in pick(report["rows"], estimator=estimator)]
            line = rf"\| 100 \| {re.escape(estimator)} \| ([\d.]+) \| [\d.]+ \| \d"
            (found,) = re.findall(line, page.split("## By kind")[0])
            assert float(found) == pytest.approx(np.mean(own), abs=6e-4)


def test_strong(tmp_path):
    report, page = call("strong", tmp_path)
    assert len(report["rows"]) == 6 * 2 * 5 * 3
    own = [
        abs(row["bias"]) / row["truth"]
        for row in pick(report["rows"], estimator="infoatlas-rt")
        if row["kind"] != "one path"
    ]
    found = re.search(r"\| 100 \| infoatlas-rt \| ([\d.]+)% \|", page).group(1)
    assert float(found) == pytest.approx(100 * np.mean(own), abs=0.06)


def test_sparse_data(tmp_path):
    rows = call("sparse_data", tmp_path)[0]["rows"]
    assert sum(row["draws"] for row in rows) == 100
    assert sum(row["below"] for row in rows) == 0


def test_calibration(samples, tmp_path):
    rows = call("calibration", tmp_path, samples)[0]["rows"]
    covered = [row for row in rows if "data" in row]
    assert {"BMI, unsliced", "atlas, unsliced"} <= {row["data"] for row in covered}
    assert all(0 <= row["coverage_90%"] <= 1 for row in covered)
    assert {row["trials"] for row in rows if "rejected" in row} == {8}


def test_table1(samples, tmp_path):
    report, page = call("table1", tmp_path, samples)
    trained = ["MINE, 100 steps", "MINE, 1000 steps", "MINE, 5 s", "InfoNCE", "KNIFE"]
    # The third task is not one of the paper's.
    assert len(report["rows"]) == 2 * (4 + len(trained))
    assert {row["estimator"] for row in report["rows"]} == {*ESTIMATORS, "KDE", *trained}
    assert report["versions"]["torch"] and report["torch_threads"] >= 1
    assert "As published" not in page  # that is for n = 5000


def test_bmi_sliced(large, tmp_path):
    _, page = call("bmi_sliced", tmp_path, large)
    assert "| 100 | infoatlas-rt, 8 slices of 5 | 1.00 | 1.00 | 1.00 |" in page
    assert page.count("-1.0 |") == 2  # values of the benchmark itself, once each


def test_independence(tmp_path):
    rows = call("independence", tmp_path)[0]["rows"]
    assert len(rows) == 3 * 1 * 2 * 7
    assert all(0 <= row["auc"] <= 1 for row in rows)
    # Strong dependence for methods with all coordinates, and almost for slices of five.
    strong = pick(rows, relation="independent coordinates", n=300)
    by = {row["score"]: row["auc"] for row in strong}
    assert by["distance correlation"] == by["HSIC"] == by["Gaussian copula, shrunk"] == 1
    assert by["infoatlas-rt"] > 0.9 and by["infoatlas-rt, test"] == 1


def test_conditional(tmp_path):
    rows = call("conditional", tmp_path)[0]["rows"]
    assert len(rows) == 27 * 4
    ours = pick(rows, estimator="infoatlas-rt")
    xor = one(ours, family="2 x 2 switches, xor")
    assert xor["mean"] == pytest.approx(np.log(2), abs=0.02) and xor["inside"] == 1
    copies = one(ours, family="2 x 2 switches, copy")
    assert copies["mean"] == copies["half_width"] == 0
    # If z is informative about both sides, the chain rule has a large error.
    near = "two measurements of z, noise 0.05"
    alone = one(rows, family=near, estimator="chain rule alone")
    assert abs(one(ours, family=near)["bias"]) < abs(alone["bias"])


def test_embeddings(tmp_path, monkeypatch):
    """Of vectors with 20 common directions, because the texts' model needs half a minute."""
    rng = np.random.default_rng(0)
    both = np.tile(rng.standard_normal((150, 20)) @ rng.standard_normal((20, 384)), (2, 1, 1))
    sides = both + 2 * rng.standard_normal(both.shape)
    monkeypatch.setattr(import_module("benchmarks.embeddings"), "embeddings", lambda pairs: sides)
    rows = call("embeddings", tmp_path)[0]["rows"]
    assert len(rows) == 2 * 5 * 4
    assert all(len(row["values"]) == 2 and np.isfinite(row["values"]).all() for row in rows)
    means = [row["mean"] for row in pick(rows, score="distance correlation", n=100)]
    assert means == sorted(means, reverse=True)  # noise reduces the dependence
    assert means[0] > 0.2


def test_motion(tmp_path):
    rows = call("motion", tmp_path)[0]["rows"]
    assert len(rows) == 3 * 2 * 5
    # The defining property of a rigid body identifies it.
    by_definition = pick(rows, view="positions (3-D)", score="distance constancy")
    assert min(row["auc_pr"] for row in by_definition) > 0.99
    ours = pick(rows, view="image (2-D)", score="infoatlas-rt")
    assert min(row["auc_pr"] for row in ours) > 0.4  # chance: 0.1


def test_slicing(tmp_path):
    rows = call("slicing", tmp_path)[0]["rows"]
    studies = ["slices", "structures", "vanishing", "samples", "windows"]
    assert list(dict.fromkeys(row["study"] for row in rows)) == studies
    walks = pick(rows, study="windows", motion="random walks")
    assert walks and max(abs(row["mean"]) for row in walks) < 1.5  # of nothing


def test_keystates(tmp_path):
    rows = call("keystates.run", tmp_path)[0]["rows"]
    assert {row["study"] for row in rows} == {"tasks", "time-warped", "10 demonstrations", "online"}
    for task in ("push", "stack"):
        mine = one(rows, study="tasks", task=task, method="auto", count=5)
        even = one(rows, study="tasks", task=task, method="evenly spaced", count=5)
        assert mine["recall_5_steps"] >= max(0.85, even["recall_5_steps"])
        assert mine["recall_500_ms"] >= mine["recall_100_ms"] == mine["recall_2_steps"]  # 20 Hz
        own = pick(rows, study="tasks", task=task)
        assert {row["count"] for row in own} == {5, "events", "auto"}
        assert all(0 <= row[f] <= 1 for row in own for f in ("f1_10", "f1_50", "edit", "accuracy"))
        assert {"auto", "BOCPD", "second difference"} <= {row["method"] for row in own}
    grasp = one(rows, study="online", task="stack", event="grasp")
    assert grasp["recall"] >= 0.75 and grasp["episodes"] == 4


def test_gradients(tmp_path):
    rows = call("gradients", tmp_path)[0]["rows"]
    assert len(rows) == 12  # three losses, two widths, with and without gradients
    assert all(row["process_seconds"] >= 0 < row["seconds"] for row in rows)


def test_localiser(tmp_path):
    rows = call("localiser", tmp_path)[0]["rows"]
    assert [row["method"] for row in rows][:2] == ["auto", "evenly spaced"] and len(rows) == 6
    ours = one(rows, method="localiser, ours")
    assert 0 < ours["error"] < 1 and ours["cpu_seconds"] > 0


def test_table2_time(tmp_path):
    report, page = call("table2_time", tmp_path)
    assert {row["timesteps"] for row in report["rows"]} == {4} and len(report["rows"]) >= 4
    assert all(row["seconds"] > 0 for row in report["rows"])
    assert "| 2.17 |" in page  # as published


def test_coupling(tmp_path):
    ours = pick(call("coupling", tmp_path)[0]["rows"], detector="infoatlas-rt")
    true = [row for row in ours if row["kind"] != "another's motion"]  # where it raises alarms
    assert len(true) == 6 and len(ours) == 8
    assert sum(row["false_alarms"] + row["missed"] for row in true) == 0


def test_pitfalls(tmp_path):
    rows = call("pitfalls", tmp_path)[0]["rows"]
    assert all(len(row["values"]) == 2 and np.isfinite(row["values"]).all() for row in rows)
    assert {row["study"] for row in rows} == {"windows", "attitudes"}


def test_lags(tmp_path):
    rows = call("lags", tmp_path)[0]["rows"]
    assert [row["pairs"] for row in rows[:3]] == [1] * 3 and len(rows[3:]) == 40
    assert sum(row["inside"] for row in rows[3:]) > 30
