"""Coverage of the intervals, and level of the independence test.

    python -m benchmarks.calibration        # build/bmi -> benchmarks/results/calibration.*

Coverage is the share of truths within mi ± z stderr: on draws of the training distribution that
were used neither in training nor in calibration, and on BMI; unsliced and in 40 slices. Level is
the share of independent samples that the permutation test rejects, nominally 5%.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_tools import independence_test
from infoatlas_train.calibrate import (
    HELD_OUT_SEED,
    SIZES,
    Dataset,
    Estimates,
    counted,
    coverage,
    estimates,
    sliced as wide_draws,
    unsliced as atlas_draws,
)

from . import intervals, report
from .peers.classical import projections
from .report import number, table
from .tasks.truths import student_excess

SLICES = 40
PERMUTATIONS = 19  # p <= 0.05 if the estimate exceeds all of the permuted ones: exactly 5%
FITTED = "The calibration used other draws of the training distribution, and no BMI data."
NOT_FITTED = "The model file has no calibration: its standard error is the sampling noise alone."
POPULATIONS = (  # in the order of the tables
    *("atlas, unsliced", "without flows, unsliced", "BMI, unsliced"),
    *("wide mixtures, 40 slices", "BMI, 40 slices"),
)


def bmi(folder: Path, seeds: int) -> Iterator[Dataset]:
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as data:
            for x, y in zip(data["x"][:seeds], data["y"][:seeds], strict=True):
                yield Dataset(file.stem, x.astype(float), y.astype(float), float(data["mi"]), 0.0)


def bmi_sliced(folder: Path, seeds: int, k: int) -> Iterator[Dataset]:
    """The tasks whose slices have a known mutual information, in projections to k dimensions.

    Gaussians: in closed form for each projection, with the correlations of all samples together.
    Multivariate t with identity dispersion: the same for all projections.
    """
    for file in sorted(folder.glob("*.npz")):
        name = file.stem
        gaussian, student = name.startswith("multinormal"), name.startswith("student-identity")
        with np.load(file) as data:
            if not (gaussian or student) or min(data["x"].shape[2], data["y"].shape[2]) <= k:
                continue
            if gaussian:
                truth, error = _sliced_gaussian(data["x"], data["y"], k)
            else:
                truth, error = student_excess(float(name.rsplit("-", 1)[1]), k), 0.0
            for x, y in zip(data["x"][:seeds], data["y"][:seeds], strict=True):
                yield Dataset(name, x.astype(float), y.astype(float), truth, error)


def _sliced_gaussian(x: np.ndarray, y: np.ndarray, k: int) -> tuple[float, float]:
    """Mean over 4,096 projections of standardised coordinates, and its standard error."""
    dx, dy = x.shape[2], y.shape[2]
    r = np.corrcoef(np.concatenate([x, y], 2).reshape(-1, dx + dy).astype(float), rowvar=False)
    rng = np.random.default_rng(0)
    p, q = (projections(d, k, 4096, rng) for d in (dx, dy))
    pt, qt = p.swapaxes(1, 2), q.swapaxes(1, 2)
    xx, yy, xy = pt @ r[:dx, :dx] @ p, qt @ r[dx:, dx:] @ q, pt @ r[:dx, dx:] @ q
    joint = np.block([[xx, xy], [xy.swapaxes(1, 2), yy]])
    each = np.linalg.slogdet(xx)[1] + np.linalg.slogdet(yy)[1] - np.linalg.slogdet(joint)[1]
    return float(each.mean() / 2), float(each.std() / 2 / math.sqrt(len(each)))


# Pairs of independent samples: name, estimator's options, draw(rng) -> x, y, time series?
def autoregression(rng: np.random.Generator, n: int, rho: float) -> np.ndarray:
    noise = rng.standard_normal((n + 200, 1))
    for t in range(1, n + 200):
        noise[t] += rho * noise[t - 1]
    return noise[200:]


def levels(sizes: tuple[int, ...]) -> Iterator[tuple[str, dict, Any, bool]]:
    def both(draw):
        return lambda rng: (draw(rng), draw(rng))

    for n in sizes:
        for d in (1, 3):
            normal = both(lambda rng, n=n, d=d: rng.standard_normal((n, d)))
            yield f"normal, d = {d}, n = {n}", {}, normal, False
        counts = both(lambda rng, n=n: rng.integers(0, 3, (n, 2)))
        yield f"three values, d = 2, n = {n}", {}, counts, False
        constant = both(lambda rng, n=n: np.column_stack([rng.standard_cauchy(n), np.ones(n)]))
        yield f"Cauchy and a constant, d = 2, n = {n}", {}, constant, False
        sliced = both(lambda rng, n=n: rng.standard_normal((n, 16)))
        yield f"normal, d = 16, 4 slices of 5, n = {n}", {"k": 5, "slices": 4}, sliced, False
        for rho in (0.5, 0.9):
            series = both(lambda rng, n=n, rho=rho: autoregression(rng, n, rho))
            yield f"two AR(1), memory {rho}, d = 1, n = {n}", {}, series, True


def measure_level(model: str, trials: int, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    rows = []
    settings = enumerate(levels(sizes))
    for i, (name, options, draw, time_series) in report.tracked("level", settings):
        # The level does not depend on the number of shifts.
        estimator = Estimator(model, shifts=4, provider="auto", **options)
        rejected = 0
        for trial in range(trials):
            x, y = draw(np.random.default_rng([i, trial, HELD_OUT_SEED]))
            result = independence_test(
                x, y, estimator, permutations=PERMUTATIONS, time_series=time_series
            )
            rejected += result.p_value <= 0.05
        rows.append({"samples": name, "trials": trials, "rejected": rejected / trials})
    return rows


def by_size(data: Estimates) -> Iterator[tuple[int, Estimates]]:
    for n in np.unique(data["n"]):
        yield int(n), {name: column[data["n"] == n] for name, column in data.items()}


def summarise(name: str, data: Estimates) -> list[dict[str, Any]]:
    rows = []
    for n, at_n in by_size(data):
        error = np.abs(at_n["mi"] - at_n["truth"])
        row = {"data": name, "n": n, "datasets": len(error)}
        for share in (0.9, 0.5):
            z = NormalDist().inv_cdf(0.5 + share / 2)
            row[f"coverage_{share:.0%}"] = coverage(at_n, at_n["stderr"], z)
        row["coverage_90%_noise_alone"] = coverage(at_n, at_n["noise"])
        row |= {"median_stderr": float(np.median(at_n["stderr"]))}
        rows.append(row | {"median_error": float(np.median(error))})
    return rows


def by_family(populations: dict[str, Estimates]) -> str:
    """Table of the intervals by family, all sizes together."""
    lines = []
    for name, data in populations.items():
        if name.startswith("BMI"):
            continue
        for family in np.unique(data["family"]):
            own = {key: column[data["family"] == family] for key, column in data.items()}
            share = coverage(own, own["stderr"])
            error = float(np.sqrt(np.square(own["mi"] - own["truth"]).mean()))
            width = intervals.Z90 * float(own["stderr"].mean())
            silent = "yes" if share < intervals.SILENT else ""
            cells = [f"{share:.0%}", number(width), number(error), f"{width / error:.1f}", silent]
            lines.append([name, str(family), str(len(own["mi"])), *cells])
    heads = ["data", "family", "estimates", "coverage, 90%", "mean half-width"]
    return table([*heads, "root mean square error", "half-width / error", "silent"], lines)


def page(
    about: dict[str, Any], rows: list[dict[str, Any]], families: str, level: list[dict[str, Any]]
) -> str:
    lines = [
        [
            row["data"],
            str(row["n"]),
            str(row["datasets"]),
            *(f"{row[f'coverage_{key}']:.0%}" for key in ("90%", "50%", "90%_noise_alone")),
            number(row["median_stderr"]),
            number(row["median_error"]),
        ]
        for row in rows
    ]
    headers = ["data", "n", "data sets", "coverage, 90%", "coverage, 50%"]
    headers += ["coverage, 90%, noise alone", "median stderr", "median abs. error"]
    return "\n\n".join(
        [
            "# Calibration of the standard error, and level of the permutation test",
            report.byline(about),
            "## Coverage",
            "Coverage is the share of truths within mi ± z stderr. Some truths are Monte Carlo "
            "means; their standard error is added in quadrature. Saturated estimates are left out. "
            + (FITTED if about["models"][0]["calibration"] else NOT_FITTED)
            + " The smaller samples of a data set are the first rows of the larger ones. Errors "
            "are heavy-tailed: where 90% intervals have the right coverage, 50% intervals cover "
            'more than half. "Noise alone" uses `noise` instead of `stderr`.',
            table(headers, lines),
            "## Coverage by family",
            "All sizes together. The truth of a sliced estimate is the mean over all projections, "
            "not over the projections of the estimate. A family is silent if the coverage of its "
            "90% intervals is below 50%.",
            families,
            "## Level of the permutation test",
            "Share of independent samples that the test rejects at p <= 0.05, with "
            f"{PERMUTATIONS} permutations (circular shifts for time series). The nominal share is "
            "5%. Ties, as between discrete sides, make it smaller.",
            table(
                ["samples", "trials", "rejected"],
                [[r["samples"], str(r["trials"]), f"{r['rejected']:.1%}"] for r in level],
            ),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "few draws, n = 50 and 200")
    parser.add_argument("samples", nargs="?", type=Path, default=Path("build/bmi"))
    parser.add_argument("--draws", type=int, default=450, help="unsliced data sets (450)")
    parser.add_argument("--wide", type=int, default=40, help="sliced data sets (40)")
    parser.add_argument("--seeds", type=int, default=10, help="draws of each BMI task (10)")
    parser.add_argument("--trials", type=int, default=1000, help="of the test, per setting (1000)")
    chosen = parser.parse_args(arguments)
    sizes, level_sizes = SIZES, (50, 200)
    if chosen.quick:
        chosen.draws, chosen.wide, chosen.seeds, chosen.trials = 24, 3, 1, 8
        sizes, level_sizes = SIZES[:3:2], SIZES[:1]
    model = chosen.model
    whole = Estimator(model, provider="auto")
    dim = whole.model_file.dim
    many = Estimator(model, slices=SLICES, provider="auto")
    narrow = Estimator(model, k=min(2, dim), slices=SLICES, provider="auto")
    atlas = atlas_draws(chosen.draws, HELD_OUT_SEED, max(sizes), dim)
    wide = wide_draws(chosen.wide, HELD_OUT_SEED, max(sizes), dim)
    jobs = {
        "atlas, unsliced": (whole, atlas, chosen.draws),
        "wide mixtures, 40 slices": (many, wide, chosen.wide),
    }
    if any(chosen.samples.glob("*.npz")):
        tasks = bmi_sliced(chosen.samples, chosen.seeds, narrow.k)
        jobs["BMI, unsliced"] = whole, bmi(chosen.samples, chosen.seeds), 33 * chosen.seeds
        jobs["BMI, 40 slices"] = narrow, tasks, 8 * chosen.seeds
    elif not chosen.quick:
        parser.error(
            f"no .npz files in {chosen.samples}: make them with bmi_samples.py, or use --quick"
        )
    about = report.provenance(chosen.command, whole)
    populations = {
        name: estimates(estimator, counted(draws, total, name), sizes)
        for name, (estimator, draws, total) in jobs.items()
    }
    # The training distribution has no draws without flows.
    elliptical = populations["atlas, unsliced"]["family"] == "elliptical"
    both = populations.pop("atlas, unsliced")
    for name, rows in (("atlas, unsliced", ~elliptical), ("without flows, unsliced", elliptical)):
        populations[name] = {key: column[rows] for key, column in both.items()}
    populations = {name: populations[name] for name in POPULATIONS if name in populations}
    rows = [row for name, data in populations.items() for row in summarise(name, data)]
    level = measure_level(model, chosen.trials, level_sizes)
    text = page(about, rows, by_family(populations), level)
    report.save(chosen.out, "calibration", about, [*rows, *level], text)


if __name__ == "__main__":
    main()
