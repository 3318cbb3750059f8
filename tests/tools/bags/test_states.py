"""Bags with several bodies on a topic: one is chosen, or they are listed."""

import json
import re

import pytest

from infoatlas_rt.cli import main
from infoatlas_tools.bags.bag_curve import survey
from infoatlas_tools.bags.states import Bag
from recorded_bags import START, write_bag
from ros_messages import X, alternating, pose


def write(path, messages):
    return write_bag(path, [("/t", START + i * 10_000_000, m) for i, m in enumerate(messages)])


def run(capsys, path, *options):
    code = main.main(["bag", str(path), "--topic", "/t", *options, "--threads", "1"])
    return code, capsys.readouterr()


def test_a_bag_of_several_bodies_is_refused_with_their_names(tmp_path, capsys):
    path = write(tmp_path / "tf", alternating(60, ("cube", "tool0", "map")))
    names = (f"transforms[child_frame_id={name}] (60)" for name in ("cube", "tool0", "map"))
    holds = ".*".join(map(re.escape, names))
    for field, why in {
        "transforms[0].transform": "has several bodies, and a state is of one",
        "transforms.transform": "take one of transforms",
        "transforms[child_frame_id=tool].transform": "no message on /t is one of transforms",
    }.items():
        code, (out, error) = run(capsys, path, "--field", field)
        assert code == 2 and out == "" and error.count("\n") == 1
        assert re.search(f"{why}.*It has {holds}", error), error
    code, (out, _) = run(
        capsys, path, "--field", X, *"--window 40 --every 9 --slices 1 --json".split()
    )
    counts = json.loads(out)["counts"]
    assert code == 0 and counts["accepted"] == 60 and counts["not asked for"] == 120


def test_two_bodies_of_one_topic_are_a_pair(tmp_path, capsys):
    """Each message is used for both, so couplings of frames of one /tf can be detected."""
    path = write(tmp_path / "tf", alternating(60, ("cube", "tool0", "map")))
    fields = [X, X.replace("tool0", "cube")]
    few = "--window 40 --every 9 --slices 1 --json".split()
    code, (out, error) = run(
        capsys, path, "--field", fields[0], "--with-topic", "/t", "--with-field", fields[1], *few
    )
    assert code == 0, error
    found = json.loads(out)
    assert [topic["coordinates"] for topic in found["topics"]] == [[field] for field in fields]
    assert found["counts"]["paired"] == 60
    code, (_, error) = run(
        capsys, path, "--field", X, "--with-topic", "/t", "--with-field", X, *few
    )
    assert code == 2 and "with the same fields" in error


def test_the_interval_is_that_of_the_body_that_is_read(tmp_path):
    path = write(tmp_path / "tf", alternating(60, ("cube", "tool0", "map")))
    with Bag(path) as bag:
        step, states = survey(bag, "/t", bag.extractor("/t", [X]))
        assert states == pytest.approx(60) and step == pytest.approx(0.01, rel=1e-4)
    path = write(tmp_path / "pose", [pose("ab"[i % 2], i, i / 100) for i in range(100)])
    with Bag(path) as bag:
        every = survey(bag, "/t", bag.extractor("/t", ["[header.frame_id=*]"]))
        one = survey(bag, "/t", bag.extractor("/t", ["[header.frame_id=a]"]))
        assert (every[1], one[1]) == (100, 50) and one[0] == pytest.approx(2 * every[0], rel=1e-4)
