"""Mutual information of two samples in one forward pass."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import bundle, slicing
from .backends import Backend
from .backends.onnxruntime import OnnxRuntimeBackend
from .discrete import bounded
from .entry import Entry, check_lengths, make_entry
from .errors import InputError, ModelError
from .inputs import as_count, as_flag, as_groups, as_samples
from .preprocess import canonicalise
from .result import Estimate
from .uncertainty import clustered_variance, gaussian_part, rank_noise, standard_error

if TYPE_CHECKING:
    from .written import Critic

ALIKE = 0.25  # product of the sides' autocorrelations; 1 / n where neighbours know nothing


class Estimator:
    """Estimates mutual information, zero-shot: one forward pass, no optimisation per data set.

    It keeps a model loaded, and reuses the projections for every pair of widths (dx, dy), so the
    readings of a stream, or of the points of a curve, differ by their data alone.

    Parameters
    ----------
    model : str or path
        The name of a shipped model, or an .onnx file.
    provider : {"cpu", "cuda", "tensorrt"}
        Used or refused, never replaced silently.
    threads : int, optional
        CPU threads; by default two, or one on a single core.
    k : int, optional
        Dimensions of a slice, at most the model's D; D unless given.
    slices : int, optional
        Number of slices S, where there are any; 40 unless given.
    sides : {"auto", "both", "x", "y"}
        Which sides are sliced; "auto": both if `k` is given, else those wider than D.
    shifts : int, optional
        Cyclic shifts M that make the product of marginals, at least 4, at most n-1 are used; the
        model's metadata has the default. More narrow the spread of a single slice at small n, and
        cost time.
    seed : int
        Of projections, shuffle and shifts. Same input, seed, provider, threads and machine: same
        bits.

    Attributes
    ----------
    bundle : Bundle
        The model's description.
    backend : Backend
        It is shared by the threads of a process, and works in a forked one. Estimators can be
        pickled and copied: they go as settings and the name of a shipped model, or the path of
        another, and load it where they arrive.
    seconds : dict of float
        Where the time of the last estimate went: "slicing", "preprocessing", "inference", "total".

    Raises
    ------
    InputError, ModelError, ProviderError
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "edge",
        *,
        provider: str = "cpu",
        threads: int | None = None,
        k: int | None = None,
        slices: int | None = None,
        sides: str = "auto",
        shifts: int | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(sides, str) or sides not in slicing.SIDES:
            raise InputError(f"sides is {sides!r}: use one of {', '.join(slicing.SIDES)}")
        if not isinstance(model, str | os.PathLike):
            raise InputError(
                f"model is {model!r}: pass the path of an .onnx file, or the name of a shipped "
                f"model ({', '.join(bundle.available())})"
            )
        self.bundle = bundle.load(model)
        self.k = None if k is None else as_count(k, "k", 1, self.bundle.dim)
        self.slices = None if slices is None else as_count(slices, "slices", 1)
        self.sides = sides
        self.shifts = None if shifts is None else as_count(shifts, "shifts", 4)
        self.seed = as_count(seed, "seed", 0)
        self.backend: Backend = OnnxRuntimeBackend(self.bundle.bytes, provider, threads)
        self.seconds: dict[str, float] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        path = self.bundle.path
        shipped = path.parent == bundle.MODELS
        options = {name: getattr(self, name) for name in ("k", "slices", "sides", "shifts", "seed")}
        options |= {"provider": self.backend.provider, "threads": self.backend.threads}
        return _restore, (
            type(self),
            path.stem if shipped else str(path.absolute()),
            self.bundle.sha256,
            options,
        )

    def estimate(
        self,
        x: Any,
        y: Any,
        *,
        time_series: bool = False,
        resolution_x: Any = None,
        resolution_y: Any = None,
        groups: Any = None,
    ) -> Estimate:
        """Estimate I(x; y) in nats, or the sliced one.

        Parameters
        ----------
        x, y : array-like [n] or [n, d]
            Paired samples of any real type; row i of x belongs to row i of y.
        time_series : bool
            The samples are in time order and neighbours depend on each other: states that last
            look dependent on each other, which the model then allows for, and the standard error
            uses a long-run variance.
        resolution_x, resolution_y : float or [d], optional
            Smallest difference that means anything, in the units of the data (the step of an
            encoder, say): values are rounded to multiples of it before they are ranked.
        groups : array-like [n] of int, optional
            Trajectory, episode or subject that each sample comes from. Pooled without it, samples
            of one trajectory count as independent ones: a goal or an object's pose, constant within
            a trajectory, identifies it in both sides, which reads as information even where the
            sides are independent. With it, the product of marginals pairs samples of different
            groups alone, and the standard error is clustered by group (so it covers dependence in
            time within groups). In a side that is not sliced, ties of a coordinate that is
            constant within groups are broken at random (seeded): it has one independent value a
            group. The estimate is then of I(x; y) over trajectories and steps together. Where both
            sides share what identifies a trajectory, that is still information, and up to about
            log(groups) nats of it can be found. No group may hold half of the samples.

        Returns
        -------
        Estimate

        Raises
        ------
        InputError
            The samples cannot be used (type, shape, NaN, fewer than the model's n_min, ...), do not
            fit `k` and `sides`, or one of `groups` is too large.
        ModelError
            The model's output is not finite.
        """
        start = perf_counter()
        entry = self.enter(x, y, time_series, resolution_x, resolution_y, groups)
        n, plan = len(entry.order), entry.plan
        slicing_time, preprocessing_time, inference_time = perf_counter() - start, 0.0, 0.0

        per_slice, spread = np.zeros((2, plan.slices))
        pointwise, influence = np.zeros(n), np.zeros(n)
        rank_x = rank_y = gaussian = crowding = 0.0
        saturated = limited = False
        ceiling = entry.ceiling
        for part in entry.parts():
            begin = perf_counter()
            sx, sy = entry.slices(part)
            sliced = perf_counter()
            data = canonicalise(sx, sy, self.bundle.dim)
            inputs = np.ascontiguousarray(data.x), np.ascontiguousarray(data.y)
            prepared = perf_counter()
            if entry.degenerate:  # a constant tells nothing, whatever a model would make of it
                per_slice[part] = 0.0
            else:
                found = self.backend.run(*inputs, entry.shifts, entry.sequence)
                values, local, effect, spread[part] = found
                per_slice[part] = bounded(values, ceiling)
                change = per_slice[part] - values  # nearly always 0
                limited |= bool(change.any())
                pointwise += local.sum(axis=0, dtype=np.float64) + change.sum()
                influence += effect.sum(axis=0, dtype=np.float64)
            rank_x += float(data.rank_x.sum())
            rank_y += float(data.rank_y.sum())
            ranks = data.rank_x, data.rank_y
            gaussian += float(gaussian_part(data.correlations, *ranks, n).sum()) / plan.slices
            crowding += float(rank_noise(data.correlations, n).sum()) / plan.slices
            saturated |= bool(data.saturated.any())
            slicing_time += sliced - begin
            preprocessing_time += prepared - sliced
            inference_time += perf_counter() - prepared

        # Back to the order of the input; a shuffled position i holds sample order[i].
        means = np.empty((2, n))
        means[0, entry.order] = pointwise / plan.slices
        means[1, entry.order] = influence / plan.slices
        if not all(np.isfinite(values).all() for values in (per_slice, means, spread)):
            raise ModelError(
                f"model {self.bundle.name} gave values that are not finite on "
                f"{self.backend.provider}: use provider='cpu' or another model, and please report"
            )
        plain = float(means[1].var(ddof=1))
        long_run = plain
        if entry.groups is not None:
            long_run = max(plain, clustered_variance(means[1], entry.groups))
        elif time_series:
            long_run = max(plain, long_run_variance(means[1]))
        between = float(per_slice.var(ddof=1)) / plan.slices if plan.slices > 1 else 0.0
        effective = n * (plain / long_run) if long_run > 0 else float(n)
        mi, noise = float(per_slice.mean()), math.sqrt(long_run / n + between)
        rank_x, rank_y = rank_x / plan.slices, rank_y / plan.slices
        constants = self.bundle.calibration.get("whole" if plan.k is None else "sliced")
        doubt = float(spread.mean())
        stderr = standard_error(constants, noise, doubt, crowding, effective)
        result = Estimate(
            mi=mi,
            stderr=0.0 if entry.degenerate else float(stderr),
            noise=noise,
            spread=doubt,
            gaussian=gaussian,
            rank_noise=crowding,
            per_slice=per_slice,
            pointwise=means[0],
            influence=means[1],
            samples=n,
            effective_samples=effective,
            slices=plan.slices,
            k=plan.k,
            seed=self.seed,
            provider=self.backend.provider,
            model=self.bundle.name,
            saturated=saturated,
            degenerate=entry.degenerate,
            limited=limited,
            rank_x=rank_x,
            rank_y=rank_y,
            neighbours_alike=not time_series and neighbours_alike(entry),
            beyond_n_max=n > self.bundle.n_max,
            constant_x=entry.constant_x,
            constant_y=entry.constant_y,
        )
        self.seconds = {
            "slicing": slicing_time,
            "preprocessing": preprocessing_time,
            "inference": inference_time,
            "total": perf_counter() - start,
        }
        return result

    def write(self, x: Any, y: Any, *, groups: Any = None) -> Critic:
        """Write a critic that is kept, for the local information of new pairs.

        Parameters
        ----------
        x, y, groups
            As in `estimate`; of more than 1,500 pairs a random subset.

        Returns
        -------
        Critic
            `Critic.pointwise(x, y)` gives nats for each new pair, NumPy alone. No bias correction,
            no standard error and no features of neighbours: it ranks moments, and reads less than
            `estimate` does.

        Raises
        ------
        InputError
            As in `estimate`, or a side is constant.
        ModelError
            The model has no graph that writes critics to keep; "edge" has.
        """
        from . import written

        return written.write(self, x, y, groups)

    def enter(
        self,
        x: Any,
        y: Any,
        time_series: bool = False,
        resolution_x: Any = None,
        resolution_y: Any = None,
        groups: Any = None,
    ) -> Entry:
        """Check samples, and decide how they enter the graph; arguments as in `estimate`."""
        x, y = as_samples(x, "x"), as_samples(y, "y")
        time_series = as_flag(time_series, "time_series")
        check_lengths(len(x), len(y), self.bundle)
        plan = slicing.plan(
            x.shape[1],
            y.shape[1],
            self.bundle.dim,
            k=self.k,
            slices=self.slices,
            sides=self.sides,
            seed=self.seed,
        )
        shifts = self.shifts or self.bundle.shift_count(len(x), plan.slices)
        labels = None if groups is None else as_groups(groups, len(x))
        return make_entry(
            x, y, plan, shifts, self.seed, time_series, resolution_x, resolution_y, labels
        )


