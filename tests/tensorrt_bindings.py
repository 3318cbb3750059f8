"""The real Python bindings of TensorRT, TensorRT-RTX, pycuda and cuda-python, without a GPU.

    python tests/tensorrt_bindings.py      writes tests/tensorrt_api.json again

TensorRT-RTX is installed by the extra `dev`, with its libraries. PyPI has wheels of TensorRT's
bindings, but not its libraries. To import the bindings, the script creates libraries of these names
with empty functions. All files are in build/bindings, outside of any environment, so that `import
tensorrt` still fails without TensorRT.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "bindings"
RECORD = Path(__file__).with_name("tensorrt_api.json")

TENSORRT = {"10.3.0": "tensorrt_cu12_bindings", "11.4.0.106": "tensorrt_cu13_bindings"}
RTX = "1.7.1.116"  # of tensorrt-rtx-cu12-bindings
CUDA_BINDINGS = ("12.9.5", "13.0.3")
PYCUDA = ("2024.1", "2026.1")

# Classes of the bindings that a builder and a runtime use.
CLASSES = (
    "Builder", "EngineInspector", "IBuilderConfig", "ICudaEngine", "IExecutionContext",
    "IHostMemory", "ILayer", "ILogger", "INetworkDefinition", "IOptimizationProfile",
    "IProgressMonitor", "IRuntimeCache", "IRuntimeConfig", "ITimingCache", "OnnxParser",
    "ParserError", "Runtime",
)  # fmt: skip
ENUMS = (
    "BuilderFlag", "ComputeCapability", "CudaGraphStrategy", "DataType",
    "DynamicShapesKernelSpecializationStrategy", "ExecutionContextAllocationStrategy",
    "LayerInformationFormat",
    "MemoryPoolType", "NetworkDefinitionCreationFlag", "ProfilingVerbosity", "TensorIOMode",
    "TensorLocation",
)  # fmt: skip

STUB = "".join(
    f"void *{name}(void) {{ return 0; }}\n"
    for name in (
        "createInferBuilder_INTERNAL", "createInferRefitter_INTERNAL",
        "createInferRuntime_INTERNAL", "createNvOnnxParserRefitter_INTERNAL",
        "createNvOnnxParser_INTERNAL", "getBuilderPluginRegistry", "getNvOnnxParserVersion",
        "getPluginRegistry", "initLibNvInferPlugins",
    )
)  # fmt: skip

DESCRIBE = """
import importlib, json, sys
module, classes, enums = json.load(sys.stdin)
trt = importlib.import_module(module)
found = {"version": trt.__version__, "classes": {}, "enums": {}}
for name in classes:
    kind = getattr(trt, name, None)
    if kind is None:
        continue
    found["classes"][name] = {
        member: (getattr(kind, member).__doc__ or "").strip().split("\\n")[0]
        for member in sorted(dir(kind)) if not member.startswith("_")
    }
for name in enums:
    if hasattr(trt, name):
        found["enums"][name] = sorted(getattr(trt, name).__members__)
print(json.dumps(found))
"""


class Unavailable(Exception):
    """A requirement of the check is unavailable."""


def install(package: str, version: str, *others: str) -> Path:
    """A folder with a wheel and others that it needs, downloaded once."""
    folder = FOLDER / f"{package}-{version}"
    if not folder.exists():
        part = FOLDER / f"{folder.name}.{os.getpid()}"
        _pip("install", "--no-deps", "--target", str(part), f"{package}=={version}", *others)
        part.rename(folder)
    return folder


def pycuda_source(version: str) -> str:
    """The source of pycuda's module, whose compilation needs CUDA's toolkit."""
    archive = FOLDER / f"pycuda-{version}.tar.gz"
    if not archive.exists():
        _pip(
            "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
            "--dest", str(FOLDER), f"pycuda=={version}",
        )  # fmt: skip
    with tarfile.open(archive) as files:
        texts = [
            files.extractfile(name).read().decode("utf-8", "replace")  # type: ignore[union-attr]
            for name in files.getnames()
            if re.search(r"/(pycuda|src)/.*\.(py|cpp|hpp)$", name)
        ]
    return "\n".join(texts)


def tensorrt_folders(version: str) -> tuple[Path, Path]:
    """The bindings of a version of TensorRT, and libraries that allow importing them."""
    folder = install(TENSORRT[version], version)
    major = version.split(".")[0]
    stubs = FOLDER / f"stubs-{major}"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Unavailable("no C compiler for the libraries that the bindings link to")
    stubs.mkdir(parents=True, exist_ok=True)
    for library in ("nvinfer", "nvinfer_plugin", "nvonnxparser"):
        file = stubs / f"lib{library}.so.{major}"
        if not file.exists():
            flags = [*"-shared -fPIC -x c - -o".split(), str(file), f"-Wl,-soname,{file.name}"]
            subprocess.run([compiler, *flags], input=STUB, text=True, check=True)
    return folder, stubs


@functools.cache
def tensorrt_api(version: str) -> dict:
    """Names in the bindings of a version of TensorRT or TensorRT-RTX, as in `RECORD`."""
    if version == RTX:
        try:
            there = importlib.metadata.version("tensorrt-rtx-cu12-bindings")
        except importlib.metadata.PackageNotFoundError as error:
            raise Unavailable("TensorRT-RTX is not installed") from error
        if there != RTX:
            raise Unavailable(f"TensorRT-RTX {there} is installed")
        module, folders = "tensorrt_rtx_bindings", (ROOT,)
    else:
        module, folders = "tensorrt_bindings", tensorrt_folders(version)
    answer = python(DESCRIBE, *folders, text=json.dumps([module, CLASSES, ENUMS]))
    return json.loads(answer.replace(f"{module}.{module.removesuffix('_bindings')}.", ""))


def python(
    code: str, folder: Path, libraries: Path | None = None, text: str = "", path: Sequence[str] = ()
) -> str:
    """Output of a new Python process with a folder, and others, on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *path])}
    if libraries is not None:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, input=text, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _pip(command: str, *arguments: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    call = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check"]
    try:
        done = subprocess.run([*call, *arguments], text=True, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired as error:
        raise Unavailable("the package index does not answer") from error
    if done.returncode:
        raise Unavailable(f"{arguments[-1]} cannot be downloaded: {done.stderr[-300:]}")


if __name__ == "__main__":
    record = {version: tensorrt_api(version) for version in (*TENSORRT, RTX)}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
