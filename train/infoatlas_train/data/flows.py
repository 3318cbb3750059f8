"""Batches of random functions and random invertible flows, with parameters for each dataset.

A flow maps one side only, so it changes neither mutual information nor pointwise log-ratio (paper,
section 3.2, "marginal diversity via random flow transformation").
"""

import torch
from torch import Tensor


def uniform(shape: int | tuple[int, ...], low: float, high: float, device: torch.device) -> Tensor:
    shape = (shape,) if isinstance(shape, int) else shape
    return low + (high - low) * torch.rand(shape, device=device)


def orthogonal(mask: Tensor) -> Tensor:
    """Random orthogonal matrices [B, D, D] on the coordinates in use, identity on the others."""
    g = torch.randn(*mask.shape, mask.shape[1], device=mask.device, dtype=mask.dtype)
    keep = mask[:, :, None] * mask[:, None]
    q, r = torch.linalg.qr(g * keep + torch.diag_embed(1 - mask))
    return q * r.diagonal(dim1=1, dim2=2).sign()[:, None]


class RandomFunction:
    """A random function of the coordinates in use: sums of sines, tanhs, kinks and squares.

    The amplitudes are heavy tailed, so that some functions are nearly a single sine or parabola and
    others are complicated. In a third of the functions, terms are multiplied by their neighbours,
    so that coordinates interact. Some tanhs are as steep as a switch. With `smooth` there are no
    products, steep tanhs, kinks or squares, and frequencies are low.
    """

    def __init__(self, mask: Tensor, out: int, *, smooth: bool, units: int = 12) -> None:
        b, d = mask.shape
        dev = mask.device
        reach = torch.exp(uniform(b, -1.2, 0.2 if smooth else 0.6, dev))[:, None, None]
        weight = torch.randn(b, d, units, device=dev) * mask[..., None]
        sparse = torch.rand(b, d, units, device=dev) < uniform(b, 0.3, 1.0, dev)[:, None, None]
        weight = weight * sparse
        norm = weight.square().sum(1, keepdim=True).clamp(min=1e-6).sqrt()
        self.weight = weight / norm * reach * (1 + torch.rand(b, 1, units, device=dev))
        self.bias = 2 * torch.randn(b, 1, units, device=dev) * reach.clamp(max=1.0)
        amplitude = torch.randn(b, units, out, device=dev)
        amplitude = amplitude * amplitude.abs() ** uniform(b, 0.0, 3.0, dev)[:, None, None]
        self.amplitude = amplitude
        self.smooth = smooth
        self.gain = torch.exp(3 * torch.rand(b, device=dev) ** 3)[:, None, None]
        share = uniform(b, 0.2, 1.0, dev) * (torch.rand(b, device=dev) < 0.33)
        self.product = torch.rand(b, 1, units, device=dev) < share[:, None, None]

    def __call__(self, x: Tensor) -> Tensor:
        """x [B, N, d] -> [B, N, out]."""
        h = torch.baddbmm(self.bias, x, self.weight)
        if self.smooth:
            sine, tanh = h.chunk(2, -1)
            h = torch.cat([sine.sin(), tanh.tanh()], -1)
        else:
            sine, tanh, kink, square = h.chunk(4, -1)
            tanh = (self.gain * tanh).tanh()
            h = torch.cat([sine.sin(), tanh, kink.abs(), square.square().clamp(max=16)], -1)
            h = torch.where(self.product, h * h.roll(2, -1), h)
        return h @ self.amplitude

    def standardised(self, x: Tensor) -> Tensor:
        """Values with zero mean and unit variance of each output over the given points."""
        y = self(x)
        return (y - y.mean(1, keepdim=True)) / y.std(1, keepdim=True).clamp(min=1e-3)


def standardise(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True).clamp(min=1e-6)


def rotate(x: Tensor, mask: Tensor) -> Tensor:
    return x @ orthogonal(mask)


def couple(x: Tensor, mask: Tensor) -> Tensor:
    """Scale and shift half of the coordinates by functions of the other half (affine coupling)."""
    half = (torch.rand_like(mask) < 0.5).float() * mask
    rest = mask - half
    known = x * half[:, None]
    shift = RandomFunction(half, x.shape[-1], smooth=False).standardised(known)
    log_scale = RandomFunction(half, x.shape[-1], smooth=True).standardised(known).clamp(-2, 2)
    strength = torch.rand(x.shape[0], 1, 1, device=x.device)
    moved = x * torch.exp(strength * 0.5 * log_scale) + strength * shift
    return torch.where(rest[:, None] > 0, moved, x)


def swirl(x: Tensor, mask: Tensor) -> Tensor:
    """Rotate in random planes by an angle that grows with the norm (a spiral)."""
    q = orthogonal(mask)
    z = x @ q
    size = z.square().sum(-1, keepdim=True) / mask.sum(1)[:, None, None]
    power = torch.where(torch.rand(x.shape[0], 1, 1, device=x.device) < 0.5, size, size.sqrt())
    speed = uniform(x.shape[0], -2.0, 2.0, x.device)[:, None, None]
    planes = []
    for first in range(0, x.shape[-1] - 1, 2):
        u, v = z[..., first : first + 1], z[..., first + 1 : first + 2]
        angle = speed * power * mask[:, None, first + 1 : first + 2] / (1 + first)
        planes += [u * angle.cos() - v * angle.sin(), u * angle.sin() + v * angle.cos()]
    z = torch.cat([*planes, z[..., len(planes) :]], -1)
    return z @ q.mT


def warp(x: Tensor, mask: Tensor) -> Tensor:
    """Map single coordinates strictly monotonically, with curvature of either sign."""
    kind = torch.randint(4, (x.shape[0], 1, x.shape[2]), device=x.device)
    a = torch.exp(uniform((x.shape[0], 1, x.shape[2]), -1.0, 1.2, x.device))
    power = x.sign() * x.abs().clamp(min=1e-6) ** a
    squash = torch.erf(a * x / 2)
    log = torch.asinh(3 * a * x)
    grow = torch.sinh(a.clamp(max=1.5) * x.clamp(-6, 6)) + 1e-2 * x
    x = torch.where(kind == 0, power, torch.where(kind == 1, squash, grow))
    return torch.where(kind == 2, log, x)


def random_flow(x: Tensor, mask: Tensor) -> Tensor:
    """Apply 0 to 3 random layers, and in half of the cases a rotation. x [B, N, D], mask [B, D].

    Between layers each dataset is standardised, which is an affine map of its coordinates.
    """
    layers = int(4 * torch.rand(()) ** 2)  # 0 in half of the cases
    for _ in range(layers):
        layer = (couple, swirl, swirl, warp)[int(torch.randint(4, ()))]
        x = standardise(rotate(x, mask) if torch.rand(()) < 0.5 else x)
        # A layer is applied to half of the datasets: after many layers, samples of a usual size do
        # not resolve the dependence.
        spared = torch.rand(x.shape[0], 1, 1, device=x.device) < 0.5
        x = torch.where(spared, x, layer(x, mask) * mask[:, None])
    x = standardise(x)
    return (rotate(x, mask) if torch.rand(()) < 0.5 else x) * mask[:, None]
