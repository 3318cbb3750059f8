"""Key states of demonstrations with known phases, of hand-made people, and of recorded ones."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas
import pytest

from hands import RATE, carrying
from infoatlas_rt import InputError
from infoatlas_tools import discover_keystates
from infoatlas_tools.keystates.motion.motion_scales import bursts
from infoatlas_tools.keystates.summary import agreement, how_sure
from infoatlas_tools.trajectories import Trajectories
from refusals import refuses
from regimes import demonstrations
from task_parts import two_picks

NAMES = ("tool.x", "tool.y", "tool.z", "finger1.position", "time")


def minimum_jerk(u):
    u = np.clip(u, 0, 1)
    return 10 * u**3 - 15 * u**4 + 6 * u**5


def recording(seed, rate=20.0, noise=2e-4, lacking=False):
    """Reach, close the fingers, carry, open them; seconds of both events (`lacking`: of one)."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(1, 2.5, 3)
    grasp, release = 0.5 + a, 0.5 + a + 0.3 + b
    end = release + 0.3 + c
    t = np.arange(0, end, 1 / rate)
    goals = rng.normal(size=(3, 3)) * 0.3
    place = np.zeros((len(t), 3))
    for goal, start, took in zip(goals, (0.5, grasp + 0.3, release + 0.3), (a, b, c), strict=True):
        place += goal * minimum_jerk((t - start) / took)[:, None]
    finger = 0.04 - 0.03 * np.clip((t - grasp) / 0.2, 0, 1)
    if not lacking:
        finger += 0.03 * np.clip((t - release) / 0.2, 0, 1)
    drawn = np.random.default_rng([seed, int(rate)]).normal(size=(len(t), 4))
    states = np.column_stack([place, finger]) + noise * drawn * [1, 1, 1, 0.1]
    return states, np.array([grasp, release])


def recordings(count=12, **options):
    made = [recording(seed, **options) for seed in range(count)]
    return [states for states, _ in made], np.array([times for _, times in made])


def away(found, times, rate=20.0):
    """Seconds from each event to the nearest key state of its demonstration [N, E]."""
    steps = found.steps.astype(float).filled(np.nan)
    return np.nanmin(np.abs(steps[:, :, None] / rate - times[:, None, :]), axis=1)


def test_known_phases_are_found_to_within_a_step():
    states, cuts = demonstrations()  # the last steps of a phase are cuts - 1
    found = discover_keystates(states, count=2)
    assert found.steps.shape == found.steps.mask.shape == (12, 2)
    assert np.abs(found.steps - (cuts - 1)).max() <= 1 and found.reproduced.min() > 0.3
    assert np.isnan(found.met) and "show no contact" in found.warnings[0]
    assert "No rate: a working step counts as 0.05 s" in found.notes[0]
    fast = replace(found, trajectories=found.trajectories.described(rate=1e4))
    assert "At 10000 Hz" in fast.warnings[0]
    assert how_sure(found.found, found.reproduced) == ["repeats"] * 2


def test_steps_ascend_and_leave_out_the_ends():
    states, _ = demonstrations()
    found = discover_keystates(states, count=5)
    assert (found.steps.count(axis=1) <= 5).all() and (found.steps > 0).all()
    assert (found.steps.max(axis=1) < [len(s) - 1 for s in states]).all()
    assert sorted(found.order) == list(range(found.steps.shape[1]))
    shared = found.order[found.shared[found.order]]
    assert (np.diff(found.strength[shared]) <= 0).all()
    middle = np.ma.median(found.steps / [[len(s) - 1] for s in states], axis=0)
    assert (np.diff(middle) >= 0).all()


@pytest.mark.parametrize("kind", ["white", "walk", "smooth"])
def test_no_key_state_in_motion_without_events(kind):
    """White noise, random walks and a single smooth motion, 10 draws each."""
    said = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((6, 100, 4))
        if kind == "walk":
            noise = noise.cumsum(axis=1)
        if kind == "smooth":
            moved = minimum_jerk(np.linspace(0, 1, 100))[:, None] * rng.standard_normal((6, 1, 4))
            noise = moved + 0.001 * noise
        said += discover_keystates(list(noise), count="auto").steps.shape[1] > 0
    assert said == 0


