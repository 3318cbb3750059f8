"""The benchmark runs from samples to report, on tasks that are made here."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
ESTIMATORS = ("infoatlas-rt", "Gaussian copula", "KSG (k=5)")


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "accuracy" / script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def call(monkeypatch):
    """The same in this process, which spares the imports."""

    def call(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        importlib.import_module(script.removesuffix(".py")).main()

    return call


@pytest.fixture
def samples(tmp_path):
    """Two tasks with names of the paper's, one other, of three seeds."""
    folder = tmp_path / "samples"
    folder.mkdir()
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


def test_quick(samples, tmp_path):
    out = tmp_path / "results"
    done = run("bmi.py", samples, "--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (out / "bmi.png").read_bytes().startswith(b"\x89PNG")

    report = json.loads((out / "bmi.json").read_text(encoding="utf-8"))
    assert report["command"].startswith("python benchmarks/accuracy/bmi.py ")
    assert report["command"].endswith("--quick --out " + str(out))
    assert {"date", "machine", "versions", "provider"} <= set(report)
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
        assert ("mean_stderr" in row) == (row["estimator"] == "infoatlas-rt")
    # Same samples for each: the Gaussian copula is right about Gaussians.
    (row,) = (
        r
        for r in rows
        if (r["task"], r["n"], r["estimator"]) == ("1v1-normal-0.75", 500, "Gaussian copula")
    )
    assert row["bias"] == pytest.approx(0, abs=0.1)

    page = (out / "bmi.md").read_text(encoding="utf-8")
    # The summary repeats the rows.
    found = re.search(r"\| 500 \| Gaussian copula \| ([\d.]+) \| ([\d.]+) \|", page).groups()
    own = [r for r in rows if (r["n"], r["estimator"]) == (500, "Gaussian copula")]
    paper = [abs(r["bias"]) for r in own if r["task"] != "1v1-normal-0.75"]
    assert float(found[0]) == pytest.approx(np.mean(paper), abs=6e-4)
    assert float(found[1]) == pytest.approx(np.mean([abs(r["bias"]) for r in own]), abs=6e-4)
    # n = 5000 is what the paper published, so its rows are not set beside n = 500.
    assert "as published" not in page.lower()


def test_published_rows_are_quoted_at_the_papers_size(samples, tmp_path):
    for file in samples.glob("*.npz"):
        with np.load(file) as data:
            x, y, mi = data["x"], data["y"], data["mi"]
        np.savez(file, x=np.tile(x, (1, 10, 1)), y=np.tile(y, (1, 10, 1)), mi=mi)
    out = tmp_path / "results"
    done = run("bmi.py", samples, "--seeds", 1, "--sizes", 5000, "--out", out)
    assert done.returncode == 0, done.stderr
    page = (out / "bmi.md").read_text(encoding="utf-8")
    # The columns of the tasks that were there, and no others.
    assert "| InfoAtlas, as published | 0.60 | 1.46 | (0.13) | 0.09 s |" in page
    assert "Spiral" not in page.split("## Where a peer")[0].split("The paper's")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing-here"], "bmi_samples.py"), (["{samples}", "--sizes", "501"], "fewer than 501")],
)
def test_says_what_is_missing(samples, tmp_path, arguments, message):
    arguments = [a.format(samples=samples) for a in arguments]
    done = run("bmi.py", *arguments, "--out", tmp_path / "results")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "results").exists()


def test_gaussian_quick(tmp_path):
    done = run("gaussian.py", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "gaussian.json").read_text(encoding="utf-8"))
    assert len(report["rows"]) == 2 * 4 * 8 * 3
    assert {row["d"] for row in report["rows"]} == {1, 2, 3, 5}
    assert "## Independence" in (tmp_path / "gaussian.md").read_text(encoding="utf-8")
    assert (tmp_path / "gaussian.png").read_bytes().startswith(b"\x89PNG")


