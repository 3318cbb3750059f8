"""The table of devices is generated from the files beside it."""

from __future__ import annotations

import json

from benchmarks import devices
from infoatlas_rt.cli.main import main


def test_the_committed_page_is_that_of_the_files():
    assert (devices.FOLDER / "README.md").read_text() == devices.page(devices.FOLDER)


def test_a_row_for_each_provider_of_a_file(tmp_path):
    options = ["--k", "1", "--slices", "2", "--dims", "3", "3", "--duration", "0.01"]
    assert main(["bench", *options, "--json", str(tmp_path / "one.json")]) == 0
    one = json.loads((tmp_path / "one.json").read_text())
    both = {"reports": [one, {**one, "provider": "cuda", "gpu": "Orin"}], "refused": {}}
    (tmp_path / "two.json").write_text(json.dumps(both))
    rows = [line for line in devices.page(tmp_path).splitlines() if line.startswith("| ")][1:]
    assert [line.split("|")[1].split()[0] for line in rows] == ["one", "two", "two"]
    assert len({line.count("|") for line in rows}) == 1
    assert "| Orin | edge | cuda |" in rows[2]
