"""The policy benchmark in the simulator, and the examples for training and evaluation."""

import json

import numpy as np
import pytest

from benchmarks.policies import demos, run


def test_examples(demonstrations, example, tmp_path, capsys):
    policy = tmp_path / "policy.pt"
    example("train.py", demonstrations, "--out", policy, "--steps", "30")
    example("evaluate.py", policy, "--episodes", "1", "--steps", "20")
    out = capsys.readouterr().out
    assert "step 29: actions" in out and "of 1 episodes succeed" in out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    demos.record("pick", 1, folder)
    demos.record("stack", 1, folder)
    return folder


@pytest.mark.parametrize("task", ["pick", "stack"])
def test_simulation_repeats_a_demonstration(folder, task):
    """The same bits, and success at the end."""
    with np.load(folder / f"{task}.npz") as file:
        data = {name: file[name] for name in file.files}
    scene = demos.scene(task)
    scene.reset(seed=int(data["seeds"][0]))
    for action in data["actions"][:-1]:
        scene.step(action)
    np.testing.assert_array_equal(scene.states, data["states"])
    assert list(scene.names) == data["names"].tolist()
    assert scene.success()


def test_runs_are_resumed(folder, monkeypatch, capsys):
    np.savez(folder / "pick.arms.npz", none=np.empty((0, 0)), even=np.array([[20.0]]))
    plan = {
        "tasks": {"pick": ["none", "even"]}, "settings": {"steps": 50, "batch": 16, "width": 16},
        "seeds": 1, "episodes": 1, "limit": {"pick": 10},
    }  # fmt: skip
    (folder / "plan.json").write_text(json.dumps(plan))
    monkeypatch.setattr("sys.argv", ["run", str(folder), str(folder / "plan.json")])
    run.main()
    assert "pick, even, seed 0" in capsys.readouterr().out
    row = json.loads((folder / "runs" / "pick-none-0.json").read_text())
    assert len(row["seen"]) == len(row["unseen"]) == 1 and row["limit"] == 10
    run.main()
    assert capsys.readouterr().out == ""  # nothing was missing
