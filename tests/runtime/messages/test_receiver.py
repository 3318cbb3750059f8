"""Messages with and without stamps on one topic."""

from types import SimpleNamespace

import numpy as np
import pytest

from fakes import RecordingEstimator
from player import Player

YEARS = 1e8  # seconds between the clock of the stamps and that of the arrivals


def play(lacking, **options):
    """States 0 ... 399 at 100 Hz, arriving up to 4 ms later; some messages lack a stamp."""

    def extract(message):
        return np.array([message.data])

    extract.joints, extract.forget, extract.notice = (), lambda: None, ""
    extract.stamp = lambda message: message.stamp
    player = Player(RecordingEstimator(n_min=8), extract, lag=2, window=20, **options)
    late = 0.004 * np.random.default_rng(0).random(400)
    for i in range(400):
        stamp = None if i in lacking else 1.7e9 + i / 100
        player.push(SimpleNamespace(data=float(i), stamp=stamp), 1.7e9 + YEARS + i / 100 + late[i])
        if i > lacking[-1] or lacking[0]:
            assert player.window.newest == pytest.approx(1.7e9 + i / 100, abs=0.0041)
    assert player.window.counts["accepted"] == 400 and player.receivers[0].mixed
    return player


@pytest.mark.parametrize("options", [{}, {"lag_seconds": 0.02}])
@pytest.mark.parametrize("lacking", [range(50, 400, 50), range(100, 300)])
def test_messages_without_stamps_are_dated_on_the_clock_of_the_others(lacking, options):
    player = play(lacking, **options)
    assert player.window.counts["resets"] == 0
    calls = player.stream.estimator.calls
    assert len(calls) == 400 - 21
    for call in calls:
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 0], 2)


def test_a_topic_whose_first_messages_lack_stamps_starts_anew_once():
    assert play(range(30)).window.counts["resets"] == 1
