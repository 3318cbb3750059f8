"""Where a user runs the package: a new environment, or an emulated Python for aarch64."""

import shutil
import sys
from pathlib import Path

from commands import QUIET, ROOT, expect, run

DATA = ROOT / "examples" / "data" / "pickcube.npz"
DEBIAN = {"3.11": "bookworm", "3.13": "trixie"}  # the release that has each Python
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCES = "deb [signed-by={keys}] http://deb.debian.org/debian {suite} main\n"
SETTINGS = """\
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Sandbox::User "";
Dir::State "{folder}";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}";
Dir::Etc "{folder}/etc";
"""
TABLE = "2 sub-tasks of 100 demonstrations"
ANNOTATE = ("--tool", "tool", "--object", "cube", "--object", "goal", "--rate", "20")
ESTIMATE = """
import sys
import numpy as np
from infoatlas_rt import estimate
x = np.random.default_rng(0).standard_normal((500, 3))
found = estimate(x, np.exp(x + 0.6 * x[::-1]), provider=sys.argv[1])
print(found.provider, found.mi)
"""

ENGINE = (
    "from infoatlas_rt import Estimator; print(Estimator(provider='native').backend._engine.target)"
)


class Place:
    """A Python in a folder outside the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def python(self, *arguments: str | Path, code: int = 0) -> str:
        """Output of Python."""
        raise NotImplementedError

    def command(self, *arguments: str | Path, code: int = 0) -> str:
        """Output of the command infoatlas-rt."""
        return self.python("-m", "infoatlas_rt", *arguments, code=code)

    def estimate(self, provider: str) -> tuple[str, float]:
        """The provider that was used, and the estimate in nats."""
        printed = self.python("-c", ESTIMATE, provider)  # a warning may come first
        used, value = printed.splitlines()[-1].split()
        return used, float(value)

    def expect_engine(self, target: str) -> None:
        """Check that the installed engine uses the best instructions of the processor."""
        expect(self.command("info"), "the C++ engine")
        expect(self.python("-c", ENGINE), target)

    def annotate(self) -> None:
        """Annotate the shipped example, and check the written file."""
        shutil.copy(DATA, self.folder)
        expect(self.command("annotate", DATA.name, *ANNOTATE, "--out", "parts.csv"), TABLE)
        if not (self.folder / "parts.csv").stat().st_size:
            raise SystemExit("parts.csv is empty")


class Fresh(Place):
    """A new environment."""

    def __init__(self, python: str, folder: Path) -> None:
        super().__init__(folder)
        self.bin = folder / "env" / "bin"
        run(python, "-m", "venv", "env", where=folder)

    def python(self, *arguments: str | Path, code: int = 0) -> str:
        return run(self.bin / "python", *arguments, where=self.folder, code=code)

    def command(self, *arguments: str | Path, code: int = 0) -> str:
        return run(self.bin / "infoatlas-rt", *arguments, where=self.folder, code=code)

    def install(self, *what: str | Path, **environment: str) -> None:
        """Run pip install."""
        run(self.bin / "pip", "install", *QUIET, *what, where=self.folder, **environment)


class Emulated(Place):
    """Debian's Python for aarch64, unpacked into a folder and run by qemu-aarch64."""

    def __init__(self, version: str, folder: Path) -> None:
        super().__init__(folder)
        self.version, self.root, self.site = version, folder / "root", folder / "site"
        for name in ("lists/partial", "archives/partial", "etc/preferences.d", "etc/apt.conf.d"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()  # nothing is installed, so all that Python needs is fetched
        sources = SOURCES.format(keys=KEYS, suite=DEBIAN[version])
        (folder / "etc" / "sources.list").write_text(sources)
        (folder / "apt.conf").write_text(SETTINGS.format(folder=folder))
        options = {"where": folder, "APT_CONFIG": str(folder / "apt.conf")}
        run("apt-get", "-q", "update", **options)
        # The wheels of NumPy need libstdc++6.
        what = ("--no-install-recommends", f"python{version}", "libstdc++6")
        run("apt-get", "-q", "--yes", "--download-only", "install", *what, **options)
        for package in (folder / "archives").glob("*.deb"):
            run("dpkg-deb", "-x", package, self.root, where=folder)
        if not (self.root / "lib").exists():  # from trixie on, packages have /usr/lib alone
            (self.root / "lib").symlink_to("usr/lib")

    def python(self, *arguments: str | Path, code: int = 0) -> str:
        python = self.root / "usr" / "bin" / f"python{self.version}"
        return run(
            "qemu-aarch64", "-L", self.root, python, *arguments,
            where=self.folder, code=code, PYTHONPATH=str(self.site),
        )  # fmt: skip

    def install(self, *what: str | Path) -> None:
        """Install wheels by this machine's pip, which selects those of the other architecture."""
        kinds = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 27, 28)]
        run(
            sys.executable, "-m", "pip", "install", *QUIET, "--target", self.site, *kinds,
            "--python-version", self.version, "--only-binary=:all:", *what, where=self.folder,
        )  # fmt: skip
