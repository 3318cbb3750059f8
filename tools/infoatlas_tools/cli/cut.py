"""The command cut: finds the executions in long recordings, and writes them as demonstrations."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from infoatlas_rt.cli.arguments import add_json
from infoatlas_rt.cli.console import progress, table, write_json

from .recording_arguments import (
    DATA_SET,
    add_description,
    add_loading,
    add_plot,
    add_topic,
    opened,
    options_named,
    parse_labels,
)

HELP = "one long recording, divided into its executions"
DESCRIPTION = (
    "Find the executions of a task that a recording contains one after another, and write each as "
    "a demonstration. The recording is not changed."
)
EXAMPLES = (
    "cut my_dataset --out my_dataset_cut",
    "cut long.npz --label 0:start=75,end=400 --json cuts.json --plot cuts.png",
)


def add_arguments(parser: ArgumentParser) -> None:
    what = f"{DATA_SET}. Or a ROS bag, or a folder of bags. Demonstrations in it are searched alone"
    parser.add_argument("data", metavar="RECORDING", help=what)
    out = "data set of LeRobot v3.0, robomimic or Isaac Lab, as RECORDING is; or an .npz of states"
    parser.add_argument("--out", metavar="COPY", help=f"{out}: an execution is a demonstration")
    parser.add_argument(
        "--label",
        action="append",
        metavar="DEMO:STEPS",
        help="an execution that you marked, as 0:start=75,end=400 (more as start 2, end 2), or a "
        ".json file that infoatlas-rt label wrote. Others then begin at its pose",
    )
    add_loading(parser)
    add_description(parser, stride=False)
    add_plot(parser, "picture with a row for each execution")
    add_json(parser)
    add_topic(parser.add_argument_group("ROS bags"))


def run(arguments: Namespace) -> None:
    from ..cut.executions import find_executions
    from ..cut.writing import write_cut
    from ..trajectories import episode_names

    with options_named(), progress("executions"):
        recording = opened(arguments, one_bag=True)
        if arguments.out:
            write_cut(recording, None, Path(arguments.out))
        given = recording.trajectories
        labels = parse_labels(arguments.label or [], episode_names(given))
        cuts = find_executions(given, labels=labels)
    if arguments.plot:
        from ..plots.cut_plot import cut_figure

        cut_figure(cuts, given, title=Path(arguments.data).stem).savefig(arguments.plot)
    left = write_cut(recording, cuts, Path(arguments.out)) if arguments.out else []
    about = {"data": str(arguments.data), "written": arguments.out, "not_written": left}
    if write_json(arguments.json, {**about, **cuts.to_dict()}):
        return
    unsure = {True: "", False: " ?"}
    rows = [
        (
            *(str(number), own.episode),
            cuts.seconds(own.start) + unsure[own.sure_start],
            cuts.seconds(own.end) + unsure[own.sure_end],
            cuts.seconds(own.end - own.start),
            own.remark,
        )
        for number, own in enumerate(cuts.executions)
    ]
    columns = ("", "in", "start", "end", "length", "unlike the others")
    table("Executions (?: look at this border, it is less sure)", columns, rows)
    print(cuts)
    for text in left:
        print(f"Left out: {text}.")
    written = (
        f"Written: {arguments.out}" if arguments.out else "No data are written: pass --out COPY"
    )
    print(written, *[f"Picture: {arguments.plot}"] * bool(arguments.plot), sep="\n")
