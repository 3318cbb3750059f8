"""Lags of two topics in a bag: forces, velocities and positions."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

from command_line import complaint, printed
from episodes import pickcube
from infoatlas_rt import Estimator
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_tools import lag_scan
from infoatlas_tools.bags import bag_lags
from infoatlas_tools.bags.bag_curve import _why_no_estimate
from infoatlas_tools.bags.bag_lags import INDEPENDENT, independent_pairs, moving, significant
from infoatlas_tools.bags.part_samples import Part, far_partners
from infoatlas_tools.cli import bag_text
from recorded_bags import START, TYPES, header, pose, write_bag

STEP = 50_000_000
LATE = 4  # steps of 0.05 s


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A wrench that precedes the motion of an object by 0.2 s, and carries 2 nats about it."""
    rng = np.random.default_rng(0)
    steps = 400
    force = rng.standard_normal((steps, 3))
    speed = np.roll(force, LATE, axis=0) + 0.6 * rng.standard_normal((steps, 3))
    way = np.cumsum(0.01 * (speed[1:] + speed[:-1]), axis=0)  # speeds are those at the stamps
    place = np.c_[np.vstack([np.zeros(3), way]), np.tile([1.0, 0, 0, 0], (steps, 1))]
    vector, wrench, stamped = (
        TYPES[f"geometry_msgs/msg/{name}"] for name in ("Vector3", "Wrench", "WrenchStamped")
    )
    messages = []
    for i in range(steps):
        time, own = START + i * STEP, wrench(vector(*force[i]), vector(0.0, 0.0, 0.0))
        messages.append(("/object", time, pose(time, place[i])))
        messages.append(("/wrench", time, stamped(header(time), own)))
    return write_bag(tmp_path_factory.mktemp("wrench") / "bag", messages)


@pytest.mark.parametrize(("offset", "jitter"), [(0.02, 0.0), (0.0, 0.01)])
def test_each_topic_has_its_own_times(offset, jitter):
    """Two topics with the same motion, of other phases and with jitter."""
    rng, stamps = np.random.default_rng(0), 0.05 * np.arange(100)
    times = [stamps + jitter * rng.uniform(size=100), stamps + offset]
    sync, pairs = Synchroniser(0.03), []
    for first, second in zip(*times, strict=True):
        for side, stamp in enumerate((first, second)):
            pairs += sync.push(np.array([np.sin(4 * stamp), stamp]), stamp, side)
    ((one, other),) = bag_lags._on_grid(pairs, 0.05, 1.0)
    assert len(one) >= 95 and np.abs(one - other)[1:-1].max() < 0.01


def command(path, *options):
    topics = "--topic /object --field pose.position --with-topic /wrench --with-field wrench.force"
    few = f"{topics} --window 40 --every 20 --delay 10 --threads 1"
    return ["bag", path, *few.split(), *options]


def test_a_wrench_at_a_lag_is_reported(path, tmp_path, capsys):
    """Forces are not compared at equal times, and the text names the option that compares them."""
    text = printed(capsys, *command(path, "--start", 8))
    assert "/wrench has no positions" in text and "--lags 0.5 compares velocities" in text
    assert "Coupling: " not in text
    caution = "Two unrelated smooth motions have high estimates and extrema, too"
    assert (caution in text) != ("none above the noise" in text)
    target = tmp_path / "lags.json"
    text = printed(capsys, *command(path, "--lags", 0.5, "--json", target))
    assert "positive if /wrench is ahead" in text and "p, for 21 lags" in text
    lags = json.loads(target.read_text())["lags"]
    scans = {tuple(scan["quantities"]): scan for scan in lags["scans"]}
    assert set(scans) == {("velocity", "force")}
    found = scans["velocity", "force"]
    low, high = found["interval"]
    assert low <= 0.2 <= high and abs(found["best"] - 0.2) < 0.02 and high - low < 0.1
    best = int(np.argmax(found["mi"]))
    assert found["mi"][best] > 1.5 and found["significant"]
    row = next(line for line in text.splitlines() if line.startswith("  velocity"))
    assert "+0.20" in row and caution not in text
    assert found["lag"][0] == pytest.approx(-0.5) and lags["step"] == pytest.approx(0.05)


