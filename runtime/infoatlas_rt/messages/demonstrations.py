"""A folder of ROS bags, one for each demonstration, as trajectories."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..inputs.trajectories import Trajectories
from .bags import SUFFIXES, Bag
from .fields import Extractor


def bags_in(path: str | os.PathLike[str]) -> list[Path]:
    """Two or more bags of a folder that is none itself, by name; empty for anything else."""
    folder = Path(path)
    if not folder.is_dir() or (folder / "metadata.yaml").exists():
        return []
    found = sorted(
        entry
        for entry in folder.iterdir()
        if entry.suffix in SUFFIXES or (entry / "metadata.yaml").is_file()
    )
    return found if len(found) > 1 else []


def load_demonstrations(
    path: str | os.PathLike[str],
    topic: str | None,
    fields: Sequence[str] | None = None,
    joints: Sequence[str] = (),
) -> Trajectories:
    """Read one topic of every bag of a folder; each bag is a trajectory.

    Parameters
    ----------
    path : path
        A folder of bags (folders, .mcap, .db3 or .bag files).
    topic : str
    fields, joints : sequence of str
        As in `Extractor`.

    Returns
    -------
    Trajectories
        States in the order of arrival. A step is a message, so all bags should have one rate.

    Raises
    ------
    InputError
        No topic, a bag without it, or states that are not finite or change their size.
    """
    names: tuple[str, ...] = ()
    states = []
    for bag_path in bags_in(path):
        with Bag(bag_path) as bag:
            if topic is None:
                raise InputError(f"name the topic to read, with --topic. {bag.listing()}")
            extractor = Extractor(fields, bag.schema(topic), joints)
            # The extractor returns the same array each time.
            rows = [extractor(message).copy() for _, _, message in bag.messages(topic)]
        if names and extractor.names != names:
            raise InputError(
                f"{bag_path} has the coordinates {', '.join(extractor.names)} on {topic}, but the "
                f"first bag has {', '.join(names)}: choose them with --field or --joints"
            )
        names = extractor.names
        states.append(np.stack(rows))
    lengths = np.array([len(rows) for rows in states], np.int64)
    return Trajectories(np.concatenate(states), lengths, names)
