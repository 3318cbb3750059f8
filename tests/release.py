"""Build the files of a release and test them like a user: make dist.

    python tests/release.py [--out dist]

The script builds the sdist, and from it a wheel for each installed Python (3.12 and later share
one). It installs each wheel into a new environment and runs it in a folder outside the checkout:
`info`, `annotate` on a shipped example, and an estimate without and with ONNX Runtime. For the last
Python it also installs the sdist without a working compiler. Compilation of a wheel lasts a minute.
To use fewer Pythons: PYTHONS="python3.11 python3.12".
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = tuple(f"python3.{minor}" for minor in range(10, 15))
TOLERANCE = 1e-3  # nats between the engines, as docs/native.md says
DATA = ROOT / "examples" / "data" / "pickcube.npz"
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
# Users have neither paths of the checkout nor settings of its Makefile.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "INFOATLAS_ENGINE", "VIRTUAL_ENV")
}


def run(*command: str | Path, where: Path, code: int = 0, **environment: str) -> str:
    """Output of a command, including standard error; SystemExit if it ends with another code."""
    print("$", *command, flush=True)
    done = subprocess.run(
        list(map(str, command)),
        cwd=where,
        env={**ENVIRONMENT, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != code:
        raise SystemExit(f"{done.stdout}\nended with {done.returncode} instead of {code}")
    return done.stdout


def expect(text: str, *parts: str) -> None:
    """Exit unless a text contains all parts."""
    for part in parts:
        if part not in text:
            raise SystemExit(f"{text}\ndoes not say {part!r}")


def at_hand() -> list[str]:
    """Pythons that can be started."""
    names = os.environ.get("PYTHONS", " ".join(PYTHONS)).split()
    found = [
        name
        for name in names
        if shutil.which(name)
        and not subprocess.run([name, "-c", ""], capture_output=True).returncode
    ]
    if not found:
        raise SystemExit(f"none of {', '.join(names)} starts: set PYTHONS to one that does")
    return found


def check_tree() -> None:
    """SystemExit if the checkout has changes or files that are not committed."""
    changed = run("git", "status", "--porcelain", where=ROOT)
    if changed:
        raise SystemExit(f"{changed}commit or remove these: the sdist would contain them")


class Fresh:
    """A new environment in a folder outside the checkout."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "env" / "bin"
        folder.mkdir()
        run(python, "-m", "venv", "env", where=folder)

    def run(self, program: str, *arguments: str | Path, code: int = 0, **environment: str) -> str:
        """Output of a program of the environment."""
        return run(self.bin / program, *arguments, where=self.folder, code=code, **environment)

    def install(self, *what: str | Path, **environment: str) -> None:
        """Run pip install."""
        quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
        self.run("pip", "install", *quiet, *what, **environment)

    def estimate(self, provider: str) -> tuple[str, float]:
        """The provider that was used, and the estimate in nats."""
        printed = self.run("python", "-c", ESTIMATE, provider)  # a warning may come first
        used, value = printed.splitlines()[-1].split()
        return used, float(value)

    def annotate(self) -> None:
        """Annotate the shipped example, and check the written file."""
        shutil.copy(DATA, self.folder)
        written = self.run(
            "infoatlas-rt", "annotate", DATA.name, *ANNOTATE, "--out", "parts.csv"
        )  # fmt: skip
        expect(written, TABLE)
        if not (self.folder / "parts.csv").stat().st_size:
            raise SystemExit("parts.csv is empty")


def build(out: Path, pythons: list[str], scratch: Path) -> Path:
    """Build sdist and wheels in `out`; returns the path of the sdist."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, where=ROOT)
    (sdist,) = out.glob("*.tar.gz")
    for python in pythons:
        fresh = Fresh(python, scratch / f"build-{python}")
        tag = fresh.run("python", "-c", "import sys; print('cp3%d' % sys.version_info[1])").strip()
        if int(tag[3:]) > 12 and list(out.glob("*-cp312-abi3-*.whl")):
            continue
        quiet = ("--disable-pip-version-check", "--no-deps")
        printed = fresh.run("pip", "wheel", "-v", *quiet, "-w", "raw", sdist)
        (wheel,) = (fresh.folder / "raw").glob("*.whl")
        if "none-any" in wheel.name:
            raise SystemExit(f"{printed}\n{wheel.name} is without the C++ engine")
        here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        tool = (sys.executable, "-m", "auditwheel")
        run(*tool, "repair", "--wheel-dir", out, wheel, where=ROOT, PATH=here)
    for wheel in sorted(out.glob("*.whl")):
        print(run(sys.executable, "-m", "auditwheel", "show", wheel, where=ROOT))
    print(run(sys.executable, "-m", "twine", "check", "--strict", *out.iterdir(), where=ROOT))
    return sdist


def try_wheel(fresh: Fresh, out: Path, version: str) -> None:
    """Test the wheel without and then with ONNX Runtime."""
    given = ("--no-index", "--no-deps", "--find-links", out, "--only-binary", "infoatlas-rt")
    fresh.install(*given, f"infoatlas-rt=={version}")
    fresh.install(f"infoatlas-rt=={version}")  # the packages that it needs
    expect(fresh.run("infoatlas-rt", "info"), "ONNX Runtime is not installed", "the C++ engine")
    fresh.annotate()
    used, native = fresh.estimate("auto")
    expect(used, "native")
    fresh.install(f"infoatlas-rt[cpu]=={version}")
    expect(fresh.estimate("auto")[0], "native")
    used, cpu = fresh.estimate("cpu")
    expect(used, "cpu")
    if abs(native - cpu) > TOLERANCE:
        raise SystemExit(f"the engines differ: {native} and {cpu} nats")


def try_without_compiler(fresh: Fresh, sdist: Path) -> None:
    """Test the sdist without a compiler: only Python is installed, and a message reports it."""
    fresh.install(sdist, CC="/bin/false", CXX="/bin/false", PIP_NO_CACHE_DIR="1")
    expect(fresh.run("infoatlas-rt", "info"), "was not built", "ONNX Runtime is not installed")
    refused = fresh.run("infoatlas-rt", "bench", "--duration", "0.1", code=3)
    expect(refused, "'infoatlas-rt[cpu]'", "C++20 compiler")
    fresh.install("onnxruntime")
    expect(fresh.estimate("auto")[0], "cpu")
    fresh.annotate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out.resolve()
    check_tree()
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise SystemExit(f"{out} is not empty: choose another folder, or remove its files")
    pythons = at_hand()
    with tempfile.TemporaryDirectory(prefix="infoatlas-release-") as folder:
        scratch = Path(folder)
        sdist = build(out, pythons, scratch)
        version = sdist.name.removeprefix("infoatlas_rt-").removesuffix(".tar.gz")
        for python in pythons:
            try_wheel(Fresh(python, scratch / python), out, version)
        try_without_compiler(Fresh(pythons[-1], scratch / "no-compiler"), sdist)
    print("tried on", ", ".join(pythons), "and without a compiler:")
    print(*sorted(path.name for path in out.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
