"""The command estimate: mutual information of two files of paired samples."""

from argparse import ArgumentParser, Namespace

from infoatlas_rt.cli.arguments import add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import write_json

from .recording_arguments import add_pairs

HELP = "mutual information of two files of paired samples"
DESCRIPTION = (
    "Estimate the mutual information of two files of paired samples. All numeric columns of a "
    "table are coordinates, except the index that pandas writes without a name. The output names "
    "columns that look like counters, times or labels of demonstrations."
)
EXAMPLES = ("estimate x.npy y.npy",)


def add_arguments(parser: ArgumentParser) -> None:
    add_pairs(parser, "the standard error is wider")
    add_json(parser)
    add_estimator(parser)


def run(arguments: Namespace) -> None:
    from ..files.load import load_pairs

    x, y, dropped, notes = load_pairs(arguments.x, arguments.y, drop_missing=arguments.drop_missing)
    result = make_estimator(arguments).estimate(x, y, time_series=arguments.time_series)
    content = {**result.to_dict(), "dropped": dropped, "notes": [*notes, *result.notes]}
    if not write_json(arguments.json, content):
        print(result)
        if result.directions == "random":
            print(
                "A sliced value can be compared only with those of data with as many coordinates "
                "and the same redundancy (copies, sums)."
            )
        for text in notes:
            print(text)
        if dropped:
            print(f"Dropped: {dropped} pairs with a missing value")
