"""The learned bias correction: examples of known mutual information, and a fit to them.

This module has two stages of :mod:`infoatlas_train.build`. The first draws datasets, estimates them
as the runtime does, and gathers the diagnostic features of each estimate. The second fits networks
of :mod:`infoatlas_train.model.bias_correction` to the errors of the estimates, and other networks
to the size of the errors that remain on examples outside of the fit. The critic does not change.
One core evaluates five to twenty datasets a second.

The recipe has the number of batches of each kind (docs/training.md has a table). Datasets of other
kinds are added to those of the atlas, because the atlas warps nearly all its draws. Much real data
is elliptical, a noisy function, on a sphere, counted, or a path. The seeds differ from those of
pretraining and of the calibration.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infoatlas_rt.cli.console import progress, table
from infoatlas_rt.errors import InputError
from infoatlas_train.calibrate import Z90
from infoatlas_train.config import PAIRS, SHIFTS, HypernetworkConfig, check_positive
from infoatlas_train.data.atlas import DRAWS, Atlas, Datasets
from infoatlas_train.data.channels import channels
from infoatlas_train.data.closed_form import clusters, codes, elliptical, paths, products
from infoatlas_train.data.regimes import delays, failures, growing, regimes
from infoatlas_train.data.sensors import sensors
from infoatlas_train.diagnose import Diagnose
from infoatlas_train.model.bias_correction import BiasCorrection, Heads
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.model.objective import HIGHEST_MI, canonical_datasets, squared_error
from infoatlas_train.pretrain import draw_shifts

SEED = 20_260_501
LEAST, LARGEST = 32, 5000  # samples of a dataset
UP_TO = 3000  # sizes are log-uniform from LEAST to UP_TO; one batch in twenty has LARGEST
TOGETHER = 8  # datasets of a batch
QUERIES = 256  # for each label: more datasets help more than more accurate labels
# Number of batches of each kind in a cycle, in this order. A kind is a generator, a family of the
# atlas, the atlas's mix of families, or that mix with independent pairs. Recipes and manifests use
# these names.
KINDS = {"straight": 3, "products": 1, "codes": 1, "paths": 1, "channels": 7, "sensors": 3,
         "atlas": 4}  # fmt: skip
_SAME = (clusters, products, codes, paths, channels, sensors, regimes, failures, delays, growing)
GENERATORS: dict[str, Callable[[int, int, int, int], Datasets]] = {
    "straight": elliptical,
    **{draw.__name__: draw for draw in _SAME},
}
MIXES: dict[str, dict[str, Any]] = {"atlas": {}, "independent": {"independent": 1.0}}
HELD_OUT = 9  # one in 9 batches; prime to the length of a cycle, so that all kinds are held out
STEPS, BATCH, RATE = 40_000, 512, 3e-3
SHARE = 0.9  # share of the errors that should be within Z90 predicted errors
LEAST_ERROR = 0.01  # nats; smaller errors are within the errors of the labels
BINS = (32, 70, 140, 300, 700, 1500, 3001, 5001)
SAVE_EVERY = 60.0  # seconds


@dataclass(frozen=True)
class Plan:
    """Numbered batches of examples, each determined by the seed and its number."""

    batches: int = 5000
    seed: int = SEED
    largest: int = LARGEST
    up_to: int = UP_TO
    kinds: dict[str, int] = field(default_factory=KINDS.copy)
    atlas: dict[str, Any] = field(default_factory=dict)  # arguments of Atlas

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - {*GENERATORS, *MIXES, *DRAWS}
        if unknown:
            known = ", ".join((*GENERATORS, *MIXES, *DRAWS))
            raise ValueError(f"no kind {', '.join(sorted(unknown))}: there are {known}")
        check_positive(self, "batches")
        cycle = sum(self.kinds.values())
        if not min(self.largest, self.up_to) >= LEAST or not min(self.kinds.values()) >= 0:
            raise ValueError(
                f"largest is {self.largest}, up_to {self.up_to}, kinds are {self.kinds}: use "
                f"{LEAST} samples or more, and 0 batches or more"
            )
        if math.gcd(cycle, HELD_OUT) > 1:
            raise ValueError(
                f"with a cycle of {cycle} batches, the held-out batches (one in {HELD_OUT}) would "
                "not be of all kinds: choose numbers whose sum has no factor 3"
            )

    @property
    def cycle(self) -> list[str]:
        """Kinds of the batches of a cycle."""
        return [kind for kind, count in self.kinds.items() for _ in range(count)]

    def draw(self, number: int, dim: int) -> Datasets:
        """Draw the batch of this number: eight datasets of one size and kind."""
        torch.manual_seed(self.seed * 100_003 + number)
        u = float(torch.rand(()))
        n = round(LEAST * (self.up_to / LEAST) ** u)
        n = max(self.largest if torch.rand(()) < 0.05 else n, 3 * dim)
        kind = self.cycle[number % len(self.cycle)]
        if kind in GENERATORS:
            return GENERATORS[kind](TOGETHER, n, QUERIES, dim)
        fields = self.atlas | MIXES.get(kind, {"families": {kind: 1.0}})
        atlas = Atlas(dim=dim, **({"draws": 768, "queries": QUERIES, "in_order": True} | fields))
        return atlas.sample(TOGETHER, n)


def examples(
    diagnose: Diagnose, config: HypernetworkConfig, data: Datasets, shifts: Tensor, batch: int
) -> dict[str, Tensor]:
    """Truth, bound and diagnostic features of a batch, shuffled as in the runtime.

    All datasets are evaluated as time series. Paths and autoregressive datasets of the atlas are in
    order of time; other datasets are independent samples, for which the order is irrelevant.
    """
    x, y, *_ = canonical_datasets(data, config.dim, 0, config.padding)
    order = torch.randperm(x.shape[1])
    e = diagnose(x[:, order], y[:, order], shifts, torch.argsort(order))
    n, number = torch.full_like(data.mi, x.shape[1]), torch.full_like(data.family, batch)
    return {"truth": data.mi, "n": n, "batch": number, "diagnostics": e, "bound": e[:, 0]}


def parts(data: Datasets) -> Iterator[Datasets]:
    """Yield the datasets and disjoint parts of them (half, quarter, ...).

    Parts are cheaper than new datasets.
    """
    yield data
    start, size = 0, data.x.shape[1] // 2
    while size >= max(LEAST, 3 * data.x.shape[2]):
        here = slice(start, start + size)
        yield replace(data, x=data.x[:, here], y=data.y[:, here])
        start, size = here.stop, size // 2


def gather(
    make_diagnose: Callable[[], Diagnose],
    config: HypernetworkConfig,
    plan: Plan,
    keep: Path,
    shard: tuple[int, int] = (0, 1),
) -> dict[str, Tensor]:
    """Gather the examples of the batches of a shard (i, i + n, ...).

    The examples are saved in the file `keep`, from which an interrupted call resumes.
    `make_diagnose` is called only if batches are missing.
    """
    first, step = shard
    kept = [torch.load(keep, weights_only=True)] if keep.exists() else []
    there = set(kept[0]["batch"].tolist()) if kept else set()
    numbers = range(first, plan.batches, step)
    missing = [number for number in numbers if number not in there]
    if not missing:
        return kept[0]
    diagnose = make_diagnose()
    least = max(SHIFTS, config.solve_shifts)
    saved = time.monotonic()

    def save() -> None:
        if kept:
            joined = {name: torch.cat([part[name] for part in kept]) for name in kept[0]}
            kept[:] = [joined]
            torch.save(joined, keep.with_suffix(".tmp"))
            keep.with_suffix(".tmp").replace(keep)

    with progress("examples") as show:
        for done, number in enumerate(missing, 1 + len(numbers) - len(missing)):
            for part in parts(plan.draw(number, config.dim)):
                n = part.x.shape[1]
                # As many shifts as an estimate of one slice, or (more often) of many slices has.
                most = max(least, PAIRS // n) if torch.rand(()) < 0.3 else least
                found = examples(diagnose, config, part, draw_shifts(n, most), number)
                if kept and kept[0]["diagnostics"].shape[1] != found["diagnostics"].shape[1]:
                    raise InputError(
                        f"{keep} has examples of another model: remove it, or name another file"
                    )
                kept.append(found)
            show(done / len(numbers))
            if time.monotonic() - saved > SAVE_EVERY:
                save()
                saved = time.monotonic()
    save()
    return kept[0]


def merged(shards: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Merge the examples of all shards, in the order of a single process."""
    joined = {name: torch.cat([part[name] for part in shards]) for name in shards[0]}
    order = torch.argsort(joined["batch"], stable=True)
    return {name: value[order] for name, value in joined.items()}


