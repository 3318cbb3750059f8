"""The results `Estimate`, and `WindowEstimate` for a window of a stream."""

from dataclasses import dataclass, fields
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

INTERVAL = 1.645  # standard errors on each side of an estimate: a 90% interval
FLAGS = {  # of samples that mislead an estimate, and what they mean
    "saturated": "one side determines the other; the true value may be larger",
    "atoms": "many samples share values (zeros, limits, lost values): usually too low",
    "heavy_tails": "both sides spread over many magnitudes: often too low",
}
SIMILAR_ROWS = "neighbouring rows are similar: time_series=True if in order of time"


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate of the mutual information, with what is needed to judge it.

    Attributes
    ----------
    mi : float
        Nats; the mean over slices. Estimates of independent samples may be slightly below zero.
        Each slice is clipped to at least -0.1. If rows repeat (flags, counts, a robot at rest), it
        is also clipped to the bound from their entropies and their table of values
        (`bounds.Repeats`). `clipped` is True if a slice was changed.
    stderr : float
        Nats; sampling, slices and model error: mi ± 1.645 stderr is about a 90% interval over data
        like those that the model was calibrated on. Without calibration in the model's file it is
        `noise`.
    per_slice : [S] float64
        Nats.
    pointwise : [n] float64
        Nats; local mutual information of each pair, in the order of the input; its mean is `mi`.
        The model's bias correction of the critic's bound, and the change by clipping, are the same
        for all pairs.
    influence : [n] float64
        Nats; influence of each pair on `mi`, in the order of the input.
    noise : float
        Nats; error from samples and slices alone, before calibration: it may exceed the `stderr` of
        slices. Estimates of one model share its errors, so the noise is the scale for the
        difference of two estimates.
    predicted_error : float
        Nats; predicted error of the model, from diagnostic features of the samples, mean over
        slices. Before calibration. If unsliced, at least the difference of `mi` and a lower bound
        that also sees fast oscillations (`unresolved`).
    gaussian : float
        Nats; mutual information of Gaussians with the canonical correlations of the normal scores,
        mean over slices. The rest of `mi` is dependence that is not Gaussian.
    beyond_gaussian : float
        Nats; standard deviation over slices of the dependence that is not Gaussian; if unsliced,
        its absolute value. The model errors of slices that hardly differ in it are small.
    rank_noise : float
        From 0 to 1: how close the strongest canonical correlations are to what the ranks of n
        samples can resolve, mean over slices. From about 0.1 on, the true value may be much larger
        than `mi`.
    samples : int
        n.
    effective_samples : float
        Number of independent samples that would have the same variance; n unless a time series or
        groups are given.
    slices : int
        S; 1 if unsliced, or with `directions` other than random ones.
    k : int or None
        Dimensions of a slice, or number of directions; None if unsliced.
    seed : int
        Seed of the projections, the shuffle and the shifts.
    provider : str
        What evaluated the model, as "cpu" or "native".
    model : str
        Name and version of the model.
    saturated : bool
        A linear combination of one side (if unsliced, also a smooth function) determines a part of
        the other, as far as n samples can resolve. The true value may be much larger.
    degenerate : bool
        All coordinates of a side are constant: `mi` and `stderr` are exactly 0.
    clipped : bool
        The model's value of a slice was below -0.1 nats, or above the bound from the entropies and
        the table of repeated rows, and was replaced by it. Usual for few classes, and no fault.
    rank_x, rank_y : float
        Dimensions of a side that whitening kept, mean over slices.
    autocorrelated : bool
        Neighbouring rows are similar in both sides, and neither `time_series` nor `groups` is
        passed. If the rows are in order of time, `mi` is much too high: pass `time_series=True`.
    constant_x, constant_y : tuple of int
        Constant coordinates; they are left out.
    redundant_x, redundant_y : tuple of int
        Coordinates of a sliced side that others determine linearly (copies, sums); left out.
    parts : int
        Disjoint parts of the samples that were estimated one by one; the estimate is their
        average. More than 1 if n is larger than in training (the model's `n_max`), or if
        `directions` were found in the samples.
    directions : {"random", "canonical"} or None
        How sides wider than the model were reduced to k dimensions. "random": by random projections
        (slices). "canonical": by directions found in the other half of the samples, and `mi` is
        usually too low. None if unsliced.
    patterns : int
        Patterns of values that many samples share (constants for lost values, limits, zeros) over
        which `mi` is a sum (`atoms`); 0 if it is none. If a value is lost because of what it is,
        the sum is an approximation.
    atoms : int
        Patterns of such values in an unsliced side, if there are 12 or more and `mi` is no sum over
        them (windows, groups, few samples); else 0. `mi` is usually too low then, and the 90%
        interval is at least `mi` ± 75%.
    heavy_tails : bool
        Both unsliced sides have values beyond 1,000 interquartile ranges, and `mi` is above 1 nat:
        often too low, with as wide an interval.
    at_least : float or None
        Nats; lower bound of the information, if unsliced sides are linear functions of each other;
        else None. Rounding then decides `mi`, but not the bound, which all engines share.
    """

    mi: float
    stderr: float
    noise: float
    predicted_error: float
    gaussian: float
    beyond_gaussian: float
    rank_noise: float
    per_slice: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    influence: NDArray[np.float64]
    samples: int
    effective_samples: float
    slices: int
    k: int | None
    seed: int
    provider: str
    model: str
    saturated: bool
    degenerate: bool
    clipped: bool
    rank_x: float
    rank_y: float
    autocorrelated: bool
    constant_x: tuple[int, ...]
    constant_y: tuple[int, ...]
    redundant_x: tuple[int, ...] = ()
    redundant_y: tuple[int, ...] = ()
    parts: int = 1
    directions: str | None = None
    patterns: int = 0
    atoms: int = 0
    heavy_tails: bool = False
    at_least: float | None = None

    @property
    def how(self) -> str:
        """Short text: how wide sides were reduced."""
        if self.directions in (None, "random"):
            return "unsliced" if self.k is None else f"{self.slices} slices, k={self.k}"
        return f"{self.k} {self.directions} directions: usually too low"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the reader of a number: what is unusual in the samples."""
        found = [SIMILAR_ROWS] * self.autocorrelated
        if self.patterns:
            found.append(f"sum over {self.patterns} patterns of values that many samples share")
        found += [FLAGS[name] for name in ("atoms", "heavy_tails") if getattr(self, name)]
        return tuple(found)

    def __str__(self) -> str:
        """One line, with the flags that are set at its end."""
        how = self.how
        flags = [name for name in ("saturated", "degenerate") if getattr(self, name)]
        flags += self.notes
        if self.parts > 1:
            flags.append(f"mean of {self.parts} parts")
        for why in ("constant", "redundant"):
            for side in ("x", "y"):
                if left_out := getattr(self, f"{why}_{side}"):
                    flags.append(f"{len(left_out)} {why} in {side}")
        if self.effective_samples < self.samples:
            flags.append(f"{self.effective_samples:.0f} effective samples")
        noise = f"noise {self.noise:.3f}, " if self.at_least is None else ""
        return (
            f"I {'= ' * bool(noise)}{value_text(self.mi, self.stderr, self.at_least)} nats "
            f"({noise}n={self.samples}, {how}, {self.model} on {self.provider})"
            + (f" [{', '.join(flags)}]" if flags else "")
        )

    def _repr_html_(self) -> str:  # of a notebook
        return f"<p>{escape(str(self))}</p>"

    def to_dict(self, arrays: bool = False) -> dict[str, Any]:
        """All fields as JSON-safe values.

        Parameters
        ----------
        arrays : bool
            Include `pointwise` and `influence` [n]; they are left out unless given.

        Returns
        -------
        dict
            Fields by name; arrays are lists.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if not arrays:
            del values["pointwise"], values["influence"]
        return {
            name: np.asarray(value).tolist() if isinstance(value, tuple | np.ndarray) else value
            for name, value in values.items()
        }


def value_text(mi: float, stderr: float | None, at_least: float | None = None) -> str:
    """An estimate and its standard error; or "above" its bound, where rounding decides it."""
    if at_least is None or np.isnan(at_least):
        return f"{mi:.3f}" + ("" if stderr is None else f" ± {stderr:.3f}")
    return f"above {np.floor(10 * at_least) / 10:.1f}"


@dataclass(frozen=True, eq=False)
class WindowEstimate:
    """The mutual information of the last steps of a robot with their past.

    Attributes
    ----------
    stamp : float
        Stamp of the window's newest state, seconds; its step number if there are no stamps.
    estimate : Estimate
        Estimate from the pairs in the window. Its standard error includes the dependence of
        neighbouring pairs. All estimates of a stream share the part of the error from the
        projections.
    local : float
        Local mutual information of the newest pair, nats: how predictable the newest state was from
        its past, given the pairs of the window. It is noisier than the estimate, but has no delay.
    fill : float
        Pairs in the window as a share of its steps; below 1 if states were refused or lost.
    lag : int
        Steps between a state and its past.
    steps : [n] int64
        Step number of the newer state of each pair, ascending.
    at_rest : bool
        The states of a stream differ by its noise at rest alone, and it has clearly moved before.
        Variations of such estimates are no extrema.
    paused : bool
        The window contains states from before and after a pause of the stream, in which it may have
        jumped. Variations of such estimates are no extrema.
    """

    stamp: float
    estimate: Estimate
    local: float
    fill: float
    lag: int
    steps: NDArray[np.int64]
    at_rest: bool = False
    paused: bool = False

    def __str__(self) -> str:
        return f"{self.stamp:.3f} s: {self.estimate}"
