"""`python -m benchmarks GROUP`: which benchmarks run, in which order, and what they need."""

import subprocess
from importlib import import_module
from importlib.util import find_spec

import pytest

from benchmarks import __main__ as groups


@pytest.fixture
def started(monkeypatch):
    """Arguments and environment of each process that would start, and exit codes to return."""
    calls, codes = [], []

    def run(words, *, env, **_):
        calls.append((words, env))
        return subprocess.CompletedProcess(words, codes.pop(0) if codes else 0)

    monkeypatch.setattr(groups.subprocess, "run", run)
    return calls, codes


@pytest.mark.parametrize("name", groups.GROUPS)
def test_every_command_is_a_benchmark_that_takes_its_arguments(name, monkeypatch):
    for words in groups.commands(name, quick=True):
        module = (
            words[1]
            if find_spec(words[1]).origin.endswith("__init__.py") is False
            else (f"{words[1]}.__main__")
        )
        seen = []

        class Parsed(Exception):
            pass

        from benchmarks import report

        def parse(self, arguments=None, seen=seen, parse_args=report.Options.parse_args):
            seen.append(parse_args(self, arguments))
            raise Parsed

        with monkeypatch.context() as patch:
            patch.setattr(report.Options, "parse_args", parse)
            with pytest.raises(Parsed):
                import_module(module).main(words[2:])
        assert seen[0].quick
        assert seen[0].out.parts[:2] == ("build", "results")


def test_data_generation_has_one_thread_per_process(started, monkeypatch):
    monkeypatch.setattr(groups, "missing", lambda name: [])
    groups.main(["generation", "--quick"])
    ((words, env),) = started[0]
    assert words[1:] == ["-m", "benchmarks.generation", "--quick", "--out", "build/results"]
    assert env["OMP_NUM_THREADS"] == env["OPENBLAS_NUM_THREADS"] == "1"


def test_the_first_failure_ends_it(started, monkeypatch, capsys):
    monkeypatch.setattr(groups, "missing", lambda name: [])
    calls, codes = started
    codes += [0, 3]
    with pytest.raises(SystemExit) as ended:
        groups.main(["keystates", "--quick"])
    assert ended.value.code == 3
    assert len(calls) == 2
    assert "benchmarks.keystates.known failed with exit code 3" in capsys.readouterr().err


def test_a_missing_file_or_package_is_named_with_the_command_that_makes_it(
    started, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    monkeypatch.setattr(
        groups, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    with pytest.raises(SystemExit) as ended:
        groups.main(["accuracy"])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "no build/bmi/*.npz: make -B build/bmi/ready" in error
    assert "has no torch: make accuracy" in error
    assert started[0] == []
