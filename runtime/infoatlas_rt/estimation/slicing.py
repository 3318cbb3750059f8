"""Random projections of sides that are too wide for the model: k-sliced mutual information.

It is the average over S slices of I(P_j x; P'_j y), or of I(P_j x; y) if only one side is sliced.
P_j and P'_j are drawn independently and uniformly from Stiefel manifolds (Section 3.4 of the paper,
"Scaling to High Dimensions via Slicing").
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.gpu_arrays import Array, array_namespace, beside

SLICES = 40  # S of the paper's key-state experiment
SIDES = ("auto", "both", "x", "y")

# Step of the grid to which projected samples are rounded. Standardised samples have unit scale, so
# no information is lost. The products of equal rows may differ in the last bit, and ranks would
# amplify that to full scale; on the grid, equal rows stay exact ties.
GRID = 2.0**-30

MOST_NUMBERS = 10**8  # numbers in the projections of one side (0.8 GB)


@dataclass(frozen=True, eq=False)
class Slicing:
    """The slices of a pair of sides.

    Attributes
    ----------
    slices : int
        S; 1 if neither side is projected.
    k : int or None
        Dimensions of a projected side (fewer if it has fewer non-constant coordinates); None if
        neither side is projected.
    x, y : [S, d, k] float64, or None
        Projections with orthonormal columns; None for an unsliced side.
    """

    slices: int
    k: int | None
    x: NDArray[np.float64] | None
    y: NDArray[np.float64] | None


@lru_cache(maxsize=16)
def plan(
    dx: int,
    dy: int,
    dim: int,
    *,
    k: int | None = None,
    slices: int | None = None,
    sides: str = "auto",
    seed: int = 0,
) -> Slicing:
    """Decide which sides to project, and draw the projections; the same call gives the same ones.

    Parameters
    ----------
    dx, dy : int
        Coordinates of each side, constant ones included. These may vary in the next window of a
        stream, and the number of slices has to stay the same.
    dim : int
        D, largest width of an unsliced side.
    k, slices, sides
        As in `Estimator`.
    seed : int
        The two sides have random streams of their own, so the projections of one side do not depend
        on the width of the other.

    Raises
    ------
    InputError
        A slice is wider than its side, or an unsliced side is wider than the model.
    """
    if sides == "auto":
        slice_x, slice_y = k is not None or dx > dim, k is not None or dy > dim
    else:
        slice_x, slice_y = sides in ("both", "x"), sides in ("both", "y")
    if not slice_x and not slice_y:
        return Slicing(1, None, None, None)

    width = dim if k is None else k
    count = SLICES if slices is None else slices
    projections: list[NDArray[np.float64] | None] = []
    for side, (name, d, sliced) in enumerate((("x", dx, slice_x), ("y", dy, slice_y))):
        if not sliced and d > dim:
            raise InputError(
                f"{name} has {d} coordinates, and the model accepts {dim}: "
                f"slice it too (sides='both', with k <= {min(dx, dy, dim)})"
            )
        if sliced and width > d:
            given = f"k={k}" if k is not None else f"slices of the model's width ({dim})"
            ways = [f"pass k <= {d}"]
            other, beside = (dy, "y") if name == "x" else (dx, "x")
            if d <= dim and other >= width:
                ways.append(f"slice the other side alone (sides='{beside}')")
            if k is not None and sides == "auto":
                ways.append("leave out k, so that small sides are not sliced")
            elif sides != "auto":
                ways.append("leave out sides, so that small sides are not sliced")
            raise InputError(
                f"{given} cannot be taken from {name}, which has {d} coordinates: "
                f"{', or '.join(ways)}"
            )
        if sliced and count * d * width > MOST_NUMBERS:
            raise InputError(
                f"{count} slices from {d} to {width} dimensions are {count * d * width} numbers, "
                f"and the limit is {MOST_NUMBERS}: pass fewer slices or coordinates, or a smaller k"
            )
        projections.append(_side(d, width, count, seed, side) if sliced else None)
    return Slicing(count, width, *projections)


def stiefel(d: int, k: int, slices: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw projections [slices, d, k] uniformly (Haar measure) from the Stiefel manifold St(d, k).

    Their columns are orthonormal (Section 3.4). InputError unless 1 <= k <= d and slices >= 1.
    """
    if not 1 <= k <= d:
        raise InputError(f"k={k} dimensions cannot be taken from {d}: pass 1 <= k <= {d}")
    if slices < 1:
        raise InputError(f"slices={slices}: pass at least 1")
    # One by one, because NumPy 1.21 has no QR of a batch.
    pairs = zip(*map(np.linalg.qr, rng.standard_normal((slices, d, k))), strict=True)
    q, r = map(np.stack, pairs)
    # QR is unique only up to the signs of R's diagonal, and LAPACK does not choose them at random.
    frames = q * np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)[:, None, :]
    # Read-only, and stored as [slices, k, d], as `project` needs them.
    stored = np.ascontiguousarray(np.swapaxes(frames, -1, -2))
    stored.flags.writeable = False
    return np.swapaxes(stored, -1, -2)


@lru_cache(maxsize=16)
def without_constants(plan: Slicing, dx: int, dy: int, seed: int) -> Slicing:
    """The same number of slices, of the `dx` and `dy` non-constant coordinates of both sides.

    The projections are those of a side without the constant coordinates, so a constant coordinate
    has no effect. A slice of three coordinates has at most three dimensions: five combinations of
    three coordinates are linearly dependent. Their ranks are not, and whitening would amplify the
    difference.
    """
    sides = []
    for side, projections, d in ((0, plan.x, dx), (1, plan.y, dy)):
        if projections is not None and d < projections.shape[1]:
            projections = _side(d, min(projections.shape[2], d), plan.slices, seed, side)
        sides.append(projections)
    return replace(plan, x=sides[0], y=sides[1])


def _side(d: int, k: int, slices: int, seed: int, side: int) -> NDArray[np.float64]:
    """Projections of side 0 (x) or 1 (y)."""
    stream = np.random.SeedSequence(seed).spawn(2)[side]
    return stiefel(d, k, slices, np.random.default_rng(stream))


def project(samples: Array, projections: NDArray[np.float64]) -> Array:
    """Slices [S, n, k] of standardised samples [n, d], in steps of 2^-30, where the samples are.

    They are integers, and the samples of a coordinate lie next to each other in memory.
    """
    # One small product for each slice stays in this thread. A single large one would start BLAS
    # threads, and waiting for them costs milliseconds when the other cores are busy.
    xp = array_namespace(samples)
    slices = xp.matmul(beside(np.swapaxes(projections, -1, -2), samples), samples.T)
    slices /= GRID
    xp.round(slices, out=slices)
    return xp.matrix_transpose(slices)
