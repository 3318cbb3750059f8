"""Methods of this package with the interface of `peers/keystate_finders.py`."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from infoatlas_rt import Estimate, Estimator, InputError
from infoatlas_tools import discover_keystates, mi_curve

from ..peers.keystate_finders import Count, Found, NotOffered
from ..tasks.demonstrations import Demonstrations

AUTO, CURVE = "auto", "ensemble curve"


class Remembering(Estimator):
    """An estimator that caches estimates: those of a curve serve all K of a task."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known: dict[str, Estimate] = {}

    def estimate_checked(self, samples: Any) -> Estimate:
        key = hashlib.sha1(pickle.dumps(samples)).hexdigest()
        if key not in self._known:
            if len(self._known) > 300:  # moments of a curve; older ones are not needed again
                self._known.clear()
            self._known[key] = super().estimate_checked(samples)
        return self._known[key]


class Ours:
    """Our methods, of one shipped model."""

    def __init__(self, model: str) -> None:
        self.estimator = Remembering(model=model, k=5, slices=40)  # as in the paper

    def auto(self, demos: Demonstrations, count: Count) -> Found:
        """`discover_keystates` with its defaults; it needs no model."""
        found = discover_keystates(demos.trajectories, count=count)
        return [row.compressed() for row in found.steps]

    def curve(self, demos: Demonstrations, count: Count) -> Found:
        """Maxima of the paper's ensemble curve in normalised time, by `ExtremumDetector`.

        "auto" returns all reported maxima; a number K, at most K of them, the most prominent.
        """
        try:
            of_curve = mi_curve(demos.trajectories, self.estimator, mode="normalised")
        except InputError as error:
            raise NotOffered(str(error)) from error
        maxima = sorted(of_curve.extrema(kinds=["maximum"]), key=lambda m: -m.prominence)
        stamps = np.array([m.stamp for m in maxima[: None if count == "auto" else int(count)]])
        return [np.rint(np.sort(stamps) * (n - 1)).astype(np.int64) for n in demos.lengths]
