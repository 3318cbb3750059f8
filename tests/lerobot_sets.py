"""Small LeRobot data sets in the layouts of v2.1 and v3.0.

The layouts are those of lerobot/datasets/utils.py of huggingface/lerobot: templates of paths,
default features and metadata; for v2.1 the names that begin with `LEGACY_`.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SHAPES = {
    "v2.1": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    "v3.0": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}


def write_lerobot(folder, states, version, names, per_file=2, fps=20):
    """Write episodes (list of [T, d] float32) as a data set; v3: `per_file` in each file."""
    d = states[0].shape[1]
    scalar = {"shape": [1], "names": None}
    features = {
        "observation.state": {"dtype": "float32", "shape": [d], "names": names},
        "action": {"dtype": "float32", "shape": [2], "names": None},
        "observation.images.top": {"dtype": "video", "shape": [8, 8, 3], "names": ["h", "w", "c"]},
        "timestamp": {"dtype": "float32", **scalar},
        **{
            name: {"dtype": "int64", **scalar}
            for name in ("frame_index", "episode_index", "index", "task_index")
        },
    }
    info = {
        "codebase_version": version, "robot_type": "panda", "total_episodes": len(states),
        "total_frames": sum(map(len, states)), "fps": fps, "data_path": SHAPES[version],
        "splits": {"train": f"0:{len(states)}"}, "features": features,
    }  # fmt: skip
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    tables, first = [], 0
    for episode, own in enumerate(states):
        n = len(own)
        described = {
            name: {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "List"}
            if name in ("observation.state", "action")
            else {"dtype": feature["dtype"], "_type": "Value"}
            for name, feature in features.items()
            if feature["dtype"] != "video"
        }
        columns = {
            # The library of v3.0 writes lists of fixed length, older ones variable lists.
            "observation.state": pa.FixedSizeListArray.from_arrays(own.ravel(), d)
            if version == "v3.0"
            else pa.array(own.tolist(), pa.list_(pa.float32())),
            "action": pa.array(np.ones((n, 2)).tolist(), pa.list_(pa.float32())),
            "timestamp": (np.arange(n) / fps).astype(np.float32),
            "frame_index": np.arange(n),
            "episode_index": np.full(n, episode),
            "index": first + np.arange(n),
            "task_index": np.zeros(n, np.int64),
        }
        hugging_face = json.dumps({"info": {"features": described}})
        tables.append(pa.table(columns, metadata={"huggingface": hugging_face}))
        first += n
    lengths = [len(own) for own in states]
    if version == "v3.0":
        _write_files(folder, tables, lengths, per_file)
        return folder
    for episode, table in enumerate(tables):
        path = folder / info["data_path"].format(episode_chunk=0, episode_index=episode)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    lines = [
        json.dumps({"episode_index": episode, "tasks": ["pick"], "length": length})
        for episode, length in enumerate(lengths)
    ]
    (folder / "meta" / "episodes.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _write_files(folder, tables, lengths, per_file):
    """Data and episodes of v3.0, in chunks of ten files."""
    ends = np.cumsum(lengths)
    rows = []
    for number, first in enumerate(range(0, len(tables), per_file)):
        chunk, file = divmod(number, 10)
        path = folder / SHAPES["v3.0"].format(chunk_index=chunk, file_index=file)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.concat_tables(tables[first : first + per_file]), path)
        for episode in range(first, min(first + per_file, len(tables))):
            end, length = int(ends[episode]), lengths[episode]
            row = {"episode_index": episode, "data/chunk_index": chunk, "data/file_index": file}
            row |= {"dataset_from_index": end - length, "dataset_to_index": end}
            rows.append(row | {"tasks": ["pick"], "length": length})
    path = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def add_videos(folder, version, lengths, key="observation.images.top", fps=20):
    """Name the videos of a camera in the metadata; a file of v3.0 holds two episodes.

    Returns
    -------
    dict of Path to list of int
        Files that have to be written, and the episodes in each.
    """
    if version == "v2.1":
        names = [f"chunk-000/{key}/episode_{e:06d}" for e in range(len(lengths))]
        return {folder / f"videos/{name}.mp4": [e] for e, name in enumerate(names)}
    file = folder / "meta/episodes/chunk-000/file-000.parquet"
    begins = np.array([0 if e % 2 == 0 else lengths[e - 1] / fps for e in range(len(lengths))])
    table = pq.read_table(file)
    files, ends = np.arange(len(lengths)) // 2, begins + np.divide(lengths, fps)
    own = {"chunk_index": 0 * files, "file_index": files}
    for name, values in (own | {"from_timestamp": begins, "to_timestamp": ends}).items():
        table = table.append_column(f"videos/{key}/{name}", pa.array(values))
    pq.write_table(table, file)
    return {
        folder / f"videos/{key}/chunk-000/file-{e // 2:03d}.mp4": [*range(e, len(lengths))][:2]
        for e in range(0, len(lengths), 2)
    }
