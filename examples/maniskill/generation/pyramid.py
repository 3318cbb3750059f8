"""A planner for StackPyramid-v1 that grasps: cube A beside cube B, cube C on both.

ManiSkill's own planner pushes cube A with closed fingers. This one takes it, in the manner of
ManiSkill's `stack_cube`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sapien
from mani_skill.examples.motionplanning.base_motionplanner.utils import (
    compute_grasp_info_by_obb,
    get_actor_obb,
)
from mani_skill.examples.motionplanning.panda.motionplanner import PandaArmMotionPlanningSolver

FINGERS = 0.025  # length of the fingers, m
APART = 0.044  # from the middle of cube A to that of cube B, m: cubes of 40 mm, with a gap
ABOVE = 0.1  # m, of a lift
DOWN = np.array([0.0, 0.0, -1.0])


def solve(env: Any, seed: int | None = None, debug: bool = False, vis: bool = False) -> Any:
    """Solve one episode; -1 where no path is found, as ManiSkill's planners."""
    env.reset(seed=seed)
    bare = env.unwrapped
    planner = PandaArmMotionPlanningSolver(
        env,
        debug=debug,
        vis=vis,
        base_pose=bare.agent.robot.pose,
        visualize_target_grasp_pose=vis,
        print_env_info=False,
    )
    a, b, c = (cube.pose.sp for cube in (bare.cubeA, bare.cubeB, bare.cubeC))
    # The fingers close across the row of cubes, so they have room on both sides.
    across = _face(b, np.array([0.0, 1.0, 0.0]))
    along = np.array([-across[1], across[0], 0.0])
    if along[0] > 0:
        along = -along  # towards the robot
    if np.linalg.norm((b.p + APART * along - c.p)[:2]) < 0.07:
        along = -along  # cube C is in the way
    beside = b.p + APART * along
    taken = _take(bare, planner, bare.cubeA, _face(a, across))
    if taken is None or not _put(bare, planner, bare.cubeA, taken, beside, across):
        return -1
    closing = bare.agent.tcp.pose.to_transformation_matrix()[0, :3, 1].cpu().numpy()
    taken = _take(bare, planner, bare.cubeC, _face(bare.cubeC.pose.sp, closing))
    if taken is None:
        return -1
    middle = (bare.cubeA.pose.sp.p + bare.cubeB.pose.sp.p) / 2
    top = middle + np.array([0.0, 0.0, 2 * bare.cube_half_size[2].item()])
    if not _put(bare, planner, bare.cubeC, taken, top, _face(bare.cubeB.pose.sp, closing), False):
        return -1
    planner.close()
    return 0


def _face(cube: Any, wanted: Any) -> Any:
    """The normal of a cube's upright face that is nearest to a direction."""
    turn = cube.to_transformation_matrix()[:3, :3]
    normals = [sign * turn[:, i] for i in range(3) for sign in (1, -1) if abs(turn[2, i]) < 0.5]
    best = max(normals, key=lambda normal: float(normal @ wanted))
    return best / np.linalg.norm(best)


def _take(env: Any, planner: Any, cube: Any, closing: Any) -> Any:
    """Grasp a cube and lift it; the pose that the tool grasped it with, None without a path."""
    grasp = compute_grasp_info_by_obb(
        get_actor_obb(cube), approaching=DOWN, target_closing=closing, depth=FINGERS
    )
    pose = env.agent.build_grasp_pose(DOWN, grasp["closing"], grasp["center"])
    if planner.move_to_pose_with_screw(pose * sapien.Pose([0, 0, -0.05])) == -1:
        return None
    if planner.move_to_pose_with_screw(pose) == -1:
        return None
    planner.close_gripper()
    if planner.move_to_pose_with_screw(sapien.Pose([0, 0, ABOVE]) * pose) == -1:
        return None
    return pose


def _put(
    env: Any, planner: Any, cube: Any, taken: Any, place: Any, closing: Any, lift: bool = True
) -> bool:
    """Set the cube in the hand down at a place, with the fingers closing along a direction."""
    now = taken.to_transformation_matrix()[:3, 1]
    closing = closing if closing @ now >= 0 else -closing
    # Of a cube, quarter turns are alike: the least of them.
    options = [closing, np.array([-closing[1], closing[0], 0.0])]
    closing = options[0] if lift else max((s * o for o in options for s in (1, -1)), key=now.dot)
    turned = env.agent.build_grasp_pose(DOWN, closing, place)
    offset = turned.to_transformation_matrix()[:3, :3] @ _offset(env, cube)
    goal = sapien.Pose(place + offset, turned.q)
    if planner.move_to_pose_with_screw(sapien.Pose([0, 0, 0.06]) * goal) == -1:
        return False
    if planner.move_to_pose_with_screw(goal) == -1:
        return False
    planner.open_gripper()
    return not lift or planner.move_to_pose_with_screw(sapien.Pose([0, 0, ABOVE]) * goal) != -1


def _offset(env: Any, cube: Any) -> Any:
    """From the cube's middle to the tool, in the tool's axes."""
    tool = env.agent.tcp.pose.sp
    turn = tool.to_transformation_matrix()[:3, :3]
    return turn.T @ (tool.p - cube.pose.sp.p)
