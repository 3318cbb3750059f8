"""Fit the gap of a pretrained model: python -m infoatlas_train.fit_gap runs/edge/best.pt

Draws datasets of known mutual information, reads them as a user would, gathers the evidence of each
reading, and fits the networks of :mod:`infoatlas_train.gap` to what the readings lack, and others
to how far bound and gap are off on readings that they were not fitted to. The critic
stays as it is. Writes the checkpoint again, with the gap in it, and beside it the evidence, from
which --evidence fits again without reading. One core reads five to twenty datasets a second.

Of twenty datasets four are the atlas's, seven noisy channels (:mod:`infoatlas_train.channels`),
three what sensors show (:mod:`infoatlas_train.sensors`), three one component without flows, and one
each a product of pairs, a code and a pair of smooth paths (:mod:`infoatlas_train.plain`), since the
atlas bends nearly all it draws, and much real data is straight, or a function and noise, or keeps
to a sphere, or is counted, or a path. Their seeds are neither those of pretraining nor those of the
calibration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from infoatlas_rt.console import progress, table
from infoatlas_train.atlas import Atlas, Datasets
from infoatlas_train.calibrate import Z90
from infoatlas_train.channels import channels
from infoatlas_train.config import PAIRS, SHIFTS
from infoatlas_train.gap import Gap, Heads
from infoatlas_train.model import InfoAtlas
from infoatlas_train.objective import HIGHEST_MI, canonical_datasets, squared_error
from infoatlas_train.plain import codes, paths, products, straight
from infoatlas_train.pretrain import checkpoint, draw_shifts, git_revision, load
from infoatlas_train.sensors import sensors

SEED = 20_260_501
LEAST, LARGEST = 32, 5000  # samples a dataset
UP_TO = 3000  # sizes are drawn log-uniformly to here; one batch in twenty has the largest
AT_ONCE = 4096  # samples that are read at once, at most (memory)
TOGETHER = 8  # datasets of a batch
QUERIES = 512  # behind the label of a dataset
CYCLE = 20  # batches, of which these are the first; the others are the atlas's
OTHERS = *[straight] * 3, products, codes, paths, *[channels] * 7, *[sensors] * 3
HELD_OUT = 9  # one batch in so many (prime to twenty: of all kinds)
STEPS, BATCH, RATE = 40_000, 512, 3e-3
SHARE = 0.9  # of the errors, what Z90 spreads are to hold
LEAST_ERROR = 0.01  # nats; labels have errors of their own
BINS = (32, 70, 140, 300, 700, 1500, 3001, 5001)


def batches(dim: int, seed: int, start: int = 0) -> Iterator[Datasets]:
    """Batches of eight datasets of one size, each a function of (seed, its number) alone."""
    atlas = Atlas(dim=dim, draws=768, queries=QUERIES)
    number = start
    while True:
        torch.manual_seed(seed * 100_003 + number)
        u = float(torch.rand(()))
        n = LARGEST if torch.rand(()) < 0.05 else round(LEAST * (UP_TO / LEAST) ** u)
        n = max(n, 3 * dim)
        kind = number % CYCLE
        if kind < len(OTHERS):
            yield OTHERS[kind](TOGETHER, n, QUERIES, dim)
        else:
            yield atlas.sample(TOGETHER, n)
        number += 1


@torch.no_grad()
def read(
    model: InfoAtlas, gap: Gap, data: Datasets, shifts: Tensor, batch: int
) -> dict[str, Tensor]:
    """Truth, bound and evidence of a batch of this number, shuffled as the runtime does it.

    All are read as series, and only paths are in order of time: the others have none to show, also
    the chains of the atlas, which come in any order.
    """
    x, y, *_ = canonical_datasets(data, model.config.dim, 0, model.config.padding)
    order = torch.randperm(x.shape[1])
    x, y, sequence = x[:, order], y[:, order], torch.argsort(order)
    size = max(1, AT_ONCE // x.shape[1])
    found = []
    for xs, ys in zip(x.split(size), y.split(size), strict=True):
        found.append(gap.evidence(xs, ys, model.critic(xs, ys, shifts), sequence)[0])
    e = torch.cat(found)
    n, number = torch.full_like(data.mi, x.shape[1]), torch.full_like(data.family, batch)
    return {"truth": data.mi, "n": n, "batch": number, "evidence": e, "bound": e[:, 0]}


def parts(data: Datasets) -> Iterator[Datasets]:
    """The datasets, and their first half and quarter, for labels cost more than readings."""
    n = data.x.shape[1]
    for size in (n, n // 2, n // 4):
        if size >= max(LEAST, 3 * data.x.shape[2]):
            yield replace(data, x=data.x[:, :size], y=data.y[:, :size])


def gather(model: InfoAtlas, gap: Gap, count: int, seed: int, keep: Path) -> dict[str, Tensor]:
    """At least `count` readings; they are kept in a file, and reading goes on from there."""
    kept = [torch.load(keep, weights_only=True)] if keep.exists() else []
    if kept and kept[0]["evidence"].shape[1] != len(gap.mean):
        raise SystemExit(f"{keep} holds readings of another model: give another --evidence")
    done, number = (len(kept[0]["truth"]), int(kept[0]["batch"].max()) + 1) if kept else (0, 0)
    least = max(SHIFTS, model.config.solve_shifts)
    saved = time.monotonic()

    def save() -> None:
        whole = {name: torch.cat([part[name] for part in kept]) for name in kept[0]}
        kept[:] = [whole]
        torch.save(whole, keep)

    with progress("reading") as show:
        for batch, data in enumerate(batches(model.config.dim, seed, number), number):
            if done >= count:
                break
            for part in parts(data):
                n = part.x.shape[1]
                # As one slice has them, or (more often, for they are fewer) as one of many.
                most = max(least, PAIRS // n) if torch.rand(()) < 0.3 else least
                kept.append(read(model, gap, part, draw_shifts(n, most), batch))
                done += TOGETHER
            show(done / count)
            if time.monotonic() - saved > 60:
                save()
                saved = time.monotonic()
    save()
    return kept[0]


def fit(gap: Gap, data: dict[str, Tensor], seed: int, steps: int) -> None:
    """Make the errors of bound and gap together small, and learn how large they are.

    Of the readings of a fit they would be too small. So each half is judged by a fit to the other.
    """
    torch.manual_seed(seed)
    columns = torch.asinh(data["evidence"])
    gap.mean, gap.scale = columns.mean(0), 1 / (columns.std(0) + 1e-3)
    z, bound, truth = gap.bounded(data["evidence"]), data["bound"], data["truth"]
    half = (data["batch"] + data["batch"] // CYCLE) % 2 == 0  # (so both have all kinds)
    left = torch.empty_like(truth)

    def lack(heads: Heads, rows: Tensor) -> Tensor:
        # Cauchy's: a few datasets that no sample could tell must not decide for the rest.
        return torch.log1p(squared_error(bound[rows] + heads(z[rows]), truth[rows]))

    def doubt(heads: Heads, rows: Tensor) -> Tensor:
        above = left[rows] - heads(z[rows])
        return torch.maximum(SHARE * above, (SHARE - 1) * above)  # Koenker and Bassett's

    for judged in (half, ~half):
        heads = Heads(z.shape[1])
        descend(heads, lack, (~judged).nonzero()[:, 0], steps // 2)
        with torch.no_grad():
            error = (bound[judged] + heads(z[judged]).mean(0) - truth[judged]).abs()
        left[judged] = torch.log(error.clamp(min=LEAST_ERROR) / Z90)
    everyone = torch.arange(len(z))
    descend(gap.missing, lack, everyone, steps)
    descend(gap.doubt, doubt, everyone, steps // 2)


def descend(
    heads: Heads, loss: Callable[[Heads, Tensor], Tensor], rows: Tensor, steps: int
) -> None:
    """Fit networks to the mean loss of rows."""
    heads.train()
    optimizer = torch.optim.AdamW(heads.parameters(), RATE, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    for _ in range(steps):
        value = loss(heads, rows[torch.randint(len(rows), (BATCH,))]).mean()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
    heads.eval()


def by_size(data: dict[str, Tensor], gap: Gap) -> list[tuple[str, ...]]:
    """By sample size: error and bias of the bound, then with the gap, and what intervals hold."""
    with torch.no_grad():
        whole = data["bound"] + gap.of(data["evidence"])
        held = (whole - data["truth"]).abs() <= Z90 * gap.spread(data["evidence"])
    out = []
    for low, high in pairwise(BINS):
        at = (data["n"] >= low) & (data["n"] < high) & (data["truth"] < HIGHEST_MI)
        if at.any():
            errors = [(found - data["truth"])[at] for found in (data["bound"], whole)]
            values = [float(v) for e in errors for v in (e.abs().mean(), e.mean())]
            values.append(float(held[at].float().mean()))
            out.append((f"{low} to {high - 1}", str(int(at.sum())), *(f"{v:.3f}" for v in values)))
    return out


def main() -> None:
    style = argparse.ArgumentDefaultsHelpFormatter
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=style)
    p.add_argument("checkpoint", help="of python -m infoatlas_train.pretrain")
    p.add_argument("--out", default="gap.pt", help="the checkpoint again, with the gap")
    p.add_argument("--evidence", default="evidence.pt", help="readings are kept here, and resumed")
    p.add_argument("--metrics", type=int, choices=(1, 2), default=1, help="of neighbours")
    p.add_argument("--readings", type=int, default=80_000, help="of datasets, or of parts of them")
    p.add_argument("--seed", type=int, default=SEED)
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    model, run = load(args.checkpoint)
    torch.manual_seed(args.seed)
    gap = Gap(args.metrics)
    data = gather(model, gap, args.readings, args.seed, Path(args.evidence))
    # Datasets of a batch are of one family: held out are whole batches.
    held_out = data["batch"] % HELD_OUT == 0
    fit(gap, {name: value[~held_out] for name, value in data.items()}, args.seed, STEPS)
    whole = InfoAtlas(replace(model.config, gap=args.metrics))
    whole.hypernetwork.load_state_dict(model.hypernetwork.state_dict())
    whole.gap.load_state_dict(gap.state_dict())
    about = {"datasets": TOGETHER * len(data["batch"][~held_out].unique())}
    about |= {"readings": int((~held_out).sum()), "seed": args.seed, "steps": STEPS}
    about["git_revision"] = git_revision()
    torch.save(checkpoint(whole, run | {"gap": about}), args.out)
    table(
        "Held out, nats: of the bound, of bound and gap, and the share within 1.645 spreads",
        ("samples", "datasets", "bound: error", "bias", "with gap: error", "bias", "within"),
        by_size({name: value[held_out] for name, value in data.items()}, gap),
    )
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
