"""The atlas: synthetic distributions of known dependence, drawn in batches on the training device.

Each dataset comes with the exact (or Monte Carlo exact) pointwise log-ratio log p(x,y)/p(x)p(y) on
query pairs, so that a critic can be taught what it should say. Families:

* ``mixture``     up to 60 Gaussian or Student-t components (paper, Algorithm 1 and 2)
* ``canonical``   one component with prescribed canonical correlations, to 6 nats
* ``functional``  y = f(x) + s(x) e, random smooth f and s
* ``latent``      x = f(u) + noise, y = g(u) + noise, u of dimension 1 to 3
* ``autoregressive``  consecutive states of a stationary VAR(1): dependent samples
* ``discrete``    a noisy channel between labels, seen through codes

Random invertible flows per side (:mod:`infoatlas_train.flows`) then change the margins and leave
the log-ratio as it is.

Shapes: B datasets, N samples, Q queries, D the width of a side; a side of dimension d < D has its
last D - d coordinates at zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from infoatlas_train.flows import RandomFunction, orthogonal, random_flow, uniform

LOG_RATIO_BOUND = 12.0  # guards the teacher against the far tails
# Sides wider than this are not more dependent for it: what adds up over coordinates is made weaker
# there. Else most wide datasets hold more than any sample, or the draws behind a label, can tell.
WIDE = 5


def _excess(mask: Tensor, coordinates: float = WIDE) -> Tensor:
    """How often the coordinates in use are more than `coordinates`, at least 1: [B, d] -> [B]."""
    return (mask.sum(1) / coordinates).clamp(min=1.0)


@dataclass
class Pairs:
    """What a family returns: samples, and the log-ratio of the last `queries` of them."""

    x: Tensor  # [B, N, D]
    y: Tensor  # [B, N, D]
    joint: Tensor  # [B, Q] log-ratio of (x_i, y_i), i over the last Q samples
    product: Tensor  # [B, Q] log-ratio of (x_i, y_{i+1}), cyclic over the last Q samples
    mi: Tensor  # [B] mutual information in nats: closed form where there is one, else mean of joint


@dataclass
class Datasets:
    """A batch of datasets: n support samples for the hypernetwork, Q query pairs with the truth."""

    x: Tensor  # [B, n, D]
    y: Tensor
    xq: Tensor  # [B, Q, D]
    yq: Tensor
    joint: Tensor  # [B, Q] log p(x,y)/p(x)p(y) at (xq_i, yq_i)
    product: Tensor  # [B, Q] at (xq_i, yq_{i+1})
    mi: Tensor  # [B] nats
    family: Tensor  # [B] int, index into Atlas.families


@dataclass
class Atlas:
    """The distribution over datasets.

    `families` maps a family to its share of the draws; `independent` is the share of datasets
    whose pairing is broken, so that their log-ratio is zero everywhere.
    """

    dim: int = 5
    queries: int = 256
    draws: int = 384  # Monte Carlo draws behind the functional and latent log-ratios
    max_components: int = 60
    independent: float = 0.06
    group: int = 8  # datasets that share a family (their parameters differ)
    families: dict[str, float] = field(
        default_factory=lambda: {
            "mixture": 0.22,
            "canonical": 0.24,
            "functional": 0.24,
            "latent": 0.18,
            "autoregressive": 0.06,
            "discrete": 0.06,
        }
    )

    def __post_init__(self) -> None:
        self._names = list(self.families)
        self._shares = torch.tensor(list(self.families.values()))

    @torch.no_grad()
    def sample(self, batch: int, n: int, device: torch.device | str = "cpu") -> Datasets:
        """Draw `batch` datasets of n support samples and `queries` query pairs each."""
        groups = max(1, math.ceil(batch / self.group))
        family = torch.multinomial(self._shares, groups, replacement=True)
        family = family.repeat_interleave(self.group)[:batch].sort().values
        parts = []
        for index, count in zip(*torch.unique_consecutive(family, return_counts=True), strict=True):
            draw = globals()[self._names[int(index)]]
            parts.append(draw(self, int(count), n + self.queries, torch.device(device)))
        p = Pairs(*(torch.cat(values) for values in zip(*map(_astuple, parts), strict=True)))
        family = family.to(device)

        # Broken pairs know nothing of each other. (Not for time series: there a shift by half the
        # sample still leaves both sides autocorrelated, which iid teachers do not describe.)
        broken = torch.rand(batch, device=device) < self.independent
        if "autoregressive" in self._names:
            broken &= family != self._names.index("autoregressive")
        y = torch.where(broken[:, None, None], p.y.flip(1), p.y)  # (no shift meets a pair again)
        bound = LOG_RATIO_BOUND
        joint, product = (
            torch.where(broken[:, None], 0.0, r.clamp(-bound, bound)) for r in (p.joint, p.product)
        )
        mi = torch.where(broken, 0.0, p.mi)
        return Datasets(p.x[:, :n], y[:, :n], p.x[:, n:], y[:, n:], joint, product, mi, family)


def _astuple(p: Pairs) -> tuple[Tensor, ...]:
    return p.x, p.y, p.joint, p.product, p.mi


def _sides(a: Atlas, b: int, dev: torch.device, equal: bool = False) -> tuple[Tensor, Tensor]:
    """Masks [B, D] of the coordinates in use; low dimensions a little more often."""

    def draw() -> Tensor:
        d = 1 + (a.dim * torch.rand(b, device=dev) ** 1.2).long().clamp(max=a.dim - 1)
        return (torch.arange(a.dim, device=dev) < d[:, None]).float()

    mx = draw()
    same = torch.rand(b, 1, device=dev) < (1.0 if equal else 0.5)
    return mx, torch.where(same, mx, draw())


def _finish(
    mx: Tensor,
    my: Tensor,
    x: Tensor,
    y: Tensor,
    joint: Tensor,
    product: Tensor,
    mi: Tensor | None = None,
) -> Pairs:
    """Send each side through a flow of its own; the log-ratio stays."""
    x, y = random_flow(x, mx), random_flow(y, my)
    return Pairs(x, y, joint, product, joint.mean(1) if mi is None else mi)


# --- Gaussian and Student-t components --------------------------------------------------------


def low_rank_correlation(mask: Tensor, components: int, most: float = math.inf) -> Tensor:
    """Correlation matrices by low-rank factorisation (paper, Algorithm 2): [B, K, d, d] float64.

    mask [B, d] marks the coordinates in use; the others get the identity. The diagonal is shrunk
    in a part of the draws, which makes dependence strong. With `most` the rank is at most that, and
    the diagonal grows with the coordinates beyond it.
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
    diagonal = diagonal * _excess(mask, most)[:, None, None]
    diagonal = torch.where(mask[:, None] > 0, diagonal, 1.0)
    sigma = w @ w.mT + torch.diag_embed(diagonal.double())
    s = sigma.diagonal(dim1=-2, dim2=-1).rsqrt()
    return sigma * s[..., None] * s[..., None, :]


