"""The tasks, their demonstrations, and the definitions of their true events.

Methods get `trajectories`; those that use the names of columns also get `names`. Events are
computed from the simulator's flags in the same files, which are used for scoring only.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .episode_files import load_episodes

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
Array = NDArray[np.float64]


@dataclass(frozen=True)
class TrueEvent:
    """A moment of a trajectory: the first or the last step at which a flag is true.

    A trajectory lacks the event if the flag is never true, or if its last step is the end of the
    trajectory (the object is still held).
    """

    name: str
    flag: str
    which: str  # "first" or "last"
    meaning: str


GRASP = TrueEvent("grasp", "is_grasped", "first", "both fingers press on the object")
RELEASE = TrueEvent("release", "is_grasped", "last", "the last step at which they do")
CONTACT = TrueEvent("contact", "has_moved", "first", "the object is 3 mm from where it lay")
ALIGNED = TrueEvent(
    "aligned", "aligned", "first", "on the axis of the hole, before it is pushed in"
)
TAKEN = TrueEvent(
    "taken", "is_grasped_b", "first", "both fingers of the other arm touch the object"
)
PADS = TrueEvent("grasp", "both_pads", "first", "both pads of the fingers touch the object")
TOUCH = TrueEvent("contact", "touch", "first", "the hand touches the object")
MOVED = TrueEvent("moved", "has_moved", "first", "the object is 3 mm from where it lay")
NAIL = TrueEvent("nail", "has_moved2", "first", "the nail is 3 mm from where it was")
BINS = ("milk", "bread", "cereal", "can")
NUTS = ("square_nut", "round_nut")


def each(things: tuple[str, ...]) -> tuple[TrueEvent, ...]:
    """Grasp and release of each object."""
    return tuple(
        replace(event, name=f"{event.name} {thing}", flag=f"{event.flag}_{thing}")
        for thing in things
        for event in (GRASP, RELEASE)
    )


@dataclass(frozen=True)
class Task:
    """A set of demonstrations."""

    title: str
    path: Path
    events: tuple[TrueEvent, ...] = ()  # in order of time, if `ordered`; empty: the file lists them
    chosen_on: bool = False  # settings of methods other than `auto` were chosen on this task
    people: bool = False  # made by people, not by motion planners or scripted policies
    rate: float = 20.0  # Hz; approximate for Sawyer and Baxter (data/README.md)
    ordered: bool = True  # the events happen in the same order in all trajectories
    truth: str = "event"  # which of the events that the file lists


TASKS = {
    "pick": Task("PickCube", ROOT / "examples/data/pickcube.npz", (GRASP,), chosen_on=True),
    "lift": Task("LiftPegUpright", DATA / "lift.npz", (GRASP, RELEASE), chosen_on=True),
    "push": Task("PushCube", DATA / "push.npz", (CONTACT,), chosen_on=True),
    "pull": Task("PullCubeTool", DATA / "pull.npz", (GRASP, CONTACT)),
    "plug": Task("PlugCharger", DATA / "plug.npz", (GRASP, ALIGNED)),
    "stack": Task("StackCube", DATA / "stack.npz", (GRASP, RELEASE)),
    "peg": Task("PegInsertionSide", DATA / "peg.npz", (GRASP, ALIGNED)),
    "handover": Task(
        "Handover (people)", DATA / "handover.npz", (GRASP, TAKEN, RELEASE), people=True
    ),
    "lift_people": Task("Lift (people)", DATA / "lift_people.npz", (GRASP,), people=True),
}


def scripted(title: str, file: str, events: tuple[TrueEvent, ...], ordered: bool = True) -> Task:
    """A task of Meta-World; a step is five steps of its simulator, 1/80 s."""
    return Task(title, DATA / f"{file}.npz", events, rate=80.0, ordered=ordered)


# Sets without a planner. The pages have only the tasks above. `panda_place` and
# `baxter_lift` are for reports; no setting was chosen on them.
UNPLANNED = {
    "sawyer_place": Task(
        "Placing (people, Sawyer)", DATA / "sawyer_place.npz", (GRASP, RELEASE), people=True
    ),
    "sawyer_pickplace_long": Task(
        "Four objects (people, Sawyer)",
        DATA / "sawyer_pickplace_long.npz",
        each(BINS),
        people=True,
        ordered=False,
    ),
    "sawyer_nut_long": Task(
        "Two nuts (people, Sawyer)",
        DATA / "sawyer_nut_long.npz",
        each(NUTS),
        people=True,
        ordered=False,
    ),
    "panda_place": Task(
        "Placing (people, Panda)", DATA / "panda_place.npz", (GRASP, RELEASE), people=True
    ),
    "baxter_lift": Task(
        "Two-arm lift (people, Baxter)", DATA / "baxter_lift.npz", (TAKEN, GRASP), people=True
    ),
    "vmci_pnp": Task("Box, segments (people)", DATA / "vmci_pnp.npz", people=True, rate=60.0),
    "vmci_box": Task(
        "Box, its motion (people)", DATA / "vmci_pnp.npz", people=True, rate=60.0, truth="box"
    ),
    "pusht": Task("Push-T (people)", DATA / "pusht.npz", people=True, rate=10.0, ordered=False),
    "mw_pick_place": scripted("pick-place-v3", "mw_pick_place", (PADS,)),
    "mw_assembly": scripted("assembly-v3", "mw_assembly", (PADS,)),
    # An impact can open the drawer by 3 mm within a step.
    "mw_drawer_open": scripted("drawer-open-v3", "mw_drawer_open", (TOUCH, MOVED), ordered=False),
    "mw_door_open": scripted("door-open-v3", "mw_door_open", (TOUCH, MOVED)),
    "mw_hammer": scripted("hammer-v3", "mw_hammer", (PADS, NAIL)),
}


SETS = {**TASKS, **UNPLANNED}


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Trajectories of one task, with the steps of their events."""

    trajectories: list[Array]  # N arrays [T, d]
    names: tuple[str, ...]
    events: tuple[str, ...]
    # [N, E], steps, fractional if a trajectory was resampled; NaN if there is no event.
    times: Array
    seeds: NDArray[np.int64]  # [N], reset seeds of the simulator
    rate: float | None = None  # steps per second (Hz), if known

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(states) for states in self.trajectories])

    @property
    def usual(self) -> int:
        """Median number of events of a demonstration, at least one."""
        return max(1, round(float(np.median(np.isfinite(self.times).sum(axis=1)))))

    def subset(self, which: NDArray[np.integer] | slice) -> "Demonstrations":
        """Some of the trajectories."""
        rows = np.arange(len(self.trajectories))[which]
        return replace(
            self,
            trajectories=[self.trajectories[i] for i in rows],
            times=self.times[rows],
            seeds=self.seeds[rows],
        )

    def columns(self, which: NDArray[np.integer]) -> "Demonstrations":
        """Some of the columns."""
        return replace(
            self,
            trajectories=[states[:, which] for states in self.trajectories],
            names=tuple(self.names[i] for i in which),
        )


