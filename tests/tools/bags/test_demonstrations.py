"""Key states of demonstrations in one bag each."""

import re

import numpy as np
import pytest

from command_line import answer, complaint
from episodes import pickcube
from infoatlas_rt import InputError
from infoatlas_tools import discover_keystates
from infoatlas_tools.bags.demonstrations import load_demonstrations
from infoatlas_tools.bags.states import Bag, bags_in
from recorded_bags import TYPES, array, header, joint_state, write_bag
from refusals import refuses

STEP = 50_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve demonstrations, and their states."""
    path = tmp_path_factory.mktemp("demonstrations")
    recorded, _, names = pickcube()
    states, names = [own[:, :18] for own in recorded[:12]], [n.split(".")[0] for n in names[:9]]
    for i, rows in enumerate(states):
        messages = [joint_state((1 + step) * STEP, names, row) for step, row in enumerate(rows)]
        write_messages(path / f"demo_{i:02}", messages)
    return path, states


def write_messages(path, messages, steps=None):
    """A bag of joint states at 20 Hz, or at these steps of it."""
    times = [(1 + step) * STEP for step in steps or range(len(messages))]
    write_bag(path, [("/joint_states", *own) for own in zip(times, messages, strict=True)])


def test_seconds_after_lost_messages_are_those_of_the_stamps(tmp_path):
    for name, lost in (("demo_0", ()), ("demo_1", (20, 41, 77))):
        steps = sorted(set(range(120)) - set(lost))
        rows = [((1 + step) * STEP, list("abcdefghi"), np.full(18, float(step))) for step in steps]
        write_messages(tmp_path / name, [joint_state(*row) for row in rows], steps)
    found = load_demonstrations(tmp_path, "/joint_states")
    (note,) = (n for n in found.notes if "Seconds are those of the stamps" in n)
    assert note.startswith("demo_1: messages are lacking.") and "by up to 0.15 s" in note
    assert found.rate == 20
    np.testing.assert_allclose(found.seconds(0), np.arange(121) / 20, atol=1e-6)
    right = np.delete(np.arange(120), [20, 41, 77]) / 20
    np.testing.assert_allclose(found.seconds(1), [*right, 6.0], atol=1e-6)


def test_the_command_discovers_and_saves(folder, capsys, tmp_path):
    path, _ = folder
    saved = tmp_path / "task.json"
    options = ["--topic", "/joint_states", "--count", "2", "--save", str(saved)]
    steps = [state["steps"] for state in answer(capsys, "keystates", path, *options)["keystates"]]
    found = discover_keystates(load_demonstrations(path, "/joint_states"), count=2)
    assert np.transpose(steps).tolist() == found.steps.tolist() and saved.exists()


def test_the_command_annotates(folder, capsys, tmp_path):
    path, states = folder
    out = tmp_path / "events"
    command = ["annotate", str(path), "--topic", "/joint_states", "--count", "2"]
    result = answer(capsys, *command, "--out", out)
    assert result["format"] == "mcap" and result["written"] == str(out)
    assert [e["episode"] for e in result["episodes"]] == [f"demo_{i:02}" for i in range(12)]
    assert [e["frames"] for e in result["episodes"]] == list(map(len, states))
    assert sorted(file.name for file in out.iterdir())[0] == "demo_00.events.mcap"


@pytest.mark.parametrize("command", ["curve", "bag"])
def test_other_commands_take_no_folder_of_bags(folder, command, capsys):
    error = complaint(capsys, command, folder[0])
    assert "is a folder of ROS bags: use infoatlas-rt keystates, or infoatlas-rt bag" in error


def write_array(path, values, seconds=(0.0,)):
    """A bag with the same array at these times, seconds since the start of a recording."""
    stamps = [1_763_800_000_000_000_000 + round(1e9 * time) for time in seconds]
    write_bag(path, [("/array", stamp, array(values)) for stamp in stamps])


def write_rates(folder, rates, count=30, jitter=0.0):
    """Bags demo_0, demo_1, ... with messages at these rates, Hz."""
    rng = np.random.default_rng(0)
    for i, rate in enumerate(rates):
        times = (np.arange(count) + jitter * rng.uniform(-0.5, 0.5, count)) / rate
        write_array(folder / f"demo_{i}", [1.0, 2.0], times)


def test_the_rate_is_that_of_the_median_interval(tmp_path):
    write_rates(tmp_path, [100.0, 95.0, 90.0, 100.0, 110.0], jitter=0.4)
    assert load_demonstrations(tmp_path, "/array").rate == pytest.approx(100.0, rel=0.05)
    write_array(tmp_path / "pause", [1.0, 2.0], np.r_[np.arange(20), np.arange(500, 520)] / 100)
    assert load_demonstrations(tmp_path, "/array").rate == pytest.approx(100.0, rel=0.05)


def test_demonstrations_of_other_rates_are_named(tmp_path, capsys):
    write_rates(tmp_path, [20.0, 20.0, 15.0, 17.0, 23.0, 20.0, 60.0])
    with pytest.raises(InputError) as caught:
        load_demonstrations(tmp_path, "/array")
    message = str(caught.value)
    assert f"{tmp_path}, /array: " in message and "20 Hz is their median" in message
    assert "demo_2 has 15 Hz, demo_6 has 60 Hz. Record all at one rate" in message
    assert "move those bags to another folder" in message
    assert "demo_6 has 60 Hz" in complaint(capsys, "keystates", tmp_path, "--topic", "/array")


def test_an_unknown_rate_of_bags(tmp_path):
    for name in "ab":
        write_array(tmp_path / "one" / name, [1.0, 2.0])  # one message each
        write_array(tmp_path / "coarse" / name, [1.0, 2.0], [0.0, 0.0, 0.0, 0.1, 0.1, 0.1])
    for folder in ("one", "coarse"):
        assert load_demonstrations(tmp_path / folder, "/array").rate is None
    write_array(tmp_path / "one" / "c", [1.0, 2.0], [0.0, 0.25, 0.5])
    assert load_demonstrations(tmp_path / "one", "/array").rate == pytest.approx(4.0)


def test_other_coordinates_in_another_bag(folder, tmp_path):
    for name, values in (("a", [1.0, 2.0]), ("b", [1.0, 2.0, 3.0])):
        write_array(tmp_path / name, values)
    why = r"/b: its states .* first bag, a, 2; this one has data\[2\]"
    refuses(why, load_demonstrations, tmp_path, "/array")
    assert bags_in(tmp_path / "a") == []


def write_joints(path, messages):
    """A bag of joint states: names, positions and velocities, at 20 Hz."""
    made = []
    for step, (names, positions, velocities) in enumerate(messages):
        arrays = (np.array(values, float) for values in (positions, velocities, ()))
        kind = TYPES["sensor_msgs/msg/JointState"]
        made.append(kind(header((1 + step) * STEP), [*names], *arrays))
    write_messages(path, made)


def test_messages_of_other_joints_are_passed_over(tmp_path):
    """As in a stream: they are counted, and joints are in the order of the first bag."""
    for name, order in (("a", "pq"), ("b", "qp")):
        at = {"p": 1.0, "q": 2.0}
        arm = [(order, [step + at[joint] for joint in order], [0, 0]) for step in range(10)]
        gripper = [(["finger"], [step], [0]) for step in range(10)]
        write_joints(tmp_path / name, [m for pair in zip(arm, gripper, strict=True) for m in pair])
    for joints, fate in (((), "other joints: finger"), (("p", "q"), "not asked for")):
        found = load_demonstrations(tmp_path, "/joint_states", ["position"], joints)
        assert found.lengths.tolist() == [10, 10] and found.episodes == ("a", "b")
        assert found.names == ("position[p]", "position[q]")
        np.testing.assert_array_equal(found.states[:10], np.arange(10)[:, None] + [1, 2])
        np.testing.assert_array_equal(found.states[10:], found.states[:10])
        assert found.rate == pytest.approx(10.0)
        said = f"Messages on /joint_states passed over ({fate}): 10 in a, 10 in b."
        assert found.notes == (said,)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (("pq", [1, 2], [np.nan, 0]), r"velocity\[p\] is NaN or infinite"),
        (("pq", [1, 2], [0]), "velocity has 1 elements for 2 names"),
        (("px", [1, 2], [0, 0]), "without q and with x"),
    ],
)
def test_a_message_that_cannot_be_used_is_named(tmp_path, message, why):
    usual = [("pq", [step, 1], [0, 0]) for step in range(5)]
    write_joints(tmp_path / "a", usual)
    write_joints(tmp_path / "b", [*usual, message])
    with pytest.raises(InputError, match=f"/b: message 5 on /joint_states cannot be used.*{why}"):
        load_demonstrations(tmp_path, "/joint_states")


@pytest.mark.parametrize("joints", ["fg", "fgh"])  # as many as the arm has, or more
def test_an_arm_that_takes_over_from_its_gripper_is_refused(tmp_path, joints):
    """A stream restarts there; a trajectory would mix both."""
    usual = [(joints, [*range(len(joints))], [0] * len(joints)) for _ in range(5)]
    arm = [("pq", [step, 1], [0, 0]) for step in range(30)]
    for name in "ab":
        write_joints(tmp_path / name, usual + arm)
    why = r"/a: from message \d+ on, .* other coordinates .*position\[p\].*--joints"
    refuses(why, load_demonstrations, tmp_path, "/joint_states")
    found = load_demonstrations(tmp_path, "/joint_states", joints=("p", "q"))
    assert found.lengths.tolist() == [30, 30]


@pytest.mark.parametrize("end", ["", ".zstd"])
def test_a_bag_without_its_metadata_is_not_left_out(tmp_path, end):
    for name in "abc":
        write_array(tmp_path / name, [1.0, 2.0], [0.0, 0.25, 0.5])
    (tmp_path / "b" / "metadata.yaml").unlink()
    (tmp_path / "b" / "b.mcap").rename(tmp_path / "b" / f"b.mcap{end}")
    refuses(r"/b has no metadata.yaml: .*reindex", load_demonstrations, tmp_path, "/array")
    assert load_demonstrations(tmp_path / "a", "/array").lengths.tolist() == [3]


def test_an_error_is_one_line(tmp_path):
    """The error of YAML has several lines."""
    write_array(tmp_path / "a", [1.0, 2.0])
    path = tmp_path / "a" / "metadata.yaml"
    path.write_text(path.read_text().replace("path: ", 'path: "'))
    with pytest.raises(InputError, match=r"cannot be read as a bag .*: while scanning") as error:
        Bag(tmp_path / "a")
    assert "\n" not in str(error.value)


def test_each_error_names_its_bag(tmp_path):
    for name in "ab":
        write_joints(tmp_path / name, [("pq", [1, 2], [0, 0])] * 3)
    for topic, fields, joints in (
        (None, None, ()),
        ("/x", None, ()),
        ("/joint_states", ["x"], ()),
        ("/joint_states", None, ["p", "x"]),
        ("/joint_states", None, ["x"]),
        ("/joint_states", ["[header.frame_id=hand]"], ()),
    ):
        with pytest.raises(InputError, match=re.escape(str(tmp_path / "a"))):
            load_demonstrations(tmp_path, topic, fields, joints)