def prescribed_correlation(mx: Tensor, my: Tensor) -> Tensor:
    """Joint correlation matrices with a total of mostly 0 to 6 nats: [B, 1, 2D, 2D] float64."""
    b, dim = mx.shape
    dev = mx.device
    pairs = torch.minimum(mx, my)
    share = (-torch.rand(b, dim, device=dev).log()) ** uniform(b, 0.3, 3.0, dev)[:, None] * pairs
    total = 6 * torch.rand(b, device=dev) ** 1.3
    total = torch.where(torch.rand(b, device=dev) < 0.06, 2.5 * total, total)  # a robot at rest
    information = total[:, None] * share / share.sum(1, keepdim=True).clamp(min=1e-9)
    rho = (-torch.expm1(-2 * information.double())).sqrt()
    cross = orthogonal(mx.double()) @ torch.diag_embed(rho) @ orthogonal(my.double()).mT
    eye = torch.eye(dim, device=dev, dtype=torch.float64).expand(b, dim, dim)
    return torch.cat([torch.cat([eye, cross], 2), torch.cat([cross.mT, eye], 2)], 1)[:, None]


@dataclass
class Mixture:
    """Mixture of Gaussian and Student-t components over z = (x, y), with exact densities."""

    log_weight: Tensor  # [B, K]
    mean: Tensor  # [B, K, 2D]
    scale: Tensor  # [B, K, 2D, 2D] scale matrix, float64; identity on unused coordinates
    freedom: Tensor  # [B, K] degrees of freedom, inf: Gaussian
    mask: Tensor  # [B, 2D]

    def __post_init__(self) -> None:
        self.factor = torch.linalg.cholesky(self.scale)

    def sample(self, samples: int) -> Tensor:
        """[B, samples, 2D] float32."""
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
        """Samples z [B, N, 2D] of the mixture with the truth on the last `queries` of them."""
        dim = z.shape[-1] // 2
        x, y = z[..., :dim], z[..., dim:]
        xq, yq = x[:, -queries:], y[:, -queries:]
        joint, product = self.log_ratio(xq, yq), self.log_ratio(xq, yq.roll(-1, 1))
        gauss = (self.log_weight.exp()[:, 0] > 1 - 1e-6) & self.freedom[:, 0].isinf()
        mi = torch.where(gauss, self.gaussian_mi(), joint.mean(1))
        return _finish(self.mask[:, :dim], self.mask[:, dim:], x, y, joint, product, mi)


