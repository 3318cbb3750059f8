"""Write ten demonstrations by people, and four unseen ones, as LeRobot data sets (v3.0, no videos).

A person drives a Sawyer arm that grasps an object and places it. The recordings are from robosuite
0.3.0 (MIT licence; benchmarks/tasks/data). `demos` has ten of fourteen, `unseen` the other four.

    python examples/make_dataset.py        # writes the folders demos and unseen
    infoatlas-rt keystates demos --count 2
"""

import json
from pathlib import Path

import numpy as np

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: pip install '.[datasets]'") from error

FILE = Path(__file__).resolve().parents[1] / "benchmarks" / "tasks" / "data" / "sawyer_place.npz"
FPS = 20
JOINTS = 9  # seven of the arm, two fingers; an action is their position one step later
PLACE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
FIRST_FILE = PLACE.format(chunk_index=0, file_index=0)


def write_table(path, columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def rows(values):
    """A column of vectors of one length."""
    return pa.FixedSizeListArray.from_arrays(values.astype(np.float32).ravel(), values.shape[1])


def write_dataset(folder, demonstrations, names, task="place the object"):
    """Write demonstrations (list of [T, d]) as a data set."""
    folder, lengths = Path(folder), np.array([len(states) for states in demonstrations])
    states = np.concatenate(demonstrations)
    actions = np.concatenate([np.r_[s[1:, :JOINTS], s[-1:, :JOINTS]] for s in demonstrations])
    frames = np.concatenate([np.arange(n) for n in lengths])
    ends, number = np.cumsum(lengths), np.arange(len(lengths))
    columns = {
        "observation.state": rows(states),
        "action": rows(actions),
        "timestamp": (frames / FPS).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.repeat(number, lengths),
        "index": np.arange(len(states)),
        "task_index": np.zeros(len(states), np.int64),
    }
    features = {
        name: {"dtype": "float32" if name == "timestamp" else "int64", "shape": [1], "names": None}
        for name in list(columns)[2:]
    }
    for name, values, own in (
        ("observation.state", states, names),
        ("action", actions, names[:JOINTS]),
    ):
        features[name] = {"dtype": "float32", "shape": [values.shape[1]], "names": own}
    info = {
        "codebase_version": "v3.0",
        "robot_type": "sawyer",
        "total_episodes": len(lengths),
        "total_frames": len(states),
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 500,
        "fps": FPS,
        "splits": {"train": f"0:{len(lengths)}"},
        "data_path": f"data/{PLACE}",
        "video_path": None,
        "features": features,
    }
    statistics = {
        name: {
            "min": values.min(axis=0).tolist(),
            "max": values.max(axis=0).tolist(),
            "mean": values.mean(axis=0).tolist(),
            "std": values.std(axis=0).tolist(),
            "count": [len(values)],
        }
        for name, values in (("observation.state", states), ("action", actions))
    }
    write_table(folder / "data" / FIRST_FILE, columns)
    write_table(folder / "meta" / "tasks.parquet", {"task": [task], "task_index": [0]})
    write_table(
        folder / "meta" / "episodes" / FIRST_FILE,
        {
            "episode_index": number,
            "tasks": [[task]] * len(lengths),
            "length": lengths,
            "data/chunk_index": 0 * number,
            "data/file_index": 0 * number,
            "dataset_from_index": ends - lengths,
            "dataset_to_index": ends,
        },
    )
    for name, content in (("info", info), ("stats", statistics)):
        text = json.dumps(content, indent=2)
        (folder / "meta" / f"{name}.json").write_text(text, encoding="utf-8")
    seconds = f"{lengths.min() / FPS:.0f} to {lengths.max() / FPS:.0f} s"
    print(f"{folder}: {len(lengths)} episodes of {seconds}, {states.shape[1]} columns, {FPS} Hz")


if __name__ == "__main__":
    for name in ("demos", "unseen"):
        if Path(name).exists():
            raise SystemExit(f"{name} exists: run this in another folder, or remove it")
    with np.load(FILE) as file:
        given, columns = file["names"].tolist(), np.cumsum(file["lengths"])[:-1]
        every = np.split(file["states"], columns)
    kept = range(1, len(every), 4)
    write_dataset("demos", [s for i, s in enumerate(every) if i not in kept], given)
    write_dataset("unseen", [every[i] for i in kept], given)
