"""Make the cases of this folder: tasks, streams, and what `KeyStateTracker` reports about them.

    PYTHONPATH=tests python tests/streams/make.py

Reports are those of the present code, so look at what changes before committing it.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import stream_cases
from episodes import RATE, pickcube, resampled, retried
from infoatlas_rt import KeyStateTracker, Task
from infoatlas_tools import Trajectories, discover_keystates, load_trajectories
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks
from task_parts import reach_and_carry, two_picks, visits

FOLDER = stream_cases.FOLDER
ROOT = Path(__file__).parents[2]
POSES = tuple(f"{body}.{axis}" for body in ("tool", "first") for axis in "xyz")
Made = list[np.ndarray]  # demonstrations or episodes [T, d]


def rounded(states: np.ndarray) -> np.ndarray:
    return np.round(states, 3)


def picks() -> tuple[Any, Made]:
    """Two objects are carried to one place; a point and a gripper."""
    rng = np.random.default_rng(0)
    demos = [rounded(two_picks(rng)[0]) for _ in range(12)]
    found = discover_keystates(Trajectories(demos, names=("x", "y", "gripper"), rate=20), count=4)
    closed = rounded(two_picks(rng, closed=True)[0])
    return found.follow(found.subtasks()), [rounded(two_picks(rng)[0]), closed]


def cube() -> tuple[Any, Made]:
    """PickCube, recorded: 41 columns with quaternions; reach the cube, carry it to the goal."""
    states, grasps, names = pickcube()
    states = [rounded(s) for s in states]
    found = discover_keystates(Trajectories(states[:10], names=names, rate=RATE), count=2)
    return found.follow(reach_and_carry(states[:10], grasps[:10])), [
        np.concatenate([states[40], np.repeat(states[40][-1:], 12, axis=0)]),
        unmoved(states[42], names),
        retried(states[41], int(grasps[41])),
    ]


def unmoved(states: np.ndarray, names: Any) -> np.ndarray:
    """The same motion of the robot, without that of the cube."""
    made, at = states.copy(), [i for i, name in enumerate(names) if name.startswith("cube.")]
    made[:, at] = states[0, at]
    return made


def places() -> tuple[Any, Made]:
    """A point visits three places, by its position relative to the first: sub-tasks with poses."""
    states, subtasks = visits(seed=1)
    states = [rounded(s) for s in states]
    parts = (replace(subtasks.parts[0], reference="first"), *subtasks.parts[1:])
    found = discover_keystates(Trajectories(states, names=POSES, rate=RATE), count=2)
    (episode,), truth = visits(count=1, seed=9)
    second, third = int(truth.parts[1].start[0]), int(truth.parts[2].start[0])
    back = [episode[:third], np.repeat(episode[second:third][::-1], 2, axis=0), episode]
    return found.follow(replace(subtasks, parts=parts)), [
        rounded(episode),
        rounded(np.concatenate(back)),
    ]


def alone() -> tuple[Any, Made]:
    """The same motion as one sub-task, with key states by labels."""
    states, _ = visits(seed=1)
    states = [rounded(s) for s in states]
    _, subtasks = visits(seed=1)
    lengths = np.array([len(s) for s in states])
    one = Subtasks((Subtask("tool", 0 * lengths, lengths),), lengths, RATE)
    labels = {i: {"turn": int(subtasks.parts[0].end[i])} for i in range(3)}
    found = discover_keystates(Trajectories(states, rate=RATE), labels=labels)
    return found.follow(one), [rounded(visits(count=1, seed=7)[0][0])]


def two_tools() -> tuple[Any, Made]:
    """The same motion in three parts of one tool, and in two of another; some lack a part."""
    states, subtasks = visits(count=16, seed=2, lacking=0.5)
    first, second, third = subtasks.parts
    parts = (
        *subtasks.parts,
        Subtask("other", first.start, second.end),
        Subtask("other", third.start, third.end),
    )
    states = [rounded(s) for s in states]
    found = discover_keystates(Trajectories(states, rate=RATE), count=2)
    others, _ = visits(count=2, seed=3, lacking=0.5)
    return found.follow(replace(subtasks, parts=parts)), [rounded(s) for s in others]


def turning(rng: np.random.Generator) -> np.ndarray:
    """A gripper turns by more than a turn, closes, and turns on about another axis [T, 8]."""
    first, second = int(rng.integers(22, 32)), int(rng.integers(22, 32))
    rest, t = 6, np.arange(60 + 30)
    ways = [np.clip((t - at) / length, 0, 1) for at, length in ((3, first), (9 + first, second))]
    yaw, tilt = 560 * ways[0] + 30, 1.2 * ways[1]
    half = np.radians(200 * ways[0]) / 2
    q = np.stack([np.cos(half), 0 * t, np.sin(half) * np.sin(tilt), np.sin(half) * np.cos(tilt)], 1)
    gripper = np.clip((t - first - 3) / rest, 0, 1)
    noise = 0.01 * rng.standard_normal((len(t), 3))
    lift = ways[1] + noise[:, 0]
    return rounded(np.c_[(yaw + 20 * noise[:, 1]) % 360 - 180, q, gripper, lift, 0 * t + 0.25])


NAMES = ("wrist.yaw", *(f"tool.{c}" for c in ("qw", "qx", "qy", "qz")), "gripper", "lift", "table")


def turns() -> tuple[Any, Made]:
    """An angle in degrees that wraps, a quaternion, and a column that never changes."""
    rng = np.random.default_rng(5)
    demos = [turning(rng) for _ in range(12)]
    found = discover_keystates(Trajectories(demos, names=NAMES, rate=20), count=1)
    return found.follow(found.subtasks()), [turning(rng)]


def unknown() -> tuple[Any, Made]:
    """A task of unknown rate, of which only the first key state is good enough."""
    rng = np.random.default_rng(0)
    demos = [rounded(two_picks(rng)[0]) for _ in range(12)]
    found = discover_keystates(demos, count=4)
    return found.follow(), [rounded(two_picks(rng)[0])]


def camera() -> tuple[Any, Made]:
    """Joints of a robot, with sub-tasks whose objects a camera has seen."""
    data = load_trajectories(ROOT / "examples/data/stack", camera="front")
    found = discover_keystates(data, count="auto")
    parts = found.subtasks(object_names={1: "green", 2: "red"})
    return found.follow(parts), [rounded(data.split()[3])]


TASKS = {made.__name__: made for made in (picks, cube, places, alone, two_tools, turns, unknown)}
TASKS["camera"] = camera


def flipped(states: np.ndarray) -> np.ndarray:
    """The same rotations with other signs, and one that was lost."""
    made = states.copy()
    made[::3, 1:5] *= -1
    made[40, 1:5] = 0
    return made


def without(states: np.ndarray, rows: Any) -> dict[str, Any]:
    """States with stamps, and some left out."""
    kept = np.delete(np.arange(len(states)), rows)
    return {"states": states[kept], "stamps": 100 + kept / 20}


def stamped(states: np.ndarray, rate: float = 20, start: float = 100) -> dict[str, Any]:
    return {"states": states, "stamps": start + np.arange(len(states)) / rate}


def rested(states: np.ndarray, at: int, steps: int) -> np.ndarray:
    return np.concatenate([states[:at], np.repeat(states[at : at + 1], steps, 0), states[at:]])


def streams(made: dict[str, Made]) -> dict[str, dict[str, Any]]:
    """The cases, without what is expected."""
    pick, closed = made["picks"]
    recorded, missed, retry = made["cube"]
    visit, back = made["places"]
    both, lacking = made["two_tools"][::-1]
    turn, other = made["turns"][0], made["unknown"][0]
    lost = pick.copy()
    lost[30:34] = np.nan
    lost[77, 1] = np.nan
    jump = np.concatenate([pick[:90], pick])
    shorter: list[Any] = [*pick.tolist()]
    shorter[50] = shorter[50][:2]
    fast = resampled(pick, 2.5)
    again = np.insert(np.arange(len(pick)), [20, 61, 61, 110], [19, 60, 60, 109])
    second = np.concatenate([pick[:150], pick[100:150][::-1], pick[100:]])
    twice = np.concatenate([pick[:66], pick[54:66][::-1], pick[54:110]])
    rates = {"detectors.timing.rate": 80.0, "detectors.timing.stride": 4}
    few = {"detectors.stream.stamps_kept": 3, "detectors.stream.stamps_for_rate": 3}
    moved = turn + [0, 0, 0, 0, 0, 0, 0, 0.1] * (np.arange(len(turn)) > 40)[:, None]
    late = 100 + np.arange(len(fast)) / 50 + 0.4 * (np.arange(len(fast)) > 4)
    jumps = np.r_[100 + np.arange(90) / 20, 50 + np.arange(len(pick)) / 20]
    some = [None if i == 4 else 100 + i / 50 for i in range(len(pick))]
    left_out = [*range(0, len(pick), 7), *range(64, 70)]
    found = {
        "normal": ("picks", "two objects are picked and placed", stamped(pick)),
        "recorded": ("cube", "an ordinary episode", stamped(recorded)),
        "retry": ("cube", "a failed grasp, then another", stamped(retry)),
        "missed": ("cube", "the cube stays where it is", stamped(missed)),
        "second_object": ("picks", "the way to the second object is gone twice", stamped(second)),
        "begins_late": (
            "picks", "the first state is just before a key state", stamped(pick[54:120])),
        "twice": (
            "picks", "the gripper closes twice within a second, and both are reported",
            {"change": {"detectors.once": [False] * 4}, **stamped(twice)}),
        "begins_closed": (
            "picks", "the first opening of the gripper is no release", stamped(closed)),
        "nan": ("picks", "some states are NaN", stamped(lost)),
        "lost_frames": (
            "picks", "each seventh state is lost, and six in a row", without(pick, left_out)),
        "repeated_stamp": (
            "picks", "some states arrive twice", {"states": pick[again], "stamps": 100 + again / 20}
        ),
        "stamps_jump_back": (
            "picks", "a recording starts again after 90 states", {"states": jump, "stamps": jumps}),
        "faster_by_stamps": (
            "picks", "50 Hz by stamps in milliseconds, with a pause among the first ones",
            {"states": fast, "stamps": late}),
        "slower_by_stamps": ("picks", "10 Hz", stamped(pick[::2], 10)),
        "similar_by_stamps": (
            "picks", "96 Hz count as the 80 Hz of the demonstrations",
            {"change": rates, **stamped(resampled(pick[:80], 4.8), 96)}),
        "faster": ("picks", "33 Hz as argument", {"rate": 33.0, "states": pick}),
        "slower": ("cube", "6 Hz", {"rate": 6.0, "states": recorded[::3]}),
        "some_stamps": (
            "picks", "the fifth state has no stamp, so the rate is that of the demonstrations",
            {"states": pick, "stamps": some}),
        "pause": (
            "places", "a rest of 8 s in the second part is a stall", stamped(rested(visit, 36, 160))
        ),
        "back": ("places", "back to the first place, again", stamped(back)),
        "wrapping": ("turns", "an angle that wraps", stamped(turn)),
        "signs": ("turns", "signs of a quaternion", stamped(flipped(turn))),
        "constant": (
            "turns", "a column changes that never changed in demonstrations", stamped(moved)),
        "labels_and_one_part": (
            "alone", "a label's key state, and one sub-task", stamped(made["alone"][0])),
        "camera": (
            "camera", "sub-tasks whose objects a camera has seen", stamped(made["camera"][0])),
        "poses": ("places", "parts by relative positions", stamped(visit)),
        "two_tools": ("two_tools", "two tools", stamped(both)),
        "lacking": ("two_tools", "the second part is left out", stamped(lacking)),
        "reset": (
            "picks", "an episode ends after 70 states",
            {**stamped(np.concatenate([pick[:70], pick])), "resets": [70]}),
        "longer": (
            "places", "three times as slow as any demonstration", stamped(resampled(visit, 3.0))),
        "dimension": (
            "picks", "a state lacks a column",
            {"states": shorter, "stamps": 100 + np.arange(len(pick)) / 20}),
        "unknown_rate": (
            "unknown", "the rate of the demonstrations is not known, so stamps do not matter",
            stamped(other, 55)),
        "follow_all": (
            "unknown", "also key states that are reported falsely too often",
            {"follow_all": True, "states": other}),
        "few_stamps_kept": (
            "picks", "the stamp of an event is gone when it is reported",
            {"change": few, **stamped(pick)}),
    }  # fmt: skip
    return {
        name: {"task": task, "about": about, **given}
        for name, (task, about, given) in found.items()
    }


def short(value: Any, digits: int = 6) -> Any:
    """Values of JSON with few digits; null for NaN."""
    if isinstance(value, dict):
        return {key: short(one, digits) for key, one in value.items()}
    if isinstance(value, list):
        return [short(one, digits) for one in value]
    if isinstance(value, float):
        value = None if np.isnan(value) else float(f"{value:.{digits}g}")
        return int(value) if value is not None and digits > 6 and value == int(value) else value
    return value


def write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, separators=(",", ":")) + "\n", encoding="utf-8")


def main() -> None:
    episodes = {}
    (FOLDER / "tasks").mkdir(exist_ok=True)
    for name, make in TASKS.items():
        task, episodes[name] = make()
        path = FOLDER / "tasks" / f"{name}.json"
        task.save(path)
        write(path, short(json.loads(path.read_text())))
        print(name, path.stat().st_size)
        print(Task.load(path))
    for name, case in streams(episodes).items():
        plain = {
            key: np.asarray(v).tolist() if key == "states" and isinstance(v, np.ndarray) else v
            for key, v in case.items()
        }
        stamps = case.get("stamps")
        values = {
            "about": plain["about"], "task": plain["task"], "change": plain.get("change", {}),
            "rate": plain.get("rate"), "follow_all": plain.get("follow_all", False),
            "resets": plain.get("resets", []),
            "stamps": None if stamps is None else short(list(map(_or_none, stamps)), 9),
            "states": short(plain["states"], 9),
        }  # fmt: skip
        write(FOLDER / f"{name}.json", values)
        made = stream_cases.read(name)
        tracker = KeyStateTracker(made.save(FOLDER.parent), **made.options)
        values |= short(stream_cases.run(made, tracker), 9)
        write(FOLDER / f"{name}.json", values)
        (FOLDER.parent / "task.json").unlink()
        size = (FOLDER / f"{name}.json").stat().st_size
        print(name, len(made.states), size, [e[:5] for e in values["events"]], values["refused"])


def _or_none(stamp: Any) -> float | None:
    return None if stamp is None else round(float(stamp), 3)


if __name__ == "__main__":
    main()
