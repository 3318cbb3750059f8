"""Measures by which unusual demonstrations are found.

They describe what is unusual in a data set. None of them predicts the success of a policy.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..array_types import Float
from ..keystates.contacts.keystate_steps import ENOUGH
from ..keystates.motion.motion_scales import root_mean_square
from ..keystates.trust.quality import UNLIKE

REACH = 1.0  # seconds of the largest lag
CORRELATED = 0.3  # correlation of the speeds of a set from which it has a lag, at least
FLOOR = 0.05  # least deviation of a measure that counts as usual
RIDGE = 1e-6  # of the variance of the states
EXACT = 1e-3  # standard deviation of an action that counts as exactly predicted, of its own


@dataclass(frozen=True, eq=False)
class Review:
    """Measures of N demonstrations; NaN where actions are missing."""

    # Steps by which the motion of all demonstrations follows its commands; below 0 if it precedes
    # them.
    set_lag: float
    correlation: float  # of the speeds of actions and states at that lag
    lag: Float  # [N], the same of each demonstration
    jerk: Float  # [N], rms of third differences, as a multiple of the increments' in all
    # [N], how badly a Gaussian of the other demonstrations predicts the actions from the states,
    # nats a step above the median.
    surprise: Float
    # [N], largest deviation of a measure from the median, robust standard deviations.
    unusual: Float
    # N, the measures that deviate by more than 3.5, with the range of the others, as
    # "length 50 (usual 60 to 95)".
    why: tuple[tuple[str, ...], ...]

    @property
    def about_actions(self) -> str:
        """A sentence about the lag of the set."""
        if np.isnan(self.correlation):
            why = "episodes are too short"
            if np.isnan(self.surprise).all():
                few = len(self.lag) < ENOUGH
                why = f"it needs {ENOUGH} demonstrations" if few else "no actions were read"
            return f"The lag of actions is not known: {why}."
        if np.isnan(self.set_lag):
            return f"Speeds of actions and states correlate by {self.correlation:.2f}: no lag."
        count = int(abs(self.set_lag))
        steps = f"{count} step{'s' * (count != 1)} (correlation {self.correlation:.2f})"
        if self.set_lag < 0:
            return f"The motion precedes its commands by {steps}: check how actions were stored."
        return f"The motion follows its commands by {steps}."


def review(
    paths: Sequence[Float], actions: Sequence[Float] | None, idle: Float, rate: float | None
) -> Review:
    """Measures of demonstrations.

    `paths` [T, p] are coordinates whose differences are motion, and `actions` [T or T - 1, q].
    `idle` [N] is the share of the time at rest, and `rate` is in Hz; 20 unless given.
    """
    count, nothing = len(paths), np.full(len(paths), np.nan)
    third = (np.diff(own, 2, axis=0) for own in _scaled(paths))
    jerk = np.array([np.sqrt((own**2).mean()) if own.size else 0.0 for own in third])
    set_lag, correlation, lag, surprise = np.nan, np.nan, nothing, nothing
    apart = np.zeros(count)
    if actions is not None and count >= ENOUGH:
        surprise = _surprise(paths, actions)
        reach = min(round((rate or 20) * REACH), (min(map(len, paths)) - 1) // 4 - 1)
        if reach > 0:
            set_lag, correlation, lag, apart = _lags(_speeds(_scaled(paths)), actions, reach)
    measures = {
        "length": np.log([len(path) for path in paths]),
        "idle": idle,
        "jerk": np.log(np.maximum(jerk, 1e-12)),
        "surprise": surprise,
    }
    scores = {"lag": np.where(apart > 0, UNLIKE + apart, 0.0)}
    for name, values in measures.items():
        away = values - np.median(values)
        scores[name] = away / max(1.4826 * float(np.median(np.abs(away))), FLOOR)
    scores["length"] = np.abs(scores["length"])
    every = np.nan_to_num(np.array(list(scores.values()))) * (count >= ENOUGH)
    shown = {"lag": lag, **measures, "length": np.exp(measures["length"]), "jerk": jerk}
    why: list[list[str]] = [[] for _ in paths]
    for name, far in zip(scores, every > UNLIKE, strict=True):
        form = {"idle": ".0%", "length": ".0f"}.get(name, ".3g")
        for i in np.flatnonzero(far).tolist():
            low, high = (f"{end(shown[name][~far]):{form}}" for end in (np.min, np.max))
            usual = low if low == high else f"{low} to {high}"
            text = f"{name} {shown[name][i]:{form}} (usual {usual})"
            # At lost frames, actions and states jump at the same step.
            lost = name == "lag" and lag[i] == 0
            why[i].append(f"{text} or lost frames" if lost else text)
    return Review(
        set_lag, correlation, lag, jerk, surprise, every.max(axis=0), tuple(map(tuple, why))
    )


def _scaled(values: Sequence[Float], order: int = 1) -> Iterator[Float]:
    """Differences of arrays [T, p], or at order 0 the arrays, with scaled columns.

    These have a root mean square of 1 over all arrays; constant ones stay 0.
    """
    scale = root_mean_square(values, order)
    return (np.diff(own, order, axis=0) / np.where(scale > 0, scale, 1.0) for own in values)


def _lags(
    states: Sequence[Float], actions: Sequence[Float], reach: int
) -> tuple[float, float, Float, Float]:
    """Lag and correlation of the set, and lag of each demonstration.

    `states` are speeds [T - 1]. The last array has the distance of a demonstration's lag from that
    of the set. It is 0 unless it is more than a step and both halves differ to the same side.
    """
    best: tuple[float, Float, Float, list[Float]] = (-np.inf, np.zeros(1), np.zeros(1), [])
    # An absolute action moves by its increments, and a relative one is an increment.
    for order in (1, 0):
        speeds = _speeds(_scaled(actions, order))
        both = zip(speeds, states, strict=True)
        curves = np.array([_correlations(*pair, reach) for pair in both])
        pooled = np.median(curves, axis=0)  # one jump decides the correlation of an episode
        if pooled.max() > best[0]:
            best = float(pooled.max()), pooled, curves, speeds
    correlation, pooled, curves, speeds = best
    lag, apart = np.full(len(states), np.nan), np.zeros(len(states))
    if correlation < CORRELATED:
        return np.nan, correlation, lag, apart
    common = int(pooled.argmax()) - reach
    lag = curves.argmax(axis=1) - float(reach)
    for i, (commanded, moved) in enumerate(zip(speeds, states, strict=True)):
        # A lag between two steps is measured as either of them.
        if abs(lag[i] - common) <= 1:
            continue
        half = min(len(commanded), len(moved)) // 2
        halves = [
            int(_correlations(commanded[part], moved[part], reach).argmax()) - reach
            for part in (slice(half), slice(half, None))
        ]
        sides = np.sign(np.array([lag[i], *halves]) - common)
        if abs(sides.sum()) == 3:
            apart[i] = abs(lag[i] - common)
    return float(common), correlation, lag, apart


def _speeds(steps: Iterable[Float]) -> list[Float]:
    """Lengths [T] of increments, at most the usual greatest, so that jumps decide less."""
    speeds = [np.linalg.norm(own, axis=1) for own in steps]
    most = np.median([own.max(initial=0.0) for own in speeds])
    return [np.minimum(own, most) for own in speeds]


def _correlations(commanded: Float, moved: Float, reach: int) -> Float:
    """Correlation of commands with the motion `lag` steps later, for -reach to reach."""
    length, found = min(len(commanded), len(moved)), np.zeros(2 * reach + 1)
    for k in range(-reach, reach + 1):
        both = commanded[max(0, -k) : length - max(0, k)], moved[max(0, k) : length - max(0, -k)]
        one, two = (own - np.add.reduce(own) / len(own) for own in both)
        scale = float(np.sqrt(one @ one) * np.sqrt(two @ two))
        found[k + reach] = one @ two / max(scale, 1e-300)
    return found


def _surprise(paths: Sequence[Float], actions: Sequence[Float]) -> Float:
    """Negative log-likelihood of the actions of each demonstration, nats a step above the median.

    The conditional Gaussian is that of all other demonstrations.
    """
    pairs = list(zip(paths, actions, strict=True))
    lengths = np.array([min(len(path), len(own)) for path, own in pairs])
    both = [[own[side][:n] for own, n in zip(pairs, lengths, strict=True)] for side in (0, 1)]
    usual = [_standard(values) for values in both]
    width = 1 + len(usual[0][0])

    def rows() -> Iterator[Float]:
        for sides in zip(*both, strict=True):
            scaled = [
                (own[:, columns] - middle) / scale
                for own, (columns, middle, scale) in zip(sides, usual, strict=True)
            ]
            yield np.column_stack([np.ones(len(sides[0])), *scaled])

    squares = np.array([own.T @ own for own in rows()])
    total, found = squares.sum(axis=0), np.zeros(len(pairs))
    for i, own in enumerate(rows()):
        others, n = total - squares[i], int(lengths.sum()) - len(own)
        ridge = RIDGE * n * np.eye(width)
        weights = np.linalg.solve(others[:width, :width] + ridge, others[:width, width:])
        left = np.vstack([-weights, np.eye(weights.shape[1])])
        covariance = left.T @ others @ left / n + EXACT**2 * np.eye(weights.shape[1])
        error = own @ left
        distance = (error * np.linalg.solve(covariance, error.T).T).sum(axis=1)
        found[i] = 0.5 * (distance.mean() + np.linalg.slogdet(covariance)[1])
    return np.asarray(found - np.median(found))


def _standard(values: Sequence[Float]) -> tuple[list[int], Float, Float]:
    """Columns of arrays [T, d] that vary, and the mean and standard deviation of each."""
    found = []
    for c in range(values[0].shape[1]):
        column = np.concatenate([own[:, c] for own in values])
        if np.ptp(column) > 0:
            found.append((c, column.mean(), (column - column.mean()).std()))
    middle, scale = (np.array([one[k] for one in found]) for k in (1, 2))
    return [c for c, *_ in found], middle, scale
