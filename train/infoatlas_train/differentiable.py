"""Differentiable estimate of mutual information in torch, with the weights of the runtime's model.

The forward pass has the same preprocessing as the runtime. The backward pass treats its parts
differently:

- *Ranks* are step functions, whose derivative is zero. Their gradient is that of a smooth map: the
  scores as a function of the values, from the smoothed quantile curve of a coordinate.
  (`torchsort` has no wheels and needs a compiler, and its soft ranks would change the value.)
- *Whitening and rotation* are constants. Mutual information is invariant under linear maps of one
  side, so their derivatives would only add errors of the network. This also avoids the gradient of
  an eigendecomposition, which is infinite at equal eigenvalues.
- *The critic and the bound* are differentiated completely: hypernetwork, neighbours, solve. By the
  envelope theorem the written critic could be a constant at its optimum. A critic that is written
  in one pass is not at its optimum, and slopes in several dimensions would be a third too small.
  The slopes are implemented in :mod:`infoatlas_train.readout`.
- *The bias correction* is a constant. It is a network fitted to examples, and its slope would lead
  an optimiser to inputs outside of these examples.

On a CPU the work is split into chunks that fit a cache, and each chunk runs on one thread. Several
threads within one operation would synchronise after each of hundreds of small operations, and last
ten times as long on a busy machine.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from infoatlas_rt.errors import InputError, ModelError
from infoatlas_rt.estimation.bounds import FLOOR
from infoatlas_rt.estimation.canonical import (
    clip_outliers,
    rotate,
    score_table,
    standardise,
    whiten,
)
from infoatlas_rt.estimation.shuffling import shuffle
from infoatlas_rt.estimation.slicing import GRID, Slicing, plan, without_constants
from infoatlas_rt.inputs.checks import as_count
from infoatlas_train.config import PAIRS, SHIFTS
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.pretrain import SIZES, load
from infoatlas_train.readout import evaluated

HERE = Path(__file__).parent
FOLDERS = (HERE / "checkpoints", HERE.parent / "checkpoints")  # in a wheel, in a checkout
SMOOTHING = 0.3  # width over which quantile curves are smoothed, in units of the normal scores
# Smallest slope of a quantile curve, relative to its median slope and to the standard deviation.
FLATTEST = 0.1, 0.01
TINY = 1e-30  # smallest slope of a constant coordinate
# Slices x samples x shifts of a chunk. On a GPU a chunk needs about 0.5 GB with gradients.
CHUNK_PAIRS = {"cpu": 12_000, "cuda": 200_000}


def mutual_information(
    x: Tensor,
    y: Tensor,
    k: int = 5,
    slices: int = 40,
    model: str | os.PathLike[str] = "edge",
    *,
    seed: int = 0,
) -> Tensor:
    """Estimate I(x; y) in nats, with gradients to x and y.

    The value is that of `infoatlas_rt.Estimator` with the same model, k, slices and seed, within
    0.02 nats. It is not clipped at the bound from repeated rows (`Estimate.clipped`). Gradients are
    of first order. A side of at most k coordinates is not sliced.

    Parameters
    ----------
    x, y : [n], [n, d] or [T, n, d] float tensors, on one device
        Paired samples; row i of x belongs to row i of y. Each of T timesteps or data sets is
        estimated separately.
    k : int
        Dimensions of a slice, at most the model's D.
    slices : int
        Number of slices S, used if a side has more than k coordinates.
    model : str or path
        The name of a shipped model, or a checkpoint of `python -m infoatlas_train.build`.
    seed : int
        Seed of projections, order and shifts. An optimisation with few slices should use a new seed
        at each step, so that their noise averages out.

    Returns
    -------
    Tensor, scalar or [T], with the dtype and device of x

    Raises
    ------
    InputError
        If the samples are unusable, or a setting is out of range.
    ModelError
        If the checkpoint does not exist.
    """
    single = isinstance(x, Tensor) and x.ndim < 3
    x, y = _samples(x, "x"), _samples(y, "y")
    if x.shape[:2] != y.shape[:2] or x.device != y.device:
        raise InputError(
            f"x is {list(x.shape)} on {x.device} and y {list(y.shape)} on {y.device}: "
            "pass as many samples of each, on one device"
        )
    network = _network(model, str(x.device))
    k = as_count(k, "k", 1, network.config.dim)
    slices, seed = as_count(slices, "slices", 1), as_count(seed, "seed", 0)
    n, least = x.shape[1], max(min(SIZES), 3 * network.config.dim)
    if n < least:
        raise InputError(f"{n} samples are fewer than the {least} that {model} needs: pass more")

    cut = _plan(x.shape[2], y.shape[2], k, slices, network.config.dim, seed)
    fewest = max(SHIFTS, network.config.solve_shifts, PAIRS // (n * cut.slices))
    order, _, shifts = shuffle(n, min(n - 1, fewest), seed)
    order, shifts = (torch.tensor(v, device=x.device) for v in (order, shifts))
    same = [(side == side[:, :1]).all(1).cpu().numpy() for side in (x, y)]  # [T, d] constant
    cuts = [_sliced(side[:, order], same[i], cut, i, seed) for i, side in enumerate((x, y))]
    per_slice = PerSlice.apply(*(s.flatten(0, 1) for s in cuts), shifts, network)
    mi = per_slice.unflatten(0, (len(x), cut.slices)).mean(1).to(x.dtype)
    constant = torch.tensor(same[0].all(1) | same[1].all(1), device=x.device)
    mi = torch.where(constant, torch.zeros_like(mi), mi)
    return mi[0] if single else mi


def _samples(values: Any, name: str) -> Tensor:
    """Check samples and reshape them to [T, n, d]."""
    if not isinstance(values, Tensor) or not values.is_floating_point():
        raise InputError(f"{name} is {type(values).__name__}: pass a tensor of floats")
    if not 1 <= values.ndim <= 3 or not values.numel():
        raise InputError(f"{name} has shape {list(values.shape)}: pass [n], [n, d] or [T, n, d]")
    if not bool(torch.isfinite(values.detach()).all()):
        raise InputError(f"{name} has values that are NaN or infinite: leave those samples out")
    values = values[:, None] if values.ndim == 1 else values
    return values if values.ndim == 3 else values[None]


@lru_cache(maxsize=4)
def _network(model: str | os.PathLike[str], device: str) -> InfoAtlas:
    """Load a shipped model by its name, or a checkpoint by its path."""
    path = next((f for folder in FOLDERS if (f := folder / f"{model}.pt").is_file()), Path(model))
    try:
        network, _ = load(path)
    except Exception as error:
        names = sorted(f.stem for folder in FOLDERS for f in folder.glob("*.pt"))
        raise ModelError(
            f"cannot read the checkpoint {path} ({error}): pass one of {', '.join(names)}, or the "
            "path of a checkpoint of python -m infoatlas_train.build"
        ) from error
    network.requires_grad_(False).to(device).hypernetwork.fix()
    return network


def _plan(dx: int, dy: int, k: int, slices: int, dim: int, seed: int) -> Slicing:
    """The slicing plan of the runtime; sides of at most k coordinates are not sliced."""
    wide = {(True, True): "both", (True, False): "x", (False, True): "y"}.get((dx > k, dy > k))
    if wide is None:
        return plan(dx, dy, dim, seed=seed)
    return plan(dx, dy, dim, k=k, slices=slices, sides=wide, seed=seed)


def _sliced(x: Tensor, same: np.ndarray, cut: Slicing, side: int, seed: int) -> Tensor:
    """Slices of a side [T, n, d]: [T, S, n, k] float64; copies of the side if it is not sliced."""
    x = x.double()
    all_projections = (cut.x, cut.y)[side]
    if all_projections is None:
        return x[:, None].expand(-1, cut.slices, -1, -1)
    t, n, d = x.shape
    constant = torch.tensor(same, device=x.device)[:, None]  # [T, 1, d]
    # A ramp in place of constant coordinates: the slope of a square root at zero is infinite, and
    # would make gradients NaN even where its value is not used.
    ramp = torch.arange(n, dtype=x.dtype, device=x.device)[:, None]
    together = torch.where(constant, ramp, x).transpose(0, 1).reshape(n, t * d)
    z = standardise(clip_outliers(together)).unflatten(1, (t, d)).transpose(0, 1)
    z = torch.where(constant, 0.0, z)
    if not same.any():
        projections = all_projections[None]
    else:  # projections of the other coordinates, and zeros for constant ones
        projections = np.zeros((t, *all_projections.shape))
        for row, varying in zip(projections, ~same, strict=True):
            if varying.any():
                widths = [sys.maxsize, sys.maxsize]  # width of the other side
                widths[side] = int(varying.sum())
                reduced = without_constants(cut, *widths, seed)
                own = (reduced.x, reduced.y)[side]
                row[:, varying, : own.shape[2]] = own
    s = z[:, None] @ torch.tensor(projections, device=x.device)
    return s + (torch.round(s / GRID) * GRID - s).detach()  # the runtime's grid for ties


class PerSlice(torch.autograd.Function):
    """Estimates [B] float32 of slices x, y [B, n, k]; the forward pass computes the slopes, too.

    The work is split into chunks. On a CPU as many chunks run in parallel as torch has threads.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, shifts: Tensor, network: InfoAtlas) -> Tensor:
        wanted = any(ctx.needs_input_grad)
        most = CHUNK_PAIRS["cuda" if x.is_cuda else "cpu"]
        size = max(1, most // (x.shape[1] * len(shifts)))
        chunks = list(zip(x.split(size), y.split(size), strict=True))

        def one(chunk: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor | None, Tensor | None]:
            return _values_and_slopes(*chunk, shifts, network, wanted)

        workers = 1 if x.is_cuda else min(ONE_THREAD.threads, len(chunks))
        with ONE_THREAD:
            if workers == 1:
                found = [one(chunk) for chunk in chunks]
            else:
                with ThreadPoolExecutor(workers) as pool:
                    found = list(pool.map(one, chunks))
        values, slopes_x, slopes_y = zip(*found, strict=True)
        if wanted:
            ctx.save_for_backward(torch.cat(slopes_x), torch.cat(slopes_y))
        return torch.cat(values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        return *(slope[:, None, None] * own for own in ctx.saved_tensors), None, None


class _OneThread:
    """A context in which torch uses one CPU thread per operation, until the last call leaves it."""

    def __init__(self) -> None:
        self._lock, self._inside, self._threads = Lock(), 0, 1

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._threads = torch.get_num_threads()
                torch.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                torch.set_num_threads(self._threads)

    @property
    def threads(self) -> int:
        """Number of threads of torch outside of the context."""
        with self._lock:
            return self._threads if self._inside else torch.get_num_threads()


ONE_THREAD = _OneThread()


def _values_and_slopes(
    x: Tensor, y: Tensor, shifts: Tensor, network: InfoAtlas, wanted: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Estimates [B] of slices [B, n, k], and if `wanted` the slopes of both sides."""
    sides = whiten(x), whiten(y)
    transform, _ = rotate(*sides, network.config.dim)
    canonical = [
        (t @ s.scores).mT.float().contiguous().requires_grad_(wanted)
        for t, s in zip(transform, sides, strict=True)
    ]
    with torch.set_grad_enabled(wanted):
        bound, e = evaluated(network, *canonical, shifts)
        total = bound.sum()
    values = bound.detach()
    if network.gap is not None:
        sequence = torch.arange(x.shape[1], device=x.device)
        with torch.no_grad():
            diagnostics, _ = network.gap.diagnostics(*canonical, e, sequence)
            values = values + network.gap.correction(diagnostics)
    values = values.clamp(min=FLOOR)
    if not wanted:
        return values, None, None
    on_canonical = torch.autograd.grad(total, canonical)
    on_samples = (
        through_ranks(t.mT @ g.double().mT, s.mT).mT  # slopes on scores [B, k, n], then on values
        for t, g, s in zip(transform, on_canonical, (x, y), strict=True)
    )
    return values, *on_samples


def through_ranks(slope: Tensor, x: Tensor) -> Tensor:
    """Slopes on values x [.., n] from slopes on their normal scores, through a smooth map.

    The map from x to scores has the slope 1 / q', where q is the smoothed quantile curve of the
    values over the scores. A part of the slope that depends on the value only would warp the
    coordinate, which does not change mutual information. Its smooth estimate is subtracted.
    """
    order = torch.argsort(x, dim=-1, stable=True)
    x, slope = x.gather(-1, order), slope.gather(-1, order)
    mean, rise = (torch.from_numpy(m).to(x.device) for m in _smoothers(x.shape[-1]))
    steepness = x @ rise.mT
    least = torch.maximum(
        FLATTEST[0] * steepness.median(-1, keepdim=True).values,
        FLATTEST[1] * x.std(-1, keepdim=True),
    )
    out = (slope - slope @ mean.mT) / torch.maximum(steepness, least).clamp(min=TINY)
    return torch.zeros_like(out).scatter(-1, order, out)


@lru_cache(maxsize=4)
def _smoothers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Local mean and local slope of n ordered samples over their normal scores: [n, n] each."""
    z = score_table(n)[::2]
    weight = np.exp(-0.5 * ((z[:, None] - z) / SMOOTHING) ** 2)
    weight /= weight.sum(1, keepdims=True)
    apart = z - (weight @ z)[:, None]
    rise = weight * apart
    return weight, rise / (rise * apart).sum(1, keepdims=True)
