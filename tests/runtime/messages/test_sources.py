"""Two robots behind one publisher: only states that alternate between them are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer

from fakes import RecordingEstimator
from infoatlas_rt import InputError
from infoatlas_rt.cli import main
from infoatlas_rt.messages.demonstrations import load_demonstrations
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.schema import Schema
from infoatlas_rt.messages.sources import BLOCK, Sources
from player import Player

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "examples"))
from make_bag import STORE, joint_state  # noqa: E402

KIND = "sensor_msgs/msg/JointState"
JOINTS = [f"joint{i + 1}" for i in range(9)]
STEP = 50_000_000


def demonstrations(path, columns=slice(None)):
    with np.load(path) as file:
        states = file["states"][:, columns].astype(float)
        return np.split(states, np.cumsum(file["lengths"])[:-1])


def robots(count=2):
    """Joints of consecutive demonstrations of one task: [T, 18]. They begin in one pose."""
    found = demonstrations(ROOT / "examples/data/pickcube.npz", slice(18))
    each = len(found) // count
    return [np.concatenate(found[i * each : (i + 1) * each])[:200] for i in range(count)]


def messages(states, start=STEP, step=STEP):
    return [joint_state(start + i * step, JOINTS, row) for i, row in enumerate(states)]


def relayed(late=STEP // 3, step=STEP):
    """Two robots with the same names through one publisher; `late`: delay of the second."""
    one, two = robots()
    pairs = zip(messages(one, step=step), messages(two, STEP + late, step), strict=True)
    return [message for pair in pairs for message in pair]


def receive(found):
    receiver = Receiver(Extractor(None, Schema.of_typestore(STORE, KIND)))
    return [receiver.receive(message, i / 100) for i, message in enumerate(found)]


@pytest.mark.parametrize(
    ("late", "why"),
    [
        (STEP // 3, "states jump to and fro between two places, 31 times in 32 messages"),
        (STEP // 2, "states jump to and fro between two places, 31 times in 32 messages"),
        (0, "states jump to and fro between two places"),  # the clock of a simulator
        (-6 * STEP, "their stamps go to and fro, and those of each ascend"),
        (-100 * STEP, "their stamps go to and fro, and those of each ascend"),
    ],
)
def test_a_relay_of_two_robots(late, why):
    fake = RecordingEstimator(n_min=8)
    player = Player(fake, Extractor(None, Schema.of_typestore(STORE, KIND)), window=40, lag=1)
    found = relayed(late)
    # The demonstrations begin with one pose, so the two are compared a little later.
    outputs = [output for message in found[100:] for output in player.push(message)]
    assert not outputs and not fake.calls
    assert why in player.stream.reason and "give each source a topic" in player.stream.reason
    assert player.stream.counts["two sources"] == len(found) - 100 - BLOCK + 1


def test_one_of_them_leaves():
    """The window is emptied, and then contains states of one robot."""
    one, _ = robots()
    found = receive(relayed()[100:164] + messages(one, 1000 * STEP))
    notices = [(i, sample.notice) for i, sample in enumerate(found) if sample.notice]
    assert [i for i, _ in notices] == [BLOCK - 1, 64 + BLOCK - 1]
    assert "of one source again" in notices[1][1]
    assert not any(sample.fault or sample.skip for sample in found[64 + BLOCK - 1 :])


def test_robots_that_stand_still_are_found_by_uneven_stamps():
    rng = np.random.default_rng(0)
    poses = np.tile([[0.1, 0.5, -0.3], [1.0, 0.2, 0.4]], (BLOCK, 1))
    states = poses + 1e-4 * rng.standard_normal(poses.shape)
    for share, fault in ((0.3, True), (0.5, False)):  # half: like an oscillation
        sources = Sources()
        for i, state in enumerate(states):
            sources.add(0.01 * (i // 2 + share * (i % 2)), state)
        assert bool(sources.fault) == fault


def judged(states, step=0.05):
    """Whether any block of states is taken for two sources."""
    sources, found = Sources(), []
    for i, state in enumerate(states):
        sources.add(i * step, state)
        found.append(sources.fault)
    return any(found)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks/tasks/data").glob("*.npz")), ids=str)
def test_no_demonstration_is_two_robots(path):
    for states in demonstrations(path):
        assert not judged(states) and not judged(states[BLOCK // 2 :])


ORDER = np.arange(640)[:, None]
SIGN = (-1.0) ** ORDER
RNG = np.random.default_rng(0)
POSE = np.array([1.0, -2.0, 0.5, 0.1, 0.7, -0.1, 0.7])
ARM = np.arange(7) < 6


@pytest.mark.parametrize(
    "states",
    [
        RNG.standard_normal((640, 7)),
        np.round(0.6 * RNG.standard_normal((640, 7))),  # ticks of encoders
        RNG.integers(0, 2, (640, 2)),
        POSE + SIGN * 3 + np.cumsum(0.1 * RNG.standard_normal((640, 7)), 0),
        POSE + SIGN * 3 + 0.1 * RNG.standard_normal((640, 7)),
        POSE + SIGN * (1 + np.sin(ORDER / 100)),
        POSE + 2 * np.cos(0.97 * np.pi * ORDER + np.arange(7)) + 0.02 * ORDER,
        POSE + 2 * np.cos(2 / 3 * np.pi * ORDER + np.arange(7)) + 0.02 * ORDER,
        (POSE + 0.1 * np.sin(ORDER / 20 + np.arange(7))) * np.where(np.arange(7) > 2, SIGN, 1),
        np.where(ORDER // 3 % 2, POSE, -POSE) + 0.01 * RNG.standard_normal((640, 7)),
        np.full((640, 7), np.nan),
        1e300 * RNG.standard_normal((640, 7)),
        np.zeros((640, 3)),
        np.where(ORDER % 2, POSE + 0.1 * np.sin(ORDER / 20 + np.arange(7)), 0),
        np.where(ORDER % 2, POSE + 0.1 * np.sin(ORDER / 20 + np.arange(7)), np.arange(7) == 6),
        np.where(ORDER % 2, 1 + 0.3 * np.sin(ORDER / 9 + np.arange(6)), 0) * (np.arange(6) % 5 < 2),
        np.where(ORDER % 2, POSE + 0.1 * np.sin(ORDER / 20 + np.arange(7)), 0) * ARM + 0.04 * ~ARM,
    ],
    ids="noise ticks two-levels oscillation noisy modulated near-nyquist period-3 quaternion "
    "there-and-back NaN huge still zeros unset-pose commands gripper".split(),
)
def test_no_false_alarm(states):
    assert not judged(states)


def test_a_robot_at_rest_without_noise_is_a_source():
    """As in a simulator, unless all coordinates at rest are zero."""
    moving = POSE + 0.1 * np.sin(ORDER / 20 + np.arange(7))
    assert judged(np.where(ORDER % 2, moving, [0, -1.57, 0, -1.57, 0, 0, 0.04]))


def write(path, found):
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        topic = bag.add_connection("/joint_states", KIND, typestore=STORE)
        for i, message in enumerate(found):
            bag.write(topic, (1 + i) * STEP // 2, STORE.serialize_cdr(message, KIND))
    return path


def test_bags_of_two_robots_are_refused(tmp_path, capsys):
    write(tmp_path / "both", relayed()[100:])
    options = "--topic /joint_states --window 40 --lag 1 --threads 1".split()
    assert main.main(["bag", str(tmp_path / "both"), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "0.77 s after its first message: messages of two sources alternate on this" in error
    write(tmp_path / "single", messages(robots()[0]))
    with pytest.raises(InputError, match=r"both: from message 31 on, messages of two sources"):
        load_demonstrations(tmp_path, "/joint_states")