def _freedom(b: int, k: int, dev: torch.device) -> Tensor:
    """Degrees of freedom, 1 to 30 and mostly few (paper: U[2, 30]); infinite: Gaussian.

    A dataset has no, some or only Student-t components.
    """
    share = torch.tensor([0.0, 0.5, 1.0], device=dev)[torch.randint(3, (b,), device=dev)]
    nu = 1 + 29 * torch.rand(b, k, device=dev) ** 3
    return torch.where(torch.rand(b, k, device=dev) < share[:, None], nu, torch.inf)


def mixture(a: Atlas, b: int, samples: int, dev: torch.device) -> Pairs:
    """Mixtures of 1 to `max_components` components; small numbers more often."""
    mx, my = _sides(a, b, dev)
    mask = torch.cat([mx, my], 1)
    most = round(a.max_components ** float(torch.rand(()) ** 1.7))
    k = 1 + (torch.rand(b, 1, device=dev) * most).long()
    weight = (torch.rand(b, most, device=dev) + 0.02) * (torch.arange(most, device=dev) < k)
    corr = low_rank_correlation(mask, most, 2 * WIDE)
    sd = uniform((b, most, mask.shape[1]), 0.01, 10.0, dev).sqrt().double()
    even = torch.rand(b, 1, 1, device=dev) < 0.3
    sd = torch.where(even | (mask[:, None] == 0), 1.0, sd)
    spread = torch.exp(uniform(b, math.log(0.03), 0.0, dev)) / _excess(mask, 2 * WIDE).sqrt()
    spread = spread[:, None, None]
    mean = uniform((b, most, mask.shape[1]), -5.0, 5.0, dev) * spread * mask[:, None]
    log_weight = (weight / weight.sum(1, keepdim=True)).log()
    scale = corr * sd[..., None] * sd[..., None, :]
    m = Mixture(log_weight, mean, scale, _freedom(b, most, dev), mask)
    return m.pairs(m.sample(samples), a.queries)


def canonical(a: Atlas, b: int, samples: int, dev: torch.device) -> Pairs:
    """One Gaussian or Student-t component of a chosen strength: robots live at 1 to 5 nats."""
    mx, my = _sides(a, b, dev)
    log_weight, mean = torch.zeros(b, 1, device=dev), torch.zeros(b, 1, 2 * a.dim, device=dev)
    scale, freedom = prescribed_correlation(mx, my), _freedom(b, 1, dev)
    m = Mixture(log_weight, mean, scale, freedom, torch.cat([mx, my], 1))
    return m.pairs(m.sample(samples), a.queries)


