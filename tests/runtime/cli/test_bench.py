"""infoatlas-rt bench: output and refusals."""

import re
from dataclasses import replace

import pytest

from command_line import answer, printed
from infoatlas_rt.cli import bench, latency
from infoatlas_rt.cli.arguments import make_estimator
from infoatlas_rt.cli.main import main

QUICK = ("bench", "--k", "1", "--slices", "2", "--dims", "3", "3", "--duration", "0.05")


def test_all_providers_are_measured_or_refused_with_the_reason(capsys):
    found = answer(capsys, *QUICK, "--provider", "all")
    measured = [report["provider"] for report in found["reports"]]
    assert "cpu" in measured and {*measured, *found["refused"]} == set(bench.ALL_PROVIDERS)
    for provider, why in found["refused"].items():
        assert provider in why


def test_native_is_measured_beside_the_cpu(monkeypatch, capsys):
    """Both are the CPU: the test concerns the use of their times."""
    made = []

    def make(arguments):
        made.append(arguments.provider)
        arguments.provider = "cpu"
        return make_estimator(arguments)

    taken = latency.measure

    def measure(estimators, **options):
        first, second = taken(estimators, **options)
        return [replace(first, provider="native"), second]

    monkeypatch.setattr(bench, "make_estimator", make)
    monkeypatch.setattr(latency, "measure", measure)
    found = answer(capsys, *QUICK, "--provider", "native")
    assert made == ["native", "cpu"] == [report["provider"] for report in found["reports"]]
    native, cpu = (report["stages"]["total"] for report in found["reports"])
    ratio = found["native_over_cpu"]["total"]
    assert ratio["median"] == pytest.approx(native["median"] / cpu["median"])
    out = printed(capsys, *QUICK, "--provider", "native")
    assert "Model edge on native" in out and "Model edge on cpu" in out
    assert re.search(r"Native over cpu.*inference \d\.\d{3}, total \d\.\d{3}", out)


def test_an_interrupt_prints_what_there_is(monkeypatch, capsys):
    taken = latency.measure

    def measure(*some, **options):
        return [replace(one, interrupted=True) for one in taken(*some, **options)]

    monkeypatch.setattr(latency, "measure", measure)
    assert main([*QUICK, "--provider", "cpu"]) == 130
    out, error = capsys.readouterr()
    assert "Spread of the total: " in out and "load before: " in out and error == "interrupted\n"
