"""Task configurations of MimicGen and Isaac Lab Mimic."""

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest

from annotated import annotations
from hdf5_sets import NAMES, subtasks, two_arms, write_isaac, write_mimicgen
from infoatlas_rt import InputError
from infoatlas_tools.annotations.mimicgen import MASK
from infoatlas_tools.annotations.subtask_configs import write_isaaclab_config, write_mimicgen_config
from infoatlas_tools.keystates.subtasks.subtask_results import SeenObjects

CUBES = ("cube_1", "cube_2")
# Arguments of `MG_TaskSpec.add_subtask`; a configuration has all of them.
ARGUMENTS = {
    "object_ref", "subtask_term_signal", "subtask_term_offset_range", "selection_strategy",
    "selection_strategy_kwargs", "action_noise", "num_interpolation_steps", "num_fixed_steps",
    "apply_noise_during_interpolation",
}  # fmt: skip
# Fields of Isaac Lab's `SubTaskConfig`.
FIELDS = ARGUMENTS | {
    "first_subtask_start_offset_range", "subtask_start_offset_range", "description",
    "next_subtask_description",
}  # fmt: skip


def test_mimicgen(tmp_path):
    path, out = write_mimicgen(tmp_path / "demo.hdf5"), tmp_path / "task.json"
    assert write_mimicgen_config(annotations(subtasks(), NAMES), path, out) == ()
    config = json.loads(out.read_text())
    assert config["experiment"]["source"] == {"dataset_path": str(path), "filter_key": MASK}
    spec = config["task"]["task_spec"]
    assert list(spec) == ["subtask_1", "subtask_2", "subtask_3"]
    assert all(set(own) == ARGUMENTS for own in spec.values())
    assert [own["object_ref"] for own in spec.values()] == ["cubeA", "cubeB", None]
    signals = [own["subtask_term_signal"] for own in spec.values()]
    assert signals == ["reach_cubea", "carry_cubea_to_cubeb", None]  # as in the HDF5 file
    assert [own["subtask_term_offset_range"] for own in spec.values()] == [[0, 0], [0, 0], None]
    # without an object, no nearest neighbour by its pose
    strategies = [own["selection_strategy"] for own in spec.values()]
    assert strategies == ["nearest_neighbor_object", "nearest_neighbor_object", "random"]
    assert spec["subtask_3"]["selection_strategy_kwargs"] is None


def test_isaac_lab(tmp_path):
    path, out = write_isaac(tmp_path / "demo.hdf5"), tmp_path / "task.json"
    write_isaaclab_config(annotations(subtasks(CUBES), NAMES), path, out)
    (eef, parts), *others = json.loads(out.read_text())["subtask_configs"].items()
    assert eef == "franka" and not others  # that of the file, for any name of the tool
    assert all(set(part) <= FIELDS for part in parts)
    assert [part["object_ref"] for part in parts] == [*CUBES, None]
    assert [part["subtask_term_offset_range"] for part in parts] == [[0, 0]] * 3
    assert parts[2]["subtask_term_signal"] is None
    assert parts[0]["next_subtask_description"] == "carry cube_1 to cube_2"


def test_two_arms(tmp_path):
    path, out = write_isaac(tmp_path / "demo.hdf5", ("left", "right")), tmp_path / "task.json"
    write_isaaclab_config(annotations(two_arms(), NAMES), path, out)
    parts = json.loads(out.read_text())["subtask_configs"]
    assert list(parts) == ["left", "right"]
    assert [part["object_ref"] for part in parts["right"]] == ["cube_2", "cube_1", None]


def test_references_have_the_names_of_the_file(tmp_path):
    path = write_mimicgen(tmp_path / "demo.hdf5")
    own = annotations(subtasks(("cube", "cubeB")), NAMES)
    with pytest.raises(InputError, match=r"poses of cubeA, cubeB and none of 'cube'.*call the"):
        write_mimicgen_config(own, path, tmp_path / "a.json")
    with h5py.File(path, "a") as file:  # without poses no name is known to be wrong
        for demo in NAMES:
            del file[f"data/{demo}/datagen_info"]
    write_mimicgen_config(own, path, tmp_path / "b.json")


def test_objects_of_a_camera_have_no_poses(tmp_path):
    path = write_mimicgen(tmp_path / "demo.hdf5")
    none = np.zeros((0, 1))
    seen = SeenObjects("top", (), (), none, none, (), none, none, (), none, none)
    own = annotations(replace(subtasks(), seen=seen), NAMES)
    for write in (write_mimicgen_config, write_isaaclab_config):
        with pytest.raises(InputError, match="camera top sees, and generation needs their poses"):
            write(own, path, tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()


def test_a_data_set_without_end_effectors(tmp_path):
    own, out = annotations(subtasks(CUBES, "panda"), ("0", "1", "2")), tmp_path / "a"
    write_isaaclab_config(own, tmp_path, out)
    (eef, parts), *_ = json.loads(out.read_text())["subtask_configs"].items()
    assert eef == "panda" and [part["object_ref"] for part in parts] == [*CUBES, None]
