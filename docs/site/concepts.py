"""Draw the pictures of docs/concepts.md from recorded demonstrations and estimates.

python docs/site/concepts.py    # writes docs/concepts/*.png
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from infoatlas_rt import Estimator
from infoatlas_tools import (
    Pose,
    Position,
    Trajectories,
    discover_keystates,
    load_trajectories,
    mi_curve,
)

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs/concepts"
COLOURS = ("#0072B2", "#C77700", "#009E73", "#CC79A7", "#56B4E9")
QUIET = "0.6"
SHOWN = 40  # demonstrations of PickCube
STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.dpi": 130,
}


def computed() -> Iterator[tuple[str, Any]]:
    """What the pictures show, by name, one after the other."""
    rng = np.random.default_rng(0)
    estimator = Estimator()
    x = rng.standard_normal((400, 1))
    y = x**2 + 0.3 * rng.standard_normal((400, 1))
    yield "pairs", (x, y, estimator.estimate(x, y))
    yield "errors", [(n, estimator.estimate(*clusters(rng, n))) for n in (50, 100, 200, 500, 1000)]
    cubes = load_trajectories(ROOT / "examples/data/pickcube.npz")
    parts = cubes.split()
    now, past = np.concatenate([p[2:] for p in parts]), np.concatenate([p[:-2] for p in parts])
    rows = rng.permutation(len(now))[:400]
    yield "sliced", estimator.estimate(now[rows], past[rows])
    yield "curve", mi_curve(cubes, Estimator(slices=10), mode="normalised", points=40)
    some = Trajectories(parts[:SHOWN], names=cubes.names, rate=20)
    found = discover_keystates(some, count=1)
    yield "found", found
    poses = {"cube": Pose("cube"), "goal": Position("goal")}
    yield "subtasks", found.subtasks(Pose("tool"), poses)
    people = load_trajectories(ROOT / "benchmarks/tasks/data/sawyer_pickplace_long.npz")
    # Two demonstrations with four objects, in any order.
    yield "people", discover_keystates(people, count=4)


def clusters(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Samples [n, 2] of both sides, in four clusters; y is x with noise."""
    x = rng.choice([-2.0, 2.0], (n, 2)) + rng.standard_normal((n, 2))
    return x, x + rng.standard_normal((n, 2))


def truth() -> float:
    """Mutual information of `clusters`, nats: entropy of y less that of the noise, twice."""
    y = np.linspace(-12, 12, 20_001)
    density = sum(np.exp(-((y - c) ** 2) / 4) / np.sqrt(4 * np.pi) / 2 for c in (-2, 2))
    entropy = -np.trapezoid(density * np.log(density), y)
    return float(2 * (entropy - 0.5 * np.log(2 * np.pi * np.e)))


def new() -> tuple[Any, Axes]:
    """A small picture."""
    return pyplot.subplots(figsize=(4.6, 1.9), layout="constrained")


def save(figure: Any, name: str) -> None:
    figure.savefig(OUT / f"{name}.png", metadata={"Software": None})
    pyplot.close(figure)


def signals(axes: Axes, states: Any, names: Any) -> None:
    """Height of the cube and opening of the gripper of one demonstration, scaled to 0..1."""
    for name, label, colour in (
        ("finger1.position", "gripper opening", QUIET),
        ("cube.z", "height of the cube", "0.15"),
    ):
        values = states[:, names.index(name)]
        values = (values - values.min()) / np.ptp(values)
        axes.plot(values, color=colour, linewidth=1.2, label=label)
    axes.set(xlabel="step", ylim=(-0.08, 1.45), yticks=[], xlim=(0, len(states) - 1))


