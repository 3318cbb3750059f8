"""The tasks: what their bodies are called, and what counts as their right references.

The right references were written down from the planners' programs, before any result was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from infoatlas_rt import Pose, Position

WORLD = "world"
GRASP, RELEASE = "grasp", "release"


@dataclass(frozen=True)
class Task:
    """A task of the simulator.

    Attributes
    ----------
    environment : str
        Of the simulator.
    objects : dict of str to Pose or Position
        By the beginnings of their columns' names.
    right : tuple of tuple of str
        Objects that each part is about; any of a tuple is right.
    cuts : tuple of (str, str)
        What ends each part but the last: "grasp" or "release", and of which object.
    held : tuple of str
        Object that the tool carries in each part; "" if none.
    references : tuple of str
        Given to the arms that do not find them: the first right object of each part unless given.
    optional : bool
        More parts may follow that are about the world.
    """

    environment: str
    objects: dict[str, Pose | Position]
    right: tuple[tuple[str, ...], ...]
    cuts: tuple[tuple[str, str], ...]
    held: tuple[str, ...]
    references: tuple[str, ...] = ()
    optional: bool = False

    @property
    def title(self) -> str:
        return self.environment.removesuffix("-v1")

    @property
    def given(self) -> tuple[str, ...]:
        """The reference of each part, for the arms that do not find it."""
        return self.references or tuple(names[0] for names in self.right)

    def is_right(self, references: tuple[str, ...]) -> bool:
        """Whether parts are about the right objects, in order."""
        needed = len(self.right)
        further = references[needed:]
        if further and not (self.optional and set(further) == {WORLD}):
            return False
        return len(references) >= needed and all(
            name in names for name, names in zip(references, self.right, strict=False)
        )


def _poses(*names: str) -> dict[str, Pose | Position]:
    return {name: Pose(name) for name in names}


TASKS = {
    "pick": Task(
        "PickCube-v1",
        {**_poses("cube"), "goal": Position("goal")},
        (("cube",), ("goal",)),
        ((GRASP, "cube"),),
        held=("", "cube"),
    ),
    "stack": Task(
        "StackCube-v1",
        _poses("cube_a", "cube_b"),
        (("cube_a",), ("cube_b",)),
        ((GRASP, "cube_a"),),
        held=("", "cube_a"),
    ),
    # The planner goes to behind the cube, and from there a fixed way back.
    "pull": Task(
        "PullCubeTool-v1",
        _poses("hook", "cube"),
        (("hook",), ("cube",)),
        ((GRASP, "hook"),),
        held=("", "hook"),
        optional=True,
    ),
    "place": Task(
        "PlaceSphere-v1",
        {**_poses("sphere"), "bin": Position("bin")},
        (("sphere",), ("bin",)),
        ((GRASP, "sphere"),),
        held=("", "sphere"),
    ),
    "plug": Task(
        "PlugCharger-v1",
        _poses("charger", "receptacle"),
        (("charger",), ("receptacle",)),
        ((GRASP, "charger"),),
        held=("", "charger"),
    ),
    "peg": Task(
        "PegInsertionSide-v1",
        _poses("peg", "hole"),
        (("peg",), ("hole",)),
        ((GRASP, "peg"),),
        held=("", "peg"),
    ),
    # All that the planner does is relative to where the peg lay; the world is not wrong after it.
    "lift": Task(
        "LiftPegUpright-v1",
        _poses("peg"),
        (("peg",),),
        ((GRASP, "peg"),),
        held=("", "peg"),
        references=("peg", WORLD),
        optional=True,
    ),
    # The first cube goes beside the second, the third on the middle of both.
    "pyramid": Task(
        "StackPyramid-v1",
        _poses("cube_a", "cube_b", "cube_c"),
        (("cube_a",), ("cube_b",), ("cube_c",), ("cube_b", "cube_a")),
        ((GRASP, "cube_a"), (RELEASE, "cube_a"), (GRASP, "cube_c")),
        held=("", "cube_a", "", "cube_c"),
    ),
}
