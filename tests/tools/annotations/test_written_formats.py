"""The list of formats; files and folders are written completely or not at all."""

import os
from importlib import import_module
from pathlib import Path

import pytest

from infoatlas_rt.errors import InputError, OutputError
from infoatlas_tools.annotations.written_formats import FORMATS, check_format, replacing
from refusals import refuses


def test_every_format_has_its_writer():
    for each in FORMATS.values():
        module, function = each.writer.split(".")
        assert callable(getattr(import_module(f"infoatlas_tools.annotations.{module}"), function))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"format": "xml"}, "format is 'xml': use one of lerobot, mimicgen"),
        ({"format": "maniskill"}, "format maniskill is for data of ManiSkill, .* use rerun, mcap"),
        ({"language": "motion"}, "language is for LeRobot, and the format is csv: leave it out"),
        ({"trim": True}, "trim is for copies of LeRobot data sets, and the format is csv"),
    ],
)
def test_errors_name_parameters(options, why):
    """Commands name options: tests/tools/cli/test_annotate.py."""
    assert check_format(None) == "csv"
    refuses(f"^{why}", check_format, None, **options)


def content(folder):
    return {p.relative_to(folder): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "set" / "meta").mkdir(parents=True)
    (tmp_path / "set" / "meta" / "info").write_text("old")
    (tmp_path / "set" / "gone").write_text("old")
    return tmp_path / "set"


def fill(new):
    (new / "meta").mkdir(parents=True)
    (new / "meta" / "info").write_text("new")


def test_a_new_folder_and_a_new_file(tmp_path):
    with replacing(tmp_path / "copy") as new:
        fill(new)
        assert not (tmp_path / "copy").exists()
    with replacing(tmp_path / "file") as new:
        new.write_text("new")
    assert content(tmp_path) == {Path("copy/meta/info"): "new", Path("file"): "new"}
    with pytest.raises(OutputError, match="exists: choose a name that does not"):
        with replacing(tmp_path / "file"):
            raise AssertionError


def test_in_place(folder):
    file = folder.parent / "file"
    file.write_text("old")
    file.chmod(0o640)
    with replacing(folder, overwrite=True) as new:
        fill(new)
    with replacing(file, overwrite=True) as new:
        new.write_text("new")
    assert content(folder.parent) == {Path("set/meta/info"): "new", Path("file"): "new"}
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(folder.parent)) == ["file", "set"]


@pytest.mark.parametrize(
    "error", [InputError("no"), OSError("full"), KeyboardInterrupt(), KeyError()]
)
def test_a_failure_changes_nothing(folder, error):
    before = content(folder.parent)
    kind = OutputError if type(error) is OSError else type(error)
    for overwrite, target in ((True, folder), (False, folder.parent / "copy")):
        with pytest.raises(kind), replacing(target, overwrite=overwrite) as new:
            fill(new)
            raise error
    assert content(folder.parent) == before and os.listdir(folder.parent) == ["set"]


def test_a_folder_that_cannot_take_its_place(folder, monkeypatch):
    before, rename = content(folder.parent), Path.rename

    def refuse(self, target):
        if Path(target) == folder.resolve() and (self / "meta" / "info").read_text() == "new":
            raise OSError("busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OutputError, match=r"cannot be written \(busy\)"):
        with replacing(folder, overwrite=True) as new:
            fill(new)
    assert content(folder.parent) == before and os.listdir(folder.parent) == ["set"]


def test_a_link_is_followed(folder):
    link = folder.parent / "link"
    link.symlink_to(folder)
    with replacing(link, overwrite=True) as new:
        fill(new)
    assert link.is_symlink() and content(folder) == {Path("meta/info"): "new"}
