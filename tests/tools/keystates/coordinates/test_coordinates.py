"""Conversion of raw states to coordinates whose differences are motion, for all conventions."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from infoatlas_rt import InputError
from infoatlas_rt.live.coordinates import Follower
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.columns import columns_of
from infoatlas_tools.keystates.coordinates import read_coordinates
from refusals import refuses

DATA = Path(__file__).parents[4]
QUATERNION = ("tool.qw", "tool.qx", "tool.qy", "tool.qz")
ROW = np.zeros(1, np.int64)  # of the only episode


def read(states, names=(), **described):
    return read_coordinates(Trajectories(states, names=names, **described))


def smooth(rng, steps, d, size=1.0):
    """Bounded smooth motion: a few slow sines in each column."""
    t = np.linspace(0, 1, steps)[:, None]
    waves = [
        rng.standard_normal(d) * np.sin(2 * np.pi * (f * t + rng.random(d))) / f for f in (1, 2, 3)
    ]
    return size * sum(waves)


def exponential(v):
    """Unit quaternions, w first, of rotation vectors [n, 3]."""
    return np.roll(Rotation.from_rotvec(v).as_quat(), 1, axis=1)


def rotation(q):
    return Rotation.from_quat(np.roll(q, -1, axis=1))


def matrices(q):
    return rotation(q).as_matrix()


def logarithm(q):
    """Rotation vectors of norm at most pi."""
    return rotation(q).as_rotvec()


def euler(q):
    """Roll, pitch and yaw about fixed axes."""
    return rotation(q).as_euler("xyz")


def turning(count=6, steps=80, seed=0, start=(0.0, 0.0, 0.0), size=1.0):
    """Positions [T, 3] and orientations [T, 4] of a tool."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        v = np.array(start) + smooth(rng, steps, 3, size)
        found.append((smooth(rng, steps, 3, 0.2), exponential(v)))
    return found


def joined(tool, form=lambda q: q):
    return [np.concatenate([p, form(q)], axis=1) for p, q in tool]


def assert_turns(paths, tool, columns=slice(3, 6), tolerance=1e-6):
    """Check that increments of the coordinates have the true angles."""
    for path, (_, q) in zip(paths, tool, strict=True):
        angle = np.linalg.norm(np.diff(path[:, columns], axis=0), axis=1)
        true = 2 * np.arccos(np.clip(np.abs((q[1:] * q[:-1]).sum(axis=1)), 0, 1))
        np.testing.assert_allclose(angle, true, atol=tolerance)


# ---------------------------------------------------------------- rotations