def test_the_table_has_all_rows(path, tmp_path, capsys):
    options = ("--csv", tmp_path / "t.csv", "--json", tmp_path / "t.json")
    last = printed(capsys, *command(path, *options)).splitlines()[-2:]
    assert last == [f"Table: {tmp_path / 't.csv'}", f"JSON: {tmp_path / 't.json'}"]
    result = json.loads((tmp_path / "t.json").read_text())
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = [row["kind"] for row in rows]
    assert kinds.count("estimate") == len(result["curve"]["mi"])
    assert len(rows) == kinds.count("estimate") + len(result["extrema"]) + len(result["events"])
    assert [float(row["mi"]) for row in rows if row["kind"] == "estimate"] == result["curve"]["mi"]
    times = [float(row["seconds"]) for row in rows]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--lags", 9), "and 32 are needed: choose smaller lags"),
        (("--lags", 0.01), "is less than a step, 0.05 s"),
        (("--lags", 0.5, "--duration", 2), "and 32 are needed"),
        (("--lags", -1), "lags is -1"),
    ],
)
def test_lags_that_cannot_be_compared(path, capsys, options, why):
    assert why in complaint(capsys, *command(path, *options))


def test_a_window_that_is_not_filled_is_the_reason():
    """Although the last message has no partner."""
    window = SimpleNamespace(reason="filling: 50 of 100 pairs")
    counts = {"accepted": 50, "paired": 50, "unpaired": 73, "NaN": 0, "resets": 1}
    sync, reason = Synchroniser(0.02), "waiting: no pair"
    stream = SimpleNamespace(reason=reason, counts=counts, window=window, sync=sync)
    messages = "Messages: 50 pairs, 73 without a partner within 0.02 s (--sync-tolerance), 1 resets"
    assert _why_no_estimate(stream, Part(), "", "") == (
        f"filling: 50 of 100 pairs: try a shorter window. {messages}"
    )
    assert _why_no_estimate(stream, Part(), "", "far apart") == f"far apart. {messages}"


@pytest.mark.parametrize("reason", ["ok", "degenerate", "waiting: 50 of 90 pairs since the last"])
def test_ok_is_no_reason(reason):
    """The detector of extrema had an estimate that `every` leaves out."""
    counts = {"accepted": 50, "paired": 50, "unpaired": 0}
    window = SimpleNamespace(reason=reason, every=90)
    stream = SimpleNamespace(reason=reason, counts=counts, window=window, sync=Synchroniser(0.02))
    why = _why_no_estimate(stream, Part(), "", "")
    assert why.startswith("fewer pairs than --every 90: choose less. Messages: 50 pairs")


