"""Features of the motion around a step, from which detectors score it.

The features of a coordinate are the switch of its energy, its mean velocity before and after the
step over two windows, and its value.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .json_file import floats, indices, integer, number

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Features:
    """Features of steps."""

    columns: Int  # [q], coordinates that are used
    windows: tuple[tuple[int, int], ...]  # steps before and after
    scale: Float  # [q], rms increment
    rest: Float  # [q], energy at rest
    centre: Float  # [q], central value
    gain: Float  # [q], weight divided by the range
    weight: Float  # [q]
    clip: float  # largest size of the logarithm of a ratio of energies
    fewest: int  # steps of a window on which a ratio rests, at least; fewer if it is shorter

    @property
    def before(self) -> int:
        """Steps before a step that its features depend on."""
        return max(before for before, _ in self.windows)

    @property
    def after(self) -> int:
        """Steps after it."""
        return max(after for _, after in self.windows)

    @property
    def count(self) -> int:
        """f, number of features."""
        return len(self.columns) * (3 * len(self.windows) + 1)

    def compute(self, states: Float, at: Int | None = None) -> Float:
        """Features [..., m, f] at the steps `at` [m], or at all, of working steps [..., T, p]."""
        x = states[..., self.columns]
        count = x.shape[-2] - 1
        energy = np.zeros_like(x)
        np.cumsum(np.diff(x, axis=-2) ** 2, axis=-2, out=energy[..., 1:, :])
        t = np.arange(count + 1) if at is None else at
        here, spent, found = x[..., t, :], energy[..., t, :], []
        for before, after in self.windows:
            first, last = np.maximum(t - before, 0), np.minimum(t + after, count)
            past, next_ = np.maximum(t - first, 1)[:, None], np.maximum(last - t, 1)[:, None]
            ratio = ((energy[..., last, :] - spent) / next_ + self.rest) / (
                (spent - energy[..., first, :]) / past + self.rest
            )
            e = (0.5 * np.log(ratio)).clip(-self.clip, self.clip) / 2
            few = (t - first < min(self.fewest, before)) | (last - t < min(self.fewest, after))
            e[..., few, :] = 0.0
            earlier = (here - x[..., first, :]) / before / self.scale
            later = (x[..., last, :] - here) / after / self.scale
            found += [e, *(np.sign(v) * np.log1p(np.abs(v)) for v in (earlier, later))]
        found = [f * self.weight for f in found] + [(here - self.centre) * self.gain]
        return np.concatenate(found, axis=-1)

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int) -> "Features":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        columns = indices(values, "columns", width)
        windows = tuple((int(before), int(after)) for before, after in values["windows"])
        if not windows or min(map(min, windows)) < 1:
            raise ValueError(f"windows {windows}")
        arrays = {
            name: floats(values, name, len(columns), positive=name in ("scale", "rest"))
            for name in ("scale", "rest", "centre", "gain", "weight")
        }
        clip, fewest = number(values, "clip"), integer(values, "fewest", 0)
        return cls(columns, windows, **arrays, clip=clip, fewest=fewest)
