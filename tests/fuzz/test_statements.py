"""What data sets state of their episodes: numbers, tasks, success, rates; nothing is silent."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import REFUSED, chosen, folder, fuzzed, outcome
from fuzz.reading import read
from fuzz.test_lerobot_files import DataSet
from infoatlas_tools.episode_numbers import find_episode
from table_files import WRITERS

pytestmark = pytest.mark.filterwarnings("error")
TASKS = ("pick", "open the drawer", "7", "a_1")
NAMES = ("demo_{}", "demo_{:04}", "take2_{}", "{}", "{}_left", "2026-01-02_{}")


@st.composite
def episodes(draw: Any) -> dict[int, tuple[np.ndarray, str, bool | None, float]]:
    """States [T, 2], task, success and rate (Hz) by number."""
    numbers = draw(st.lists(st.integers(0, 120), min_size=1, max_size=6, unique=True))
    tasks = draw(chosen((("",), ("pick",), TASKS, TASKS)))
    flags = draw(chosen(((None,), (True, False), (False,), (True,))))
    rates = draw(chosen(((20.0,), (20.0,), (20.0, 25.0, 50.0))))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return {
        n: (
            rng.random((5 + n % 9, 2)).round(6),
            *(draw(chosen(own)) for own in (tasks, flags, rates)),
        )
        for n in sorted(numbers)
    }


def write_hdf5(path: Path, own: Any, name: str) -> Path:
    with h5py.File(path / "a.hdf5", "w") as file:
        for number, (states, task, flag, _) in own.items():
            group = file.create_group(name.format(number))
            group["obs/x"] = states
            if task:
                group.attrs["language_instruction"] = task
            if flag is not None:
                group["success"] = np.r_[np.zeros(len(states) - 2, bool), flag]
    return path / "a.hdf5"


def columns(states: np.ndarray, task: str, flag: bool | None, rate: float) -> dict[str, Any]:
    found = {"x": states[:, 0], "y": states[:, 1], "time_s": np.arange(len(states)) / rate}
    found |= {"task": [task] * len(states)} if task else {}
    return found | ({} if flag is None else {"success": [0] * (len(states) - 1) + [int(flag)]})


def write_table(path: Path, own: Any, name: str) -> Path:
    rows = [{"run": [name.format(n)] * len(one[0]), **columns(*one)} for n, one in own.items()]
    table = {key: np.concatenate([row[key] for row in rows]).tolist() for key in rows[0]}
    WRITERS[".csv"](path / "a.csv", table)
    return path / "a.csv"


def write_folder(path: Path, own: Any, name: str) -> Path:
    (path / "all").mkdir()
    for number, one in own.items():
        WRITERS[".csv"](path / "all" / f"{name.format(number)}.csv", columns(*one))
    return path / "all"


@fuzzed(100)
@given(st.data(), episodes(), chosen(("demos", "traj", "table", "folder", "LeRobot")))
def test_episodes_are_chosen_by_what_is_stated(data, own, kind):
    name = data.draw(chosen(NAMES)) if kind in ("table", "folder") else "{}"
    every = {one[1] for one in own.values()} - {""}
    task = data.draw(chosen((None, *every, "sing")))
    wanted = [n for n in own if task in (None, own[n][1])]
    good = [n for n in wanted if own[n][2]]
    expected = good or wanted
    with folder() as path:
        if kind == "LeRobot":
            made = DataSet(data.draw)
            made.restate(own)
            given = made.write(path / "set")
        else:
            write = {"table": write_table, "folder": write_folder}.get(kind, write_hdf5)
            name = {"demos": "data/demo_{}", "traj": "traj_{}"}.get(kind, name)
            given = write(path, own, name)
        found = read(given, **({} if task is None else {"task": task}))
    if found is REFUSED:
        assert task == "sing"
        return
    assert task != "sing"
    names = tuple(name.rpartition("/")[2].format(n) for n in expected)
    assert found.episodes == names
    for states, number in zip(found.split(), expected, strict=True):
        np.testing.assert_allclose(states[:, :2], own[number][0], 1e-6)
    notes = " ".join(found.notes)
    read_tasks = {own[n][1] for n in expected}
    assert (f"of {len(read_tasks)} tasks" in notes) == (len(read_tasks) > 1)
    assert not 0 < len(good) < len(wanted) or f"Left out: {len(wanted) - len(good)} of" in notes
    assert good or own[wanted[0]][2] is None or f"None of {len(wanted)} episodes" in notes
    if kind in ("table", "folder", "LeRobot"):
        timed = expected if kind == "LeRobot" else own
        rates = {own[n][3] for n in timed}
        if kind == "LeRobot":  # whose meta/ has the rate of the first episode
            rates.add(next(iter(own.values()))[3])
        assert found.rate == (pytest.approx(*rates, rel=1e-4) if len(rates) == 1 else None)
        said = ("of other rates", "No rate", "the rate is unknown")
        assert len(rates) == 1 or any(text in notes for text in said)
    for number in data.draw(st.permutations([*own]))[:2]:
        at = outcome(lambda number=number: find_episode(str(number), names))
        clear = number in expected and (len(names) > 1 or "2" not in name)
        assert at == (expected.index(number) if clear else REFUSED)


@fuzzed(60)
@given(
    st.integers(1, 12), st.integers(2, 12), st.booleans(), chosen((" ", ",")), chosen(("", ".5"))
)
def test_headers_in_comments_are_used_or_said(words, width, timed, separator, more):
    names = (["time"] if timed else []) + [f"n{i}" for i in range(words - timed)]
    rng = np.random.default_rng(words)
    rows = [[f"{i}.25", *(f"{v:.3f}" for v in rng.random(width - 1))] for i in range(9)]
    with folder() as path:
        lines = [f"# {separator.join(names)}", *(separator.join(row) for row in rows)]
        (path / "a.txt").write_text("\n".join(lines) + "\n")
        found = read(path / "a.txt", episode_column="none")
    if found is REFUSED:
        assert separator == "," and words != width
        return
    used = words == width or (words > width and timed)
    assert found.names == (tuple(n for n in names[:width] if n != "time") if used else ())
    assert words in (1, width) or any(
        f"has {words} words for {width} columns" in n for n in found.notes
    )
