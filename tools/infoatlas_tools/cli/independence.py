"""The command test: a permutation test of independence, with a picture of its null."""

from argparse import ArgumentParser, Namespace

from infoatlas_rt.cli.arguments import add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import progress, table, write_json

from .recording_arguments import add_pairs, add_plot

HELP = "permutation test of independence of two files of paired samples"
DESCRIPTION = "Test whether two files of paired samples are independent, by permutations."
EXAMPLES = ("test x.csv y.csv --permutations 999 --plot null.png",)


def add_arguments(parser: ArgumentParser) -> None:
    shifted = "y is shifted cyclically instead; both series have to be stationary, and much longer"
    add_pairs(parser, f"{shifted} than their autocorrelation")
    parser.add_argument(
        "--permutations",
        type=int,
        default=199,
        help="permuted pairings; with 199 the smallest p-value is 0.005",
    )
    add_plot(parser, "picture of the estimates of permuted pairings")
    add_json(parser)
    add_estimator(parser)


def run(arguments: Namespace) -> None:
    import numpy as np

    from infoatlas_rt.estimation.result import SIMILAR_ROWS

    from ..analysis.independence import independence_test
    from ..files.load import load_pairs

    x, y, dropped, notes = load_pairs(arguments.x, arguments.y, drop_missing=arguments.drop_missing)
    with progress("test") as advance:
        result = independence_test(
            x,
            y,
            make_estimator(arguments),
            permutations=arguments.permutations,
            time_series=arguments.time_series,
            progress=lambda done, total: advance(done / total),
        )
    if arguments.plot:
        from ..plots.null_plot import null_figure

        null_figure(result).savefig(arguments.plot)
    notes += (SIMILAR_ROWS,) * result.autocorrelated
    content = {"x": arguments.x, "y": arguments.y, **result.to_dict()}
    content |= {"dropped": dropped, "notes": list(notes)}
    if write_json(arguments.json, content):
        return
    nulls, count = (result.null, result.null_rv), len(result.null)
    how = "unsliced" if result.k is None else f"{result.slices} slices of {result.k} dimensions"
    reached = round(result.p_value * (1 + count)) - 1
    rows = [("given pairing", f"{result.mi:.4f}", f"{result.rv:.4f}")]
    for name, q in (("median", 0.5), ("95% quantile", 0.95)):
        mi, rv = (f"{np.quantile(null, q):.4f}" for null in nulls)
        rows.append((f"{name} of {count} {result.method}s", mi, rv))
    table(
        f"Are {arguments.x} and {arguments.y} independent? ({result.samples} samples, {how})",
        ("", "mutual information, nats", "RV coefficient"),
        rows,
    )
    for text in notes:
        print(text)
    if dropped:
        print(f"Dropped: {dropped} pairs with a missing value")
    if result.degenerate:
        print("A side is constant: nothing can depend on it.")
    if count < arguments.permutations:
        print(f"A series of {result.samples} has {count} circular shifts.")
    print(f"By the more unusual of the two, {reached} of {count} reach the given pairing: ", end="")
    print(f"p {'=' if reached else 'is at most'} {result.p_value:.3g}")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")
