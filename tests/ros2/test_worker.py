"""The thread of the worker without DDS: effects of a batch of waiting states."""

import threading
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from harness import LIMIT, START, joint_states, until, walk
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState

from infoatlas_ros2.health import Health
from infoatlas_ros2.maker import Maker
from infoatlas_ros2.parameters import Settings
from infoatlas_ros2.topics import extractor
from infoatlas_ros2.worker import Worker
from infoatlas_rt.messages.receiver import Sample
from infoatlas_tools.bags.bag_curve import read
from infoatlas_tools.bags.states import Bag

STORE = get_typestore(Stores.ROS2_KILTED)
OPTIONS = {"lag": 2, "lag_seconds": 0.0, "window": 32, "threads": 1, "provider": "cpu"}
SETTINGS = Settings(topic="/a", fields=("position[:]",), **OPTIONS)
LATER = START + 10**10


class Work:
    """A worker, and its published results."""

    def __init__(self, settings=SETTINGS, sides=1):
        self.maker = Maker(settings, [extractor(JointState, ["position[:]"])] * sides)
        self.published, self.health = [], Health()
        self.now = 0.0
        self.worker = Worker(
            self.maker, lambda: settings, self.published.append, self.health, clock=lambda: self.now
        )
        self.worker._took = deque(maxlen=0)  # estimates of a busy machine may be slow
        self.offered, self.done, self.idle, self.sides = 0, 0, True, sides
        self.turn = self.worker._turn
        self.worker._turn = self._turn

    def _turn(self, batch, *rest):
        more = self.turn(batch, *rest)
        self.done += len(batch)
        self.idle = not more
        return more

    def offer(self, messages, side=0):
        for message in messages:
            sample = self.worker.receivers[side].receive(message)
            self.offered += 1
            self.worker.offer(sample, message.header)

    def at_once(self, *batches):
        """Offer batches of one side each while the worker waits, so that it takes them together."""
        with self.maker.turn:
            self.offer(batches[0][:1])
            until(lambda: not self.worker._ring)  # it has taken that one, and waits
            self.offer(batches[0][1:])
            for side, batch in enumerate(batches[1:], start=1):
                self.offer(batch, side if self.sides == 2 else 0)
        self.settle()

    def settle(self):
        until(lambda: self.done == self.offered and self.idle)

    def extrema(self):
        return [
            (found.kind, found.stamp, found.value)
            for batch in self.published
            for found, _ in batch.extrema
        ]

    @property
    def period(self):
        return self.worker.stream.detector.period