def test_the_phase_of_two_topics():
    """Only messages with a near one on the other topic count, not those in a pause of that."""
    rng, stamps, names = np.random.default_rng(0), 1.7e9 + 0.05 * np.arange(200), ("/a", "/b")
    assert far_partners(names, [stamps, stamps + 0.01], 0.02) == ""
    assert far_partners(names, [stamps, stamps[rng.random(200) < 0.7]], 0.02) == ""
    assert far_partners(names, [np.r_[stamps[:50], stamps[90:]], stamps[40:]], 0.02) == ""
    assert far_partners(names, [stamps, 9 + stamps], 0.02) == ""
    assert far_partners(names, [stamps, []], 0.02) == ""
    assert far_partners(names, [stamps, stamps[::2] + 0.024], 0.02) == (
        "100 of 100 messages on /b are more than 0.02 s from the nearest one on /a (0.024 s), and "
        "have no partner: try --sync-tolerance 0.025"
    )


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """A cube that moves with a tool, with stamps that are 0.024 s later, and uneven."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((219, 3))
    places = np.apply_along_axis(np.convolve, 0, noise, np.hanning(20), "valid").cumsum(axis=0)
    messages = []
    for i, place in enumerate(places):
        for topic, late in (("/tool", 0.0), ("/cube", 0.024)):
            time = 10**18 + i * STEP + round(1e9 * (late + rng.uniform(-0.004, 0.004)))
            messages.append((topic, time, pose(time, np.r_[0.01 * place, 1, 0, 0, 0])))
    return write_bag(tmp_path_factory.mktemp("shifted") / "bag", messages)


def compare(path, *options):
    topics = "--topic /tool --field pose.position --with-topic /cube --with-field pose.position"
    few = f"{topics} --window 32 --every 40 --delay 10 --threads 1"
    return ["bag", path, *few.split(), *options]


def test_topics_half_a_step_apart(shifted, capsys):
    """The text names the tolerance that pairs them, and lags need no other one."""
    error = complaint(capsys, *compare(shifted))
    assert "messages on /tool are more than 0.02 s from the nearest one on /cube" in error
    remedy = "--sync-tolerance 0.027"
    assert f"try {remedy}. Messages: " in error and "shorter window" not in error
    assert "Notice: " not in printed(capsys, *compare(shifted, *remedy.split(), "--lags", 0.5))
    text = printed(capsys, *compare(shifted, "--sync-tolerance", 0.022, "--lags", 0.5))
    assert "0.022 s from the nearest one on /cube" in text and "Notice: " in text
    row = next(line for line in text.splitlines() if line.startswith("  velocity"))
    assert -0.06 < float(row.split()[2]) < 0 and "over 10 s of the recording" in text


def test_a_topic_that_does_not_move(path, capsys):
    topics = "--topic /object --field pose.position --with-topic /wrench --with-field wrench.torque"
    few = f"{topics} --window 40 --every 20 --delay 10 --threads 1 --lags 0.5"
    row = printed(capsys, "bag", path, *few.split()).split("p, for 21 lags\n")[1].splitlines()[0]
    assert row.split(maxsplit=3) == ["velocity", "force", "none", "both move near 0 steps only"]


CARRIED = [(0, 0, 1), (0, 3, -1), (3e-4, 0, -1), (3e-4, 3, 1)]  # each two of them in each pair


@pytest.mark.parametrize(("noise", "late", "order"), CARRIED)
def test_a_carried_cube_follows_the_tool(noise, late, order):
    """In eight demonstrations, `late` steps after it; in both orders, in spite of long rests."""
    rng = np.random.default_rng(0)
    parts = [part + noise * rng.standard_normal(part.shape) for part in pickcube()[0][:8]]
    tool = [np.diff(part[late:, 18:21], axis=0) for part in parts]
    cube = [np.diff(part[: len(part) - late, 28:31], axis=0) for part in parts]
    x, y, steps = moving(*[tool, cube][::order], 10)
    assert 32 < steps == sum(len(part) - 10 for part in x) < 0.6 * sum(map(len, cube))
    found = lag_scan(x, y, range(-10, 11), Estimator(slices=10, threads=1))
    low, high = found.interval
    assert low - 0.1 <= order * late <= high + 0.1 and high - low < 0.6 and significant(found)


def test_independent_smooth_motions():
    """`benchmarks/lags.py` has 60 pairs."""
    noise = np.random.default_rng(0).standard_normal((2, 619, 3))
    x, y = ([np.apply_along_axis(np.convolve, 0, side, np.hanning(20), "valid")] for side in noise)
    found = lag_scan(*moving(x, y, 10)[:2], range(-10, 11), Estimator(slices=10, threads=1))
    assert not significant(found)


def test_forces_that_drift_are_recognised():
    rng = np.random.default_rng(0)
    for _ in range(20):
        walks = rng.standard_normal((2, 600, 3)).cumsum(axis=1)
        assert independent_pairs(walks[:1], walks[1:]) < INDEPENDENT
        forces = np.diff(walks[:, ::2], axis=1)
        assert independent_pairs(forces[:1], forces[1:]) > 5 * INDEPENDENT
        assert independent_pairs(walks[:1, :299], forces[1:]) > 5 * INDEPENDENT


@pytest.mark.parametrize("significant", [False, True])
@pytest.mark.parametrize("end", [False, True])
def test_the_largest_value_at_an_end(capsys, significant, end):
    """Beyond it may be the lag that makes a dependence significant."""
    scan = {
        "quantities": ("force", "force"), "significant": significant, "best": 0.1,
        "interval": [0.0, 0.1], "mi": [0.1, 0.2, 0.3] if end else [0.1, 0.3, 0.2],
        "stderr": 3 * [0.1], "p_adjusted": 3 * [0.3], "at_least": [None, None, 3.47],
        "top": 2 if end else 1,
    }  # fmt: skip
    lags = {"scans": [scan], "seconds": 0.1, "step": 0.1, "span": 9.0}
    bag_text._print_lags({"lags": lags, "topics": [{"name": "/a"}, {"name": "/b"}]})
    text = capsys.readouterr().out
    assert ("at an end: try longer --lags" in text) == end
    assert ("above 3.4" in text, "0.300 ± 0.100" in text) == (end, not end)
