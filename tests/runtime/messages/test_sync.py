"""Pairing of two streams by time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from infoatlas_rt.messages.sync import Synchroniser
from refusals import refuses


def feed(sync, events):
    """Pairs as (a, b) of stamps, from (side, stamp) in the order of arrival."""
    pairs = []
    for side, stamp in events:
        for pair in sync.push(np.array([stamp]), stamp, side):
            assert pair.stamp == pair.a[0]
            pairs.append((float(pair.a[0]), float(pair.b[0])))
    return pairs


def interleave(a, b, order):
    """Arrival in an order that keeps the order of each stream."""
    queues = [[(0, t) for t in a], [(1, t) for t in b]]
    for side in order:
        if queues[side]:
            yield queues[side].pop(0)
    yield from queues[0] + queues[1]


def test_equal_stamps_pair_at_once():
    sync = Synchroniser(0.01)
    for step in range(50):
        assert feed(sync, [(0, step / 10)]) == []
        assert feed(sync, [(1, step / 10)]) == [(step / 10, step / 10)]
    kept = {"paired": 50, "unpaired": 0, "repeated stamp": 0, "out of order": 0}
    assert sync.counts == kept | {"pairing resets": 0}


def test_a_nearer_one_is_waited_for_but_only_if_it_can_come():
    sync = Synchroniser(0.05)
    assert feed(sync, [(0, 0.0), (1, 0.002)]) == []  # the rate of stream 0 is not known yet
    assert feed(sync, [(0, 0.1)]) == [(0.0, 0.002)]
    assert feed(sync, [(1, 0.102)]) == [(0.1, 0.102)]  # its next is due at 0.2: no waiting
    assert feed(sync, [(0, 0.2), (1, 0.26)]) == []  # too far
    assert feed(sync, [(0, 0.3)]) == [(0.3, 0.26)]  # the next after 0.26 is due at 0.36
    assert sync.counts["unpaired"] == 1


@pytest.mark.parametrize("offset", [0.001, 0.004, -0.004])
def test_two_rates(offset):
    """A at 100 Hz, B at 10 Hz: each B is paired with the nearest A."""
    sync = Synchroniser(0.02)
    a, b = np.arange(0, 300) / 100, np.arange(0, 29) / 10 + 0.5 + offset
    events = sorted([(t, 0) for t in a] + [(t, 1) for t in b])
    pairs = feed(sync, [(side, t) for t, side in events])
    b = b[b < 2.99]
    assert [y for _, y in pairs] == b.tolist()
    assert [x for x, _ in pairs] == [a[np.abs(a - t).argmin()] for t in b]
    assert sync.counts["unpaired"] > 200


steps = st.lists(st.integers(1, 40), min_size=1, max_size=25)
orders = st.lists(st.integers(0, 1), max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    steps, steps, st.lists(st.integers(0, 1), max_size=60), st.lists(st.integers(0, 1), max_size=60)
)
def test_pairs_depend_only_on_stamps(a, b, order, other):
    """For any interleaving: the same pairs, within tolerance, each state at most once."""
    a, b = np.cumsum(a) / 64, np.cumsum(b) / 64
    runs = []
    for arrival in (order, other):
        sync = Synchroniser(0.2, reset_after=100.0)
        runs.append(feed(sync, interleave(a.tolist(), b.tolist(), arrival)))
        assert sync.counts["paired"] == len(runs[-1])
    assert runs[0] == runs[1]
    pairs = np.array(runs[0]).reshape(-1, 2)
    assert (np.abs(pairs[:, 0] - pairs[:, 1]) <= 0.2).all()
    assert (np.diff(pairs, axis=0) > 0).all()  # ascending, so none is used twice


def test_stragglers_repeats_and_bad_stamps_are_refused():
    sync = Synchroniser(0.01)
    assert feed(sync, [(0, 1.0), (0, 1.0), (0, 0.9), (0, np.nan), (0, np.inf)]) == []
    assert (sync.counts["repeated stamp"], sync.counts["out of order"]) == (1, 3)
    assert feed(sync, [(1, 1.0)]) == [(1.0, 1.0)]


def test_a_jump_back_starts_anew():
    sync = Synchroniser(0.01)
    feed(sync, [(0, 100.0), (1, 100.0), (0, 100.1)])
    assert feed(sync, [(0, 0.0), (1, 0.0), (0, 0.1), (1, 0.1)]) == [(0.0, 0.0), (0.1, 0.1)]
    assert sync.counts["pairing resets"] == 1


def test_one_stream_alone_takes_no_more_memory():
    sync = Synchroniser(0.01, queue=10)
    assert feed(sync, [(0, t / 10) for t in range(1000)]) == [] and sync.counts["unpaired"] == 990
    assert feed(sync, [(1, 99.9)]) == [(99.9, 99.9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.0,), "tolerance is 0.0"), ((np.inf,), "tolerance is inf"), ((0.1, 0), "queue is 0")],
)
def test_arguments(arguments, message):
    refuses(message, Synchroniser, *arguments)
