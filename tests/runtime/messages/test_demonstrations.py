"""Key states of demonstrations that lie in one bag each."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer

from infoatlas_rt import InputError, discover_keystates
from infoatlas_rt.cli import main
from infoatlas_rt.messages.bags import bags_in, load_demonstrations

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "examples"))
from make_bag import STORE, TYPES, joint_state  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve demonstrations, and the states that they hold."""
    path = tmp_path_factory.mktemp("demonstrations")
    with np.load(ROOT / "examples" / "data" / "pickcube.npz") as file:
        lengths, names = file["lengths"][:12], [n.split(".")[0] for n in file["names"][:9]]
        states = np.split(
            file["states"][: lengths.sum(), :18].astype(float), np.cumsum(lengths)[:-1]
        )
    for i, rows in enumerate(states):
        kind = "sensor_msgs/msg/JointState"
        with Writer(path / f"demo_{i:02}", version=9, storage_plugin=StoragePlugin.MCAP) as bag:
            topic = bag.add_connection("/joint_states", kind, typestore=STORE)
            for step, row in enumerate(rows):
                time = (1 + step) * 50_000_000
                message = joint_state(time, names, row)
                bag.write(topic, time, STORE.serialize_cdr(message, kind))
    return path, states


def test_each_bag_is_a_trajectory(folder):
    path, states = folder
    found = load_demonstrations(path, "/joint_states")
    np.testing.assert_array_equal(found.states, np.concatenate(states))
    assert found.lengths.tolist() == [len(rows) for rows in states]
    assert found.names[0].endswith("joint1]") or "joint1" in found.names[0]


def test_the_command_discovers_and_saves(folder, capsys, tmp_path):
    path, states = folder
    saved = tmp_path / "task.json"
    options = ["--topic", "/joint_states", "--count", "2", "--slices", "3", "--save", str(saved)]
    assert main.main(["keystates", str(path), *options, "--json"]) == 0
    steps = [state["steps"] for state in json.loads(capsys.readouterr().out)["keystates"]]
    np.testing.assert_array_equal(np.transpose(steps), discover_keystates(states, k=2).steps)
    assert saved.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name the topic.*joint_states"),
        (["--topic", "/x"], "no topic '/x'"),
    ],
)
def test_what_cannot_be_read(folder, options, message, capsys):
    assert main.main(["keystates", str(folder[0]), *options]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("command", ["curve", "bag"])
def test_other_commands_take_no_folder_of_bags(folder, command, capsys):
    assert main.main([command, str(folder[0])]) == 2
    error = capsys.readouterr().err
    assert "is a folder of ROS bags: use infoatlas-rt keystates, or infoatlas-rt bag" in error


def test_other_coordinates_in_another_bag(folder, tmp_path):
    for name, values in (("a", [1.0, 2.0]), ("b", [1.0, 2.0, 3.0])):
        kind = "std_msgs/msg/Float64MultiArray"
        layout = TYPES["std_msgs/msg/MultiArrayLayout"]([], 0)
        with Writer(tmp_path / name, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
            topic = bag.add_connection("/array", kind, typestore=STORE)
            message = TYPES[kind](layout, np.array(values))
            bag.write(topic, 1, STORE.serialize_cdr(message, kind))
    with pytest.raises(InputError, match="b has the coordinates"):
        load_demonstrations(tmp_path, "/array")
    assert bags_in(tmp_path / "a") == []
