"""Extract what people demonstrated: the teleoperated episodes that robosuite's wheel brings along.

    make keystates-data
    pip download --no-deps robosuite==1.4.1 --dest build/robosuite
    python -m benchmarks.tasks.collect_people build/robosuite/*.whl

Two people hand a hammer from arm to arm (7 episodes); one lifts a cube (3). The recorded states
are played back in MuJoCo, without simulating, for tool poses and for contacts: an arm grasps when
both of its fingers touch the object. Needs h5py and mujoco, which ManiSkill's environment has.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import mujoco
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

OUT = Path(__file__).parent / "data"
DEMONSTRATIONS = "robosuite/models/assets/demonstrations"
MOVED = 0.003  # metres, as in collect_planned.py
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
JOINTS = (*(f"joint{i}" for i in range(1, 8)), "finger1", "finger2")


@dataclass(frozen=True)
class Recording:
    """A file of episodes: its arms by the suffix of their columns, and the object."""

    file: str
    arms: tuple[str, ...]
    thing: str


RECORDINGS = {
    "handover": Recording("handover/panda_panda/demo.hdf5", ("", "_b"), "hammer"),
    "lift_people": Recording("lift/demo.hdf5", ("",), "cube"),
}


def simulator(xml: str, assets: Path) -> mujoco.MjModel:
    """The recorded model, with its files found in the wheel."""
    xml = re.sub(r'file="[^"]*?/robosuite/models/assets/', f'file="{assets}/', xml)
    return mujoco.MjModel.from_xml_string(xml)


def play(
    states: NDArray[np.float64], model: mujoco.MjModel, recording: Recording
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.bool_]], list[str]]:
    """States [T, d], flags [T] and names of an episode, from recorded (time, qpos, qvel)."""
    data = mujoco.MjData(model)
    rows, held = [], {arm: [] for arm in recording.arms}
    for state in states:
        data.qpos[:], data.qvel[:] = state[1 : 1 + model.nq], state[1 + model.nq :]
        mujoco.mj_forward(model, data)
        row, names = [], []
        for i, arm in enumerate(recording.arms):
            joints = slice(9 * i, 9 * i + 9)
            tool = data.body(f"gripper{i}_eef")
            row += [data.qpos[joints], data.qvel[joints], tool.xpos, tool.xquat]
            for kind in ("position", "velocity"):
                names += [f"{joint}{arm}.{kind}" for joint in JOINTS]
            names += [f"tool{arm}.{axis}" for axis in POSE]
            held[arm].append(holds(model, data, i, recording.thing))
        thing = data.qpos[9 * len(recording.arms) :]
        row.append(thing)
        names += [f"{recording.thing}.{axis}" for axis in POSE]
        rows.append(np.concatenate(row).astype(np.float32))
    played = np.array(rows)
    place = played[:, -7:-4]
    away = np.linalg.norm(place - place[1], axis=1) >= MOVED
    away[0] = False
    flags = {f"is_grasped{arm}": np.array(values) for arm, values in held.items()}
    flags["has_moved"] = np.logical_or.accumulate(away)
    return played, flags, names


def holds(model: mujoco.MjModel, data: mujoco.MjData, arm: int, thing: str) -> bool:
    """Both fingers of an arm touch the object."""
    touched = set()
    for contact in data.contact:
        pair = [model.geom(int(geom)).name for geom in contact.geom]
        for one, other in (pair, pair[::-1]):
            if one.startswith(thing):
                for finger in (1, 2):
                    if other.startswith(f"gripper{arm}_finger{finger}"):
                        touched.add(finger)
    return len(touched) == 2


def extract(name: str, root: Path, out: Path) -> Path:
    """Write OUT/NAME.npz from the files of the wheel, unpacked under `root`."""
    recording = RECORDINGS[name]
    episodes: list[Any] = []
    with h5py.File(root / DEMONSTRATIONS / recording.file) as file:
        keys = sorted(file["data"], key=lambda key: int(key.split("_")[1]))
        for key in tqdm(keys, desc=name):
            demo = file["data"][key]
            model = simulator(demo.attrs["model_file"], root / "robosuite/models/assets")
            episodes.append(play(demo["states"][:], model, recording))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.npz"
    np.savez_compressed(
        path,
        states=np.concatenate([states for states, _, _ in episodes]),
        lengths=np.array([len(states) for states, _, _ in episodes], np.int64),
        names=np.array(episodes[0][2]),
        seeds=np.arange(len(episodes)),
        **{
            flag: np.concatenate([flags[flag] for _, flags, _ in episodes])
            for flag in sorted(episodes[0][1])
        },
    )
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="of robosuite 1.4.1")
    parser.add_argument("--out", type=Path, default=OUT, help="folder (%(default)s)")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder, zipfile.ZipFile(chosen.wheel) as wheel:
        wanted = [n for n in wheel.namelist() if n.startswith("robosuite/models/assets/")]
        wheel.extractall(folder, wanted)
        for name in RECORDINGS:
            path = extract(name, Path(folder), chosen.out)
            print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
