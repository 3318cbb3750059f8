"""The comparison trains each variant once, and its page shows the results."""

import re

import numpy as np
import pytest
import torch

from infoatlas_train import compare
from infoatlas_train.config import PRESETS
from infoatlas_train.model.infoatlas import InfoAtlas


@pytest.fixture
def command(tmp_path):
    """A function that runs the smallest comparison (two steps) and returns its page."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 1000, 2))
    np.savez(tmp_path / "task.npz", x=x, y=x + rng.standard_normal(x.shape), mi=0.69)

    def run(steps: int) -> str:
        argv = ["--out", str(tmp_path / "page.md"), "--runs", str(tmp_path / "runs"),
                "--bmi", str(tmp_path), "--steps", str(steps), "--seeds", "1", "--batch", "8",
                "--accelerator", "cpu", "--datasets", "8",
                "--tables", "Padding", "Optimizer"]  # fmt: skip
        compare.main(argv)
        return (tmp_path / "page.md").read_text()

    return run


def test_page_has_every_variant_and_runs_are_kept(command, tmp_path):
    page = command(2)
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("|")]
    names = [row[0].strip("| ") for row in rows]
    assert names.count(compare.OURS.name) == 2
    assert {"noise (the paper's)", "Muon for the matrices"} <= set(names)
    cells = [cell.strip("| ") for row in rows for cell in row[1:]]
    figures = [float(cell) for cell in cells if re.fullmatch(r"\d\.\d+", cell)]
    assert len(figures) == (4 + 2) * 4 and all(0 < figure < 10 for figure in figures)
    ours, muon = (row[1:] for row in rows[-2:])
    assert ours != muon

    trained = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("last.pt")}
    assert command(2) == page  # and trains nothing
    assert all(file.stat().st_mtime_ns == time for file, time in trained.items())
    with pytest.raises(SystemExit, match="has another run"):
        command(3)


def test_muon_moves_matrices_and_adamw_the_rest():
    torch.manual_seed(0)
    model = InfoAtlas(PRESETS["tiny"])
    optimizer = compare.MuonAndAdamW(model, 1e-3)
    muon, adamw = (
        [p for group in part.param_groups for p in group["params"]] for part in optimizer.parts
    )
    assert len(muon) + len(adamw) == len(list(model.parameters()))
    assert all(p.ndim == 2 for p in muon)
    assert not any(p is model.hypernetwork.generation.write.weight for p in muon)
    before = [p.detach().clone() for p in (*muon, *adamw)]
    for group in optimizer.param_groups:
        group["lr"] = 0.0  # as the schedule does, through the outer optimizer
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(before, (*muon, *adamw), strict=True))
    for group in optimizer.param_groups:
        group["lr"] = 1e-3
    optimizer.step()
    moved = [(a - b).abs().max() for a, b in zip(before, (*muon, *adamw), strict=True)]
    assert all(0 < m < 0.1 for m in moved)
