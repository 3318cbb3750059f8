"""A picture of the atlas on one page.

    python -m infoatlas_train.data.atlas_page recipes/edge.toml --out docs/atlas.png

Each row is a family of the recipe. It has scatter plots of datasets of increasing mutual
information, with points coloured by their log-ratio (the target of the critic), and a histogram of
the family's mutual information.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch
from torch import Tensor

from infoatlas_train.data.atlas import Atlas, Datasets

try:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: pip install 'infoatlas-rt[train]'", name=error.name
    ) from error

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ABOUT = {
    "mixture": "up to 60 Gaussian and\nStudent-t components",
    "canonical": "one component of\nprescribed strength",
    "functional": "y = f(x) + s(x) e,\nor the other way round",
    "latent": "x and y are functions\nof a hidden u, and noise",
    "autoregressive": "states of a VAR(1),\na lag apart",
    "discrete": "labels through a\nnoisy channel",
    "events": "rare flags, and values\nthat are mostly zero",
    "signs": "parities, which no\ncorrelation shows",
}
# Dimensions of a side in each column: (lowest, highest). A plot of two one-dimensional sides shows
# all coordinates, so these have most columns.
COLUMNS = ((1, 1), (1, 1), (1, 1), (2, 3), (4, 5))
BOUND = 4.0  # nats; end of the colour scale
MOST = 8.0  # nats; the last bin of the histogram contains all larger values
INK, QUIET, BAR = "#1c2733", "#6b7785", "#1f5f99"
SHADES = LinearSegmentedColormap.from_list(
    "information", ["#123a7a", "#5b8fd0", "#c9ced6", "#f0a35c", "#c2262d", "#5f0f24"]
)


def draw(family: str, batches: int, points: int) -> Datasets:
    """8 x `batches` datasets of one family, from several draws because a draw shares its flow."""
    atlas = Atlas(families={family: 1.0}, independent=0.0, queries=points, draws=2 * points)
    parts = [atlas.sample(8, 32) for _ in range(batches)]
    values = zip(*(vars(part).values() for part in parts), strict=True)
    return Datasets(*map(torch.cat, values))


def widths(side: Tensor) -> Tensor:
    """Number of coordinates in use of samples [B, n, D]: [B]."""
    return (side.abs().amax(1) > 0).sum(1)


def chosen(data: Datasets) -> list[int]:
    """One dataset for each column, with its dimensions and in order of mutual information."""
    d = torch.maximum(widths(data.xq), widths(data.yq))
    examples = []
    for column in sorted(set(COLUMNS)):
        count = COLUMNS.count(column)
        like = torch.where((column[0] <= d) & (d <= column[1]))[0]
        like = like if len(like) >= count else torch.arange(len(d))
        like = like[data.mi[like].argsort()]
        # One dataset from each of `count` equal parts, a little above its middle.
        examples += [int(like[int((i + 0.6) / count * len(like))]) for i in range(count)]
    return examples


def scatter(ax: Axes, x: Tensor, y: Tensor, log_ratio: Tensor, title: str) -> None:
    """Plot the first coordinates of pairs x, y [n, D]; equal points are drawn as a larger one."""
    log_ratio, order = log_ratio.sort()
    points = torch.stack([x[:, 0], y[:, 0]], 1)[order]
    _, place, count = torch.unique(points, dim=0, return_inverse=True, return_counts=True)
    size = 4.5 * count[place].sqrt().numpy()
    shade = {"c": log_ratio.numpy(), "cmap": SHADES, "norm": Normalize(-BOUND, BOUND)}
    ax.scatter(*points.T.numpy(), s=size, linewidths=0, rasterized=True, **shade)
    for values, limit in ((points[:, 0], ax.set_xlim), (points[:, 1], ax.set_ylim)):
        # Heavy tails are cut off; otherwise the other points would shrink to a dot.
        low, high = values.quantile(torch.tensor([0.1, 0.9])).tolist()
        reach = (high - low) or math.inf
        low, high = max(values.min().item(), low - reach), min(values.max().item(), high + reach)
        margin = 0.06 * (high - low) + 1e-3
        limit(low - margin, high + margin)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=8.5, color=INK, pad=4)


def histogram(ax: Axes, mi: Tensor) -> None:
    """Plot the histogram of the mutual information of the draws, in bins of half a nat."""
    bins = torch.arange(0, MOST + 0.75, 0.5)
    share = torch.histogram(mi.clamp(0, MOST + 0.25), bins).hist / len(mi)
    ax.bar((bins[:-1] + 0.25).numpy(), share.numpy(), width=0.42, color=BAR)
    ax.axvline(float(mi.median()), color=INK, linewidth=1, linestyle=(0, (4, 2)))
    ax.set_title(f"median {mi.median():.1f} nats", fontsize=8.5, color=INK, pad=4)
    ax.set(xlim=(-0.1, MOST + 0.6), yticks=[], xticks=[0, 2, 4, 6, MOST + 0.25])
    ax.set_xticklabels(["0", "2", "4", "6", f">{MOST:.0f}"], fontsize=8, color=QUIET)


def page(families: dict[str, float], seed: int = 0, batches: int = 16, points: int = 700) -> Figure:
    """The page as a figure, with `points` pairs per dataset and 8 x `batches` datasets per family.

    `families` maps names to shares, as in :class:`Atlas`.
    """
    torch.manual_seed(seed)
    rows, columns = len(families), len(COLUMNS) + 1
    figure = Figure(figsize=(12.2, 1.95 * rows + 1.1), facecolor="white")
    grid = figure.subplots(
        rows, columns, squeeze=False, gridspec_kw={"width_ratios": [1] * len(COLUMNS) + [1.5]}
    )
    top, bottom = 1 - 0.85 / figure.get_figheight(), 0.85 / figure.get_figheight()
    figure.subplots_adjust(0.155, bottom, 0.985, top, wspace=0.12, hspace=0.34)
    total = sum(families.values())
    for row, (family, share) in zip(grid, families.items(), strict=True):
        data = draw(family, batches, points)
        for ax, i in zip(row, chosen(data), strict=False):
            dims = f"{widths(data.xq)[i]} × {widths(data.yq)[i]}"
            title = f"{data.mi[i]:.2f} nats,  {dims}"
            scatter(ax, data.xq[i], data.yq[i], data.joint[i], title)
        histogram(row[-1], data.mi)
        for ax in row:
            ax.spines[:].set(color="#c3c9d0", linewidth=0.8)
            ax.tick_params(length=2, color="#c3c9d0")
        row[-1].spines[["top", "left", "right"]].set_visible(False)
        label = {"transform": row[0].transAxes, "ha": "right"}
        row[0].text(-0.1, 0.66, family, fontsize=11, weight="bold", color=INK, **label)
        row[0].text(-0.1, 0.28, ABOUT.get(family, ""), fontsize=8, color=QUIET, **label)
        text = f"{share / total:.0%} of the draws"
        row[0].text(-0.1, 0.1, text, fontsize=8, color=QUIET, **label)
    _legend(figure, grid[-1])
    return figure


def _legend(figure: Figure, row: list[Axes]) -> None:
    height = figure.get_figheight()
    figure.text(0.02, 1 - 0.27 / height, "The atlas", fontsize=15, weight="bold", color=INK)
    text = (
        "Datasets of known mutual information, titled with it and with the dimensions of x and y. "
        "First coordinate of x across, of y up: at 1 × 1 this is all there is."
    )
    figure.text(0.02, 1 - 0.5 / height, text, fontsize=9, color=QUIET)
    left, right = row[0].get_position().x0, row[-2].get_position().x1
    bar = figure.add_axes((left, 0.42 / height, 0.6 * (right - left), 0.1 / height))
    shades = torch.linspace(-BOUND, BOUND, 256)[None]
    bar.imshow(shades.numpy(), aspect="auto", cmap=SHADES, extent=(-BOUND, BOUND, 0, 1))
    bar.set(yticks=[], xticks=range(-math.floor(BOUND), math.floor(BOUND) + 1, 2))
    bar.tick_params(labelsize=8, length=2, colors=QUIET)
    bar.spines[:].set_visible(False)
    text = "log p(x,y) / p(x)p(y) of a pair, nats"
    figure.text(left + 0.615 * (right - left), 0.42 / height, text, fontsize=8.5, color=QUIET)
    middle = row[-1].get_position()
    text = "mutual information, nats"
    x = (middle.x0 + middle.x1) / 2
    figure.text(x, 0.42 / height, text, fontsize=8.5, color=QUIET, ha="center")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("recipe", type=Path, help="recipes/NAME.toml")
    p.add_argument("--out", type=Path, required=True, help="the picture: .png, .pdf or .svg")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    recipe = tomllib.loads(args.recipe.read_text(encoding="utf-8"))
    families = Atlas(**recipe["pretrain"]["atlas"]).families
    page(families, args.seed).savefig(args.out, dpi=120)


if __name__ == "__main__":
    main()
