"""Follows running episodes through the bins of a `ProgressModel`: part, progress, stalls."""

import numpy as np
from numpy.typing import NDArray

from ..inputs.ring import Ring
from .progress_model import ProgressModel

Float = NDArray[np.float64]
Int = NDArray[np.int64]


class ProgressFilter:
    """Follows episodes, one a row; states with a misfit above `limit` do not count as progress."""

    def __init__(self, model: ProgressModel, rows: int, limit: float = np.inf) -> None:
        self.model, self.limit = model, limit
        self._transition = _chain(model)
        count = len(model.means)
        places = np.concatenate([model.means, model.end[None]])
        self._half = 0.5 * (places**2).sum(axis=1)
        self._turned = np.ascontiguousarray(places.T)
        self._part_of, self.last = model.part, len(model.bins) - 1
        self._belief = np.empty((rows, count))
        self._recent = Ring(model.back + 1, rows, len(model.centre))
        self._first = np.zeros((rows, 3 * len(model.pairs)))
        # State from which the episode has not moved away for the second number of steps.
        self._left = np.zeros((rows, len(model.centre)))
        self._steps, self._rests = np.empty((2, rows), np.int64)
        # `part` is an index within the tool's parts, -1 before the first working step. The others
        # count working steps since the part was entered, and since the task reached a further bin.
        self.part, self.inside, self.waiting = np.empty((3, rows), np.int64)
        # The progress is within the part, 0 to 1, and does not fall while the part lasts. `reached`
        # is the furthest place in the bins, 0 to K, by states within `limit`. The misfit is the
        # root mean square distance of the newest state from its bin, in standard deviations.
        # `_far` is half the squared distance from the ends of the demonstrations.
        self.progress, self.reached, self.misfit, self._far = np.empty((4, rows))
        self._most = np.full(rows, self.last)  # the last part that an episode may be in
        within = (np.arange(count) - model.first[model.part]) / np.maximum(
            model.bins[model.part] - 1, 1
        )
        self._place = np.where(model.bins[model.part] > 1, within, 0.5)
        self._middle = np.arange(count) + 0.5
        self._member = (model.part[:, None] == np.arange(len(model.bins))).astype(float)
        self.reset(np.arange(rows))

    def reset(self, rows: Int) -> None:
        """Forget some episodes."""
        self._belief[rows] = self.model.start
        self._steps[rows] = -1
        self.part[rows] = -1
        self._rests[rows] = self.inside[rows] = self.waiting[rows] = 0
        self.progress[rows] = self.reached[rows] = self.misfit[rows] = 0.0
        self._far[rows], self._most[rows] = np.inf, self.last
        self._kept_back = bool((self._most < self.last).any())

    @property
    def apart(self) -> Float:
        """Root mean square distance of the newest states from the ends, as `misfit` [E]."""
        return np.asarray(np.sqrt(2 * np.maximum(self._far, 0) / len(self.model.offset)))

    def keep_back(self, row: int, part: int | None) -> None:
        """Keep an episode from going on beyond a part until the next call; None: let it go on."""
        self._most[row] = self.last if part is None else min(part, self.last)
        self._kept_back = bool((self._most < self.last).any())
        if part is not None and self.part[row] > part:
            self._belief[row] = self._part_of == part
            self._belief[row] /= self._belief[row].sum()
            self.part[row], self.inside[row], self.progress[row] = part, 0, 1.0
            self.reached[row] = float(self.model.first[part])

    def task_progress(self, row: int) -> float:
        """Progress of an episode in the task, 0 to 1."""
        before, part = self.model.before, max(int(self.part[row]), 0)
        return float(before[part] + self.progress[row] * (before[part + 1] - before[part]))

    def push(self, x: Float, between: Float, rows: Int) -> None:
        """Take a working step of some episodes: coordinates [m, p], relative positions [m, 3 m]."""
        model = self.model
        begun = self._steps[rows] >= 0
        self._steps[rows] += 1
        self._recent[self._steps[rows], rows] = x
        past = self._recent[np.maximum(self._steps[rows] - model.back, 0), rows]
        self._first[rows] = np.where(begun[:, None], self._first[rows], between)
        z = model.project(x, past, between, self._first[rows])
        square = 0.5 * (z**2).sum(axis=1)[:, None] + self._half - z @ self._turned  # half
        self._far[rows] = square[:, -1]
        square = np.minimum(square[:, :-1], 0.5 * model.cap**2 * z.shape[1])  # [m, K]
        before = np.where(begun[:, None], self._belief[rows], model.start)
        prior = np.where(begun[:, None], before @ self._transition, before)
        if self._kept_back:
            prior *= self._part_of <= self._most[rows, None]
        least = np.where(prior > 0, square, np.inf).min(axis=1, keepdims=True)
        belief = prior * np.exp(-model.temper * (square - least))
        belief /= belief.sum(axis=1, keepdims=True)
        # States that are nearly equal are one observation, so a rest does not change the part.
        apart = np.abs(x - self._left[rows]) > model.near * model.rms
        leaves = apart.any(axis=1) | ~begun
        self._left[rows] = np.where(leaves[:, None], x, self._left[rows])
        self._rests[rows] = np.where(leaves, 0, self._rests[rows] + 1)
        share = belief @ self._member
        rests = self._rests[rows] > model.back
        if rests.any():
            usual = rests[:, None] & (share > 0)
            kept = np.divide(before @ self._member, share, out=np.ones_like(share), where=usual)
            moved = belief * kept[:, self._part_of]
            moved /= moved.sum(axis=1, keepdims=True)
            belief = np.where(rests[:, None], moved, belief)
            share = belief @ self._member
        self._belief[rows] = belief
        likely, now = share.argmax(axis=1), self.part[rows]
        held = (likely < now) & (share.max(axis=1) < model.certain)
        part = np.where(held, now, likely)
        own = belief * self._member.T[part]
        progress = own @ self._place / np.maximum(own.sum(axis=1), 1e-9)
        same = part == now
        self.progress[rows] = np.where(same, np.maximum(self.progress[rows], progress), progress)
        self.inside[rows] = np.where(same, self.inside[rows] + 1, 0)
        self.part[rows] = part
        self.misfit[rows] = misfit = np.sqrt(
            2 * np.maximum((belief * square).sum(axis=1), 0) / z.shape[1]
        )
        place = np.where(misfit <= self.limit, belief @ self._middle, 0.0)
        further = place >= self.reached[rows] + 1
        last = place > len(self._middle) - 1
        self.reached[rows] = np.where(further, place, self.reached[rows])
        self.waiting[rows] = np.where(further | last, 0, self.waiting[rows] + 1)


def _chain(model: ProgressModel) -> Float:
    """Probabilities of the next bin [K, K]."""
    chain = np.zeros((len(model.means), len(model.means)))
    chain[model.moves[:, 0], model.moves[:, 1]] = model.probabilities
    back = model.part <= model.part[:, None]
    jump = model.anywhere * back / back.sum(axis=1, keepdims=True)
    return np.asarray((1 - model.anywhere) * chain + jump)
