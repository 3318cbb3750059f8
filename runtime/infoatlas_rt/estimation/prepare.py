"""Prepares checked samples for slicing: rounding, constant coordinates, shuffle and shifts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_flag, as_gpu_samples, as_groups, as_resolution, as_samples
from ..inputs.gpu_arrays import Array, array_namespace, beside, contiguous, on_gpu, to_host
from ..models.model_file import LEAST_SHIFTS, ModelFile
from . import slicing
from .bounds import Repeats, repeats
from .canonical import clip_outliers, round_samples, standardise
from .redundancy import redundant
from .shuffling import shuffle

MAX_SAMPLES = 1_000_000  # in one call; the arrays of more take gigabytes
# Pairs of samples (slices x samples x shifts) in one call of the backend, which bounds its memory.
CHUNK_PAIRS = 1_000_000
AUTOCORRELATED = 0.25  # product of the two sides' autocorrelations; about 1/n if independent


@dataclass(frozen=True, eq=False)
class Samples:
    """Checked samples: what `check_samples` makes of the arguments of `Estimator.estimate`.

    Code of this package also makes them of its own arrays.

    Attributes
    ----------
    x, y : [n, dx], [n, dy] float64, C-contiguous, finite
        Both on the host, or both on the GPU that evaluates the graph; never written to.
    time_series : bool
        The samples are in order of time, and each depends on its neighbours.
    resolution_x, resolution_y : [dx], [dy] float64, or None
        Smallest difference that has a meaning, in the units of the data; finite, not negative.
    groups : [n] int64, or None
        Trajectory of each sample, 0..G-1, each with samples.
    redundant : tuple of (tuple of int), or None
        Coordinates of x and of y that slices leave out; None: they are found in the samples.
    """

    x: Array
    y: Array
    time_series: bool = False
    resolution_x: NDArray[np.float64] | None = None
    resolution_y: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    redundant: tuple[tuple[int, ...], tuple[int, ...]] | None = ((), ())

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: NDArray[np.int64]) -> "Samples":
        """Some of the samples; their groups are renumbered."""
        groups = self.groups
        if groups is not None:
            groups = np.unique(groups[rows], return_inverse=True)[1].astype(np.int64)
        x, y = (contiguous(side[beside(rows, side)]) for side in (self.x, self.y))
        return replace(self, x=x, y=y, groups=groups)

    def without(self, *columns: tuple[int, ...]) -> "Samples":
        """The samples without these coordinates of x, and of y."""
        changed = dict[str, Any]()
        for name, out in zip("xy", columns, strict=True):
            side, step = getattr(self, name), getattr(self, f"resolution_{name}")
            kept = np.setdiff1d(np.arange(side.shape[1]), out)
            changed[name] = contiguous(side[:, beside(kept, side)])
            changed[f"resolution_{name}"] = None if step is None else step[kept]
        return replace(self, **changed)


def check_samples(
    x: Any,
    y: Any,
    provider: str,
    time_series: Any = False,
    resolution_x: Any = None,
    resolution_y: Any = None,
    groups: Any = None,
) -> Samples:
    """Check the arguments of `Estimator.estimate`, for the engine of a provider.

    Raises
    ------
    InputError
        One of them cannot be used, or a side is on another device than the other side or the graph.
    """
    read = as_gpu_samples if on_gpu(x, y, provider) else as_samples
    x, y = read(x, "x"), read(y, "y")
    return Samples(
        x,
        y,
        time_series=as_flag(time_series, "time_series"),
        resolution_x=as_resolution(resolution_x, x.shape[1], "resolution_x"),
        resolution_y=as_resolution(resolution_y, y.shape[1], "resolution_y"),
        groups=None if groups is None else as_groups(groups, len(x)),
        redundant=None,
    )


@dataclass(frozen=True, eq=False)
class Prepared:
    """Checked samples, shuffled and ready to be sliced.

    Attributes
    ----------
    plan : Slicing
    x, y : [n, dx], [n, dy] float64
        Shuffled samples without their constant coordinates (with them if there are no others). A
        side that is projected is standardised. They are on the GPU if the samples are; all other
        arrays are NumPy's.
    order : [n] int64
        Position i contains sample order[i] of the input.
    shifts : [M] int64
        Cyclic shifts of y that give the product of marginals; distinct, each in 1..n-1.
    sequence : [n] int64
        Position sequence[t] contains the sample of time t; 0..n-1 if there is no order of time.
    groups : [n] int64, or None
        Group of each sample, 0..G-1, in the order of the input.
    time_series : bool
        The samples are in order of time.
    seed : int
        Seed of projections, shuffle and shifts.
    constant_x, constant_y : tuple of int
        Constant coordinates of the input.
    redundant : tuple of (tuple of int)
        Coordinates of x and of y that projections leave out, because others determine them.
    degenerate : bool
        All coordinates of a side are constant.
    repeats : Repeats or None
        Equal rows, in the order of `x` and `y`; None if there are none.
    """

    plan: slicing.Slicing
    x: Array
    y: Array
    order: NDArray[np.int64]
    shifts: NDArray[np.int64]
    sequence: NDArray[np.int64]
    groups: NDArray[np.int64] | None
    time_series: bool
    seed: int
    constant_x: tuple[int, ...]
    constant_y: tuple[int, ...]
    redundant: tuple[tuple[int, ...], tuple[int, ...]]
    degenerate: bool
    repeats: Repeats | None

    @property
    def ceiling(self) -> float:
        """Upper bound of an estimate of these samples, nats; infinite if no row repeats."""
        return math.inf if self.repeats is None else self.repeats.ceiling()

    @property
    def pairs(self) -> int:
        """Pairs of samples in one slice: samples x shifts."""
        return len(self.order) * len(self.shifts)

    def slices(self, chunk: slice) -> tuple[Array, Array]:
        """Slices of both sides, [S, n, k] each; a side without projections is repeated S times."""
        sides = (self.x, self.plan.x), (self.y, self.plan.y)
        xp = array_namespace(self.x)
        x, y = (
            xp.broadcast_to(samples, (chunk.stop - chunk.start, *samples.shape))
            if projections is None
            else slicing.project(samples, projections[chunk])
            for samples, projections in sides
        )
        return x, y

    def autocorrelated(self) -> bool:
        """Whether neighbours in the order of the input are similar in both sides."""
        if self.degenerate:
            return False
        place = beside(np.argsort(self.order), self.x)
        return autocorrelated(self.x[place], self.y[place])


def autocorrelated(x: Array, y: Array) -> bool:
    """Whether the lag-1 autocorrelations of both sides have a product above the limit.

    The autocorrelation of a side [n, d] is the mean over its coordinates.
    """
    xp = array_namespace(x)
    product = 1.0
    for side in (x, y):
        with np.errstate(all="ignore"):
            z = (side - xp.mean(side, axis=0)) / xp.std(side, axis=0)
            own = to_host(xp.mean(z[1:] * z[:-1], axis=0))
        product *= float(np.nan_to_num(own, posinf=0.0, neginf=0.0).mean())
    return product > AUTOCORRELATED


def batches(count: int, pairs: int) -> Iterator[slice]:
    """Ranges of slices (or windows, or pairings) that each fit one call of the backend.

    `pairs` are those of samples in each; a range has at most `CHUNK_PAIRS` of them, or one element.
    """
    size = max(1, CHUNK_PAIRS // pairs)
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def check_lengths(nx: int, ny: int, model_file: ModelFile) -> None:
    """InputError unless both sides have the same number of samples, and a model can use it."""
    if nx != ny:
        raise InputError(f"x has {nx} samples and y has {ny}: pass pairs, as many of each")
    if nx < model_file.n_min:
        raise InputError(
            f"{nx} samples are fewer than the {model_file.n_min} that model "
            f"{model_file.name} was trained for: collect more, or use a longer window"
        )
    if nx > MAX_SAMPLES:
        raise InputError(
            f"{nx} samples are more than the {MAX_SAMPLES} that fit at once: "
            "pass a random subset, or average the estimates of several"
        )


def check_window(steps: int, model_file: ModelFile) -> None:
    """InputError unless a window has as many steps as a model needs."""
    if steps < model_file.n_min:
        raise InputError(
            f"window={steps} is below the {model_file.n_min} samples that model "
            f"{model_file.name} was trained for: use at least that many steps"
        )


def prepare(samples: Samples, plan: slicing.Slicing, *, shifts: int, seed: int) -> Prepared:
    """Round, drop constant coordinates, standardise what is projected, and shuffle.

    Constant coordinates are dropped first, so that no later step depends on their number. `plan` is
    for the widths of both sides, constant coordinates included. There are fewer cyclic shifts if n
    is small, or so large that memory would be short. InputError if a resolution is too small for
    the values, or a group too large.
    """
    n, groups = len(samples), samples.groups
    shifts = min(shifts, n - 1, max(LEAST_SHIFTS, CHUNK_PAIRS // n))
    order, place, offsets = shuffle(n, shifts, seed, groups)
    x, constant_x = drop_constants(round_to(samples.resolution_x, samples.x, "x"))
    y, constant_y = drop_constants(round_to(samples.resolution_y, samples.y, "y"))
    if constant_x or constant_y:
        plan = slicing.without_constants(plan, x.shape[1], y.shape[1], seed)
    degenerate = bool((x == x[0]).all() or (y == y[0]).all())
    rows = beside(order, x)
    equal = repeats(x[rows], y[rows])
    # An unsliced side is used through its ranks alone, which do not depend on scale and outliers.
    x, y = _scale(x, y, plan)
    given = samples.redundant or (None, None)
    x, out_x = without_redundant(x, plan.x is not None, constant_x, given[0])
    y, out_y = without_redundant(y, plan.y is not None, constant_y, given[1])
    if out_x or out_y:
        plan = slicing.without_constants(plan, x.shape[1], y.shape[1], seed)
    if groups is not None:
        streams = np.random.SeedSequence(seed).spawn(5)[3:]
        x, y = (
            side if sliced is not None else _break_ties(side, groups, np.random.default_rng(stream))
            for side, sliced, stream in ((x, plan.x, streams[0]), (y, plan.y, streams[1]))
        )
    return Prepared(
        plan=plan,
        x=x[rows],
        y=y[rows],
        order=order,
        shifts=offsets,
        sequence=place if samples.time_series else np.arange(n),
        groups=groups,
        time_series=samples.time_series,
        seed=seed,
        constant_x=constant_x,
        constant_y=constant_y,
        redundant=(out_x, out_y),
        degenerate=degenerate,
        repeats=equal,
    )


def round_to(step: NDArray[np.float64] | None, samples: Array, name: str) -> Array:
    """Samples [n, d] rounded to multiples of their steps [d]; unchanged if there are none."""
    if step is None:
        return samples
    xp = array_namespace(samples)
    with np.errstate(over="ignore", invalid="ignore"):
        found = round_samples(samples, beside(step, samples))
    if not xp.all(xp.isfinite(found)):
        raise InputError(
            f"resolution_{name} {step[step > 0].min():g} is too small for values up to "
            f"{float(xp.max(xp.abs(samples))):.3g}: give it in the units of {name}"
        )
    return found


def _break_ties(samples: Array, groups: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Unsliced samples [n, d] with coordinates that are constant within groups replaced by ranks.

    Such a coordinate has as many independent values as there are groups. Average ranks would
    resolve each value as finely as n samples do. If both sides contained the coordinate, no pair of
    different groups would be close to a given pair, and the bound could be arbitrarily large.
    Therefore the ties are broken at random, independently in each side.
    """
    xp = array_namespace(samples)
    first = beside(np.unique(groups, return_index=True)[1][groups], samples)
    same, varies = (samples == samples[first]).all(axis=0), (samples != samples[0]).any(axis=0)
    tied = to_host(same & varies)
    if not tied.any():
        return samples
    found = xp.asarray(samples, copy=True)
    for column in np.flatnonzero(tied).tolist():
        # Sorted by value, and equal values at random.
        order = beside(np.argsort(rng.random(len(samples))), samples)
        order = order[xp.argsort(samples[order, column], stable=True)]
        found[order, column] = beside(np.arange(len(samples), dtype=np.float64), samples)
    return found