@pytest.mark.parametrize("names", [(), ("x", "y", "z", *QUATERNION)])
def test_signs_of_quaternions_change_nothing(names):
    rng = np.random.default_rng(1)
    tool = turning()
    plain, _, paths, _ = read(joined(tool), names)
    flipped = joined(tool, lambda q: q * rng.choice([-1, 1], (len(q), 1)))
    again, _, same, outliers = read(flipped, names)
    assert plain.names == again.names and not outliers
    for a, b in zip(paths, same, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert_turns(paths, tool)
    assert plain.kinds == ("plain",) * 3 + ("quaternion",) * 3
    assert plain.names[3] == ("tool.rotation_x" if names else "3-6.rotation_x")


@pytest.mark.parametrize("decimals", [3, 4])
def test_rounded_quaternions(decimals):
    tool = turning()
    made, _, paths, _ = read([np.round(s, decimals) for s in joined(tool)])
    assert "quaternion" in made.kinds
    assert_turns(paths, tool, tolerance=4 * 10.0**-decimals)


@pytest.mark.parametrize(
    ("start", "size", "form", "names", "kind"),
    [
        # As of a UR with the tool down: the norm stays at most pi, and the vector flips.
        ((np.pi * 0.8, np.pi * 0.6, 0.0), 0.5, logarithm, (), "rotation_vector"),
        ((np.pi * 0.8, np.pi * 0.6, 0.0), 0.5, logarithm, ("rx", "ry", "rz"), "rotation_vector"),
        # Two components are small, and change their signs where the third one jumps.
        ((np.pi, 0.0, 0.0), 0.2, logarithm, (), "rotation_vector"),
        # Gimbal lock: roll and yaw jump together.
        ((0.0, np.pi / 2, 0.0), 0.3, euler, (), "euler"),
        ((0.0, np.pi / 2, 0.0), 0.3, euler, ("roll", "pitch", "yaw"), "euler"),
        ((np.pi, 0.0, 1.5), 0.4, euler, ("rx", "ry", "rz"), "euler"),
    ],
)
def test_three_angles_that_jump(start, size, form, names, kind):
    tool = turning(start=start, size=size)
    states = joined(tool, form)
    assert max(np.abs(np.diff(s[:, 3:], axis=0)).max() for s in states) > 3
    names = names and ("x", "y", "z", *(f"tool.{name}" for name in names))
    made, _, paths, outliers = read(states, names)
    assert made.kinds[3:] == (kind,) * 3 and not outliers
    assert_turns(paths, tool, tolerance=1e-5 if form is euler else 1e-6)


def test_an_angle_beside_other_columns():
    tool = turning(start=(np.pi, 0.0, 0.0), size=0.2)
    angle = [np.c_[logarithm(q)[:, 0], p[:, :2]] for p, q in tool]
    assert read(angle)[0].kinds == ("angle", "plain", "plain")


def test_euler_angles_that_wrap():
    """As of a Franka with the tool down: roll is near pi."""
    tool = turning(start=(np.pi, 0.0, 0.0), size=0.4)
    states = joined(tool, euler)
    assert max(np.abs(np.diff(s[:, 3], axis=0)).max() for s in states) > 6
    named, _, paths, _ = read(states, ("x", "y", "z", "roll", "pitch", "yaw"))
    assert named.names[3:] == ("rotation_x", "rotation_y", "rotation_z")
    assert_turns(paths, tool)
    degrees = [np.c_[s[:, :3], np.degrees(s[:, 3:])] for s in states]
    _, _, same, _ = read(degrees, ("x", "y", "z", "roll", "pitch", "yaw"))
    for a, b in zip(paths, same, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    unnamed, _, paths, _ = read(states)
    assert set(unnamed.kinds[3:]) < {"angle", "euler", "plain"} and unnamed.kinds[3] != "plain"
    assert max(np.abs(np.diff(p, axis=0)).max() for p in paths) < 1


def test_rolls_of_joints_are_no_euler_angles():
    names = ("left_shoulder_pitch", "left_shoulder_roll", "left_shoulder_yaw")
    rng = np.random.default_rng(0)
    states = [smooth(rng, 50, 3) for _ in range(4)]
    made, _, paths, _ = read(states, names)
    assert made.names == names
    np.testing.assert_array_equal(paths[0], states[0])


@pytest.mark.parametrize(
    "form",
    [
        lambda q: matrices(q).reshape(-1, 9),
        lambda q: np.swapaxes(matrices(q), 1, 2).reshape(-1, 9),
        lambda q: np.swapaxes(matrices(q), 1, 2).reshape(-1, 9)[:, :6],
    ],
    ids=["rows", "columns", "6d"],
)
def test_matrices(form):
    tool = turning(size=2.0)
    made, _, paths, _ = read(joined(tool, form))
    assert len(made.names) == 6 and len(made.sources[3]) in (6, 9)
    assert_turns(paths, tool)


def test_matrix_within_a_pose():
    """As libfranka's O_T_EE: 4 x 4, column by column."""

    def pose(p, q):
        m = np.zeros((len(q), 4, 4))
        m[:, :3, :3], m[:, :3, 3], m[:, 3, 3] = matrices(q), p, 1
        return np.swapaxes(m, 1, 2).reshape(-1, 16)

    tool = turning(size=2.0)
    made, _, paths, _ = read([pose(p, q) for p, q in tool])
    assert made.kinds == ("matrix",) * 3 + ("plain",) * 3 and made.constant == (3, 7, 11, 15)
    assert_turns(paths, tool, slice(0, 3))


UNITS = {
    "ticks": lambda turns: np.rint(turns * 4096) % 4096,
    "ticks from 20000": lambda turns: 20000 + np.rint(turns * 16384) % 16384,
    "turns": lambda turns: turns % 1,
    "-100..100": lambda turns: (np.rint(turns * 4096) % 4096) / 4095 * 200 - 100,
    "a range of its own": lambda turns: turns % 1 * 777,
    "degrees": lambda turns: turns % 1 * 360,
}
SIZES = (4096, 16384, 1, 200, 777, 360)


@pytest.mark.parametrize(("unit", "size"), [*zip(UNITS, SIZES, strict=True)])
def test_a_stop_at_the_seam_is_asked_about(unit, size):
    """A gripper that opens slowly and closes at once looks the same: only a name decides."""
    rng = np.random.default_rng(0)
    turns = np.interp(np.arange(120), [0, 40, 79, 80, 119], [0.6, 0.998, 0.998, 1.002, 1.4])
    states = [UNITS[unit](turns + rng.normal(0, 1e-4, 120))[:, None] for _ in range(8)]
    if unit != "degrees":
        assert read(states)[0].wrapping == {0: "column 0"}
        states = [np.c_[own, np.sin(turns)] for own in states]
        asked = "is it an encoder that wraps? Then name it (orientation, --orientation 0"
        assert asked in " ".join(discover_keystates(states, 5).notes)
        named = discover_keystates(Trajectories(states, names=("gripper", "joint")), 5)
        assert named.notes[0] == "taken for a gripper: gripper" and len(named.notes) == 2
        named = discover_keystates(Trajectories(states, gripper=0), 5)
        assert named.notes[0] == "taken for a gripper: column 0" and len(named.notes) == 2
        states = [own[:, :1] for own in states]
    _, _, paths, _ = read(states, orientation={0: "angle"})
    for path in paths:
        np.testing.assert_allclose(np.diff(path[:, 0]) / size, np.diff(turns), atol=0.01)


@pytest.mark.parametrize(
    "column",
    [
        lambda rng: np.where(np.arange(120) // 30 % 2, 0.0, 0.08) + rng.normal(0, 5e-4, 120),
        lambda rng: np.r_[np.full(60, 0.08), np.linspace(0, 0.08, 60)] + rng.normal(0, 1e-4, 120),
        lambda rng: np.r_[np.linspace(0, 0.2, 50), np.zeros(70)] + rng.normal(0, 1e-4, 120),
        lambda rng: np.clip(0.04 + 0.08 * np.sin(np.arange(120) / 10), 0, 0.08),
        lambda rng: rng.normal(0, 0.1, 120) + 20 * (rng.random(120) < 0.05),
        lambda rng: rng.standard_normal(120),
        lambda rng: np.clip(rng.normal(0, 0.02, 120) + (rng.random(120) < 0.5), 0, 1),
    ],
)
def test_grippers_drops_and_forces_do_not_wrap(column):
    rng = np.random.default_rng(0)
    made, *_ = read([np.c_[column(rng), rng.standard_normal(120)] for _ in range(8)])
    assert made.kinds == ("plain", "plain")


# Names of quaternions, w x y z, and where they are from. "{}" is a number: the order is assumed.
QUATERNIONS = {
    "TUM: evo, evo/tools/file_interface.py": "q{w}",
    "EuRoC: state_groundtruth_estimate0/data.csv": "q_RS_{w} []",
    "robomimic: robosuite, robots/robot.py": "robot0_eef_quat.{}",
    "LeRobot: robots/unitree_g1/unitree_g1.py": "observation.state.imu.quat.{w}",
    "LeRobot: examples/port_datasets/openx_rlds.py": "observation.state.r{w}",
    "Isaac Lab: scene/interactive_scene.py": "articulation.robot.root_pose.{}",
    "Isaac Lab: datasets of Mimic": "eef_quat.{}",
    "RLBench: rlbench/backend/observation.py": "gripper_pose.{}",
    "ROS: rostopic/__init__.py, _str_plot_fields": "field.pose.pose.orientation.{w}",
    "ROS 2: ros2 topic echo --csv, without a header": "column {}",
    "MuJoCo: qpos of a free joint, sensor framequat": "qpos.{}",
    "motion capture": "Hips quaternion {W}",
    "units and brackets": "q_{w}()",
    "unit 1": "q{w} [1]",
    "index": "q[{w}]",
    "ending": "base_ori_{w}_ref",
}


@pytest.mark.parametrize("source", QUATERNIONS)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 2, 3, 0)])
def test_names_of_quaternions(source, order):
    """Signs that flip must not be motion, and positions beside them stay positions."""
    name, rng = QUATERNIONS[source], np.random.default_rng(0)
    names = [name.format(i, w=a, W=a.upper()) for i, a in enumerate("wxyz")]
    numbered = "{}" in name
    position = [f"p_RS_R_{a} [m]" if "RS" in name else a for a in "xyz"]
    tool = turning()
    states = joined(tool, lambda q: (q * rng.choice([-1, 1], (len(q), 1)))[:, order])
    names = names if numbered else [names[i] for i in order]
    made, _, paths, _ = read(states, (*position, *names))
    assert made.kinds == ("plain",) * 3 + ("quaternion",) * 3, made.notes
    assert ("assumed" in made.notes[0]) == numbered
    assert_turns(paths, tool)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("roll(rad)", "pitch(rad)", "yaw(rad)"), "euler"),
        (("roll", "pitch", "yaw"), "euler"),  # KITTI: pykitti, utils.py, OxtsPacket
        (
            # DROID: LeRobot, examples/port_datasets/droid_rlds/port_droid.py
            ("cartesian_position.roll", "cartesian_position.pitch", "cartesian_position.yaw"),
            "euler",
        ),
        (("rotvec_x [rad]", "rotvec_y [rad]", "rotvec_z [rad]"), "rotation_vector"),
        (("roll [rad/s]", "pitch [rad/s]", "yaw [rad/s]"), "plain"),
        (("p_RS_R_x [m]", "p_RS_R_y [m]", "p_RS_R_z [m]"), "plain"),
        (("p_RS_R_x", "p_RS_R_y", "p_RS_R_z"), "plain"),
        (("b_w_RS_S_x [rad s^-1]", "b_w_RS_S_y [rad s^-1]", "b_w_RS_S_z [rad s^-1]"), "plain"),
    ],
)
def test_units_of_angles_and_rates(names, kind):
    states = joined(turning(size=0.3), euler)
    assert read(states, ("x", "y", "z", *names))[0].kinds[3:] == (kind,) * 3


