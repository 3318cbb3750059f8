"""The estimator of mutual information: checks arguments, and estimates in parts."""

import math
import os
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from ..backends.choice import make_backend
from ..backends.interface import Backend, SampleEstimator
from ..errors import InputError, ModelError
from ..inputs.checks import as_choice, as_count
from ..models import model_file
from . import slicing
from .atoms import LEAST_SAMPLES, estimate_by_patterns, with_flags
from .bounds import warn_of_copies
from .directions import WAYS, estimate_by_directions
from .forward import forward
from .large_samples import Timed, by_parts
from .prepare import Prepared, Samples, check_lengths, check_samples, prepare
from .result import Estimate
from .standard_error import add_standard_error

LEFT_OUT = "constant_x", "constant_y", "redundant_x", "redundant_y"


class Estimator:
    """Estimates mutual information in one forward pass, without optimisation per data set.

    It loads a model once, and uses the same projections for every pair of widths (dx, dy). So the
    estimates of a stream, or of the points of a curve, differ by their data alone.

    Parameters
    ----------
    model : str or path
        The name of a shipped model, an .onnx file, or an .engine file that `infoatlas-rt build`
        wrote, of TensorRT or TensorRT-RTX.
    provider : {"auto", "native", "cpu", "cuda", "tensorrt", "tensorrt-rtx"}
        What evaluates the graph. "native" is the C++ engine of this package, and "cpu" is ONNX
        Runtime. With "auto" it is the first of "cuda", "native" and "cpu" that starts;
        `Estimate.provider` is the one that was used. Any other provider that is missing is an
        error. An .engine file needs the library that built it, or "auto".
    threads : int, optional
        CPU threads; two unless given, or one on a single core.
    k : int, optional
        Dimensions of a slice, at most the model's D; D unless given.
    slices : int, optional
        Number of slices S if a side is sliced; 40 unless given.
    sides : {"auto", "both", "x", "y"}
        Which sides are sliced. "auto": both if `k` is given, else those wider than D.
    directions : {"random", "canonical"}
        How a side that is wider than D is reduced. "random": to slices, by random projections; the
        estimate is the k-sliced mutual information. "canonical": to the D directions (at most as
        many as the narrower side has coordinates) that are linearly related to the other side, up
        to monotone maps of single coordinates. They are found in one half of the samples and used
        in the other; then the halves are exchanged. With 4 samples per coordinate, Gaussian
        dependence of other directions is added. `mi` is usually too low, as nonlinear one is
        missing. n is at least twice the model's n_min. `k`, `slices`, `sides` are for "random".
    shifts : int, optional
        Number M of cyclic shifts, whose pairs are samples of the product of marginals. At least 4;
        at most n-1 are used. The default is in the model's metadata. At small n, more shifts reduce
        the variance of a slice, but need more time.
    seed : int
        Seed of projections, shuffle and shifts. The same input, seed, provider, threads and machine
        result in the same bits.

    Attributes
    ----------
    model_file : ModelFile
        The checked model file.
    backend : Backend
        The engine. Threads of a process share it, and it works in a forked process. Estimators can
        be pickled and copied: the settings and the name or path of the model are stored, and the
        model is loaded again.
    seconds : dict of float
        Wall-clock time of the stages of the last estimate: "slicing" (with all checks and
        preparation), "preprocessing", "inference", "total".

    Raises
    ------
    InputError
        An argument is out of range.
    ModelError
        The model file cannot be used.
    ProviderError
        The provider is not available; for "auto", there is no engine at all.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "edge",
        *,
        provider: str = "auto",
        threads: int | None = None,
        k: int | None = None,
        slices: int | None = None,
        sides: str = "auto",
        directions: str = "random",
        shifts: int | None = None,
        seed: int = 0,
    ) -> None:
        self.sides = as_choice(sides, "sides", slicing.SIDES)
        self.directions = as_choice(directions, "directions", WAYS)
        if directions != "random" and not (k is slices is None and sides == "auto"):
            raise InputError(
                f"directions={directions!r} reduces each wide side to as many coordinates as the "
                "model accepts: leave out k, slices and sides, which are for random directions"
            )
        if not isinstance(model, str | os.PathLike):
            raise InputError(
                f"model is {model!r}: pass the path of an .onnx file, or the name of a shipped "
                f"model ({', '.join(model_file.available())})"
            )
        self.model_file = model_file.load(model)
        self.k = None if k is None else as_count(k, "k", 1, self.model_file.dim)
        self.slices = None if slices is None else as_count(slices, "slices", 1)
        self.shifts = (
            None if shifts is None else as_count(shifts, "shifts", model_file.LEAST_SHIFTS)
        )
        self.seed = as_count(seed, "seed", 0)
        self.backend: Backend = make_backend(self.model_file, provider, threads)
        self.seconds: dict[str, float] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        path = self.model_file.path
        shipped = path.parent == model_file.MODELS
        options = self._slicing() | {"directions": self.directions, "shifts": self.shifts}
        options |= {"provider": self.backend.provider, "threads": self.backend.threads}
        return _restore, (
            type(self),
            path.stem if shipped else str(path.absolute()),
            self.model_file.sha256,
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
        """Estimate I(x; y) in nats; the k-sliced one if a side is sliced.

        A side that has at most D coordinates without the constant and redundant ones is not sliced,
        unless `k`, `slices` or `sides` are given.

        Many samples may share a value: a constant for lost values, a limit, a zero. If unsliced
        sides have eight patterns of such values or more, the result is a sum over the patterns
        (`Estimate.patterns`). It needs tens to hundreds of estimates.

        More than the model's n_max samples are estimated in disjoint parts of equal size, and the
        result is their average. Each part extends over all samples.

        Parameters
        ----------
        x, y : array-like [n] or [n, d]
            Paired samples of any real type; row i of x belongs to row i of y. Arrays of torch or
            CuPy on the GPU that evaluates the graph stay there; the result is on the host.
        time_series : bool
            The samples are in order of time, and each depends on its neighbours. The graph then
            corrects for the apparent dependence of slowly varying states, and the standard error
            uses a long-run variance.
        resolution_x, resolution_y : float or [d], optional
            Smallest difference that has a meaning, in the units of the data (the step of an
            encoder, for example): values are rounded to multiples of it before they are ranked.
        groups : array-like [n] of int, optional
            Trajectory, episode or subject of each sample. Without groups, all samples count as
            independent. A goal or a pose that is constant within a trajectory then identifies it in
            both sides, which appears as information even if the sides are independent. With groups,
            the product of marginals pairs samples of different groups only, and the standard error
            is clustered by group, which covers dependence in time within groups. In an unsliced
            side, ties of a coordinate that is constant within groups are broken at random (seeded),
            because it has one independent value per group. The estimate is I(x; y) over
            trajectories and steps together. If both sides identify the trajectory, this is still
            information, of up to about log(groups) nats. Each group has to have fewer than half of
            the samples.

        Returns
        -------
        Estimate

        Raises
        ------
        InputError
            The samples cannot be used (type, shape, NaN, fewer than the model's n_min, ...) or do
            not fit `k` and `sides`. One of `groups` is too large, or a side is on another device
            than the other side or the model.
        ModelError
            The model's output is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from infoatlas_rt import Estimator
        >>> estimator = Estimator(seed=1)  # loads the model once
        >>> x, noise = np.random.default_rng(0).normal(size=(2, 500, 2))
        >>> y = x[:, ::-1] + noise  # the true value is ln(2) = 0.69
        >>> found = estimator.estimate(x, y)
        >>> print(f"{found.mi:.1f} nats")
        0.7 nats
        """
        start = perf_counter()
        provider = self.backend.provider
        samples = check_samples(x, y, provider, time_series, resolution_x, resolution_y, groups)
        found = self._estimate(samples, start)
        if found.directions == "random" and self.k is self.slices is None and self.sides == "auto":
            out = {name: getattr(found, name) for name in LEFT_OUT}
            of_x, of_y = (out[f"constant_{s}"] + out[f"redundant_{s}"] for s in "xy")
            left = samples.x.shape[1] - len(of_x), samples.y.shape[1] - len(of_y)
            if 0 < min(left) and max(left) <= self.model_file.dim:
                kept = samples.without(of_x, of_y)
                found = replace(self._estimate(kept, start), **out)
        if found.mi > 0 and not samples.time_series and groups is None:
            warn_of_copies(samples.x, samples.y)
        return with_flags(samples, self._by_patterns(samples, found, start), self.prepare)

    def _by_patterns(self, samples: Samples, found: Estimate, start: float) -> Estimate:
        """The estimate, as a sum over patterns of atoms if unsliced sides have many of them."""
        given = samples.groups, samples.resolution_x, samples.resolution_y
        plain = all(value is None for value in given)
        enough = len(samples) >= max(LEAST_SAMPLES, 4 * self.model_file.n_min)
        on_host = isinstance(samples.x, np.ndarray)
        if found.k is not None or found.degenerate or not (plain and enough and on_host):
            return found
        out = found.constant_x + found.redundant_x, found.constant_y + found.redundant_y
        kept = samples.without(*out)
        return estimate_by_patterns(kept, lambda some: self._estimate(some, start), found)

    def estimate_checked(self, samples: Samples, live: bool = False) -> Estimate:
        """`estimate` without checks and without sums over patterns, as of windows.

        Parameters
        ----------
        samples : Samples
            The arguments of `estimate`, as arrays of fixed types.
        live : bool
            Leave out the test for smooth functions and `at_least`, as slow as an update itself.
        """
        found = self._estimate(samples, perf_counter())
        return with_flags(samples, found, None if live else self.prepare)

    def prepare(self, samples: Samples) -> Prepared:
        """Prepare checked samples for one call of the graph, however many they are.

        Parameters
        ----------
        samples : Samples
            The arguments of `estimate`, as arrays of fixed types.

        Returns
        -------
        Prepared
            Shuffled samples, shifts and projections: what the graph is evaluated on.

        Raises
        ------
        InputError
            Too few or too many samples or coordinates for the model, a resolution that is too
            small for the values, or a group that is too large.
        """
        model, dx, dy = self.model_file, samples.x.shape[1], samples.y.shape[1]
        check_lengths(len(samples.x), len(samples.y), model)
        if self.directions != "random" and max(dx, dy) > model.dim:
            raise InputError(
                f"an estimator with directions={self.directions!r} gives estimates, and no test "
                f"or windows of several environments, of more than {model.dim} coordinates: use "
                "an Estimator with random directions"
            )
        plan = slicing.plan(dx, dy, model.dim, **self._slicing())
        shifts = self.shifts or model.shift_count(len(samples), plan.slices)
        return prepare(samples, plan, shifts=shifts, seed=self.seed)

    def _estimate(self, samples: Samples, start: float) -> Estimate:
        """Estimate checked samples; `start` is the time of `perf_counter` at the beginning."""
        model = self.model_file
        check_lengths(len(samples.x), len(samples.y), model)

        def evaluate(some: Samples) -> Timed:
            return self._directly(some) or forward(self.prepare(some), self)

        def unsliced_or_sliced(some: Samples) -> Timed:
            return by_parts(some, model, self.seed, evaluate)

        if self.directions == "random":
            found, seconds = unsliced_or_sliced(samples)
        else:
            found, seconds = estimate_by_directions(samples, model, self.seed, unsliced_or_sliced)
        total = perf_counter() - start
        preparation = total - sum(seconds.values())
        self.seconds = {**seconds, "slicing": seconds["slicing"] + preparation, "total": total}
        return found

    def _directly(self, samples: Samples) -> Timed | None:
        """The estimate by an engine with its own preparation; None if that cannot be used."""
        backend, model = self.backend, self.model_file
        on_host = isinstance(samples.x, np.ndarray)
        if samples.groups is not None or not on_host or not isinstance(backend, SampleEstimator):
            return None
        settings = {"n_min": model.n_min, "n_max": model.n_max, "default_shifts": model.shifts}
        settings |= {"pairs": model.pairs, "k": self.k or 0, "slices": self.slices or 0}
        settings |= {"sides": slicing.SIDES.index(self.sides), "shifts": self.shifts or 0}
        given = samples.x, samples.y, samples.time_series
        resolutions = samples.resolution_x, samples.resolution_y
        redundant = samples.redundant or (None, None)
        found = backend.estimate(settings | {"seed": self.seed}, *given, *resolutions, *redundant)
        if found is None:
            return None
        values, seconds = found
        values |= {"stderr": math.nan, "provider": backend.provider, "model": model.name}
        values |= {"seed": self.seed, "directions": None if values["k"] is None else "random"}
        return add_standard_error(Estimate(**values), model), seconds

    def _slicing(self) -> dict[str, Any]:
        """Keyword arguments of `slicing.plan`."""
        return {"k": self.k, "slices": self.slices, "sides": self.sides, "seed": self.seed}


def as_estimator(value: Estimator | str | os.PathLike[str] | None, **options: Any) -> Estimator:
    """Return an estimator as it is, or load a model with options; the default model if None.

    Raises
    ------
    InputError, ModelError, ProviderError
        The value is neither an estimator nor a model, or the model cannot be loaded.
    """
    if value is None:
        return Estimator(**options)
    if isinstance(value, str | os.PathLike):
        return Estimator(value, **options)
    if not (hasattr(value, "estimate") and hasattr(value, "model_file")):
        raise InputError(f"estimator is {value!r}: pass an Estimator, or a model to make one of")
    return value


def _restore(kind: type[Estimator], model: str, sha256: str, options: dict[str, Any]) -> Estimator:
    """Unpickle an estimator; ModelError if the model file differs from the pickled one."""
    estimator = kind(model, **options)
    if estimator.model_file.sha256 != sha256:
        raise ModelError(
            f"{estimator.model_file.path} is not the file that this estimator was pickled with "
            f"(SHA-256 {estimator.model_file.sha256[:12]}, it was {sha256[:12]}): use the same "
            "one, or make a new Estimator"
        )
    return estimator
