"""The real Python bindings of TensorRT and TensorRT-RTX, without a GPU.

    python tests/tensorrt_bindings.py      writes tests/tensorrt_api.json again

TensorRT-RTX is installed by the extra `dev`, with its libraries. PyPI has wheels of TensorRT's
bindings, but not its libraries. To import the bindings, the script creates libraries of these names
with empty functions. All files are in build/bindings, outside of any environment, so that `import
tensorrt` still fails without TensorRT.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "bindings"
RECORD = Path(__file__).with_name("tensorrt_api.json")

TENSORRT = {"10.3.0": "tensorrt_cu12_bindings", "11.4.0.106": "tensorrt_cu13_bindings"}
RTX = "1.7.1.116"  # of tensorrt-rtx-cu12-bindings

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


def tensorrt(version: str) -> tuple[Path, Path]:
    """The bindings of a version of TensorRT, and libraries that allow importing them."""
    folder, stubs = FOLDER / version, FOLDER / f"stubs-{version}"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, f"{TENSORRT[version]}=={version}"], check=True)
    stubs.mkdir(parents=True, exist_ok=True)
    for library in ("nvinfer", "nvinfer_plugin", "nvonnxparser"):
        file = stubs / f"lib{library}.so.{version.split('.')[0]}"
        flags = [*"-shared -fPIC -x c - -o".split(), str(file), f"-Wl,-soname,{file.name}"]
        subprocess.run(["cc", *flags], input=STUB, text=True, check=True)
    return folder, stubs


def tensorrt_api(version: str) -> dict:
    """Names in the bindings of a version of TensorRT or TensorRT-RTX, as in `RECORD`."""
    module = "tensorrt_rtx_bindings" if version == RTX else "tensorrt_bindings"
    folders = (FOLDER, FOLDER) if version == RTX else tensorrt(version)
    paths = dict(zip(("PYTHONPATH", "LD_LIBRARY_PATH"), map(str, folders), strict=True))
    answer = subprocess.run(
        [sys.executable, "-c", DESCRIBE], env={**os.environ, **paths},
        input=json.dumps([module, CLASSES, ENUMS]), text=True, stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip
    return json.loads(answer.replace(f"{module}.{module.removesuffix('_bindings')}.", ""))


if __name__ == "__main__":
    record = {version: tensorrt_api(version) for version in (*TENSORRT, RTX)}
    assert record[RTX]["version"] == RTX
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
