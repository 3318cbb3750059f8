"""Files of tasks: complete, and refused if they are damaged."""

import json

import pytest

from episodes import TASKS
from infoatlas_rt import Task
from infoatlas_rt.live.json_file import plain
from refusals import refuses


@pytest.fixture(scope="module")
def task():
    return Task.load(TASKS / "labelled.json")


def test_a_loaded_task_is_the_same(task, tmp_path):
    task.save(tmp_path / "task.json")
    again = Task.load(tmp_path / "task.json")
    assert json.dumps(plain(again)) == json.dumps(plain(task))
    assert str(again) == str(task) and "key state 1 (first): followed" in str(task)
    assert again.keystates == ("first", "second")
    assert again.columns == ("tool.x", "tool.y", "tool.z", "cube.x", "cube.y", "cube.z")
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "task.json").read_text()


DETECTORS, FEATURES = ("detectors",), ("detectors", "features")
OUTCOME = ("outcome",)
COORDINATES, TOOL = ("detectors", "coordinates"), ("subtasks", "tools", 0)


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ((), "format", 7),
        ((), "keystates", ["first"]),
        ((), "columns", ["x"]),
        ((), "detectors", None),
        (("detectors", "timing"), "stride", 0),
        (("detectors", "timing"), "rate", -1),
        (("detectors", "timing"), "frequency", 0),
        (("detectors", "stream"), "stamps_for_rate", 1),
        (("detectors", "stream"), "stamps_kept", 9),
        (("detectors", "stream"), "usual", [0.5]),
        (("detectors", "stream"), "same", None),
        (("detectors", "stream"), "averaged", 0),
        (DETECTORS, "offset", []),
        (DETECTORS, "followed", [True]),
        (DETECTORS, "threshold", [None, None]),
        (DETECTORS, "gap", 0),
        (DETECTORS, "rise", 0),
        (DETECTORS, "once", [True]),
        (DETECTORS, "earliest", [[0]]),
        (DETECTORS, "earliest", [[0], [-1]]),
        (DETECTORS, "coefficients", [[1.0], [2.0]]),
        (FEATURES, "columns", [99]),
        (FEATURES, "windows", [[0, 2]]),
        (FEATURES, "windows", []),
        (FEATURES, "scale", [0.0] * 6),
        (FEATURES, "weight", ["x"] * 6),
        (FEATURES, "clip", 0),
        (FEATURES, "fewest", -1),
        (COORDINATES, "width", 0),
        (COORDINATES, "width", 2),
        (COORDINATES, "groups", [{"kind": "quaternion", "columns": [3, 4, 5], "turn": 6.28}]),
        (COORDINATES, "groups", [{"kind": "pose", "columns": [3], "turn": 6.28}]),
        (COORDINATES, "parts", [[-1, 99]]),
        (COORDINATES, "parts", [[-1, 0]] * 6),
        (COORDINATES, "parts", []),
        (TOOL, "usual", [1.0, 0.0, 1.0]),
        (TOOL, "right", [1.0]),
        ((*TOOL, "model"), "bins", [8, 0, 8]),
        ((*TOOL, "model"), "means", [[1.0]]),
        ((*TOOL, "model"), "pairs", [[0, 1, 2, 3, 4, 99]]),
        ((*TOOL, "model"), "back", 0),
        ((*TOOL, "model"), "before", [0.0, 1.0]),
        ((*TOOL, "model"), "start", [0.0] * 24),
        ((*TOOL, "model"), "moves", [[0, 99]]),
        ((*TOOL, "model"), "probabilities", [0.5]),
        ((*TOOL, "model"), "anywhere", 1),
        *(
            ((*TOOL, "model"), name, 0)
            for name in ("temper", "certain", "near", "cap", "clip", "resolution")
        ),
        (TOOL, "followed", [True]),
        (OUTCOME, "near", None),
        (OUTCOME, "wait", -1),
        (OUTCOME, "grippers", [{}]),
        ((*TOOL, "model"), "end", [0.0]),
        (("subtasks",), "stalled", 0),
        (("subtasks",), "tools", []),
        (("subtasks",), "parts", []),
        (("subtasks", "parts", 0), "grip", ""),
    ],
)
def test_a_damaged_file_is_refused(task, tmp_path, where, key, value):
    path = tmp_path / "task.json"
    task.save(path)
    values = json.loads(path.read_text())
    at = values
    for step in where:
        at = at[step]
    at[key] = value
    path.write_text(json.dumps(values))
    refuses(r"no task file.*--save", Task.load, path)
    at.pop(key)
    if key != "grip":
        path.write_text(json.dumps(values))
        refuses("no task file", Task.load, path)


def test_files_that_are_no_json(task, tmp_path):
    refuses("does not exist", Task.load, tmp_path / "none.json")
    (tmp_path / "a.json").write_text("[" * 100_000)
    refuses("no task file", Task.load, tmp_path / "a.json")
    refuses("cannot be written", task.save, tmp_path / "missing" / "a.json")
