"""Render people's demonstrations, from the MuJoCo states in robosuite's wheels.

    pip download --no-deps robosuite==1.4.1 --dest build/robosuite      # 1.0.1 and 0.3.0 as well
    python -m benchmarks.cameras.recorded build/robosuite [SET ...] --out build/cameras

The sets are those of `benchmarks.tasks.collect_people`. States are joints and fingers alone. An
object is held while both fingers touch it; contacts and gaps of less than 0.25 s do not count.
Objects are put into bins and on pegs, which are parts of the scene (reference: world), except in
stacking. Each episode has a model of its own; those of a `*_place` set have three kinds of scenes.
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.collect_people import RECORDINGS, Recording, episodes, parts
from benchmarks.tasks.playback import ASSETS, Played

from .image_files import OUT, Demonstration, spans, write

RATE = 20.0  # steps per second
SETS = ("sawyer_place", "panda_place", "lift_people", "handover", "sawyer_pickplace_long")
SHORTEST = 5  # steps of a contact or of a gap that counts
BELOW = {"cube_a": ("cube_b", "cubeB")}  # what an object is put on: name and body
WRIST = ("robot0_eye_in_hand", "eye_in_hand")


def demonstrations(recording: Recording, assets: Path) -> Iterator[Demonstration]:
    """Demonstrations of a recording: whole episodes, or one for each object."""
    for played, model, states in episodes(recording, assets):
        things = {
            thing: body for names in recording.folders.values() for thing, body in names.items()
        }
        bodies = {thing: things[thing] for thing in played.things}
        bodies |= dict(BELOW[thing] for thing in played.things if thing in BELOW)
        positions = states[:, 1 : 1 + model.nq]
        whole = [slice(0, len(states))]
        for steps in [s for s, _ in parts(played)] if recording.cut else whole:
            yield _part(played, model, positions, bodies, steps)


def _part(
    played: Played,
    model: mujoco.MjModel,
    positions: NDArray[np.float64],
    bodies: dict[str, str],
    steps: slice,
) -> Demonstration:
    """Some steps of an episode."""
    joints = [i for i, name in enumerate(played.arm_names) if name.endswith(".position")]
    tools = [i for i, name in enumerate(played.arm_names) if name.startswith("tool")]
    poses = {
        f"tool{suffix}": played.arms[steps, tools[7 * number : 7 * number + 7]]
        for number, suffix in enumerate(dict.fromkeys(suffix for suffix, _ in played.held))
    }
    for name, body in bodies.items():
        start = int(model.jnt_qposadr[model.body(body).jntadr[0]])
        poses[name] = positions[steps, start : start + 7].astype(np.float32)
    events: list[tuple[int, str, str, str]] = []
    for (suffix, thing), held in played.held.items():
        below = BELOW[thing][0] if thing in BELOW else "world"
        for first, last in spans(held[steps], SHORTEST):
            events.append((first, f"grasp{suffix}", thing, thing))
            if last < steps.stop - steps.start:
                events.append((last, f"release{suffix}", thing, below))
    cameras = {model.camera(i).name for i in range(model.ncam)}
    wrist = next(name for name in WRIST if name in cameras)
    return Demonstration(
        model,
        positions[steps],
        played.arms[steps, joints],
        poses,
        bodies,
        sorted(events),
        {"front": "agentview", "wrist": wrist},
    )


def names(recording: Recording) -> list[str]:
    """Names of the states."""
    return [
        f"{joint}{arm.suffix}.position"
        for arm in recording.arms
        for joint in (*(f"joint{i + 1}" for i in range(len(arm.joints))), "finger1", "finger2")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=Path, help="folder of the wheels of robosuite")
    parser.add_argument("sets", nargs="*", default=list(SETS), help="%(default)s")
    parser.add_argument("--every", type=int, default=4, help="steps per frame (%(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder (%(default)s)")
    chosen = parser.parse_args()
    unknown = set(chosen.sets) - set(RECORDINGS)
    if unknown:
        parser.error(f"no set {', '.join(sorted(unknown))}: there are {', '.join(RECORDINGS)}")
    for name in chosen.sets:
        recording = RECORDINGS[name]
        (wheel,) = chosen.wheels.glob(f"robosuite-{recording.version}-*.whl")
        with TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as files:
            files.extractall(folder, [n for n in files.namelist() if n.startswith(ASSETS)])
            demos = list(demonstrations(recording, Path(folder) / ASSETS))
        path = write(chosen.out / f"{name}.npz", demos, names(recording), RATE, chosen.every)
        print(f"{path}: {len(demos)} demonstrations, {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
