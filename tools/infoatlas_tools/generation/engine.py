"""Data generation as in MimicGen: pieces of demonstrations, moved to where their objects are.

Each part of an attempt uses a demonstration. The path of its tool is moved to the present pose of
the part's reference object, and is followed by inverse kinematics. What succeeds is kept.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt import InputError

from .. import Subtasks
from ..array_types import Float
from ..keystates.subtasks import WORLD, Subtask
from . import arm, transform as move
from .scene import Scene
from .sources import Generated, Sources, poses
from .tasks import TASKS, SimulatorTask

FIRST_SEED = 500_000  # no demonstration's and no evaluation's
SEEDS = 10_000  # resets of each `seed`
NEAREST = 3  # sources that a part is drawn from
HOLD = 12  # steps at the end
APPROACH = (0.015, 0.08, 5)  # longest step of the direct leg (m, rad), fewest steps
FOLLOW = (0.02, 0.1)  # longest step of a path (m, rad)
PER_RAD = 0.1  # metres that a turn of 1 rad counts as, in choosing sources


@dataclass(frozen=True, eq=False)
class _Source:
    """One demonstration, as targets of the tool."""

    joints: Float  # [T, 7], targets, rad
    gripper: Float  # [T]
    path: Float  # [T, 4, 4], of the targets
    tool: Float  # [T, 4, 4], where it was
    bodies: dict[str, Float]  # [T, 4, 4]


def generate(
    task: str,
    sources: Sources,
    parts: Subtasks | None,
    attempts: int,
    *,
    seed: int = 0,
    noise: float = 0.0,
    smooth: int = 1,
    progress: Callable[[int, int], None] | None = None,
    scene: Scene | None = None,
) -> Generated:
    """Attempt a task from new starts, with pieces of demonstrations.

    `parts` are sub-tasks of the sources, of one tool; with None, each source is one part, relative
    to the first object that is grasped. The attempts, at most 10,000, are reset with seeds from
    500,000 + 10,000 `seed` on; `seed` also determines the choice of sources and the noise.

    `noise` is the standard deviation (rad) of Gaussian noise on the joint targets that are
    executed. The targets without it are recorded, so a policy sees how to come back. (MimicGen
    records them with it.) Sources are averaged over `smooth` steps (odd), for noisy poses.
    `progress` is called with the attempts and successes so far. `scene` is one of this task, to use
    it again.

    InputError if the parts are not of these demonstrations, have no references, or are of several
    tools. Also if a reference is not in the states, or a number is out of range.
    """
    if not 1 <= attempts <= SEEDS:
        raise InputError(f"attempts={attempts}: choose 1 to {SEEDS}")
    if noise < 0 or not np.isfinite(noise):
        raise InputError(f"noise={noise}: it is a standard deviation in rad, 0 or more")
    if task not in TASKS:
        raise InputError(f"there is no task {task}: choose one of {', '.join(TASKS)}")
    taken = _check(parts, sources, TASKS[task])
    wanted = {body for p in taken for body in (p.reference, p.held) if body not in ("", WORLD)}
    smoothed = sources.smoothed(smooth)
    known = [_source(smoothed, i, wanted) for i in range(len(sources.lengths))]
    used = Scene(task) if scene is None else scene
    successes = np.zeros(attempts, bool)
    states = [np.zeros((0, len(used.names)), np.float32)]
    actions = [np.zeros((0, 8), np.float32)]
    seeds: list[int] = []
    grasped: list[bool] = []
    simulated: list[dict[str, NDArray[np.float32]]] = []
    began = time.perf_counter()
    for i in range(attempts):
        reset = FIRST_SEED + seed * SEEDS + i
        attempt = _Attempt(used, known, taken, noise, np.random.default_rng([seed, i]))
        successes[i] = attempt.run(reset)
        if successes[i]:
            states.append(np.array(used.states))
            actions.append(np.array([*used.actions, used.actions[-1]]))
            seeds.append(reset)
            grasped += attempt.grasped
            simulated += used.simulator
        if progress is not None:
            progress(i + 1, int(successes.sum()))
    seconds = time.perf_counter() - began
    if scene is None:
        used.close()
    return Generated(
        np.concatenate(states),
        np.concatenate(actions),
        np.array([len(own) for own in states[1:]], np.int64),
        used.names,
        np.array(seeds, np.int64),
        task,
        {name: np.array([state[name] for state in simulated]) for name in used.simulator[0]},
        np.array(grasped, bool) if TASKS[task].flag else None,
        successes,
        seconds,
    )


@dataclass(eq=False)
class _Attempt:
    """One attempt, from its reset to its last step."""

    scene: Scene
    sources: Sequence[_Source]
    parts: Sequence[Subtask]
    noise: float
    rng: np.random.Generator
    grasped: list[bool] = field(default_factory=list)

    def run(self, seed: int) -> bool:
        """Whether the task is done at the last step."""
        self.scene.reset(seed=seed)
        self._look()
        self.joints = self.scene.states[0][:7].astype(np.float64)
        self.last = arm.forward(self.joints)
        symmetry: dict[str, str] = {}  # what of the pose of each object counts
        for number, part in enumerate(self.parts):
            self._follow(number, part, symmetry.get(part.held, "pose"))
            if part.reference != WORLD:
                symmetry[part.reference] = part.orientation
        for _ in range(HOLD):
            self._act(self.joints)
        return self.scene.success()

    def _follow(self, number: int, part: Subtask, held_counts: str) -> None:
        chosen = self._choose(number, part, self._here("tool"))
        if chosen is None:
            return
        source, start, end, moved = chosen
        self.gripper = float(source.gripper[start])
        fix = np.eye(4)
        grip = None
        if part.held and part.held != part.reference:  # else it is not held from the start
            then = source.bodies[part.held][start], source.tool[start]
            grip = move.tool_in_held(held_counts, *then)
            fix = self._correction(part.held, held_counts, grip)
        if number == 0:
            for pose in move.make_steps(self.last, moved @ source.path[start] @ fix, *APPROACH):
                self._to(pose, source.joints[start])
        begin = self.last
        first = source.path[start] @ fix
        along = move.progress(source.path[start:end])
        share = self.scene.task.held_filter
        for t, u in zip(range(start, end), along, strict=True):
            if grip is not None and share is not None and t > start:
                new = self._correction(part.held, held_counts, grip)
                fix = move.between(fix, new, share)
            pose = source.path[t] @ fix
            pose = moved @ pose if number == 0 else move.warp(pose, first, begin, moved, u)
            self.gripper = float(source.gripper[t])
            for step in move.make_steps(self.last, pose, *FOLLOW):
                self._to(step, source.joints[t])

    def _correction(self, held: str, counts: str, grip: Float) -> Float:
        now = move.tool_in_held(counts, self._here(held), self._here("tool"))
        return move.correction(counts, grip, now)

    def _choose(
        self, number: int, part: Subtask, tool: Float
    ) -> tuple[_Source, int, int, Float] | None:
        """A source, its steps of the part, and how it is moved; None if the part is left out.

        It is one of the three in which the object's pose at the start (first part) or the way of
        the tool is nearest to the present one.
        """
        found = []
        for i, source in enumerate(self.sources):
            start, end = int(part.start[i]), int(part.end[i])
            if end == start:
                continue
            moved, far = np.eye(4), 0.0
            if part.reference != WORLD:
                before, now = source.bodies[part.reference][start], self._here(part.reference)
                ending = source.path[end - 1]
                moved = move.motion(part.orientation, before, now, ending, tool)
                far = move.difference(part.orientation, before, now)
            if number:
                begin = moved @ source.path[start]
                far = float(np.linalg.norm(begin[:3, 3] - self.last[:3, 3]))
                far += PER_RAD * move.angle(begin[:3, :3], self.last[:3, :3])
            found.append((far, i, start, end, moved))
        if 2 * len(found) < len(self.sources):  # most demonstrations do without
            return None
        found.sort(key=lambda one: one[:2])
        _, i, start, end, moved = found[int(self.rng.integers(min(NEAREST, len(found))))]
        return self.sources[i], start, end, moved

    def _here(self, body: str) -> Float:
        return np.asarray(poses(self.scene.states[-1], self.scene.names, body)[0])

    def _to(self, pose: Float, posture: Float) -> None:
        self.joints = arm.inverse(pose, self.joints, posture)
        self.last = pose
        self._act(self.joints)

    def _act(self, joints: Float) -> None:
        clean = np.append(joints, self.gripper).astype(np.float32)
        action = clean
        if self.noise:
            action = clean.copy()
            action[:7] += self.rng.normal(0, self.noise, 7).astype(np.float32)
        self.scene.move(action, clean)
        self._look()

    def _look(self) -> None:
        """Keep the flag of the observation, where there is one."""
        if self.scene.task.flag:
            name = self.scene.task.first
            near = np.linalg.norm(self._here(name)[:3, 3] - self._here("tool")[:3, 3]) < 0.1
            first = len(self.scene.states) == 1  # the engine has contacts of the last episode
            self.grasped.append(bool(near and not first and self.scene.grasped(name)))


def _check(parts: Subtasks | None, sources: Sources, task: SimulatorTask) -> tuple[Subtask, ...]:
    lengths = np.asarray(sources.lengths)
    if parts is None:
        whole = np.zeros_like(lengths), lengths
        return (Subtask("tool", *whole, reference=task.first, orientation=task.orientation),)
    if not np.array_equal(parts.lengths, lengths):
        raise InputError(
            f"the sub-tasks are of {len(parts.lengths)} demonstrations with lengths "
            f"{list(parts.lengths)[:3]}, and the sources are {len(lengths)} with "
            f"{list(lengths)[:3]}: find them in the same demonstrations"
        )
    if len(parts.tools) != 1:
        raise InputError(f"sub-tasks of {len(parts.tools)} tools: the robot has one")
    for part, name in zip(parts.parts, parts.names, strict=True):
        if not part.reference:
            raise InputError(f"{name!r} has no reference object: find sub-tasks with objects=")
    return parts.parts


def _source(sources: Sources, i: int, wanted: set[str]) -> _Source:
    states, actions = sources.episode(i)
    joints = actions[:, :7].astype(np.float64)
    return _Source(
        joints,
        actions[:, 7].astype(np.float64),
        arm.forward(joints),
        poses(states, sources.names, "tool"),
        {body: poses(states, sources.names, body) for body in wanted},
    )
