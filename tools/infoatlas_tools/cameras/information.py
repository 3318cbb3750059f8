"""Information of image points about the joints at a cut.

Where a person reaches for an object, the joints at the grasp depend on its place, and so does its
point in the first image. Half the log-ratio of the residuals of the joints, without and with the
point in a linear regression, is the information of a Gaussian model. Residuals are those of
demonstrations that the regression was not fitted to, so that a point without information has less
than 0 nats on average.
"""

import numpy as np

from ..array_types import Float


def components(joints: Float) -> Float:
    """Leading principal components [N, up to 3] of joints [N, d]: a place has three coordinates."""
    u, s, _ = np.linalg.svd(joints - joints.mean(axis=0), full_matrices=False)
    count = min(3, int((s > 1e-6 * s[0]).sum()))
    return np.asarray(u[:, :count] * s[:count])


def information(point: Float, joints: Float) -> float:
    """Nats of points [N, 2] about components of the joints [N, m]."""
    return float(_nats(_hat(point), joints[None])[0])


def jackknife(point: Float, joints: Float) -> tuple[float, Float]:
    """Standard error of the information, and the information without each demonstration, nats."""
    n = len(point)
    kept = ~np.eye(n, dtype=bool)
    without = np.array([information(point[k], joints[k]) for k in kept])
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())), without


def permute(point: Float, joints: Float) -> Float:
    """Information between points and the joints of other demonstrations [999]."""
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(len(point)) for _ in range(999)])
    return _nats(_hat(point), joints[orders])


def _hat(point: Float) -> Float:
    design = np.column_stack([np.ones(len(point)), point - point.mean(axis=0)])
    return np.asarray(design @ np.linalg.pinv(design))


def _nats(hat: Float, joints: Float) -> Float:
    """Nats [k] of the regression with this hat matrix on joints [k, N, m]."""
    n = len(hat)
    rest = (joints - hat @ joints) / np.maximum(1 - np.diag(hat), 1e-6)[:, None]
    whole = (joints - joints.mean(axis=1, keepdims=True)) * n / (n - 1)
    with_it, without = (rest**2).mean(axis=1), (whole**2).mean(axis=1)
    return np.asarray(0.5 * np.log(without / np.maximum(with_it, 1e-12 * without)).sum(axis=1))
