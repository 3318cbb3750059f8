"""Files of MimicGen and of Isaac Lab Mimic, made as they make them, and sub-tasks of them."""

from __future__ import annotations

import json

import h5py
import numpy as np

from infoatlas_rt.keystates.subtasks import Subtask, Subtasks

LENGTHS = (40, 30, 50)
NUMBERS = (0, 2, 10)  # in the order of numbers, not of names
NAMES = tuple(f"demo_{number}" for number in NUMBERS)


def turned(angle):
    """Rotations about z [T, 3, 3]."""
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, zero, s, c, zero, zero, zero, one], -1).reshape(-1, 3, 3)


def pose(length, seed):
    """Poses [T, 4, 4] that turn about z, and their angles [T]."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.2, 0.2 + rng.uniform(4, 7), length)  # beyond a whole turn of q
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


def subtasks(objects=("cubeA", "cubeB"), tool="tool", cuts=None, rate=20.0, lengths=LENGTHS):
    """Three parts: reach the first object, carry it to the second, and what is left."""
    cuts = np.array([[10, 25], [8, 20], [20, 41]] if cuts is None else cuts)
    edges = np.concatenate([np.zeros((len(cuts), 1), int), cuts, np.array(lengths)[:, None]], 1)
    references, held = (*objects, "world"), ("", objects[0], "")
    parts = tuple(
        Subtask(
            tool,
            edges[:, i].copy(),
            edges[:, i + 1].copy(),
            until=("cube begins to move", "cube ends", "end")[i],
            reference=references[i],
            orientation="pose",
            held=held[i],
            information=3.0,
            runner_up="world",
            runner_up_information=0.0,
            stderr=0.1,
        )
        for i in range(3)
    )
    return Subtasks(parts, np.array(lengths), rate)


def signals(file, demo, where="datagen_info", kind="term"):
    group = file[f"data/{demo}/{where}/subtask_{kind}_signals"]
    return {name: node[()] for name, node in group.items()}
