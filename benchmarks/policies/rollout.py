"""Run a policy in the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .policy import Policy


def run(recorder: Any, policy: Policy, seed: int, limit: int) -> bool:
    """Run one episode up to its success; the recorder has its states and flags.

    Parameters
    ----------
    recorder : demos.Judged or demos.WithActions
    limit : int
        Steps after which an episode has failed.
    """
    recorder.reset(seed=seed)
    while True:
        for action in policy.act(recorder.states)[: policy.settings.executed]:
            done = recorder.step(action)
            if done if isinstance(done, bool) else bool(done[-1]["success"]):
                return True
            if len(recorder.states) > limit:
                return False


def successes(recorder: Any, policy: Policy, seeds: Iterable[int], limit: int) -> list[bool]:
    """Whether the episode of each seed succeeded."""
    return [run(recorder, policy, seed, limit) for seed in seeds]
