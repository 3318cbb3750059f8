"""What key states meet, and whether they are found again, for known answers."""

from dataclasses import replace

import numpy as np
import pytest

from infoatlas_tools import discover_keystates
from infoatlas_tools.keystates.contacts.contact_events import Event
from infoatlas_tools.keystates.contacts.event_names import EventKind, What
from infoatlas_tools.keystates.trust import trust
from infoatlas_tools.keystates.trust.trust import has_bursts, measure_met, measure_reproduced
from regimes import demonstrations

LENGTHS = np.full(8, 400)
RNG = np.random.default_rng(0)
TRUTH = np.sort(RNG.choice(np.arange(20, 380, 12), (8, 4)), axis=1)


def events(steps):
    kind = EventKind(What.CLOSES, gripper="gripper")
    return [[Event(int(t), kind, 1.0) for t in row] for row in steps]


def test_perfect_steps_meet_everything_and_evenly_spaced_ones_nothing():
    evenly = np.tile(np.arange(1, 5) * 399 / 5, (8, 1)).round().astype(np.int64)
    perfect = measure_met(events(TRUTH), np.ma.array(TRUTH), LENGTHS, 20.0)
    near = (np.abs(TRUTH[:, :, None] - evenly[:, None]) <= 5).any(axis=2)  # 0.25 s
    assert perfect == pytest.approx(1 - near.mean()) and perfect > 0.7
    met = measure_met(events(TRUTH), np.ma.array(evenly), LENGTHS, 20.0)
    assert met == pytest.approx(0, abs=0.05)
    assert measure_met(events(evenly), np.ma.array(evenly), LENGTHS, 20.0) == 0
    assert measure_met(events(TRUTH), np.ma.array(np.tile([1, 2, 3, 4], (8, 1))), LENGTHS, 20.0) < 0
    assert np.isnan(measure_met(events(TRUTH[:, :0]), np.ma.array(TRUTH), LENGTHS, 20.0))


def test_masked_steps_meet_nothing():
    some = np.ma.array(TRUTH, mask=np.zeros(TRUTH.shape, bool))
    some[:, 2:] = np.ma.masked
    all_of_them = measure_met(events(TRUTH), np.ma.array(TRUTH), LENGTHS, 20.0)
    assert measure_met(events(TRUTH), some, LENGTHS, 20.0) < all_of_them - 0.3


@pytest.mark.parametrize("length", [400, 40])
@pytest.mark.parametrize(("away", "meets"), [(5, 1), (6, 0)])
def test_a_key_state_meets_within_a_quarter_of_a_second(away, length, meets):
    steps = np.ma.array(np.full((3, 1), 3))
    assert measure_met(events(steps.data + away), steps, np.full(3, length), 20.0) == meets


def test_few_demonstrations_and_unlikely_rates_are_reasons():
    def said(count, rate, labelled=False):
        return "".join(trust.data_reasons(np.full(count, 270), rate, labelled))

    assert said(8, 1500).startswith("At 1500 Hz, demonstrations last 0.18 s (median)")
    assert said(2, 0.15, True).startswith("At 0.15 Hz, demonstrations last 1,800 s (median)")
    assert "one demonstration" in said(1, None) and "3 demonstrations are few" in said(3, 15)
    assert said(2, 15, True) == said(4, None) == ""


@pytest.mark.parametrize("kind", ["white", "walk"])
def test_noise_has_no_bursts(kind):
    rng = np.random.default_rng(1)
    states = [rng.standard_normal((100, 4)) for _ in range(6)]
    states = [s.cumsum(axis=0) for s in states] if kind == "walk" else states
    assert not has_bursts(states, np.zeros(4))
    switch = [np.repeat([0.0, 1.0, 0.0], [30, 40, 30])[:, None] + 0.001 * s for s in states]
    assert has_bursts(switch, np.zeros(4)) and not has_bursts([s[:5] for s in switch], np.zeros(4))


def test_true_steps_are_found_again_and_random_ones_are_not():
    states, cuts = demonstrations(count=16)
    recordings = discover_keystates(states, count=1).recordings
    scales, working = recordings.scales, recordings.states
    true = measure_reproduced(scales, working, cuts.astype(float))
    lengths = np.array([len(s) for s in working])
    random = np.random.default_rng(0).uniform(0.1, 0.9, (16, 2)) * lengths[:, None]
    assert true.min() > 0.25 and measure_reproduced(scales, working, random.round()).max() < 0.1
    some = np.where(np.arange(16)[:, None] < 8, cuts, np.nan)  # half of them lack both
    assert np.isfinite(measure_reproduced(scales, working, some)).all()
    assert np.isnan(measure_reproduced(scales, working[:1], cuts[:1].astype(float))).all()
    assert np.isnan(measure_reproduced(scales, working, np.full((16, 1), np.nan))).all()


def test_kinds_that_do_not_repeat_by_motion_have_a_warning():
    """A gripper closes while the arm does anything: of other demonstrations nothing is like it."""
    states, cuts = demonstrations(count=16)
    found = discover_keystates(states, count=1)
    kinds = (EventKind(What.CLOSES, gripper="gripper"),)
    evidence = replace(found.evidence, events=events(cuts[:, :1]), grippers={"gripper": (0,)})
    one = replace(found.found, events=kinds, shared=np.ones(1, bool))
    assert not trust.reasons(one, evidence, np.array([0.8]))
    (text,) = trust.reasons(one, evidence, np.array([-0.1]))
    assert text.startswith("By their motion, other demonstrations find the key states again no")
    moves = replace(one, events=(EventKind(What.BEGINS, "cube"),))
    (text,) = trust.reasons(moves, evidence, np.array([0.8]))
    assert text.startswith("All key states are of one kind, cube begins to move")
