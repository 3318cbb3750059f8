"""Short generation in the simulator, and its files."""

import h5py
import numpy as np
import pytest

from infoatlas_tools import Subtasks, load_trajectories
from infoatlas_tools.generation import collect as collecting
from infoatlas_tools.generation.engine import FIRST_SEED, SEEDS, generate
from infoatlas_tools.generation.scene import Scene
from infoatlas_tools.generation.sources import poses, read_sources
from infoatlas_tools.generation.tasks import FLAG_AT, TASKS
from infoatlas_tools.keystates.subtasks.subtask_results import Subtask
from refusals import refuses

TASK = "PickCube-v1"


@pytest.fixture(scope="module")
def scene():
    found = Scene(TASK)
    yield found
    found.close()


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    return collecting.collect(TASK, 3, tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def sources(collected):
    return read_sources(collected)


@pytest.fixture(scope="module")
def parts(collected, sources):
    """Parts by the flag of the simulator: the grasp, and the rest."""
    with np.load(collected) as file:
        grasped = np.split(file["grasped_cube"], sources.bounds[1:-1])
    cut = np.array([np.argmax(own) + 7 for own in grasped])
    return Subtasks(
        (
            Subtask(
                "tool", np.zeros(3, np.int64), cut, reference="cube", orientation="quarter turns"
            ),
            Subtask("tool", cut, sources.lengths, reference="goal", held="cube"),
        ),
        sources.lengths,
    )


@pytest.fixture(scope="module")
def generated(scene, sources, parts):
    return generate(TASK, sources, parts, 6, scene=scene)


@pytest.mark.parametrize("task", TASKS)
def test_states_are_those_of_the_environment(task):
    scene = Scene(task)
    scene.reset(seed=3)
    action = np.append(scene.states[0][:7], 1.0)
    for _ in range(3):
        action[:7] += 0.02
        scene.step(action)
    seen = scene.env.unwrapped.get_obs(scene.env.unwrapped.get_info())[0].numpy()
    if scene.task.flag:
        seen = np.delete(seen, FLAG_AT)
    np.testing.assert_allclose(scene.states[-1], seen, atol=1e-6)
    assert len(scene.names) == len(seen)
    for kind, members in scene.env.unwrapped.get_state_dict().items():
        for name, values in members.items():
            np.testing.assert_array_equal(
                scene.simulator[-1][f"{kind}/{name}"], values[0].numpy(), err_msg=name
            )
    for name in scene.task.objects:
        poses(scene.states[-1], scene.names, name)
    scene.close()


def test_most_attempts_succeed(generated, sources):
    assert generated.successes.sum() >= 5
    assert len(generated.lengths) == generated.successes.sum() == len(generated.seeds)
    assert generated.names == sources.names
    assert generated.states.shape == (generated.lengths.sum(), 41)
    assert generated.actions.shape == (generated.lengths.sum(), 8)
    expected = FIRST_SEED + np.flatnonzero(generated.successes)
    np.testing.assert_array_equal(generated.seeds, expected)
    ends = np.cumsum(generated.lengths) - 1
    cube, goal = (poses(generated.states[ends], generated.names, n) for n in ("cube", "goal"))
    assert np.linalg.norm((cube - goal)[:, :3, 3], axis=1).max() < 0.025
    starts = poses(generated.states[ends - generated.lengths + 1], generated.names, "cube")
    assert np.ptp(starts[:, :2, 3], axis=0).min() > 0.02


def test_same_seed_same_attempts_and_another_seed_others(scene, sources, parts, generated):
    again = generate(TASK, sources, parts, 6, scene=scene)
    np.testing.assert_allclose(again.states, generated.states, atol=0.02)
    other = generate(TASK, sources, parts, 1, seed=2, scene=scene)
    assert set(other.seeds) <= {FIRST_SEED + 2 * SEEDS}


def test_without_cuts_nothing_is_placed(scene, sources):
    """The goal has moved, but the demonstration is only transformed with the cube."""
    assert generate(TASK, sources, None, 6, scene=scene).successes.sum() <= 1


def test_noise_is_executed_and_not_recorded(scene, sources, parts, generated):
    noisy = generate(TASK, sources, parts, 1, noise=0.02, scene=scene)
    first = slice(0, 8)
    if noisy.successes[0] and generated.successes[0]:
        np.testing.assert_allclose(noisy.actions[first], generated.actions[first], atol=0.02)
    assert not np.allclose(scene.states[5][:7], generated.states[5][:7], atol=1e-4)


def test_an_episode_begins_anew_from_what_is_written(generated, scene):
    """States of the simulator are those of the environment: setting one gives the same state."""
    row = int(generated.lengths[0]) - 5
    nested = {"actors": {}, "articulations": {}}
    for name, values in generated.simulator.items():
        kind, body = name.split("/")
        nested[kind][body] = values[row][None]
    scene.reset(seed=1)
    scene.env.unwrapped.set_state_dict(nested)
    scene._keep()
    columns = [generated.names.index(f"cube.{axis}") for axis in "xyz"]
    np.testing.assert_allclose(scene.states[-1][columns], generated.states[row, columns], atol=1e-6)


def test_recorded_by_the_example(demonstrations, tmp_path):
    """trajectory.h5 of collect.py, by its observations or by the states of the simulator."""
    read = read_sources(demonstrations)
    assert read.names[18:21] == ("tool.x", "tool.y", "tool.z")
    assert read.names[25:28] == ("goal.x", "goal.y", "goal.z")
    np.testing.assert_array_equal(read.seeds, np.arange(10))
    alone = tmp_path / "alone.h5"
    with h5py.File(demonstrations) as file, h5py.File(alone, "w") as copy:
        for name in file:
            file.copy(name, copy)
            del copy[name]["obs"]
    simulated = read_sources(alone)
    for body in ("tool", "cube"):
        np.testing.assert_allclose(
            poses(simulated.states, simulated.names, body),
            poses(read.states, read.names, body),
            atol=1e-5,
        )


def test_the_script(demonstrations, example, tmp_path, capsys):
    arguments = ("--attempts", "4", "--out", tmp_path / "out")
    example("generate.py", TASK, demonstrations, *arguments)
    assert "of 4 attempts succeeded" in capsys.readouterr().out
    assert load_trajectories(tmp_path / "out" / "trajectory.h5").rate == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attempts": 0}, "attempts=0: choose 1 to 10000"),
        ({"noise": -1.0}, "noise=-1.0: it is a standard deviation"),
        ({"smooth": 2}, "smooth=2: average over an odd number"),
        ({"task": "Pick"}, "there is no task Pick"),
    ],
)
def test_refused_arguments(sources, parts, change, message):
    given = {"task": TASK, "attempts": 1, **change}
    refuses(message, generate, given.pop("task"), sources, parts, given.pop("attempts"), **given)


def test_refused_parts(sources, parts):
    first, second = parts.parts
    other = Subtasks(parts.parts, parts.lengths + 1)
    refuses("find them in the same demonstrations", generate, TASK, sources, other, 1)
    unnamed = Subtasks((Subtask("tool", first.start, second.end),), parts.lengths)
    refuses("has no reference object", generate, TASK, sources, unnamed, 1)
    foreign = Subtasks(
        (Subtask("tool", first.start, second.end, reference="mug", orientation="pose"),),
        parts.lengths,
    )
    refuses("no pose of mug: there are tool, goal, cube", generate, TASK, sources, foreign, 1)
    two = Subtasks(
        (first, Subtask("left", second.start, second.end, reference="goal")), parts.lengths
    )
    refuses("sub-tasks of 2 tools", generate, TASK, sources, two, 1)