def test_families_quick(call, tmp_path):
    call("families.py", "--quick", "--out", tmp_path)
    estimators = [*ESTIMATORS, "KDE"]
    for name, count in (("families", 25), ("more_families", 20), ("unseen", 18)):
        report = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        assert len(report["rows"]) == count * len(estimators)
        page = (tmp_path / f"{name}.md").read_text(encoding="utf-8").split("## By kind")[0]
        for estimator in estimators:
            own = [abs(row["bias"]) for row in report["rows"] if row["estimator"] == estimator]
            line = rf"\| 100 \| {re.escape(estimator)} \| ([\d.]+) \| [\d.]+ \| \d"
            (found,) = re.findall(line, page)
            assert float(found) == pytest.approx(np.mean(own), abs=6e-4)
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_strong_quick(call, tmp_path):
    call("strong.py", "--quick", "--out", tmp_path)
    report = json.loads((tmp_path / "strong.json").read_text(encoding="utf-8"))
    assert len(report["rows"]) == 6 * 2 * 5 * 3
    own = [
        abs(row["bias"]) / row["truth"]
        for row in report["rows"]
        if row["estimator"] == "infoatlas-rt" and row["kind"] != "one path"
    ]
    page = (tmp_path / "strong.md").read_text(encoding="utf-8")
    found = re.search(r"\| 100 \| infoatlas-rt \| ([\d.]+)% \|", page).group(1)
    assert float(found) == pytest.approx(100 * np.mean(own), abs=0.06)
    assert (tmp_path / "strong.png").read_bytes().startswith(b"\x89PNG")


def test_two_models_in_one_run(call, samples, tmp_path):
    copy = tmp_path / "other.onnx"
    copy.write_bytes((ROOT / "runtime/infoatlas_rt/models/edge.onnx").read_bytes())
    call("bmi.py", samples, "--quick", "--model", "edge", copy, "--out", tmp_path)
    report = json.loads((tmp_path / "bmi.json").read_text(encoding="utf-8"))
    assert len(report["models"]) == 2
    values = {
        name: [row["estimates"] for row in report["rows"] if row["estimator"] == name]
        for name in ("infoatlas-rt edge", "infoatlas-rt other")
    }
    assert len(values["infoatlas-rt edge"]) == 3 * 2
    assert values["infoatlas-rt edge"] == values["infoatlas-rt other"]


def test_table1_quick(call, samples, tmp_path):
    call("table1.py", samples, "--quick", "--out", tmp_path)
    report = json.loads((tmp_path / "table1.json").read_text(encoding="utf-8"))
    trained = ["MINE, 100 steps", "MINE, 1000 steps", "MINE, 5 s", "InfoNCE", "KNIFE"]
    # The third task is none of the paper's.
    assert len(report["rows"]) == 2 * (4 + len(trained))
    assert {row["estimator"] for row in report["rows"]} == {*ESTIMATORS, "KDE", *trained}
    assert report["versions"]["torch"] and report["torch_threads"] >= 1
    page = (tmp_path / "table1.md").read_text(encoding="utf-8")
    assert "training was cut short" in page
    assert "As published" not in page  # that is n = 5000
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")


def test_trained_peers_may_have_fewer_seeds(samples):
    import report
    from bmi import load

    cases = load(samples, [100], 3)[:1]
    count = {"few": 0}

    def few(x, y):
        count["few"] += 1
        return 1.0

    rows = report.measure("", cases, report.load(["edge"]), {"few": few}, {"few": 2})
    assert [len(row.estimates) for row in rows] == [3, 2]
    assert count["few"] == 2


def test_sliced_quick(call, tmp_path):
    """Two kinds of 8 dimensions in three strengths, of which the benchmark has the middle one."""
    folder = tmp_path / "large"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for kind in ("multinormal-dense-8-8", "spiral-multinormal-sparse-8-8-2"):
        for strength, rho in ((0.5, 0.1), (1.0, 0.6), (2.0, 0.95)):
            x, noise = rng.standard_normal((2, 1, 200, 8)).astype(np.float32)
            y = rho * x + np.sqrt(1 - rho**2) * noise
            truth = -4 * np.log(1 - rho**2)
            file = folder / f"{kind}-{strength}.npz"
            np.savez(file, x=x, y=y, mi=truth, listed=strength == 1.0)
    call("bmi_sliced.py", folder, "--quick", "--out", tmp_path)
    page = (tmp_path / "bmi_sliced.md").read_text(encoding="utf-8")
    kinds = "multinormal-dense-8-8 | spiral-multinormal-sparse-8-8 |"
    assert kinds in page
    assert "| 100 | infoatlas-rt, 8 slices of 5 | 1.00 | 1.00 | 1.00 |" in page
    assert page.count("-1.0 |") == 2  # the benchmark's own, once each
    assert (tmp_path / "bmi_sliced.png").read_bytes().startswith(b"\x89PNG")