@pytest.fixture
def work():
    made = []

    def make(*args, **kwargs):
        made.append(Work(*args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.worker.stop()


def moving(steps):
    """Smooth motion and noise in turns: the past of a state is informative, or is not."""
    rng = np.random.default_rng(3)
    state, out = np.zeros(2), []
    for t in range(steps):
        state = (0.97 if t // 130 % 2 else 0.0) * state + 0.3 * rng.standard_normal(2)
        out.append(state)
    return np.array(out)


def extrema_of_bag(path, messages):
    """Extrema that `infoatlas-rt bag` finds in a bag with these messages."""
    with Writer(path, version=9) as writer:
        topic = writer.add_connection("/a", SETTINGS.message_type, typestore=STORE)
        for number, message in enumerate(messages):
            writer.write(topic, number, serialize_message(message))
    maker = Maker(SETTINGS, [extractor(JointState, SETTINGS.fields)])
    with Bag(path) as bag:
        curve = read(bag, ["/a"], maker.receivers(SETTINGS), maker.stream(SETTINGS))
    return [(found.kind, found.stamp, found.value) for found in curve.extrema]


def test_a_bag_in_a_loop_has_the_extrema_of_each_round(work, tmp_path):
    messages = joint_states(moving(800))
    expected = extrema_of_bag(tmp_path / "bag", messages)
    assert len(expected) > 2
    it = work()
    for first in range(0, 700, 20):
        it.at_once(messages[first : first + 20])
    before = it.period
    # A stall at the end of a round: the batch has both sides of the jump of 8 s.
    it.at_once(messages[700:] + messages[:100])
    for first in range(100, 800, 20):
        it.at_once(messages[first : first + 20])
    assert it.period == before and not it.health.warning
    # A maximum can be certain and published before the change that precedes it.
    found, n = it.extrema(), len(expected)
    assert len(found) == 2 * n
    for each in (found[:n], found[n:]):
        assert sorted(each, key=lambda extremum: extremum[1]) == expected


@pytest.mark.parametrize("jump", [-1000.0, 1000.0])
def test_a_jump_of_the_clock_is_no_backlog(work, jump):
    it = work()
    now = 1_700_000_000
    first = joint_states(walk(60), start=now * 10**9)
    for turn in range(3):
        start = now + (turn + 1) * jump
        it.at_once(first + joint_states(walk(60), start=int(start * 10**9)))
        assert it.period == SETTINGS.extremum_delay / 20 and not it.health.warning


def test_a_coarse_period_recovers(work):
    it = work()
    delay = SETTINGS.extremum_delay
    keep_up, base = it.worker._keep_up, it.period
    it.worker._took = deque([0.24])  # 12% of the delay
    keep_up(0)
    assert it.period == 4 * base and "inference (0.240 s) is too slow" in it.health.warning
    it.worker._took = deque([0.08])  # 4%
    keep_up(0)
    assert it.period == 4 * base  # not at once
    for _ in range(2):
        it.now += 1.01 * delay
        keep_up(0)
    assert it.period == base
    # States that arrive faster than they are processed: estimates are missing in two turns.
    it.now += 1.01 * delay
    keep_up(3)
    assert it.period == base and "3 estimates for extrema are missing" in it.health.warning
    keep_up(1)
    assert it.period == 2 * base and "faster than they are processed" in it.health.warning


def test_superseded_states_are_counted_in_pairs(work):
    settings = replace(SETTINGS, topic_b="/b", fields_b=("position[:]",), sync_tolerance=0.001)
    it = work(settings, sides=2)
    a, b = joint_states(walk(60)), joint_states(walk(60, seed=1))
    it.at_once(a, b)
    # 27 windows are full. The newest has an estimate; three are for the detector and not published.
    assert it.worker.counts["accepted"] == 60 and it.health.superseded == 26
    for one, other in zip(joint_states(walk(9), LATER), joint_states(walk(9), LATER), strict=True):
        it.offer([one])
        it.offer([other], side=1)
        it.settle()
    assert it.worker.counts["accepted"] == 69 and it.health.superseded == 26
    refused = joint_states(np.full((5, 4), np.nan), LATER + 10**9)
    it.at_once(refused, refused)
    assert it.worker.counts["NaN"] == 5 and it.health.superseded == 26


def test_the_newest_state_has_an_estimate_after_messages_of_another_body(work):
    it = work()
    turn = it.turn
    batch = [Sample(0, t / 100, state, "", header=t) for t, state in enumerate(walk(60))]
    other = Sample(0, float("nan"), np.zeros(0), "another body", skip="other bodies")

    def newest():
        return [each.header for each in it.published if each.estimate is not None][-1]

    assert turn([*batch[:50], other, other], False, 0)
    while turn([], False, 0):
        pass
    assert newest() == 49 and it.worker.reason == "ok"
    turn([*batch[50:], other], False, 0)
    assert newest() == 59 and it.worker.counts["other bodies"] == 3


def test_no_pair_across_what_a_full_queue_dropped(work, monkeypatch):
    """Steps are counted, and half of the messages that arrive during an estimate are lost."""
    it = work(replace(SETTINGS, window=40, queue=30, extremum_delay=3600.0))
    entered, go_on, pairs = threading.Semaphore(0), threading.Semaphore(0), set()
    real = it.maker.estimator.estimate_checked

    def estimate(samples, live=False):
        pairs.update(zip(samples.x[:, 0], samples.y[:, 0], strict=True))
        entered.release()
        assert go_on.acquire(timeout=LIMIT)
        return real(samples)

    monkeypatch.setattr(it.maker.estimator, "estimate_checked", estimate)

    def offer(*steps):
        for t in range(*steps):
            state = np.array([t, t % 7, t % 5, -t], float)
            it.worker.offer(Sample(0, t / 100, state, ""), None)

    for first in (0, 20):
        offer(first, first + 20)
        until(lambda n=first + 20: it.worker.stream.window.counts["accepted"] == n)
    offer(40, 45)
    for first in (45, 105, 165):  # sixty arrive during an estimate; the queue keeps thirty
        assert entered.acquire(timeout=LIMIT)
        offer(first, first + 60)
        go_on.release()
    assert entered.acquire(timeout=LIMIT)
    go_on.release()
    it.worker.stop()
    assert it.health.overflown >= 90
    assert {x - y for x, y in pairs} == {2} and max(x for x, _ in pairs) == 224


def test_no_state_is_counted_twice_while_a_parameter_changes(work):
    it, seen = work(), []
    it.at_once(joint_states(walk(40)))
    make = it.maker.stream

    def stream(settings):
        seen.append(it.worker.counts["accepted"])
        return make(settings)

    it.maker.stream = stream
    it.worker._change(replace(SETTINGS, window=40))
    assert seen == [40] and it.worker.counts["accepted"] == 40
