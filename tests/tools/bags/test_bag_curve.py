"""The curve of a recording: estimates on a grid for a long one, and parts of a recording."""

import json

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.cli import main
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_tools.bags import bag_curve
from infoatlas_tools.bags.bag_curve import choose_grid, survey
from infoatlas_tools.bags.demonstrations import load_demonstrations
from infoatlas_tools.bags.part_samples import Part, PartSamples
from infoatlas_tools.bags.states import Bag
from player import Player
from recorded_bags import arrays, joint_state, played, pose, write_bag
from refusals import refuses

STEP, JOINTS = 0.01, (["/joints"], [["position"]])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A walk of 4 seconds at 100 Hz."""
    rows = np.random.default_rng(0).standard_normal((400, 2)).cumsum(axis=0)
    return write_bag(tmp_path_factory.mktemp("walk") / "walk", arrays(rows))


def command(path, tmp_path, *options):
    target = tmp_path / "result.json"
    few = ("--topic", "/array", "--window", "34", "--duration", "1", "--threads", "1")
    assert main.main(["bag", *map(str, (path, *few, "--json", target, *options))]) == 0
    return json.loads(target.read_text())


@pytest.mark.parametrize(
    ("messages", "part", "grid", "period"),
    [
        (1500, Part(), 0.0, 0.1),
        (3000, Part(), 0.02, 0.1),  # 1,500 in 30 seconds
        (30_000, Part(), 0.2, 0.2),  # those of the detector, and half as many
        (360_000, Part(), 0.2, 0.2),
        (360_000, Part(100, 15), 0.0, 0.1),
        (360_000, Part(3570), 0.02, 0.1),
    ],
)
def test_a_long_recording_has_a_grid(messages, part, grid, period):
    detector = ExtremumDetector(delay=2.0)
    assert choose_grid(messages, STEP, part, detector) == pytest.approx(grid)
    assert detector.period == period
    assert choose_grid(messages, None, part, detector) == 0  # stamps do not increase


def test_the_grid_has_the_estimates_of_the_detector():
    """No additional estimate is made for the detector, and each is the first of its cell."""
    fake = RecordingEstimator(n_min=8)

    def extractor(message):
        return message

    extractor.joints, extractor.stamp = (), lambda message: message[0]
    extractor.notice = ""
    player = Player(fake, extractor, delay=1.0, window=20)
    player.stream.grid = 0.05 / 2
    outputs = []
    for i in range(500):
        outputs += player.push(np.array([1.7e9 + i / 100, i]))
    assert all(output.shown for output in outputs) and len(fake.calls) == len(outputs)
    cells = np.floor(np.array([o.estimate.stamp for o in outputs]) / 0.025 + 1e-3)
    assert (np.diff(cells) == 1).all()
    assert player.stream.detector.count == pytest.approx(len(outputs) / 2, abs=1)


def test_a_part_is_read_as_if_there_was_nothing_else(path):
    rows, shares, topic = [], [], (["/array"], [None])
    for part in (None, Part(1.0, 2.0)):
        player, fake, curve = played(path, *topic, None, shares.append, part, window=20)
        rows.append(np.concatenate([fake.calls[0].y[:1], fake.calls[-1].x[-1:]]))
    states = np.random.default_rng(0).standard_normal((400, 2)).cumsum(axis=0)
    np.testing.assert_array_equal(rows[0], states[[0, 399]])
    np.testing.assert_array_equal(rows[1], states[[100, 299]])
    assert player.stream.counts["accepted"] == 200
    assert curve.start == pytest.approx(1.7e9)  # times are those of the complete recording
    assert curve.stamp[-1] - curve.start == pytest.approx(2.99)
    assert shares[0] == 0 and max(shares) == 1


def test_invalid_parts_are_refused(path):
    for wrong in ((-1.0, None), (np.nan, None), (0.0, 0.0)):
        refuses(r"start|duration", Part, *wrong)
    why = r"start is 9 s, but /array .* ends 3.99 s after"
    refuses(why, played, path, ["/array"], [None], part=Part(9.0))


def test_explicit_settings_win_over_the_grid(path, tmp_path, monkeypatch, capsys):
    """With --every 1 all estimates are made; those of the grid are among them, bit for bit."""
    every = command(path, tmp_path, "--every", "1")
    assert every["grid"] is None and len(every["curve"]["mi"]) == 65
    monkeypatch.setattr(bag_curve, "ESTIMATES", 12)
    assert command(path, tmp_path, "--every", "1") == every
    assert command(path, tmp_path, "--rate-limit", "0")["curve"] == every["curve"]
    fewer = command(path, tmp_path)
    assert "Grid: the first estimate in each 0.1 s; extrema use one" in capsys.readouterr().out
    assert fewer["grid"] == fewer["extremum_grid"] == 0.1
    estimates = dict(zip(every["curve"]["stamp"], every["curve"]["mi"], strict=True))
    shown = dict(zip(fewer["curve"]["stamp"], fewer["curve"]["mi"], strict=True))
    assert shown.items() <= estimates.items() and 6 <= len(shown) <= 8
    assert fewer["extrema"] == every["extrema"]


def test_a_lag_in_seconds_has_the_steps_of_the_recording(path, tmp_path):
    """Messages without stamps are counted: 0.1 s at 100 Hz are 10 steps, not the default of 2."""
    few = ("--every", "40")
    assert command(path, tmp_path, *few)["lag"] == 2
    found = command(path, tmp_path, *few, "--lag-seconds", "0.1")
    assert found["lag"] == 10
    assert found["curve"]["mi"] == command(path, tmp_path, *few, "--lag", "10")["curve"]["mi"]
    assert command(path, tmp_path, *few, "--lag", "3", "--lag-seconds", "0.1")["lag"] == 3


def joint_bag(path, rows, order, step=10_000_000, lacking=(), ahead=0):
    """Joint states at 100 Hz that arrive in another order than that of their stamps.

    Some are `lacking` a stamp, and the clock of the arrivals is `ahead` by so many seconds.
    """
    messages = []
    for arrival, i in enumerate(order):
        stamp = 0 if i in lacking else 10**18 + i * step
        message = joint_state(stamp, ["a", "b"], rows[i])
        message.position, message.velocity = rows[i], np.zeros(0)
        messages.append(("/joints", 10**18 + arrival * step + ahead * 10**9, message))
    return write_bag(path, messages)


def test_swapped_stamps_are_put_in_order(tmp_path):
    """Pairs of messages arrive swapped: before, half of them were refused as too old."""
    rows = np.random.default_rng(0).standard_normal((200, 2)).cumsum(axis=0)
    swapped = np.arange(200).reshape(-1, 2)[:, ::-1].ravel()
    curves = {}
    for name, order in {"right": range(200), "swapped": swapped}.items():
        player, fake, curve = played(joint_bag(tmp_path / name, rows, order), *JOINTS, window=20)
        assert player.stream.counts["accepted"] == 200
        curves[name] = fake.calls[-1].x, curve.notices
    np.testing.assert_array_equal(curves["swapped"][0], curves["right"][0])
    assert curves["right"][1] == []
    (notice,) = curves["swapped"][1]
    assert notice.startswith("100 messages on /joints came after messages with newer stamps")
    assert "(by up to 0.01 s)" in notice
    found = load_demonstrations(tmp_path, "/joints", ["position"])
    np.testing.assert_array_equal(found.states, np.tile(rows, (2, 1)))
    assert found.notes == (f"swapped: {notice}.",)


@pytest.mark.parametrize("lacking", [range(40, 400, 50), range(5), range(380, 400)])
def test_messages_without_a_stamp_among_stamped_ones(tmp_path, lacking):
    """The clock of the stamps is 10^9 s behind that of the arrivals, as in a simulator."""
    rows = np.random.default_rng(0).standard_normal((400, 2)).cumsum(axis=0)
    path = joint_bag(tmp_path / "mixed", rows, range(400), lacking=lacking, ahead=10**9)
    joint_bag(tmp_path / "right", rows, range(400), ahead=10**9)
    player, fake, curve = played(path, *JOINTS, part=Part(0.0, 3.5), window=300)
    with Bag(path) as bag:
        assert survey(bag, "/joints", player.receivers[0].extractor)[0] == pytest.approx(0.01)
    np.testing.assert_array_equal(fake.calls[-1].x, rows[50:350])
    assert curve.start == 10**9 and curve.stamp[-1] == pytest.approx(10**9 + 3.49)
    inside = sum(i < 350 for i in lacking)
    assert "".join(curve.notices).partition(":")[0] == (
        f"{inside} of 350 messages on /joints have no stamps" if inside else ""
    )
    found = load_demonstrations(tmp_path, "/joints", ["position"])
    np.testing.assert_array_equal(found.states, np.tile(rows, (2, 1)))
    assert found.rate == 100
    (note,) = found.notes
    assert note.startswith(f"mixed: {len(lacking)} of 400 messages on /joints have no stamps: they")


def test_coordinates_without_values_are_the_reason(tmp_path):
    """As the velocities of drivers that do not measure them."""
    path = joint_bag(tmp_path / "nan", np.full((80, 2), 0.5) * (1, np.nan), range(80))
    why = r"estimate of /joints: position\[b\] is NaN: choose others with --field or --joints"
    refuses(why, played, path, *JOINTS)


@pytest.mark.parametrize(
    ("rate", "end", "late"), [(1.002, 60, 0.02), (1.0, 60, 0.02), (1.0, 60, 2.0), (1.0, 30, 0.02)]
)
def test_two_clocks_that_drift_and_a_topic_that_ends_early(tmp_path, rate, end, late):
    """One clock runs fast by `rate`, messages are late by up to `late` s, and one topic ends."""
    rng, messages = np.random.default_rng(0), []
    for at in 0.05 * np.arange(1200):
        for topic, speed, until in (("/fast", rate, end), ("/true", 1, 60)):
            row = np.r_[rng.normal(size=3), 1, 0, 0, 0]
            arrival = 10**18 + round((at + rng.uniform(0, late)) * 1e9)
            if at < until:
                messages.append((topic, arrival, pose(10**18 + round(at * speed * 1e9), row)))
    with Bag(write_bag(tmp_path / "drift", messages)) as bag:
        receivers = [
            Receiver(Extractor(None, bag.schema(name)), side, 1.0)
            for side, name in enumerate(("/fast", "/true"))
        ]
        samples = PartSamples(bag, ["/fast", "/true"], receivers)
        assert sum(1 for _ in samples) == 1200 + 20 * end
    notices = samples.notices()
    if rate > 1:
        (notice,) = notices
        assert notice.startswith("the stamps of /true fall behind those of /fast by 0.1")
    elif end < 60:
        (notice,) = notices
        assert notice.startswith("/fast ends 30.00 s before /true")
    else:
        assert all("came after messages with newer stamps" in notice for notice in notices)
        assert bool(notices) == (late > 1)


def test_a_robot_with_a_quantised_yaw_is_one_robot(tmp_path):
    """It drives straight, and its odometry goes to and fro between two neighbouring levels."""
    rng, step = np.random.default_rng(0), 100_000_000
    x = np.cumsum(rng.choice([0.08, 0.11], 400))
    half = (-2.8204 + 8e-4 * (rng.random(400) < 0.4)) / 2
    rows = np.c_[-0.95 * x, 0.31 * x, 0 * x, np.cos(half), 0 * x, 0 * x, np.sin(half)]
    times = [10**18 + i * step for i in range(len(rows))]
    messages = [("/odometry", t, pose(t, row)) for t, row in zip(times, rows, strict=True)]
    player, _, curve = played(write_bag(tmp_path / "odometry", messages), ["/odometry"], [None])
    assert player.stream.counts["accepted"] == 400 and curve.notices == []


def test_noise_at_rest_has_no_extrema(path, tmp_path):
    """A robot moves, stands still with the noise of its encoders, and moves again."""
    rng = np.random.default_rng(0)
    time = np.arange(1200) / 50
    moved = np.clip(time, 0, 5) + np.clip(time - 20, 0, None)
    rows = np.sin(np.outer(moved, [1.0, 1.7])) + 2e-4 * rng.standard_normal((1200, 2))
    bag = joint_bag(tmp_path / "rest", rows, range(1200), 20_000_000)
    options = "--field position --window 50 --rate-limit 1 --threads 1".split()
    target = tmp_path / "rest.json"
    assert main.main(["bag", str(bag), "--topic", "/joints", *options, "--json", str(target)]) == 0
    extrema = json.loads(target.read_text())["extrema"]
    times = np.array([extremum["stamp"] for extremum in extrema]) - 1e9
    assert len(times) and not ((times > 6.5) & (times < 19.9)).any()