def draw(data: dict[str, Any]) -> None:
    """Write all pictures."""
    found, subtasks = data["found"], data["subtasks"]
    demonstrations, names = found.trajectories.split(), list(found.trajectories.names)
    states = demonstrations[0]

    (step,) = found.steps[0].tolist()
    figure, axes = new()
    signals(axes, states, names)
    axes.axvline(step, color=COLOURS[0], ymax=0.82)
    axes.text(step, 1.22, "key state: grasp", color=COLOURS[0], ha="center")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "key_state")

    figure, axes = new()
    signals(axes, states, names)
    for i, (start, end) in enumerate(((0, step), (step, len(states) - 1))):
        axes.axvspan(start, end, color=COLOURS[i], alpha=0.2, linewidth=0)
        axes.text((start + end) / 2, 1.22, f"segment {i + 1}", ha="center", color=COLOURS[i])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "segment")

    figure, axes = new()
    part = next(part for part in subtasks.parts if part.reference == "cube")
    ends = np.array([own[int(end) - 1] for own, end in zip(demonstrations, part.end, strict=True)])
    for body, marker, size, label in (
        ("cube", "s", 7, "cube"),
        ("tool", "+", 6, "tool, at the end of\n“reach cube”"),
    ):
        at = ends[:, [names.index(f"{body}.{c}") for c in "xy"]].T
        colour = COLOURS[1] if body == "cube" else COLOURS[0]
        axes.plot(*at, marker, color=colour, markersize=size, fillstyle="none", label=label)
    axes.set(xlabel="x, m", ylabel="y, m")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "reference_object")

    figure, axes = new()
    dots(axes, data["people"], range(len(data["people"].steps)))
    save(figure, "event")

    figure, axes = new()
    x, y, estimate = data["pairs"]
    shown = axes.scatter(x, y, c=estimate.pointwise, s=6, cmap="viridis")
    axes.set(xlabel="x", ylabel="y")
    figure.colorbar(shown, ax=axes, label="local information, nats")
    save(figure, "local_information")

    figure, axes = new()
    sliced = data["sliced"]
    axes.bar(np.arange(sliced.slices) + 1, sliced.per_slice, color="#9ec3df")
    axes.axhline(sliced.mi, color=COLOURS[0])
    axes.text(sliced.slices + 1, sliced.mi, " mean:\n sliced\n estimate", color=COLOURS[0],
              va="center")  # fmt: skip
    axes.set(xlabel="slice: random directions of both sides", ylabel="nats")
    axes.set_xlim(0.3, sliced.slices + 0.7)
    save(figure, "sliced_information")

    figure, axes = new()
    sizes = [n for n, _ in data["errors"]]
    mi = [e.mi for _, e in data["errors"]]
    axes.errorbar(range(len(mi)), mi, [e.predicted_error for _, e in data["errors"]],
                  fmt="o", capsize=3, markersize=3, color=COLOURS[0])  # fmt: skip
    axes.axhline(truth(), color=QUIET, linestyle="--", linewidth=0.8)
    axes.text(len(mi) - 0.6, truth(), "true\nvalue", color="0.4", va="center")
    axes.set_xticks(range(len(mi)), [str(n) for n in sizes])
    axes.set(xlabel="samples", ylabel="nats")
    save(figure, "predicted_error")

    figure, axes = new()
    curve = data["curve"]
    axes.plot(curve.position, curve.mi, color="0.3", linewidth=1.2)
    axes.fill_between(curve.position, curve.mi - curve.noise, curve.mi + curve.noise, color="0.9")
    for kind, colour, marker in zip(("maximum", "minimum", "change"), COLOURS, "^vD", strict=False):
        own = [e for e in curve.extrema(z=2.5) if e.kind == kind]
        axes.plot([e.stamp for e in own], [e.value for e in own], marker, color=colour,
                  markersize=5, label=kind)  # fmt: skip
    axes.set(xlabel="fraction of the demonstration", ylabel="I(state; past), nats")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "extremum")


def dots(axes: Axes, found: Any, rows: range) -> None:
    """Events of some demonstrations, coloured by their kind."""
    kinds = np.unique(found.kind[found.shared]).tolist()
    for row in rows:
        axes.plot([0, found.trajectories.lengths[row]], [row, row], color="0.85", zorder=0)
        for column, step in enumerate(found.steps[row].tolist()):
            if step is not None and found.shared[column]:
                kind = kinds.index(found.kind[column])
                axes.plot(step, row, "o", color=COLOURS[kind % len(COLOURS)], markersize=5)
    for kind in range(min(len(kinds), len(COLOURS))):
        name = found.name(found.kind.tolist().index(kinds[kind]))
        axes.plot([], [], "o", color=COLOURS[kind], label=name)
    axes.set(xlabel="step", yticks=[], ylabel="demonstrations", ylim=(len(rows) - 0.4, -0.6))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        draw(dict(computed()))


if __name__ == "__main__":
    main()