def estimate(
    x: Any,
    y: Any,
    *,
    time_series: bool = False,
    resolution_x: Any = None,
    resolution_y: Any = None,
    groups: Any = None,
    **options: Any,
) -> Estimate:
    """Estimate I(x; y) with an estimator that is made once and kept.

    Parameters
    ----------
    x, y, time_series, resolution_x, resolution_y, groups
        As in `Estimator.estimate`.
    **options
        As in `Estimator`.

    Returns
    -------
    Estimate
    """
    try:
        estimator = _estimator(**options)
    except TypeError:  # an option that is unknown, or cannot be hashed: say which
        estimator = Estimator(**options)
    return estimator.estimate(
        x,
        y,
        time_series=time_series,
        resolution_x=resolution_x,
        resolution_y=resolution_y,
        groups=groups,
    )


def neighbours_alike(entry: Entry) -> bool:
    """Whether lag-1 autocorrelations, mean over what moves, have a product above `ALIKE`."""
    if entry.degenerate:
        return False
    place = np.argsort(entry.order)
    product = 1.0
    for side in (entry.x, entry.y):
        with np.errstate(all="ignore"):
            z = (side - side.mean(axis=0)) / side.std(axis=0)
            own = (z[place[1:]] * z[place[:-1]]).mean(axis=0)
        product *= float(np.nan_to_num(own, posinf=0.0, neginf=0.0).mean())
    return product > ALIKE