def _scale(x: Array, y: Array, plan: slicing.Slicing) -> tuple[Array, Array]:
    """Both sides; projected ones are standardised, with outliers clipped."""
    with np.errstate(over="ignore"):  # an infinite deviation clips no value
        # For a small sample the overhead of calls dominates, so both sides are scaled in one call.
        # (NumPy sums the values of a single coordinate in another order, so that is scaled alone.)
        dx, dy = x.shape[1], y.shape[1]
        if plan.x is not None and plan.y is not None and min(dx, dy) > 1:
            both = array_namespace(x).concat([x, y], axis=1)
            both = standardise(clip_outliers(both))
            return both[:, :dx], both[:, dx:]
        x = x if plan.x is None else standardise(clip_outliers(x))
        y = y if plan.y is None else standardise(clip_outliers(y))
    return x, y


def without_redundant(
    side: Array, sliced: bool, constant: tuple[int, ...], given: tuple[int, ...] | None
) -> tuple[Array, tuple[int, ...]]:
    """A side without `constant` coordinates: if sliced, also without redundant ones, and these."""
    if not sliced or given == ():
        return side, ()
    columns = np.setdiff1d(np.arange(side.shape[1] + len(constant)), constant)
    out = columns[list(redundant(side))] if given is None else np.intersect1d(columns, given)
    kept = np.flatnonzero(np.isin(columns, out, invert=True))
    if not 0 < len(kept) < len(columns):  # 0: what determines them is constant in these samples
        return side, ()
    return contiguous(side[:, beside(kept, side)]), tuple(out.tolist())


def drop_constants(samples: Array) -> tuple[Array, tuple[int, ...]]:
    """Samples [n, d] without constant coordinates (unless all are), and the constant ones."""
    same = to_host((samples == samples[0]).all(axis=0))
    constant = tuple(np.flatnonzero(same).tolist())
    if not constant or len(constant) == len(same):
        return samples, constant
    return contiguous(samples[:, beside(np.flatnonzero(~same), samples)]), constant
