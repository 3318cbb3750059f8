"""Generated demonstrations as files: ManiSkill's .h5, a LeRobot v3.0 data set, and .npz."""

import json
import os
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt import InputError

from ..files.lerobot.written_tables import names_table, summary
from .sources import Generated
from .tasks import FLAG_AT, RATE

ACTIONS = (*(f"joint{i}" for i in range(1, 8)), "gripper")
CODE = "v3.0"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


def check(out: str | os.PathLike[str]) -> None:
    """Raise what `write` would raise, before anything is generated.

    InputError if a package that writes files is not installed, or `out` exists.
    """
    try:
        import h5py  # noqa: F401
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"files of demonstrations cannot be written ({error}): pip install "
            "'infoatlas-rt[maniskill]', with versions for ManiSkill's NumPy"
        ) from error
    if Path(out).exists():
        raise InputError(f"{out} exists: choose a folder that does not")


def write(generated: Generated, out: str | os.PathLike[str]) -> Path:
    """Write generated demonstrations into a new folder, all or nothing.

    OUT/TASK.npz has the arrays of `Sources`. OUT/trajectory.h5 and .json are as ManiSkill's
    `RecordEpisode` writes them for `obs_mode="state"`; `success` and `terminated` are true at the
    last step alone, where they were asked for. OUT/lerobot has a frame for each action. InputError
    if there is nothing to write, `out` cannot be written, or as `check`.
    """
    check(out)
    if not len(generated.lengths):
        raise InputError(
            f"none of {len(generated.successes)} attempts succeeded: there is nothing to write"
        )
    out = Path(out)
    part = out.with_name(f"{out.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        generated.save(part / f"{generated.task}.npz")
        _write_maniskill(generated, part / "trajectory.h5")
        _write_lerobot(generated, part / "lerobot")
        part.rename(out)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error}): choose another folder") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return out


def _write_maniskill(generated: Generated, path: Path) -> None:
    import h5py

    observed = generated.states
    if generated.grasped is not None:
        flag = generated.grasped.astype(np.float32)
        observed = np.insert(observed, FLAG_AT, flag, axis=1)
    about: list[dict[str, Any]] = []
    with h5py.File(path, "w") as file:
        for i, (start, end) in enumerate(pairwise(generated.bounds)):
            own, steps = slice(start, end), int(end - start) - 1
            group = file.create_group(f"traj_{i}")
            done = np.arange(steps) == steps - 1
            group["obs"] = observed[own]
            group["actions"] = generated.actions[own][:-1]
            group["success"] = group["terminated"] = done
            group["truncated"] = np.zeros(steps, bool)
            for name, values in generated.simulator.items():
                group[f"env_states/{name}"] = values[own]
            seed = int(generated.seeds[i])
            about.append(
                {
                    "episode_id": i,
                    "episode_seed": seed,
                    "control_mode": "pd_joint_pos",
                    "elapsed_steps": steps,
                    "reset_kwargs": {"options": None, "seed": seed},
                    "success": True,
                }
            )
    kwargs = {
        "obs_mode": "state",
        "control_mode": "pd_joint_pos",
        "sim_config": {"control_freq": RATE},
        "sim_backend": "physx_cpu",
        "render_backend": "none",
        "render_mode": None,
    }
    environment = {"env_id": generated.task, "env_kwargs": kwargs, "max_episode_steps": 10_000}
    described = {"env_info": environment, "commit_info": None, "episodes": about}
    _dump(path.with_suffix(".json"), described)


def _write_lerobot(generated: Generated, folder: Path) -> None:
    """The layout of lerobot/datasets/utils.py: one file of frames, one of episodes."""
    import pyarrow.parquet as pq

    rows = np.delete(np.arange(len(generated.states)), generated.bounds[1:] - 1)
    steps = generated.lengths - 1
    frame = np.concatenate([np.arange(n) for n in steps])
    features: dict[str, NDArray[Any]] = {
        "observation.state": generated.states[rows],
        "action": generated.actions[rows],
        "timestamp": (frame / RATE).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.repeat(np.arange(len(steps)), steps),
        "index": np.arange(len(rows)),
        "task_index": np.zeros(len(rows), np.int64),
    }
    (folder / "meta").mkdir(parents=True)
    _dump(folder / "meta" / "info.json", _lerobot_info(generated.names, features, len(steps)))
    stats = {name: summary(values) for name, values in features.items()}
    _dump(folder / "meta" / "stats.json", stats)
    _save_table(
        folder / DATA.format(chunk_index=0, file_index=0),
        {name: _column(values) for name, values in features.items()},
        huggingface={"info": {"features": {name: _kind(v) for name, v in features.items()}}},
    )
    what = f"{generated.task}: generated"
    ends = np.cumsum(steps)
    first = np.zeros(len(steps), np.int64)
    listed = {
        "episode_index": np.arange(len(steps)),
        "tasks": [[what]] * len(steps),
        "length": steps,
        "data/chunk_index": first,
        "data/file_index": first,
        "dataset_from_index": ends - steps,
        "dataset_to_index": ends,
        "meta/episodes/chunk_index": first,
        "meta/episodes/file_index": first,
    }
    _save_table(folder / "meta/episodes/chunk-000/file-000.parquet", listed)
    pq.write_table(names_table([what], "task"), folder / "meta/tasks.parquet")


def _lerobot_info(
    states: Sequence[str], features: dict[str, NDArray[Any]], episodes: int
) -> dict[str, Any]:
    """Content of meta/info.json."""
    names = {"observation.state": list(states), "action": list(ACTIONS)}
    return {
        "codebase_version": CODE,
        "robot_type": "panda",
        "total_episodes": episodes,
        "total_frames": len(features["index"]),
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": RATE,
        "splits": {"train": f"0:{episodes}"},
        "data_path": DATA,
        "video_path": None,
        "features": {
            name: {
                "dtype": str(values.dtype),
                "shape": [values.shape[1] if values.ndim == 2 else 1],
                "names": names.get(name),
            }
            for name, values in features.items()
        },
    }


def _column(values: NDArray[Any]) -> Any:
    """Values [n] or [n, d] as an array of Arrow."""
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _kind(values: NDArray[Any]) -> dict[str, Any]:
    """Type of a column, as the package datasets writes it."""
    own = {"dtype": str(values.dtype), "_type": "Value"}
    if values.ndim == 1:
        return own
    return {"feature": own, "length": values.shape[1], "_type": "List"}


def _save_table(path: Path, columns: dict[str, Any], **about: Any) -> None:
    """Write a Parquet file with metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    described = {key: json.dumps(value) for key, value in about.items()}
    pq.write_table(pa.table(columns).replace_schema_metadata(described), path)


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
