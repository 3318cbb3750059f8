"""Loads trajectories and samples from files.

States do not contain a simulator's flags (`is_grasped`, `success`, ...).
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ..trajectories import Trajectories
from .formats import no_reader, open_dataset
from .hub import local_path
from .numbers import NUMPY_SUFFIXES, read_numpy
from .tables.columns import as_sample
from .tables.table_formats import READERS


def load_trajectories(
    path: str | os.PathLike[str],
    *,
    features: Sequence[str] | None = None,
    only_successful: bool | None = None,
    env_states: bool | None = None,
    split: str | None = None,
    task: str | int | None = None,
    episode_column: str | None = None,
    camera: Any = None,
    **described: Any,
) -> Trajectories:
    """Read trajectories.

    Parameters
    ----------
    path : path
        .npz: `states` [sum, d] and `lengths` [N] (one trajectory without them), optional `names`
        [d] and `rate`, samples per second (Hz). .npy: [n, d], one trajectory.

        A table (the formats of `tables/table_formats.py`), with a header or without. Columns such
        as `episode_index`, `frame` and `time_s` separate trajectories and are left out. Times with
        even steps determine the rate.

        .h5, .hdf5: files of robomimic, MimicGen, Isaac Lab, robosuite, ManiSkill, ALOHA, D4RL or
        Minari, which are recognised by their content (`hdf5/`).

        The id of a LeRobot data set of the Hugging Face Hub, as "lerobot/pusht" or
        "hf://lerobot/pusht@v3.0" (extra `hub`; `hub.py`).

        A folder: a LeRobot data set (`lerobot/`), a Minari data set, or any of the files above, one
        for each trajectory (`folders.py`).
    features : sequence of str, optional
        For a LeRobot data set: features of numbers, side by side, as in ["observation.state",
        "action"]; `observation.state` unless given. For an HDF5 file: names of arrays, as
        ["robot0_eef_pos", "object"], ["states"] or ["qpos", "qvel"]; observations unless given.
    only_successful : bool, optional
        Leave out episodes whose last step is no success, where the data say so (True unless given);
        all are kept if none succeeds. These are the flags `success` and `next.success` of LeRobot,
        `success` of ManiSkill and Isaac Lab, and columns of these names in tables.
    env_states : bool, optional
        For a ManiSkill file: read states of the simulation even if there are observations (False
        unless given).
    split : str, optional
        For a file of robomimic or Isaac Lab: name of a list of demonstrations in `mask`, as
        "train"; all unless given.
    task : str or int, optional
        Name or number of a task, where the data name several; all are read, with a note, unless
        given.
    episode_column : str, optional
        For a table: name of the column that separates trajectories: a label, or a counter or time
        that restarts with each. "none" if all rows are of one trajectory. Recognised by its name
        unless given (`episode`, `traj_id`, `Demo`, `run`, ...).
    camera : str, or sequence of N arrays [T_i, H, W, 3] uint8, optional
        For a LeRobot data set: name of a feature of images or videos, or its end, as "top" for
        "observation.images.top". For other data: a folder with a video or a folder of images for
        each demonstration. For any data: arrays of images.
    **described
        Fields of `Trajectories` that describe the data: `rate`, `names`, `stride`, `gripper`,
        `ignore`, `orientation`, `resolution`.

    Returns
    -------
    Trajectories
        Their `rate` (Hz) is None if it is not in the file. `episodes` are the names of the
        trajectories in the file, and `notes` are sentences about what was left out.

    Raises
    ------
    InputError
        The file is missing, damaged, pickled or of another kind. Its arrays do not fit together, or
        have NaN or infinite values. A counter or clock of a table indicates several trajectories
        that no column names. An option is for another kind of file. The message names the file and
        the remedy.

    Examples
    --------
    >>> demos = load_trajectories("examples/data/pickcube.npz", rate=20, gripper="finger")
    >>> demos.rate, len(demos.lengths), [demos.names[c] for c in demos.gripper][:2]
    (20.0, 100, ['finger1.position', 'finger2.position'])
    """
    if not isinstance(camera, str | None):
        described["camera"], camera = camera, None
    found = open_dataset(local_path(path, [camera] if camera else [])).load(
        features=features,
        only_successful=only_successful,
        env_states=env_states,
        split=split,
        task=task,
        episode_column=episode_column,
        camera=camera,
    )
    return found.described(**described)


def load_samples(
    path: str | os.PathLike[str], *, missing: bool = False
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Samples [n, d] of one variable, from .npy, a table, or an .npz with a single array; notes.

    All columns of a table are coordinates, except for an index that pandas wrote without a name.
    The notes name it, and columns that look like labels of demonstrations, counters or times. With
    `missing`, the missing values of a table (blank rows, empty cells, NA and the like, nulls) are
    NaN instead of refused; for `drop_missing`. Errors are those of `load_trajectories`; but the
    estimator checks the numbers.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in READERS:
        table = READERS[suffix](path, lambda name: False, missing)
        try:
            values, notes = as_sample(table)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return values, tuple(f"{path}: {note}" for note in notes)
    if suffix not in NUMPY_SUFFIXES:
        raise no_reader(path)
    arrays = read_numpy(path)
    if len(arrays) != 1:
        raise InputError(f"{path} has {sorted(arrays)}: pass a file with one array [n, d]")
    return next(iter(arrays.values())), ()


class Pairs(NamedTuple):
    """Samples of two variables, [n, dx] and [n, dy]."""

    x: NDArray[Any]
    y: NDArray[Any]
    dropped: int  # pairs that were left out because a value is missing
    # Sentences about what was left out of the files, or is ambiguous in them.
    notes: tuple[str, ...]


def load_pairs(
    x_path: str | os.PathLike[str], y_path: str | os.PathLike[str], *, drop_missing: bool = False
) -> Pairs:
    """Samples of two variables, row by row, each as from `load_samples`.

    With `drop_missing`, pairs in which a value of either side is missing are left out, instead of
    refusing the files. InputError if sides with missing values have different numbers of samples.
    """
    (x, about_x), (y, about_y) = (load_samples(p, missing=drop_missing) for p in (x_path, y_path))
    notes = (*about_x, *(note for note in about_y if note not in about_x))
    if not drop_missing:
        return Pairs(x, y, 0, notes)
    if x.shape[:1] != y.shape[:1] or not x.ndim:
        raise InputError(f"x has shape {x.shape} and y {y.shape}: pass pairs, as many of each")
    complete = np.ones(len(x), bool)
    for side in (x, y):
        if side.dtype.kind == "f":
            complete &= ~np.isnan(side.reshape(len(side), -1)).any(axis=1)
    return Pairs(x[complete], y[complete], int((~complete).sum()), notes)