def fit(
    correction: BiasCorrection,
    data: dict[str, Tensor],
    seed: int,
    steps: int,
    cycle: int = 20,
    times: Tensor | None = None,
) -> None:
    """Fit the correction, and the predicted error of the corrected estimates.

    `times` [N] are weights of the examples in the fit of the correction. Errors are too small on
    the examples of a fit, so the errors of each half of the examples are from a fit to the other.
    """
    torch.manual_seed(seed)
    columns = torch.asinh(data["diagnostics"])
    correction.mean, correction.scale = columns.mean(0), 1 / (columns.std(0) + 1e-3)
    z, bound, truth = correction.bounded(data["diagnostics"]), data["bound"], data["truth"]
    half = (data["batch"] + data["batch"] // cycle) % 2 == 0  # both halves have all kinds
    predicted = torch.empty_like(truth)  # of each half, by a fit to the other half
    times = torch.ones_like(data["batch"]) if times is None else times

    def shortfall(heads: Heads, rows: Tensor) -> Tensor:
        # Cauchy's loss, so that a few datasets with dependence beyond the samples do not dominate.
        return torch.log1p(squared_error(bound[rows] + heads(z[rows]), truth[rows]))

    for number, judged in enumerate((half, ~half), 1):
        heads = Heads(z.shape[1])
        rows = (~judged).nonzero()[:, 0].repeat_interleave(times[~judged])
        descend(heads, shortfall, rows, steps // 2, f"correction, half {number}")
        with torch.no_grad():
            predicted[judged] = heads(z[judged]).mean(0)
    error = (bound + correction.supported(data["diagnostics"], predicted) - truth).abs()
    left = torch.log(error.clamp(min=LEAST_ERROR) / Z90)
    inputs = correction.of_error(data["diagnostics"], predicted)

    def quantile(heads: Heads, rows: Tensor) -> Tensor:
        above = left[rows] - heads(inputs[rows])
        return torch.maximum(SHARE * above, (SHARE - 1) * above)  # quantile loss

    everyone = torch.arange(len(z))
    rows = everyone.repeat_interleave(times)
    descend(correction.missing, shortfall, rows, steps, "correction, all")
    descend(correction.doubt, quantile, everyone, steps // 2, "predicted error")


def descend(
    heads: Heads, loss: Callable[[Heads, Tensor], Tensor], rows: Tensor, steps: int, name: str
) -> None:
    """Minimise the mean loss of rows over the networks; `name` labels the progress bar."""
    heads.train()
    optimizer = torch.optim.AdamW(heads.parameters(), RATE, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    with progress(name) as show:
        for step in range(steps):
            value = loss(heads, rows[torch.randint(len(rows), (BATCH,))]).mean()
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            schedule.step()
            show((step + 1) / steps)
    heads.eval()


def by_size(data: dict[str, Tensor], correction: BiasCorrection) -> list[tuple[str, ...]]:
    """Rows by sample size: error and bias before and after correction, coverage of intervals."""
    with torch.no_grad():
        sums = data["bound"] + correction.correction(data["diagnostics"])
        covered = (sums - data["truth"]).abs() <= Z90 * correction.spread(data["diagnostics"])
    out = []
    for low, high in pairwise(BINS):
        at = (data["n"] >= low) & (data["n"] < high) & (data["truth"] < HIGHEST_MI)
        if at.any():
            errors = [(found - data["truth"])[at] for found in (data["bound"], sums)]
            values = [float(v) for e in errors for v in (e.abs().mean(), e.mean())]
            values.append(float(covered[at].float().mean()))
            out.append((f"{low} to {high - 1}", str(int(at.sum())), *(f"{v:.3f}" for v in values)))
    return out


def corrected(
    model: InfoAtlas,
    data: dict[str, Tensor],
    metrics: int,
    plan: Plan,
    seed: int,
    steps: int,
    share: float = 0.0,
    times: dict[str, int] | None = None,
) -> tuple[InfoAtlas, dict[str, Any]]:
    """The model with a correction fitted to examples, and a record of the fit.

    `times` maps kinds to the weight of their examples in the fit; the default is 1.
    """
    torch.manual_seed(seed)
    correction = BiasCorrection(metrics, share)
    # Datasets of a batch are of one family, so entire batches are held out.
    held_out = data["batch"] % HELD_OUT == 0
    fitted = {name: value[~held_out] for name, value in data.items()}
    counts = torch.tensor([(times or {}).get(kind, 1) for kind in plan.cycle])
    cycle = len(counts)
    fit(correction, fitted, seed, steps, cycle, counts[fitted["batch"] % cycle])
    complete = InfoAtlas(replace(model.config, gap=metrics, gap_share=share))
    complete.hypernetwork.load_state_dict(model.hypernetwork.state_dict())
    complete.gap.load_state_dict(correction.state_dict())
    about = {"datasets": TOGETHER * len(fitted["batch"].unique()), "seed": seed, "steps": steps}
    about["examples"] = len(fitted["batch"])
    table(
        "Held out, nats: of the bound, of bound and correction, and the share within 1.645 spreads",
        ("samples", "datasets", "bound: error", "bias", "corrected: error", "bias", "within"),
        by_size({name: value[held_out] for name, value in data.items()}, correction),
    )
    return complete.eval(), about
