"""The command as a process: files that it cannot read or write, and interrupts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import complaint
from infoatlas_rt.cli.main import main
from infoatlas_rt.estimation.estimator import Estimator

MAIN = [sys.executable, "-m", "infoatlas_rt"]


def run(*arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **options}
    return subprocess.run([*MAIN, *arguments], **options)


def test_a_reader_that_leaves():
    """infoatlas-rt info | head -c 1 prints one line and no traceback."""
    process = subprocess.Popen(
        [*MAIN, "info", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait() == 0


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no full device")
@pytest.mark.parametrize("arguments", [["info", "--json"], ["--help"]])
def test_a_full_disk(arguments):
    with FULL.open("w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"infoatlas-rt: the result cannot be written ([Errno 28]")


@pytest.mark.skipif(not FULL.exists(), reason="no full device")
def test_a_full_disk_under_a_file(samples, tmp_path, capsys):
    for option, name in (("--json", "a.json"), ("--plot", "a.png")):
        (tmp_path / name).symlink_to(FULL)
        quick = ["test", *samples, "--permutations", "2", "--slices", "2"]
        assert main([*quick, option, str(tmp_path / name)]) == 1
        out, error = capsys.readouterr()
        assert error.count("\n") == 1 and "cannot be written" in error
        assert "No space left" in error and out == ""


def test_a_closed_stdout(samples):
    """It is reported before any computation."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *MAIN, "estimate", *samples],
        stderr=subprocess.PIPE,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"infoatlas-rt: stdout is") and b"\n" not in done.stderr[:-1]


def test_an_ascii_locale(samples):
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = run("estimate", *samples, env=plain)
    assert done.returncode == 0 and done.stderr == b"" and b" +- " in done.stdout
    assert run("--help", env=plain).returncode == 0
    strange = samples[0].replace("x.npy", "µ€.npy")
    shutil.copy(samples[0], strange)
    done = run("test", strange, samples[1], "--permutations", "2", env=plain)
    assert done.returncode == 0 and b"?.npy" in done.stdout


@pytest.mark.parametrize("option", ["--plot", "--json"])
@pytest.mark.parametrize("target", ["folder.png", "none/a.png", "x" * 300 + ".png", "a\0b.png"])
def test_targets_are_checked_before_computing(capsys, tmp_path, monkeypatch, option, target):
    monkeypatch.chdir(tmp_path)
    Path("folder.png").mkdir()
    np.save("x.npy", np.arange(80.0))
    monkeypatch.setattr(Estimator, "prepare", lambda *a, **b: pytest.fail("it has computed"))
    error = complaint(capsys, "test", "x.npy", "x.npy", option, target)
    assert "cannot be written" in error and error.count("\n") == 1


AT_IMPORT = """
import os, signal, sys
from importlib import abc
# A background job may inherit an ignored SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
from infoatlas_rt.__main__ import main
class Interrupt(abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["argparse", "numpy", "infoatlas_rt.estimation.result"])
def test_an_interrupt(samples, name):
    command = [sys.executable, "-c", AT_IMPORT.format(name=name), "estimate", *samples]
    done = subprocess.run(command, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"interrupted\n")
