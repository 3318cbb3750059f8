"""An arm of six joints with two fingers, which moves without dynamics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

JOINTS, OPEN = 6, 0.04  # joints of the arm, and position (m) of a finger of the open gripper
# Where the inverse kinematics starts, rad.
TUCKED = np.array([0.0, -0.1, 1.9, 0.0, np.pi - 1.8, 0.0])

ROBOT = Path(__file__).with_name("six_joints.xml")


@dataclass(frozen=True)
class Thing:
    """An object on the table."""

    name: str
    colour: tuple[float, float, float]
    shape: str = "box"  # "box", "cylinder" or "sphere"
    # Half sizes (m), as in MuJoCo; the last is half of the height.
    size: tuple[float, ...] = (0.022, 0.022, 0.022)

    @property
    def half(self) -> float:
        """Half of the height, m."""
        return self.size[-1]

    def xml(self) -> str:
        colour, size = (" ".join(map(str, values)) for values in (self.colour, self.size))
        return (
            f'<body name="{self.name}"><freejoint/>'
            f'<geom type="{self.shape}" size="{size}" rgba="{colour} 1" group="1"/></body>'
        )


def build(things: Sequence[Thing]) -> mujoco.MjModel:
    """The model of the arm and the objects, in the order of their positions."""
    xml = ROBOT.read_text(encoding="utf-8")
    placed = xml.replace("{things}", "".join(thing.xml() for thing in things))
    return mujoco.MjModel.from_xml_string(placed)


def tool_down(place: NDArray[np.floating], yaw: float) -> NDArray[np.float64]:
    """Pose [4, 4] of a tool that points downwards at a place [3]."""
    pose = np.eye(4)
    c, s = np.cos(yaw), np.sin(yaw)
    pose[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.diag([-1.0, 1.0, -1.0])
    pose[:3, 3] = place
    return pose


class Kinematics:
    """Pose of the tool from the joints, and back."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.tool = model.site("tool").id

    def tool_pose(self, joints: NDArray[np.floating]) -> NDArray[np.float64]:
        """Pose [4, 4] of the tool at joints [6], rad."""
        self.data.qpos[:JOINTS] = joints
        mujoco.mj_kinematics(self.model, self.data)
        pose = np.eye(4)
        pose[:3, :3] = self.data.site_xmat[self.tool].reshape(3, 3)
        pose[:3, 3] = self.data.site_xpos[self.tool]
        return pose

    def inverse(self, pose: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Joints [6] that bring the tool to a pose [4, 4], by damped least squares.

        ValueError if more than 1 mm or 0.01 rad remain.
        """
        joints, jacobian = start.copy(), np.zeros((6, self.model.nv))
        for _ in range(300):
            now = self.tool_pose(joints)
            turn = pose[:3, :3] @ now[:3, :3].T
            vector = np.zeros(3)
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, turn.ravel())
            mujoco.mju_quat2Vel(vector, quaternion, 1.0)
            error = np.concatenate([pose[:3, 3] - now[:3, 3], vector])
            if np.linalg.norm(error[:3]) < 1e-4 and np.linalg.norm(vector) < 1e-3:
                break
            mujoco.mj_comPos(self.model, self.data)
            mujoco.mj_jacSite(self.model, self.data, jacobian[:3], jacobian[3:], self.tool)
            use = jacobian[:, :JOINTS]
            change = use.T @ np.linalg.solve(use @ use.T + 1e-4 * np.eye(6), error)
            joints += change * min(1.0, 0.3 / np.abs(change).max())
        if np.linalg.norm(error[:3]) > 1e-3 or np.linalg.norm(vector) > 1e-2:
            raise ValueError(f"the tool does not reach {pose[:3, 3].round(3)}")
        return joints


def minimum_jerk(steps: int) -> NDArray[np.float64]:
    """Shares [steps] of a way, from above 0 to 1."""
    t = np.arange(1, steps + 1) / steps
    return t**3 * (10 - 15 * t + 6 * t**2)
