"""The paper's curve I(s_t; s_<t-Δt) over 100 demonstrations, and its extrema."""

from pathlib import Path

from infoatlas_rt import Estimator
from infoatlas_tools import load_trajectories, mi_curve

demonstrations = load_trajectories(Path(__file__).parent / "data" / "pickcube.npz")
# The time is normalised, because lengths differ. The states of a pair are two original steps apart.
curve = mi_curve(demonstrations, Estimator(k=5, slices=10), lag=2, points=60)
for position, mi, noise in zip(curve.position, curve.mi, curve.noise, strict=True):
    print(f"{position:.2f}: {mi:.2f} ± {noise:.2f} nats")
for extremum in curve.extrema():
    print(f"{extremum.kind} at {extremum.stamp:.2f}")
