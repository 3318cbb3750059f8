"""Calibration of the standard error: python -m infoatlas_train.calibrate edge.onnx

The command estimates datasets of known mutual information through the runtime's public interface,
and fits the constants of `infoatlas_rt.estimation.standard_error` to the errors. The constants
first maximise a heavy-tailed likelihood (Student's t with few degrees of freedom), because a few
datasets have large errors. Then a factor makes 90% intervals cover 90% of the truths at small and
at large n. Calibration of `edge` lasts a quarter of an hour on one core. To write the constants
into a model file:

    infoatlas-rt export edge.onnx --calibration calibration.json --out edge.onnx

Two thirds of the unsliced datasets are draws of the atlas. The others are elliptical (one component
without flows), because the atlas warps nearly all its draws and much real data is elliptical.
Sliced datasets are wide mixtures of nine kinds (`infoatlas_train.data.wide_sides`). Their
projections are mixtures too, so their mutual information is known. Their factor is fitted to the
coverage of each kind, not to the average. The seeds differ from those of training and of the
benchmark.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import check_target, progress, table
from infoatlas_rt.cli.main import exit_code
from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.slicing import SLICES
from infoatlas_rt.estimation.standard_error import standard_error
from infoatlas_rt.models.model_file import CONSTANTS
from infoatlas_train.data import wide_sides
from infoatlas_train.data.atlas import Atlas
from infoatlas_train.data.mixtures import component, label

SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
SEED, HELD_OUT_SEED = 20_260_301, 20_260_401
QUERIES = 2048  # pairs whose log-ratios are averaged for a label; densities use twice as many draws
Z90 = 1.645
# Share of the truths that 90% intervals cover in the fit, over all unsliced datasets. The coverage
# is higher for elliptical draws and lower for draws of the atlas, which are hard to estimate; it is
# at least 85%.
SHARE = 0.91
# Share of the truths that 90% intervals of sliced estimates cover in the fit, at least, for each
# kind. One kind has this minimum: 50 samples do not resolve many clusters. The other kinds are
# covered to 91% or more.
EACH = 0.86
LEAST_FEW = -0.5 * math.sqrt(min(SIZES))  # with this bound the noise part never grows with n
PLAIN = {"predicted": 1.0, "beyond": 0.0}  # powers: the model error is the predicted error itself
SCALES = ("noise", "spread", "ceiling")  # constants that are factors
# Columns of the estimates that determine a standard error, in the order of `standard_error`.
DIAGNOSTICS = ("noise", "predicted_error", "rank_noise", "samples", "beyond_gaussian")


@dataclass
class Dataset:
    """Samples with their mutual information; if sliced, its mean over random projections."""

    family: str
    x: np.ndarray  # [n, dx] float64
    y: np.ndarray  # [n, dy]
    mi: float  # nats
    mi_error: float  # standard error of mi, if it is a Monte Carlo mean; 0 if it is exact


def unsliced(count: int, seed: int, samples: int = max(SIZES), dim: int = 5) -> Iterator[Dataset]:
    """Datasets for unsliced estimates; two of three are of the atlas, the third is elliptical."""
    torch.manual_seed(seed)
    atlas = Atlas(dim=dim, queries=QUERIES, draws=2 * QUERIES, group=1, in_order=True)
    for i in range(count):
        if i % 3 < 2:
            d = atlas.sample(1, samples)
            x, y = (_used(side[0].double().numpy()) for side in (d.x, d.y))
            closed = float(d.mi - d.joint.mean()) != 0 or not d.joint.any()
            error = 0.0 if closed else float(d.joint.std()) / math.sqrt(QUERIES)
            yield Dataset(list(atlas.families)[int(d.family)], x, y, float(d.mi), error)
        else:
            dx, dy = (1 + int(torch.randint(dim, ())) for _ in range(2))
            m = component(dx, dy)
            z = m.sample(samples)[0].double().numpy()
            half = max(dx, dy)
            mi, error = label(m, half, 8 * QUERIES)
            yield Dataset("elliptical", z[:, :dx], z[:, half : half + dy], mi, error)


def _used(side: np.ndarray) -> np.ndarray:
    """Remove the coordinates of padding; at least one coordinate remains."""
    return side[:, : max(1, int((side != 0).any(0).sum()))]


def sliced(count: int, seed: int, samples: int = max(SIZES), k: int = 5) -> Iterator[Dataset]:
    """Wide datasets for slices of k dimensions, cycling through the kinds of `wide_sides`."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    for i in range(count):
        drawn = wide_sides.draw(wide_sides.ALL[i % len(wide_sides.ALL)], k, rng)
        x, y = wide_sides.sample(drawn, samples, rng)
        yield Dataset(drawn.kind, x, y, *wide_sides.truth(drawn, k, rng))


