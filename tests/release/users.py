"""What users do with the built files."""

import shutil
from pathlib import Path

from commands import ROOT, expect
from places import DEBIAN, KEYS, Emulated, Fresh

TOLERANCE = 1e-3  # nats between the engines, as docs/native.md says


def try_all(out: Path, sdist: Path, pythons: list[str], scratch: Path) -> list[str]:
    """Test all files; returns where they ran."""
    version = sdist.name.removeprefix("infoatlas_rt-").removesuffix(".tar.gz")
    for python in pythons:
        native = try_wheel(Fresh(python, scratch / Path(python).name), out, version)
    try_without_compiler(Fresh(pythons[-1], scratch / "no-compiler"), sdist)
    if not shutil.which("qemu-aarch64") or not KEYS.exists():
        return [*pythons, "no aarch64: Debian's qemu-user and debian-archive-keyring are missing"]
    for minor in DEBIAN:
        try_emulated(Emulated(minor, scratch / f"aarch64-{minor}"), out, version, native)
    return [*pythons, *(f"aarch64, emulated: python{minor}" for minor in DEBIAN)]


def try_wheel(fresh: Fresh, out: Path, version: str) -> float:
    """Test the wheel without and then with ONNX Runtime; returns the engine's estimate."""
    given = ("--no-index", "--no-deps", "--find-links", out, "--only-binary", "infoatlas-rt")
    fresh.install(*given, f"infoatlas-rt=={version}")
    fresh.install(f"infoatlas-rt=={version}")  # the packages that it needs
    expect(fresh.command("info"), "ONNX Runtime is not installed")
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fresh.expect_engine("avx512" if "avx512vl" in flags else "avx2" if "avx2" in flags else "")
    fresh.annotate()
    used, native = fresh.estimate("auto")
    expect(used, "native")
    fresh.install(f"infoatlas-rt[cpu]=={version}")
    expect(fresh.estimate("auto")[0], "native")
    used, cpu = fresh.estimate("cpu")
    expect(used, "cpu")
    compare(native, cpu)
    return native


def try_emulated(emulated: Emulated, out: Path, version: str, wanted: float) -> None:
    """Test the wheel for aarch64, also against the golden outputs of all models."""
    emulated.install("--find-links", out, f"infoatlas-rt=={version}", "pytest")
    emulated.expect_engine("neon")
    emulated.annotate()
    compare(emulated.estimate("native")[1], wanted)
    golden = ROOT / "tests" / "runtime" / "models" / "test_golden.py"
    printed = emulated.python("-m", "pytest", "-p", "no:cacheprovider", golden, "-k", "native")
    expect(printed, "3 passed")


def try_without_compiler(fresh: Fresh, sdist: Path) -> None:
    """Test the sdist without a compiler: only Python is installed, and a message reports it."""
    fresh.install(sdist, CC="/bin/false", CXX="/bin/false", PIP_NO_CACHE_DIR="1")
    expect(fresh.command("info"), "was not built", "ONNX Runtime is not installed")
    refused = fresh.command("bench", "--duration", "0.1", code=3)
    expect(refused, "'infoatlas-rt[cpu]'", "pip install --force-reinstall -v", sdist.name)
    fresh.install("onnxruntime")
    expect(fresh.estimate("auto")[0], "cpu")
    fresh.annotate()


def compare(found: float, wanted: float) -> None:
    """Exit if two engines' estimates differ by more than the tolerance."""
    if abs(found - wanted) > TOLERANCE:
        raise SystemExit(f"the engines differ: {found} and {wanted} nats")
