"""Fits when a task is done: nearer to the ends of the demonstrations than before these.

Each demonstration is followed by models that were fitted to the others: as it is, and stopped at
many moments before its end. The limit is below a rank among the nearest such states of each. A
further execution falls below the k-th smallest of N values with probability k / (N + 1) if it is
like the demonstrations (conformal prediction).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.outcome import OutcomeModel
from infoatlas_rt.live.progress_model import relative
from infoatlas_rt.live.subtasks import LiveSubtasks

from ...array_types import Float
from ...trajectories import Trajectories
from ..contacts.contact_events import Evidence
from ..motion.durations import ONE_EVENT, PAUSE
from ..motion.motion_scales import Recordings
from .fit_grasps import fit_grippers

FALSE_DONE = 0.1  # share of executions in which `done` may come early, unless given
SLACK = 1.25  # times the distance of the demonstrations at their ends, at most
FOUND = 0.8  # share of demonstrations that are done in time, from which `done` is reported
NAN = float("nan")


class Ending(NamedTuple):
    """Distances of a demonstration from the ends of the others; infinite before the last parts."""

    far: Float  # [T], while its last state is held, too
    stopped: Float  # [S], after stops before the end
    end: int  # step from which the demonstration rests


def fit_outcome(
    recordings: Recordings,
    evidence: Evidence,
    trajectories: Trajectories,
    live: LiveSubtasks | None,
    followed: Sequence[Float] | None,
    end: Sequence[int],
    level: float | None,
) -> OutcomeModel:
    """The outcome of a task; `level` is the bound that is asked for. InputError if it is no share.

    `followed` and `end` are those of `fit_subtasks`, if there are sub-tasks.
    """
    if level is not None and not 0 < level < 1:
        raise InputError(f"false_done is {level}: pass a share between 0 and 1, as 0.05")
    tools, timing = () if live is None else live.tools, recordings.timing
    pairs = np.concatenate([np.empty((0, 6), np.int64), *(t.model.pairs for t in tools)])
    means = [timing.average(np.asarray(s, np.float64)) for s in trajectories.split()]
    between = [relative(mean, pairs).reshape(len(mean), len(pairs), 3) for mean in means]
    apart = [np.linalg.norm(own, axis=-1) for own in between]
    grippers, lines = fit_grippers(recordings, evidence, apart, followed)
    near, bound, found, why = 0.0, NAN, NAN, "the task has no sub-tasks"
    wait = timing.steps(PAUSE, 2)
    if followed is not None:
        far = [rows[..., 2].max(axis=2) for rows in followed]
        endings = [Ending(f[0], f[1:, -1], e) for f, e in zip(far, end, strict=True)]
        endings = [own for own in endings if not np.isnan(own.far).any()]  # judged
        near, bound, found, why = fit_ends(endings, wait, timing.steps(ONE_EVENT), level)
        about = (
            f"within 0.5 s of the end in {found:.0%} of the executions, and before it in "
            f"at most {bound:.0%}, by {len(endings)} left out and stopped before their ends"
        )
        lines.insert(0, f"done: unknown; {why}" if why else f"done: {about}")
    return OutcomeModel(near, 0 if why else wait, why, bound, found, "\n".join(lines), grippers)


def fit_ends(
    endings: Sequence[Ending], wait: int, soon: int, level: float | None
) -> tuple[float, float, float, str]:
    """Distance up to which an episode is at its end, the bound, the share found, or why not.

    `wait` are working steps within that distance, and `soon` are 0.5 s.
    """
    count = len(endings)
    rank = max(int((level or FALSE_DONE) * (count + 1) + 1e-9), 0 if level else 1)
    if count < 2 or rank < 1:
        needed = int(np.ceil(1 / level - 1e-9)) - 1 if level else 2
        why = f"{count} demonstrations were left out in turn, and the bound needs {needed}"
        return 0.0, NAN, NAN, why
    early, late = np.array([_nearest(own, wait, soon) for own in endings]).T
    first = float(np.sort(early)[rank - 1])
    largest = float(late[late < first].max(initial=0.0))
    near = min(SLACK * largest, 0.5 * (largest + first))
    found = int(((late <= near) & (early > near)).sum())
    if found < FOUND * count:
        why = (
            f"of {count} demonstrations that were left out, {found} are nearer to the ends of the "
            "others at their end than before it: end all at one pose, as at home"
        )
        return 0.0, NAN, NAN, why
    return near, rank / (count + 1), found / (count + 1), ""


def _nearest(own: Ending, wait: int, soon: int) -> tuple[float, float]:
    """Least distance that is kept for `wait` steps: before the end, and within 0.5 s of it."""
    kept = np.lib.stride_tricks.sliding_window_view(own.far, wait).max(axis=1)
    first = max(own.end - soon - wait + 1, 0)
    early = min(kept[:first].min(initial=np.inf), own.stopped.min())
    return float(early), float(kept[first : own.end + soon - wait + 2].min(initial=np.inf))
