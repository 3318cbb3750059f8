"""Recorded demonstrations, a data set or a folder of ROS bags, decided and opened once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ..cameras.camera import Camera
from ..files.formats import Dataset, open_dataset
from ..files.hub import local_path
from ..files.lerobot.features import PICTURES, kind_of_feature
from ..folder_entries import entries
from ..presentation import ParameterError
from ..trajectories import Trajectories
from .bag_images import BagImages, check_camera, image_topics
from .demonstrations import load_demonstrations
from .states import SUFFIXES, Bag, bags_in

MESSAGES = ("topic", "field", "joints")  # choose states in the messages of bags
ACTIONS = ("action", "actions")  # the names that data sets have for them


@dataclass(frozen=True, eq=False)
class Recording:
    """Demonstrations that `open_recording` opened; they are read once, at their first use."""

    path: Path
    dataset: Dataset | None  # None for a folder of ROS bags
    camera_names: tuple[str, ...]
    messages: Mapping[str, Any]  # those of `MESSAGES` that were given
    options: Mapping[str, Any]  # of the reader of the data set
    described: Mapping[str, Any]  # fields of `Trajectories`
    cuts: Any = None  # `Cuts`: its executions are the demonstrations

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that are written for such data alone, the default first."""
        if self.cuts is not None:  # they are no episodes of the data
            return ()
        return self.dataset.format.annotations if self.dataset else ("mcap",)

    @cached_property
    def trajectories(self) -> Trajectories:
        """The demonstrations, with the images of the first camera."""
        camera = self.camera_names[0] if self.camera_names else None
        if self.dataset:
            found = self.dataset.load(**self.options, camera=camera)
        else:
            given = self.messages
            found = load_demonstrations(
                self.path, given.get("topic"), given.get("field"), given.get("joints") or (), camera
            )
        found = found.described(**self.described)
        return found if self.cuts is None else self.cuts.apply(found)

    @cached_property
    def cameras(self) -> dict[str, Camera]:
        """The cameras, by the names that were given."""
        found = {}
        for number, name in enumerate(self.camera_names):
            first = self.trajectories.camera
            found[name] = self._another(name, first) if number else first
        return found

    @cached_property
    def all_cameras(self) -> tuple[str, ...]:
        """Names of the cameras of a LeRobot data set, or of bags; of other data none are known."""
        if self.dataset is None:
            with Bag(bags_in(self.path)[0]) as bag:
                return tuple(image_topics(bag))
        features = self.dataset.content.info["features"] if "lerobot" in self.formats else {}
        return tuple(name for name, own in features.items() if kind_of_feature(own) == PICTURES)

    def _another(self, name: str, first: Camera) -> Camera:
        if self.dataset:
            return self.dataset.camera(name, self.trajectories)
        images = []
        for own in first.demonstrations:
            assert isinstance(own, BagImages)
            with Bag(own.path) as bag:
                check_camera(bag, name)
            images.append(own._replace(topic=name))
        return Camera(name, first.lengths, images)

    @cached_property
    def actions(self) -> list[NDArray[Any]] | None:
        """Actions [T or T - 1, q] of each demonstration; None if the data have none of them."""
        for name in ACTIONS:
            if self.dataset is None:
                return None
            try:
                found = self.dataset.load(**{**self.options, "features": [name]})
            except InputError:
                continue
            names = self.trajectories.episodes  # some are left out if they have no video
            own = dict(zip(found.episodes, found.split(), strict=False))
            if found.episodes == names or (names and own.keys() >= {*names}):
                chosen = [own[name] for name in names] or found.split()
                missing = self.trajectories.lengths - [len(each) for each in chosen]
                return chosen if set(missing.tolist()) <= {0, 1} else None
        return None


def open_recording(
    path: str | os.PathLike[str],
    *,
    camera: str | Sequence[str] = (),
    topic: str | None = None,
    field: Sequence[str] | None = None,
    joints: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    only_successful: bool | None = None,
    split: str | None = None,
    task: str | int | None = None,
    episode_column: str | None = None,
    one_bag: bool = False,
    cuts: Any = None,
    **described: Any,
) -> Recording:
    """Open a data set, or a folder of ROS bags; its states are read when they are used.

    Parameters
    ----------
    path : path
        A data set that `load_trajectories` reads, also by its id of the Hugging Face Hub; or a
        folder of two or more bags, one for each demonstration.
    camera : str, or sequence of str
        Cameras: features of a LeRobot data set, topics of bags, or folders of videos.
    topic, field, joints : str; sequence of str, optional
        For bags: the topic of the states, its fields, and names of the joints to read.
    features, only_successful, split, task, episode_column : optional
        For data sets, as in `load_trajectories`.
    one_bag : bool
        Open one bag, too: it is one demonstration.
    cuts : Cuts, optional
        Executions in the demonstrations (`cut/`), which are then the demonstrations.
    **described
        Fields of `Trajectories` that describe the data: `rate` (Hz), `gripper`, `ignore`,
        `orientation`, `stride`, `resolution`.

    Raises
    ------
    InputError
        There is nothing at the path, it is a single bag or of an unknown kind, or an option is for
        data of another kind.
    """
    names = (camera,) if isinstance(camera, str) else tuple(camera)
    path = local_path(path, names)
    kind = kind_of(path)
    if kind == BAG and not one_bag and cuts is None:
        raise InputError(f"{path} is a ROS bag, one robot's stream: use infoatlas-rt bag")
    dataset = open_dataset(path) if kind == DATA_SET else None
    messages = {"topic": topic, "field": field, "joints": joints}
    options = {
        "features": features,
        "only_successful": only_successful,
        "split": split,
        "task": task,
        "episode_column": episode_column,
    }
    for name, value in (messages if dataset else options).items():
        if value is not None and dataset:
            raise ParameterError(
                f"`{name}` is for a folder of ROS bags, and {path} is none: leave it out"
            )
        if value is not None:
            raise ParameterError(
                f"`{name}` is for data sets, and {path} is a folder of ROS bags: choose with "
                "`field` or `joints`"
            )
    return Recording(Path(path), dataset, names, messages, options, described, cuts)


BAGS, BAG, DATA_SET = "folder of bags", "bag", "data set"


def kind_of(path: str | os.PathLike[str]) -> str:
    """What is at a path: `BAGS`, `BAG`, or else `DATA_SET`; InputError if there is nothing."""
    if not os.fspath(path):
        raise InputError("the path of the data is empty: pass a file or a folder")
    place = Path(path)
    if not place.exists():
        raise InputError(f"{path} does not exist: check the path")
    if bags_in(place):
        return BAGS
    inside = [file.name for file in entries(place)] if place.is_dir() else [place.name]
    stored = any(name == "metadata.yaml" or name.endswith(SUFFIXES) for name in inside)
    return BAG if stored else DATA_SET
