"""LeRobot's own classes write a data set with videos, and read what `annotate` makes of it."""

import numpy as np
import pytest
import torch
from lerobot.datasets import LeRobotDataset
from lerobot.utils.collate import lerobot_collate_fn

from infoatlas_rt.cli.main import main
from regimes import demonstrations

CAMERA = "observation.images.top"
REST = 7  # frames before and after the motion
SIZE = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Episodes that rest at both ends; a picture is brighter than that before."""
    path, states = tmp_path_factory.mktemp("lerobot") / "set", demonstrations(count=6, seed=1)[0]
    numbers = {"dtype": "float32", "shape": (states[0].shape[1],), "names": None}
    picture = {"dtype": "video", "shape": (SIZE, SIZE, 3), "names": ["height", "width", "channels"]}
    features = {"observation.state": numbers, "action": numbers, CAMERA: picture}
    written = LeRobotDataset.create("a/b", 20, features, root=path, robot_type="arm")
    for own in states:
        moving = np.pad(own, ((REST, REST), (0, 0)), mode="edge").astype(np.float32)
        for step, state in enumerate(moving):
            written.add_frame({
                "observation.state": state,
                "action": moving[min(step + 1, len(moving) - 1)],
                CAMERA: np.full((SIZE, SIZE, 3), 2 * step, np.uint8),
                "task": "pick",
            })  # fmt: skip
        written.save_episode()
    written.finalize()
    return path


def opened(path):
    return LeRobotDataset("a/b", root=path, video_backend="pyav")


def annotate(folder, *options):
    out = folder.parent / f"copy{len(list(folder.parent.iterdir()))}"
    command = ["annotate", str(folder), "--count", "2", "--names", "reach,carry,rest", "--qa"]
    assert main([*command, "--out", str(out), *options]) == 0
    return opened(out)


def test_an_ordinary_data_loader(folder):
    dataset, before = annotate(folder), opened(folder)
    loader = torch.utils.data.DataLoader(dataset, batch_size=16)
    batches = list(loader)
    assert sum(len(batch["index"]) for batch in batches) == len(before)
    assert {"subtask_index", "key_state", "quality_flag", CAMERA} <= set(batches[0])
    assert set(torch.cat([batch["subtask_index"] for batch in batches]).tolist()) == {0, 1, 2}


def test_rows_of_language_on_request(folder):
    dataset = annotate(folder, "--language", "subtask")
    assert dataset.meta.has_language_columns
    rows = dataset[0]["language_persistent"]
    assert [row["content"] for row in rows] == ["reach", "carry", "rest"]
    loader = torch.utils.data.DataLoader(dataset, batch_size=16, collate_fn=lerobot_collate_fn)
    assert sum(len(batch["index"]) for batch in loader) == len(dataset)


def test_a_copy_without_its_ends_at_rest(folder):
    dataset, before = annotate(folder, "--trim"), opened(folder)
    assert dataset.num_episodes == before.num_episodes
    assert len(dataset) == sum(dataset.meta.episodes["length"]) < len(before) - 6 * REST
    first = np.append(0, np.cumsum(before.meta.episodes["length"]))
    for i, length in enumerate(dataset.meta.episodes["length"]):
        start = dataset.meta.episodes[i]["dataset_from_index"]
        assert dataset.meta.episodes[i]["dataset_to_index"] == start + length
        for frame in (0, length // 2, length - 1):
            item = dataset[start + frame]
            assert item["episode_index"] == i and item["frame_index"] == frame
            assert item["index"] == start + frame
            assert item["timestamp"] == pytest.approx(frame / 20, abs=1e-5)
            old = before[int(first[i]) + REST - 1 + frame]  # the first action is a step ahead
            for name in ("observation.state", "action", CAMERA):
                torch.testing.assert_close(item[name], old[name], rtol=0, atol=0)
        assert not torch.equal(item[CAMERA], before[int(first[i]) + REST - 2 + frame][CAMERA])
    states = np.stack([dataset[i]["observation.state"] for i in range(len(dataset))])
    stats = dataset.meta.stats["observation.state"]
    np.testing.assert_allclose(stats["mean"], states.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(stats["max"], states.max(axis=0), rtol=1e-6)
    assert stats["count"] == len(dataset)
