"""Policies without a simulator: training data, duration of training, and the page."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
import torch

from benchmarks.policies import arms, page
from benchmarks.policies.page import p_value, wilson
from benchmarks.policies.policy import JOINTS, SLOTS, Settings
from benchmarks.policies.train import targets, train
from infoatlas_tools.generation.sources import Sources

ARMS = [name for name in arms.ARMS if "localiser" not in name]  # the localiser has separate tests
SMALL = Settings(
    steps=100, batch=64, width=32, chunk=4, executed=2, history=2, noise=0.0, rate=5e-3
)


@pytest.fixture(scope="module")
def demos():
    """Arms that move by a tenth of the way to the target in the last columns at each step."""
    rng = np.random.default_rng(0)
    states, actions = [], []
    for _ in range(12):
        goal = rng.standard_normal(JOINTS)
        joints = rng.standard_normal(JOINTS)
        for t in range(20):
            target = joints + 0.1 * (goal - joints)
            states.append([*joints, *goal, 1.0])
            actions.append([*target, 1.0 if t < 10 else -1.0])
            joints = target
    names = tuple(map(str, range(2 * JOINTS + 1)))
    states, actions = np.array(states, np.float32), np.array(actions, np.float32)
    return Sources(states, actions, np.full(12, 20), names, np.arange(12))


def test_coming_key_states():
    few = Sources(np.zeros((9, 1)), np.zeros((9, 8)), np.array([5, 4]), ("a",), np.arange(2))
    rows, coming = targets(few, np.array([[1.0, 3.0], [2.0, np.nan]]))
    assert rows.shape == coming.shape == (9, SLOTS)
    assert rows[:5, :3].tolist() == [[1, 3, 4]] * 5
    assert coming[:5, 0].tolist() == [True, True, False, False, False]
    assert rows[5:, [0, 2]].tolist() == [[7, 8]] * 4  # own steps, in a table with the rows of all
    assert not coming[5:, 1].any() and coming[5:, 2].all()  # none follows; the end
    assert not coming[:, 3:].any()
    assert not targets(few, None)[1].any()


def test_a_policy_learns_the_way(demos):
    policy = train(demos, None, SMALL, 0)
    chunk = policy.act(list(demos.states[20:24]))
    assert chunk.shape == (4, JOINTS + 1)
    still = np.abs(demos.states[23, :JOINTS] - demos.actions[23, :JOINTS]).mean()
    assert np.abs(chunk[0, :JOINTS] - demos.actions[23, :JOINTS]).mean() < 0.3 * still
    assert chunk[0, JOINTS] == 1.0


def test_arms_differ_in_the_key_states_alone(demos):
    none, again, with_end = (
        train(demos, steps, replace(SMALL, weight=1.0), 3)
        for steps in (None, None, np.empty((12, 0)))
    )
    for one, other in zip(none.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [p.shape for p in none.parameters()] == [p.shape for p in with_end.parameters()]
    pair = with_end.standardise(torch.as_tensor(demos.states[[5, 3]]))
    ends = with_end.standardise(torch.as_tensor(demos.states[[19]]))[0]
    error = {
        name: float((policy(pair[:1], pair[1:])[1][0, 0] - ends).square().mean().detach())
        for name, policy in (("none", none), ("end", with_end))
    }
    assert error["end"] < 0.2 * error["none"]


def test_rates():
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert p_value(50, 50, 100, 100) == pytest.approx(1.0)
    assert p_value(60, 40, 100, 100) == pytest.approx(2 * NormalDist().cdf(-(0.2 / np.sqrt(0.005))))
    assert p_value(0, 0, 10, 10) == 1.0


def runs(**rates):
    rng = np.random.default_rng(0)
    costs = {"train_cpu_seconds": 60.0, "evaluate_cpu_seconds": 30.0, "wall_seconds": 100.0}
    costs |= {"demonstrations": 300, "limit": 150, "settings": Settings().__dict__}
    return [
        {
            "task": "pick",
            "arm": arm,
            "seed": seed,
            **{kind: (rng.permutation(100) < 100 * rate).tolist() for kind in page.KINDS},
            **costs,
        }
        for arm, rate in rates.items()
        for seed in range(3)
    ]


def test_page():
    about = {"date": "2026-11-23", "command": "this", "machine": {"cpu": "a CPU"}}
    done = runs(none=0.5, helps=0.8, same=0.52)
    rows = page.summarise(done)
    others = page.differences(rows)
    text = page.text(about, done, rows, others, ["StackCube: none"])
    assert "Not run yet: StackCube: none." in text
    assert "| helps | 80.0 (75 to 84; 80, 80, 80) |" in text
    assert "helps (seen, +30.0)" in text and "same (" not in text
    alike = [one for one in others if one["arm"] == "same"]
    assert "does not show that key states help" in page.verdict(alike)
    assert page.differences(page.summarise(runs(helps=0.8))) == []  # nothing to compare with


def test_arms_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    lengths = np.array([40, 45, 50, 42, 47, 44])
    names = [f"joint{i}.position" for i in range(1, 4)] + ["finger1.position"]
    goals = rng.standard_normal((8, 4))  # of all demonstrations, at their pace
    at = np.concatenate([np.linspace(0, 7, n) for n in lengths])
    path = np.stack([np.interp(at, np.arange(8), goal) for goal in goals.T], axis=1)
    states = (path + 0.01 * rng.standard_normal(path.shape)).astype(np.float32)
    grasped = np.concatenate([np.arange(n) >= 20 for n in lengths])
    about = {"names": names, "seeds": np.arange(6), "is_grasped": grasped}
    np.savez(tmp_path / "pick.npz", states=states, lengths=lengths, **about)
    with np.load(arms.write("pick", tmp_path, ARMS)) as file:
        steps = {name: file[name] for name in file.files}
    assert set(steps) == set(ARMS) and steps[arms.NONE].size == 0
    assert steps["simulator's flags"].tolist() == [[20.0]] * 6
    assert steps["key states"].shape == steps["evenly spaced"].shape == (6, 5)
    assert (steps["evenly spaced"] < lengths[:, None]).all()
