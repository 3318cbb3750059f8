"""Learning curves: input files, refusals, and a line for each run in each panel."""

import json

import numpy as np
import pytest

from infoatlas_train import curves, pretrain
from infoatlas_train.options import HELD_OUT, Options


def line(step, lr=1e-3, held_out=0.5, **others):
    errors = {f"error_{n}": held_out + 10 / n for n in HELD_OUT}
    return {"step": step, "datasets": 64 * step, "lr": lr, "held_out": held_out, **errors, **others}


def write(folder, lines):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def call(*arguments):
    curves.main([*map(str, arguments)])


def test_picture_of_a_real_run(tmp_path, capsys, figures):
    options = Options(
        out=tmp_path / "tiny", quiet=True, steps=4, evaluate=2, batch=8, tokens=256, warmup=1,
        accelerator="cpu", sizes={32: 1.0}, held_out=dict.fromkeys(curves.SIZES, 8),
    )  # fmt: skip
    pretrain.pretrain(options)
    run = curves.read(tmp_path / "tiny" / "metrics.jsonl")
    assert run["step"].tolist() == [2, 4] and run["datasets"].tolist() == [16, 32]
    for out in (tmp_path / "new" / "curves.png", tmp_path / "curves.svg"):
        call(tmp_path / "tiny", f"again={tmp_path / 'tiny'}", "--out", out)
        assert out.stat().st_size and f"wrote {out}" in capsys.readouterr().out
        loss = figures[-1].axes[0]
        lines = [line for line in loss.lines if len(line.get_xdata()) == 2]
        assert len(lines) == 2  # the run, and the run again
        for drawn in lines:
            assert drawn.get_xdata().tolist() == [16, 32]
            assert drawn.get_ydata().tolist() == run["held_out"].tolist()


def test_every_run_is_in_every_panel(tmp_path):
    rates = [1e-3, 1e-3, 1e-3, 5e-4, 2e-5]
    values = [0.9, 0.5, 0.42, 0.38, 0.381]
    lines = [line(200 * (i + 1), *pair) for i, pair in enumerate(zip(rates, values, strict=True))]
    runs = {"long": curves.read(write(tmp_path / "a", lines))}
    runs["young"] = curves.read(write(tmp_path / "b", lines[:1]))
    figure = curves.page(runs, "step")
    assert len(figure.axes) == 2 + len(curves.SIZES)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["long: 1,000 steps, best after 800", "young: 200 steps, best after 200"]
    loss, rate, *errors = figure.axes
    assert [text.get_text() for text in loss.texts] == ["0.3810", "0.9000"]
    assert [text.get_text() for text in errors[0].texts] == ["0.5810", "1.1000"]
    rings = [drawn for drawn in loss.lines if drawn.get_markerfacecolor() == "white"]
    assert [drawn.get_xdata().tolist() for drawn in rings] == [[600], []]
    assert [drawn.get_ydata().tolist() for drawn in rate.lines] == [rates, rates[:1]]


def test_the_last_line_of_a_step_counts(tmp_path):
    # Resumed from 200; the evaluation at 600 was of discarded weights.
    steps = [200, 400, 600, 400, 400]
    lines = [line(step, held_out=i) for i, step in enumerate(steps)]
    run = curves.read(write(tmp_path, lines))
    assert run["step"].tolist() == [200, 400] and run["held_out"].tolist() == [0, 4]
    run = curves.read(write(tmp_path, [*lines, line(600, held_out=5)]))
    assert run["held_out"].tolist() == [0, 4, 5]


def test_runaways_and_nan_do_not_spoil_the_scale(tmp_path):
    values = [3.0, *np.linspace(0.6, 0.4, 30), -50_749.0, 0.4, float("nan")]
    lines = [line(i + 1, held_out=v) for i, v in enumerate(values)]
    run = curves.read(write(tmp_path, lines))
    low, high = curves.limits([run["held_out"]])
    assert 0.3 < low < 0.4 and 0.6 < high < 0.8
    figure = curves.page({"wild": run})
    assert figure.axes[0].texts[0].get_text() == "0.4000"  # the last finite value
    blank = curves.read(write(tmp_path, [line(1, held_out=float("nan"))]))
    assert not curves.page({"blank": blank}).axes[0].texts


def test_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("edge", "lr=3"):
        write(tmp_path / folder, [line(1)])
    for argument, name, path in (
        ("edge", "edge", "edge/metrics.jsonl"),
        ("edge/metrics.jsonl", "edge", "edge/metrics.jsonl"),
        ("mine=edge/", "mine", "edge/metrics.jsonl"),
        ("lr=3", "lr=3", "lr=3/metrics.jsonl"),  # a folder's name may contain the sign
        ("mine=lr=3", "mine", "lr=3/metrics.jsonl"),
        (".", tmp_path.name, "metrics.jsonl"),
    ):
        got, where = curves.parse(argument)
        assert (got, where.as_posix()) == (name, path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "does not exist: give a folder"),
        ("", "is empty: wait"),
        (json.dumps(line(1)) + '\n{"step": 2, "da', "line 2 is not JSON: remove"),
        ("[1, 2]", "line 1 has no number 'step'"),
        (json.dumps({k: v for k, v in line(1).items() if k != "error_500"}), "'error_500'"),
        (json.dumps(line(1, lr=None)), "line 1 has no number 'lr'"),
    ],
)
def test_errors_name_the_file(tmp_path, capsys, text, expected):
    path = tmp_path / "metrics.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit) as stop:
        call(tmp_path, "--out", tmp_path / "curves.png")
    said = capsys.readouterr().err.splitlines()[-1]
    assert stop.value.code == 2 and str(path) in said and expected in said
    assert not (tmp_path / "curves.png").exists()


def test_errors_of_the_call(tmp_path, capsys):
    one = write(tmp_path / "one", [line(1)])
    many = [f"{i}={one}" for i in range(7)]
    out = tmp_path / "curves.png"
    for arguments, expected in (
        ([one, one.parent, "--out", out], "NAME=RUN"),
        ([*many, "--out", out], "at most 6 runs"),
        ([one, "--out", tmp_path / "curves.xyz"], "supported formats"),
        ([one, "--out", one / "curves.png"], str(one)),
    ):
        with pytest.raises(SystemExit) as stop:
            call(*arguments)
        assert stop.value.code == 2 and expected in capsys.readouterr().err.splitlines()[-1]
