"""Couplings: when two groups begin to move together, and when they stop."""

import numpy as np
import pytest

from episodes import pickcube
from infoatlas_rt.streams.coupling import CouplingDetector
from infoatlas_rt.streams.event_thresholds import COUPLED_ABOVE, COUPLING_Z
from refusals import refuses

TAKEN, LEFT = 60, 110


def hand(seed: int = 0, n: int = 150) -> np.ndarray:
    """Positions [n, 3] in metres of something that moves to and fro by up to 1 cm per step."""
    rng = np.random.default_rng(seed)
    time = np.arange(n)[:, None] / 20
    rates, phases = rng.uniform(1.5, 4.0, (2, 3)), rng.uniform(0, 6, (2, 3))
    return 0.05 * sum(np.sin(rates[i] * time + phases[i]) for i in range(2))


def carried(tool: np.ndarray, first: int = TAKEN, last: int = LEFT) -> np.ndarray:
    """An object that moves with the tool from `first` to `last`, and otherwise rests."""
    return tool[np.clip(np.arange(len(tool)), first, last)] + [0.0, 0.0, 0.02]


def run(detector: CouplingDetector, a: np.ndarray, b: np.ndarray, **stamps: np.ndarray) -> list:
    at = stamps.get("stamps", [None] * len(a))
    return [e for x, y, t in zip(a, b, at, strict=True) for e in detector.push(x, y, t)]


@pytest.mark.parametrize("seed", range(3))
def test_taken_along_and_left(estimator, seed):
    tool = hand(seed)
    stamps = 100 + np.arange(150) / 20
    events = run(CouplingDetector(estimator), tool, carried(tool), stamps=stamps)
    assert [event.kind for event in events] == ["coupled", "decoupled"]
    taken, left = events
    assert TAKEN < taken.detected_step <= TAKEN + 30 and LEFT < left.detected_step <= LEFT + 10
    assert abs(taken.step - TAKEN) <= 5 and abs(left.step - LEFT) <= 3
    for event in events:
        assert event.stamp == stamps[event.step]
        assert event.detected_stamp == stamps[event.detected_step]
    assert taken.value > COUPLED_ABOVE and taken.z > COUPLING_Z and taken.stderr > 0


def test_an_object_at_rest_is_never_coupled(estimator):
    """Neither exactly at rest, nor with numerical noise, nor with the noise of a camera."""
    rng = np.random.default_rng(0)
    early = 0
    for seed in range(3):
        tool = hand(seed)
        for noise, resolution in ((0.0, 1e-5), (1e-9, 1e-5), (3e-4, (1e-5, 3e-4))):
            object_ = noise * rng.standard_normal(tool.shape)
            detector = CouplingDetector(estimator, resolution=resolution)
            early += bool(run(detector, tool, object_))
            assert noise > 1e-6 or (detector.latest.estimate.mi == 0.0 and not detector.coupled)
    assert early <= 1


def test_both_at_rest_decide_nothing(estimator):
    """While the tool holds the object still, they stay coupled; so they do when moving again."""
    path = hand(1, 250)
    held = 120 + np.clip(np.arange(250) - 170, 0, 80)  # at rest from 120 to 170
    tool = path[np.where(np.arange(250) < 120, np.arange(250), held)]
    detector = CouplingDetector(estimator)
    events = run(detector, tool, carried(tool, TAKEN, 250))
    assert [event.kind for event in events] == ["coupled"] and detector.coupled
    assert run(CouplingDetector(estimator), tool[:1].repeat(60, 0), tool[:1].repeat(60, 0)) == []


def test_put_back(estimator):
    """A demonstration, then reversed: no second coupling while the first is in the window."""
    states = pickcube()[0][1]
    path = np.r_[states, states[-2::-1]]
    events = run(CouplingDetector(estimator), path[:, 18:21], path[:, 28:31])
    assert [event.kind for event in events] == ["coupled", "decoupled"]


def test_it_is_causal(estimator):
    """Later states do not change earlier reports."""
    tool = hand(2)
    whole = run(CouplingDetector(estimator), tool, carried(tool))
    part = run(CouplingDetector(estimator), tool[:100], carried(tool)[:100])
    assert part == [event for event in whole if event.detected_step < 100] and part