def autoregressive(a: Atlas, b: int, samples: int, dev: torch.device) -> Pairs:
    """(s_t, s_{t+lag}) along one path of a stationary VAR(1); the queries are independent draws."""
    mx, _ = _sides(a, b, dev, equal=True)
    r = 1 - 10 ** -(uniform((b, a.dim), 0.05, 3.0, dev) / _excess(mx)[:, None])
    step = (orthogonal(mx) @ torch.diag_embed(r * mx) @ orthogonal(mx).mT).double()
    step = step * mx[:, :, None] * mx[:, None]
    noise = torch.diag_embed(uniform((b, a.dim), 0.1, 1.0, dev) * mx).double()
    sigma, power = noise, step
    for _ in range(14):  # doubling: the stationary covariance, sum over t of A^t Q A^tT
        sigma, power = sigma + power @ sigma @ power.mT, power @ power
    lag = (1, 2, 3, 5)[int(torch.randint(4, (1,)))]
    cross = torch.linalg.matrix_power(step, lag) @ sigma  # cov(s_{t+lag}, s_t)
    sigma = sigma + torch.diag_embed(1.0 - mx.double())
    joint = torch.cat([torch.cat([sigma, cross.mT], 2), torch.cat([cross, sigma], 2)], 1)[:, None]
    joint = joint + 1e-7 * torch.eye(2 * a.dim, device=dev, dtype=torch.float64)
    log_weight, mean = torch.zeros(b, 1, device=dev), torch.zeros(b, 1, 2 * a.dim, device=dev)
    normal = torch.full((b, 1), torch.inf, device=dev)
    m = Mixture(log_weight, mean, joint, normal, torch.cat([mx, mx], 1))
    n = samples - a.queries
    state = m.sample(1)[:, 0, : a.dim]
    sd = noise.diagonal(dim1=1, dim2=2).sqrt().float()
    shocks = torch.randn(n + lag, b, a.dim, device=dev) * sd
    path, transition = [state], step.float().mT
    for e in shocks[1:]:
        state = (state[:, None] @ transition)[:, 0] + e
        path.append(state)
    path = torch.stack(path, 1)
    # In any order, as the runtime shuffles: shifts along the path would pair neighbours.
    chain = torch.cat([path[:, :n], path[:, lag:]], -1)[:, torch.randperm(n, device=dev)]
    return m.pairs(torch.cat([chain, m.sample(a.queries)], 1), a.queries)


# --- functions of a source, functions of a latent ---------------------------------------------


def _source(mask: Tensor, samples: int) -> Tensor:
    """A cloud [B, N, D] of one of four shapes: normal, uniform, heavy tailed, clustered."""
    b, d = mask.shape
    dev = mask.device
    kind = torch.randint(4, (b, 1, 1), device=dev)
    z = torch.randn(b, samples, d, device=dev)
    flat = (2 * torch.rand(b, samples, d, device=dev) - 1) * math.sqrt(3)
    half = uniform(b, 1.5, 5.0, dev)[:, None, None].expand(b, samples, 1)
    heavy = z * (torch._standard_gamma(half) / half).rsqrt()
    centres = 1.5 * torch.randn(b, 4, d, device=dev)
    label = torch.randint(4, (b, samples), device=dev)
    spots = torch.gather(centres, 1, label[..., None].expand(-1, -1, d)) + 0.5 * z
    x = torch.where(kind == 0, z, torch.where(kind == 1, flat, spots))
    x = torch.where(kind == 2, heavy, x)
    return x * mask[:, None]


def _log_kernel(y: Tensor, centre: Tensor, sd: Tensor, mask: Tensor) -> Tensor:
    """log N(y_i; centre_r, sd_r^2) up to a constant: [B, I, R], by matrix products.

    y [B, I, D], centre [B, R, D], sd [B, R, D], mask [B, D].
    """
    p = sd.reciprocal().square() * mask[:, None]
    constant = (p * centre.square()).sum(-1) + 2 * (sd.log() * mask[:, None]).sum(-1)
    left = torch.cat([y.square(), y], -1)
    right = torch.cat([p, -2 * p * centre], -1)
    return -0.5 * torch.baddbmm(constant[:, None], left, right.mT)


