"""Reads LeRobot data sets (v2.0, v2.1, v3.0) as trajectories.

`meta/info.json` describes the features. `data/` has .parquet files with a row for each frame, of
one episode (v2) or many (v3). The lengths of episodes are in `meta/episodes.jsonl` (v2) or in
`meta/episodes/` (v3). The layouts are those of huggingface/lerobot, `lerobot/datasets/utils.py`.
Images of one camera are read if it is named (`images.py`). Without it, only pyarrow is needed.
`annotations/lerobot_writer.py` writes such data sets.
"""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import side_by_side

from ...cameras.camera import Camera
from ...cameras.images import Images
from ...presentation import first_names
from ...trajectories import Stated, Trajectories
from ..choice import choose_episodes
from ..numbers import LARGEST
from ..rates import EVEN, other_rates, rates_of, real_seconds, stated_rate, time_faults
from .features import choose_features, column_names, shape_of
from .frames import Frames, Int, require_pyarrow
from .images import choose_camera, images_of_episodes
from .meta import LeRobotFolder, info_file, is_others, lance_tables

NAMED = 3  # episodes that a message describes
LISTED = 20  # others, by their numbers


def is_lerobot(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a LeRobot data set, of any version and storage."""
    folder = Path(path)
    if not folder.is_dir() or is_others(folder):
        return False
    return info_file(folder).is_file() or bool(lance_tables(folder))


def read_lerobot(
    opened: LeRobotFolder,
    features: Sequence[str] | None = None,
    camera: str | None = None,
    task: str | int | None = None,
    only_successful: bool | None = None,
) -> Trajectories:
    """Read features of the episodes of a LeRobot data set, in order of `episode_index`.

    Episodes that are not on this machine, lack frames or images of the camera, or lack a number of
    a feature are left out; the notes name them.

    Options are those of `load_trajectories`; truth values become 0 and 1. Names of
    columns are those of `meta/info.json`. The rate is its `fps`, Hz (None if it is not a number
    above 0, or if the time stamps contradict it).
    """
    folder, info = opened.path, opened.info
    chosen, notes = choose_features(info["features"], features, folder)
    pictures = None if camera is None else choose_camera(info["features"], camera, folder)
    expected = opened.lengths
    if len(opened.files) < len(opened.data_files):
        left = [file for file in opened.data_files if file not in opened.files]
        others = [str(file.relative_to(folder)) for file in left]
        notes.append(f"Set aside, because meta/ does not name it: {first_names(others, NAMED)}.")
    read = _read_files(opened, chosen)
    require_pyarrow(folder)[0].default_memory_pool().release_unused()
    names: list[str] = []
    for feature, values in zip(chosen, read.values, strict=True):
        found, note = column_names(feature, info["features"][feature], values.shape[1])
        names += found
        notes += [note] if note else []
    episodes, first, lengths = np.unique(read.episodes, return_index=True, return_counts=True)
    reasons = _incomplete(read, chosen, names, expected, (episodes, first, lengths), folder)
    images: dict[int, Images] = {}
    if pictures is not None:
        images, lost = images_of_episodes(opened, pictures)
        last = read.frames[first + lengths - 1]
        for episode, length, end in zip(
            *(own.tolist() for own in (episodes, lengths, last)), strict=True
        ):
            if end != length - 1:
                lost[episode] = f"ends at frame {end}, and its images at {length - 1}"
        reasons = {e: why for e, why in lost.items() if e in episodes} | reasons
    complete = np.array([episode not in reasons for episode in episodes.tolist()])
    left_out = _note_left_out(reasons, len(set(expected) | set(reasons)))
    if not complete.any():
        raise InputError(f"{folder}: no episode is complete. {left_out}")
    absent = len(set(expected) - set(episodes.tolist()))
    if absent:
        notes.append(
            f"{len(expected) - absent} of {len(expected)} episodes are on this machine "
            f"({_ranges(sorted(set(expected) & set(episodes.tolist())))}), and the others are left "
            "out: load the data set again for all."
        )
    notes += [left_out] if left_out else []
    stated, numbers = _stated(opened, read, (episodes, first, lengths))
    whole = [own for own, one in zip(stated, complete.tolist(), strict=True) if one]
    chosen_ones, about = choose_episodes(whole, folder, task, only_successful, numbers)
    complete[complete] = chosen_ones
    stated = [own for own, one in zip(stated, complete.tolist(), strict=True) if one]
    notes += about
    rows: Any = slice(None) if complete.all() else np.repeat(complete, lengths)
    names_of = tuple(map(str, episodes[complete].tolist()))
    rate, note = _rate(info, read.times[rows], lengths[complete], names_of)
    notes += [note] if note else []
    kept = episodes[complete].tolist()
    return Trajectories(
        side_by_side([values[rows] for values in read.values]),
        lengths[complete],
        tuple(names),
        rate,
        names_of,
        tuple(notes),
        times=real_seconds(read.times[rows], lengths[complete], rate),
        camera=pictures and Camera(str(camera), lengths[complete], [images[e] for e in kept]),
        stated=tuple(stated),
    )


def _stated(
    opened: LeRobotFolder, read: Frames, found: tuple[Int, Int, Int]
) -> tuple[list[Stated], dict[str, int]]:
    """Task and success of each episode, and the numbers of tasks by their names."""
    names = opened.task_names
    numbers = {name: number for number, name in names.items()}
    one = np.minimum.reduceat(read.tasks, found[1]) == np.maximum.reduceat(read.tasks, found[1])
    stated = []
    for same, _, first, length in zip(one.tolist(), *(o.tolist() for o in found), strict=True):
        own = read.tasks[first : first + (1 if same else length)].tolist()
        own = sorted({n for n in own if math.isfinite(n)})
        texts = [names.get(int(n), f"task {n:g}") for n in own]
        numbers |= {text: int(n) for text, n in zip(texts, own, strict=True)}
        flag = read.success[first + length - 1]
        stated.append(Stated("; ".join(texts), None if math.isnan(flag) else bool(flag)))
    listed = [opened.episode_tasks.get(episode, "") for episode in found[0].tolist()]
    if len({*listed}) > len({own.task for own in stated}):  # frames do not distinguish them
        stated = [own._replace(task=task) for own, task in zip(stated, listed, strict=True)]
    return stated, numbers


def lerobot_camera(opened: LeRobotFolder, name: str, found: Trajectories) -> Camera:
    """Another camera of the episodes that were read; InputError if it lacks one of them."""
    feature = choose_camera(opened.info["features"], name, opened.path)
    images, lost = images_of_episodes(opened, feature)
    episodes = [int(episode) for episode in found.episodes]
    for episode in episodes:
        if why := lost.get(episode, "" if episode in images else "is not in meta/"):
            raise InputError(
                f"{opened.path}: camera {name} lacks episode {episode}, which {why}: name this "
                "camera first, and the episode is left out"
            )
    return Camera(name, found.lengths, [images[episode] for episode in episodes])


def _read_files(opened: LeRobotFolder, features: list[str]) -> Frames:
    """Rows of all files, in order; InputError if two have one frame, or their columns differ."""
    files, info = opened.files, opened.info
    timed = "timestamp" in info["features"]
    shapes = [shape_of(info["features"][feature]) for feature in features]
    widths = [math.prod(shape or (1,)) for shape in shapes]
    least = sum(width if width <= LARGEST else 1 for width in widths)  # a shape may be wrong
    parts: list[Frames] = []
    used: list[Path] = []
    room = LARGEST
    for file in files:
        part = opened.read_frames(file, features, timed, room // least)
        room -= sum(values.size for values in part.values)
        if room < 0:
            raise InputError(f"{file}: more than {LARGEST} numbers: take a part of the episodes")
        if len(part.episodes):
            parts.append(part)
            used.append(file)
    if not parts:
        raise InputError(f"{files[0]} and {len(files) - 1} others have no rows: load them again")
    values = []
    for i, (feature, shape) in enumerate(zip(features, shapes, strict=True)):
        filled = [(p.values[i], f) for p, f in zip(parts, used, strict=True) if p.values[i].size]
        width = filled[0][0].shape[1] if filled else 1
        for own, file in filled:
            if own.shape[1] != width or (shape and own.shape[1] != widths[i]):
                other = f"meta/info.json has shape {list(shape)}" if shape else f"{used[0]} {width}"
                raise InputError(
                    f"{file} has {own.shape[1]} columns of {feature}, and {other}: they should be "
                    "of one data set"
                )
        each = [p.values[i] for p in parts]
        values.append(
            np.concatenate([v if v.size else np.zeros((len(v), width), v.dtype) for v in each])
        )
        for part in parts:  # the values of all files are there once
            part.values[i] = values[i][:0]
        del each, filled
    missing, episodes, frames, *others = (
        np.concatenate([part[place] for part in parts]) for place in range(1, 7)
    )
    which = np.repeat(np.arange(len(parts)), [len(part.episodes) for part in parts])
    step = np.diff(episodes)
    if (step < 0).any() or ((step == 0) & (np.diff(frames) <= 0)).any():
        order = np.lexsort((frames, episodes))
        values = [own[order] for own in values]
        missing, episodes, frames, which, *others = (
            own[order] for own in (missing, episodes, frames, which, *others)
        )
    same = np.flatnonzero((np.diff(episodes) == 0) & (np.diff(frames) == 0))
    if len(same):
        row = int(same[0])
        one, other = used[which[row]], used[which[row + 1]]
        both = f"{one} has" if one == other else f"{one} and {other} both have"
        raise InputError(
            f"{both} frame {frames[row]} of episode {episodes[row]}{' twice' * (one == other)}: "
            "remove the file that is of another recording, or load the data set again"
        )
    return Frames(values, missing, episodes, frames, *others)


def _incomplete(
    read: Frames,
    features: list[str],
    names: Sequence[str],
    expected: dict[int, int],
    found: tuple[Int, Int, Int],
    folder: Path,
) -> dict[int, str]:
    """Why episodes cannot be used, by their numbers."""
    reasons: dict[int, str] = {}
    gone, bad = read.missing.any(axis=1), []
    for values in read.values:
        finite = np.isfinite(values)
        bad.append(~finite & finite.any(axis=0))  # others have no values at all: `Trajectories`
        gone |= bad[-1].any(axis=1)
    gone_at = np.flatnonzero(gone)
    ends = found[1] + found[2]
    counts = np.searchsorted(gone_at, ends) - np.searchsorted(gone_at, found[1])
    step, back = np.diff(read.frames, append=0), np.diff(read.times, append=np.inf) < 0
    uneven = step != np.repeat(step[found[1]], found[2])
    uneven[ends - 1] = back[ends - 1] = False
    holes, returns = (np.logical_or.reduceat(own, found[1]).tolist() for own in (uneven, back))
    for episode, first, length, absent, hole, returned in zip(
        *(own.tolist() for own in found), counts.tolist(), holes, returns, strict=True
    ):
        own = read.frames[first : first + length]
        known = expected.get(episode)
        if known is None:
            reasons[episode] = "is not in meta/"
        elif length > known:
            raise InputError(
                f"{folder}: episode {episode} has {length} frames in data/ and {known} in meta/: "
                "they are of different recordings; load the data set again"
            )
        elif length < known:
            reasons[episode] = f"has {length} of its {known} frames"
        elif hole:
            steps = step[first : first + length - 1]
            at = int((steps != np.median(steps)).argmax())
            reasons[episode] = f"lacks frames between {own[at]} and {own[at + 1]}"
        elif returned:
            at = int(back[first:].argmax())
            reasons[episode] = f"has time stamps that go back after frame {own[at]}"
        elif absent:
            row = int(gone_at[np.searchsorted(gone_at, first)])
            lost = [f for f, one in zip(features, read.missing[row], strict=True) if one]
            what = f"no {lost[0]}" if lost else "NaN or an infinite number"
            if not lost:
                columns = np.flatnonzero(np.concatenate([own[row] for own in bad]))
                what += f" in {names[columns[0]]}"
            more = f" ({absent} frames in all)" if absent > 1 else ""
            reasons[episode] = f"has {what} in frame {read.frames[row]}{more}"
    return reasons


def _note_left_out(reasons: dict[int, str], count: int) -> str:
    """A sentence about episodes that are on this machine and cannot be used; empty without any."""
    if not reasons:
        return ""
    listed = [f"episode {episode} {why}" for episode, why in list(reasons.items())[:NAMED]]
    rest = first_names(map(str, list(reasons)[NAMED:]), LISTED)
    more = f"; and {len(reasons) - NAMED} others: {rest}" if rest else ""
    return (
        f"{len(reasons)} of {count} episodes are left out: {'; '.join(listed)}{more}. Load the "
        "data set again, or fill what is missing."
    )


def _ranges(numbers: list[int]) -> str:
    """Text of numbers, as "0 to 4, 7", with the first few runs."""
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    runs = [(part[0], part[-1]) for part in np.split(np.array(numbers), cuts)]
    texts = [str(a) if a == b else f"{a} to {b}" for a, b in runs]
    return first_names(texts, NAMED)


def _rate(
    info: dict[str, Any], times: NDArray[np.float64], lengths: Int, episodes: Sequence[str]
) -> tuple[float | None, str]:
    """Rate by `fps`, Hz, and a sentence if the time stamps [s] contradict it or are uneven."""
    rate = stated_rate(info.get("fps"))
    steps = np.delete(np.diff(times), np.cumsum(lengths)[:-1] - 1)
    steps = steps[np.isfinite(steps)]
    faults = time_faults(times, lengths, episodes)
    note = f"In the time stamps, {faults}: the rate is that of most steps." if faults else ""
    if rate is None or not len(steps):
        return rate, note
    even = np.abs(steps * rate - 1).max() < EVEN / 10  # then no episode has another rate
    _, far = (None, "") if even else other_rates(rates_of(times, lengths, episodes))
    if far:
        way = "delete them with LeRobot's delete_episodes, or give the rate (--rate)"
        return None, f"Episodes {far}: {way}. {note}".strip()
    step = float(np.median(steps))
    if abs(step * rate - 1) <= EVEN:
        return rate, note
    return None, (
        f"meta/info.json has {rate:g} frames a second, and the time stamps are {step:g} s apart: "
        "the rate is unknown; give it (--rate)."
    )
