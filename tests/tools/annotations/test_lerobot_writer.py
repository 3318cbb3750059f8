"""Annotations in a copy of a LeRobot data set, read back by rules of LeRobot and SARM."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import Trajectories, discover_keystates, load_trajectories
from infoatlas_tools.annotations.content import Annotations
from infoatlas_tools.annotations.csv_and_json import write_splits
from infoatlas_tools.annotations.lerobot_episodes import cut, moving_bounds
from infoatlas_tools.annotations.lerobot_writer import write_lerobot
from infoatlas_tools.annotations.quality_flags import episode_reasons
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks
from lerobot_sets import write_lerobot as write_set
from refusals import refuses
from regimes import demonstrations

VERSIONS = ("v2.1", "v3.0")
NAMES = ["reach cube", "carry cube to goal", "move cube"]
COUNT = 8


@pytest.fixture(scope="module")
def states():
    return [s.astype(np.float32) for s in demonstrations(count=COUNT, seed=1)[0]]


@pytest.fixture(scope="module")
def found(states):
    return discover_keystates(Trajectories(states, rate=20.0), count=2)


def make(found, tools=("tool",)):
    """Parts at hand-made steps; the last demonstration lacks the second part."""
    lengths = found.trajectories.lengths
    cuts = np.stack([lengths // 4 + np.arange(COUNT), lengths // 2 + np.arange(COUNT)])
    cuts[1, -1] = cuts[0, -1]
    parts = []
    for shift, tool in enumerate(tools):
        ends = [*(cuts + shift), lengths]
        for start, end, reference, held in zip(
            [np.zeros(COUNT, int), *ends], ends, ("cube", "goal", "world"), ("", "cube", "cube"),
            strict=False,
        ):  # fmt: skip
            parts.append(Subtask(tool, start, end, reference=reference, held=held))
    return Annotations(found, Subtasks(tuple(parts), lengths, 20.0), tuple(map(str, range(COUNT))))


@pytest.fixture(scope="module")
def annotations(found):
    return make(found)


@pytest.fixture(scope="module", params=VERSIONS)
def folder(request, states, tmp_path_factory):
    path = tmp_path_factory.mktemp("lerobot") / "set"
    return complete(write_set(path, states, request.param, None, per_file=3), request.param)


@pytest.fixture(scope="module")
def copy(folder, annotations):
    out = folder.parent / "copy"
    notes = write_lerobot(annotations, folder, out, style="subtask", quality=True)
    assert len(notes) == (0 if is_new(folder) else 1)
    return out


def complete(folder, version):
    """Add statistics and a video, as LeRobot writes them."""
    one = {"min": [0], "max": [9], "mean": [4.5], "std": [2.8], "count": [10]}
    if version == "v3.0":
        stats = {"frame_index": {**one, "q01": [0.0]}}
        (folder / "meta" / "stats.json").write_text(json.dumps(stats))
        file = next((folder / "meta" / "episodes").glob("*/*.parquet"))
        table = pq.read_table(file)
        for key in ("min", "mean", "q01"):
            kind = pa.list_(pa.int64() if key == "min" else pa.float64())
            column = pa.array([[0]] * len(table)).cast(kind)
            table = table.append_column(f"stats/frame_index/{key}", column)
        pq.write_table(table, file)
    else:
        lines = [{"episode_index": i, "stats": {"frame_index": one}} for i in range(COUNT)]
        (folder / "meta" / "episodes_stats.jsonl").write_text("\n".join(map(json.dumps, lines)))
    video = folder / "videos/chunk-000/observation.images.top" / "top.mp4"
    video.parent.mkdir(parents=True)
    video.write_bytes(b"video")
    (folder / "README.md").write_text("a card")
    return folder


def is_new(folder):
    return json.loads((folder / "meta" / "info.json").read_text())["codebase_version"] == "v3.0"


def frames(folder):
    """All frames in order."""
    files = sorted((folder / "data").glob("*/*.parquet"))
    table = pa.concat_tables([pq.read_table(f).replace_schema_metadata() for f in files])
    return table.sort_by("index")


def episodes(folder):
    if is_new(folder):
        files = (folder / "meta" / "episodes").glob("*/*.parquet")
        return [row for file in files for row in pq.read_table(file).to_pylist()]
    lines = (folder / "meta" / "episodes.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_columns_of_frames(folder, copy, annotations):
    table, before = frames(copy), frames(folder)
    assert table.select(before.column_names).equals(before)
    every = range(COUNT)
    for name, values in (
        ("subtask_index", [annotations.active(i) for i in every]),
        ("key_state", [annotations.newest(i) for i in every]),
    ):
        np.testing.assert_array_equal(table[name].to_numpy(), np.concatenate(values))
    flags = table["quality_flag"].to_numpy()
    idle = np.concatenate([annotations.idle(i) for i in every])
    np.testing.assert_array_equal(flags & 1, idle)
    dropped = [bool(episode_reasons(annotations, i)) for i in every]
    np.testing.assert_array_equal(flags & 4 > 0, np.repeat(dropped, annotations.lengths))


def test_metadata_lists_the_columns(folder, copy):
    info, before = (json.loads((f / "meta" / "info.json").read_text()) for f in (copy, folder))
    for name in {"subtask_index", "key_state", "quality_flag"}:
        assert info["features"].pop(name) == {"dtype": "int64", "shape": [1], "names": None}
    if is_new(folder):
        language = info["features"].pop("language_persistent")
        assert language == {"dtype": "language", "shape": [1], "names": None}
    assert info == before
    for file in (copy / "data").glob("*/*.parquet"):
        schema = pq.read_schema(file)
        listed = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        assert set(listed) == set(schema.names) and "observation.state" in listed
        assert listed["key_state"] == {"dtype": "int64", "_type": "Value"}


def test_every_frame_has_one_active_sub_task(folder, copy, annotations):
    table = frames(copy)
    if not is_new(folder):
        assert "language_persistent" not in table.column_names
        return
    rows = table["language_persistent"].to_pylist()
    times, which = table["timestamp"].to_pylist(), table["episode_index"].to_pylist()
    assert list(rows[0][0]) == ["role", "content", "style", "timestamp", "camera", "tool_calls"]
    active = np.concatenate([annotations.active(i) for i in range(COUNT)])
    last = {}
    for own, time, episode, label in zip(rows, times, which, active.tolist(), strict=True):
        assert own == last.setdefault(episode, own)  # the same for all frames of an episode
        assert all(
            (row["role"], row["style"], row["camera"], row["tool_calls"])
            == ("assistant", "subtask", None, None)
            for row in own
        )
        # LeRobot's `active_at`: the newest row that has begun.
        assert [row for row in own if row["timestamp"] <= time][-1]["content"] == NAMES[label]
    assert all({row["timestamp"] for row in own} <= set(times) for own in last.values())
    assert [len(own) for own in last.values()] == [3] * (COUNT - 1) + [2]


def test_names_of_sub_tasks(folder, copy):
    if is_new(folder):
        table = pd.read_parquet(copy / "meta" / "subtasks.parquet")
        assert table.index.name == "subtask" and list(table.columns) == ["subtask_index"]
        assert [table.iloc[i].name for i in range(3)] == NAMES  # as LeRobot accesses them
        assert table["subtask_index"].tolist() == [0, 1, 2]
        assert table["subtask_index"].dtype == np.int64
    else:
        lines = (copy / "meta" / "subtasks.jsonl").read_text().splitlines()
        assert [json.loads(line)["subtask"] for line in lines] == NAMES


def test_stages_as_sarm_reads_them(folder, copy, annotations):
    proportions = json.loads((copy / "meta" / "temporal_proportions_dense.json").read_text())
    assert list(proportions) == NAMES and sum(proportions.values()) == pytest.approx(1)
    times = frames(copy)["timestamp"].to_numpy()
    first = 0
    for i, row in enumerate(episodes(copy)):
        own = [row[f"dense_subtask_{name}"] for name in ("names", "start_frames", "end_frames")]
        stages = []
        for frame in range(row["length"]):  # its rule: the first with start <= frame <= end
            name = next(n for n, start, end in zip(*own, strict=True) if start <= frame <= end)
            stages.append(NAMES.index(name))
        assert stages == annotations.active(i).tolist()
        here = times[first : first + row["length"]]
        np.testing.assert_array_equal(row["dense_subtask_start_times"], here[own[1]])
        np.testing.assert_array_equal(row["dense_subtask_end_times"], here[own[2]])
        assert row["quality_reasons"] == episode_reasons(annotations, i)
        assert row["tasks"] == ["pick"]
        first += row["length"]


def test_progress_of_every_frame(copy, annotations):
    table = pq.read_table(copy / "sarm_progress.parquet").to_pandas()
    assert table["index"].tolist() == list(range(annotations.lengths.sum()))
    assert table["progress_dense"].dtype == np.float32
    for i, own in table.groupby("episode_index"):
        assert own["frame_index"].tolist() == list(range(annotations.lengths[i]))
        np.testing.assert_allclose(own["progress_dense"], annotations.progress(i), rtol=1e-6)


def test_statistics(folder, copy, annotations):
    first, whole = annotations.active(0), [annotations.active(i) for i in range(COUNT)]
    if is_new(folder):
        stats = json.loads((copy / "meta" / "stats.json").read_text())
        assert set(stats["subtask_index"]) == {"min", "max", "mean", "std", "count", "q01"}
        assert stats["subtask_index"]["mean"] == [pytest.approx(np.concatenate(whole).mean())]
        row = episodes(copy)[0]
        assert row["stats/subtask_index/mean"] == [pytest.approx(first.mean())]
        assert row["stats/subtask_index/min"] == [0] and "stats/subtask_index/max" not in row
    else:
        lines = (copy / "meta" / "episodes_stats.jsonl").read_text().splitlines()
        stats = json.loads(lines[0])["stats"]
        assert set(stats["subtask_index"]) == set(stats["frame_index"])
        assert stats["subtask_index"]["mean"] == [pytest.approx(first.mean())]


def test_the_copy_is_complete_and_the_data_set_untouched(folder, copy, annotations, monkeypatch):
    video = "videos/chunk-000/observation.images.top/top.mp4"
    assert os.path.samefile(copy / video, folder / video)
    assert (copy / "README.md").read_text() == "a card"
    assert not os.path.samefile(copy / "README.md", folder / "README.md")
    np.testing.assert_array_equal(load_trajectories(copy).states, load_trajectories(folder).states)
    assert not (folder / "sarm_progress.parquet").exists()

    def refuse(*_):
        raise OSError("another disk")

    monkeypatch.setattr(os, "link", refuse)
    other = folder.parent / "other"
    write_lerobot(annotations, folder, other)
    assert (other / video).read_bytes() == b"video"
    assert not {"quality_flag", "language_persistent"} & set(frames(other).column_names)
    refuses("style is 'plan'", write_lerobot, annotations, folder, other, style="plan")


def test_a_second_annotation_replaces_the_first(folder, copy, found, annotations):
    if is_new(folder):  # a plan by someone else, and progress of a trained model
        file = sorted((copy / "data").glob("*/*.parquet"))[0]
        table = pq.read_table(file)
        rows = table["language_persistent"].to_pylist()
        plan = {**rows[0][0], "content": "a plan", "style": "plan"}
        changed = pa.array([[plan, *own] for own in rows])
        at = table.column_names.index("language_persistent")
        pq.write_table(table.set_column(at, "language_persistent", changed), file)
    progress = copy / "sarm_progress.parquet"
    table = pq.read_table(progress)
    sparse = pa.array(np.linspace(0, 1, len(table), dtype=np.float32))
    pq.write_table(table.append_column("progress_sparse", sparse), progress)
    again, subtasks = copy.parent / "again", found.subtasks()
    names = tuple(map(str, range(COUNT)))
    plain = Annotations(found, subtasks, names)
    (note, *_) = write_lerobot(plain, copy, copy.parent / "plain", style="motion")
    assert note.startswith("text of sub-tasks, because 'until change B' does not say what is done")
    assert not list((copy.parent / "plain/meta").glob("subtasks.*"))
    named = Annotations(found, replace(subtasks, given_names=("a", "b", "c")), names)
    notes = write_lerobot(named, copy, again, style="subtask")
    assert len(set(frames(again).column_names)) == len(frames(again).column_names)
    kept = pq.read_table(again / "sarm_progress.parquet")
    assert kept["progress_sparse"].combine_chunks().equals(sparse)
    assert episodes(again)[0]["dense_subtask_names"][0] == "a"
    if is_new(folder):
        rows = frames(again)["language_persistent"].to_pylist()
        assert [row["content"] for row in rows[0]][:2] == ["a plan", "a"]
        assert not any(row["content"] in NAMES for row in rows[0])
        assert any("rows of language_persistent of style subtask are replaced" in n for n in notes)


@pytest.mark.parametrize(("number", "said"), [(1, "1 episode has the"), (2, "2 episodes have the")])
def test_episodes_in_another_order(found, states, tmp_path, monkeypatch, number, said):
    folder = write_set(tmp_path / "set", states, "v3.0", None)
    monkeypatch.setattr(Annotations, "reordered", np.arange(COUNT) < number)
    *_, note = write_lerobot(make(found), folder, tmp_path / "copy")
    assert note == f"{said} sub-tasks in another order, which SARM counts as going back"


def test_several_arms(states, found, tmp_path):
    folder = write_set(tmp_path / "set", states, "v3.0", None)
    both = make(found, ("left", "right"))
    *_, note = write_lerobot(both, folder, tmp_path / "copy")
    assert "SARM has one sequence of stages" in note
    assert "dense_subtask_names" not in episodes(tmp_path / "copy")[0]
    table = pd.read_parquet(tmp_path / "copy" / "meta" / "subtasks.parquet")
    assert table.index[0] == "left: reach cube; right: reach cube"
    assert len(table) == len(both.labels) > 3


def test_rows_in_any_order_and_groups_of_rows(states, annotations, tmp_path):
    folder = write_set(tmp_path / "set", states, "v3.0", None, per_file=4)
    for file in sorted((folder / "data").glob("*/*.parquet")):
        table = pq.read_table(file)
        mixed = table.take(np.random.default_rng(0).permutation(len(table)))
        pq.write_table(mixed, file, row_group_size=50)
    write_lerobot(annotations, folder, tmp_path / "copy")
    expected = np.concatenate([annotations.active(i) for i in range(COUNT)])
    np.testing.assert_array_equal(frames(tmp_path / "copy")["subtask_index"].to_numpy(), expected)
    for file in (folder / "data").glob("*/*.parquet"):
        same = tmp_path / "copy" / file.relative_to(folder)
        groups = [pq.ParquetFile(f).num_row_groups for f in (file, same)]
        assert groups[0] == groups[1] > 1


def test_mismatches_are_refused(states, annotations, tmp_path):
    for i, (given, match) in enumerate((
        (states[:-1], f"7 episodes, and the annotations are of {COUNT}"),
        ([states[0][:-1], *states[1:]], "episode 0 has .* frames, and its annotations"),
    )):  # fmt: skip
        folder = write_set(tmp_path / f"set{i}", given, "v3.0", None)
        refuses(match, write_lerobot, annotations, folder, tmp_path / "copy")
    folder = write_set(tmp_path / "set", states, "v3.0", None)
    refuses("is inside", write_lerobot, annotations, folder, folder / "copy")
    file = next((folder / "meta" / "episodes").glob("*/*.parquet"))
    assert not (tmp_path / "copy").exists() and not (folder / "copy").exists() and file.exists()


def part_of(annotations, found, kept):
    """Annotations of some demonstrations, by their old numbers."""
    parts = [
        Subtask(p.tool, p.start[kept], p.end[kept], reference=p.reference, held=p.held)
        for p in annotations.subtasks.parts
    ]
    states = found.trajectories.split()
    some = discover_keystates(Trajectories([states[i] for i in kept], rate=20.0), count=2)
    subtasks = Subtasks(tuple(parts), annotations.lengths[kept], 20.0)
    return Annotations(some, subtasks, tuple(map(str, kept)))


def test_a_part_of_the_episodes_is_on_this_machine(folder, found, annotations, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    kept = [0, 1, 2, 6, 7]
    for file in sorted((part / "data").glob("*/*.parquet")):
        if set(pq.read_table(file)["episode_index"].to_pylist()) <= {3, 4, 5}:
            file.unlink()
    assert load_trajectories(part).episodes == tuple(map(str, kept))
    some = part_of(annotations, found, kept)
    notes = write_lerobot(some, part, tmp_path / "copy")
    assert "3 of 8 episodes are not on this machine and not annotated" in notes[0]
    table = frames(tmp_path / "copy")
    expected = np.concatenate([annotations.active(i) for i in kept])
    np.testing.assert_array_equal(table["subtask_index"].to_numpy(), expected)
    stages = [row.get("dense_subtask_names") for row in episodes(tmp_path / "copy")]
    assert stages == [NAMES] * 3 + [None] * 3 + [NAMES, [NAMES[0], NAMES[2]]]
    progress = pq.read_table(tmp_path / "copy" / "sarm_progress.parquet")
    assert sorted(set(progress["episode_index"].to_pylist())) == kept
    again = write_lerobot(some, tmp_path / "copy", tmp_path / "again")  # nulls can be read again
    assert any("3 of 8 episodes" in note for note in again)


def test_rows_of_an_episode_that_is_left_out_are_refused(folder, found, annotations, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    for file in (part / "data").glob("*/*.parquet"):
        table = pq.read_table(file)
        own = np.array(table["episode_index"].to_pylist()) != 5
        own |= np.array(table["frame_index"].to_pylist()) < 9
        pq.write_table(table.filter(pa.array(own)), file)
    kept = [0, 1, 2, 3, 4, 6, 7]
    assert load_trajectories(part).episodes == tuple(map(str, kept))
    with pytest.raises(InputError, match=r"has episode 5, which has no annotation .* delete it"):
        write_lerobot(part_of(annotations, found, kept), part, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("style", [None, "subtask"])
def test_episodes_not_chosen_are_not_annotated(folder, annotations, found, tmp_path, style):
    kept = [0, 1, 2, 4, 6, 7]
    some = part_of(annotations, found, kept)
    notes = write_lerobot(some, folder, tmp_path / "copy", style=style, quality=True)
    assert any(n.startswith("2 of 8 episodes, of other tasks, without success") for n in notes)
    table = frames(tmp_path / "copy")
    number = len(NAMES)
    expected = [
        some.active(kept.index(i)) if i in kept else np.full(length, number)
        for i, length in enumerate(annotations.lengths.tolist())
    ]
    np.testing.assert_array_equal(table["subtask_index"].to_numpy(), np.concatenate(expected))
    if style and is_new(folder):
        names = pd.read_parquet(tmp_path / "copy" / "meta" / "subtasks.parquet").index.tolist()
        assert names == [*NAMES, "not annotated"]
        columns = ("episode_index", "language_persistent")
        lists = zip(*(table[name].to_pylist() for name in columns), strict=True)
        assert all(bool(rows) == (episode in kept) for episode, rows in lists)
    stages = [row.get("dense_subtask_names") for row in episodes(tmp_path / "copy")]
    assert [stage is None for stage in stages] == [i not in kept for i in range(8)]


@pytest.mark.parametrize("fps", [0, 50])
def test_times_are_those_of_the_frames(states, annotations, tmp_path, fps):
    folder = write_set(tmp_path / "set", states, "v3.0", None)  # at 20 Hz
    info = json.loads((folder / "meta" / "info.json").read_text())
    (folder / "meta" / "info.json").write_text(json.dumps({**info, "fps": fps}))
    write_lerobot(annotations, folder, tmp_path / "copy")
    row = episodes(tmp_path / "copy")[1]
    np.testing.assert_allclose(
        row["dense_subtask_start_times"], np.array(row["dense_subtask_start_frames"]) / 20, 1e-6
    )
    assert json.loads((tmp_path / "copy" / "meta" / "info.json").read_text())["fps"] == fps


REST = 6  # frames at rest before and after the motion


@pytest.mark.parametrize("version", VERSIONS)
def test_a_copy_without_ends_at_rest(states, tmp_path, version):
    padded = [np.pad(s, ((REST, REST), (0, 0)), mode="edge") for s in states]
    folder = write_set(tmp_path / "set", padded, version, None, per_file=3)
    read = load_trajectories(folder)
    found = discover_keystates(read, count=2)
    made = Annotations(found, replace(found.subtasks(), given_names=("a", "b", "c")), read.episodes)
    if version == "v2.1":
        with pytest.raises(InputError, match="first, or leave --trim out"):
            write_lerobot(made, folder, tmp_path / "copy", trim=True)
        file = folder / "meta" / "info.json"
        info = json.loads(file.read_text())
        info["features"].pop("observation.images.top")
        file.write_text(json.dumps(info))
        lines = [{"episode_index": i, "stats": {n: {"mean": [9.0]} for n in ("index", "action")}}
                 for i in range(COUNT)]  # fmt: skip
        (folder / "meta" / "episodes_stats.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (note, *_) = write_lerobot(made, folder, tmp_path / "copy", style="subtask", trim=True)
    short = cut(made, moving_bounds(made))
    assert note == f"{2 * REST * COUNT} of {made.lengths.sum()} frames, at rest at an end"
    assert (short.first == REST).all() and (short.lengths == [len(s) for s in states]).all()
    copied = load_trajectories(tmp_path / "copy")
    np.testing.assert_array_equal(copied.states, np.concatenate(states))
    table = frames(tmp_path / "copy")
    assert table["index"].to_pylist() == list(range(sum(map(len, states))))
    one = np.concatenate([np.arange(len(s)) for s in states])
    np.testing.assert_array_equal(table["frame_index"].to_numpy(), one)
    np.testing.assert_allclose(table["timestamp"].to_numpy(), one / 20, atol=2e-6)
    expected = np.concatenate([made.active(i)[REST:-REST] for i in range(COUNT)])
    np.testing.assert_array_equal(table["subtask_index"].to_numpy(), expected)
    assert [row["length"] for row in episodes(tmp_path / "copy")] == [len(s) for s in states]
    if version == "v2.1":
        lines = (tmp_path / "copy/meta/episodes_stats.jsonl").read_text().splitlines()
        assert json.loads(lines[0])["stats"]["index"]["mean"] == [(len(states[0]) - 1) / 2]
        return
    # Rows of a language that are kept begin earlier by the frames that are cut.
    write_lerobot(made, folder, tmp_path / "spoken", style="subtask")
    write_lerobot(made, tmp_path / "spoken", tmp_path / "kept", trim=True)
    rows, kept = (
        [r["timestamp"] for r in frames(tmp_path / name)["language_persistent"][0].as_py()]
        for name in ("spoken", "kept")
    )
    np.testing.assert_allclose(kept, np.maximum(np.array(rows) - REST / 20, 0), atol=1e-6)


def test_statistics_of_a_set_without_those_of_counters(states, tmp_path):
    padded = [np.pad(s, ((REST, REST), (0, 0)), mode="edge") for s in states]
    folder = write_set(tmp_path / "set", padded, "v3.0", None, per_file=3)
    name = "stats/observation.state"
    for file in (folder / "meta" / "episodes").glob("*/*.parquet"):
        table = pq.read_table(file)
        old = [padded[i] for i in table["episode_index"].to_pylist()]
        columns = {"count": [[len(s)] for s in old], "mean": [s.mean(0).tolist() for s in old]}
        for key, column in columns.items():
            table = table.append_column(f"{name}/{key}", pa.array(column))
        pq.write_table(table, file)
    read = load_trajectories(folder)
    found = discover_keystates(read, count=2)
    made = Annotations(found, found.subtasks(), read.episodes)
    write_lerobot(made, folder, tmp_path / "copy", trim=True)
    rows = episodes(tmp_path / "copy")
    assert {key for key in rows[0] if key.startswith("stats/")} == {f"{name}/count", f"{name}/mean"}
    for row in rows:
        own = states[row["episode_index"]]
        assert row[f"{name}/count"] == [row["length"]] == [len(own)]
        np.testing.assert_allclose(row[f"{name}/mean"], own.mean(0), rtol=1e-5, atol=1e-6)


def test_episodes_by_the_order_of_their_sub_tasks(annotations, tmp_path):
    assert list(annotations.orders.values()) == [list("0123456"), ["7"]]
    assert list(annotations.orders)[1] == "reach cube > move cube"
    write_splits(annotations, tmp_path, tmp_path / "splits.json")
    splits = json.loads((tmp_path / "splits.json").read_text())
    assert splits == {"order_1": list(range(7)), "order_2": [7]}
