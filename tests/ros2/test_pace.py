"""The node chooses the number of slices if none is set."""

from types import SimpleNamespace

import pytest
from harness import START, joint_states, values, walk

from infoatlas_ros2.maker import LEAST, SLICES, Maker
from infoatlas_ros2.parameters import Settings


@pytest.fixture(scope="module")
def maker():
    extractor = SimpleNamespace(dim=14, joints=())
    return Maker(Settings(threads=1, provider="cpu", lag_seconds=0.0), [extractor])


@pytest.mark.parametrize(
    ("ten", "forty", "slices", "slow"),
    [
        (0.004, 0.015, None, False),  # the default number
        (0.012, 0.042, 18, False),  # 1 ms per slice: 20 ms
        (0.0195, 0.0595, 10, False),
        (0.022, 0.082, 9, False),
        (0.030, 0.060, LEAST, True),
        (0.030, 0.025, LEAST, True),  # other work was running for a time
    ],
)
def test_the_number_of_slices_is_that_of_20_ms(maker, monkeypatch, ten, forty, slices, slow):
    took = {10: ten, SLICES: forty}
    monkeypatch.setattr(maker, "_longest", lambda settings: took[maker.estimator.slices])
    warning, still = maker.choose_slices(Settings())
    assert maker.estimator.slices == slices and still is slow and maker.measured
    assert bool(warning) is (slices is not None)
    if slices is not None:
        assert f"lasts {forty * 1e3:.0f} ms" in warning and f"slices is {slices} until" in warning
    maker.stream(Settings(threads=1, provider="cpu", lag_seconds=0.0))  # of the next activation
    assert maker.estimator.slices is None and not maker.measured


def test_sliced_settings(maker):
    assert maker.sliced(Settings())
    maker.extractors[0].dim = 3
    assert not maker.sliced(Settings()) and maker.sliced(Settings(history=2))
    maker.extractors[0].dim = None
    assert not maker.sliced(Settings())
    maker.extractors[0].dim = 14


def test_all_estimates_of_a_stream_have_the_chosen_slices(bench):
    bench.up(slices=0, rate_limit=1000.0)  # otherwise a slow machine publishes fewer
    publisher = bench.publisher()
    messages = joint_states(walk(60))
    bench.play(publisher, messages[:55])
    for message in messages[55:]:
        bench.play(publisher, [message])
    reported = values(bench.diagnosis(lambda s: values(s)["messages: accepted"] == "60"))
    (slices,) = {message.slices for _, message in bench.estimates}
    assert LEAST <= slices <= SLICES
    assert reported["slices"] == str(slices)
    if slices < SLICES:
        bench.diagnosis(lambda s: f"slices is {slices} until" in s.message, past=True)
    assert bench.set(slices=6) == ""
    bench.play(publisher, joint_states(walk(60, seed=1), START + 10**11))
    assert bench.estimates[-1][1].slices == 6
