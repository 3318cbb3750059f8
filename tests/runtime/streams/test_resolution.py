"""Resolution of coordinates, estimated from their noise at rest."""

import numpy as np
import pytest

from infoatlas_rt.streams.resolution import FINEST, RestingNoise


def learned(positions: np.ndarray) -> np.ndarray:
    """Resolutions [T - 1] after each increment of one coordinate [T]."""
    noise, found = RestingNoise(), []
    for change in np.diff(positions):
        noise.add(np.array([change]))
        found.append(noise.resolution[0])
    return np.array(found)


def moved(rests: int = 60, moves: int = 40, times: int = 6) -> np.ndarray:
    """Positions that rest, and between rests move by 0.3 to and fro."""
    sign = np.resize([1.0, -1.0], times)
    speed = 0.6 / moves * np.sin(np.pi * (np.arange(moves) + 0.5) / moves) ** 2
    return np.concatenate([np.r_[np.zeros(rests), way * speed] for way in sign]).cumsum()


@pytest.mark.parametrize("sigma", [1e-4, 5e-4, 2e-3])
def test_three_deviations_of_the_increments_at_rest(sigma):
    rng = np.random.default_rng(0)
    path = moved()
    noisy = path + sigma * rng.standard_normal(len(path))
    noisy[rng.random(len(path)) < 0.005] += 0.05
    early, late = learned(noisy)[[59, -1]] / (3 * np.sqrt(2) * sigma)
    assert 0.6 < early < 1.5 and 0.85 < late < 1.15


def test_rarely_changing_steps_of_a_quantised_position_at_rest():
    step = 1e-3
    path = np.round((moved() + 2e-4) / step) * step
    assert (np.diff(path) == 0).mean() > 0.5 and step < learned(path)[-1] < 3 * step


@pytest.mark.parametrize("name", ["sines", "slow", "walk", "smooth walk", "shaken", "no noise"])
def test_motion_is_not_taken_for_noise(name):
    """A coordinate that never rests, or rests without noise, keeps the floor."""
    rng, time = np.random.default_rng(1), np.arange(3000) / 20
    walk = rng.standard_normal(3000)
    smooth = np.convolve(walk, 0.8 ** np.arange(20))[:3000]
    path = {
        "sines": np.sin(2 * time) + np.sin(3.7 * time),
        "slow": np.sin(0.6 * time),
        "walk": walk.cumsum(),
        "smooth walk": smooth.cumsum(),
        "shaken": np.sin(2 * np.pi * 5 * time * 20 / 30),
        "no noise": moved() + 1e-9 * rng.standard_normal(600),
    }[name]
    assert learned(path).max() == FINEST


def test_a_hole_starts_a_block_anew():
    """The earlier estimate is kept."""
    rng = np.random.default_rng(2)
    noise = RestingNoise()
    for i in range(200):
        noise.add(None if i % 12 == 0 else np.array([rng.standard_normal()]))
    assert noise.resolution[0] == FINEST  # no block is complete
    for change in np.diff(rng.standard_normal(100)):
        noise.add(np.array([change]))
    before = noise.resolution[0]
    noise.add(None)
    assert before > 2 and noise.resolution[0] == before
