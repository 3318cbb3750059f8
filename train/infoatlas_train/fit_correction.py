"""The learned bias correction: examples of known mutual information, and a fit to them.

A stage of :mod:`infoatlas_train.build`. Draws datasets, reads them as a user would, gathers the
diagnostic features of each estimate, and fits the networks of
:mod:`infoatlas_train.model.bias_correction` to what the estimates lack, and others to how far the
corrected ones are off on examples that they were not fitted to. The critic stays as it is. One core
takes five to twenty datasets a second.

How many batches are of which kind the recipe says (docs/training.md has the table): the atlas warps
nearly all it draws, and much real data is elliptical, or a function and noise, or keeps to a
sphere, or is counted, or a path. The seeds are neither those of pretraining nor those of the
calibration.
"""

from __future__ import annotations

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
from infoatlas_train.calibrate import Z90
from infoatlas_train.config import PAIRS, SHIFTS, HypernetworkConfig
from infoatlas_train.data.atlas import DRAWS, Atlas, Datasets
from infoatlas_train.data.channels import channels
from infoatlas_train.data.closed_form import clusters, codes, paths, products, straight
from infoatlas_train.data.sensors import sensors
from infoatlas_train.diagnose import Diagnose
from infoatlas_train.model.bias_correction import BiasCorrection, Heads
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.model.objective import HIGHEST_MI, canonical_datasets, squared_error
from infoatlas_train.pretrain import draw_shifts

SEED = 20_260_501
LEAST, LARGEST = 32, 5000  # samples a dataset
UP_TO = 3000  # sizes are drawn log-uniformly to here; one batch in twenty has the largest
TOGETHER = 8  # datasets of a batch
QUERIES = 256  # behind the label of a dataset: more datasets are worth more than surer labels
# How many batches of a cycle are of a kind: a generator, or a family of the atlas, or the atlas's
# own mix, or that mix with every pairing broken. They come in this order.
KINDS = {"straight": 3, "products": 1, "codes": 1, "paths": 1, "channels": 7, "sensors": 3,
         "atlas": 4}  # fmt: skip
GENERATORS = {
    f.__name__: f for f in (straight, clusters, products, codes, paths, channels, sensors)
}
MIXES: dict[str, dict[str, Any]] = {"atlas": {}, "independent": {"independent": 1.0}}
HELD_OUT = 9  # one batch in so many (prime to the length of a cycle: of all kinds)
STEPS, BATCH, RATE = 40_000, 512, 3e-3
SHARE = 0.9  # of the errors, what Z90 spreads are to hold
LEAST_ERROR = 0.01  # nats; labels have errors of their own
BINS = (32, 70, 140, 300, 700, 1500, 3001, 5001)
SAVE_EVERY = 60.0  # seconds


@dataclass(frozen=True)
class Plan:
    """What the examples are: batches numbered from 0, each a function of (seed, its number)."""

    batches: int = 5000
    seed: int = SEED
    largest: int = LARGEST
    up_to: int = UP_TO
    kinds: dict[str, int] = field(default_factory=KINDS.copy)
    atlas: dict[str, Any] = field(default_factory=dict)  # fields of Atlas

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - {*GENERATORS, *MIXES, *DRAWS}
        if unknown:
            known = ", ".join((*GENERATORS, *MIXES, *DRAWS))
            raise ValueError(f"no kind {', '.join(sorted(unknown))}: there are {known}")
        cycle = sum(self.kinds.values())
        if math.gcd(cycle, HELD_OUT) > 1:
            raise ValueError(
                f"a cycle of {cycle} batches: one batch in {HELD_OUT} is held out, which would not "
                "be of all kinds; choose numbers whose sum has no factor 3"
            )

    def draw(self, number: int, dim: int) -> Datasets:
        """Batch of this number: eight datasets of one size and kind."""
        torch.manual_seed(self.seed * 100_003 + number)
        u = float(torch.rand(()))
        n = round(LEAST * (self.up_to / LEAST) ** u)
        n = max(self.largest if torch.rand(()) < 0.05 else n, 3 * dim)
        cycle = [kind for kind, count in self.kinds.items() for _ in range(count)]
        kind = cycle[number % len(cycle)]
        if kind in GENERATORS:
            return GENERATORS[kind](TOGETHER, n, QUERIES, dim)
        fields = self.atlas | MIXES.get(kind, {"families": {kind: 1.0}})
        atlas = Atlas(dim=dim, **({"draws": 768, "queries": QUERIES, "in_order": True} | fields))
        return atlas.sample(TOGETHER, n)