def load(task: str, number: int | None = None) -> Demonstrations:
    """Demonstrations of a task, the first `number` of them if given."""
    chosen = SETS[task]
    demonstrations = read(chosen.path, chosen.events, chosen.truth)
    demonstrations = replace(demonstrations, rate=chosen.rate)
    return demonstrations if number is None else demonstrations.subset(slice(number))


def read(path: Path, events: tuple[TrueEvent, ...] = (), truth: str = "event") -> Demonstrations:
    """Demonstrations from a file like those of the tasks.

    `events` are computed from the flags in the file. Without any, they are those that the file
    lists as `event_names` [E] and `event_times` [N, E], in steps, NaN if absent; `truth` is the
    start of these two names.
    """
    arrays, steps = load_episodes(path)
    if events:
        called = tuple(event.name for event in events)
        times = np.array([[when(event, arrays[event.flag][i]) for event in events] for i in steps])
    else:
        called = tuple(map(str, arrays[f"{truth}_names"]))
        times = arrays[f"{truth}_times"].astype(np.float64)
    return Demonstrations(
        trajectories=[arrays["states"][i].astype(np.float64) for i in steps],
        names=tuple(map(str, arrays["names"])),
        events=called,
        times=times,
        seeds=arrays.get("seeds", np.arange(len(steps))),
        rate=float(arrays["rate"]) if "rate" in arrays else None,
    )


def when(event: TrueEvent, flag: NDArray[np.bool_]) -> float:
    """The step of an event, from a flag [T] of one trajectory; NaN if it did not happen."""
    steps = np.flatnonzero(flag)
    if event.which == "first":
        return float(steps[0]) if len(steps) else np.nan
    return float(steps[-1]) if len(steps) and steps[-1] < len(flag) - 1 else np.nan
