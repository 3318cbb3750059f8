"""Methods of this package with the interface of `peers/keystate_finders.py`."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from infoatlas_rt import Estimate, Estimator, InputError
from infoatlas_tools import KeyStates, discover_keystates, mi_curve

from ..peers.keystate_finders import Count, Found, NotOffered
from ..tasks.demonstrations import Demonstrations

AUTO, PHASE, POINTWISE, CURVE = "auto", "phase", "pointwise", "ensemble curve"
SLICES = {POINTWISE: 10, CURVE: 40}  # the defaults of `discover_keystates` and of the paper


class Remembering(Estimator):
    """An estimator that caches estimates.

    Local information does not depend on K, so one evaluation serves all K of a task.
    """

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


def _found(keystates: KeyStates) -> Found:
    """Steps of each trajectory."""
    return [row.compressed() for row in keystates.steps]


class Ours:
    """Our methods, of one shipped model."""

    def __init__(self, model: str) -> None:
        self.estimators = {
            name: Remembering(model=model, k=5, slices=slices) for name, slices in SLICES.items()
        }

    def auto(self, demos: Demonstrations, count: Count) -> Found:
        """`discover_keystates` with its defaults; it needs no model."""
        return _found(discover_keystates(demos.trajectories, count=count))

    def phase(self, demos: Demonstrations, count: Count) -> Found:
        """`discover_keystates(method="phase")`."""
        return _found(discover_keystates(demos.trajectories, count=count, method="phase"))

    def pointwise(self, demos: Demonstrations, count: Count) -> Found:
        """`discover_keystates(method="pointwise")`."""
        if count == "auto":
            raise NotOffered("does not choose a number")
        estimator = self.estimators[POINTWISE]
        found = discover_keystates(
            demos.trajectories, count=count, method=POINTWISE, estimator=estimator
        )
        return _found(found)

    def curve(self, demos: Demonstrations, count: Count) -> Found:
        """Maxima of the paper's ensemble curve in normalised time, by `ExtremumDetector`.

        "auto" returns all reported maxima; a number K, at most K of them, the most prominent.
        """
        try:
            of_curve = mi_curve(demos.trajectories, self.estimators[CURVE], mode="normalised")
        except InputError as error:
            raise NotOffered(str(error)) from error
        maxima = sorted(of_curve.extrema(kinds=["maximum"]), key=lambda m: -m.prominence)
        stamps = np.array([m.stamp for m in maxima[: None if count == "auto" else int(count)]])
        return [np.rint(np.sort(stamps) * (n - 1)).astype(np.int64) for n in demos.lengths]
