"""LeRobot data sets, read."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from infoatlas_rt import InputError, load_trajectories
from lerobot_sets import write_lerobot
from regimes import demonstrations

VERSIONS = ("v2.1", "v3.0")
NAMES = {"motors": ["x", "y", "z", "a", "b", "c"]}  # in one of the forms that data sets have


@pytest.fixture(scope="module")
def states():
    return [s.astype(np.float32) for s in demonstrations(count=12, seed=1)[0]]


@pytest.fixture(scope="module", params=VERSIONS)
def folder(request, states, tmp_path_factory):
    path = tmp_path_factory.mktemp("lerobot") / "set"
    return write_lerobot(path, states, request.param, NAMES, per_file=5)


def test_episodes_come_out_as_they_went_in(folder, states):
    found = load_trajectories(folder)
    np.testing.assert_array_equal(found.states, np.concatenate(states))
    np.testing.assert_array_equal(found.lengths, list(map(len, states)))
    assert found.names[:2] == ("observation.state.x", "observation.state.y")
    both = load_trajectories(folder, features=["observation.state", "action"])
    assert both.states.shape[1] == 8 and both.names[-1] == "action.1"


def test_the_order_of_files_and_rows_does_not_matter(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states, "v3.0", None, per_file=3)
    files = sorted((folder / "data" / "chunk-000").iterdir())
    first, last = (pq.read_table(file) for file in (files[0], files[-1]))
    pq.write_table(first.take(np.random.default_rng(0).permutation(len(first))), files[-1])
    pq.write_table(last, files[0])
    found = load_trajectories(folder)
    np.testing.assert_array_equal(found.states, np.concatenate(states))
    assert found.names[5] == "observation.state.5"


def change_info(folder, **values):
    path = folder / "meta" / "info.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("fps", "rate"), [(30, 30.0), (29.97, 29.97), (None, None), (0, None), (-5, None)]
)
def test_the_rate_is_that_of_the_frames(states, tmp_path, fps, rate):
    folder = write_lerobot(tmp_path / "set", states[:2], "v3.0", None)
    assert load_trajectories(folder).rate == 20.0  # as lerobot_sets.py writes it
    change_info(folder, fps=fps)
    assert load_trajectories(folder).rate == rate


@pytest.mark.parametrize("fps", ["30", True, [30], {}, float("nan"), float("inf"), 10**400])
def test_a_rate_that_is_no_number_is_unknown(states, tmp_path, fps):
    folder = write_lerobot(tmp_path / "set", states[:2], "v2.1", None)
    change_info(folder, fps=fps)
    assert load_trajectories(folder).rate is None
    info = json.loads((folder / "meta" / "info.json").read_text())
    del info["fps"]
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    assert load_trajectories(folder, features=["timestamp"]).rate is None


def test_what_cannot_be_read(states, tmp_path, monkeypatch):
    folder = write_lerobot(tmp_path / "set", states, "v3.0", None)
    with pytest.raises(InputError, match=r"no feature observation\.force: pass some of action"):
        load_trajectories(folder, features=["observation.force"])
    last = sorted((folder / "data" / "chunk-000").iterdir())[-1]
    content = last.read_bytes()
    last.unlink()
    with pytest.raises(InputError, match=r"data/ has 10 episodes.* meta/ has 12"):
        load_trajectories(folder)
    last.write_bytes(content[:-100])
    with pytest.raises(InputError, match="cannot be read"):
        load_trajectories(folder)
    pq.write_table(pq.read_table(sorted(last.parent.iterdir())[0]).drop_columns(["action"]), last)
    with pytest.raises(InputError, match="has no column action"):
        load_trajectories(folder, features=["action"])
    change_info(folder, codebase_version="v1.6")
    with pytest.raises(InputError, match=r"version v1\.6: convert it"):
        load_trajectories(folder)
    (folder / "meta" / "info.json").write_text("{")
    with pytest.raises(InputError, match="no LeRobot data set"):
        load_trajectories(folder)


def test_without_pyarrow(folder, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match=r"pip install 'infoatlas-rt\[datasets\]'"):
        load_trajectories(folder)


def test_rows_of_different_lengths(states, tmp_path):
    import pyarrow as pa

    folder = write_lerobot(tmp_path / "set", states[:2], "v2.1", None)
    file = folder / "data" / "chunk-000" / "episode_000001.parquet"
    table = pq.read_table(file)
    rows = table["observation.state"].to_pylist()
    for broken, match in (([1.0], "different lengths"), ([None] * 6, "missing values")):
        column = pa.array([broken, *rows[1:]], pa.list_(pa.float32()))
        pq.write_table(table.set_column(0, "observation.state", column), file)
        with pytest.raises(InputError, match=match):
            load_trajectories(folder)
