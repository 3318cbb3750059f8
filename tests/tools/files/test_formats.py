"""Files of other programs: a message describes how to convert them."""

import pytest

from command_line import complaint


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("a.ulg", "ulog2csv"),
        ("a.mat", "writematrix"),
        ("a.pkl", "numpy.save"),
        ("a.pt", "torch.load, and save its numbers"),
        ("a.json", "json.load, and save its numbers"),
        ("a.jsonl", "json.loads, and save its numbers"),
        ("a.xlsx", "save the sheet as CSV"),
        ("a.zarr", "numpy.savez"),
        ("a.csv.gz", "unpack it"),
    ],
)
@pytest.mark.parametrize("command", ["keystates", "annotate", "curve", "bag", "estimate", "test"])
def test_every_command_says_the_way(tmp_path, name, way, command, capsys):
    path = tmp_path / name
    path.mkdir() if name == "a.zarr" else path.write_bytes(b"anything")
    files = [str(path)] * (2 if command in ("estimate", "test") else 1)
    more = ["--out", str(tmp_path / "out.csv")] if command == "annotate" else []
    error = complaint(capsys, command, *files, *more)
    assert str(path) in error and way in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "way"),
    [("a.bag", "infoatlas-rt bag"), ("a.h5", "infoatlas-rt keystates"), ("a.log", "convert it")],
)
def test_files_that_other_commands_read(tmp_path, name, way, capsys):
    (tmp_path / name).write_bytes(b"anything")
    assert way in complaint(capsys, "estimate", tmp_path / name, tmp_path / name)
