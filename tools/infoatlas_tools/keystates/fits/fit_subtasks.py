"""Fits models of sub-tasks for running episodes, and judges them on demonstrations.

The results of up to ten folds are kept: how often the part is right, the error of its progress, and
the longest time without progress in successful demonstrations. So are the distances from the ends.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.progress_filter import ProgressFilter
from infoatlas_rt.live.progress_model import relative
from infoatlas_rt.live.subtasks import LiveSubtasks, Part, ToolProgress

from ...array_types import Float, Int
from ...trajectories import Trajectories
from ..motion.durations import MOMENT, NEAR, ONE_EVENT
from ..motion.motion_scales import Recordings
from ..subtasks.subtask_results import WORLD, Subtask, Subtasks
from .fit_detectors import ANY, FOLDS, JUDGED
from .fit_progress import Example, fit_progress, rms_increment

STOPS = 24  # of a left-out demonstration before its end: states that are no end
RIGHT = 0.8  # share of right steps from which a sub-task is followed


def fit_subtasks(
    recordings: Recordings, trajectories: Trajectories, subtasks: Subtasks
) -> tuple[LiveSubtasks, list[Int], list[Float], list[int]]:
    """Models of the parts of demonstrations, cross-validated, and what these followed.

    The latter is the part of each tool [T, tools], an index within its parts, at each working step
    of the demonstrations that are judged. ANY stands for a part that is not known.

    The third one is what models of the others followed in each demonstration, NaN if not judged.
    It is part, progress of the task, and distance from the ends [1 + STOPS, T, tools, 3]. The
    distance is infinite before the last part. The last state is held, and all rows but the first
    are stopped before the end. The last one are the ends: steps from which demonstrations rest.

    InputError for sub-tasks of other demonstrations, or none.
    """
    states, lengths = trajectories.doubles(), trajectories.lengths.tolist()
    if subtasks.lengths.tolist() != lengths:
        raise InputError(
            f"the sub-tasks are of {len(subtasks.lengths)} demonstrations with "
            f"{int(subtasks.lengths.sum())} steps, and the key states of {len(lengths)} with "
            f"{sum(lengths)}: pass sub-tasks of the same demonstrations"
        )
    if not subtasks.parts:
        raise InputError("there are no sub-tasks to follow: leave them out")
    bodies = _positions(subtasks, trajectories.names)
    some = np.sort(np.random.default_rng(0).permutation(len(states))[:JUDGED]).tolist()
    averages = [recordings.timing.average(np.asarray(states[i], np.float64)) for i in some]
    tools, live = [], [np.full((recordings.lengths[i], len(subtasks.tools)), ANY) for i in some]
    back, soon = (recordings.timing.steps(seconds) for seconds in (MOMENT, ONE_EVENT))
    rms = rms_increment(recordings.states, back)
    moves = [(np.abs(s - s[-1]) > rms).any(axis=1) for s in recordings.states]
    end = [int(own.cumsum().argmax()) + 1 for own in moves]
    stops = [np.linspace(1, max(e - soon - 1, 1), STOPS).astype(np.int64) for e in end]
    shapes = [(1 + STOPS, len(s) + soon + 1, len(subtasks.tools), 3) for s in recordings.states]
    whole = [np.full(shape, np.nan) for shape in shapes]
    for number, tool in enumerate(subtasks.tools):
        which = subtasks.indices(tool)
        pairs = _pairs(subtasks.of(tool), bodies)
        examples, judged = [], []
        for i, mean, parts_of in zip(some, averages, live, strict=True):
            own = recordings.states[i]
            cuts = _cuts(subtasks, which, i, recordings.timing.stride, len(own))
            if cuts is not None:
                examples.append(Example(own, relative(mean, pairs), cuts))
                judged.append((parts_of, i))
        if not examples:
            raise InputError(
                f"no demonstration has the sub-tasks {[subtasks.names[p] for p in which]} in this "
                "order, so they cannot be followed: leave them out (keystates --save), or find "
                "them by a tool and its objects"
            )
        at = [stops[i] for _, i in judged]
        model, followed = _fit_tool(examples, np.array(which, np.int64), pairs, recordings, at)
        tools.append(model)
        before = model.model.before
        for (parts_of, i), rows in zip(judged, followed, strict=False):  # none of one example
            parts_of[:, number] = rows[0, : len(parts_of), 0]
            part = rows[..., 0].astype(np.int64)
            place = before[part] + rows[..., 1] * (before[part + 1] - before[part])
            far = np.where(part == len(before) - 2, rows[..., 4], np.inf)
            own = np.stack([part, place, far], axis=-1)
            whole[i][:, :, number] = own[:, : whole[i].shape[1]]
    parts = [
        Part(name, part.tool, part.reference, part.held)
        for name, part in zip(subtasks.names, subtasks.parts, strict=True)
    ]
    return LiveSubtasks(tuple(parts), tuple(tools), stalled=3.0), live, whole, end


def _positions(subtasks: Subtasks, names: Sequence[str]) -> dict[str, list[int]]:
    """Columns of the positions of tools and objects, three of each.

    The columns that the sub-tasks were found with; otherwise, for an object "cube", those named
    "cube.x", "cube.y" and "cube.z".
    """
    if subtasks.places:
        return {body: list(at) for body, at in subtasks.places.items() if len(at) == 3}
    at = {name: column for column, name in enumerate(names)}
    found = {}
    for part in subtasks.parts:
        for body in (part.tool, part.reference, part.held):
            columns = [at.get(f"{body}.{axis}", -1) for axis in "xyz"]
            if body and min(columns) >= 0:
                found[body] = columns
    return found


def _pairs(parts: Sequence[Subtask], bodies: Mapping[str, list[int]]) -> Int:
    """Columns [m, 6] of the two bodies whose relative position a part changes."""
    found: dict[tuple[str, str], list[int]] = {}
    for part in parts:
        reference = part.reference if part.reference not in ("", WORLD) else part.held
        for a, b in ((part.tool, reference), (part.held, reference), (part.tool, part.held)):
            if a in bodies and b in bodies and a != b:
                found[a, b] = [*bodies[a], *bodies[b]]
    return np.array(list(found.values()), np.int64).reshape(-1, 6)


def _cuts(
    subtasks: Subtasks, which: Sequence[int], i: int, stride: int, length: int
) -> Float | None:
    """Working steps [P + 1] at which the parts of a tool begin in a demonstration, and the end.

    None if the demonstration has the parts in another order. A part that the demonstration lacks
    begins and ends where the one before it ends.
    """
    starts = [int(subtasks.parts[p].start[i]) for p in which]
    ends = [int(subtasks.parts[p].end[i]) for p in which]
    steps = int(subtasks.lengths[i])
    there = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    bounds = [0, *(place for part in sorted(there) for place in part), steps]
    if bounds[::2] != bounds[1::2]:
        raise InputError(
            f"the sub-tasks {[subtasks.names[p] for p in which]} do not cover demonstration {i} "
            f"completely: they start at {starts}, end at {ends}, and it has {steps} steps"
        )
    if there != sorted(there):
        return None
    begins, place = [], 0
    for start, end in zip(starts, ends, strict=True):
        begins.append(place)
        place = end if start < end else place
    cuts = np.minimum(np.array([*begins, steps]) / stride, length)
    cuts[-1] = length
    return np.asarray(cuts, np.float64)


def _fit_tool(
    examples: Sequence[Example],
    parts: Int,
    pairs: Int,
    recordings: Recordings,
    stops: Sequence[Int],
) -> tuple[ToolProgress, list[Float]]:
    timing, number = recordings.timing, len(parts)
    back = timing.steps(MOMENT)
    model = fit_progress(examples, parts, pairs, back)
    right, error = np.full((2, number), np.nan)
    usual, limit = np.zeros(number), np.inf
    followed: list[Float] = []
    if len(examples) > 1:
        lengths = [len(example.x) for example in examples]
        far = _follow_left_out(examples, parts, pairs, back)
        distances = [rows[0, :n, 3] for rows, n in zip(far, lengths, strict=True)]
        # States farther from the bins are unlike the demonstrations, and are no progress.
        limit = float(np.quantile(np.concatenate(distances), 0.99))
        soon = timing.steps(ONE_EVENT) + 1
        followed = _follow_left_out(examples, parts, pairs, back, limit, stops, soon)
        right, error = _judge(examples, followed, number, NEAR * timing.frequency)
        for rows, length in zip(followed, lengths, strict=True):
            np.maximum.at(usual, rows[0, :length, 0].astype(np.int64), rows[0, :length, 2])
    median = float(np.median([len(example.x) for example in examples]))
    # Few demonstrations vary little: at least half of the longest time in any part, and a tenth of
    # the demonstration.
    usual = np.maximum(usual, max(0.5 * usual.max(), 0.1 * median, 1.0))
    good = np.isnan(right) | (right >= RIGHT)
    return ToolProgress(model, right, error, usual, limit, good), followed


def _follow_left_out(
    examples: Sequence[Example],
    parts: Int,
    pairs: Int,
    back: int,
    limit: float = np.inf,
    stops: Sequence[Int] | None = None,
    hold: int = 0,
) -> list[Float]:
    """What a filter follows in each example [1 + stops, T + hold, 5].

    The first row is of the complete example, and each of the others ends at a stop. The last state
    is held. Values are part, progress, steps without progress, and distances from the bin and from
    the ends.
    """
    count = len(examples)
    fold = np.random.default_rng(1).permutation(count) % min(FOLDS, count)
    followed: list[Float] = [np.empty(0)] * count
    for number in range(fold.max() + 1):
        fitted = np.flatnonzero(fold != number).tolist()
        own = fit_progress([examples[i] for i in fitted], parts, pairs, back)
        left = np.flatnonzero(fold == number).tolist()
        lengths = [len(examples[i].x) for i in left]
        ends = zip(left, lengths, strict=True)
        stopped = [[n - 1] if stops is None else [n - 1, *stops[i]] for i, n in ends]
        row_of = np.repeat(np.arange(len(left)), len(stopped[0]))
        last = np.concatenate(stopped)
        most = max(lengths)
        x, between = (
            np.stack([np.pad(v, ((0, most - len(v)), (0, 0))) for v in values])
            for values in zip(*((examples[i].x, examples[i].between) for i in left), strict=True)
        )
        running = ProgressFilter(own, len(last), limit)
        made, rows = np.empty((len(last), most + hold, 5)), np.arange(len(last))
        for t in range(most + hold):
            at = row_of, np.minimum(t, last)
            running.push(x[at], between[at], rows)
            state = running.part, running.progress, running.waiting, running.misfit, running.apart
            made[:, t] = np.stack(state, axis=-1)
        for r, i in enumerate(left):
            followed[i] = made[row_of == r]
    return followed


def _judge(
    examples: Sequence[Example], followed: Sequence[Float], number: int, aside: float
) -> tuple[Float, Float]:
    """Share of right steps [P] and mean absolute error of progress [P]."""
    hit, there, reported, off = np.zeros((4, number))
    for example, row in zip(examples, followed, strict=True):
        part, share = example.truth()
        t = np.arange(len(part)) + 0.5
        cuts = example.cuts[1:-1]
        judged = (np.abs(t[:, None] - cuts) > aside).all(axis=1) if len(cuts) else t > 0
        row = row[0, : len(part)]
        live = row[:, 0].astype(np.int64)
        right = judged & (live == part)
        hit += np.bincount(part[right], minlength=number)
        there += np.bincount(part[judged], minlength=number)
        reported += np.bincount(live[judged], minlength=number)
        off += np.bincount(part[right], np.abs(row[:, 1] - share)[right], number)
    # Of parts that are too short to have steps away from cuts, precision alone counts.
    most = np.maximum(there, reported)
    right = np.where(most > 0, hit / np.maximum(most, 1), np.nan)
    return right, np.where(hit > 0, off / np.maximum(hit, 1), np.nan)
