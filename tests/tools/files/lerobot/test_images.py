"""Cameras of LeRobot data sets: videos of v2.1 and v3.0, and images in tables."""

import json

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.files.lerobot.images import NEW_PATH, OLD_PATH
from lerobot_sets import add_videos, write_lerobot
from numbered_videos import numbers, picture, write_video
from refusals import refuses

KEY = "observation.images.top"
LENGTHS = (12, 9, 15, 10, 11)
FIRSTS = np.cumsum((0, *LENGTHS[:-1]))  # the number in the first image of each episode


def shown(episode):
    return range(FIRSTS[episode], FIRSTS[episode] + LENGTHS[episode])


def write_set(folder, version):
    """A data set without images."""
    rng = np.random.default_rng(0)
    states = [rng.normal(size=(n, 3)).astype(np.float32) for n in LENGTHS]
    return write_lerobot(folder, states, version, ["x", "y", "z"])


def with_videos(folder, version, codec="libx264", **options):
    """A data set with videos; those of v3.0 hold two episodes each."""
    write_set(folder, version)
    for path, episodes in add_videos(folder, version, LENGTHS).items():
        write_video(path, [n for e in episodes for n in shown(e)], codec, **options)
    return folder


def with_images(folder, version):
    """A data set with images in its tables, as Hugging Face's library stores them."""
    write_set(folder, version)
    info = json.loads((folder / "meta/info.json").read_text("utf-8"))
    info["features"][KEY]["dtype"] = "image"
    (folder / "meta/info.json").write_text(json.dumps(info), "utf-8")
    for file in folder.glob("data/*/*.parquet"):
        table = pq.read_table(file)
        cells = []
        for number in table.column("index").to_pylist():
            content = cv2.imencode(".png", picture(number))[1].tobytes()
            cells.append({"bytes": content, "path": f"frame-{number:06d}.png"})
        kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        table = table.append_column(KEY, pa.array(cells, kind))
        pq.write_table(table, file, row_group_size=7)
    return folder


def check(folder, episodes):
    """Compare the images of the camera with those of these episodes."""
    found = load_trajectories(folder, camera="top")
    assert found.episodes == tuple(map(str, episodes)) and found.camera.name == "top"
    for i, e in enumerate(episodes):
        assert numbers(found.camera.read(i, range(LENGTHS[e]), 32)) == [*shown(e)]
        assert numbers(found.camera.read(i, [0, 7, 8], 64)) == [shown(e)[s] for s in (0, 7, 8)]
    return found


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize(
    "codec", [("libx264", {}), ("libsvtav1", {"g": 2, "crf": 30, "preset": 12})], ids=str
)
def test_videos(tmp_path, version, codec):
    name, options = codec
    found = check(with_videos(tmp_path / "set", version, name, **options), range(5))
    path, begin, end = found.camera.video(3)
    assert path.is_file() and end - begin == pytest.approx(0.5)
    assert begin == pytest.approx(0.75 if version == "v3.0" else 0)


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_images_in_tables(tmp_path, version):
    assert check(with_images(tmp_path / "set", version), range(5)).camera.video(0) is None


def test_images_beside_tables(tmp_path):
    folder = with_images(tmp_path / "set", "v3.0")
    for file in folder.glob("data/*/*.parquet"):
        table = pq.read_table(file)
        cells = table.column(KEY).to_pylist()
        for cell in cells:
            (folder / cell["path"]).write_bytes(cell.pop("bytes"))
        kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        column = table.column_names.index(KEY)
        pq.write_table(table.set_column(column, KEY, pa.array(cells, kind)), file)
    check(folder, range(5))
    (folder / "frame-000003.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"row 3 of observation.images.top is no image"):
        load_trajectories(folder, camera=KEY).camera.read(0, [3], 32)


def test_episodes_without_images_are_left_out(tmp_path):
    folder = with_videos(tmp_path / "set", "v2.1")
    videos = folder / f"videos/chunk-000/{KEY}"
    (videos / "episode_000000.mp4").unlink()
    (videos / "episode_000002.mp4").write_text("version https://git-lfs.github.com/spec/v1\n")
    write_video(videos / "episode_000004.mp4", range(8))
    found = check(folder, (1, 3))
    note = found.notes[-1]
    assert note.startswith("3 of 5 episodes are left out: episode 0 has no video ")
    assert "episode 2 has a pointer of Git LFS" in note
    assert "episode 4 has 8 of its 11 frames in " in note
    assert len(load_trajectories(folder).lengths) == 5


@pytest.mark.parametrize("template", [None, OLD_PATH, NEW_PATH])
def test_videos_in_a_folder_video_are_read(tmp_path, template):
    """Whether the template has its name, or that of another folder."""
    folder = with_videos(tmp_path / "set", "v2.1" if template == OLD_PATH else "v3.0")
    if template is None:
        (folder / "videos").rename(folder / "video")
        (folder / "videos").mkdir()
    else:
        info = folder / "meta/info.json"
        renamed = {"video_path": template.replace("videos/", "video/")}
        info.write_text(json.dumps(json.loads(info.read_text("utf-8")) | renamed), "utf-8")
    check(folder, range(5))


def test_errors_name_the_way_out(tmp_path):
    folder = with_videos(tmp_path / "set", "v3.0")
    with pytest.raises(InputError, match=r"no camera 'wrist': its cameras are observation.images"):
        load_trajectories(folder, camera="wrist")
    for file in folder.glob("videos/*/*/*.mp4"):
        file.unlink()
    with pytest.raises(InputError, match=r"no episode is complete. 5 of 5 .* has no video"):
        load_trajectories(folder, camera="top")
    info = folder / "meta/info.json"
    info.write_text(json.dumps(json.loads(info.read_text()) | {"video_path": "{other}"}))
    refuses(r"video_path '\{other\}'", load_trajectories, folder, camera="top")
