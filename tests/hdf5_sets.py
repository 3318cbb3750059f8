"""HDF5 files in the layouts of several programs, and sub-tasks for them.

robomimic 0.3 to 0.5 and MimicGen 1.0; the recorder of Isaac Lab 2.0 to 2.2; robosuite 1.4 and 1.5
(`collect_human_demonstrations.py`, `gather_demonstrations_as_hdf5`); ACT (`record_sim_episodes.py`)
and ALOHA (`record_episodes.py`, which adds `effort` and `base_action`); D4RL (the files of `v2`
tasks); Minari 0.5 (`data_format` "hdf5").
"""

import json
from dataclasses import replace

import h5py
import numpy as np

from infoatlas_tools.keystates.contacts.event_names import END, label_kind
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks

LENGTHS = (40, 30, 50)
NUMBERS = (0, 2, 10)  # sorted as numbers, not as names
NAMES = tuple(f"demo_{number}" for number in NUMBERS)


def turned(angle):
    """Rotations about z [T, 3, 3]."""
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, zero, s, c, zero, zero, zero, one], -1).reshape(-1, 3, 3)


def pose(length, seed):
    """Poses [T, 4, 4] with rotations about z, and their angles [T]."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.2, 0.2 + rng.uniform(4, 7), length)  # more than a full rotation of q
    matrices = np.tile(np.eye(4), (length, 1, 1))
    matrices[:, :3, :3] = turned(angle)
    matrices[:, :3, 3] = np.cumsum(rng.standard_normal((length, 3)) * 0.01, axis=0)
    return matrices, angle


def observations(length, seed):
    rng = np.random.default_rng(seed)
    return {
        "robot0_joint_pos": rng.standard_normal((length, 2)).astype(np.float64),
        "gripper": rng.random(length).astype(np.float32),
        "agentview_image": np.zeros((length, 4, 4, 3), np.uint8),
        "depth": np.zeros((length, 4, 4), np.float32),
        "grasped": np.zeros(length, bool),
    }


def write_mimicgen(path):
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        kwargs = {"env_name": "Stack_D0", "type": 1, "env_kwargs": {"control_freq": 20}}
        data.attrs["env_args"] = json.dumps(kwargs)
        data.attrs["total"] = sum(LENGTHS)
        for i, (name, length) in enumerate(zip(NAMES, LENGTHS, strict=True)):
            demo = data.create_group(name)
            demo.attrs["num_samples"] = length
            demo["actions"] = np.zeros((length, 7))
            demo["states"] = np.zeros((length, 9))
            for key, values in observations(length, i).items():
                demo[f"obs/{key}"] = values
            info = demo.create_group("datagen_info")
            info.attrs["env_interface_name"] = "MG_Stack"
            info.attrs["env_interface_type"] = "robosuite"
            info["eef_pose"] = info["target_pose"] = pose(length, 10 + i)[0]
            info["gripper_action"] = np.zeros((length, 1))
            info["object_poses/cubeA"] = pose(length, 20 + i)[0]
            info["object_poses/cubeB"] = pose(length, 30 + i)[0]
            flag = np.arange(length) > 5
            info["subtask_term_signals/old"] = flag.astype(np.int64)
        data.create_group("demo_7")["actions"] = np.zeros((3, 7))  # never finished
        file["mask/train"] = np.array([b"demo_10", b"demo_0"])
    return path


def write_isaac(path, eefs=("franka",), lengths=LENGTHS):
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        simulation = {"dt": 0.01, "decimation": 5, "render_interval": 5, "num_envs": 1}
        arguments = {"env_name": "Isaac-Stack-Cube-Franka-IK-Rel-Mimic-v0", "type": 2}
        data.attrs["env_args"] = json.dumps({**arguments, "sim_args": simulation})
        for i, (name, length) in enumerate(zip(NAMES, lengths, strict=True)):
            demo = data.create_group(name)
            demo.attrs["num_samples"], demo.attrs["success"] = length, True
            demo["actions"] = np.zeros((length, 7), np.float32)
            demo["obs/joint_pos"] = observations(length, i)["robot0_joint_pos"].astype(np.float32)
            demo["obs/subtask_terms/grasp_1"] = np.zeros(length, bool)
            root = "states/articulation/robot/joint_position"
            demo[root] = np.zeros((length, 9), np.float32)
            info = demo.create_group("obs/datagen_info")
            for eef in eefs:
                info[f"eef_pose/{eef}"] = pose(length, 10 + i)[0].astype(np.float32)
                info[f"target_eef_pose/{eef}"] = pose(length, 10 + i)[0].astype(np.float32)
            for number in (1, 2):
                info[f"object_pose/cube_{number}"] = pose(length, 20 + i)[0].astype(np.float32)
    return path


def walk(length, width, seed, dtype=np.float64):
    """Random walks [T, width]."""
    steps = np.random.default_rng(seed).standard_normal((length, width)) * 0.01
    return np.cumsum(steps, axis=0).astype(dtype)


def write_robosuite(path, lengths=(40, 30), step=0.05):
    """A file like robosuite's collector: no observations, no num_samples, numbers from 1."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env"], data.attrs["env_info"] = "Lift", json.dumps({"robots": ["Panda"]})
        for i, length in enumerate(lengths):
            demo = data.create_group(f"demo_{i + 1}")
            demo.attrs["model_file"] = "<mujoco/>"
            time = 0.3 + step * np.arange(length)
            demo["states"] = np.concatenate([time[:, None], walk(length, 4, i)], axis=1)
            demo["actions"] = walk(length, 3, 10 + i)
    return path


