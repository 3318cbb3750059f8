"""Mixtures of Gaussian and Student-t components with exact densities, and their correlations.

The module also defines the argument and the result of the families of the atlas
(:class:`Settings`, :class:`Pairs`).

Shapes: B datasets, K components, N samples, Q queries, D the width of a side.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from infoatlas_train.data.flows import orthogonal, random_flow, uniform

# On sides wider than this, dependence that accumulates over coordinates is scaled down. Otherwise
# most wide datasets would have more mutual information than a sample, or the Monte Carlo label, can
# resolve.
WIDE = 5


def excess(mask: Tensor, coordinates: float = WIDE) -> Tensor:
    """Number of coordinates in use divided by `coordinates`, at least 1: [B, d] -> [B]."""
    return (mask.sum(1) / coordinates).clamp(min=1.0)


@dataclass(frozen=True)
class Settings:
    """The settings of the atlas that its families depend on."""

    dim: int  # D
    queries: int  # Q
    draws: int  # Monte Carlo draws for the densities of `functional` and `latent`
    max_components: int
    in_order: bool  # whether time series keep the order of time (the runtime shuffles)


def masks(dim: int, b: int, dev: torch.device, equal: bool = False) -> tuple[Tensor, Tensor]:
    """Masks [B, D] of the coordinates in use of both sides; few are a little more frequent."""

    def draw() -> Tensor:
        d = 1 + (dim * torch.rand(b, device=dev) ** 1.2).long().clamp(max=dim - 1)
        return (torch.arange(dim, device=dev) < d[:, None]).float()

    mx = draw()
    same = torch.rand(b, 1, device=dev) < (1.0 if equal else 0.5)
    return mx, torch.where(same, mx, draw())


@dataclass
class Pairs:
    """Result of a family: samples, and the log-ratio of the last `queries` of them."""

    x: Tensor  # [B, N, D]
    y: Tensor  # [B, N, D]
    joint: Tensor  # [B, Q] log-ratio of (x_i, y_i), i over the last Q samples
    product: Tensor  # [B, Q] log-ratio of (x_i, y_{i+1}), cyclic over the last Q samples
    mi: Tensor  # [B] nats; in closed form if there is one, otherwise the mean of joint


def finish(
    mx: Tensor,
    my: Tensor,
    x: Tensor,
    y: Tensor,
    joint: Tensor,
    product: Tensor,
    mi: Tensor | None = None,
) -> Pairs:
    """Apply a random flow to each side, which does not change the log-ratio."""
    x, y = random_flow(x, mx), random_flow(y, my)
    return Pairs(x, y, joint, product, joint.mean(1) if mi is None else mi)


def low_rank_correlation(mask: Tensor, components: int, most: float = math.inf) -> Tensor:
    """Correlation matrices by low-rank factorisation (paper, Algorithm 2): [B, K, d, d] float64.

    mask [B, d] marks the coordinates in use; the matrix is the identity on the others. In a part of
    the draws the diagonal is shrunk, which makes dependence strong. The rank is at most `most`, and
    the diagonal grows with the number of coordinates beyond it.
    """
    b, d = mask.shape
    dev = mask.device
    used = mask.sum(1)[:, None, None, None].clamp(max=most)
    rank = 1 + (torch.rand(b, components, 1, 1, device=dev) * used).long()
    w = torch.randn(b, components, d, d, device=dev, dtype=torch.float64)
    w = w * (torch.arange(d, device=dev) < rank)
    sparse = uniform(b, 0.0, 0.6, dev)[:, None, None, None]
    sparse = sparse * (torch.rand(b, 1, 1, 1, device=dev) < 0.4)
    w = w * (torch.rand(w.shape, device=dev) >= sparse) * mask[:, None, :, None]
    strong = 10 ** -uniform(b, 0.0, 2.0, dev) * (torch.rand(b, device=dev) < 0.4).float()
    strong = torch.where(strong > 0, strong, 1.0)[:, None, None]
    diagonal = torch.rand(b, components, d, device=dev) * strong + 1e-4
    diagonal = diagonal * excess(mask, most)[:, None, None]
    diagonal = torch.where(mask[:, None] > 0, diagonal, 1.0)
    sigma = w @ w.mT + torch.diag_embed(diagonal.double())
    s = sigma.diagonal(dim1=-2, dim2=-1).rsqrt()
    return sigma * s[..., None] * s[..., None, :]


def prescribed_correlation(mx: Tensor, my: Tensor) -> Tensor:
    """Joint correlation matrices of mostly 0 to 6 nats in total: [B, 1, 2D, 2D] float64."""
    b, dim = mx.shape
    dev = mx.device
    pairs = torch.minimum(mx, my)
    drawn = torch.rand(b, dim, device=dev).clamp(min=2.0**-25)  # rand can return 0
    share = (-drawn.log()) ** uniform(b, 0.3, 3.0, dev)[:, None] * pairs
    total = 6 * torch.rand(b, device=dev) ** 1.3
    total = torch.where(torch.rand(b, device=dev) < 0.06, 2.5 * total, total)  # a robot at rest
    information = total[:, None] * share / share.sum(1, keepdim=True).clamp(min=1e-9)
    rho = (-torch.expm1(-2 * information.double())).sqrt()
    cross = orthogonal(mx.double()) @ torch.diag_embed(rho) @ orthogonal(my.double()).mT
    eye = torch.eye(dim, device=dev, dtype=torch.float64).expand(b, dim, dim)
    return torch.cat([torch.cat([eye, cross], 2), torch.cat([cross.mT, eye], 2)], 1)[:, None]


@dataclass
class Mixture:
    """Mixtures of Gaussian and Student-t components over z = (x, y), with exact densities."""

    log_weight: Tensor  # [B, K]
    mean: Tensor  # [B, K, 2D]
    scale: Tensor  # [B, K, 2D, 2D] scale matrix, float64; identity on unused coordinates
    freedom: Tensor  # [B, K] degrees of freedom, inf: Gaussian
    mask: Tensor  # [B, 2D]

    def __post_init__(self) -> None:
        self.factor = torch.linalg.cholesky(self.scale)

    def sample(self, samples: int) -> Tensor:
        """Draw samples: [B, samples, 2D] float32."""
        c = torch.multinomial(self.log_weight.exp(), samples, replacement=True)  # [B, N]
        index = torch.arange(c.shape[0], device=c.device)[:, None]
        e = torch.randn(*c.shape, self.mask.shape[1], device=c.device)
        nu = self.freedom[index, c]
        finite = nu.isfinite()
        half = torch.where(finite, nu, 2.0) / 2
        chi = torch._standard_gamma(half) / half  # chi-square over its degrees of freedom
        e = e * torch.where(finite, chi.clamp(min=1e-6).rsqrt(), 1.0)[..., None]
        z = self.mean[index, c] + (self.factor.float()[index, c] @ e[..., None])[..., 0]
        return z * self.mask[:, None]

    def log_density(self, z: Tensor, part: slice) -> Tensor:
        """Log-density of the coordinates `part` of z [B, N, d]: [B, N]."""
        mask = self.mask[:, part]
        factor = torch.linalg.cholesky(self.scale[..., part, part])
        inverse = torch.linalg.solve_triangular(
            factor, torch.eye(factor.shape[-1], device=z.device, dtype=factor.dtype), upper=False
        ).float()
        inverse = inverse * mask[:, None, :, None] * mask[:, None, None, :]
        e = z[:, None] @ inverse.mT - (self.mean[..., part][:, :, None] @ inverse.mT)  # [B,K,N,d]
        q = e.square().sum(-1)
        d = mask.sum(1)[:, None, None]
        nu = torch.where(self.freedom.isfinite(), self.freedom, 1.0)[..., None]
        student = torch.lgamma((nu + d) / 2) - torch.lgamma(nu / 2)
        student = student - d / 2 * torch.log(nu * math.pi) - (nu + d) / 2 * torch.log1p(q / nu)
        gauss = -q / 2 - d / 2 * math.log(2 * math.pi)
        log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1).float()[..., None]
        each = torch.where(self.freedom[..., None].isfinite(), student, gauss) - log_det
        return torch.logsumexp(each + self.log_weight[..., None], dim=1)

    def log_ratio(self, x: Tensor, y: Tensor) -> Tensor:
        """log p(x,y)/p(x)p(y) of pairs x, y [B, N, D]: [B, N]."""
        dim = x.shape[-1]
        return (
            self.log_density(torch.cat([x, y], -1), slice(None))
            - self.log_density(x, slice(dim))
            - self.log_density(y, slice(dim, None))
        )

    def gaussian_mi(self) -> Tensor:
        """Closed form of the first component, in nats: [B]."""
        d = self.mask.shape[1] // 2
        parts = slice(d), slice(d, None), slice(None)
        x, y, joint = (torch.linalg.slogdet(self.scale[:, 0, s, s])[1] for s in parts)
        return (0.5 * (x + y - joint)).float()

    def pairs(self, z: Tensor, queries: int) -> Pairs:
        """Split samples z [B, N, 2D] of the mixture into sides, with the log-ratio of the last.

        The log-ratio is that of the last `queries` samples.
        """
        dim = z.shape[-1] // 2
        x, y = z[..., :dim], z[..., dim:]
        xq, yq = x[:, -queries:], y[:, -queries:]
        joint, product = self.log_ratio(xq, yq), self.log_ratio(xq, yq.roll(-1, 1))
        gauss = (self.log_weight.exp()[:, 0] > 1 - 1e-6) & self.freedom[:, 0].isinf()
        mi = torch.where(gauss, self.gaussian_mi(), joint.mean(1))
        return finish(self.mask[:, :dim], self.mask[:, dim:], x, y, joint, product, mi)


def centred(
    scale: Tensor, mask: Tensor, log_weight: Tensor | None = None, freedom: Tensor | None = None
) -> Mixture:
    """Mixtures of zero mean; Gaussian without `freedom` [B, K], equal weights without weights."""
    weight, nu = (torch.zeros(scale.shape[:2], device=scale.device) for _ in range(2))
    return Mixture(
        weight if log_weight is None else log_weight,
        torch.zeros(scale.shape[:3], device=scale.device),
        scale,
        nu + math.inf if freedom is None else freedom,
        mask,
    )


def component(dx: int, dy: int) -> Mixture:
    """One component of prescribed strength, Gaussian or Student-t with equal probability."""
    half = max(dx, dy)
    mx, my = ((torch.arange(half) < d).float()[None] for d in (dx, dy))
    nu = torch.full((1, 1), math.inf)
    if torch.rand(()) < 0.5:
        nu = 2.1 + 28 * torch.rand(1, 1) ** 3
    return centred(prescribed_correlation(mx, my), torch.cat([mx, my], 1), freedom=nu)


def label(m: Mixture, half: int, queries: int) -> tuple[float, float]:
    """Mean mutual information over the mixtures of a batch, and its standard error."""
    batch, components = m.log_weight.shape
    if components == 1 and not m.freedom.isfinite().any():
        each = m.gaussian_mi().double()
    else:
        z = m.sample(queries)
        each = m.log_ratio(z[..., :half], z[..., half:]).double()
        each = each.mean(1) if batch > 1 else each[0]
    if len(each) == 1:
        return float(each), 0.0
    return float(each.mean()), float(each.std()) / math.sqrt(len(each))
