"""The wheel of `make build/native/ready` contains everything in one distribution."""

import subprocess
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import infoatlas_rt

ROOT = Path(__file__).parents[2]
# Folder of the checkout -> folder in the wheel.
PACKAGES = {
    "runtime/infoatlas_rt": "infoatlas_rt",
    "runtime/native/infoatlas_native": "infoatlas_native",
    "train/infoatlas_train": "infoatlas_train",
    "train/checkpoints": "infoatlas_train/checkpoints",
    "export/infoatlas_export": "infoatlas_export",
    "tools/infoatlas_tools": "infoatlas_tools",
}


@pytest.fixture(scope="module")
def wheel():
    (path,) = (ROOT / "build" / "native" / "wheel").glob("infoatlas_rt-*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def metadata(wheel: zipfile.ZipFile, name: str) -> Message:
    return Parser().parsestr(wheel.read(f"{folder(wheel)}/{name}").decode())


def folder(wheel: zipfile.ZipFile) -> str:
    return f"infoatlas_rt-{infoatlas_rt.__version__}.dist-info"


def test_all_packages_checkpoints_and_the_engine(wheel):
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, text=True, capture_output=True
    )
    if listed.returncode:
        pytest.skip("no git repository")
    wanted = set()
    for path in filter(lambda path: (ROOT / path).exists(), listed.stdout.split()):
        (source,) = (source for source in PACKAGES if path.startswith(f"{source}/"))
        wanted.add(PACKAGES[source] + path.removeprefix(source))
    found = {name for name in wheel.namelist() if not name.startswith(f"{folder(wheel)}/")}
    (engine,) = found - wanted
    assert engine.startswith("infoatlas_native/_engine.")
    assert not wanted - found


def test_commands_licences_and_tag(wheel):
    entries = wheel.read(f"{folder(wheel)}/entry_points.txt").decode()
    for line in (
        "infoatlas-rt = infoatlas_rt.__main__:main",
        "build = infoatlas_export.build_cli",
        "export = infoatlas_export.stages",
    ):
        assert line in entries
    licences = [name for name in wheel.namelist() if "/licenses/" in name]
    assert any(name.endswith("/LICENSE") for name in licences)
    for linked in ("nanobind", "robin-map"):
        assert any(name.endswith(f"/{linked}.txt") for name in licences)
    about = metadata(wheel, "WHEEL")
    assert about["Root-Is-Purelib"] == "false" and "none-any" not in about["Tag"]


def test_numpy_and_array_api_compat_are_all_that_it_needs(wheel):
    required = metadata(wheel, "METADATA").get_all("Requires-Dist")
    always = {line.split(">=")[0] for line in required if "extra ==" not in line}
    assert always == {"numpy", "array-api-compat"}