Estimates = dict[str, np.ndarray]  # columns, one entry for each estimate


def counted(draws: Iterator[Dataset], total: int, name: str) -> Iterator[Dataset]:
    """The datasets, with a progress bar; `total` is their number, or less."""
    with progress(name) as show:
        for done, dataset in enumerate(draws, 1):
            yield dataset
            show(min(1.0, done / total))


def estimates(
    estimator: Estimator, draws: Iterator[Dataset], sizes: tuple[int, ...] = SIZES
) -> Estimates:
    """Estimate from the first n samples of each dataset; drop saturated and degenerate results."""
    rows = []
    for number, d in enumerate(draws):
        for n in sizes:
            series = d.family == "autoregressive"
            e = estimator.estimate(d.x[:n], d.y[:n], time_series=series)
            row = {name: getattr(e, name) for name in ("mi", "stderr", "noise", "predicted_error")}
            row |= {name: getattr(e, name) for name in ("rank_noise", "beyond_gaussian")}
            row |= {"samples": e.effective_samples, "n": n}
            row |= {"truth": d.mi, "truth_error": d.mi_error}
            if not (e.saturated or e.degenerate):
                rows.append(row | {"family": d.family, "dataset": number})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def coverage(data: Estimates, stderr: np.ndarray, z: float = Z90) -> float:
    """Share of truths within mi ± z stderr, with the standard errors of the labels added."""
    total = np.sqrt(stderr**2 + data["truth_error"] ** 2)
    return float((np.abs(data["mi"] - data["truth"]) <= z * total).mean())


def standard_errors(data: Estimates, constants: dict[str, float]) -> np.ndarray:
    """Standard errors of the runtime with these constants."""
    return standard_error(constants, *(data[name] for name in DIAGNOSTICS))


def fit(data: Estimates, share: float = SHARE, freedom: float = 2.0) -> dict[str, float]:
    """Fit the constants of the standard error, so that 90% intervals cover `share` of the truths.

    The estimates are unsliced. The errors have a Student t distribution of `freedom` degrees.
    """
    found = (
        PLAIN | {"few": 0.0} | _likeliest(data, {"noise": 0.3, "spread": 1, "ceiling": 1}, freedom)
    )

    # Factors that cover `share` of the smaller and of the larger half of the sizes.
    stderr = standard_errors(data, found)
    small = data["n"] <= np.median(np.unique(data["n"]))
    factors, sizes = [], []
    for half in (small, ~small):
        part = {name: column[half] for name, column in data.items()}
        own = stderr[half]
        factors.append(_least(lambda factor, p=part, s=own: coverage(p, factor * s) >= share))
        sizes.append(math.exp(np.log(part["n"]).mean()))
    # Solve always (1 + few / sqrt(n)) = factor for both halves. If `few` is at its bound, the curve
    # is at or above both factors. `few` can be negative: noise averages out with n, and errors of
    # the model do not.
    roots = [size**-0.5 for size in sizes]
    slope = (factors[0] - factors[1]) / (roots[0] - roots[1])
    few = max(slope / max(factors[1] - slope * roots[1], 0.1 * factors[1]), LEAST_FEW)
    always = max(f / (1 + few * root) for f, root in zip(factors, roots, strict=True))
    found |= {name: always * found[name] for name in SCALES} | {"few": few}
    return {name: round(found[name], 6) for name in CONSTANTS}


def fit_sliced(data: Estimates, share: float = EACH, freedom: float = 8.0) -> dict[str, float]:
    """Fit the constants of the standard error, so that intervals cover `share` of each family.

    The powers of the model error and `few` are fitted, too. The factor for the coverage multiplies
    only the model error, because noise between slices is measured and not predicted.
    """
    start = {"noise": 1, "spread": 1, "ceiling": 1, "predicted": 0.3, "beyond": 1, "few": 0}
    found = _likeliest(data, start, freedom)
    families = [data["family"] == family for family in np.unique(data["family"])]

    def enough(factor: float) -> bool:
        stderr = standard_errors(data, found | {"spread": factor * found["spread"]})
        each = ({name: column[own] for name, column in data.items()} for own in families)
        return all(
            coverage(part, stderr[own]) >= share for part, own in zip(each, families, strict=True)
        )

    found["spread"] *= _least(enough)
    return {name: round(found[name], 6) for name in CONSTANTS}


