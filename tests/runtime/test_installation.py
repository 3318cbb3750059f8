"""The command that installs the package again names the folder or the wheel of its installation."""

import json
from types import SimpleNamespace

import pytest

from infoatlas_rt import installation


@pytest.mark.parametrize(
    ("name", "about", "end"),
    [
        ("my clone", {"dir_info": {}}, "'{}'"),
        ("clone", {"dir_info": {"editable": True}}, "-e {}"),
        ("infoatlas_rt-0.3.0.whl", {"archive_info": {}}, "{}"),
        ("", {}, ". (in a clone of the repository; or the path of a wheel)"),
    ],
)
def test_the_source_is_named(tmp_path, monkeypatch, name, about, end):
    source = tmp_path / name
    source.mkdir(exist_ok=True)
    record = json.dumps({"url": source.as_uri(), **about}) if name else None
    found = SimpleNamespace(read_text=lambda file: record)
    monkeypatch.setattr(installation, "distribution", lambda package: found)
    command = f"pip install --force-reinstall -v {end.format(source)}"
    assert installation.install_again("-v") == command
    if name:
        source.rmdir()  # it was moved: no index has the package either
        assert installation.install_again().endswith("or the path of a wheel)")
