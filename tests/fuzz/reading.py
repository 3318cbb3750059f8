"""Files of trajectories: what every reader has to keep, and damage to files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz.outcomes import REFUSED, chosen, files_of, outcome
from infoatlas_tools import load_trajectories

JUNK = (
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x", "float32", "v3.0"),
    *([], [[]], [None], [1, [2]], [["a", "b"]], {}, {"a": None}, {"a": {"b": ["c"]}}),
)


def read(path: Path, load: Callable[..., Any] = load_trajectories, **options: Any) -> Any:
    """Trajectories, or REFUSED by an error that names the path or an option; files are kept."""
    before = files_of(path.parent)
    found = outcome(lambda: load(path, **options), path.name, path.parent, *options)
    assert files_of(path.parent) == before
    return found


def episodes(found: Any) -> dict[str, np.ndarray]:
    """States [T, d] by episode; episodes without names are numbered."""
    parts = np.split(np.asarray(found.states), np.cumsum(found.lengths)[:-1])
    names = found.episodes or tuple(map(str, range(len(parts))))
    assert len({*names}) == len(names) and len({*found.names}) == len(found.names)
    return dict(zip(names, parts, strict=True))


def check_same(found: Any, recorded: dict[str, np.ndarray], left_out: Any = ()) -> None:
    """Check that exactly these episodes were read, in their order, and that others are noted."""
    assert found is not REFUSED
    own = episodes(found)
    assert [*own] == [name for name in recorded if name not in left_out]
    for name, states in own.items():
        np.testing.assert_array_equal(states, recorded[name], err_msg=name)
    assert found.notes or not left_out


def check_part(found: Any, sound: Any, *, by_name: bool = True) -> None:
    """Check that all that was read is in the same place of a sound reading; a refusal is right."""
    if found is REFUSED:
        return
    own, recorded = episodes(found), episodes(sound)
    columns = [sound.names.index(name) for name in found.names] if by_name else slice(None)
    for name, states in own.items():
        np.testing.assert_array_equal(states, recorded[name][:, columns], err_msg=name)
    assert found.notes or len(own) == len(recorded)


@st.composite
def damage(draw: Any, path: Path) -> str:
    """Truncate a file below the path, flip some of its bits, or replace it; the kind of damage."""
    files = sorted(file for file in [path, *path.rglob("*")] if file.is_file())
    file = draw(chosen(files))
    content = bytearray(file.read_bytes())
    kind = draw(chosen(("cut", "flip", "text", "empty", "gone", "pointer", "folder")))
    if kind == "cut":
        content = content[: draw(st.integers(0, len(content) - 1))]
    elif kind == "flip":
        for _ in range(draw(st.integers(1, 8))):
            content[draw(st.integers(0, len(content) - 1))] ^= 1 << draw(st.integers(0, 7))
    elif kind == "text":
        content = bytearray(json.dumps(draw(chosen(JUNK))).encode())
    elif kind == "empty":
        content = bytearray()
    elif kind == "pointer":
        content = bytearray(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    if kind in ("gone", "folder"):
        file.unlink()
        if kind == "folder":
            file.mkdir()
    else:
        file.write_bytes(content)
    return kind
