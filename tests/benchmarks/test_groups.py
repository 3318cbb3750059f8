"""`python -m benchmarks GROUP`: which benchmarks run, in which order, and what they need."""

import subprocess
from importlib import import_module
from importlib.util import find_spec

import pytest

from benchmarks import __main__ as groups, report


class Parsed(Exception):
    """What a benchmark would do."""


@pytest.mark.parametrize(
    "words",
    [words for name in groups.GROUPS for words in groups.commands(name, quick=True)],
    ids=str,
)
def test_every_command_is_a_benchmark_that_takes_its_arguments(words, monkeypatch):
    parse = report.Options.parse_args

    def stop(self, arguments=None):
        raise Parsed(parse(self, arguments))

    monkeypatch.setattr(report.Options, "parse_args", stop)
    module = import_module(words[1])
    module = module if hasattr(module, "main") else import_module(f"{words[1]}.__main__")
    with pytest.raises(Parsed) as parsed:
        module.main(words[2:])
    (chosen,) = parsed.value.args
    assert chosen.quick and chosen.out.parts[:2] == ("build", "results")


def test_the_first_failure_ends_it(monkeypatch, capsys):
    calls, codes = [], [0, 3]

    def run(words, *, env, **_):
        calls.append(words)
        return subprocess.CompletedProcess(words, codes.pop(0))

    monkeypatch.setattr(groups.subprocess, "run", run)
    monkeypatch.setattr(groups, "missing", lambda name: [])
    with pytest.raises(SystemExit) as ended:
        groups.main(["keystates", "--quick"])
    assert ended.value.code == 3 and len(calls) == 2
    assert "benchmarks.keystates.known failed with exit code 3" in capsys.readouterr().err
    assert groups.environment("generation")["OMP_NUM_THREADS"] == "1"


def test_a_missing_file_or_package_is_named_with_the_command_that_makes_it(
    monkeypatch, tmp_path, capsys
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
