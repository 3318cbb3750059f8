"""Reading of files: results, refusals with a reason, and no flags among the states."""

import os
import struct
import tracemalloc
import warnings
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from episodes import PICKCUBE
from hdf5_sets import write_aloha, write_d4rl
from infoatlas_rt.errors import InputError
from infoatlas_tools.files.load import load_samples, load_trajectories
from infoatlas_tools.trajectories import Trajectories
from lerobot_sets import write_lerobot
from refusals import refuses


def test_pickcube_agrees_with_its_readme():
    recorded = load_trajectories(PICKCUBE)
    assert recorded.states.shape == (7820, 41) and recorded.states.dtype == np.float32
    assert recorded.lengths.shape == (100,) and recorded.lengths.sum() == 7820
    assert len(recorded.names) == 41 and len(set(recorded.names)) == 41
    column = {name: recorded.states[:, i] for i, name in enumerate(recorded.names)}
    for axis in "xyz":  # relative vectors match their names, so the layout is right
        tool, cube, goal = (column[f"{body}.{axis}"] for body in ("tool", "cube", "goal"))
        np.testing.assert_allclose(column[f"tool_to_cube.{axis}"], cube - tool, atol=1e-6)
        np.testing.assert_allclose(column[f"cube_to_goal.{axis}"], goal - cube, atol=1e-6)
    for body in ("tool", "cube"):
        norm = sum(column[f"{body}.q{part}"].astype(float) ** 2 for part in "wxyz")
        np.testing.assert_allclose(norm, 1, atol=1e-5)


def test_loaded_states_contain_no_flags(tmp_path):
    recorded = load_trajectories(PICKCUBE)
    described = {"stride", "gripper", "ignore", "orientation", "resolution", "camera"}
    kept = {"states", "lengths", "names", "rate", "episodes", "notes", "stated", "times"}
    assert set(vars(recorded)) == described | kept
    # unreadable flags have no effect
    np.savez(tmp_path / "a.npz", states=np.eye(4), flag=np.array([{}], dtype=object))
    np.testing.assert_array_equal(load_trajectories(tmp_path / "a.npz").states, np.eye(4))


def write_with_nan(path, kind, rows):
    """Three demonstrations whose second column, "effort", is NaN in some rows of each."""
    rng, names = np.random.default_rng(0), ["x", "effort"]
    demos = [rng.standard_normal((30, 2)).astype(np.float32) for _ in range(3)]
    for demo in demos:
        demo[rows, 1] = np.nan
    whole = np.concatenate(demos)
    if kind == "npz":
        np.savez(path, states=whole, lengths=[30] * 3, names=names)
    elif kind == "parquet":
        columns = dict(zip(names, whole.T, strict=True))
        pq.write_table(pa.table({"episode": np.repeat([0, 1, 2], 30), **columns}), path)
    elif kind == "lerobot":
        write_lerobot(path, demos, "v2.1", names)
    else:
        {"d4rl": write_d4rl, "aloha": write_aloha}[kind](path)
        with h5py.File(path, "r+") as file:
            node = file["observations/qpos" if kind == "aloha" else "observations"]
            values = node[()]
            values[:, 1][rows] = np.nan
            node[...] = values


@pytest.mark.parametrize(
    ("kind", "end"),
    [("npz", ".npz"), ("parquet", ".parquet"), ("lerobot", ""), ("d4rl", ".h5"), ("aloha", ".h5")],
)
def test_a_column_without_values_is_left_out_and_others_named(tmp_path, kind, end):
    """As drivers write effort and velocity that they do not measure."""
    write_with_nan(tmp_path / f"a{end}", kind, slice(None))
    found = load_trajectories(tmp_path / f"a{end}")
    name = found.names[1]
    assert f"Left out, as it has no values (they are read as 0): column {name!r}." in found.notes
    assert not found.states[:, 1].any() and np.isfinite(found.states).all()
    assert load_trajectories(tmp_path / f"a{end}", ignore=[name]).ignore == (1,)
    write_with_nan(tmp_path / f"b{end}", kind, slice(3, 5))
    with pytest.raises(InputError, match="NaN") as error:
        load_trajectories(tmp_path / f"b{end}")
    assert kind in ("d4rl", "aloha") or name in str(error.value)


