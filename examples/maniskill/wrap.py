"""Follow key states and mutual information in a loop over ManiSkill environments.

    python examples/maniskill/wrap.py demos/trajectory.h5 --envs 16

The key states are found in the file that collect.py wrote. Here the actions are random. A learner
can use `info["key_state"]` as an input, or add a bonus to the reward, as in the last lines.
"""

import argparse

from infoatlas_tools.generation import headless  # isort: skip  (first: it makes mani_skill importable)
import gymnasium
import mani_skill.envs  # noqa: F401  (registers the tasks)
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from mani_skill.utils.wrappers import CPUGymWrapper

from infoatlas_rt import KeyStateWrapper, VectorTracker, VectorWindows
from infoatlas_tools import discover_keystates, load_trajectories

TASK = "PickCube-v1"


def make() -> gymnasium.Env:
    """One environment; a CPU simulates one at a time."""
    return CPUGymWrapper(gymnasium.make(TASK, obs_mode="state", **headless.OPTIONS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("demonstrations", help="trajectory.h5 of collect.py")
    parser.add_argument("--envs", type=int, default=16, help="environments (%(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="of each (%(default)s)")
    chosen = parser.parse_args()

    found = discover_keystates(load_trajectories(chosen.demonstrations), count=3)
    # Columns of the observation without the flag is_grasped, which the reader has left out.
    columns = [int(name.removeprefix("obs.")) for name in found.trajectories.names]

    # On a GPU: envs = ManiSkillVectorEnv(gymnasium.make(TASK, num_envs=..., obs_mode="state"))
    envs = SyncVectorEnv([make] * chosen.envs, autoreset_mode=AutoresetMode.SAME_STEP)
    tracker = VectorTracker(chosen.envs, found)
    windows = VectorWindows(chosen.envs)
    envs = KeyStateWrapper(envs, tracker, windows, state=lambda obs: obs[:, columns])

    envs.reset(seed=0)
    before = np.full(chosen.envs, -1)
    total = np.zeros(chosen.envs)
    for step in range(chosen.steps):
        _, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
        done = terminated | truncated
        # Of the step: where an episode has ended, `info` is about the next one already.
        of_step = info.get("final_info", info)
        reached = np.where(done, of_step["key_state"], info["key_state"])
        total += reward + 0.1 * ((reached != before) & (reached >= 0))
        before = info["key_state"]
        if done.any():
            mi = of_step["mutual_information"][done]
            print(f"step {step}: key states {reached[done]}, {np.nanmean(mi):.2f} nats")
    print(f"mean return with the bonus: {total.mean():.2f}")
    envs.close()


if __name__ == "__main__":
    main()
