"""The tasks: what their states are called and how they are read from the simulator.

The columns are those of ManiSkill's observation ("state"), in its order, without flags: joint
positions and velocities, the tool, and poses of objects by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.hdf5.demonstrations import POSE

Vector = NDArray[Any]
JOINTS = (*(f"joint{i}" for i in range(1, 8)), "finger1", "finger2")
RATE = 20  # control steps a second
FLAG_AT = 18  # column of ManiSkill's flat observation that is_grasped has, where there is one


@dataclass(frozen=True)
class Column:
    """An entry of the observation."""

    name: str  # prefix of its columns
    read: Callable[[Any], Vector]  # environment -> its values
    width: int
    moves: bool = True  # within an episode


def _pose(entity: Any) -> Vector:
    """Position and quaternion [7] of a body of the physics engine, the real part first."""
    return np.concatenate([entity.pose.p, entity.pose.q])


def _body(name: str, attribute: str, moves: bool = True) -> Column:
    return Column(name, lambda env: _pose(getattr(env, attribute)._objs[0]), 7, moves)


def _place(name: str, attribute: str) -> Column:
    return Column(name, lambda env: getattr(env, attribute)._objs[0].pose.p, 3, False)


def _fixed(name: str, read: Callable[[Any], Any], width: int) -> Column:
    return Column(name, lambda env: np.asarray(read(env).cpu()).reshape(-1), width, False)


def _way(name: str, one: str, other: str) -> Column:
    """From the position of one to the other's: attributes of the environment, or "tool"."""

    def place(env: Any, attribute: str) -> Any:
        tool = attribute == "tool"
        return (env.agent.tcp._objs[0].entity if tool else getattr(env, attribute)._objs[0]).pose.p

    return Column(name, lambda env: place(env, other) - place(env, one), 3)


TOOL = Column("tool", lambda env: _pose(env.agent.tcp._objs[0].entity), 7)


@dataclass(frozen=True)
class SimulatorTask:
    """A task of ManiSkill."""

    solution: str  # module of the planner: ManiSkill's own, or one of this package (".pyramid")
    columns: tuple[Column, ...]  # after the joints
    objects: tuple[str, ...]  # names of those that a part can be about
    # Name of each object that is grasped, in order -> attribute of the environment. An uncut
    # demonstration is moved with the first.
    grasped: dict[str, str]
    orientation: str = "quarter turns"  # what of the first one's pose counts
    flag: bool = False  # whether the observation has the flag is_grasped
    # Share of a new measurement in the pose of what is held. None: measured when a part starts.
    held_filter: float | None = None

    @property
    def first(self) -> str:
        """The object that is grasped first."""
        return next(iter(self.grasped))


TASKS = {
    "PickCube-v1": SimulatorTask(
        "pick_cube",
        (
            TOOL,
            _place("goal", "goal_site"),
            _body("cube", "cube"),
            _way("tool_to_cube", "tool", "cube"),
            _way("cube_to_goal", "cube", "goal_site"),
        ),
        ("cube", "goal"),
        {"cube": "cube"},
        flag=True,
    ),
    "StackCube-v1": SimulatorTask(
        "stack_cube",
        (
            TOOL,
            _body("cube_a", "cubeA"),
            _body("cube_b", "cubeB"),
            _way("tool_to_cube_a", "tool", "cubeA"),
            _way("tool_to_cube_b", "tool", "cubeB"),
            _way("cube_a_to_cube_b", "cubeA", "cubeB"),
        ),
        ("cube_a", "cube_b"),
        {"cube_a": "cubeA"},
    ),
    "PullCubeTool-v1": SimulatorTask(
        "pull_cube_tool",
        (TOOL, _body("cube", "cube"), _body("hook", "l_shape_tool")),
        ("hook", "cube"),
        {"hook": "l_shape_tool"},
        "pose",
    ),
    "PlaceSphere-v1": SimulatorTask(
        "place_sphere",
        (TOOL, _place("bin", "bin"), _body("sphere", "obj"), _way("tool_to_sphere", "tool", "obj")),
        ("sphere", "bin"),
        {"sphere": "obj"},
        "position",
        flag=True,
    ),
    "PlugCharger-v1": SimulatorTask(
        "plug_charger",
        (
            TOOL,
            _body("charger", "charger"),
            _body("receptacle", "receptacle", moves=False),
            _fixed("goal", lambda env: env.goal_pose.raw_pose, 7),
        ),
        ("charger", "receptacle"),
        {"charger": "charger"},
        "pose",
    ),
    "PegInsertionSide-v1": SimulatorTask(
        "peg_insertion_side",
        (
            TOOL,
            _body("peg", "peg"),
            _fixed("peg_half_size", lambda env: env.peg_half_sizes, 3),
            _fixed("hole", lambda env: env.box_hole_pose.raw_pose, 7),
            _fixed("hole_radius", lambda env: env.box_hole_radii, 1),
        ),
        ("peg", "hole"),
        {"peg": "peg"},
        "pose",
        held_filter=0.15,
    ),
    "LiftPegUpright-v1": SimulatorTask(
        "lift_peg_upright", (TOOL, _body("peg", "peg")), ("peg",), {"peg": "peg"}, "pose"
    ),
    "StackPyramid-v1": SimulatorTask(
        ".pyramid",
        (
            TOOL,
            _body("cube_a", "cubeA"),
            _body("cube_b", "cubeB"),
            _body("cube_c", "cubeC"),
            _way("tool_to_cube_a", "tool", "cubeA"),
            _way("tool_to_cube_b", "tool", "cubeB"),
            _way("tool_to_cube_c", "tool", "cubeC"),
            _way("cube_a_to_cube_b", "cubeA", "cubeB"),
            _way("cube_b_to_cube_c", "cubeB", "cubeC"),
            _way("cube_a_to_cube_c", "cubeA", "cubeC"),
        ),
        ("cube_a", "cube_b", "cube_c"),
        {"cube_a": "cubeA", "cube_c": "cubeC"},
    ),
}


def column_names(task: SimulatorTask) -> tuple[str, ...]:
    """Names of the columns of a task's states."""
    names = [f"{joint}.{kind}" for kind in ("position", "velocity") for joint in JOINTS]
    for column in task.columns:
        axes = [f".{axis}" for axis in POSE[: column.width]] if column.width > 1 else [""]
        names += [f"{column.name}{axis}" for axis in axes]
    return tuple(names)
