"""The atlas: synthetic distributions of known dependence, drawn in batches on the training device.

Each dataset has the pointwise log-ratio log p(x,y)/p(x)p(y) on query pairs, exact or from many
Monte Carlo draws, as the target of a critic. Families (:mod:`infoatlas_train.data.families`):

- ``mixture``     up to 60 Gaussian or Student-t components (paper, Algorithm 1 and 2); a
  quarter has a few components, each with prescribed canonical correlations
- ``canonical``   one component with prescribed canonical correlations, to 6 nats
- ``functional``  y = f(x) + s(x) e, random smooth f and s
- ``latent``      x = f(u) + noise, y = g(u) + noise, u of dimension 1 to 3
- ``autoregressive``  states of a stationary VAR(1) and later ones: dependent samples
- ``discrete``    a noisy channel between labels, observed as numeric codes
- ``events``      flags, levels and values that are mostly zero, as contacts (module `events`)
- ``signs``       sides that depend only through products of signs (module `events`)

Random invertible flows of each side (:mod:`infoatlas_train.data.flows`) then change the marginals,
but not the log-ratio.

Shapes: B datasets, N samples, Q queries, D the width of a side; a side of dimension d < D has its
last D - d coordinates at zero.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from infoatlas_train.config import check_positive
from infoatlas_train.data import events, families
from infoatlas_train.data.mixtures import Pairs, Settings

DRAWS = families.DRAWS | {"events": events.events, "signs": events.signs}
LOG_RATIO_BOUND = 12.0  # targets are clipped to it; only far tails exceed it


@dataclass
class Datasets:
    """A batch of datasets: n support samples for the hypernetwork, and Q labelled query pairs."""

    x: Tensor  # [B, n, D]
    y: Tensor
    xq: Tensor  # [B, Q, D]
    yq: Tensor
    joint: Tensor  # [B, Q] log p(x,y)/p(x)p(y) at (xq_i, yq_i)
    product: Tensor  # [B, Q] at (xq_i, yq_{i+1})
    mi: Tensor  # [B] nats
    family: Tensor  # [B] int, index into Atlas.families

    def split(self, size: int) -> "list[Datasets]":
        """Split into batches of at most `size` datasets."""
        parts = zip(*(value.split(size) for value in vars(self).values()), strict=True)
        return [Datasets(*part) for part in parts]


@dataclass
class Atlas:
    """A distribution over datasets.

    `families` maps each family to its share of the draws. `independent` is the share of datasets
    whose y are reversed, so that their log-ratio is zero everywhere.
    """

    dim: int = 5
    queries: int = 256
    draws: int = 384  # Monte Carlo draws for the densities of `functional` and `latent`
    max_components: int = 60
    independent: float = 0.06
    group: int = 8  # datasets that share a family (their parameters differ)
    in_order: bool = False  # whether time series keep the order of time (the runtime shuffles)
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
        unknown = set(self.families) - set(DRAWS)
        if unknown:
            raise ValueError(
                f"no family {', '.join(sorted(unknown))}: there are {', '.join(DRAWS)}"
            )
        check_positive(self, "dim queries draws max_components group")
        if not min(self.families.values(), default=0) >= 0 or not any(self.families.values()):
            raise ValueError(f"families are {self.families}: use shares of 0 or more")
        self._names = list(self.families)
        self._shares = torch.tensor(list(self.families.values()))

    @property
    def settings(self) -> Settings:
        """The settings that the families depend on."""
        return Settings(self.dim, self.queries, self.draws, self.max_components, self.in_order)

    @torch.no_grad()
    def sample(self, batch: int, n: int, device: torch.device | str = "cpu") -> Datasets:
        """Draw `batch` datasets of n support samples and `queries` query pairs each."""
        groups = max(1, math.ceil(batch / self.group))
        family = torch.multinomial(self._shares, groups, replacement=True)
        family = family.repeat_interleave(self.group)[:batch].sort().values
        parts = []
        for index, count in zip(*torch.unique_consecutive(family, return_counts=True), strict=True):
            draw = DRAWS[self._names[int(index)]]
            parts.append(draw(self.settings, int(count), n + self.queries, torch.device(device)))
        each = (vars(part).values() for part in parts)
        p = Pairs(*(torch.cat(values) for values in zip(*each, strict=True)))
        family = family.to(device)

        # Reversing y makes the sides independent. Time series are excluded: both sides would still
        # be autocorrelated, and the targets are for independent samples.
        broken = torch.rand(batch, device=device) < self.independent
        if "autoregressive" in self._names:
            broken &= family != self._names.index("autoregressive")
        y = torch.where(broken[:, None, None], p.y.flip(1), p.y)  # no shift undoes it
        bound = LOG_RATIO_BOUND
        joint, product = (
            torch.where(broken[:, None], 0.0, r.clamp(-bound, bound)) for r in (p.joint, p.product)
        )
        mi = torch.where(broken, 0.0, p.mi)
        return Datasets(p.x[:, :n], y[:, :n], p.x[:, n:], y[:, n:], joint, product, mi, family)
