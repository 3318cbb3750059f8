"""A planner for StackPyramid-v1 that grasps: cube A beside cube B, cube C on both.

ManiSkill's own planner pushes cube A with closed fingers. This one grasps it, in the manner of
ManiSkill's `stack_cube`.
"""

from typing import Any

import numpy as np
import sapien
from mani_skill.examples.motionplanning.base_motionplanner.utils import (
    compute_grasp_info_by_obb,
    get_actor_obb,
)
from mani_skill.examples.motionplanning.panda.motionplanner import PandaArmMotionPlanningSolver

FINGERS = 0.025  # length of the fingers, m
# From cube B to cube A, towards the robot, m: cubes of 40 mm in any turn do not touch, and 62 mm
# is the most that counts as beside.
BESIDE = np.array([-0.047, 0.0, 0.0])
ROOM = 0.065  # m, that cube C has to leave
ABOVE = 0.1  # m, of a lift
DOWN = np.array([0.0, 0.0, -1.0])
ACROSS = np.array([0.0, 1.0, 0.0])  # the fingers close across the row of cubes


def solve(env: Any, seed: int) -> int:
    """Solve one episode; -1 where there is no room or no path, as ManiSkill's planners."""
    env.reset(seed=seed)
    bare = env.unwrapped
    planner = PandaArmMotionPlanningSolver(
        env,
        vis=False,
        base_pose=bare.agent.robot.pose,
        visualize_target_grasp_pose=False,
        print_env_info=False,
    )
    beside = bare.cubeB.pose.sp.p + BESIDE
    if np.linalg.norm((beside - bare.cubeC.pose.sp.p)[:2]) < ROOM:
        return -1
    if not (_take(bare, planner, bare.cubeA) and _put(bare, planner, bare.cubeA, beside)):
        return -1
    if planner.move_to_pose_with_screw(_is_lifted(bare)) == -1:
        return -1
    top = (bare.cubeA.pose.sp.p + bare.cubeB.pose.sp.p) / 2
    top[2] += 2 * bare.cube_half_size[2].item()
    if not (_take(bare, planner, bare.cubeC) and _put(bare, planner, bare.cubeC, top)):
        return -1
    planner.close()
    return 0


def _face(cube: Any) -> Any:
    """The normal of a cube's upright face that is nearest to `ACROSS`."""
    turn = cube.pose.sp.to_transformation_matrix()[:3, :3]
    normals = [sign * turn[:, i] for i in range(3) for sign in (1, -1) if abs(turn[2, i]) < 0.5]
    return max(normals, key=lambda normal: float(normal @ ACROSS))


def _is_lifted(env: Any) -> Any:
    return sapien.Pose([0, 0, ABOVE]) * env.agent.tcp.pose.sp


def _take(env: Any, planner: Any, cube: Any) -> bool:
    """Grasp a cube, and lift it."""
    grasp = compute_grasp_info_by_obb(
        get_actor_obb(cube), approaching=DOWN, target_closing=_face(cube), depth=FINGERS
    )
    pose = env.agent.build_grasp_pose(DOWN, grasp["closing"], grasp["center"])
    for above in (0.05, 0.0):
        if planner.move_to_pose_with_screw(pose * sapien.Pose([0, 0, -above])) == -1:
            return False
    planner.close_gripper()
    if not env.agent.is_grasping(cube).item():
        return False
    return bool(planner.move_to_pose_with_screw(_is_lifted(env)) != -1)


def _put(env: Any, planner: Any, cube: Any, place: Any) -> bool:
    """Set the cube in the hand down at a place, and open the hand."""
    tool = env.agent.tcp.pose.sp
    turn = tool.to_transformation_matrix()[:3, :3]
    closing = ACROSS if ACROSS @ turn[:, 1] >= 0 else -ACROSS
    goal = env.agent.build_grasp_pose(DOWN, closing, place)
    offset = turn.T @ (tool.p - cube.pose.sp.p)  # from the cube to the tool, in the tool's axes
    goal.set_p(place + goal.to_transformation_matrix()[:3, :3] @ offset)
    for above in (0.06, 0.0):
        if planner.move_to_pose_with_screw(sapien.Pose([0, 0, above]) * goal) == -1:
            return False
    planner.open_gripper()
    return True