def test_the_unit_in_a_name_is_used():
    small = joined(turning(size=0.3), euler)  # below 2 pi in degrees, too
    _, _, paths, _ = read(small, ("x", "y", "z", "roll_deg", "pitch_deg", "yaw_deg"))
    true = [np.c_[s[:, :3], np.radians(s[:, 3:])] for s in small]
    _, _, same, _ = read(true, ("x", "y", "z", "roll", "pitch", "yaw"))
    for a, b in zip(paths, same, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_no_false_rotations():
    rng = np.random.default_rng(3)
    made = []
    for _ in range(5):
        joints = smooth(rng, 60, 4)
        joints[30] /= np.linalg.norm(joints[30])  # of unit norm at one moment
        phase = np.eye(4)[np.sort(rng.integers(0, 4, 60))]
        following = np.eye(3)[(np.arange(60) // 20 + 1) % 3]  # the stage and the next one
        gripper = np.repeat([0.0, 20.0, 360.0], 20)[:, None]
        velocity = 0.02 * smooth(rng, 60, 3)
        stage = np.eye(3)[np.arange(60) // 20]
        parts = [joints, phase, gripper, np.ones((60, 1)), velocity, stage, following]
        made.append(np.concatenate(parts, axis=1))
    found, _, paths, outliers = read(made)
    assert set(found.kinds) == {"plain"} and not outliers and found.notes == ()
    for path, s in zip(paths, made, strict=True):
        np.testing.assert_array_equal(path, np.delete(s, 9, axis=1))


def test_orientation_given():
    tool = turning()
    states = joined(tool)
    names = ("x", "y", "z", "a.q1", "a.q2", "a.q3", "a.q4")
    for key in ((3, 4, 5, 6), "3:7", "a.q", ("a.q1", "a.q2", 5, "a.q4")):
        made, _, paths, _ = read(states, names, orientation={key: "quaternion_wxyz"})
        assert made.sources[3] == (3, 4, 5, 6)
        assert_turns(paths, tool)
    for nothing in ({}, "none"):
        made, _, paths, _ = read(states, orientation=nothing)
        assert set(made.kinds) == {"plain"}
        np.testing.assert_array_equal(paths[0], states[0])


@pytest.mark.parametrize(
    ("orientation", "message"),
    [
        ("quaternion", "pass columns and kinds"),
        ({3: "quaternion"}, "use one of"),
        ({"tool.q": "rotation_vector"}, "needs 3 columns, not 4"),
        ({"arm": "angle"}, "no such column"),
        ({7: "angle"}, "no such column"),
        ({(3, 4, 5, 6): "quaternion_wxyz", 3: "angle"}, "named twice"),
        ({(3, 4, 4, 6): "quaternion_wxyz"}, "named twice"),
        ({(0, 1, 2, 3): "quaternion_wxyz"}, r"\[\('x', 'y', 'z', '.*cannot be one"),
        ({(2, 3, 4, 5): "quaternion_wxyz"}, r"that are ignored, \[2\]: leave them out of ignore"),
    ],
)
def test_orientation_refused(orientation, message):
    scale = np.r_[0.1 * np.ones(3), (0.4 if "cannot" in message else 1.0) * np.ones(4)]
    states = [s * scale for s in joined(turning())]
    ignored = [2] if "ignored" in message else []
    with pytest.raises(InputError, match=message):
        read(states, ("x", "y", "z", *QUATERNION), orientation=orientation, ignore=ignored)


# ---------------------------------------------------------------- frames that are no measurement


def recorded(count=10, steps=120, seed=4):
    """Positions, a quaternion, a gripper of 0 and 1, a force with bursts, and an object."""
    made = []
    rng = np.random.default_rng(seed)
    for p, q in turning(count, steps, seed):
        gripper = (np.arange(steps) > rng.integers(60, 70)).astype(float)
        force = 0.1 * rng.standard_normal(steps)
        force[rng.integers(40, 50)] += 20.0
        force[80:83] += (10, 30, 12)
        moved = np.maximum(np.arange(steps) - 110, 0) * 0.01
        made.append(np.c_[p + 0.5, q, gripper, force, moved])
    return made


def test_motion_is_not_a_fault():
    states = recorded()
    states[3][20, 7] = 1.0  # the gripper toggles for one frame
    states[5][90:, 0] += 0.4  # a step that remains
    states[6][30, 1] += 2.0  # a step in two parts
    states[6][31:, 1] += 4.0
    _, _, paths, outliers = read(states)
    assert not outliers
    np.testing.assert_array_equal(paths[3][:, 6:], states[3][:, 7:])
    for i in (5, 6):
        np.testing.assert_array_equal(paths[i][:, :3], states[i][:, :3])


@pytest.mark.parametrize("count", [1, 3, 10, 30])
def test_contacts_are_no_faults(count):
    """Pushes of resting objects and single contacts, in all demonstrations or in one."""
    rng = np.random.default_rng(0)
    states = []
    for i in range(count):
        velocity = 1e-6 * rng.standard_normal(100)
        velocity[50:52] = (0.5, 0.3)
        exact, noisy = np.zeros(100), 0.01 * rng.standard_normal(100)
        drift = smooth(rng, 100, 1, 0.1)
        exact[50] = noisy[52] = 20.0 * (i == 0)
        drift[53:55] += 15.0 * (i == 0)
        weak = 0.01 * rng.uniform(-1, 1, 100)  # within ten times its range, and not smooth
        weak[60] = 0.18 * (i == 0)
        states.append(np.c_[smooth(rng, 100, 3), velocity, exact, noisy, drift, weak])
    _, _, paths, outliers = read(states)
    assert not outliers
    for path, s in zip(paths, states, strict=True):
        np.testing.assert_array_equal(path, s)


@pytest.mark.parametrize("names", [(), ("x", "y", "z", "roll", "pitch", "yaw")])
def test_faults_of_angles(names):
    states = joined(turning(start=(np.pi, 0.0, 0.0), size=0.2), euler)
    states[2][10, 4] = 1e200
    states[3][11, 3] = -9999.0
    states[4][22, 3:] = 0.0
    _, _, paths, outliers = read(states, names)
    assert outliers == [(2, 10), (3, 11), (4, 22)]
    assert max(np.abs(np.diff(p[:, 3:], axis=0)).max() for p in paths) < 0.3


@pytest.mark.parametrize("value", [-9999.0, 1e4, 0.0])
@pytest.mark.parametrize("length", [1, 3])
def test_faults_are_replaced(value, length):
    states = recorded()
    clean, _, true, _ = read(states)
    states = [s.copy() for s in states]
    chosen = (7, slice(31, 31 + length))
    if value == 0:
        states[7][chosen[1]] = 0.0
    else:
        states[7][chosen[1], 1] = value
        states[7][chosen[1], 5] = value
    made, _, paths, outliers = read(states)
    assert outliers == [(7, 31 + i) for i in range(length)]
    assert any("demonstration 7, step 31" in note for note in made.notes)
    assert made.names == clean.names
    for i, (path, before) in enumerate(zip(paths, true, strict=True)):
        if i == 7:  # faults of rotations and positions are interpolated
            np.testing.assert_allclose(path[:, :6], before[:, :6], atol=0.05)
            assert np.abs(np.diff(path[:, 6], axis=0)).max() == 1.0  # of the gripper
        else:
            np.testing.assert_array_equal(path, before)
    np.testing.assert_allclose(made.scale, clean.scale, rtol=0.05)
    np.testing.assert_allclose(made.least, clean.least, rtol=0.05)


def test_faults_in_several_demonstrations():
    states = recorded()
    states[2][50] = states[6][0] = states[8][70:72] = 0.0
    states[1][10, 2] = states[4][44, 2] = -9999.0
    _, _, _, outliers = read(states)
    assert outliers == [(1, 10), (2, 50), (4, 44), (6, 0), (8, 70), (8, 71)]


def test_switches_stay_switches():
    states = recorded()
    states[2][int(states[2][:, 7].argmax()), 7] = -9999.0
    _, _, paths, outliers = read(states)
    assert len(outliers) == 1 and set(paths[2][:, 6]) == {0.0, 1.0}


def test_rotation_that_is_none_at_the_start():
    states = recorded()
    states[6][0, 3:7] = 0.0
    made, _, paths, outliers = read(states)
    assert outliers == [(6, 0)] and "quaternion" in made.kinds
    np.testing.assert_array_equal(paths[6][:2, 3:6], 0)  # equal to the first valid frame


def test_dropped_frame_of_wrapped_angles():
    rng = np.random.default_rng(4)
    states = [(smooth(rng, 200, 5, 2.0) + np.pi) % (2 * np.pi) - np.pi for _ in range(8)]
    states[3][100] = states[5][50] = 0.0  # more than are searched for in a single column
    made, _, _, outliers = read(states)
    assert set(made.kinds) == {"angle"} and outliers == [(3, 100), (5, 50)]


def test_fault_in_a_single_demonstration():
    (state,) = recorded(1)
    state[30, 0] = 1e4
    made, _, (path,), outliers = read([state])
    assert outliers == [(0, 30)] and np.abs(path[:, 0]).max() < 2 and made.scale[0] < 2


# ---------------------------------------------------------------- columns, scales, rounding


def test_columns_without_motion_are_left_out():
    rng = np.random.default_rng(5)
    states = []
    for i in range(5):
        steps = 50 + i
        t = np.arange(steps)
        states.append(np.c_[smooth(rng, steps, 2), np.full(steps, i), 0.05 * t, t, t + 100 * i])
    names = ("x", "y", "goal", "time", "frame", "row")
    for dtype in (np.float64, np.float32):
        made, _, paths, _ = read([s.astype(dtype) for s in states], names)
        assert made.names == ("x", "y") and made.constant == (2,) and made.left_out == (3, 4, 5)
        assert any("column 'time' rises evenly" in note for note in made.notes)
        np.testing.assert_array_equal(paths[1], states[1][:, :2].astype(dtype))
    assert "time" in read([np.r_[s, s] for s in states], names)[0].names


def test_clock_by_name_may_jitter():
    rng = np.random.default_rng(5)
    stamp = [np.cumsum(0.05 + 0.01 * rng.random(50)) for _ in range(3)]
    states = [np.c_[smooth(rng, 50, 1), s] for s in stamp]
    assert read(states, ("x", "stamp"))[0].left_out == (1,)
    assert read(states, ("x", "y"))[0].left_out == ()


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2), (3, 4)])
def test_short_demonstrations(shape):
    rng = np.random.default_rng(0)
    made, _, paths, _ = read([rng.standard_normal(shape) for _ in range(2)])
    assert paths[1].shape == (shape[0], shape[1] if shape[0] > 1 else 0) and (made.scale > 0).all()


def test_ignored_columns():
    rng = np.random.default_rng(6)
    states = [smooth(rng, 50, 4) for _ in range(3)]
    names = ("joint1", "joint2", "tool.x", "tool.y")
    made, _, paths, _ = read(states, names, ignore=["tool", 1])
    assert made.names == ("joint1",) and made.left_out == (1, 2, 3)
    np.testing.assert_array_equal(paths[0], states[0][:, :1])
    refuses("no such column", read, states, names, ignore=["arm"])


def test_names_without_what_they_begin_with():
    """The feature of a LeRobot data set, or a prefix of all names, may be omitted."""
    state = ["observation.state.left", "observation.state.left_hand", "observation.state.right.x"]
    both = [*state, "action.left", "action.up"]
    for names in (state, both, [name.replace("state", "qpos") for name in state]):
        assert columns_of("left", names, len(names), "ignore") == [0]
        assert columns_of("left_", names, len(names), "ignore") == [1]
        assert columns_of("right", names, len(names), "ignore") == [2]
        assert columns_of("1", names, len(names), "ignore") == [1]
    assert columns_of("action.left", both, 5, "ignore") == [3]
    for names, key in ((both, "up"), (state, "hand"), (state, ""), ([], "left")):
        refuses("no such column", columns_of, key, names, 5, "ignore")
    numbered = [f"observation.state.{name}" for name in (10, 11, 1)]  # a number is a column
    assert columns_of("1", numbered, 3, "ignore") == [1]


def test_scale_of_late_motion_does_not_collapse():
    rng = np.random.default_rng(8)
    states = [np.c_[smooth(rng, 400, 1), 1e-9 * rng.standard_normal(400)] for _ in range(50)]
    for s in states[:3]:
        s[397:, 1] += (0.1, 0.2, 0.3)
    made, _, _, _ = read(states)
    assert made.scale[1] == pytest.approx(0.3, rel=0.01)
    assert made.least[1] == pytest.approx(3e-5, rel=0.01)


def test_resolution_is_rest():
    made, _, _, _ = read(joined(turning()), resolution=[1e-3, 0, 0, 2e-3, 2e-3, 2e-3, 2e-3])
    np.testing.assert_array_equal(made.least[[0, 3, 4, 5]], [1e-3, 4e-3, 4e-3, 4e-3])
    assert made.least[1] == pytest.approx(1e-4 * made.scale[1])


# ---------------------------------------------------------------- running episodes, files, data


def mixed():
    rng = np.random.default_rng(10)
    tool = turning(4, 70)
    states = []
    for p, q in tool:
        angle = smooth(rng, 90, 1, 3.0)[:70]
        vector = logarithm(exponential(smooth(rng, 70, 3) + np.array([np.pi, 0, 0])))
        sign = rng.choice([-1, 1], (70, 1))
        states.append(np.c_[p, q * sign, angle % (2 * np.pi), vector])
    names = ("x", "y", "z", *QUATERNION, "wrist", "cube.rx", "cube.ry", "cube.rz")
    return read(states, names), states


def test_follower_gives_what_was_read():
    (made, _, paths, _), states = mixed()
    assert set(made.kinds) == {"plain", "quaternion", "angle", "rotation_vector"}
    follower = Follower(made, 1)
    for s, path in zip(states, paths, strict=True):
        follower.reset(ROW)
        got = [follower.push(row[None], ROW)[0] for row in s]
        np.testing.assert_allclose(got, path, atol=1e-12)


FOLDERS = ("benchmarks/tasks/data", "examples/data")
FILES = sorted(path for folder in FOLDERS for path in (DATA / folder).glob("*.npz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("named", [True, False])
def test_demonstrations(path, named):
    with np.load(path) as data:
        states = np.split(data["states"], np.cumsum(data["lengths"])[:-1])
        names = tuple(map(str, data["names"]))
    made, _, paths, outliers = read(states, names if named else ())
    assert not outliers
    kinds = zip(made.sources, made.kinds, strict=True)
    turned = {columns for columns, kind in kinds if kind not in ("plain", "angle")}
    for columns in turned:
        assert [names[c][-2:] for c in columns] == ["qw", "qx", "qy", "qz"]
    moving = np.any([(np.diff(s, axis=0) != 0).any(axis=0) for s in states], axis=0)
    ends = [name[-2:] for name in names]
    whole = [c for c in range(len(names)) if ends[c : c + 4] == ["qw", "qx", "qy", "qz"]]
    assert {columns[0] for columns in turned} == {c for c in whole if moving[c : c + 4].any()}
    for p, s in zip(paths, states, strict=True):
        plain = [j for j, kind in enumerate(made.kinds) if kind == "plain"]
        np.testing.assert_array_equal(p[:, plain], s[:, [made.sources[j][0] for j in plain]])