def read(
    diagnose: Diagnose, config: HypernetworkConfig, data: Datasets, shifts: Tensor, batch: int
) -> dict[str, Tensor]:
    """Truth, bound and diagnostics of a batch of this number, shuffled as the runtime does it.

    All are read as series, and only paths are in order of time: the others have none to show, also
    the chains of the atlas, which come in any order.
    """
    x, y, *_ = canonical_datasets(data, config.dim, 0, config.padding)
    order = torch.randperm(x.shape[1])
    e = diagnose(x[:, order], y[:, order], shifts, torch.argsort(order))
    n, number = torch.full_like(data.mi, x.shape[1]), torch.full_like(data.family, batch)
    return {"truth": data.mi, "n": n, "batch": number, "diagnostics": e, "bound": e[:, 0]}


def parts(data: Datasets) -> Iterator[Datasets]:
    """The datasets, and disjoint parts of a half, a quarter, ...: a label costs more than them."""
    yield data
    start, size = 0, data.x.shape[1] // 2
    while size >= max(LEAST, 3 * data.x.shape[2]):
        here = slice(start, start + size)
        yield replace(data, x=data.x[:, here], y=data.y[:, here])
        start, size = here.stop, size // 2


def gather(
    reader: Callable[[], Diagnose],
    config: HypernetworkConfig,
    plan: Plan,
    keep: Path,
    shard: tuple[int, int] = (0, 1),
) -> dict[str, Tensor]:
    """Examples of this shard's batches (i, i + n, ...); kept in a file, and resumed from there.

    `reader` is called where batches are missing.
    """
    first, step = shard
    kept = [torch.load(keep, weights_only=True)] if keep.exists() else []
    there = set(kept[0]["batch"].tolist()) if kept else set()
    numbers = range(first, plan.batches, step)
    missing = [number for number in numbers if number not in there]
    if not missing:
        return kept[0]
    diagnose = reader()
    least = max(SHIFTS, config.solve_shifts)
    saved = time.monotonic()

    def save() -> None:
        if kept:
            whole = {name: torch.cat([part[name] for part in kept]) for name in kept[0]}
            kept[:] = [whole]
            torch.save(whole, keep.with_suffix(".tmp"))
            keep.with_suffix(".tmp").replace(keep)

    with progress("examples") as show:
        for done, number in enumerate(missing, 1 + len(numbers) - len(missing)):
            for part in parts(plan.draw(number, config.dim)):
                n = part.x.shape[1]
                # As one slice has them, or (more often, for they are fewer) as one of many.
                most = max(least, PAIRS // n) if torch.rand(()) < 0.3 else least
                found = read(diagnose, config, part, draw_shifts(n, most), number)
                if kept and kept[0]["diagnostics"].shape[1] != found["diagnostics"].shape[1]:
                    raise SystemExit(
                        f"{keep} holds examples of another model: remove it, or name another file"
                    )
                kept.append(found)
            show(done / len(numbers))
            if time.monotonic() - saved > SAVE_EVERY:
                save()
                saved = time.monotonic()
    save()
    return kept[0]


def merged(shards: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The examples of all shards, in the order in which one process would have them."""
    whole = {name: torch.cat([part[name] for part in shards]) for name in shards[0]}
    order = torch.argsort(whole["batch"], stable=True)
    return {name: value[order] for name, value in whole.items()}


def fit(
    correction: BiasCorrection, data: dict[str, Tensor], seed: int, steps: int, cycle: int = 20
) -> None:
    """Make the errors of bound and correction together small, and learn how large they are.

    Of the readings of a fit they would be too small. So each half is judged by a fit to the other.
    """
    torch.manual_seed(seed)
    columns = torch.asinh(data["diagnostics"])
    correction.mean, correction.scale = columns.mean(0), 1 / (columns.std(0) + 1e-3)
    z, bound, truth = correction.bounded(data["diagnostics"]), data["bound"], data["truth"]
    half = (data["batch"] + data["batch"] // cycle) % 2 == 0  # (so both have all kinds)
    left = torch.empty_like(truth)

    def lack(heads: Heads, rows: Tensor) -> Tensor:
        # Cauchy's: a few datasets that no sample could tell must not decide for the rest.
        return torch.log1p(squared_error(bound[rows] + heads(z[rows]), truth[rows]))

    def doubt(heads: Heads, rows: Tensor) -> Tensor:
        above = left[rows] - heads(z[rows])
        return torch.maximum(SHARE * above, (SHARE - 1) * above)  # Koenker and Bassett's

    for number, judged in enumerate((half, ~half), 1):
        heads = Heads(z.shape[1])
        descend(heads, lack, (~judged).nonzero()[:, 0], steps // 2, f"correction, half {number}")
        with torch.no_grad():
            error = (bound[judged] + heads(z[judged]).mean(0) - truth[judged]).abs()
        left[judged] = torch.log(error.clamp(min=LEAST_ERROR) / Z90)
    everyone = torch.arange(len(z))
    descend(correction.missing, lack, everyone, steps, "correction, all")
    descend(correction.doubt, doubt, everyone, steps // 2, "predicted error")


def descend(
    heads: Heads, loss: Callable[[Heads, Tensor], Tensor], rows: Tensor, steps: int, name: str
) -> None:
    """Fit networks to the mean loss of rows; `name` stands beside the progress bar."""
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
    """By sample size: error and bias of the bound, then corrected, and what intervals hold."""
    with torch.no_grad():
        whole = data["bound"] + correction.correction(data["diagnostics"])
        held = (whole - data["truth"]).abs() <= Z90 * correction.spread(data["diagnostics"])
    out = []
    for low, high in pairwise(BINS):
        at = (data["n"] >= low) & (data["n"] < high) & (data["truth"] < HIGHEST_MI)
        if at.any():
            errors = [(found - data["truth"])[at] for found in (data["bound"], whole)]
            values = [float(v) for e in errors for v in (e.abs().mean(), e.mean())]
            values.append(float(held[at].float().mean()))
            out.append((f"{low} to {high - 1}", str(int(at.sum())), *(f"{v:.3f}" for v in values)))
    return out


def corrected(
    model: InfoAtlas, data: dict[str, Tensor], metrics: int, plan: Plan, seed: int, steps: int
) -> tuple[InfoAtlas, dict[str, Any]]:
    """The model with a correction fitted to examples, and a record of the fit."""
    torch.manual_seed(seed)
    correction = BiasCorrection(metrics)
    # Datasets of a batch are of one family: held out are whole batches.
    held_out = data["batch"] % HELD_OUT == 0
    fitted = {name: value[~held_out] for name, value in data.items()}
    fit(correction, fitted, seed, steps, sum(plan.kinds.values()))
    whole = InfoAtlas(replace(model.config, gap=metrics))
    whole.hypernetwork.load_state_dict(model.hypernetwork.state_dict())
    whole.gap.load_state_dict(correction.state_dict())
    about = {"datasets": TOGETHER * len(fitted["batch"].unique()), "seed": seed, "steps": steps}
    about["examples"] = len(fitted["batch"])
    table(
        "Held out, nats: of the bound, of bound and correction, and the share within 1.645 spreads",
        ("samples", "datasets", "bound: error", "bias", "corrected: error", "bias", "within"),
        by_size({name: value[held_out] for name, value in data.items()}, correction),
    )
    return whole.eval(), about
