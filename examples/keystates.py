"""Key states of 100 recorded demonstrations: where a state says most, and least, about its past.

The command does the same, and prints how near the key states come to the simulator's flags:

    infoatlas-rt keystates examples/data/pickcube.npz --lag 2 --k 5 --slices 40 --plot keystates.png
"""

from pathlib import Path

from infoatlas_rt import Estimator
from infoatlas_rt.curve import mi_curve
from infoatlas_rt.data import load_trajectories
from infoatlas_rt.extrema import find

trajectories = load_trajectories(Path(__file__).parent / "data" / "pickcube.npz")
curve = mi_curve(trajectories, Estimator(k=5, slices=40), lag=2)

for state in find(curve):
    print(
        f"{state.kind:8} at {state.stamp:.2f} of the trajectory: {state.value:.2f} nats, "
        f"stands out by {state.prominence:+.2f} ({state.z:.1f} standard errors)"
    )