def test_auto_finds_both_events_and_no_others():
    states, times = recordings()
    for given in (Trajectories(states, rate=20), states):  # with names and without
        found = discover_keystates(given, count="auto")
        assert found.steps.shape == (12, 2) and not found.steps.mask.any()
        assert (away(found, times) <= 0.25).mean() > 0.9


def test_increments_below_the_resolution_are_rest():
    states, cuts = demonstrations()
    rng = np.random.default_rng(0)
    jitter = [s + 1e-3 * rng.standard_normal(s.shape) for s in states]
    found = discover_keystates(Trajectories(jitter, resolution=5e-3), count=2)
    assert np.abs(found.steps - (cuts - 1)).max() <= 1
    assert (found.recordings.coordinates.least >= 5e-3).all()
    refuses("resolution is -1", Trajectories, states, resolution=-1)


def test_units_and_constant_coordinates_change_nothing():
    states, _ = demonstrations()
    found = discover_keystates(states, count=3)
    scale = 10.0 ** np.arange(-3, 3)
    other = discover_keystates([np.c_[s * scale + 5, np.full(len(s), 7)] for s in states], count=3)
    np.testing.assert_array_equal(found.steps, other.steps)
    np.testing.assert_allclose(found.strength, other.strength, rtol=1e-6)


@pytest.mark.parametrize("stride", [None, 3])
def test_trajectories_of_a_result_can_be_searched_again(stride):
    timed = [np.c_[s, np.arange(len(s))] for s in demonstrations()[0]]
    given = Trajectories(timed, rate=100, notes=("Read.",), stride=stride)
    found = discover_keystates(given, 5)
    assert found.trajectories.stride == stride and found.trajectories.notes == ("Read.",)
    assert discover_keystates(found.trajectories, 5).to_dict() == found.to_dict()
    assert found.to_dict()["notes"] == ["Read.", "column 6 rises evenly: it is left out"]
    faster = discover_keystates(replace(found.trajectories, rate=200)).recordings.timing
    assert faster == discover_keystates(replace(given, rate=200)).recordings.timing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count is 0"),
        ({"count": "many"}, "count is 'many'"),
        ({"count": True}, "count is True"),
        ({"labels": {99: [3]}}, "a labelled demonstration is 99"),
        ({"labels": {0: [3000]}}, "label 'label 1' of demonstration 0 is 3000"),
        ({"labels": {0: [3], 1: [4, 5]}}, "give them names"),
        ({"labels": {0: 3}}, "pass a list of steps"),
        ({"labels": [3]}, "pass steps by demonstration"),
    ],
)
def test_settings_out_of_range(options, message):
    refuses(message, discover_keystates, demonstrations()[0], **options)


def test_trajectories_that_cannot_be_used():
    states, _ = demonstrations()
    refuses("no trajectories", discover_keystates, [])
    refuses("load_trajectories", discover_keystates, "demos.npz")
    refuses("trajectory 1 has 2 coordinates", discover_keystates, [states[0], states[1][:, :2]])
    refuses("all 3 coordinates are constant", discover_keystates, [np.ones((50, 3))] * 4)
    with pytest.raises(InputError, match=r"no coordinate is left of 2 \(2 rising evenly"):
        discover_keystates([np.linspace(0, 1, 60)[:, None] * [1.0, 2.0]] * 4)
    with pytest.raises(InputError, match=r"of 6 \(6 ignored\): ignore fewer columns"):
        discover_keystates(Trajectories(states, ignore=list(range(6))))
    with pytest.raises(InputError, match=r"has 49 steps.* 900 of them.*smaller stride"):
        discover_keystates(Trajectories(states, stride=900))
    refuses(r"check the rate \(90000.0\)", discover_keystates, Trajectories(states, rate=9e4))
    broken = states[3].copy()
    broken[4, 2] = np.nan
    with pytest.raises(InputError, match=r"trajectory 3 has 1 NaN.*: cut those steps off"):
        discover_keystates([*states[:3], broken])


