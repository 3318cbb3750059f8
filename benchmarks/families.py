"""Accuracy on hand-made families that are not used in training, beside three classical estimators.

python -m benchmarks.families           # -> results/families.*, and one page for each other set
"""

from collections.abc import Sequence
from typing import Any

from . import intervals, measure, report
from .peers import CLASSICAL
from .report import number
from .tasks import Case, Collection
from .tasks.blind import BLIND
from .tasks.blind_second import BLIND_SECOND
from .tasks.hand_made import HAND_MADE
from .tasks.more_families import MORE
from .tasks.unseen import UNSEEN

SIZES = (100, 1000)


COLLECTIONS = (HAND_MADE, MORE, UNSEEN, BLIND, BLIND_SECOND)


def cases(collection: Collection, sizes: Sequence[int], draws: int) -> list[Case]:
    made = []
    for family in collection.families:
        x, y = family.draw(2, 0)
        label = {"family": family.name, "kind": family.kind, "set": collection.set}
        label |= {"dx": x.shape[1], "dy": y.shape[1]}
        series = family.kind == "process"
        made += [
            Case(label, family.truth, n, draws, lambda i, f=family, n=n: f.draw(n, i), series)
            for n in sizes
        ]
    return made


def page(
    collection: Collection, about: dict[str, Any], rows: list[measure.Row], sizes: Sequence[int]
) -> str:
    """All results as Markdown."""
    draws = max(len(row.estimates) for row in rows)
    described = {f.name: f.description for f in collection.families}
    parts = [
        f"# {collection.title}",
        f"A {collection.set} set of {len(described)} families of known mutual information, with "
        f"{draws} draws of each. All estimators get the same samples. {collection.about}",
        report.byline(about),
        "## Over all families",
        "Mean absolute bias: |mean over draws - truth|, averaged over families. Spread: standard "
        "deviation over draws, averaged over families. Smallest bias on: number of families on "
        "which the estimator has the smallest absolute bias.",
        summary(rows),
        intervals.section(rows, sizes, lambda row: row.label["family"]),
        "## By kind of family",
        "Absolute bias, averaged over the families of a kind.",
        measure.grid(
            rows, ["n", "estimator"], "kind", lambda own: number(measure.mean_absolute_bias(own))
        ),
    ]
    words = "Mean over draws ± spread; the smallest absolute bias in bold."
    for n in reversed(sizes):
        parts += [
            f"## All families, n = {n}",
            words,
            measure.by_label(measure.pick(rows, n=n), "family"),
        ]
    parts += [
        "## Definitions",
        "Sides: numbers of coordinates of x and y.",
        measure.figures(
            rows,
            ["family"],
            {
                "sides": lambda own: f"{own[0].label['dx']} + {own[0].label['dy']}",
                "truth": lambda own: number(own[0].truth),
                "definition": lambda own: described[own[0].label["family"]],
            },
        ),
    ]
    return "\n\n".join(parts)


def summary(rows: list[measure.Row]) -> str:
    columns = {
        "mean abs. bias": lambda own: number(measure.mean_absolute_bias(own)),
        "spread": measure.mean_spread,
        "smallest bias on": measure.ahead(rows, "family"),
        "time": measure.mean_time,
    }
    return measure.figures(rows, ["n", "estimator"], columns)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 draws, n = 100", several=True)
    chosen = parser.parse_args(arguments)
    sizes, draws = ([100], 2) if chosen.quick else (SIZES, 20)
    estimators = measure.load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    for c in COLLECTIONS:
        drawn = cases(c, sizes, draws)
        rows = measure.measure(c.title, drawn, estimators, CLASSICAL)
        print(summary(rows))
        text = page(c, about, rows, sizes)
        report.save(chosen.out, c.name, about, measure.as_json(rows), text)


if __name__ == "__main__":
    main()
