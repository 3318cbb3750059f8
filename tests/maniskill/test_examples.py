"""The examples, and the loop of the benchmark, in short."""

import json


def test_wrap(demonstrations, example, capsys):
    example("wrap.py", demonstrations, "--envs", "2", "--steps", "50")
    out = capsys.readouterr().out
    assert "step 49: key states [" in out and "mean return with the bonus" in out


def test_loop(tmp_path):
    from benchmarks import maniskill_loop

    maniskill_loop.main(["--quick", "--out", str(tmp_path)])
    report = json.loads((tmp_path / "maniskill_loop.json").read_text(encoding="utf-8"))
    assert [row["kind"] for row in report["rows"]] == ["one process", "2 processes"]
    for row in report["rows"]:
        assert row["episodes"] == row["envs"] and row["estimates"] == row["envs"]
        assert 0 < row["tracker"] + row["windows"] <= row["wrapper"]
        assert len(row["memory"]) > 10
    page = (tmp_path / "maniskill_loop.md").read_text(encoding="utf-8")
    assert "MB per 1,000 steps" in page and "nan" not in page
