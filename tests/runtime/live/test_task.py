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


# Values of each key that are refused, by its place in the file.
DAMAGED = {
    (): {"format": [7], "keystates": [["first"]], "columns": [["x"]], "detectors": [None]},
    ("detectors", "timing"): {"stride": [0], "rate": [-1], "frequency": [0]},
    ("detectors", "stream"): {
        "stamps_for_rate": [1], "stamps_kept": [9], "usual": [[0.5]], "same": [None],
        "averaged": [0],
    },
    ("detectors",): {
        "offset": [[]], "followed": [[True]], "threshold": [[None, None]], "gap": [0], "rise": [0],
        "once": [[True]], "earliest": [[[0]], [[0], [-1]]], "coefficients": [[[1.0], [2.0]]],
    },
    ("detectors", "features"): {
        "columns": [[99]], "windows": [[[0, 2]], []], "scale": [[0.0] * 6], "weight": [["x"] * 6],
        "clip": [0], "fewest": [-1],
    },
    ("detectors", "coordinates"): {
        "width": [0, 2], "parts": [[[-1, 99]], [[-1, 0]] * 6, []],
        "groups": [[{"kind": "quaternion", "columns": [3, 4, 5], "turn": 6.28}],
                   [{"kind": "pose", "columns": [3], "turn": 6.28}]],
    },
    ("subtasks", "tools", 0): {"usual": [[1.0, 0.0, 1.0]], "right": [[1.0]], "followed": [[True]]},
    ("subtasks", "tools", 0, "model"): {
        "bins": [[8, 0, 8]], "means": [[[1.0]]], "pairs": [[[0, 1, 2, 3, 4, 99]]], "back": [0],
        "before": [[0.0, 1.0]], "start": [[0.0] * 24], "end": [[0.0]], "moves": [[[0, 99]]],
        "probabilities": [[0.5]], "anywhere": [1],
        **{key: [0] for key in ("temper", "certain", "near", "cap", "clip", "resolution")},
    },
    ("outcome",): {"near": [None], "wait": [-1], "grippers": [[{}]]},
    ("subtasks",): {"stalled": [0], "tools": [[]], "parts": [[]]},
    ("subtasks", "parts", 0): {"grip": [""]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [(where, k, v) for where, keys in DAMAGED.items() for k, own in keys.items() for v in own],
)
def test_a_damaged_file_is_refused(task, tmp_path, where, key, value):
    path = tmp_path / "task.json"
    task.save(path)
    at = values = json.loads(path.read_text())
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