def _likeliest(data: Estimates, start: dict[str, float], freedom: float) -> dict[str, float]:
    """Maximise the likelihood over the constants in `start`; other constants are fixed."""
    diagnostics = [torch.from_numpy(data[name].astype(np.float64)) for name in DIAGNOSTICS]
    error = torch.from_numpy(data["mi"] - data["truth"])
    label = torch.from_numpy(data["truth_error"].astype(np.float64))
    datasets = len(np.unique(data["dataset"]))
    # `few` is at least LEAST_FEW, and the others are at least 0.
    low = torch.tensor([LEAST_FEW if name == "few" else 0.0 for name in start]).double()
    prior = (torch.tensor(list(start.values())).double() - low).log()
    logs = prior.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([logs], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        constants = PLAIN | {"few": 0.0} | dict(zip(start, low + logs.exp(), strict=True))
        variance = standard_error(constants, *diagnostics) ** 2 + label**2 + 1e-12
        t = torch.log1p(error**2 / variance / freedom) * (freedom + 1) / 2 + variance.log() / 2
        # A prior with the weight of one dataset keeps constants that the data do not determine.
        total = t.mean() + (logs - prior).square().sum() / 2 / datasets
        total.backward()
        return total

    optimiser.step(loss)
    return dict(zip(start, (low + logs.detach().exp()).tolist(), strict=True))


def _least(enough: Callable[[float], bool]) -> float:
    """Smallest factor from 0.001 to 1000 for which `enough` is true."""
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def calibrate(
    model: str, count: int, wide: int, seed: int = SEED, threads: int = 1
) -> tuple[dict, list]:
    """Constants for a model file, and the coverage by sample size on the data of the fit."""
    plain = Estimator(model, threads=threads, provider="auto")
    dim = plain.model_file.dim
    slicing = Estimator(model, threads=threads, slices=SLICES, provider="auto")
    usable = tuple(n for n in SIZES if n >= plain.model_file.n_min)
    # A sliced estimate costs 40 estimates, so only every other size is used, from the largest.
    kinds = {  # keys as in the calibration file and in model files
        "whole": (plain, unsliced(count, seed, dim=dim), usable, count),
        "sliced": (slicing, sliced(wide, seed, k=dim), usable[::-2][::-1], wide),
    }
    constants, rows = {}, []
    for kind, (estimator, draws, sizes, total) in kinds.items():
        data = estimates(estimator, counted(draws, total, kind), sizes)
        constants[kind] = fit(data) if kind == "whole" else fit_sliced(data)
        for n in sizes:
            at_n = {name: column[data["n"] == n] for name, column in data.items()}
            stderr = standard_errors(at_n, constants[kind])
            row = {"kind": kind, "n": n, "estimates": len(stderr)}
            row["coverage"] = round(coverage(at_n, stderr), 3)
            rows.append(row | {"noise_alone": round(coverage(at_n, at_n["noise"]), 3)})
    return constants, rows


def main(argv: Sequence[str] | None = None) -> int:
    style = argparse.ArgumentDefaultsHelpFormatter
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=style)
    p.add_argument("model", help="shipped model or .onnx file")
    p.add_argument("--out", default="calibration.json", help="file for the constants")
    p.add_argument("--draws", type=int, default=360, help="number of unsliced datasets")
    p.add_argument("--wide", type=int, default=288, help="number of sliced datasets")
    p.add_argument("--seed", type=int, default=SEED)
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args(argv)

    def run() -> None:
        if min(args.draws, args.wide, args.threads) < 1:
            raise InputError("--draws, --wide and --threads have to be 1 or more")
        check_target(Path(args.out))
        torch.set_num_threads(args.threads)
        constants, rows = calibrate(args.model, args.draws, args.wide, args.seed, args.threads)
        about = {"draws": args.draws, "wide": args.wide, "seed": args.seed}
        text = json.dumps(constants | about, indent=1) + "\n"
        Path(args.out).write_text(text, encoding="utf-8")
        table(
            "Coverage of 90% intervals on the data of the fit",
            ("entered", "n", "estimates", "coverage", "by noise alone"),
            [tuple(str(value) for value in row.values()) for row in rows],
        )
        print(f"wrote {args.out}: {json.dumps(constants)}")

    return exit_code(run, "infoatlas_train.calibrate", f"{args.out} is not written: begin anew")


if __name__ == "__main__":
    sys.exit(main())
