"""Run a policy of LeRobot: episodes end when they are done, and sub-tasks are its instructions.

    infoatlas-rt keystates me/demonstrations --save task.json
    python examples/lerobot_until_done.py task.json --strategy.type=episodic --policy.path=...

Further options are those of lerobot-rollout 0.6.1. Its time-outs and keys work as before. A frame
has the present sub-task as its task, and the data set has outcomes.json with those of episodes.
"""

import json
import sys
import time

from lerobot.rollout.strategies.episodic import EpisodicStrategy
from lerobot.scripts import lerobot_rollout

from infoatlas_rt import KeyStateTracker


class UntilDone(EpisodicStrategy):
    def __init__(self, config, tracker):
        super().__init__(config)
        self.tracker, self.outcomes = tracker, {}

    def _policy_loop(self, ctx, robot, events, control_time_s, dataset, single_task, **more):
        """Call LeRobot's loop for one sub-task after the other."""
        self.tracker.reset()
        end, robot = time.perf_counter() + control_time_s, Followed(robot, self.tracker, events)
        while robot.changed and self.tracker.outcome.state != "done":
            robot.changed, left = False, end - time.perf_counter()
            self._engine._task = robot.task = robot.part() or single_task
            super()._policy_loop(ctx, robot, events, **more, control_time_s=left,
                                 dataset=dataset, single_task=robot.task)  # fmt: skip
            events["exit_early"] = False  # also if the time ended first
        own = self.tracker.outcome
        self.outcomes[dataset.num_episodes] = {"outcome": own.state, "reason": own.reason}
        (dataset.root / "outcomes.json").write_text(json.dumps(self.outcomes, indent=1))


class Followed:
    """A robot whose states a tracker takes. A change ends the loop of LeRobot."""

    def __init__(self, robot, tracker, events):
        self.robot, self.tracker, self.events, self.changed = robot, tracker, events, True

    def part(self):
        return "" if self.tracker.subtask is None else self.tracker.subtask.name

    def get_observation(self):
        seen = self.robot.get_observation()
        self.tracker.push([seen[n] for n in self.tracker.task.columns], time.perf_counter())
        self.changed = self.tracker.outcome.state == "done" or self.part() not in ("", self.task)
        self.events["exit_early"] |= self.changed
        return seen


if __name__ == "__main__":
    tracker = KeyStateTracker(sys.argv.pop(1))
    lerobot_rollout.create_strategy = lambda config: UntilDone(config, tracker)
    lerobot_rollout.main()
