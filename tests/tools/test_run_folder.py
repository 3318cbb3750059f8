"""Runs that are interrupted, and go on."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from infoatlas_rt.errors import OutputError
from infoatlas_tools import annotate
from infoatlas_tools.run_folder import keep_finished, run_folder

KILLED = """
import os, signal, sys
from infoatlas_tools import annotate
made, replace = [], os.replace
def count(part, target):
    if len(made) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(part, target)
    made.append(target)
os.replace, os.link = count, lambda *_: os.stat("")  # fails, as on another disk
annotate(sys.argv[1], 2).write(sys.argv[2])
"""


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("quality", [False, True])
def test_a_killed_run_goes_on(folder, tmp_path, caplog, monkeypatch, quality):
    """With another option it starts anew."""
    (folder / "large.bin").write_bytes(bytes(1 << 21))
    command = [sys.executable, "-c", KILLED, folder, tmp_path / "copy"]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert not (tmp_path / "copy").exists()
    annotations, made, replace = annotate(folder, 2), [], os.replace
    annotations.write(tmp_path / "whole", quality=quality)
    monkeypatch.setattr(os, "replace", lambda p, t: [made.append(t.stem), replace(p, t)])
    annotations.write(tmp_path / "copy", quality=quality)
    assert made == ["file-000", "file-001", "file-002"][0 if quality else 1 :]
    assert ("starts anew" if quality else "goes on") in caplog.text
    assert content(tmp_path / "copy") == content(tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["copy", "set", "whole"]


def test_an_interrupted_folder_stays_and_is_of_one_run_at_once(tmp_path):
    with pytest.raises(KeyboardInterrupt), run_folder(tmp_path / "copy", True) as room:
        with pytest.raises(OutputError, match="written by another run"):
            run_folder(tmp_path / "copy", True).__enter__()
        raise KeyboardInterrupt
    with run_folder(tmp_path / "copy", True) as again, run_folder(tmp_path / "c", True) as other:
        assert again == room != other
    assert not os.listdir(tmp_path)


def test_a_disk_without_locks(tmp_path, monkeypatch):
    """Each run has its own folder."""
    monkeypatch.setattr("fcntl.flock", lambda *_: os.stat(tmp_path / "absent"))
    with run_folder(tmp_path / "copy", True) as one, run_folder(tmp_path / "copy", True) as other:
        assert one != other
    assert not os.listdir(tmp_path)


def test_files_are_kept_if_they_are_made_of_the_same(tmp_path):
    for made_of, there in (([1, np.arange(3)], True), ([1, np.arange(2)], False)):
        (tmp_path / "copy").mkdir(exist_ok=True)
        keep_finished(tmp_path / "copy", [1, np.arange(3)])
        (tmp_path / "copy").mkdir(exist_ok=True)
        keep_finished(tmp_path / "copy", made_of)
        assert (tmp_path / "copy").exists() == there
