"""Lags of two topics in a bag: forces, velocities and positions."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer

from infoatlas_rt.cli import main

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
from make_bag import STORE, TYPES, header, pose

STEP = 50_000_000
LATE = 4  # steps of 0.05 s


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A wrench that precedes the motion of an object by 0.2 s, and carries 2 nats about it."""
    rng = np.random.default_rng(0)
    steps = 400
    force = rng.standard_normal((steps, 3))
    speed = np.roll(force, LATE, axis=0) + 0.6 * rng.standard_normal((steps, 3))
    place = np.c_[0.02 * speed.cumsum(axis=0), np.tile([1.0, 0, 0, 0], (steps, 1))]
    path, kind = tmp_path_factory.mktemp("wrench") / "bag", "geometry_msgs/msg/WrenchStamped"
    vector = TYPES["geometry_msgs/msg/Vector3"]
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        poses = bag.add_connection("/object", "geometry_msgs/msg/PoseStamped", typestore=STORE)
        wrenches = bag.add_connection("/wrench", kind, typestore=STORE)
        for i in range(steps):
            time = 1_700_000_000 * 10**9 + i * STEP
            wrench = TYPES["geometry_msgs/msg/Wrench"](vector(*force[i]), vector(0.0, 0.0, 0.0))
            for topic, message in (
                (poses, pose(time, place[i])),
                (wrenches, TYPES[kind](header(time), wrench)),
            ):
                bag.write(topic, time, STORE.serialize_cdr(message, topic.msgtype))
    return path


def run(path, *options):
    topics = "--topic /object --field pose.position --with-topic /wrench --with-field wrench.force"
    few = f"{topics} --window 40 --every 20 --threads 1"
    return main.main(["bag", str(path), *few.split(), *map(str, options)])


def test_a_wrench_at_a_lag_is_reported(path, tmp_path, capsys):
    """Motions at equal times do not show it, and the text names the option that does."""
    assert run(path, "--start", 8) == 0
    text = capsys.readouterr().out
    assert "motions at equal times, over 32 steps; --lags 0.5 also compares forces" in text
    assert text.index("Coupling: ") < text.index("Extrema of the curve")
    target = tmp_path / "lags.json"
    assert run(path, "--lags", 0.5, "--json", target) == 0
    text = capsys.readouterr().out
    assert "positive if /wrench is ahead" in text and "p, for 21 lags" in text
    lags = json.loads(target.read_text())["lags"]
    scans = {tuple(scan["quantities"]): scan for scan in lags["scans"]}
    assert set(scans) == {("position", "force"), ("velocity", "force")}
    found = scans["velocity", "force"]
    low, high = found["interval"]
    assert low <= 0.2 <= high and abs(found["best"] - 0.2) < 0.02 and high - low < 0.1
    best = int(np.argmax(found["mi"]))
    assert found["mi"][best] > 1.5 and found["significant"]
    assert not scans["position", "force"]["significant"]
    row = next(line for line in text.splitlines() if line.startswith("  velocity"))
    assert "+0.200" in row
    assert found["lag"][0] == pytest.approx(-0.5) and lags["step"] == pytest.approx(0.05)


def test_the_table_has_all_rows(path, tmp_path):
    assert run(path, "--csv", tmp_path / "t.csv", "--json", tmp_path / "t.json") == 0
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
        (("--lags", 0.5, "--duration", 2.5), "and 32 are needed"),
        (("--lags", -1), "lags is -1"),
    ],
)
def test_lags_that_cannot_be_compared(path, capsys, options, why):
    assert run(path, *options) == 2
    assert why in capsys.readouterr().err


def test_lags_need_two_topics(path, capsys):
    command = ["bag", str(path), "--topic", "/object", "--lags", "0.5"]
    assert main.main(command) == 2
    assert "--lags compares two topics: give --with-topic too" in capsys.readouterr().err
