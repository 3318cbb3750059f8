"""HDF5 files of demonstrations, sound or with a fault: other data is never read."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, strategies as st

import hdf5_sets
from fuzz.outcomes import REFUSED, chosen, folder, fuzzed, seeds
from fuzz.reading import check_part, check_same, damage, episodes, read

pytestmark = pytest.mark.filterwarnings("error")
KEYS = ("pos", "robot0_eef_pos", "policy/q", "policy/deep/er/v", "a b", "\u00fc", "x.1", "object")
LAYOUTS: dict[str, Any] = {
    "robomimic": lambda path: hdf5_sets.write_mimicgen(path / "demo.hdf5"),
    "isaac": lambda path: hdf5_sets.write_isaac(path / "demo.hdf5"),
    "aloha": lambda path: hdf5_sets.write_aloha_folder(path / "aloha"),
    "d4rl": lambda path: hdf5_sets.write_d4rl(path / "d4rl.hdf5"),
    "minari": lambda path: hdf5_sets.write_minari(path / "set"),
    "minari of groups": lambda path: hdf5_sets.write_minari(path / "set", dictionary=True),
}
SHAPES = ((), (1,), (3,), (7,), (1, 3), (3, 1), (1, 1, 2), (1, 1))  # of a row
STEMS = ("data/demo_{}/obs", "data/demo{}/obs", "data/episode_{}/obs", "traj_{}/obs")


@fuzzed(40)
@given(
    st.lists(chosen(KEYS), min_size=1, max_size=4, unique=True), chosen(STEMS), seeds,
    st.lists(st.integers(0, 40), min_size=1, max_size=5, unique=True), st.booleans(), st.data(),
)  # fmt: skip
def test_arrays_of_any_kind_are_read_as_recorded(keys, stem, rng, numbers, packed, data):
    shapes = {key: data.draw(chosen(SHAPES)) for key in keys}
    kinds = {key: data.draw(chosen(("f4", "f8", "f2", ">f4", ">f8"))) for key in keys}
    recorded = {}
    with folder() as path:
        with h5py.File(path / "demo.h5", "w") as file:
            for number in numbers:
                group, length = stem.format(number), data.draw(st.integers(1, 30))
                name = group.removeprefix("data/").removesuffix("/obs")
                own = recorded[name] = {}
                for key, shape in shapes.items():
                    values = rng.standard_normal((length, *shape)).astype(kinds[key])
                    options = {"chunks": True, "compression": "gzip"} if packed else {}
                    file.create_dataset(f"{group}/{key}", data=values, **options)
                    own[key.replace("/", ".")] = values.reshape(length, -1)
                file[group.replace("obs", "actions")] = np.zeros((length - ("traj" in stem), 2))
                file[f"{group}/image"] = np.zeros((length, 2, 2, 3), np.uint8)
        found = read(path / "demo.h5")
    assert found is not REFUSED
    arrays = episodes(found)
    assert [*arrays] == [name for _, name in sorted(zip(numbers, recorded, strict=True))]
    for name, own in recorded.items():
        columns = {
            key if values.shape[1] == 1 else f"{key}.{i}": values[:, i]
            for key, values in own.items()
            for i in range(values.shape[1])
        }
        assert {*found.names} == {*columns}
        expected = np.column_stack([columns[column] for column in found.names])
        np.testing.assert_array_equal(arrays[name], expected)


def replacement(draw: Any, file: Any, name: str) -> str:
    """Replace an array by another kind of node; the kind."""
    shape = file[name].shape
    nodes: dict[str, Any] = {
        "bytes": np.zeros(shape[0], "S4"),
        "complex": np.zeros(shape, complex),
        "void": np.zeros(shape[0], "V5"),
        "compound": np.zeros(shape[0], [("x", "f8"), ("y", "i4")]),
        "3d": np.ones((shape[0], 2, 2)),
        "3d in one": np.ones((shape[0], 1, 2 + int(np.prod(shape[1:])))),
        "0d": np.float64(1),
        "wide": np.ones((shape[0], 0)),
        "empty": h5py.Empty("f4"),
        "type": np.dtype("f8"),
        "soft link": h5py.SoftLink("/nowhere"),
        "external link": h5py.ExternalLink("gone.h5", "/x"),
        "circle": file,
        "longer": np.ones((shape[0] + 7, *shape[1:])),
        "shorter": np.ones((shape[0] - 1, *shape[1:])),
        "wider": np.ones((shape[0], int(np.prod(shape[1:])) + 1)),
        "NaN": np.full(shape, np.nan),
        "infinite": np.full(shape, np.inf),
        **dict.fromkeys(("text", "reference", "ragged", "group", "huge", "unwritten", "virtual")),
        "gone": None,
    }
    kind = draw(chosen(nodes))
    del file[name]
    if nodes[kind] is not None:
        file[name] = nodes[kind]
    elif kind == "text":
        file.create_dataset(name, data=["a"] * shape[0], dtype=h5py.string_dtype())
    elif kind == "reference":
        file.create_dataset(name, data=[file.ref] * shape[0], dtype=h5py.ref_dtype)
    elif kind == "ragged":
        file.create_dataset(name, shape[:1], h5py.vlen_dtype(np.float32))
    elif kind == "group":
        file.create_group(name)
    elif kind == "huge":
        file.create_dataset(name, (10**12, 100), "f4", chunks=(1, 100))
    elif kind == "unwritten":
        file.create_dataset(name, shape, "f4")
    elif kind == "virtual":
        layout = h5py.VirtualLayout(shape, "f4")
        layout[:] = h5py.VirtualSource("gone.h5", "x", shape)
        file.create_virtual_dataset(name, layout)
    return kind


def arrays_of(path: Path) -> list[tuple[Path, str]]:
    """Observations in the files below a path: file and name."""
    found: list[tuple[Path, str]] = []
    for file in sorted(path.rglob("*.hdf5")):
        with h5py.File(file) as opened:
            opened.visititems(
                lambda name, node, file=file: (
                    found.append((file, name))
                    if isinstance(node, h5py.Dataset)
                    and node.dtype.kind == "f"
                    and node.ndim < 3
                    and any(part in name for part in ("obs", "qpos"))
                    and "info" not in name
                    else None
                )
            )
    return found


@fuzzed(60)
@given(st.data(), chosen(LAYOUTS))
def test_replaced_arrays_are_refused_or_left_out(data, layout):
    with folder() as path:
        given = LAYOUTS[layout](path)
        sound = read(given)
        file, name = data.draw(chosen(arrays_of(path)))
        with h5py.File(file, "r+") as opened:
            kind = replacement(data.draw, opened, name)
        found = read(given)
        if kind in ("longer", "shorter", "wider", "3d in one") and layout == "d4rl":
            return
        check_part(found, sound)
        if kind in ("NaN", "infinite") and not (layout == "aloha" and "qpos" not in name):
            assert found is REFUSED


@fuzzed(40)
@given(st.data(), chosen(LAYOUTS))
def test_damaged_files_end_with_one_error(data, layout):
    with folder() as path:
        given = LAYOUTS[layout](path)
        for extra in path.rglob("*.pkl"):
            extra.unlink()
        sound = read(given)
        if data.draw(damage(path)) == "cut":
            check_part(read(given), sound)
        else:
            read(given)


COUNTS = ("forty", -3, np.nan, [1, 2], h5py.Empty("f4"), 2.0**70, 10**6)
MASKS = (
    *(0, np.zeros((2, 2), "S3"), np.zeros(3), np.array([b"demo_99"]), np.zeros(70, bool)),
    *(np.array([b"\xff\xfe"]), np.zeros(0, "S3"), np.zeros(2, [("a", "f4")])),
)
OPTIONS = (
    *({"features": ["nope"]}, {"features": "gripper"}, {"features": []}, {"features": [3]}),
    *({"split": "nope"}, {"episode_column": "x"}, {"features": ["."]}, {"features": [""]}),
)


@fuzzed(30)
@given(st.data(), chosen(("count", "mask", "options", "names")))
def test_strange_lists_and_options_are_refused(data, kind):
    with folder() as path:
        given, options = hdf5_sets.write_mimicgen(path / "demo.hdf5"), {}
        sound = read(given)
        with h5py.File(given, "r+") as file:
            if kind == "count":
                file["data/demo_2"].attrs["num_samples"] = data.draw(chosen(COUNTS))
            elif kind == "mask":
                del file["mask/train"]
                file["mask/train"] = data.draw(chosen(MASKS))
                options = {"split": "train"}
            elif kind == "options":
                options = data.draw(chosen(OPTIONS))
            else:
                file[data.draw(chosen(("notes", "\u00e9", "data_1", "x" * 300)))] = b"text"
                h5py.h5g.create(file.id, data.draw(chosen((b"\xff\xfe", b"\xed\xa0\x80"))))
        found = read(given, **options)
    if kind == "names":
        check_same(found, episodes(sound))
    else:
        assert found is REFUSED