def _log_box(y: Tensor, centre: Tensor, half: Tensor, mask: Tensor) -> Tensor:
    """The same for noise that is uniform within +-half, on the first two coordinates."""
    inside = torch.ones(y.shape[0], y.shape[1], centre.shape[1], dtype=torch.bool, device=y.device)
    for i in range(2):
        near = (y[:, :, None, i] - centre[:, None, :, i]).abs() <= half[:, None, :, i] * (1 + 1e-5)
        inside &= near | (mask[:, i, None, None] == 0)
    density = -(half.log() * mask[:, None]).sum(-1)[:, None]
    return torch.where(inside, density, -1e4)


def _marginal(table: Tensor, own: Tensor) -> Tensor:
    """log p(y_i) from log p(y_i | x_r) of R draws, table [B, I, R]; own [B, I] is that of x_i.

    With the own draw the density is too high where dependence is strong, without it too low: the
    mean of the two logarithms is nearly unbiased.
    """
    r = table.shape[2]
    total = torch.logsumexp(table, 2)
    others = total + torch.log1p(-torch.exp(own - total).clamp(max=1 - 1e-3))
    return 0.5 * (total - math.log(r) + others - math.log(r - 1))


def functional(a: Atlas, b: int, samples: int, dev: torch.device) -> Pairs:
    """y = f(x) + s(x) e, e Gaussian or uniform; p(y) averages over draws of x."""
    q = a.queries
    mx, my = _sides(a, b, dev)
    x = _source(mx, samples + a.draws - q)
    f, s = RandomFunction(mx, a.dim, smooth=False), RandomFunction(mx, a.dim, smooth=True)
    centre = f.standardised(x) * my[:, None]
    only_scale = torch.rand(b, 1, 1, device=dev) < 0.15
    centre = torch.where(only_scale, 0.1 * centre, centre)
    swing = uniform(b, 0.0, 1.5, dev) * (torch.rand(b, device=dev) < 0.5)
    swing = torch.where(only_scale, 1.5, swing[:, None, None])
    level = torch.exp(uniform(b, math.log(0.12), math.log(2.5), dev)) * _excess(my)
    level = level[:, None, None]
    sd = level * torch.exp(swing * s.standardised(x).clamp(-2, 2))
    # Bounded noise makes edges: the ratio is flat within a band and nothing outside. Only in one or
    # two dimensions, where the draws fill the band.
    flat = ((my.sum(1) <= 2) & (torch.rand(b, device=dev) < 0.4))[:, None, None]
    noise = torch.where(flat, 2 * torch.rand_like(centre) - 1, torch.randn_like(centre))
    y = (centre + sd * noise) * my[:, None]
    # Queries are the last of the first `samples`; their own x is among the draws.
    draw = slice(samples - q, None)
    yq = y[:, samples - q : samples]
    table = _log_kernel(yq, centre[:, draw], sd[:, draw], my)  # [B, Q, R]
    if flat.any():
        table = torch.where(flat, _log_box(yq, centre[:, draw], sd[:, draw], my), table)
    own = table[:, :, :q]
    i = torch.arange(q, device=dev)
    marginal = _marginal(table, own[:, i, i])
    joint = own[:, i, i] - marginal
    product = own[:, (i + 1) % q, i] - marginal.roll(-1, 1)
    x, y = x[:, :samples], y[:, :samples]
    if torch.rand(()) < 0.5:  # the other way round: pairs (x_i, y_{i+1}) become (y_i, x_{i+1})
        x, y, mx, my = y, x, my, mx
        product = own[:, i, (i + 1) % q] - marginal
    return _finish(mx, my, x, y, joint, product)


