"""What messages advise is done here, and has to work."""

import re

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infoatlas_rt.errors import InputError
from infoatlas_tools.bags.demonstrations import load_demonstrations
from infoatlas_tools.bags.states import Bag
from infoatlas_tools.files.load import load_samples, load_trajectories
from lerobot_sets import write_lerobot
from refusals import refuses

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
ROWS = np.random.default_rng(0).standard_normal((30, 3)).round(3)


def refused(path, **options):
    """The message of a refusal."""
    with pytest.raises(InputError) as error:
        load_trajectories(path, **options)
    return str(error.value)


def check_rows(path, rows=ROWS):
    np.testing.assert_allclose(load_trajectories(path).states, rows)


def test_arrow_and_feather(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({name: ROWS[:, i] for i, name in enumerate("xyz")})
    for open_it, writer in (("stream", pa.ipc.new_stream), ("file", pa.ipc.new_file)):
        with writer("a.arrow", table.schema) as out:
            out.write_table(table)
        message = refused(tmp_path / "a.arrow")
        code = re.search(r"pyarrow\.parquet\.write_table\(.*?'x\.parquet'\)", message)[0]
        assert "open_file if" in message
        code = code.replace("FILE", "'a.arrow'").replace("open_stream", f"open_{open_it}")
        eval(code, {"pyarrow": __import__("pyarrow.ipc", fromlist=["x"]) and pa})
        check_rows("x.parquet")
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(ROWS, columns=[*"xyz"]).to_feather("a.feather")
    code = re.search(r"pandas\.read_feather.*'\)", refused(tmp_path / "a.feather"))[0]
    eval(code.replace("FILE", "'a.feather'"), {"pandas": pandas})
    check_rows("x.parquet")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("%time,field.header.seq,field.header.frame_id,x,y,z", "{i}000000000,{i},,{},{},{}"),
        ("x,y,z,", "{},{},{},"),
        ("x,empty,y,z", "{},NA,{},{}"),
    ],
)
def test_empty_columns_are_left_out(tmp_path, header, row):
    lines = [row.format(*values, i=17 + i) for i, values in enumerate(ROWS.tolist())]
    (tmp_path / "a.csv").write_text("\n".join([header, *lines]) + "\n")
    check_rows(tmp_path / "a.csv")
    assert any("(empty)" in note for note in load_trajectories(tmp_path / "a.csv").notes)


def test_empty_columns_of_samples_and_of_parquet(tmp_path):
    columns = {name: ROWS[:, i] for i, name in enumerate("xyz")}
    empty = {"none": pa.array([None] * 30, pa.float64()), "late": pa.array([None] * 29 + [1.0])}
    pq.write_table(pa.table({**columns, "none": empty["none"]}), tmp_path / "a.parquet")
    check_rows(tmp_path / "a.parquet")
    np.testing.assert_array_equal(load_samples(tmp_path / "a.parquet", missing=True)[0], ROWS)
    pq.write_table(pa.table({**columns, "late": empty["late"]}), tmp_path / "a.parquet")
    why = "'late' is a missing value: fill it, or remove that column"
    assert why in refused(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["timestamp", "time_ms", "time_ns", "t"])
@pytest.mark.parametrize(("start", "size"), [(17 * 10**17, 1e-9), (17 * 10**14, 1e-6)])
def test_units_of_times_since_1970(tmp_path, name, start, size):
    times = start + np.arange(30) * round(0.02 / size)
    lines = [f"{t},{x},{y},{z}" for t, (x, y, z) in zip(times, ROWS.tolist(), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([f"{name},x,y,z", *lines]))
    if not (name == "time_ns" and size == 1e-6):  # nanoseconds of 16 digits: 20 days since 1970
        assert load_trajectories(tmp_path / "a.csv").rate == pytest.approx(50)


@pytest.mark.parametrize(("step", "unit"), [(20, "ms"), (20_000_000, "ns"), (20_000, "us")])
def test_the_name_that_is_advised_gives_the_rate(tmp_path, step, unit):
    lines = [f"{i * step},{x},{y},{z}" for i, (x, y, z) in enumerate(ROWS.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(["time,x,y,z", *lines]))
    [note] = [note for note in load_trajectories(tmp_path / "a.csv").notes if "No rate" in note]
    assert f"call it time_{unit} (50 Hz), or pass the rate" in note
    (tmp_path / "a.csv").write_text("\n".join([f"time_{unit},x,y,z", *lines]))
    assert load_trajectories(tmp_path / "a.csv").rate == pytest.approx(50)


def test_shapes_with_more_dimensions(tmp_path):
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for name in ("demo_0", "demo_1"):
            demo = file.create_group(f"data/{name}")
            demo.attrs["num_samples"] = 30
            demo["obs/robot0_eef_pos"], demo["obs/hands"] = ROWS[:, None], ROWS.reshape(30, 1, 3)
            demo["obs/fingers"] = np.repeat(ROWS[:, None], 2, axis=1)
            demo["obs/image"] = np.zeros((30, 8, 8, 3), np.uint8)
    found = load_trajectories(tmp_path / "a.hdf5", features=["robot0_eef_pos"])
    assert found.names == tuple(f"robot0_eef_pos.{i}" for i in range(3))
    np.testing.assert_array_equal(found.states, np.r_[ROWS, ROWS])
    found = load_trajectories(tmp_path / "a.hdf5")
    assert len(found.names) == 6 and any("obs/fingers (shape (30, 2, 3))" in n for n in found.notes)
    found = load_trajectories(tmp_path / "a.hdf5", features=["fingers"])
    assert found.names == tuple(f"fingers.{i}.{j}" for i in range(2) for j in range(3))
    assert "of shape (30, 8, 8, 3)" in refused(tmp_path / "a.hdf5", features=["image"])


@pytest.mark.parametrize("name", ["csv", "txt", "parquet", "npz", "npy", "h5", "hdf5"])
def test_pointers_of_git_lfs(tmp_path, name):
    (tmp_path / f"a.{name}").write_text(POINTER)
    why = "is a pointer of Git LFS, not the file itself: run git lfs pull"
    assert why in refused(tmp_path / f"a.{name}")


@pytest.mark.parametrize("name", ["a.mcap", "a.db3", "a.bag", "bag/metadata.yaml"])
def test_bags_that_are_pointers(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(POINTER)
    refuses(r"pointer of Git LFS.*run git lfs pull", Bag, tmp_path / name.split("/")[0])
    (tmp_path / "b.mcap").write_text(POINTER)
    refuses(r"pointer of Git LFS.*run git lfs pull", load_demonstrations, tmp_path, "/x")


@pytest.mark.parametrize("name", ["info.json", "episodes.jsonl"])
def test_metadata_that_are_pointers(tmp_path, name):
    folder = write_lerobot(tmp_path / "set", [ROWS.astype(np.float32)], "v2.1", None)
    (folder / "meta" / name).write_text(POINTER)
    assert "pointer of Git LFS" in refused(folder)


def test_metadata_of_other_programs(tmp_path):
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text('{"dataset_name": "paint", "total_episodes": 6}')
    assert "has no codebase_version, so it is not LeRobot's" in refused(tmp_path)
    np.save(tmp_path / "episode_0.npy", ROWS)
    check_rows(tmp_path)
    (tmp_path / "meta/info.json").write_text("")
    assert "info.json cannot be read (it is empty)" in refused(tmp_path)
