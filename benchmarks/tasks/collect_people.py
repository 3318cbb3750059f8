"""Extract the teleoperated episodes in robosuite's wheels.

    make keystates-data
    pip download --no-deps robosuite==1.4.1 --dest build/robosuite      # 1.0.1 and 0.3.0 as well
    python -m benchmarks.tasks.collect_people build/robosuite

Nothing is simulated: `playback.py` sets the recorded states in MuJoCo to compute tool poses and
contacts. An arm grasps an object if both of its fingers touch it. Recordings of several placed
objects are written uncut (`*_long`) and cut into demonstrations of one object each (`*_place`). It
needs h5py and mujoco, which are in ManiSkill's environment.
"""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import mujoco
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from .episode_files import OUT, POSE, chosen, has_moved, reported, save
from .playback import ASSETS, Arm, Played, play, simulator

AFTER = 12  # steps (0.6 s) after a release, where a recording of several objects is cut

Demonstration = tuple[NDArray[np.float32], dict[str, NDArray[np.bool_]], list[str]]


def panda(number: int = 0, tool: str = "gripper{}_eef", suffix: str = "") -> Arm:
    """An arm of robosuite 1.x."""
    return Arm(
        joints=tuple(f"robot{number}_joint{i}" for i in range(1, 8)),
        fingers=(f"gripper{number}_finger_joint1", f"gripper{number}_finger_joint2"),
        pads=(f"gripper{number}_leftfinger", f"gripper{number}_rightfinger"),
        tool=tool.format(number),
        suffix=suffix,
    )


def two_fingers(side: str, joints: str, suffix: str = "") -> Arm:
    """An arm of robosuite 0.3.0: Sawyer's, or one of Baxter's."""
    fingers = (f"{side[0]}_gripper_l_finger", f"{side[0]}_gripper_r_finger")
    return Arm(
        joints=tuple(f"{side}_{joint}" for joint in joints.split()),
        fingers=(f"{fingers[0]}_joint", f"{fingers[1]}_joint"),
        pads=fingers,
        tool=f"{side}_hand",
        suffix=suffix,
    )


SAWYER = two_fingers("right", "j0 j1 j2 j3 j4 j5 j6")
BAXTER = "s0 s1 e0 e1 w0 w1 w2"
BINS = {"milk": "Milk0", "bread": "Bread0", "cereal": "Cereal0", "can": "Can0"}
NUTS = {"square_nut": "SquareNut0", "round_nut": "RoundNut0"}
STACK = {"cube_a": "cubeA"}


@dataclass(frozen=True)
class Recording:
    """Files of a wheel that make up a set of demonstrations."""

    version: str  # of robosuite
    # Folder of a file, demo.hdf5 -> the objects in it by name, and what their bodies are called.
    folders: dict[str, dict[str, str]]
    arms: tuple[Arm, ...]
    every: int = 1  # one of `every` recorded states is kept, for 20 states per second
    velocities: bool = False  # velocities of the joints are columns too
    cut: bool = False  # cut after each release, into demonstrations of one object each


RECORDINGS = {
    "handover": Recording(
        "1.4.1",
        {"handover/panda_panda": {"hammer": "hammer_root"}},
        (panda(), panda(1, suffix="_b")),
        velocities=True,
    ),
    "lift_people": Recording("1.4.1", {"lift": {"cube": "cube_main"}}, (panda(),), velocities=True),
    "panda_place": Recording(
        "1.0.1",
        {"pick-place/panda": BINS, "nut-assembly/panda": NUTS, "stack/panda": STACK},
        (panda(tool="robot{}_right_hand"),),
        cut=True,
    ),
    "sawyer_place": Recording(
        "0.3.0",
        {"SawyerPickPlace": BINS, "SawyerNutAssembly": NUTS, "SawyerStack": STACK},
        (SAWYER,),
        every=5,
        cut=True,
    ),
    "sawyer_pickplace_long": Recording("0.3.0", {"SawyerPickPlace": BINS}, (SAWYER,), every=5),
    "sawyer_nut_long": Recording("0.3.0", {"SawyerNutAssembly": NUTS}, (SAWYER,), every=5),
    "baxter_lift": Recording(
        "0.3.0",
        {"BaxterLift": {"pot": "pot"}},
        (two_fingers("right", BAXTER), two_fingers("left", BAXTER, "_b")),
        every=5,
    ),
}


