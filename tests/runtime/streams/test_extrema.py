"""The causal detector of extrema, on curves with known extrema."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_rt.streams.sliding_window import WindowEstimate
from refusals import refuses

N = 100
SHARED = np.random.default_rng(5).standard_normal(N)  # contributions of the samples at all times
SHARED -= SHARED.mean()


def detect(shape, paired=0.02, common=0.2, seed=0, z=4, **options):
    """Extrema of a curve whose estimates share most of their noise, as those of a robot do.

    `common` is the standard error that all estimates share, and `paired` an additional independent
    one of each estimate, to which z refers.
    """
    own = np.random.default_rng(seed).standard_normal((len(shape), N))
    influence = np.sqrt(N) * (paired * own + common * SHARED)
    detector = ExtremumDetector(z=z, **{"delay": 20} | options)
    found = []
    for t, value in enumerate(shape):
        found += detector.update(value + influence[t].mean(), influence=influence[t])
    return found


def hill(top=50, height=1.0, width=12.0, length=100):
    return 1.0 + height * np.exp(-0.5 * ((np.arange(length) - top) / width) ** 2)


@pytest.mark.parametrize("top", [25, 50, 70])
def test_a_hill_is_one_maximum(top):
    (state,) = detect(hill(top), kinds=["maximum", "minimum"])
    assert state.kind == "maximum" and abs(state.index - top) <= 3 and abs(state.value - 2.0) < 0.1
    assert 0.8 < state.prominence < 1.1 and 4 < state.z < 8
    assert state.index < state.detected_at <= state.index + 20


def test_two_hills_and_the_valley_between_alternate():
    states = detect(hill(25) + hill(75) - 1, kinds=["maximum", "minimum"])
    assert [s.kind for s in states] == ["maximum", "minimum", "maximum"]
    np.testing.assert_allclose([s.index for s in states], [25, 50, 75], atol=4)


@pytest.mark.parametrize(("kinds", "expected"), [(["minimum"], 1), (["change"], 4)])
def test_only_what_is_asked_for_is_reported(kinds, expected):
    states = detect(hill(25, width=5) + hill(75, width=5) - 1, kinds=kinds)
    assert [s.kind for s in states] == kinds * expected


def test_steps_are_changes_where_they_are_and_a_ramp_has_none():
    step = np.where(np.arange(100) < 40, 1.0, 2.0)
    (up,) = detect(step)
    assert up.kind == "change" and abs(up.index - 40) <= 2 and abs(up.prominence - 1) < 0.1
    (down,) = detect(3 - step)
    assert down.kind == "change" and abs(down.prominence + 1) < 0.1
    assert detect(np.linspace(1, 3, 100)) == []


def test_differences_are_judged_in_pairs():
    """A hill of 1.4 single standard errors is significant, because the estimates share samples."""
    low = hill(height=0.3)
    single = np.hypot(0.02, 0.2)
    (state,) = detect(low, kinds=["maximum"])
    assert abs(state.index - 50) <= 4
    unpaired = ExtremumDetector(delay=20)
    assert not [s for value in low for s in unpaired.update(value, noise=single)]


@pytest.mark.parametrize("z", [3.0, 3.5, 5.0])
def test_z_is_what_was_compared_with_the_threshold(z):
    """At the estimate before the report, the same number is below the threshold."""
    height, single = hill(), 0.05
    (state,) = _independent(height, single, z)
    before, then = height[state.index] - height[[state.detected_at - 1, state.detected_at]]
    assert before / (np.sqrt(2) * single) <= z < state.z
    assert state.z == pytest.approx(then / (np.sqrt(2) * single))
    assert state.prominence == pytest.approx(1.0, abs=0.01)  # the rise, in nats

    # A step of steepness 1.05 z: its end differs from its middle by a pair of differences.
    step = np.where(np.arange(100) < 40, 1.0, 1.0 + 1.05 * z * 2 * single)
    (change,) = _independent(step, single, z, "change")
    assert change.z == pytest.approx(1.05 * z)


def _independent(curve, noise, z, kind="maximum"):
    detector = ExtremumDetector(kinds=[kind], z=z, delay=20)
    return [state for value in curve for state in detector.update(value, noise=noise)]


def test_slices_that_disagree_make_a_difference_uncertain():
    signs = np.where(np.arange(40) % 2, 1.0, -1.0)

    def run(spread, apart=0.0):
        detector = ExtremumDetector(kinds=["maximum"], delay=20)
        found = []
        for value in hill():
            slices = value + (spread * (value - 1) + apart) * signs
            found += detector.update(value, influence=np.zeros(N), per_slice=slices)
        return found

    assert len(run(0.1)) == 1  # slices differ in height, and all have a hill
    assert len(run(0.1, apart=9.0)) == 1  # or different levels
    assert run(3.0) == []


@pytest.mark.parametrize(("rho", "z", "limit"), [(0.9, 3.5, 0.05), (0.0, 4.0, 0.10)])
def test_noise_has_no_key_states(rho, z, limit):
    """The rate of false alarms that the module's docstring states (fewer curves, wider limits)."""
    curves, alarms = 60, 0
    for seed in range(curves):
        noise = np.random.default_rng(seed).standard_normal((100, N))
        for t in range(1, 100):
            noise[t] = rho * noise[t - 1] + np.sqrt(1 - rho**2) * noise[t]
        detector = ExtremumDetector(z=z, delay=20)
        alarms += any([detector.update(row.mean(), influence=row) for row in noise])
    assert alarms <= limit * curves


