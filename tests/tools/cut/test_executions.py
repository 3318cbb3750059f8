"""Executions that one recording contains are found, and only those."""

import json
from dataclasses import replace

import numpy as np
import pytest

from infoatlas_tools import Trajectories, load_trajectories
from infoatlas_tools.cut.executions import find_executions, read_cuts
from infoatlas_tools.plots.cut_plot import cut_figure
from joined_executions import RATE, STACK, recording
from refusals import refuses


@pytest.mark.parametrize(
    ("options", "which", "remark"),
    [
        ({}, None, ""),
        ({"rest": 0.0}, None, ""),
        ({"retried": 2}, 2, "again gripper closes, gripper opens"),
        ({"count": 8, "last": 0.45}, 7, "cut off?; lacks gripper opens"),
    ],
)
def test_executions_are_those_that_were_joined(options, which, remark):
    given, truth = recording(**options)
    found = find_executions(given).executions
    assert [own.remark for own in found] == [remark * (k == which) for k in range(len(truth))]
    slack = RATE * (1 + options.get("rest", 2.0) / 2)  # anywhere in a rest
    for own, (start, end) in zip(found, truth, strict=True):
        assert start - slack <= own.start <= start + 1.5 * RATE
        assert end - 1.5 * RATE <= own.end <= end + slack


def test_an_execution_of_two_similar_parts_is_one():
    rng, t = np.random.default_rng(0), np.linspace(0, 2 * np.pi, 60)[:, None]
    way = [1 - np.cos(t), np.sin(t), np.sin(2 * t)]
    parts = [np.hstack([*way[:2], way[2] + side * np.sin(t / 2)]) for side in (0.3, -0.3)]
    rows = [np.pad(own * rng.uniform(0.9, 1.1), ((0, 20), (0, 0))) for own in parts * 8]
    states = np.concatenate(rows) + rng.normal(0, 0.01, (1280, 3))
    found = find_executions(Trajectories([states], rate=20)).executions
    assert [round(own.start / 160) for own in found] == [*range(8)]


def test_what_does_not_repeat_is_one_execution():
    walk = np.random.default_rng(0).normal(size=(2000, 4)).cumsum(axis=0)
    walk[:, 3] = np.arange(2000) // 100 % 2
    # Some parts of a walk are similar by chance.
    other = Trajectories([np.random.default_rng(10).normal(size=(2500, 4)).cumsum(axis=0)], rate=20)
    assert len(find_executions(other).executions) == 1
    for given, why in ((Trajectories([walk]), "Mark one"), (load_trajectories(STACK), "repeats")):
        cuts = find_executions(given)
        assert [own.end - own.start for own in cuts.executions] == given.lengths.tolist()
        assert why in cuts.notes[-1]
    refuses("b: its 9 steps", find_executions, Trajectories([walk[:9] * 0], episodes=("b",)))


def test_a_marked_execution_is_kept_exactly():
    given, truth = recording()
    start, end = (truth[2] + [7, -5]).tolist()
    own = find_executions(given, labels={0: {"start": start, "end": end}}).executions
    assert len(own) == 5 and (own[2].start, own[2].end) == (start, end)
    last = len(given.states) - 1
    own = find_executions(given, labels={0: {"start": last - 150, "end": last}}).executions
    assert (own[-1].start, own[-1].end) == (last - 150, last + 1)  # the last step, too
    refuses("start and end", find_executions, given, labels={0: {"grasp": 3}})


def test_the_list_is_read_again_and_gives_the_executions(tmp_path):
    given, _ = recording()
    cuts, file = find_executions(given), tmp_path / "cuts.json"
    file.write_text(json.dumps(cuts.to_dict()))
    assert read_cuts(file) == cuts
    demos = cuts.apply(given)
    for own, part in zip(cuts.executions, demos.split(), strict=True):
        assert np.array_equal(part, given.states[own.start : own.end])
    assert sum(b - a for _, a, b in cuts.left_out) + demos.lengths.sum() == len(given.states)
    refuses("the data are others", cuts.apply, Trajectories([given.states[1:]]))
    other = replace(cuts, lengths={"1": 2, "0": len(given.states)})  # another order
    refuses("the data are others", other.apply, Trajectories([given.states, given.states[:2]]))
    file.write_text("{}")
    refuses("no list of executions", read_cuts, file)
    figure = cut_figure(replace(cuts, executions=cuts.executions[:1] * 61), given)
    assert "the first 60" in " ".join(text.get_text() for text in figure.texts)
