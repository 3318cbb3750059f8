"""Writes executions as demonstrations, in the format of the recording or as .npz."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ..annotations.lerobot_episodes import DatasetFrames, feature_values
from ..annotations.written_formats import check_out, replacing
from ..bags.any_recording import Recording
from ..files.hdf5.opening import open_hdf5
from ..files.lerobot.frames import read_parquet, require_pyarrow
from ..files.lerobot.meta import LeRobotFolder
from ..files.lerobot.written_tables import (
    LANGUAGE,
    link_or_copy,
    rewrite_frames,
    summary,
    with_columns,
)
from ..files.numbers import read_numpy
from ..run_folder import keep_finished, stamp
from .executions import Cuts

WAY_OUT = "pass --out FILE.npz for the states, or --json FILE for keystates and annotate --cuts"
STAGES = "dense_subtask_"  # of annotate: they are of an episode as one


def write_cut(recording: Recording, cuts: Cuts | None, out: Path) -> list[str]:
    """Write a new file or folder with a demonstration for each execution, all or nothing.

    Returns what is left out. Without `cuts`, check only whether it can be written. InputError if
    the data are of a kind that is not written, or the place cannot be written.
    """
    check_out(recording, out, "lerobot")
    data, path = recording.dataset, recording.path
    kind = data.format.name if data else "ROS bag"
    writer: Any = {"LeRobot": _write_lerobot, "robomimic": _write_demos, "Isaac Lab": _write_demos}
    write = _write_npz if out.suffix == ".npz" else writer.get(kind)
    if write is _write_lerobot and data:
        info = data.content.info
        if not data.content.is_new or LANGUAGE in info["features"]:
            kind, write = f"LeRobot {info['codebase_version']}, or has {LANGUAGE}", None
    if write is None:
        raise InputError(f"{path} ({kind}) is not written as {out}: {WAY_OUT}")
    if write is _write_demos and out.suffix != path.suffix:
        raise InputError(f"{out}: let its name end in {path.suffix}, as {path}, or in .npz")
    if cuts is None:
        return []
    with replacing(out, resume=write is _write_lerobot) as place:
        return list(write(recording, cuts, place))


def _write_npz(recording: Recording, cuts: Cuts, out: Path) -> list[str]:
    """The states, and the other arrays of an .npz that have a row for each step."""
    given, rows, path = recording.trajectories, np.concatenate(cuts.rows), recording.path
    arrays = read_numpy(path) if path.suffix == ".npz" else {}
    found = {k: a[rows] for k, a in arrays.items() if a.shape[:1] == given.states.shape[:1]}
    left = sorted(arrays.keys() - found.keys() - {"lengths", "names", "rate"})
    found["states"] = np.asarray(given.states)[rows]
    found["lengths"] = np.array([own.end - own.start for own in cuts.executions])
    found |= {"names": np.array(given.names)} if given.names else {}
    found |= {"rate": np.array(given.rate)} if given.rate else {}
    np.savez(out, **found)
    notes = [f"arrays without a row for each step: {', '.join(left)}"] * bool(left)
    return [*notes, *["uneven times of the steps"] * (given.times is not None)]


def _write_demos(recording: Recording, cuts: Cuts, out: Path) -> list[str]:
    """Groups data/demo_0 and so on, with the steps of the execution in each array."""
    left, uncut = set[str](), set[str]()

    def copy(node: Any, group: Any, name: str, length: int, steps: slice) -> Any:
        if hasattr(node, "keys"):
            made = group.create_group(name)
            left.update({"initial_state"} & {*node})  # of the recording, not of the execution
            for key in {*node} - {"initial_state"}:
                copy(node[key], made, key, length, steps)
        else:
            more = len(node) - length if node.ndim else -1  # states may have one more than actions
            kept = slice(steps.start, steps.stop + more) if more in (0, 1) else ()
            uncut.update({name} if node.ndim and not kept else ())
            made = group.create_dataset(name, data=node[kept], compression=node.compression)
        made.attrs.update(node.attrs)
        return made

    with open_hdf5(recording.path) as (file, h5py), h5py.File(out, "w") as new:
        left |= {"mask"} & {*file}
        for key in {*file} - {"data", "mask"}:
            file.copy(file[key], new, name=key)
        new.attrs.update(file.attrs)
        data = new.create_group("data")
        data.attrs.update(file["data"].attrs)
        for k, own in enumerate(cuts.executions):
            demo, steps = file["data"][own.episode], slice(own.start, own.end)
            made = copy(demo, data, f"demo_{k}", cuts.lengths[own.episode], steps)
            made.attrs["num_samples"] = own.end - own.start
        data.attrs["total"] = sum(map(len, cuts.rows))
    notes = (left, "of the recordings"), (uncut, "rows are no steps: copied as recorded")
    return [f"{', '.join(sorted(own))}, {what}" for own, what in notes if own]


def _write_lerobot(recording: Recording, cuts: Cuts, out: Path) -> list[str]:
    """A copy of a LeRobot data set (v3.0) in which each execution is an episode.

    Videos and other large files are hard links where the disk allows them. `from_timestamp` and
    `to_timestamp` in `meta/episodes` are the times of an episode in them.
    """
    assert recording.dataset
    folder: LeRobotFolder = recording.dataset.content
    path, info, count = folder.path, dict(folder.info), len(cuts.executions)
    episodes, fps = [int(name) for name in cuts.lengths], float(info["fps"])
    frames = DatasetFrames(folder, episodes, np.array([*cuts.lengths.values()]))
    sources = [int(own.episode) for own in cuts.executions]
    own = [(episodes.index(int(e.episode)), slice(e.start, e.end)) for e in cuts.executions]
    times = [frames.times[i][steps].astype(np.float64) for i, steps in own]
    number = np.sort(np.concatenate([frames.index[i][steps] for i, steps in own]))
    index = [np.searchsorted(number, frames.index[i][steps]) for i, steps in own]
    columns: dict[str, list[Any]] = {
        "episode_index": [np.full(len(t), k) for k, t in enumerate(times)],
        "frame_index": [np.arange(len(t)) for t in times],
        "timestamp": [(t - t[0]).astype(np.float32) for t in times],
        "index": index,
    }
    new = {path / "meta/info.json", path / "sarm_progress.parquet"}
    new |= {*folder.data_files, *folder.episode_files}
    keep_finished(out, [columns, cuts.to_dict(), stamp(path)])
    shutil.copytree(
        path,
        out,
        copy_function=link_or_copy,
        ignore=lambda place, names: [name for name in names if Path(place, name) in new],
        dirs_exist_ok=True,
    )
    for file in folder.files:
        rows, steps = frames.places(file)
        which, at = np.zeros(len(rows), np.int64), np.full(len(rows), -1)
        for k, (i, kept) in enumerate(own):
            inside = (rows == i) & (steps >= kept.start) & (steps < kept.stop)
            which[inside], at[inside] = k, steps[inside] - kept.start
        rewrite_frames(file, out / file.relative_to(path), (which, at), columns, None)
    info |= {"total_episodes": count, "total_frames": len(number)}
    info["splits"] = {"train": f"0:{count}"}
    text = json.dumps(info, indent=4, ensure_ascii=False)
    (out / "meta/info.json").write_text(text, encoding="utf-8")
    values, notes = feature_values(info, out, [*range(count)], {})
    pyarrow, parquet = require_pyarrow(path)
    for file in folder.episode_files:
        table = read_parquet(file)
        table = table.drop([n for n in table.column_names if n.startswith(STAGES)])
        rows = table.column("episode_index").to_pylist()
        here = [k for k in range(count) if sources[k] in rows]
        table = table.take(pyarrow.array([rows.index(sources[k]) for k in here], pyarrow.int64()))
        place = table.column_names.index("episode_index")
        table = table.set_column(place, "episode_index", pyarrow.array(here, pyarrow.int64()))
        about: dict[int, dict[str, Any]] = {}
        for row, k in enumerate(here):
            first, n = int(index[k].min()), len(times[k])
            about[k] = {"length": n, "dataset_from_index": first, "dataset_to_index": first + n}
            for name in (n for n in table.column_names if n.endswith("/from_timestamp")):
                start = table.column(name)[row].as_py() + round(float(times[k][0]) * fps) / fps
                about[k] |= {name: start, name.replace("/from_", "/to_"): start + n / fps}
        stats = {k: {name: summary(v[k]) for name, v in values.items()} for k in here}
        target = out / file.relative_to(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(with_columns(table, about, stats) if here else table, target)
    file = out / "meta/stats.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    known |= {name: summary(np.concatenate(v)) for name, v in values.items()}
    file.write_text(json.dumps(known, indent=4), encoding="utf-8")
    return [*notes, *[f"{len(frames.others)} other episodes"] * bool(frames.others)]
