"""Pretraining: it learns, resumes exactly, and writes self-describing checkpoints."""

import dataclasses
import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from infoatlas_rt.errors import InputError
from infoatlas_train import pretrain
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.options import LOCAL, Options, parse
from refusals import fails


def run(out, *args, **how):
    base = ["--preset", "tiny", "--out", str(out), "--quiet", "--accelerator", "cpu",
            "--devices", "1", "--tokens", "1024", "--batch", "8", "--warmup", "2"]  # fmt: skip
    options = parse("", [*base, *args])
    how = {"sizes": {32: 1.0, 64: 1.0}, "held_out": {50: 8}, **how}
    pretrain.pretrain(dataclasses.replace(options, **how))
    return torch.load(out / "last.pt", weights_only=True)


def test_resume_is_exact(tmp_path):
    flat = ("--evaluate", "3", "--decay", "0")  # a decay would depend on the number of steps
    whole = run(tmp_path / "whole", "--steps", "6", *flat)
    run(tmp_path / "parts", "--steps", "3", *flat)
    parts = run(tmp_path / "parts", "--steps", "6", "--resume", *flat)
    assert parts["run"]["step"] == 6 and parts["run"]["datasets"] == whole["run"]["datasets"]
    for name, value in whole["model"].items():
        assert torch.equal(value, parts["model"][name]), name
        assert torch.equal(whole["average"][name], parts["average"][name]), name


def test_a_run_can_start_from_a_model_with_a_correction(tmp_path):
    """The bias correction is left out, because it is valid only for the critic of its fit."""
    torch.manual_seed(7)
    fitted = InfoAtlas(dataclasses.replace(pretrain.PRESETS["tiny"], gap=1))
    record = {"step": 9, "datasets": 70, "seconds": 1.0}
    torch.save(pretrain.checkpoint(fitted, record), tmp_path / "gap.pt")
    start = ("--init", str(tmp_path / "gap.pt"), "--lr", "1e-300")  # changes no weight
    saved = run(tmp_path / "on", "--steps", "1", *start)
    assert saved["config"]["gap"] == 0 and saved["run"]["datasets"] == 70 + 8
    for name, value in fitted.hypernetwork.state_dict().items():
        assert torch.equal(saved["model"][f"hypernetwork.{name}"], value), name


def test_resume_goes_before_init(tmp_path):
    """When it is resumed, the command that started from other weights continues its own run."""
    run(tmp_path / "other", "--steps", "1")
    start = ("--init", str(tmp_path / "other" / "best.pt"), "--lr", "1e-300")
    run(tmp_path / "on", "--steps", "1", *start)
    resumed = run(tmp_path / "on", "--steps", "2", *start, "--resume")
    assert resumed["run"]["step"] == 2 and resumed["run"]["datasets"] == 3 * 8


def test_checkpoint_describes_itself(tmp_path):
    run(tmp_path, "--steps", "2", "--evaluate", "2")
    model, record = pretrain.load(tmp_path / "best.pt")
    assert model.config == pretrain.PRESETS["tiny"]
    assert str(tmp_path) not in str(record)
    assert record["step"] == 2 and record["seed"] == 0 and record["figures"]["held_out"] > 0
    line = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["step"] == 2 and line["held_out"] == record["figures"]["held_out"]


def test_it_learns(tmp_path):
    """A hundred steps on dependence beyond the anchor: the held-out loss falls by a twentieth.

    It falls by 0.090 to 0.105 of its value for five seeds, and by 0.002 more or less without AVX2.
    """
    atlas, sizes = {"families": {"functional": 1.0}, "independent": 0.0}, {50: 64, 64: 64}
    options = ("--steps", "100", "--evaluate", "100", "--lr", "3e-3", "--warmup", "5")
    run(tmp_path, *options, atlas=atlas, held_out=sizes)
    trained, record = pretrain.load(tmp_path / "best.pt")
    torch.manual_seed(record["seed"])
    untrained = pretrain.InfoAtlas(trained.config)
    batches = pretrain.held_out_batches(pretrain.Atlas(**atlas), "cpu", sizes)
    before = pretrain.held_out_error(untrained, batches)
    assert record["figures"]["held_out"] < 0.95 * before["held_out"]


def test_learning_rate_warms_up_and_decays():
    options = Options(lr=1.0, warmup=10, steps=100, decay=0.5)
    rates = [pretrain.learning_rate(step, options) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[9] == 1.0 and rates[49] == 1.0
    assert all(a > b for a, b in pairwise(rates[50:98])) and rates[-1] < 0.05


def test_wide_trains_to_twenty_dimensions(tmp_path):
    run(tmp_path, "--preset", "wide", "--steps", "2", "--evaluate", "2")
    model, record = pretrain.load(tmp_path / "best.pt")
    assert model.config.dim == 20 and record["step"] == 2 and "skipped" not in record
    torch.manual_seed(0)
    x = torch.randn(2, 100, 20)
    with torch.no_grad():
        mi, *_ = model(x, x + 0.5 * torch.randn_like(x), torch.arange(1, 9))
    assert torch.isfinite(mi).all() and (mi > 3).all()


def test_a_step_takes_one_batch_at_least(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        run(tmp_path, "--accumulate", "0")
    assert stop.value.code == 2 and "--accumulate is 0" in capsys.readouterr().err


def test_the_command_line_has_the_defaults_of_the_options():
    assert parse("", []) == Options()


def test_checkpoints_record_what_decides_the_outcome():
    """Shipped checkpoints have these names in this order, with values as text."""
    record = Options(out=Path("/there"), sizes={32: 1.0}).record()
    assert list(record) == [
        "preset", "steps", "seed", "batch", "tokens", "accumulate", "objective", "shifts", "lr",
        "warmup", "decay", "average", "evaluate", "precision", "accelerator", "devices", "sizes",
        "atlas",
    ]  # fmt: skip
    assert record["sizes"] == "{32: 1.0}" and record["atlas"] == "None" and record["lr"] == "0.0015"
    assert not set(LOCAL) & set(record)


def test_missing_packages_and_invalid_checkpoints_are_reported(tmp_path, monkeypatch):
    """Only the loop needs Lightning Fabric; torch's own message would advise unsafe loading."""
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    with pytest.raises(InputError, match=r"lightning_fabric.*pip install 'infoatlas-rt\[train\]'"):
        pretrain.engine(Options(out="runs"))
    (tmp_path / "a.pt").write_text("no checkpoint")
    fails(ValueError, "does not contain weights saved by torch", pretrain.load, tmp_path / "a.pt")
