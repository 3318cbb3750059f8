"""The process of the command infoatlas-rt: Ctrl-C ends it with 130, also while it imports."""

import sys


def main() -> int:
    """Run the command on the arguments of the process; returns its exit code."""
    try:
        from .cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