@pytest.mark.parametrize("rate", [10.0, 30.0, 100.0])
def test_the_same_motion_at_any_rate(rate):
    states, times = recordings(rate=rate)
    found = discover_keystates(Trajectories(states, rate=rate), count=4)
    assert found.recordings.timing.stride == {10.0: 1, 30.0: 1, 100.0: 4}[rate]
    assert (away(found, times, rate) <= 0.25).mean() > 0.9


def test_one_bad_frame_changes_no_other_demonstration():
    states, _ = recordings()
    clean = discover_keystates(states, count=4)
    for value in (-9999.0, 1e4):
        spoilt = [s.copy() for s in states]
        spoilt[5][40, 1] = value
        found = discover_keystates(spoilt, count=4)
        rest = np.arange(12) != 5
        np.testing.assert_array_equal(found.steps[rest].filled(-1), clean.steps[rest].filled(-1))
        assert found.quality[5].outliers == (40,)
        assert any("demonstration 5" in note.lower() for note in found.notes)


def test_even_motion_has_no_key_state():
    line = np.linspace(0, 1, 150)[:, None] * [1.0, -2.0, 0.5]
    for dtype, count in product((np.float64, np.float32), ("auto", 3)):
        found = discover_keystates([line.astype(dtype) + i for i in range(5)], count=count)
        assert found.steps.shape == (5, 0)
        assert "show no contact" in found.warnings[0] and "Agreement" not in str(found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_are_computed_as_float64(dtype):
    states, _ = recordings()
    rows, lengths = np.concatenate(states).astype(dtype), [len(own) for own in states]
    for value in (rows[90, 1], -9999):
        rows[90, 1] = value
        rows.flags.writeable = False
        found, expected = (
            discover_keystates(Trajectories(own, lengths, rate=20))
            for own in (rows, rows.astype(np.float64))
        )
        assert found.to_dict() == expected.to_dict()
        rows = rows.copy()


def test_the_gripper_alone_decides_where_it_is_named():
    states, times = recordings()
    tables = [pandas.DataFrame(s, columns=NAMES[:4]) for s in states]
    for name in ("finger", "finger1.position", 3, ["finger"]):
        found = discover_keystates(Trajectories(tables, gripper=name), count=2)
        assert (away(found, times) <= 0.25).mean() > 0.9
    refuses("gripper names 'claw'", Trajectories, tables, gripper="claw")
    with pytest.raises(InputError, match="these columns are ignored or constant"):
        discover_keystates(Trajectories(tables, gripper="finger", ignore="finger"))
    flat = [table.assign(finger2=1.0) for table in tables]
    with pytest.raises(InputError, match=r"gripper is \[4\], and these columns are ignored or"):
        discover_keystates(Trajectories(flat, gripper="finger2"))


def test_both_switches_of_a_binary_gripper_among_smooth_motion():
    """The arm stops before each switch and elsewhere."""
    states, events = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        place, closed, rows, at = np.zeros(7), 1.0, [], []
        for part in range(4):
            speed = np.sin(np.linspace(0, np.pi, rng.integers(18, 30)))[:, None] ** 2
            path = place + np.cumsum(speed * rng.normal(0, 0.02, 7), axis=0)
            rows += [np.c_[path, np.full(len(path), closed)]]
            place, closed = path[-1], closed if part % 2 == 0 else 1 - closed
            at.append(sum(map(len, rows)))
            rows += [np.tile(np.r_[place, closed], (6, 1))]
        made = np.concatenate(rows)
        made[:, :7] += rng.normal(0, 1e-4, (len(made), 7))
        states.append(made)
        events.append([at[1], at[3]])
    for gripper, count in product(((), 7), (2, "auto")):
        found = discover_keystates(Trajectories(states, rate=20, gripper=gripper), count=count)
        assert found.steps.shape == (12, 2) and not found.warnings
        assert np.abs(found.steps - events).max() <= 2
        assert [found.sure(j) for j in range(2)] == ["switch seen"] * 2


@pytest.mark.parametrize("rate", [50, 100])
def test_a_turn_of_noisy_motion_is_found(rate):
    rng, states, at = np.random.default_rng(0), [], []
    for _ in range(8):
        parts = rng.integers(30, 60, 2)
        moves = np.repeat([[1.0, 0], [0, 1]], parts, axis=0).cumsum(axis=0)
        states.append(moves + rng.normal(0, 0.3, moves.shape))
        at.append(parts[0] - 1)
    found = discover_keystates(Trajectories(states, rate=rate), count=1)
    away = np.abs(found.steps - np.array(at)[:, None]).min(axis=1)
    assert away.count() == 8 and away.max() <= 2


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", ["angle", "quaternion", "w of at least 0"])
@pytest.mark.parametrize("rate", [20, None])
def test_a_turn_is_found_whatever_describes_it(kind, rate, exact):
    """About z: the other axes are exactly 0, or noise; recordings end in motion."""
    rng, states = np.random.default_rng(0), []
    slow = [(steps, 40) for steps in (54, 33, 57, 46, 40, 56)]
    parts = slow if exact else rng.integers(100, 200, (8, 2))
    speeds, noise = ([0.02, 0.1], 1e-4) if exact else ([0.01, 0.05], 1e-3)
    for own in parts:
        turned = np.cumsum(np.repeat(speeds, own))
        angle = turned + noise * rng.normal(size=len(turned))
        half = (angle if exact else turned) / 2
        q = np.c_[np.cos(half), 0 * half, 0 * half, np.sin(half)]
        if not exact:
            q += rng.normal(0, noise, q.shape)
            q /= np.linalg.norm(q, axis=1, keepdims=True)
        q *= np.where((q[:, :1] < 0) & (kind == "w of at least 0"), -1, 1)
        states.append((angle % (2 * np.pi))[:, None] if kind == "angle" else q)
    found = discover_keystates(Trajectories(states, rate=rate), count=1)
    away = np.abs(found.steps - [[own[0] - 1] for own in parts])
    assert found.steps.shape == (len(parts), 1) and away.max() <= (1 if exact else 2)


def test_one_and_two_demonstrations():
    states, times = recordings(2)
    for count in (1, 2):
        found = discover_keystates(states[:count], count=3)
        assert (found.steps.count(axis=1) == 3).all()
        assert (away(found, times[:count]) <= 0.25).mean() >= 0.5
    assert np.isnan(discover_keystates(states[:1], count=3).reproduced).all()


def test_constant_speed_has_no_bursts():
    """The entropy of equal shares exceeds its bound by rounding."""
    assert 0 <= bursts([np.full((n, 1), 0.3) for n in range(50, 80)], np.zeros(1))[0] < 1e-12


def carried(number=8, **options):
    """A hand that carries one thing beside another, with names of its columns."""
    states, names, cuts = carrying(number, [("cube", "goal")], **options)
    return Trajectories(states, names=names, rate=RATE), cuts


def near(steps, cuts):
    """Whether the cube begins to move at the first cut, and rests shortly before the second."""
    begin, end = np.transpose(steps) - np.transpose(cuts)
    return bool(np.abs(begin).max() <= 2 and end.max() <= 0 and end.min() >= -11)


def told(found):
    """Names of columns with their steps."""
    return {found.name(j): found.steps[:, j].filled(-1) for j in range(found.steps.shape[1])}


def test_contacts_of_bodies_are_named_and_believed():
    data, cuts = carried()
    found = discover_keystates(data, count=2)
    steps = told(found)
    assert list(steps) == ["cube begins to move", "cube comes to rest"]
    assert near(np.transpose(list(steps.values())), cuts)
    assert found.met == 1 and found.warnings == ()
    assert np.isnan(found.reproduced).all() and "Agreement" not in str(found)  # so are even steps
    assert how_sure(found.found, found.reproduced) == ["contact seen"] * 2


def test_agreement_is_what_is_met_and_repeats():
    data, _ = carried()
    found = replace(discover_keystates(data, count=2), reproduced=np.array([1.0, -4.0]))
    assert "Agreement with contacts, switches and the motion of other" in str(found)
    assert found.agreement == found.met / 2
    (text,) = agreement(found.agreement)
    assert f": {found.met / 2:.2f} (0: as evenly spaced steps" in text
    nothing = replace(found, reproduced=np.full(2, np.nan))
    assert agreement(nothing.agreement) == [] and "Agreement" not in str(nothing)


def test_states_of_a_tool_alone_say_that_they_are_guesses():
    data, _ = carried()
    alone = Trajectories([s[:, :7] for s in data.split()], names=data.names[:7], rate=RATE)
    found = discover_keystates(alone, count=3)
    (warning,) = found.warnings
    assert "column of a gripper" in warning and np.isnan(found.met)
    assert set(found.found.source) == {"motion"}
    for word in ("gripper", "cube", "contact"):
        assert word not in str(found).partition("The states show")[0]
    rare = [np.c_[s, (np.arange(len(s)) > 50) * (i == 0)] for i, s in enumerate(alone.split())]
    found = discover_keystates(Trajectories(rare, rate=RATE, gripper=7), count=3)
    assert "column of a gripper" not in found.warnings[0]


@pytest.mark.parametrize("with_names", [True, False])
def test_the_order_of_demonstrations_changes_nothing(with_names):
    data, _ = carried()
    order = np.random.default_rng(3).permutation(8)
    names = data.names if with_names else ()
    states = data.split()
    one = told(discover_keystates(Trajectories(states, names=names, rate=RATE), count=2))
    mixed = Trajectories([states[i] for i in order], names=names, rate=RATE)
    for name, steps in told(discover_keystates(mixed, count=2)).items():
        np.testing.assert_array_equal(steps, one[name][order])


def test_the_order_of_columns_changes_nothing():
    data, _ = carried()
    blocks = np.concatenate([np.arange(7 * i, 7 * i + 7) for i in (2, 0, 1)])  # quaternions stay
    names = [data.names[c] for c in blocks]
    other = Trajectories([s[:, blocks] for s in data.split()], names=names, rate=RATE)
    one, two = (told(discover_keystates(given, count=4)) for given in (data, other))
    assert list(one) == list(two)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_count_is_the_most_of_each_demonstration():
    data, _ = carried()
    for count in (1, 2, 4, 7):
        found = discover_keystates(data, count=count)
        assert (found.steps.count(axis=1) <= count).all()
        contacts = [source == "contact" for source in found.found.source]
        assert sum(contacts) == min(count, 2)
        assert found.strength[contacts].min() > found.strength[np.invert(contacts)].max(initial=0)
    found = discover_keystates(data)
    assert list(told(found)) == ["cube begins to move", "cube comes to rest"]
    assert "auto left out 6 changes" in found.notes[-1] and "--count 5" in found.notes[-1]
    rng = np.random.default_rng(0)
    picks = [[two_picks(rng) for _ in range(2)] for _ in range(10)]
    some = [np.r_[a, b if i < 3 else b[: at[1] + 25]] for i, ((a, _), (b, at)) in enumerate(picks)]
    found = discover_keystates(Trajectories(some, names=("x", "y", "gripper"), rate=20))
    # With 6 found, a count of 5 would give fewer.
    assert found.steps.shape[1] == 6 and "(--count 10)" in found.notes[-1]
    blind = discover_keystates([s[:, :3] for s in data.split()])  # no contact: what half have
    assert blind.found.common.all() and set(blind.found.source) == {"motion"}
