"""Play recorded states of robosuite's simulator back in MuJoCo, for tool poses and contacts.

Nothing is simulated: each recorded state is set, and MuJoCo computes poses and contacts from it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from .episode_files import POSE

ASSETS = "robosuite/models/assets"


@dataclass(frozen=True)
class Arm:
    """Names of an arm's parts in the model."""

    joints: tuple[str, ...]  # from the base to the hand
    fingers: tuple[str, str]  # joints of the fingers
    pads: tuple[str, str]  # bodies of the fingers, including their descendants
    tool: str  # body whose pose is recorded
    suffix: str = ""  # of the arm's columns and flags


@dataclass(frozen=True, eq=False)
class Played:
    """An episode."""

    # [T, a], joints (rad, m), rad/s if asked for, and poses (m, quaternion) of the tools.
    arms: NDArray[np.float32]
    arm_names: list[str]
    # Pose [T, 7] of each object (m, quaternion, w first), by its name.
    things: dict[str, NDArray[np.float32]]
    # [T], by arm's suffix and object: both fingers touch the object.
    held: dict[tuple[str, str], NDArray[np.bool_]]


def simulator(xml: str, assets: Path) -> mujoco.MjModel:
    """The recorded model, with its files found in the wheel."""
    xml = re.sub(rf'file="[^"]*?/{ASSETS}/', f'file="{assets}/', xml)
    # The wheel of robosuite 1.0.1 has one pedestal for all robots, the recorded models one each.
    for robot in ("panda", "sawyer"):
        lost = f"{assets}/robots/{robot}/meshes/pedestal.stl"
        if not Path(lost).exists():
            xml = xml.replace(lost, f"{assets}/robots/common_meshes/pedestal.stl")
    return mujoco.MjModel.from_xml_string(xml)


def play(
    model: mujoco.MjModel,
    states: NDArray[np.float64],
    arms: tuple[Arm, ...],
    things: dict[str, str],
    velocities: bool = False,
) -> Played:
    """Play an episode back: states [T, 1 + nq + nv] are time, positions and velocities.

    `things` are bodies by the name of the object. With `velocities`, those of the joints are
    columns too.
    """
    data = mujoco.MjData(model)
    bodies = {name: below(model, body) for name, body in things.items()}
    pads = [[below(model, pad) for pad in arm.pads] for arm in arms]
    rows: list[NDArray[np.float64]] = []
    poses: dict[str, list[NDArray[np.float64]]] = {name: [] for name in things}
    held: dict[tuple[str, str], list[bool]] = {(a.suffix, t): [] for a in arms for t in things}
    for state in states:
        data.qpos[:], data.qvel[:] = state[1 : 1 + model.nq], state[1 + model.nq :]
        mujoco.mj_forward(model, data)
        rows.append(np.concatenate([_arm(data, arm, velocities) for arm in arms]))
        pairs = model.geom_bodyid[data.contact.geom.reshape(-1, 2)]
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
        for name, its in bodies.items():
            start = int(model.jnt_qposadr[model.body(things[name]).jntadr[0]])
            poses[name].append(data.qpos[start : start + 7].copy())
            touching = pairs[np.isin(pairs[:, 0], its), 1]
            for arm, both in zip(arms, pads, strict=True):
                held[arm.suffix, name].append(all(np.isin(touching, pad).any() for pad in both))
    return Played(
        arms=np.array(rows, np.float32),
        arm_names=[name for arm in arms for name in _arm_names(arm, velocities)],
        things={name: np.array(values, np.float32) for name, values in poses.items()},
        held={key: np.array(values, bool) for key, values in held.items()},
    )


def below(model: mujoco.MjModel, body: str) -> list[int]:
    """Indices of a body and of all its descendants."""
    found = [model.body(body).id]
    for i in range(model.nbody):  # parents come first
        if int(model.body_parentid[i]) in found:
            found.append(i)
    return found


def _arm(data: mujoco.MjData, arm: Arm, velocities: bool) -> NDArray[np.float64]:
    joints = [data.joint(name) for name in (*arm.joints, *arm.fingers)]
    tool = data.body(arm.tool)
    parts = [joint.qpos for joint in joints]
    parts += [joint.qvel for joint in joints] if velocities else []
    return np.concatenate([*parts, tool.xpos, tool.xquat])


def _arm_names(arm: Arm, velocities: bool) -> list[str]:
    joints = [*(f"joint{i + 1}" for i in range(len(arm.joints))), "finger1", "finger2"]
    kinds = ("position", "velocity") if velocities else ("position",)
    names = [f"{joint}{arm.suffix}.{kind}" for kind in kinds for joint in joints]
    return names + [f"tool{arm.suffix}.{axis}" for axis in POSE]