def write_aloha(path, length=30, seed=0, joints=14, effort=True):
    with h5py.File(path, "w") as file:
        file.attrs["sim"], file.attrs["compress"] = False, False
        observations = file.create_group("observations")
        observations["qpos"] = walk(length, joints, seed)
        observations["qvel"] = walk(length, joints, seed + 100)
        if effort:
            observations["effort"] = walk(length, joints, seed + 200)
        observations["images/cam_high"] = np.zeros((length, 2, 3, 3), np.uint8)
        file["action"] = walk(length, joints, seed + 300)
        file["base_action"] = np.zeros((length, 2))
    return path


def write_aloha_folder(folder, lengths=(30, 20, 25), numbers=(0, 2, 10)):
    folder.mkdir()
    for i, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
        write_aloha(folder / f"episode_{number}.hdf5", length, i)
    (folder / "dataset_stats.pkl").write_bytes(b"no HDF5")
    return folder


def write_d4rl(path, ends=(9, 24, 39), rows=45, terminal=(24,), timeouts=True):
    """Consecutive rows; an episode ends with a terminal or a timeout, the last one with neither."""
    with h5py.File(path, "w") as file:
        file["observations"] = walk(rows, 3, 0, np.float32)
        file["actions"] = walk(rows, 2, 1, np.float32)
        file["rewards"] = np.zeros(rows, np.float32)
        file["terminals"] = np.isin(np.arange(rows), terminal)
        if timeouts:
            file["timeouts"] = np.isin(np.arange(rows), ends) & ~np.isin(np.arange(rows), terminal)
        file["infos/qpos"] = walk(rows, 4, 2)
        file["metadata/algorithm"] = "SAC"
    return path


def write_minari(folder, lengths=(12, 9, 15), numbers=(0, 1, 10), dictionary=False):
    """The folder of a data set, with one more observation than actions."""
    (folder / "data").mkdir(parents=True)
    with h5py.File(folder / "data" / "main_data.hdf5", "w") as file:
        for i, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
            episode = file.create_group(f"episode_{number}")
            episode.attrs["id"], episode.attrs["total_steps"] = number, length
            values = walk(length + 1, 5, i)
            if dictionary:
                episode["observations/observation"] = values[:, :3]
                episode["observations/achieved_goal"] = values[:, 3:]
                episode["observations/mission"] = np.array([b"open"] * (length + 1))
            else:
                episode["observations"] = values
            episode["actions"] = walk(length, 2, 10 + i, np.float32)
            episode["rewards"] = np.zeros(length)
            episode["terminations"] = np.zeros(length, bool)
            episode["truncations"] = np.arange(length) == length - 1
            episode["infos/success"] = np.zeros(length + 1, bool)
    content = {"total_episodes": len(lengths), "data_format": "hdf5", "minari_version": "0.5.3"}
    (folder / "data" / "metadata.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def subtasks(objects=("cubeA", "cubeB"), tool="tool", cuts=None, rate=20.0, lengths=LENGTHS):
    """Three parts: reach the first object, carry it to the second, and the rest."""
    cuts = np.array([[10, 25], [8, 20], [20, 41]] if cuts is None else cuts)
    edges = np.concatenate([np.zeros((len(cuts), 1), int), cuts, np.array(lengths)[:, None]], 1)
    references, held = (*objects, "world"), ("", objects[0], "")
    parts = tuple(
        Subtask(
            tool, edges[:, i].copy(), edges[:, i + 1].copy(),
            event=(label_kind("cube begins to move"), label_kind("cube ends"), END)[i],
            reference=references[i], orientation="pose", held=held[i], information=3.0,
            runner_up="world", runner_up_information=0.0, stderr=0.1,
        )
        for i in range(3)
    )  # fmt: skip
    return Subtasks(parts, np.array(lengths), rate)


def two_arms():
    """The same parts of two tools, each with the two objects in another order."""
    left, right = subtasks(("cube_1", "cube_2"), "left"), subtasks(("cube_2", "cube_1"), "right")
    return replace(left, parts=left.parts + right.parts)


def signals(file, demo, where="datagen_info", kind="term"):
    group = file[f"data/{demo}/{where}/subtask_{kind}_signals"]
    return {name: node[()] for name, node in group.items()}
