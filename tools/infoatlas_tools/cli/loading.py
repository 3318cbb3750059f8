"""Options for the demonstrations of a command, and their loading."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from infoatlas_rt.errors import InputError

from ..files.tables.table_formats import NAMED

if TYPE_CHECKING:
    from ..files.formats import Dataset
    from ..trajectories import Trajectories

DATA_SET = (
    "a LeRobot folder, an .hdf5 of robomimic, MimicGen, Isaac Lab, ManiSkill, ALOHA, D4RL or "
    f"Minari, a {' or '.join(NAMED)} table, or an .npz. The .npz contains states, the rows of all "
    "demonstrations, and lengths, the number of rows of each. Or a folder with one of these files "
    "for each demonstration"
)
DEMONSTRATIONS = f"{DATA_SET}. Or a folder of ROS bags, one for each demonstration"


def add_loading(parser: ArgumentParser) -> None:
    """Add options that choose a part of a data set, for `load_data`."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--features",
        nargs="+",
        metavar="NAME",
        help="features of a LeRobot data set to read (default: observation.state), or arrays of an "
        ".hdf5, as robot0_eef_pos or states (default: its observations)",
    )
    group.add_argument(
        "--split",
        metavar="NAME",
        help="list of demonstrations in `mask` of an .hdf5 (default: all demonstrations)",
    )
    group.add_argument(
        "--no-only-successful",
        dest="only_successful",
        action="store_false",
        default=None,
        help="keep episodes of a ManiSkill file that do not end in success",
    )
    group.add_argument(
        "--episode-column",
        metavar="NAME",
        help=f"column of a table ({', '.join(NAMED)}) with the label of each row's demonstration, "
        "or with a counter that restarts in each demonstration. none: all rows are one "
        "demonstration (default: recognised by its name)",
    )


def load_data(arguments: Namespace, dataset: Dataset | None) -> Trajectories:
    """Demonstrations in a data set, or without one in a folder of bags."""
    from ..bags.demonstrations import load_demonstrations

    for name in ("topic", "field", "joints"):
        if dataset and getattr(arguments, name, None) is not None:
            raise InputError(
                f"--{name} is for a folder of ROS bags, and {arguments.data} is none: leave it out"
            )
    options = ("features", "split", "only_successful", "episode_column")
    chosen = {name: getattr(arguments, name) for name in options}
    camera = getattr(arguments, "camera", None)
    if dataset:
        return dataset.load(**chosen, camera=camera)
    for name, value in chosen.items():
        if value is not None:
            raise InputError(
                f"--{name.replace('_', '-')} is for data sets, and {arguments.data} is a folder of "
                "ROS bags: choose with --field or --joints"
            )
    return load_demonstrations(
        arguments.data, arguments.topic, arguments.field, arguments.joints or (), camera
    )


def load_actions(
    arguments: Namespace, dataset: Dataset | None, trajectories: Trajectories
) -> list[Any] | None:
    """Actions [T or T - 1, q] of each demonstration; None if the data set has none of them."""
    for name in ("action", "actions") if dataset else ():
        try:
            found = load_data(
                Namespace(**{**vars(arguments), "features": [name], "camera": None}), dataset
            )
        except InputError:
            continue
        if found.episodes == trajectories.episodes:
            missing = trajectories.lengths - found.lengths
            return found.split() if set(missing.tolist()) <= {0, 1} else None
    return None
