"""examples/lerobot_until_done.py in LeRobot's own loop, with a robot and a policy of a script."""

import itertools
import json
import runpy
import threading
from pathlib import Path
from types import SimpleNamespace as Has

import numpy as np
import pytest
import torch
from lerobot.datasets import LeRobotDataset
from lerobot.rollout.configs import EpisodicStrategyConfig

from infoatlas_rt import KeyStateTracker
from infoatlas_tools import Trajectories, discover_keystates

EXAMPLE = Path(__file__).parents[2] / "examples/lerobot_until_done.py"
JOINTS = [f"{name}.pos" for name in ("shoulder_pan", "shoulder_lift", "elbow_flex", "gripper")]
RATE = 50


def execution(seed, drop=False):
    """Reach, close, carry, open and return: joints in degrees, the gripper in percent."""
    rng = np.random.default_rng(seed)
    at, to = rng.normal([40, 30, 60], 6.0), rng.normal([-40, 30, 60], 1.0)
    held = 2.0 if drop else 30.0
    points = [[0, 0, 0, 90], [*at, 90], [*at, held], [*to, held], [*to, 90], [0, 0, 0, 90]]
    seconds = rng.uniform(0.8, 1.2, 5) * [1.0, 0.4, 1.2, 0.4, 1.0]
    pieces = [np.tile(points[0], (10, 1))]
    for a, b, s in zip(points[:-1], points[1:], seconds, strict=True):
        u = np.linspace(0, 1, round(s * RATE))[:, None]
        pieces.append(a + (np.array(b) - a) * (10 * u**3 - 15 * u**4 + 6 * u**5))
    path = np.concatenate([*pieces, np.tile(points[-1], (40, 1))])
    return path + rng.normal(0, 0.02, path.shape)


@pytest.fixture
def strategy(tmp_path):
    found = discover_keystates(Trajectories([*map(execution, range(12))], names=JOINTS, rate=RATE))
    found.save(tmp_path / "task.json", found.subtasks())
    tracker = KeyStateTracker(tmp_path / "task.json")
    return runpy.run_path(str(EXAMPLE))["UntilDone"](EpisodicStrategyConfig(), tracker)


class Robot:
    """It follows an execution, one state a loop, and rests at its end."""

    def __init__(self):
        self.episode = -1

    def get_observation(self):
        self.step = min(self.step + 1, len(self.path) - 1)
        return dict(zip(JOINTS, self.path[self.step].tolist(), strict=True))

    def send_action(self, action):
        return action

    def begin(self):
        self.episode += 1
        self.path, self.step = execution(50 + self.episode, drop=self.episode == 2), -1


def test_an_episode_ends_when_it_is_done(strategy, tmp_path):
    numbers = {"dtype": "float32", "shape": (4,), "names": JOINTS}
    features = {"observation.state": numbers, "action": numbers}
    dataset = LeRobotDataset.create("a/b", RATE, features, root=tmp_path / "set", robot_type="arm")
    robot, asked = Robot(), []
    engine = Has(
        reset=robot.begin, start=lambda: None, resume=lambda: None, ready=True,
        notify_observation=lambda seen: None,
        get_action=lambda frame: (asked.append(engine._task), torch.zeros(4))[1],
    )  # fmt: skip
    settings = Has(num_episodes=3, episode_time_s=7.0, reset_time_s=0.0, single_task="sort")
    cfg = Has(
        fps=RATE, dataset=settings, task="sort", play_sounds=False, display_data=False,
        display_ip=None, display_port=None, display_compressed_images=False, display_mode="rerun",
        use_torch_compile=False, interpolation_multiplier=1,
    )  # fmt: skip
    ctx = Has(
        runtime=Has(cfg=cfg, shutdown_event=threading.Event()),
        hardware=Has(robot_wrapper=robot, teleop=None),
        policy=Has(inference=engine),
        processors=Has(
            robot_observation_processor=lambda seen: seen,
            robot_action_processor=lambda pair: pair[0],
        ),
        data=Has(dataset=dataset, dataset_features=features, ordered_action_keys=JOINTS),
    )
    strategy.config.reset_to_initial_position = False
    strategy._init_engine(ctx)
    robot.episode = -1
    strategy._events = dict.fromkeys(("exit_early", "rerecord_episode", "stop_recording"), False)
    strategy.run(ctx)
    dataset.finalize()

    outcomes = json.loads((tmp_path / "set/outcomes.json").read_text())
    assert [own["outcome"] for own in outcomes.values()] == ["done", "done", "failed"]
    read = LeRobotDataset("a/b", root=tmp_path / "set")
    lengths = read.meta.episodes["length"]
    for n, length in enumerate(lengths[:2]):  # done within 0.5 s of the end, which is 40 steps long
        assert len(execution(50 + n)) - 40 - 25 <= length <= len(execution(50 + n)) + 5
    tasks = [read[i]["task"] for i in range(lengths[0])]
    parts = [part.name for part in strategy.tracker.task.subtasks.parts]
    changes = [b for a, b in itertools.pairwise(tasks) if a != b]
    assert changes in (parts, parts[1:]) and asked[: lengths[0]] == tasks
