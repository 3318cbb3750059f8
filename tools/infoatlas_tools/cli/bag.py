"""The command bag: the curve of one robot's stream in a ROS bag, its extrema, couplings, lags."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from infoatlas_rt.cli.arguments import Target, add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import progress, write_json
from infoatlas_rt.errors import InputError

from .recording_arguments import Once, add_extrema, add_plot, add_resolution, add_topic, check_bag

HELP = "mutual information of one robot's stream in a ROS bag; of two topics also couplings"
DESCRIPTION = (
    "Estimate mutual information along one robot's stream in a ROS bag, and find extrema. "
    "With two topics, also find couplings: times at which their motions begin and stop to depend "
    "on each other; and, with --lags, at which lag velocities and forces do. ROS is not "
    "needed."
)
EXAMPLES = (
    "bag pick_bag --topic /joint_states",
    "bag pick_bag --topic /tool_pose --with-topic /cube_pose --plot bag.png",
    "bag pick_bag --topic /cube_pose --with-topic /wrench --lags 0.5",
    "bag pick_bag --clock",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "data", metavar="BAG", help="a ROS bag: its folder, or a .mcap, .db3 or .bag file"
    )
    add_plot(parser)
    add_json(parser)
    parser.add_argument(
        "--csv",
        action=Target,
        metavar="FILE",
        help="table of estimates, extrema and couplings in order of time (lags: --json)",
    )
    group = parser.add_argument_group("part of the bag")
    group.add_argument(
        "--start",
        type=float,
        default=0.0,
        metavar="S",
        help="first second to read, counted from the first message by the stamps",
    )
    group.add_argument(
        "--duration", type=float, metavar="S", help="seconds to read (default: to the end)"
    )
    group = parser.add_argument_group("messages")
    add_topic(group)
    add_resolution(group)
    group = parser.add_argument_group("two topics")
    group.add_argument(
        "--with-topic",
        action=Once,
        metavar="TOPIC",
        help="estimate I(topic; past of this one), paired by stamps, and detect couplings",
    )
    group.add_argument(
        "--with-field", action="append", metavar="FIELD", help="as --field, for that topic"
    )
    group.add_argument(
        "--sync-tolerance",
        type=float,
        default=0.02,
        metavar="S",
        help="largest difference between the stamps of a pair, seconds",
    )
    group.add_argument(
        "--coupling-resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="smallest motion within a step that the sensors resolve, for both topics or for each "
        "(default: estimated for each coordinate from its noise at rest)",
    )
    group.add_argument(
        "--lags",
        type=float,
        metavar="S",
        help="also compare velocities and forces of both topics at lags of up to S "
        "seconds, of both signs",
    )
    group.add_argument(
        "--clock",
        action="store_true",
        help="only measure by how much each topic that moves follows each other one, by stamps and "
        "by arrival: images, joints, poses, forces, commands. No topic is named then",
    )
    group = parser.add_argument_group("window and extrema")
    group.add_argument(
        "--lag",
        type=int,
        help="steps between a state and its past (default: the steps in --lag-seconds, by the "
        "first stamps; without that option 2, or 0 for two topics)",
    )
    group.add_argument(
        "--lag-seconds",
        type=float,
        metavar="S",
        help="duration of --lag steps, seconds; past states are looked up by time stamp, so lost "
        "messages do not change the lag",
    )
    group.add_argument("--window", type=int, default=100, help="length of the window, steps")
    group.add_argument(
        "--every",
        type=int,
        metavar="N",
        help="an estimate for each Nth pair; 1: for all. Default: all up to 1500 messages, else a "
        "grid of about 1500 estimates. In a recording longer than 75 times --delay, the grid has "
        "10 estimates within --delay",
    )
    group.add_argument(
        "--rate-limit",
        type=float,
        metavar="HZ",
        help="most estimates per second of stamps, instead of that grid; 0: no limit",
    )
    group.add_argument(
        "--reset-after",
        type=float,
        default=1.0,
        metavar="S",
        help="the window is emptied when stamps jump back by more than this, seconds",
    )
    add_extrema(group, 2.0, "seconds within which an extremum is reported")
    add_estimator(parser)


def run(arguments: Namespace) -> None:
    from ..bags.bag_analysis import analyse_bag
    from ..bags.part_samples import Part
    from .bag_text import print_bag, print_clocks

    check_bag(arguments.data)
    if arguments.clock:
        from ..bags.bag_clocks import bag_clocks

        if arguments.topic or arguments.with_topic or arguments.plot or arguments.csv:
            raise InputError(
                "--clock compares all topics, and prints or writes --json: leave --topic, "
                "--with-topic, --plot and --csv out"
            )
        with progress("clocks") as advance:
            clocks = bag_clocks(arguments.data, advance)
        if not write_json(arguments.json, clocks):
            print_clocks(clocks)
        return
    names = (
        "joints with_topic lag lag_seconds window every rate_limit resolution sync_tolerance "
        "coupling_resolution lags reset_after z delay"
    )
    with progress("bag") as advance:
        curve = analyse_bag(
            arguments.data,
            arguments.topic,
            make_estimator(arguments),
            fields=arguments.field,
            with_fields=arguments.with_field,
            part=Part(arguments.start, arguments.duration),
            progress=advance,
            **{name: getattr(arguments, name) for name in names.split()},
        )
    if arguments.plot:
        from ..plots.stream_plot import stream_figure

        stream_figure(curve, title=Path(arguments.data).name).savefig(arguments.plot)
    if arguments.csv:
        curve.write_csv(arguments.csv)
    result = curve.to_dict()
    if not write_json(arguments.json, result):
        print_bag(result, arguments.plot, arguments.csv)
