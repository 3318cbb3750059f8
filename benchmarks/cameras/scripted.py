"""Render demonstrations of Meta-World's scripted policies, with their disturbances.

    make .venv-metaworld/ready
    .venv-metaworld/bin/python -m benchmarks.cameras.scripted [TASK ...] --out build/cameras

The demonstrations are those of `benchmarks.tasks.collect_scripted`. States are joints and fingers
alone. The front camera is none of Meta-World's own, which are turned upside down. An object is
held while both pads touch it, or touched by any part of the hand where nothing is grasped; contacts
and gaps of less than 0.25 s do not count. What is reached in the end has no object: world.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.collect_scripted import RECIPES, Recipe, Recorder, demonstrations
from benchmarks.tasks.episode_files import chosen, reported, spans

from .image_files import OUT, Demonstration, write

RATE = 80.0  # steps per second
SHORTEST = 20  # steps of a contact or of a gap that counts
EYE, LOOK_AT = np.array([0.95, 0.2, 0.75]), np.array([0.0, 0.7, 0.08])  # m, of the front camera


@dataclass(frozen=True)
class Filmed:
    """A task: its recipe, the flag of its contacts and the name of its object."""

    recipe: Recipe
    flag: str
    thing: str


TASKS = {
    "mw_pick_place": Filmed(RECIPES["pick_place"], "both_pads", "puck"),
    "mw_push": Filmed(Recipe("push-v3", "obj"), "touch", "puck"),
    "mw_door_open": Filmed(RECIPES["door_open"], "touch", "door"),
    "mw_drawer_open": Filmed(RECIPES["drawer_open"], "touch", "drawer"),
}


def filmed(task: Filmed, recorder: Recorder, model: mujoco.MjModel) -> Demonstration:
    """What `recorder` recorded, to be rendered with `model`, which is common to a task."""
    own = recorder.env.model
    positions = np.array(recorder.positions)
    states, flags = recorder.demonstration()
    joints = [i for i, name in enumerate(recorder.names) if name.endswith(".position")]
    kinds = ("grasp", "release") if task.flag == "both_pads" else ("touch", "leave")
    events: list[tuple[int, str, str, str]] = []
    for first, last in spans(flags[task.flag], SHORTEST):
        events.append((first, kinds[0], task.thing, task.thing))
        if last < len(states):
            events.append((last, kinds[1], task.thing, "world"))
    return Demonstration(
        model,
        positions,
        states[:, joints],
        _poses(own, positions, {"tool": "hand", task.thing: task.recipe.thing}),
        {task.thing: task.recipe.thing},
        events,
        {"front": "corner", "wrist": "gripperPOV"},
        (0, 1),
        own.body_pos.copy(),
    )


def _poses(
    model: mujoco.MjModel, positions: NDArray[np.float64], bodies: dict[str, str]
) -> dict[str, NDArray[np.float32]]:
    """Pose [T, 7] of each body."""
    data = mujoco.MjData(model)
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in bodies}
    for position in positions:
        data.qpos[:] = position
        mujoco.mj_kinematics(model, data)
        for name, body in bodies.items():
            found[name].append(np.concatenate([data.body(body).xpos, data.body(body).xquat]))
    return {name: np.array(rows, np.float32) for name, rows in found.items()}


def _aim(model: mujoco.MjModel) -> None:
    """Make "corner" the front camera."""
    forward = (LOOK_AT - EYE) / np.linalg.norm(LOOK_AT - EYE)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    turn = np.stack([right, np.cross(right, forward), -forward], axis=1)
    camera = model.camera("corner").id
    model.cam_pos[camera], model.cam_fovy[camera] = EYE, 45
    mujoco.mju_mat2Quat(model.cam_quat[camera], turn.ravel())


def make(name: str, number: int, out: Path, every: int) -> Path:
    """Write OUT/NAME.npz with `number` successful demonstrations."""
    task, demos = TASKS[name], []
    for _, recorder in demonstrations(name, task.recipe, number):
        if not demos:
            model = recorder.env.model
            _aim(model)
        demos.append(filmed(task, recorder, model))
    names = [name for name in recorder.names if name.endswith(".position")]
    return write(out / f"{name}.npz", demos, names, RATE, every)


def main() -> None:
    given = chosen(__doc__, TASKS, OUT, number=40, every=8)
    for name in given.tasks:
        reported(make(name, given.number, given.out, given.every))


if __name__ == "__main__":
    main()