def latent(a: Atlas, b: int, samples: int, dev: torch.device) -> Pairs:
    """x = f(u) + noise, y = g(u) + noise; all densities by averaging over the same draws of u."""
    q = a.queries
    mx, my = _sides(a, b, dev)
    du = torch.randint(1, 4, (b, 1), device=dev)  # whatever D: no draws would fill more
    mu = (torch.arange(3, device=dev) < du).float()
    u = _source(mu, samples + a.draws - q)
    f, g = RandomFunction(mu, a.dim, smooth=False), RandomFunction(mu, a.dim, smooth=False)
    cx, cy = f.standardised(u) * mx[:, None], g.standardised(u) * my[:, None]
    # A cloud of `draws` points resolves less the more dimensions it fills.
    least = torch.tensor([0.03, 0.12, 0.25], device=dev)[du[:, 0] - 1]
    sx, sy = (
        (least * torch.exp(torch.rand(b, device=dev) * torch.log(1.2 / least)))[:, None, None]
        for _ in range(2)
    )
    x = (cx + sx * torch.randn_like(cx)) * mx[:, None]
    y = (cy + sy * torch.randn_like(cy)) * my[:, None]
    rows, draw = slice(samples - q, samples), slice(samples - q, None)
    tx = _log_kernel(x[:, rows], cx[:, draw], sx.expand_as(cx)[:, draw], mx)
    ty = _log_kernel(y[:, rows], cy[:, draw], sy.expand_as(cy)[:, draw], my)
    log_r = math.log(tx.shape[2])
    px, py = torch.logsumexp(tx, 2), torch.logsumexp(ty, 2)
    joint = torch.logsumexp(tx + ty, 2) - px - py + log_r
    product = torch.logsumexp(tx + ty.roll(-1, 1), 2) - px - py.roll(-1, 1) + log_r
    return _finish(mx, my, x[:, :samples], y[:, :samples], joint, product)


def discrete(a: Atlas, b: int, samples: int, dev: torch.device) -> Pairs:
    """Labels through a noisy channel, seen as codes; in half of the datasets noise blurs y."""
    q = a.queries
    mx, my = _sides(a, b, dev)
    m = 8
    used = torch.arange(m, device=dev) < torch.randint(2, m + 1, (b, 1), device=dev)
    table = torch._standard_gamma(torch.full((b, m, m), 0.5, device=dev)) + 1e-3
    strong = torch.exp(uniform(b, math.log(0.1), math.log(100.0), dev))
    diagonal = torch.eye(m, device=dev) * strong[:, None, None]
    table = (table + diagonal) * used[:, :, None] * used[:, None]
    table = table / table.sum((1, 2), keepdim=True)  # [B, a, b] joint pmf
    label = torch.multinomial(table.flatten(1), samples, replacement=True)
    la, lb = label // m, label % m
    index = torch.arange(b, device=dev)[:, None]
    code_x, code_y = (torch.randn(b, m, a.dim, device=dev) for _ in range(2))
    grid = torch.rand(b, 1, 1, device=dev) < 0.5  # half of the codes on a grid, as counts are
    code_x, code_y = (torch.where(grid, (2 * c).round() / 2, c) for c in (code_x, code_y))
    # Codes must tell the labels apart, else the channel is not the one in the table.
    ramp = 0.25 * torch.arange(m, device=dev)[None, :, None]
    code_x, code_y = code_x.sort(1).values + ramp, code_y.sort(1).values + ramp
    noise = torch.exp(uniform(b, math.log(0.03), math.log(0.6), dev))[:, None, None]
    blurred = torch.rand(b, 1, 1, device=dev) < 0.5
    blur = blurred * noise * torch.randn(b, samples, a.dim, device=dev)
    x, y = code_x[index, la] * mx[:, None], (code_y[index, lb] + blur) * my[:, None]

    log_table = table.clamp(min=1e-30).log()
    log_a, log_b = table.sum(2).clamp(min=1e-30).log(), table.sum(1).clamp(min=1e-30).log()
    yq, lq = y[:, -q:], lb[:, -q:]
    seen = _log_kernel(yq, code_y * my[:, None], noise.expand(b, m, a.dim), my)
    exact = torch.where(torch.arange(m, device=dev) == lq[..., None], 0.0, -1e4)
    like = torch.where(blurred, seen, exact)  # [B, Q, label of y]
    marginal = torch.logsumexp(like + log_b[:, None], 2)

    def ratio(given: Tensor, like: Tensor, marginal: Tensor) -> Tensor:
        return torch.logsumexp(like + log_table[index, given], 2) - log_a[index, given] - marginal

    given = la[:, -q:]
    joint = ratio(given, like, marginal)
    product = ratio(given, like.roll(-1, 1), marginal.roll(-1, 1))
    return _finish(mx, my, x, y, joint, product)
