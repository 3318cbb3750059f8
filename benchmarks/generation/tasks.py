"""The tasks: names of their bodies, and their right references.

The right references were written down from the planners' programs, before any result was seen.
"""

from dataclasses import dataclass

from infoatlas_tools import Pose, Position

WORLD = "world"
GRASP, RELEASE = "grasp", "release"


@dataclass(frozen=True)
class Task:
    """A task of the simulator."""

    environment: str  # name in the simulator
    objects: dict[str, Pose | Position]  # by the prefix of their columns
    right: tuple[tuple[str, ...], ...]  # right references of each part; any of a tuple is right
    cuts: tuple[tuple[str, str], ...]  # end of each part except the last: grasp or release, object
    held: tuple[str, ...]  # object that the tool carries in each part; "" if none
    # For the arms that do not find them; default: the first right object of each part.
    references: tuple[str, ...] = ()
    optional: bool = False  # further parts with the world as reference are right, too

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


def _carrying(
    environment: str, thing: str, goal: str, kind: type = Pose, optional: bool = False
) -> Task:
    """A task with one grasp: a thing is taken and carried to a goal."""
    objects, right = {thing: Pose(thing), goal: kind(goal)}, ((thing,), (goal,))
    return Task(environment, objects, right, ((GRASP, thing),), ("", thing), optional=optional)


TASKS = {
    "pick": _carrying("PickCube-v1", "cube", "goal", Position),
    "stack": _carrying("StackCube-v1", "cube_a", "cube_b"),
    # The planner moves behind the cube, and from there a fixed distance back.
    "pull": _carrying("PullCubeTool-v1", "hook", "cube", optional=True),
    "place": _carrying("PlaceSphere-v1", "sphere", "bin", Position),
    "plug": _carrying("PlugCharger-v1", "charger", "receptacle"),
    "peg": _carrying("PegInsertionSide-v1", "peg", "hole"),
    # All motions are relative to the initial pose of the peg; the world is right after the grasp.
    "lift": Task(
        "LiftPegUpright-v1",
        _poses("peg"),
        (("peg",),),
        ((GRASP, "peg"),),
        held=("", "peg"),
        references=("peg", WORLD),
        optional=True,
    ),
    # The first cube is placed beside the second, the third on top of both.
    "pyramid": Task(
        "StackPyramid-v1",
        _poses("cube_a", "cube_b", "cube_c"),
        (("cube_a",), ("cube_b",), ("cube_c",), ("cube_b", "cube_a")),
        ((GRASP, "cube_a"), (RELEASE, "cube_a"), (GRASP, "cube_c")),
        held=("", "cube_a", "", "cube_c"),
    ),
}