GOOD = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist: check the path"),
        (b"hello", "cannot be read"),
        ({"states": GOOD.astype(object)}, "save plain arrays, not objects"),
        ({"states": np.where(GOOD == 7, np.nan, GOOD)}, "have 1 NaN.* value.* at row 3, column 1"),
        ({"positions": GOOD}, "has no array `states`"),
        ({"states": GOOD, "lengths": [3, 4]}, "sum to 7, but there are 6 states"),
        ({"states": GOOD[None]}, r"shape \(1, 6, 2\)"),
        ({"states": np.array([["a", "b"]])}, "store numbers"),
        ({"states": GOOD + 1j}, "complex128: store numbers"),
        ({"states": GOOD, "rate": "20 Hz"}, "rate is '20 Hz', but has to be samples per second"),
        ({"states": GOOD, "rate": [20.0, 20.0]}, r"rate has shape \(2,\): store one number"),
        ("", "no rows"),
        ("a,b\n", "no rows"),
        (b"\xff\xfe\x00\x01", "save it as UTF-8 text"),
    ],
)
def test_unusable_files_are_refused_with_their_name(tmp_path, content, message):
    path = tmp_path / ("a.csv" if isinstance(content, str) or "UTF" in message else "a.npz")
    if isinstance(content, dict):
        np.savez(path, **content)
    elif content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=message) as caught:
        load_trajectories(path)
    assert str(path) in str(caught.value)


def test_a_rate_that_is_none_can_be_given(tmp_path):
    np.savez(tmp_path / "a.npz", states=GOOD, rate=0)
    found = load_trajectories(tmp_path / "a.npz")
    assert found.rate is None and found.notes == ("No rate: the file has 0 Hz.",)
    assert load_trajectories(tmp_path / "a.npz", rate=20).notes == ()


def test_an_empty_folder_and_two_arrays_of_samples_are_refused(tmp_path):
    refuses("is neither the folder of a data set", load_trajectories, tmp_path)
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    refuses("pass a file with one array", load_samples, tmp_path / "two.npz")


# ---- missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("1\n2\n\n4\n", 3, "column 0"),  # a blank row
        ("\n2\n3\n4\n", 1, "column 0"),
        ("NA\n2\n3\n4\n", 1, "column 0"),
        ('1\n" "\n3\n', 2, "column 0"),
        ("a\n1\n\n\n4\n", 3, "a"),
        ("a,b\n1,2\n,4\n5,6\n", 3, "a"),
        ("1,2\n3,n/a\n5,6\n", 2, "column 1"),
        ("1,2\n3,   \n5,6\n", 2, "column 1"),
        ("1,2\r\n\r\n3,4\r\n", 2, "column 0"),
        ('1\n2\n""\n', 3, "column 0"),  # as pandas writes NaN
    ],
)
def test_missing_values_are_named_by_file_and_line(tmp_path, text, line, column):
    path = tmp_path / "a.csv"
    path.write_text(text, newline="")
    for load in (load_samples, load_trajectories):
        with pytest.raises(InputError) as caught:
            load(path)
        assert f"{path}, line {line}: {column!r} is a missing value" in str(caught.value)
        assert ("--drop-missing" in str(caught.value)) == (load is load_samples)
    rows, _ = load_samples(path, missing=True)
    assert np.isnan(rows).any(axis=1).sum() == (2 if text.startswith("a\n1") else 1)


def test_blank_lines_at_the_end_are_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("1\n2\n3\n\n\n")
    np.testing.assert_array_equal(load_samples(tmp_path / "a.csv")[0][:, 0], [1, 2, 3])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x\n1\n2\n", ("x",)),
        ("a,0,1\n1,2,3\n4,5,6\n", ("a", "0", "1")),
        ("NA,sodium\n1,2\n3,4\n", ("NA", "sodium")),
        ("1,2\n3,4\n", ()),
    ],
)
def test_headers(tmp_path, text, names):
    (tmp_path / "a.csv").write_text(text)
    recorded = load_trajectories(tmp_path / "a.csv")
    assert recorded.names == names and len(recorded.states) == 2


# Two demonstrations that begin at different times, without a line of names.
EPISODES = "".join(f"{e},{i / 2},{10 * e + i / 50}\n" for e in (0, 1) for i in range(5 + 2 * e))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x,y\n1,2,\n3,4,\n", "give that column a name or remove it"),
        ("time,x\n0.0,1\ninf,2\ninf,3\n", "infinite"),
        (EPISODES, "if these are 2 demonstrations"),
    ],
)
def test_tables_that_need_a_change(tmp_path, text, why):
    (tmp_path / "a.csv").write_text(text)
    refuses(why, load_trajectories, tmp_path / "a.csv")


@pytest.mark.parametrize("text", ["1.5,x1.5\n2,3\n", "1_000\n2_000\n3_000\n"])
def test_cells_that_are_neither_header_nor_number(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=r"a\.csv, line [12](, column .*)?: '.*' is no number"):
        load_trajectories(tmp_path / "a.csv")


# ---- files that claim too much, and files that never end -----------------------------------------


