"""An arm of six joints with two fingers, which moves without dynamics."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

JOINTS, OPEN = 6, 0.04  # joints of the arm, and position (m) of a finger of the open gripper
# Where the inverse kinematics starts, rad.
TUCKED = np.array([0.0, -0.1, 1.9, 0.0, np.pi - 1.8, 0.0])

ROBOT = """
<mujoco>
  <compiler angle="radian"/>
  <visual><headlight ambient=".35 .35 .35" diffuse=".35 .35 .35"/><map znear=".005"/></visual>
  <asset>
    <texture name="wood" type="2d" builtin="flat" rgb1=".52 .42 .33" width="256" height="256"
             mark="random" markrgb=".42 .33 .25" random=".08"/>
    <material name="wood" texture="wood" texrepeat="2 2" specular=".1" shininess=".1"/>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".75 .77 .8" rgb2=".55 .57 .6"
             width="64" height="64"/>
  </asset>
  <default>
    <default class="white"><geom rgba=".85 .85 .83 1" group="1"/></default>
    <default class="dark"><geom rgba=".2 .2 .22 1" group="1"/></default>
    <default class="orange"><geom rgba=".95 .5 .1 1" group="1"/></default>
  </default>
  <worldbody>
    <light pos=".2 -.6 1.6" dir=".2 .4 -1" diffuse=".5 .5 .5" castshadow="true"/>
    <light pos="1.0 .8 1.8" dir="-.4 -.5 -1" diffuse=".25 .25 .25" castshadow="false"/>
    <geom type="box" pos=".45 0 -.02" size=".6 .6 .02" material="wood" group="1"/>
    <geom type="plane" pos="0 0 -.7" size="3 3 .1" rgba=".45 .45 .47 1" group="1"/>
    <camera name="front" pos="1.2 .16 .68" fovy="42"
            xyaxes="-0.223 0.975 0.000 -0.625 -0.143 0.767"/>
    <body name="base">
      <geom class="dark" type="cylinder" size=".09 .05" pos="0 0 .05"/>
      <body name="link1" pos="0 0 .1">
        <joint name="joint1" axis="0 0 1"/>
        <geom class="white" type="cylinder" size=".06 .08" pos="0 0 .08"/>
        <body name="link2" pos="0 0 .17">
          <joint name="joint2" axis="0 1 0"/>
          <geom class="orange" type="cylinder" size=".055 .07" euler="1.5708 0 0"/>
          <geom class="white" type="capsule" size=".042" fromto="0 0 0 0 0 .42"/>
          <body name="link3" pos="0 0 .42">
            <joint name="joint3" axis="0 1 0"/>
            <geom class="orange" type="cylinder" size=".045 .06" euler="1.5708 0 0"/>
            <geom class="white" type="capsule" size=".035" fromto="0 0 0 0 0 .3"/>
            <body name="link4" pos="0 0 .4">
              <joint name="joint4" axis="0 0 1"/>
              <geom class="white" type="cylinder" size=".033 .04" pos="0 0 -.06"/>
              <body name="link5">
                <joint name="joint5" axis="0 1 0"/>
                <geom class="dark" type="cylinder" size=".035 .04" euler="1.5708 0 0"/>
                <body name="hand" pos="0 0 .07">
                  <joint name="joint6" axis="0 0 1"/>
                  <geom class="white" type="cylinder" size=".035 .02" pos="0 0 -.02"/>
                  <geom class="dark" type="box" size=".025 .06 .02" pos="0 0 .02"/>
                  <geom class="dark" type="box" size=".012 .012 .012" pos="-.06 0 .02"/>
                  <camera name="wrist" pos="-.075 0 .03" xyaxes="0 1 0 1 0 -.12" fovy="75"/>
                  <site name="tool" pos="0 0 .12"/>
                  <body name="left" pos="0 0 .05">
                    <joint name="finger1" type="slide" axis="0 1 0" range="0 .04"/>
                    <geom class="dark" type="box" size=".012 .006 .045" pos="0 .006 .04"/>
                  </body>
                  <body name="right" pos="0 0 .05">
                    <joint name="finger2" type="slide" axis="0 -1 0" range="0 .04"/>
                    <geom class="dark" type="box" size=".012 .006 .045" pos="0 -.006 .04"/>
                  </body>
                </body>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
    {things}
  </worldbody>
</mujoco>
"""


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
    xml = ROBOT.format(things="".join(thing.xml() for thing in things))
    return mujoco.MjModel.from_xml_string(xml)


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