def test_holes_and_restarts(estimator):
    tool = hand(3)
    thing = carried(tool)
    expected = run(CouplingDetector(estimator), tool, thing)
    detector = CouplingDetector(estimator, reset_after=0.5)
    stamps = 50 + np.arange(150) / 20
    broken = tool.copy()
    broken[20, 1] = np.nan
    run(detector, broken[:70], thing[:70], stamps=stamps[:70])
    assert detector.window.counts["NaN"] == 1
    # A loop of a bag: stamps jump back, and everything is as the first time.
    again = run(detector, tool, thing, stamps=stamps - 20)
    assert detector.window.counts["resets"] == 1
    one, other = ([(e.kind, e.step, e.value) for e in own] for own in (again, expected))
    assert one == other
    detector.reset()
    assert not detector.coupled and detector.latest is None
    assert [e.step for e in run(detector, tool, thing)] == [e.step for e in expected]


def test_a_lost_state_makes_no_motion(estimator):
    """No increment spans a hole: a jump there causes no coupling."""
    tool = hand(4)
    thing = np.zeros_like(tool)
    thing[80:] += 0.3  # moved during the hole
    broken = thing.copy()
    broken[79:81] = np.nan
    assert run(CouplingDetector(estimator, window=48), tool, broken) == []


def test_picked_cubes(estimator):
    """Never before the grasp; found except in episodes that end right after it."""
    states, grasps, _ = pickcube()
    delays = []
    for state, grasp in zip(states[:4], grasps[:4], strict=True):
        events = run(CouplingDetector(estimator), state[:, 18:21], state[:, 28:31])
        assert all(event.kind == "coupled" for event in events)
        assert all(event.detected_step >= grasp for event in events)
        assert all(event.step >= grasp - 1 for event in events)  # both have to move
        delays += [event.detected_step - grasp for event in events[:1]]
    assert len(delays) >= 3 and np.median(delays) <= 16


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"enter": 0.1, "leave": 0.2}, "leave is 0.2"),
        ({"enter": np.inf}, "both finite"),
        ({"z": -1.0}, "z is -1.0"),
        ({"z": np.inf}, "z is inf, but has to be finite"),
        ({"window": 8}, "window=8"),
        ({"resolution": -1.0}, "resolution"),
        ({"resolution": (1.0, 1.0, 1.0)}, "resolution"),
    ],
)
def test_arguments_that_cannot_work(estimator, options, named):
    refuses(named, CouplingDetector, estimator, **options)


def test_a_coupling_just_begun_is_not_over(estimator):
    """The window is full of earlier states: a low estimate there is not a decoupling."""
    states = pickcube()[0][0]
    events = run(CouplingDetector(estimator), states[:, 28:31], states[:, 18:21])
    assert [event.kind for event in events] == ["coupled"]


def test_the_resolution_is_that_of_the_noise_at_rest(estimator):
    """Noise of 0.5 mm on the object: one coupling, also through a pause; no false event."""
    rng = np.random.default_rng(1)
    tool = np.concatenate([hand(1, 1)[[0] * 60], hand(1, 200)])
    held = np.clip(np.arange(len(tool)), 120, 200)
    thing = tool[held] + 5e-4 * rng.standard_normal(tool.shape)
    detector = CouplingDetector(estimator)
    events = run(detector, tool, thing)
    assert [event.kind for event in events] == ["coupled", "decoupled"]
    assert 120 < events[0].detected_step < 160 and 200 < events[1].detected_step < 250
    first, second = detector.resolution
    assert (first == 1e-5).all()
    np.testing.assert_allclose(second, 3 * np.sqrt(2) * 5e-4, rtol=0.35)
    coarsest = events[0].to_dict()["resolution"]
    assert coarsest[0] == 1e-5 and coarsest[1] == pytest.approx(2.1e-3, rel=0.4)


@pytest.mark.parametrize("seed", [11, 14, 28, 56])
def test_noise_of_a_coordinate_that_is_not_known_yet(estimator, seed):
    """An object rests from the start; in some coordinates that is found later than in others."""
    rng, tool = np.random.default_rng(seed), 0.1 * hand(seed, 70)
    both = [side + 1e-3 * rng.standard_normal(tool.shape) for side in (tool, 0 * tool)]
    assert run(CouplingDetector(estimator), *both) == []


def test_two_that_move_from_the_start_are_no_noise(estimator):
    tool = hand(0, 60)
    detector = CouplingDetector(estimator)
    events = run(detector, tool, carried(tool, 0, 60))
    assert [event.kind for event in events] == ["coupled"]
    assert max(side.max() for side in detector.resolution) == 1e-5
