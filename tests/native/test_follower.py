"""The follower of libinfoatlas and `KeyStateTracker` report the same."""

import json
import math
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import random_tasks
from episodes import resampled
from follower import Follower, load
from infoatlas_rt import InputError, KeyStateTracker, Task
from library import PREFIX
from refusals import fails
from stream_cases import read

ROOT = Path(__file__).parents[2]
BOUND = 1e-9  # relative; 3e-14 is the largest difference that was seen


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The file of a task, and an episode."""
    case = read("recorded")
    return case.save(tmp_path_factory.mktemp("recorded")), np.array(case.states)


def same(python, own, where):
    """Whether values are equal; floats up to `BOUND`."""
    if isinstance(python, float):
        close = math.isclose(python, own, rel_tol=BOUND, abs_tol=0)
        assert close or (math.isnan(python) and math.isnan(own)), (where, python, own)
    else:
        assert python == own, (where, python, own)


def compare(trackers, states, stamps=None):
    """Push an episode into both."""
    python, own = trackers
    python.reset()
    own.reset()
    assert own.followed == python.followed.tolist()
    for t, state in enumerate(states):
        stamp = None if stamps is None else stamps[t]
        events, others = python.push(state, stamp), own.push(state, stamp)
        assert len(events) == len(others), t
        for event, other in zip(events, others, strict=True):
            for name in ("keystate", "step", "detected_step", "score"):
                same(getattr(event, name), other[name], (t, name))
            for name in ("stamp", "detected_stamp"):
                value = getattr(event, name)
                same(math.nan if value is None else value, other[name], (t, name))
            assert (event.subtask or "") == other["subtask"]
            assert other["name"] == python.task.keystates[event.keystate]
        for present, other in zip(python.subtask_states, own.subtask_states, strict=True):
            assert (present is None) == (other is None), t
            for name, value in vars(present).items() if present else ():
                same(value, other[name], (t, name))
        assert own.step == python.step
        for name, value in vars(python.outcome).items():
            same(value, own.outcome[name], (t, name))


def both(library, path, **options):
    return KeyStateTracker(path, **options), Follower(library, path, **options)


@pytest.mark.parametrize("seed", range(25))
def test_random_tasks(library, tmp_path, seed):
    rng = np.random.default_rng(seed)
    task = random_tasks.task(rng)
    path = tmp_path / "task.json"
    path.write_text(json.dumps(task))
    rate = task["detectors"]["timing"]["rate"]
    options = {"follow_all": bool(seed % 2)}
    if rate is not None and seed % 3:
        options["rate"] = rate * math.exp(rng.uniform(-2.5, 2.5))
    trackers = both(library, path, **options)
    for _ in range(3):
        states = random_tasks.stream(rng, task, int(rng.integers(5, 300)))
        stamps = np.cumsum(rng.exponential(0.02, len(states))).tolist() if seed % 5 else None
        compare(trackers, states, stamps)


def test_a_state_that_is_refused_changes_nothing(library, recorded):
    path, episode = recorded
    python, own = both(library, path)
    compare((python, own), episode[:30])
    lost = episode[30].copy()
    lost[3] = math.nan
    for state, message in ((lost, "state is nan at coordinate 3"), (lost[:5], "has 5 coordinates")):
        fails(RuntimeError, message, own.push, state)
    fails(RuntimeError, "stamp is infinite", own.push, episode[30], math.inf)
    for state in episode[30:]:
        assert len(own.push(state)) == len(python.push(state))
        same(python.subtask.progress, own.subtask(0)["progress"], "progress")
    fails(RuntimeError, "tool is 1, and there are 1", own.subtask, 1)


def test_rates_that_cannot_be_followed(library, recorded, tmp_path):
    path, episode = recorded
    for rate, message in ((-1, "has to be"), (math.inf, "has to be"), (0.1, "push more often")):
        fails(RuntimeError, message, Follower, library, path, rate=rate)
    slow = Follower(library, path)
    with pytest.raises(RuntimeError, match="push more often"):
        for t, state in enumerate(episode):
            slow.push(state, 10.0 * t)
    assert slow.step == 8
    values = json.loads(path.read_text())
    values["detectors"]["timing"]["rate"] = None
    (tmp_path / "task.json").write_text(json.dumps(values))
    with pytest.raises(RuntimeError, match="that of the demonstrations is unknown"):
        Follower(library, tmp_path / "task.json", rate=20)


def members(value, where=()):
    """All places of members in the values of a file; the first element stands for a list."""
    if isinstance(value, list):
        value = dict(enumerate(value[:1]))
    for key, one in value.items() if isinstance(value, dict) else ():
        yield (*where, key)
        yield from members(one, (*where, key))


def test_what_python_refuses_is_refused(library, recorded, tmp_path):
    path, changed = recorded[0], tmp_path / "task.json"
    text = path.read_text()
    for where in members(json.loads(text)):
        for value in (None, "x", -1, 1e6, [], {}, [None], "absent"):
            values = at = json.loads(text)
            for key in where[:-1]:
                at = at[key]
            at[where[-1]] = value
            if value == "absent":
                del at[where[-1]]
            changed.write_text(json.dumps(values))
            try:
                Task.load(changed)
            except InputError:
                with pytest.raises(RuntimeError, match=r"is no task file \(.*\): make one with"):
                    load(library, changed)


def test_texts_that_are_no_task(library, tmp_path):
    path = tmp_path / "task.json"
    cases = {
        b"": "no JSON at byte 0", b"[" * 100: "too many levels",
        b'{"a": 1, "a": 2}': "occurs twice", b"[1e999]": "beyond those of 64 bits",
        b"[01]": "no JSON at byte 2", b'["\\ud800"]': "no JSON", b"{} {}": "text after the end",
        b'["\xc3\xa9"]': "beyond ASCII", b"{}": '"format" is missing',
        b'{"format": 7}': "format: an integer from 8 to 8",
        b"[" + b"0," * 2**20: "more than a million values",
        b" " * (2**24 + 1): "larger than 16 MiB",
    }  # fmt: skip
    for content, message in cases.items():
        path.write_bytes(content)
        fails(RuntimeError, message, load, library, path)
    fails(RuntimeError, "cannot be opened: check the path", load, library, tmp_path / "none.json")


def test_followers_of_several_threads(library, recorded):
    path, episode = recorded

    def follow(_):
        own = Follower(library, path)
        before = own.info.bytes
        found = [(own.push(state, t / 20), own.subtask_states) for t, state in enumerate(episode)]
        assert own.info.bytes == before
        return found

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(follow, range(8))
    assert all(other == first for other in others)


def built(*command):
    """Output of a command that has to succeed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_the_example_of_an_installed_library(library, recorded, tmp_path):
    path, episode = recorded
    states = resampled(episode, 50)
    names = ",".join(Task.load(path).columns)
    np.savetxt(
        tmp_path / "states.csv", states, delimiter=",", header=names, comments="", fmt="%.17g"
    )
    source = ROOT / "examples" / "cpp"
    built("cmake", "-S", source, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={PREFIX}")
    built("cmake", "--build", tmp_path)
    printed = built(tmp_path / "follow", path, tmp_path / "states.csv", 1000, len(states), "free")
    tracker = KeyStateTracker(path, rate=1000)
    events = [e for t, state in enumerate(states) for e in tracker.push(state, t / 1000)]
    lines = printed.splitlines()
    assert len(lines) == len(events) + 3 and len(events) > 0
    for event, line in zip(events, lines, strict=False):
        name = tracker.task.keystates[event.keystate]
        assert line.startswith(f"{name} at {event.stamp:.3f} s, score {event.score:.2f}")
    assert f"{len(states)} pushes, microseconds: median" in printed


def test_damaged_files_and_memory_of_pushes(library, tmp_path):
    """More of them: make native-sanitize."""
    random_tasks.main(tmp_path)
    program, source = tmp_path / "fuzz_task", ROOT / "tests" / "native" / "fuzz_task.cpp"
    options = "-std=c++20", "-O1", f"-I{PREFIX}/include", f"-Wl,-rpath,{PREFIX}/lib"
    built("c++", *options, source, "-o", program, PREFIX / "lib/libinfoatlas.so")
    assert "nothing found" in built(program, 2, 1, *sorted(tmp_path.glob("task*.json")))
