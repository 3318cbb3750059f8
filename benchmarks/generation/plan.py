"""Plan of the runs: tasks, arms, sets of sources, policies, and their numbers."""

from typing import Any

from .arms import ARMS, FIVE, FLAGS, FOUND, GRIPPER, MORE, ONE, RANDOM, SUBTASKS
from .tasks import TASKS

PLAIN, CHANGED = "plain", "changed"
TEN, REAL = "ten alone", "300 real"

PLAN: dict[str, Any] = {
    "tasks": list(TASKS),
    "arms": list(ARMS),
    "again": [SUBTASKS, FOUND, FLAGS, FIVE],  # with further sets of sources
    "sources": 10,
    "sets": {PLAIN: 3, CHANGED: 1},
    "smooth": {PLAIN: 1, CHANGED: 9},  # steps over which sources are averaged
    "attempts": 300,  # with the sources of policies
    "fewer": 40,  # with all other sources
    "more": 1000,
    "policy_tasks": ["pick", "stack"],
    # The most important first, for runs that are stopped.
    "policy_arms": [TEN, SUBTASKS, FLAGS, REAL, FIVE, FOUND, MORE, GRIPPER, ONE, RANDOM],
    "real": 300,
    # Settings of benchmarks.policies, chosen there with other arms and on other starts.
    "policy": {
        "steps": 6000,
        "batch": 128,
        "chunk": 16,
        "executed": 8,
        "noise": 0.03,
        "weight": 0.0,
    },
    "seeds": 3,
    "episodes": 100,
    "limit": {"pick": 150, "stack": 200},
}
QUICK = {
    **PLAN,
    "tasks": ["pick"],
    "arms": [SUBTASKS, FIVE],
    "again": [],
    "sets": {PLAIN: 1},
    "attempts": 5,
    "fewer": 5,
    "more": 5,
    "policy_tasks": ["pick"],
    "policy_arms": [TEN, SUBTASKS],
    "real": 12,
    "policy": {**PLAN["policy"], "steps": 50, "width": 32},
    "seeds": 1,
    "episodes": 2,
    "limit": {"pick": 30},
}