def long_run_variance(values: NDArray[np.float64]) -> float:
    """Variance of a time series' mean, times n: Newey and West, with Bartlett weights.

    The bandwidth is the larger one of floor(4 (n/100)^(2/9)) and Andrews' (1991) choice for an
    AR(1) process, since robots' states are strongly dependent.

    Parameters
    ----------
    values : [n] float64, in time order

    Returns
    -------
    float, not negative; in the squared units of `values`
    """
    n = len(values)
    deviation = values - values.mean()
    variance = float(deviation @ deviation) / (n - 1)
    if variance == 0:
        return 0.0
    rho = float(deviation[1:] @ deviation[:-1]) / (variance * (n - 1))
    rho = min(abs(rho), 0.97)  # Andrews' bound: near a unit root the rule would ask for all lags
    alpha = 4 * rho**2 / (1 - rho**2) ** 2
    bandwidth = max(4 * (n / 100) ** (2 / 9), 1.1447 * (alpha * n) ** (1 / 3))
    lags = min(math.floor(bandwidth), n - 1)
    total = variance
    for lag in range(1, lags + 1):
        weight = 1 - lag / (lags + 1)
        total += 2 * weight * float(deviation[lag:] @ deviation[:-lag]) / (n - 1)
    return max(total, 0.0)


def as_estimator(value: Estimator | str | os.PathLike[str] | None) -> Estimator:
    """Return the estimator itself, or make one of a model; of the shipped one if None.

    Raises
    ------
    InputError, ModelError
    """
    if value is None:
        return Estimator()
    if isinstance(value, str | os.PathLike):
        return Estimator(value)
    if not (hasattr(value, "estimate") and hasattr(value, "bundle")):
        raise InputError(f"estimator is {value!r}: pass an Estimator, or a model to make one of")
    return value


def _restore(kind: type[Estimator], model: str, sha256: str, options: dict[str, Any]) -> Estimator:
    """What was pickled; ModelError if the model's file is another one here."""
    estimator = kind(model, **options)
    if estimator.bundle.sha256 != sha256:
        raise ModelError(
            f"{estimator.bundle.path} is not the file that this estimator was pickled with "
            f"(SHA-256 {estimator.bundle.sha256[:12]}, it was {sha256[:12]}): use the same one, or "
            "make a new Estimator"
        )
    return estimator


@lru_cache(maxsize=4, typed=True)
def _estimator(**options: Any) -> Estimator:
    return Estimator(**options)
