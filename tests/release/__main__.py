"""Build the files of a release and test them like a user: make dist.

The wheels are for x86-64 and aarch64, one for each Python up to 3.11 and one for 3.12 and later.
Each wheel is installed into a new environment outside the checkout and run there; those for aarch64
are run in an emulator where there is one. The sdist is installed without a working compiler, too.
To use fewer Pythons: PYTHONS="python3.11 python3.12".
"""

import shutil
import tempfile
from pathlib import Path

from commands import ROOT, check_tree
from users import try_all
from wheels import at_hand, build


def main() -> None:
    check_tree()
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    pythons = at_hand()
    with tempfile.TemporaryDirectory(prefix="infoatlas-release-") as folder:
        sdist = build(out, pythons, Path(folder))
        tried = try_all(out, sdist, pythons, Path(folder))
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")
    print("Tried with", *tried, sep="\n  ")


if __name__ == "__main__":
    main()
