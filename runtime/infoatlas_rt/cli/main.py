"""The command infoatlas-rt: its subcommands and exit codes.

Results go to stdout, progress to stderr. EXIT_CODES lists the codes; `__main__.py` returns that of
Ctrl-C. Code 2 includes all errors that are found before the computation, as a missing package.

A command is a module with HELP (one line), DESCRIPTION (sentences), EXAMPLES (command lines),
`add_arguments(parser)` and `run(arguments)`, which raises errors of `infoatlas_rt.errors`. It may
have REQUIRES, the names of modules that come with the extra of the command's name. Packages add
commands as entry points of GROUP. Slow imports are within `run`: --help imports all these modules.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from os.path import isfile, realpath
from typing import Any

from .. import __version__
from ..errors import InfoAtlasError, InputError, OutputError
from ..installation import install_again
from . import bench, info
from .arguments import HelpFormatter, format_list
from .console import drop_output, open_output

OWN = {"bench": bench, "info": info}  # commands that every installation has
ORDER = (
    *("cut", "keystates", "label", "annotate", "curve", "bag", "estimate", "test"),
    *("bench", "info", "build", "export"),
)
GROUP = "infoatlas_rt.commands"  # of entry points
WRITTEN = {"json", "plot", "save", "report", "out"}  # options with a file to write
DESCRIPTION = (
    "Key states of robot demonstrations, and mutual information at control-loop rate. Results go "
    "to stdout, progress to stderr. Information is in nats."
)
EXIT_CODES = {
    0: "success",
    1: "the result cannot be written, as on a full disk",
    2: "wrong usage or input, a path where nothing can be written, or a missing package",
    3: "a model or a provider that cannot be used",
    130: "ended by Ctrl-C; label, which only Ctrl-C ends, returns 0",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command on `argv`, or on the arguments of the process; returns its exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)

    def run() -> None:
        commands = load_commands(*argv[:1])
        arguments = make_parser(commands).parse_args(argv)
        check_packages(argv[0], commands[argv[0]])
        own = {k: v for k, v in vars(arguments).items() if isinstance(v, str) and "\0" not in v}
        files = {k: realpath(v) for k, v in own.items() if k in WRITTEN or isfile(v)}
        for option in WRITTEN & files.keys():
            if others := {k for k in files if k != option and files[k] == files[option]}:
                how = "written" if others <= WRITTEN else "read"
                raise InputError(f"--{option} {files[option]} is {how}, too: name another file")
        arguments.run(arguments)
        if (getattr(arguments, "json", None) or "-") != "-":
            print(f"JSON: {arguments.json}")

    return exit_code(run)


def exit_code(run: Callable[[], object], name: str = "infoatlas-rt", resume: str = "") -> int:
    """Run the command of this name and return its exit code, as in EXIT_CODES.

    An error is printed in one line; after Ctrl-C, the line has the way to `resume`.
    """

    def fail(error: Exception | str, code: int) -> int:
        print(f"{name}:", *str(error).split(), file=sys.stderr)  # names may contain line breaks
        return code

    try:
        open_output()
        try:
            run()
            return 0
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"interrupted{resume and ': '}{resume}", file=sys.stderr)
        return 130
    except InfoAtlasError as error:
        other = 1 if isinstance(error, OutputError) else 3
        return fail(error, 2 if isinstance(error, InputError) else other)
    except ModuleNotFoundError as error:  # packages that are known name their extra
        if (error.name or "").startswith("infoatlas_"):
            raise  # a fault of this project
        return fail(f"{error}: install that package in this environment ({sys.prefix})", 2)
    except BrokenPipeError:  # stdout was closed, as by head
        drop_output()
        return 0
    except OSError as error:  # not from input files: their readers raise InputError
        drop_output()
        return fail(f"the result cannot be written ({error})", 1)


def load_commands(chosen: str = "") -> dict[str, Any]:
    """Modules of commands: the chosen one, or all in the order of the help if there is none."""
    if chosen in OWN:
        return {chosen: OWN[chosen]}
    from importlib.metadata import entry_points

    found = {
        entry.name: entry
        for entry in entry_points(group=GROUP)
        if find_spec(entry.module.partition(".")[0]) is not None
    }
    if chosen in found:
        return {chosen: found[chosen].load()}
    if chosen in ORDER:
        raise InputError(f"{chosen} is not part of this installation: {install_again()}")
    modules: dict[str, Any] = {**OWN, **{name: entry.load() for name, entry in found.items()}}
    names = [*(name for name in ORDER if name in modules), *sorted(modules.keys() - set(ORDER))]
    return {name: modules[name] for name in names}


def check_packages(chosen: str, module: Any) -> None:
    """Raise InputError if a package of the command is not installed."""
    for needed in getattr(module, "REQUIRES", ()):
        if find_spec(needed) is None:
            raise InputError(
                f"{chosen} needs more than the runtime (No module named {needed!r}): "
                f"pip install 'infoatlas-rt[{chosen}]'"
            )


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here: argparse would print the usage without a command's."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            near = get_close_matches(left[0].partition("=")[0], self._option_string_actions, 1)
            hint = f" (is it {near[0]}?)" if near else ""
            self.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return found, left

    def _print_message(self, message: str, file: Any = None) -> None:
        """Report a full disk, which argparse ignores."""
        if message and file is not None:
            file.write(message)


def make_parser(commands: Mapping[str, Any]) -> argparse.ArgumentParser:
    """The parser for commands, which are given as modules by name."""
    parser = _Parser(
        prog="infoatlas-rt",
        description=DESCRIPTION,
        epilog=format_list("exit codes", [f"{code}: {text}" for code, text in EXIT_CODES.items()]),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"infoatlas-rt {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in commands.items():
        sub = subparsers.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            epilog=format_list("examples", [f"infoatlas-rt {line}" for line in module.EXAMPLES]),
            formatter_class=HelpFormatter,
            allow_abbrev=False,  # --episode would be --episode-column
        )
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