def hostile(folder: Path, kind: str) -> Path:
    """A malicious file of this kind."""
    path = folder / ("a.npz" if kind.startswith("zip") else "a.npy")
    if kind in ("zero device", "pipe"):
        (path.symlink_to("/dev/zero") if kind == "zero device" else os.mkfifo(path))
    elif kind == "csv pipe":
        os.mkfifo(path := folder / "a.csv")
    elif kind == "csv zeros":
        path = folder / "a.csv"
        with path.open("wb") as file:
            file.truncate(10**11)  # a sparse file: no disk is used
    elif kind in ("longer", "short header"):
        np.save(path, np.arange(200.0))
        content = bytearray(path.read_bytes())
        content = content + b"more" if kind == "longer" else content
        content[8] -= 2 * (kind == "short header")  # the data would start two bytes earlier
        path.write_bytes(content)
    elif kind in ("long header", "claim", "bytes", "negative", "nested"):
        shapes = {"claim": (10**9, 41), "bytes": (10**6,), "negative": (-1,)}
        dtype = "S1000000" if kind == "bytes" else "<f8"
        header = (
            f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shapes.get(kind, (2,))}, }}"
        )
        header = "(" * 5000 if kind == "nested" else header
        length = 2**31 if kind == "long header" else len(header)
        path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", length) + header.encode())
        with path.open("r+b") as file:
            file.truncate(2**33)
    else:
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            with archive.open("states.npy", "w", force_zip64=True) as file:
                header = {"descr": "<f8", "fortran_order": False, "shape": (2 * 10**8, 1)}
                header["shape"] = header["shape"] if kind == "zip bomb" else (100, 1)
                np.lib.format.write_array_header_1_0(file, header)
                file.write(bytes(800))
        content = bytearray(path.read_bytes())
        at, end = content.index(b"PK\x01\x02"), content.index(b"PK\x03\x04")
        if kind == "zip encrypted":
            content[at + 8] |= 1
            content[end + 6] |= 1
        elif kind == "zip compression":
            content[at + 10] = content[end + 8] = 97
        elif kind == "zip damaged":
            content[80:90] = bytes(10)
        path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("zero device", "is a pipe or a device"),
        ("pipe", "is a pipe or a device"),
        ("csv pipe", "is a pipe or a device"),
        ("csv zeros", "more than 2147483647 bytes"),
        ("long header", "a header of 2147483648 bytes"),
        ("claim", "41000000000 numbers are more than 100000000"),
        ("bytes", "1000000 numbers are more than"),
        ("negative", "cannot be read"),
        ("nested", "cannot be read"),
        ("longer", "which is not its size"),
        ("short header", "which is not its size"),
        ("zip bomb", "200000000 numbers are more than 100000000"),
        ("zip encrypted", "states.npy is encrypted: save it without a password"),
        ("zip compression", "compression"),
        ("zip damaged", "cannot be read"),
    ],
)
@pytest.mark.parametrize("load", [load_samples, load_trajectories])
def test_files_that_claim_too_much_cost_no_memory(tmp_path, kind, message, load):
    path = hostile(tmp_path, kind)
    tracemalloc.start()
    with pytest.raises(InputError, match=message) as caught, warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8 and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_an_array_that_ends_like_an_archive_is_an_array(tmp_path):
    end = np.frombuffer(b"PK\x05\x06" + bytes(20), np.uint8)
    np.save(tmp_path / "a.npy", end)
    np.testing.assert_array_equal(load_samples(tmp_path / "a.npy")[0], end)


@pytest.mark.parametrize(
    ("states", "lengths", "names", "message"),
    [
        (np.zeros((6, 2)), [3, 4], (), "lengths sum to 7, but there are 6 states"),
        (np.zeros((6, 2)), [3.0, 3.0], (), "no list of integers"),
        (np.zeros((6, 2)), ["3", "3"], (), "no list of integers"),
        (np.zeros((6, 2)), 6, (), "no list of integers"),
        (np.zeros((6, 2)), None, (), "one array of shape"),
        (np.zeros((6, 2)), [7, -1], (), "from -1 to 7"),
        (np.zeros((6, 2)), np.array([2**63, 2**63, 6], np.uint64), (), "each trajectory has one"),
        (np.zeros((6, 2)), [6], ("a",), "1 names for 2"),
        (np.zeros((6, 2)), [6], None, "names are None"),
        (np.full((6, 2), np.nan), [6], (), "have 12 NaN, masked or infinite values"),
        (np.ma.array(np.zeros((6, 2)), mask=np.eye(6, 2)), [6], (), "have 2 NaN, masked"),
        (np.full((6, 2), "a"), [6], (), "contains text"),
        (np.zeros(6), [6], (), r"shape \(6,\)"),
        (None, [6], (), "pass an array of real numbers"),
    ],
)
def test_trajectories_that_do_not_fit(states, lengths, names, message):
    refuses(message, Trajectories, states, lengths, names)
