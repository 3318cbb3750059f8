"""A task in the simulator: reset, step, and read the state, several times as fast as `env.step`.

The state is read from the physics engine, and contacts are asked for only when they are wanted.
"""

import gc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import headless  # isort: skip  (first: it makes mani_skill importable)
import gymnasium
import mani_skill.envs  # noqa: F401  (registers the tasks)

from infoatlas_rt import InputError

from .tasks import TASKS, column_names

Float32 = NDArray[np.float32]


class Scene:
    """One environment of a task, `pd_joint_pos`. Planners take it for the environment.

    `names` are those of the columns of a state. `states` and `actions` are of the running episode:
    one state more than actions. Beside the states, `simulator` has those of all actors and
    articulations, and `grasps` whether each of `task.grasped` is grasped; empty unless asked for.
    """

    def __init__(self, task: str, watch_grasps: bool = False) -> None:
        if task not in TASKS:
            raise InputError(f"there is no task {task}: choose one of {', '.join(TASKS)}")
        self.task, self.watch_grasps = TASKS[task], watch_grasps
        self.env: Any = gymnasium.make(
            task,
            obs_mode="state",
            control_mode="pd_joint_pos",
            reward_mode="none",
            max_episode_steps=10_000,  # planners take longer than a policy is given
            **headless.OPTIONS,
        )
        gc.freeze()  # each new scene collects garbage, which looks through all that is imported
        self.unwrapped: Any = self.env.unwrapped
        self.names = column_names(self.task)

    def reset(self, *, seed: int | None = None, options: Any = None) -> None:
        """Begin the episode of a seed."""
        self.env.reset(seed=seed)
        env, agent = self.unwrapped, self.unwrapped.agent
        self._robot = agent.robot._objs[0]
        self._fixed = {c.name: c.read(env) for c in self.task.columns if not c.moves}
        registry = env.scene.state_dict_registry
        self._actors = {name: actor._objs[0] for name, actor in registry.actors.items()}
        self._components = {name: _rigid(entity) for name, entity in self._actors.items()}
        self._robot_name = next(iter(registry.articulations))
        self.states: list[Float32] = []
        self.actions: list[Float32] = []
        self.simulator: list[dict[str, Float32]] = []
        self.grasps: list[tuple[bool, ...]] = []
        self._keep()

    def step(self, action: Any) -> tuple[None, float, bool, bool, dict[str, bool]]:
        """One control step; what it returns is for planners, which pass it on."""
        action = np.asarray(action, np.float32).reshape(-1)
        self.move(action, action)
        return None, 0.0, False, False, {}

    def move(self, action: Float32, recorded: Float32) -> None:
        """One control step, and the action that is recorded for it."""
        self.unwrapped._step_action(action)
        self.actions.append(recorded)
        self._keep()

    def success(self) -> bool:
        """Whether the task is done, by the environment."""
        return bool(self.unwrapped.evaluate()["success"])

    def grasped(self, name: str) -> bool:
        """Whether the robot grasps an object."""
        entity = getattr(self.unwrapped, self.task.grasped[name])
        return bool(self.unwrapped.agent.is_grasping(entity))

    def close(self) -> None:
        self.env.close()

    def _keep(self) -> None:
        env, task = self.unwrapped, self.task
        parts = [self._robot.get_qpos(), self._robot.get_qvel()]
        parts += [c.read(env) if c.moves else self._fixed[c.name] for c in task.columns]
        self.states.append(np.concatenate(parts).astype(np.float32))
        self.simulator.append(self._simulated(parts[0], parts[1]))
        if self.watch_grasps:
            # At the start, the engine has contacts of the episode before.
            first = len(self.states) == 1
            self.grasps.append(tuple(not first and self.grasped(name) for name in task.grasped))

    def _simulated(self, positions: Any, velocities: Any) -> dict[str, Float32]:
        """As `env.get_state_dict()`: [13] of an actor, [13 + 2 n] of an articulation."""
        found: dict[str, Any] = {}
        for name, entity in self._actors.items():
            body, pose = self._components[name], entity.pose
            speeds = [np.zeros(6)]
            if body is not None:
                speeds = [body.linear_velocity, body.angular_velocity]
            found[f"actors/{name}"] = np.concatenate([pose.p, pose.q, *speeds]).astype(np.float32)
        robot = self._robot
        root = robot.root_pose
        parts = (root.p, root.q, robot.root_linear_velocity, robot.root_angular_velocity)
        whole = np.concatenate([*parts, positions, velocities])
        found[f"articulations/{self._robot_name}"] = whole.astype(np.float32)
        return found


def _rigid(entity: Any) -> Any:
    """The moving body of an entity; None of one that stays where it is."""
    import sapien

    found = entity.find_component_by_type(sapien.physx.PhysxRigidDynamicComponent)
    return None if found is None or found.kinematic else found
