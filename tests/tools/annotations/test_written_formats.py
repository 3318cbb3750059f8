"""The list of formats that annotations are written in."""

from __future__ import annotations

from importlib import import_module

import pytest

from infoatlas_rt import InputError
from infoatlas_tools.annotations.written_formats import FORMATS, check_format, check_out


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
    with pytest.raises(InputError, match=f"^{why}"):
        check_format(None, **options)


def test_the_name_of_a_file_fits_its_format(tmp_path):
    check_out(None, tmp_path / "a.csv", "csv")
    with pytest.raises(InputError, match=r"^out .*a.txt: .* end in .csv, or choose another format"):
        check_out(None, tmp_path / "a.txt", "csv")
