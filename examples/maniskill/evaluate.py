"""Evaluate a policy of train.py on reset seeds that it was not trained on.

python examples/maniskill/evaluate.py policy.pt --episodes 100
"""

import argparse

from infoatlas_tools.generation import headless  # isort: skip  (first: it makes mani_skill importable)
import gymnasium
import mani_skill.envs  # noqa: F401  (registers the tasks)
import torch
from mani_skill.utils.wrappers import CPUGymWrapper

from train import JOINTS, Policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policy", help="of train.py")
    parser.add_argument("--task", default="PickCube-v1", help="(%(default)s)")
    parser.add_argument("--episodes", type=int, default=100, help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=150, help="of an episode (%(default)s)")
    parser.add_argument("--executed", type=int, default=8, help="of a chunk (%(default)s)")
    chosen = parser.parse_args()

    saved = torch.load(chosen.policy, weights_only=True)
    columns = saved["columns"]
    policy = Policy(len(columns), saved["keystates"])
    policy.load_state_dict(saved["policy"])
    options = {**headless.OPTIONS, "obs_mode": "state", "control_mode": "pd_joint_pos"}
    env = CPUGymWrapper(gymnasium.make(chosen.task, max_episode_steps=chosen.steps, **options))
    successes = 0
    for episode in range(chosen.episodes):
        obs, _ = env.reset(seed=100_000 + episode)
        done = False
        while not done:
            state = torch.as_tensor(obs[columns])
            with torch.no_grad():
                chunk = policy(state[None])[0][0]
            chunk[:, :JOINTS] += state[:JOINTS]
            chunk[:, JOINTS] = chunk[:, JOINTS].sign()
            for action in chunk[: chosen.executed].numpy():
                obs, _, terminated, truncated, info = env.step(action)
                done = bool(terminated or truncated or info["success"])
                if done:
                    break
        successes += bool(info["success"])
        print(f"{successes} of {episode + 1}", end="\r", flush=True)
    print(f"{successes} of {chosen.episodes} episodes succeed")


if __name__ == "__main__":
    main()
