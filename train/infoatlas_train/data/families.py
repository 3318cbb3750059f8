"""The families of the atlas: functions that draw datasets with their pointwise log-ratios.

Arguments are the settings of the atlas, the number of datasets B, the number of samples N and the
device. The log-ratios are those of the last Q = `settings.queries` samples.
:mod:`infoatlas_train.data.atlas` describes the families.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from infoatlas_train.data.flows import RandomFunction, orthogonal, uniform
from infoatlas_train.data.mixtures import (
    WIDE,
    Mixture,
    Pairs,
    Settings,
    centred,
    excess,
    finish,
    low_rank_correlation,
    masks,
    prescribed_correlation,
)

# --- Gaussian and Student-t components --------------------------------------------------------


def _freedom(b: int, k: int, dev: torch.device) -> Tensor:
    """Degrees of freedom of components: 1 to 30 and mostly few (paper: U[2, 30]), or infinite.

    Components with infinitely many are Gaussian. A dataset has no, some or only Student-t
    components.
    """
    share = torch.tensor([0.0, 0.5, 1.0], device=dev)[torch.randint(3, (b,), device=dev)]
    nu = 1 + 29 * torch.rand(b, k, device=dev) ** 3
    return torch.where(torch.rand(b, k, device=dev) < share[:, None], nu, torch.inf)


def mixture(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """Mixtures of 1 to `max_components` components; small numbers are more frequent."""
    mx, my = masks(settings.dim, b, dev)
    mask = torch.cat([mx, my], 1)
    strong = bool(torch.rand(()) < 0.25)  # a few components, each as dependent as `canonical`
    most = round(
        min(settings.max_components, 5 if strong else math.inf) ** float(torch.rand(()) ** 1.7)
    )
    k = 1 + (torch.rand(b, 1, device=dev) * most).long()
    weight = (torch.rand(b, most, device=dev) + 0.02) * (torch.arange(most, device=dev) < k)
    if strong:
        corr = torch.cat([prescribed_correlation(mx, my) for _ in range(most)], 1)
    else:
        corr = low_rank_correlation(mask, most, 2 * WIDE)
    sd = uniform((b, most, mask.shape[1]), 0.01, 10.0, dev).sqrt().double()
    even = torch.rand(b, 1, 1, device=dev) < 0.3
    sd = torch.where(even | (mask[:, None] == 0), 1.0, sd)
    spread = torch.exp(uniform(b, math.log(0.03), 0.0, dev)) / excess(mask, 2 * WIDE).sqrt()
    spread = spread[:, None, None]
    mean = uniform((b, most, mask.shape[1]), -5.0, 5.0, dev) * spread * mask[:, None]
    log_weight = (weight / weight.sum(1, keepdim=True)).log()
    scale = corr * sd[..., None] * sd[..., None, :]
    m = Mixture(log_weight, mean, scale, _freedom(b, most, dev), mask)
    return m.pairs(m.sample(samples), settings.queries)


def canonical(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """One Gaussian or Student-t component of prescribed strength; robots often have 1 to 5 nats."""
    mx, my = masks(settings.dim, b, dev)
    scale, freedom = prescribed_correlation(mx, my), _freedom(b, 1, dev)
    m = centred(scale, torch.cat([mx, my], 1), freedom=freedom)
    return m.pairs(m.sample(samples), settings.queries)


def autoregressive(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """(s_t, s_{t+lag}) along one path of a stationary VAR(1); the queries are independent draws."""
    mx, _ = masks(settings.dim, b, dev, equal=True)
    r = 1 - 10 ** -(uniform((b, settings.dim), 0.05, 3.0, dev) / excess(mx)[:, None])
    step = (orthogonal(mx) @ torch.diag_embed(r * mx) @ orthogonal(mx).mT).double()
    step = step * mx[:, :, None] * mx[:, None]
    noise = torch.diag_embed(uniform((b, settings.dim), 0.1, 1.0, dev) * mx).double()
    sigma, power = noise, step
    for _ in range(14):  # doubling: the stationary covariance, sum over t of A^t Q A^tT
        sigma, power = sigma + power @ sigma @ power.mT, power @ power
    lag = (1, 2, 3, 5)[int(torch.randint(4, (1,)))]
    cross = torch.linalg.matrix_power(step, lag) @ sigma  # cov(s_{t+lag}, s_t)
    sigma = sigma + torch.diag_embed(1.0 - mx.double())
    joint = torch.cat([torch.cat([sigma, cross.mT], 2), torch.cat([cross, sigma], 2)], 1)[:, None]
    joint = joint + 1e-7 * torch.eye(2 * settings.dim, device=dev, dtype=torch.float64)
    m = centred(joint, torch.cat([mx, mx], 1))
    n = samples - settings.queries
    state = m.sample(1)[:, 0, : settings.dim]
    sd = noise.diagonal(dim1=1, dim2=2).sqrt().float()
    shocks = torch.randn(n + lag, b, settings.dim, device=dev) * sd
    path, transition = [state], step.float().mT
    for e in shocks[1:]:
        state = (state[:, None] @ transition)[:, 0] + e
        path.append(state)
    path = torch.stack(path, 1)
    chain = torch.cat([path[:, :n], path[:, lag:]], -1)
    if not settings.in_order:  # shuffled, because shifts would pair neighbours in time
        chain = chain[:, torch.randperm(n, device=dev)]
    return m.pairs(torch.cat([chain, m.sample(settings.queries)], 1), settings.queries)


# --- functions of a source, functions of a latent ---------------------------------------------


def source(mask: Tensor, samples: int) -> Tensor:
    """Samples [B, N, D] of one of four shapes: normal, uniform, heavy-tailed or clustered."""
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
    for i in range(min(2, y.shape[2])):
        near = (y[:, :, None, i] - centre[:, None, :, i]).abs() <= half[:, None, :, i] * (1 + 1e-5)
        inside &= near | (mask[:, i, None, None] == 0)
    density = -(half.log() * mask[:, None]).sum(-1)[:, None]
    return torch.where(inside, density, -1e4)


def mean_density(table: Tensor, own: Tensor, most: float) -> Tensor:
    """Log of the mean likelihood over R draws, with and without the own draw: [2, ...].

    table [..., R] are log-likelihoods, and own [...] those of the own draws, whose share in the
    mean is at most `most`. If dependence is strong, the density is too high with the own draw, and
    too low without it.
    """
    r = table.shape[-1]
    total = torch.logsumexp(table, -1)
    others = total + torch.log1p(-torch.exp(own - total).clamp(max=most))
    return torch.stack([total - math.log(r), others - math.log(r - 1)])


def functional(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """y = f(x) + s(x) e, e Gaussian or uniform; p(y) averages over draws of x."""
    q = settings.queries
    mx, my = masks(settings.dim, b, dev)
    x = source(mx, samples + settings.draws - q)
    f, s = (
        RandomFunction(mx, settings.dim, smooth=False),
        RandomFunction(mx, settings.dim, smooth=True),
    )
    centre = f.standardised(x) * my[:, None]
    only_scale = torch.rand(b, 1, 1, device=dev) < 0.15
    centre = torch.where(only_scale, 0.1 * centre, centre)
    swing = uniform(b, 0.0, 1.5, dev) * (torch.rand(b, device=dev) < 0.5)
    swing = torch.where(only_scale, 1.5, swing[:, None, None])
    level = torch.exp(uniform(b, math.log(0.12), math.log(2.5), dev)) * excess(my)
    level = level[:, None, None]
    sd = level * torch.exp(swing * s.standardised(x).clamp(-2, 2))
    # Bounded noise has edges: the density ratio is constant within a band and zero outside. It is
    # used in one or two dimensions only, where the draws are dense enough to fill the band.
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
    # The mean of the logarithms with and without the own draw is nearly unbiased.
    marginal = mean_density(table, own[:, i, i], 1 - 1e-3).mean(0)
    joint = own[:, i, i] - marginal
    product = own[:, (i + 1) % q, i] - marginal.roll(-1, 1)
    x, y = x[:, :samples], y[:, :samples]
    if torch.rand(()) < 0.5:  # sides swapped: pairs (x_i, y_{i+1}) become (y_i, x_{i+1})
        x, y, mx, my = y, x, my, mx
        product = own[:, i, (i + 1) % q] - marginal
    return finish(mx, my, x, y, joint, product)


def latent(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """x = f(u) + noise, y = g(u) + noise; all densities are means over the same draws of u."""
    q = settings.queries
    mx, my = masks(settings.dim, b, dev)
    du = torch.randint(1, 4, (b, 1), device=dev)  # more would be too sparse
    mu = (torch.arange(3, device=dev) < du).float()
    u = source(mu, samples + settings.draws - q)
    f, g = (
        RandomFunction(mu, settings.dim, smooth=False),
        RandomFunction(mu, settings.dim, smooth=False),
    )
    cx, cy = f.standardised(u) * mx[:, None], g.standardised(u) * my[:, None]
    # Least noise by dimension: in more dimensions the draws resolve less.
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
    return finish(mx, my, x[:, :samples], y[:, :samples], joint, product)


def discrete(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """Labels and their copies through a noisy channel, both as codes; half have noise on y."""
    q = settings.queries
    mx, my = masks(settings.dim, b, dev)
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
    code_x, code_y = (torch.randn(b, m, settings.dim, device=dev) for _ in range(2))
    grid = torch.rand(b, 1, 1, device=dev) < 0.5  # half of the codes are on a grid, like counts
    code_x, code_y = (torch.where(grid, (2 * c).round() / 2, c) for c in (code_x, code_y))
    # Codes of different labels must differ; otherwise the table is not that of the codes.
    ramp = 0.25 * torch.arange(m, device=dev)[None, :, None]
    code_x, code_y = code_x.sort(1).values + ramp, code_y.sort(1).values + ramp
    noise = torch.exp(uniform(b, math.log(0.03), math.log(0.6), dev))[:, None, None]
    blurred = torch.rand(b, 1, 1, device=dev) < 0.5
    blur = blurred * noise * torch.randn(b, samples, settings.dim, device=dev)
    x, y = code_x[index, la] * mx[:, None], (code_y[index, lb] + blur) * my[:, None]

    log_table = table.clamp(min=1e-30).log()
    log_a, log_b = table.sum(2).clamp(min=1e-30).log(), table.sum(1).clamp(min=1e-30).log()
    yq, lq = y[:, -q:], lb[:, -q:]
    observed = _log_kernel(yq, code_y * my[:, None], noise.expand(b, m, settings.dim), my)
    exact = torch.where(torch.arange(m, device=dev) == lq[..., None], 0.0, -1e4)
    like = torch.where(blurred, observed, exact)  # [B, Q, label of y]
    marginal = torch.logsumexp(like + log_b[:, None], 2)

    def ratio(given: Tensor, like: Tensor, marginal: Tensor) -> Tensor:
        return torch.logsumexp(like + log_table[index, given], 2) - log_a[index, given] - marginal

    given = la[:, -q:]
    joint = ratio(given, like, marginal)
    product = ratio(given, like.roll(-1, 1), marginal.roll(-1, 1))
    return finish(mx, my, x, y, joint, product)


DRAWS: dict[str, Callable[[Settings, int, int, torch.device], Pairs]] = {
    "mixture": mixture,
    "canonical": canonical,
    "functional": functional,
    "latent": latent,
    "autoregressive": autoregressive,
    "discrete": discrete,
}
