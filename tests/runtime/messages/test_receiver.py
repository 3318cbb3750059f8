"""Messages with and without stamps on one topic."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.messages.receiver import Receiver
from player import Player

YEARS = 1e8  # seconds between the clock of the stamps and that of the arrivals


def extractor():
    def extract(message):
        return np.array([message.data])

    extract.joints, extract.forget, extract.notice = (), lambda: None, ""
    extract.stamp = lambda message: message.stamp
    return extract


def messages(lacking):
    """Messages at 100 Hz with their arrivals up to 4 ms later; those in `lacking` have no stamp."""
    late = 0.004 * np.random.default_rng(0).random(400)
    for i in range(400):
        stamp = None if i in lacking else 1.7e9 + i / 100
        yield SimpleNamespace(data=float(i), stamp=stamp), 1.7e9 + YEARS + i / 100 + late[i]


@pytest.mark.parametrize("lacking", [range(50, 400, 50), range(100, 300)])
def test_messages_without_stamps_are_dated_on_the_clock_of_the_others(lacking):
    receiver = Receiver(extractor())
    for i, (message, arrival) in enumerate(messages(lacking)):
        sample = receiver.receive(message, arrival)
        assert sample.arrived == (i in lacking)
        assert sample.stamp == pytest.approx(1.7e9 + i / 100, abs=0.0041)
    assert receiver.mixed
    receiver.forget()
    assert not receiver.mixed


@pytest.mark.parametrize("options", [{}, {"lag_seconds": 0.02}])
def test_they_are_states_like_the_others(options):
    player = Player(RecordingEstimator(n_min=8), extractor(), lag=2, window=20, **options)
    for message, arrival in messages(range(50, 400, 50)):
        player.push(message, arrival)
    counts = player.window.counts
    assert counts["accepted"] == 400 and counts["resets"] == 0
    calls = player.stream.estimator.calls
    assert len(calls) == 400 - 21
    for call in calls:
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 0], 2)


def test_a_topic_whose_first_messages_lack_stamps_starts_anew_once():
    player = Player(RecordingEstimator(n_min=8), extractor(), lag=2, window=20)
    for message, arrival in messages(range(30)):
        player.push(message, arrival)
    assert player.window.counts["resets"] == 1 and player.receivers[0].mixed
    assert player.window.counts["accepted"] == 400