def episodes(recording: Recording, assets: Path) -> Iterator[Played]:
    """The recorded episodes, played back."""
    for folder, things in recording.folders.items():
        with h5py.File(assets / "demonstrations" / folder / "demo.hdf5") as file:
            keys = sorted(file["data"], key=lambda key: int(key.split("_")[1]))
            for key in tqdm(keys, desc=folder):
                demo = file["data"][key]
                states = demo["states"][:: recording.every]
                model = _model(demo.attrs["model_file"], assets, folder)
                yield play(model, states, recording.arms, things, recording.velocities)


def _model(description: str, assets: Path, folder: str) -> mujoco.MjModel:
    """The model of an episode, from its description or from the name of a file of it."""
    if not description.lstrip().startswith("<"):
        description = (assets / "demonstrations" / folder / "models" / description).read_text()
    return simulator(description, assets)


def whole(played: Played) -> Demonstration:
    """States [T, d], flags [T] and names of an episode with all of its objects."""
    alone = len(played.things) == 1
    flags = {
        f"is_grasped{suffix}" + ("" if alone else f"_{thing}"): held
        for (suffix, thing), held in played.held.items()
    }
    for thing, pose in played.things.items():
        flags["has_moved" + ("" if alone else f"_{thing}")] = has_moved(pose[:, :3])
    names = [f"{thing}.{axis}" for thing in played.things for axis in POSE]
    return (
        np.concatenate([played.arms, *played.things.values()], axis=1),
        flags,
        played.arm_names + names,
    )


def parts(played: Played) -> Iterator[tuple[slice, str]]:
    """Steps of each object, from `AFTER` steps after the release of the one before it.

    The last part ends with the recording. Objects without a grasp are left out.
    """
    releases = sorted(
        (int(np.flatnonzero(held)[-1]), thing)
        for (_, thing), held in played.held.items()
        if held.any()
    )
    start = 0
    for number, (release, thing) in enumerate(releases, start=1):
        end = len(played.arms) if number == len(releases) else release + AFTER
        yield slice(start, end), thing
        start = end


def cut(played: Played) -> Iterator[Demonstration]:
    """A demonstration of each object."""
    for steps, thing in parts(played):
        pose = played.things[thing][steps]
        flags = {
            f"is_grasped{suffix}": held[steps]
            for (suffix, other), held in played.held.items()
            if other == thing
        }
        flags["has_moved"] = has_moved(pose[:, :3])
        states = np.concatenate([played.arms[steps], pose], axis=1)
        yield states, flags, played.arm_names + [f"object.{axis}" for axis in POSE]


def extract(name: str, root: Path, out: Path) -> Path:
    """Write OUT/NAME.npz from the files of the wheel, unpacked under `root`."""
    recording = RECORDINGS[name]
    demos: list[Demonstration] = []
    for played in episodes(recording, root / ASSETS):
        demos += cut(played) if recording.cut else [whole(played)]
    recorded = [(states, flags) for states, flags, _ in demos]
    return save(out / f"{name}.npz", recorded, demos[0][2], np.arange(len(demos)))


def main() -> None:
    given = chosen(__doc__, RECORDINGS, OUT, "wheels")
    for version in sorted({RECORDINGS[name].version for name in given.tasks}):
        (wheel,) = given.wheels.glob(f"robosuite-{version}-*.whl")
        with TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as files:
            files.extractall(folder, [n for n in files.namelist() if n.startswith(ASSETS)])
            for name in given.tasks:
                if RECORDINGS[name].version == version:
                    reported(extract(name, Path(folder), given.out))


if __name__ == "__main__":
    main()
