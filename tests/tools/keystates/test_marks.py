"""Marks of a person: their file, and that they win over what is found."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hdf5_sets import write_aloha_folder, write_d4rl, write_mimicgen, write_minari, write_robosuite
from infoatlas_rt import InputError
from infoatlas_rt.errors import OutputError
from infoatlas_tools import Position, Trajectories, discover_keystates, load_trajectories
from infoatlas_tools.keystates.labels import LACKS, as_labels
from infoatlas_tools.keystates.marks import Marks, placed_labels, read_labels, write_marks
from refusals import refuses

from .test_labels import RATE, demonstration

MADE = [demonstration(seed) for seed in range(8)]
GRASPS = [grasp for _, grasp in MADE]
NAMES = ("arm_1", "arm_2", "gripper.pos")
DEMOS = Trajectories(
    [states for states, _ in MADE],
    names=NAMES,
    rate=RATE,
    episodes=tuple(f"demo_{i}" for i in range(8)),
)
MARKS = Marks(("grasp", "lift"), {2: {"grasp": 100, "lift": 110}, 5: {"grasp": None}})


def test_marks_are_the_same_when_they_are_read_again(tmp_path):
    file = tmp_path / "labels.json"
    write_marks(file, MARKS, DEMOS)
    assert read_labels(file, DEMOS) == MARKS
    kept = json.loads(file.read_text())
    assert kept["episodes"]["demo_2"]["marks"]["grasp"] == {"step": 100, "seconds": 5.0}
    write_marks(file, Marks(("grasp",), {0: {"grasp": 3}, 1: {}}), DEMOS)
    assert read_labels(file, DEMOS) == Marks(("grasp",), {0: {"grasp": 3}})
    assert [path.name for path in tmp_path.iterdir()] == ["labels.json"]
    with pytest.raises(OutputError, match="cannot be written"):
        write_marks(tmp_path / "none" / "labels.json", MARKS, DEMOS)


def test_marks_never_land_on_other_data(tmp_path):
    file = tmp_path / "labels.json"
    write_marks(file, MARKS, DEMOS)
    with pytest.raises(InputError, match=r"no demonstration demo_2, but demo_0.*the options"):
        read_labels(file, Trajectories(DEMOS.split()[:2], episodes=("demo_0", "demo_1")))
    other = DEMOS.states.copy()
    other[DEMOS.lengths[:2].sum() + 4, 1] += 1e-3
    with pytest.raises(InputError, match=r"demonstration demo_2 differ.*--features"):
        read_labels(file, replace(DEMOS, states=other))
    moved = Trajectories(DEMOS.split()[::-1], episodes=DEMOS.episodes[::-1])
    assert read_labels(file, moved).steps[5]["lift"] == 110  # found by its name
    longer = [np.r_[s, s[-1:]] for s in DEMOS.split()]
    with pytest.raises(InputError, match=r"demo_2 has 181 steps, and had 180"):
        read_labels(file, Trajectories(longer, episodes=DEMOS.episodes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"kinds": ["a"], "episodes": {"demo_2": {}}}', r"cannot be read \('marks'\)"),
        ('{"a": 3}', "there is no demonstration a, but demo_0"),
        ('{"kinds": [], "episodes": {}}', "empty: mark key states"),
        ('{"kinds": ["a"], "episodes": {}}', "no demonstration has a label of 'a'"),
    ],
)
def test_files_that_cannot_be_used_are_refused(tmp_path, text, message):
    file = tmp_path / "labels.json"
    file.write_text(text)
    refuses(message, as_labels, file, DEMOS)


def test_steps_beyond_a_demonstration_are_refused(tmp_path):
    file = tmp_path / "labels.json"
    write_marks(file, MARKS, DEMOS)
    file.write_text(file.read_text().replace('"step": 110', '"step": 180'))
    refuses(r"'lift' of demo_2 is of no kind .* 180 steps", read_labels, file, DEMOS)


def test_a_persons_marks_win_over_what_is_found():
    wrong = GRASPS[3] - 40  # a person insists, far from the switch
    labels = {
        0: {"grasp": GRASPS[0], "lift": GRASPS[0] + 20},
        3: {"grasp": wrong},
        4: {"lift": None},
    }
    found = discover_keystates(DEMOS, labels=labels)
    steps, sure = found.steps, found.found.certainty
    assert [found.name(j) for j in range(2)] == ["grasp", "lift"]
    assert steps[3, 0] == wrong and steps[4, 1] is np.ma.masked
    assert (sure[[0, 0, 3, 4], [0, 1, 0, 1]] == 1).all()
    free = [(i, j) for i in range(8) for j in range(2) if sure[i, j] < 1]
    assert len(free) == 12 and (3, 1) in free and (4, 0) in free
    assert steps[4, 0] is not np.ma.masked and steps[3, 1] is not np.ma.masked
    # A mark of one kind says where the others are: after it, as in the complete demonstration.
    late = discover_keystates(DEMOS, labels=labels | {3: {"grasp": GRASPS[3] + 30}})
    assert late.steps[3, 1] > late.steps[3, 0] == GRASPS[3] + 30
    assert as_labels(labels, DEMOS)[0][4].tolist()[1] == LACKS


def test_sub_tasks_are_cut_where_a_person_marked():
    rng = np.random.default_rng(0)
    time, states, contact = np.arange(140)[:, None], [], rng.integers(60, 80, 12).tolist()
    for grasp in contact:
        cube, goal = rng.uniform(0, 0.4, (2, 3)) * [[1, 1, 0], [1, 1, 1]]
        reach, carry = np.clip([(time - 40) / (grasp - 40), (time - grasp) / 50], 0, 1)
        tool = (1 - reach) * [0.2, 0.2, 0.4] + reach * cube + carry * (goal - cube)
        held = np.where(time < grasp, cube, tool)
        states.append(np.c_[tool, held] + 1e-5 * rng.standard_normal((140, 6)))
    names = tuple(f"{body}.{axis}" for body in ("tool", "cube") for axis in "xyz")
    labels = {
        0: {"grip": contact[0] - 3},
        1: {"grip": contact[1] - 3},
        4: {"grip": contact[4] + 12},
    }
    found = discover_keystates(Trajectories(states, names=names, rate=20), labels=labels)
    subtasks = found.subtasks(Position("tool"), {"cube": Position("cube")})
    assert subtasks.names == ("reach cube", "move cube")
    off = subtasks.parts[0].end - contact
    assert off[[0, 1, 4]].tolist() == [-3, -3, 12] and np.abs(np.delete(off, 4) + 3).max() <= 2


def test_labels_of_one_demonstration_are_given_once():
    with pytest.raises(InputError, match="demonstration demo_5 is there twice"):
        placed_labels({"5": [4], "demo_5": [1]}, ("demo_5", "demo_7"))


SETS = {  # the data, a number, and the place of its demonstration; tests/fuzz has more
    "gaps": (lambda path: write_mimicgen(path / "a.hdf5"), {}, 10, 2),
    "mask": (lambda path: write_mimicgen(path / "a.hdf5"), {"split": "train"}, 10, 1),
    "from 1": (lambda path: write_robosuite(path / "a.hdf5"), {"features": ["states"]}, 1, 0),
    "ALOHA": (lambda path: write_aloha_folder(path / "a"), {}, 10, 2),
    "Minari": (lambda path: write_minari(path / "a"), {}, 10, 2),
    "D4RL": (lambda path: write_d4rl(path / "a.hdf5"), {}, 2, 2),
}


@pytest.mark.parametrize("name", SETS)
def test_a_number_is_that_of_the_file_and_no_place(name, tmp_path):
    write, options, number, place = SETS[name]
    found = load_trajectories(write(tmp_path), **options)
    (tmp_path / "labels.json").write_text(json.dumps({str(number): {"grasp": 4}}))
    for labels in (tmp_path / "labels.json", {str(number): {"grasp": 4}}):
        (column,) = as_labels(labels, found)[0].T
        assert np.flatnonzero(column == 4).tolist() == [place]
    refuses("there is no demonstration 99, but ", as_labels, {"99": {"grasp": 4}}, found)
