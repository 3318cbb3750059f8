"""Latency: statistics as in trtexec, and the stages of an update."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.cli import latency
from infoatlas_rt.estimation.estimator import Estimator


@pytest.mark.parametrize("n", [1, 7, 100, 333])
def test_statistics(n):
    seconds = np.random.default_rng(n).permutation(np.arange(1, n + 1)) / 1e3
    times = latency.statistics(seconds)
    in_order = list(range(1, n + 1))  # milliseconds
    for p in (90, 95, 99):
        expected = in_order[max(n - 1 - int((1 - p / 100) * n), 0)]
        assert getattr(times, f"p{p}") == pytest.approx(expected)
    assert (times.min, times.max) == pytest.approx((1, n))
    assert times.mean == pytest.approx((n + 1) / 2) and times.median == pytest.approx((n + 1) / 2)
    assert times.cv == pytest.approx(np.std(in_order) / np.mean(in_order))


class Clock(RecordingEstimator):
    """An estimator that lasts 30 ms per call on its own clock."""

    now, step = 0.0, 0.03

    def __call__(self) -> float:
        return self.now

    def estimate(self, x, y, **options):
        self.now += self.step
        return super().estimate(x, y, **options)


def test_measure_warms_up_and_runs_long_enough(monkeypatch):
    estimator, shares = Clock(), []
    monkeypatch.setattr(latency, "perf_counter", estimator)
    (report,) = latency.measure(
        [estimator], samples=50, dims=(7, 3), duration=0.01, progress=shares.append
    )
    assert report.iterations == 10  # the minimum, even for a short duration
    assert len(estimator.calls) == 10 + 7  # a warm-up of 0.2 s
    assert {(c.x.shape, c.y.shape) for c in estimator.calls} == {((50, 7), (50, 3))}
    assert np.isfinite(estimator.calls[0].x).all()
    total = report.stages["total"]
    assert (total.min, total.max) == pytest.approx((30, 30)) and not report.interrupted
    assert report.throughput == pytest.approx(1000 / 30)
    assert report.stages["inference"].median == pytest.approx(0.3)  # as the estimator reports
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert report.dims == (7, 3) and report.samples == 50
    (report,) = latency.measure([estimator], samples=50, dims=(3, 7), duration=0.59)
    assert report.iterations == 20


@pytest.mark.parametrize(("seconds", "updates", "calls"), [(70, 1, 1), (25, 3, 4), (5, 10, 11)])
def test_slow_updates_are_few(monkeypatch, seconds, updates, calls):
    """Up to a minute, or one update: also that of the warm-up."""
    clock = Clock()
    clock.step = seconds
    monkeypatch.setattr(latency, "perf_counter", clock)
    (report,) = latency.measure([clock], samples=50, dims=(3, 3))
    assert (report.iterations, len(clock.calls)) == (updates, calls)


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    class Interrupted(Clock):
        def estimate(self, x, y, **options):
            if len(self.calls) == self.last:
                raise KeyboardInterrupt
            return super().estimate(x, y, **options)

    clocks = Interrupted(), Interrupted()
    clocks[0].last, clocks[1].last = 9, 0
    monkeypatch.setattr(latency, "perf_counter", clocks[0])
    (report,) = latency.measure(clocks, samples=50, dims=(3, 3))  # the second has no update
    assert report.interrupted and report.iterations == 7
    clocks[0].last = 12
    (report,) = latency.measure(clocks[:1], samples=50, dims=(3, 3))
    assert report.interrupted and report.iterations == 5
    with pytest.raises(KeyboardInterrupt):
        latency.measure(clocks[1:], samples=50, dims=(3, 3))


def test_estimators_take_turns(monkeypatch):
    """So that a slow minute of the machine affects both."""
    clock, order = Clock(), []

    class Turn(RecordingEstimator):
        def estimate(self, x, y, **options):
            order.append(self)
            return clock.estimate(x, y, **options)

    monkeypatch.setattr(latency, "perf_counter", clock)
    first, second = Turn(), Turn()
    reports = latency.measure([first, second], samples=50, dims=(3, 3), duration=0.59)
    assert [report.iterations for report in reports] == [20, 20]
    assert [report.millijoules for report in reports] == [None, None]
    assert order == [first] * 7 + [second] * 7 + [first, second] * 20


def test_stages_of_a_real_update():
    (report,) = latency.measure([Estimator(k=2, slices=2, threads=1)], dims=(6, 9), duration=0.2)
    stages = report.stages
    parts = sum(stages[name].mean for name in ("slicing", "preprocessing", "inference"))
    assert 0 < parts <= stages["total"].mean  # each stage is a part of the total
    assert report.slices == 2 and report.k == 2 and report.threads == 1
    assert report.peak_memory_mb is None or 20 < report.peak_memory_mb < 100_000
    assert {"python", "numpy", "infoatlas-rt", "onnxruntime"} <= set(report.versions)
    assert report.machine
    assert report.load is None or report.load >= 0
    values = json.loads(json.dumps(asdict(report), allow_nan=False))
    assert values["stages"]["total"]["p99"] == stages["total"].p99