def test_a_flat_top_is_dated_to_its_end_within_the_delay():
    flat = np.interp(np.arange(100), [0, 20, 60, 70, 99], [1, 2, 2, 1, 1])
    (state,) = detect(flat, kinds=["maximum"], delay=10)
    assert 52 <= state.index <= 62 and state.detected_at <= 72


def test_a_slow_decline_has_no_moment():
    slow = np.interp(np.arange(400), [0, 20, 399], [1, 2, 1])
    assert detect(slow, paired=0.03, kinds=["maximum"], delay=10, z=5) == []
    # a later hill is still found
    (state,) = detect(np.r_[slow, hill(40)], paired=0.03, kinds=["maximum"], delay=10, z=5)
    assert abs(state.index - 440) <= 4


@pytest.mark.parametrize("delay", [1, 3, 10, 20])
def test_delay_is_kept_and_extrema_alternate(delay):
    total = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        walk = np.convolve(np.cumsum(rng.standard_normal(300)) * 0.3, np.ones(5) / 5)[:300]
        states = detect(walk, seed=seed, delay=delay)
        assert all(0 <= s.detected_at - s.index <= delay for s in states)
        assert [s.detected_at for s in states] == sorted(s.detected_at for s in states)
        extrema = [s.kind for s in states if s.kind != "change"]
        indices = [s.index for s in states if s.kind != "change"]
        assert indices == sorted(set(indices))
        # Two of a kind follow each other only if the turn between them is too slow.
        total += len(extrema)
    assert total > 20


def newest(step: int, mi: float, effect: np.ndarray) -> WindowEstimate:
    """An estimate of a window of 50 steps; each step keeps its influence while it is inside."""
    steps = np.arange(step - 49, step + 1)
    estimate = SimpleNamespace(mi=mi, influence=effect[steps], per_slice=np.array([mi]))
    return WindowEstimate(step / 10, estimate, 0.0, 1.0, 2, steps)


def test_windows_of_a_stream_are_paired_by_step():
    effect = 1.7 * np.random.default_rng(0).standard_normal(400)
    values = 1 + 1 * np.exp(-0.5 * ((np.arange(400) - 200) / 4.0) ** 2)

    def run(shift):
        detector = ExtremumDetector(kinds=["maximum"], delay=2.0)
        found = []
        for t in range(60, 300):
            now = newest(t, values[t], effect)
            if shift:  # as if no two windows shared a step
                now = WindowEstimate(now.stamp, now.estimate, 0.0, 1.0, 2, now.steps + 60 * t)
            found += detector.push(now)
        return found

    (state,) = run(shift=False)
    assert state.stamp == 20.0 and run(shift=True) == []


def test_pauses_are_left_out_and_a_stream_that_starts_anew_resets_the_detector():
    effect = np.random.default_rng(0).standard_normal(400)
    detector = ExtremumDetector(delay=2.0)
    for t in range(60, 100):
        detector.push(replace(newest(t, 1.0, effect), paused=t >= 90))
    assert detector.count == 30
    detector.push(newest(60, 1.0, effect))
    assert detector.count == 1


def new():
    return ExtremumDetector(delay=20)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ExtremumDetector(kinds=[], delay=1), "kinds is"),
        (lambda: ExtremumDetector(kinds=["peak"], delay=1), "use some of maximum, minimum, change"),
        (lambda: ExtremumDetector(delay=0), "delay is 0"),
        (lambda: new().update(1.0), "without influence or noise"),
        (lambda: new().update(1.0, influence=[0, np.inf]), "influence .* finite"),
        (lambda: new().update(1.0, influence=[[0.0]]), r"shape \(1, 1\)"),
        (lambda: new().update(1.0, influence=np.ma.masked_equal([0, 1], 0)), "nan"),
        (lambda: new().update(1.0, noise=0.1, per_slice=[1, np.nan]), "per_slice"),
        (lambda: new().update(1.0, noise=0.1, stamp=np.nan), "stamp is nan"),
        (lambda: new().update(1.0, noise=0.1, stamp="now"), "stamp is 'now'"),
        (lambda: new().update(1, influence=[0, 1], samples=[1, 1]), "not distinct"),
        (lambda: new().update(1, influence=[0, 1], samples=[0.5, 1]), "integers"),
        (lambda: ExtremumDetector(delay=np.inf), "delay is inf, but has to be finite"),
        (lambda: new().update(1, influence=[0, 1], samples=[1]), "pass as many"),
    ],
)
def test_wrong_use(call, message):
    refuses(message, call)


def test_estimates_of_another_estimator_are_refused():
    detector = ExtremumDetector(delay=20)
    detector.update(1.0, noise=0.1, per_slice=[1.0, 1.0])
    refuses("3 slices after one with 2", detector.update, 1.0, noise=0.1, per_slice=[1.0, 1.0, 1.0])
