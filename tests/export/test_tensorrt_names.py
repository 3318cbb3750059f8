"""All names of TensorRT in the code exist in all supported versions.

TensorRT-RTX has nearly the same names; names of TensorRT-RTX only are listed.

Names in the code are found by its syntax, so that rarely used code is included. Names of the
libraries come from the recorded bindings (tests/tensorrt_api.json).
"""

import ast
import inspect
import json
import re
import types
from pathlib import Path

import pytest

import tensorrt_bindings as bindings
from fake_gpu import World, make_tensorrt
from infoatlas_export import engine_layers
from infoatlas_export.build_cli import BACKENDS
from infoatlas_rt.backends import tensorrt
from infoatlas_rt.backends.choice import PROVIDERS
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES
from infoatlas_rt.models.engine_file import BUILDERS

RECORD = json.loads(bindings.RECORD.read_text())
OURS, EXPORT = (Path(module.__file__).parent for module in (tensorrt, engine_layers))
PARTS = ("engine_builder.py", "inspection.py", "build_progress.py", "parser_check.py")
MODULES = [*OURS.glob("tensorrt*.py"), OURS / "cuda_device.py", *(EXPORT / part for part in PARTS)]
# Names of TensorRT-RTX only; the code first checks `Library.compiles` or `anywhere`.
RTX_ALONE = {
    "BuilderFlag": {"REQUIRE_USER_ALLOCATION"},
    "ComputeCapability": set(),  # members are looked up by name
    "CudaGraphStrategy": {"DISABLED"},
    "DynamicShapesKernelSpecializationStrategy": {"EAGER"},
    "IBuilderConfig": {"num_compute_capabilities", "set_compute_capability"},
    "ICudaEngine": {"create_runtime_config"},  # TensorRT 11 has it, too
    "IExecutionContext": {"is_stream_capturable"},
    "IRuntimeConfig": {
        "create_runtime_cache",
        "cuda_graph_strategy",
        "dynamic_shapes_kernel_specialization_strategy",
        "set_execution_context_allocation_strategy",
        "set_runtime_cache",
    },
}

# Classes of variables and attributes of these modules.
CLASS_OF = {
    "builder": "Builder", "cache": "ITimingCache", "config": "IBuilderConfig",
    "context": "IExecutionContext", "engine": "ICudaEngine", "_engine": "ICudaEngine",
    "fault": "ParserError", "inspector": "EngineInspector", "layer": "ILayer",
    "settings": "IRuntimeConfig",
    "network": "INetworkDefinition", "optimization": "IOptimizationProfile",
    "parser": "OnnxParser", "_runtime": "Runtime",
}  # fmt: skip
NOT_TENSORRT = {
    "engine": {"library", "version", "gpu", "compute_capability", "difference", "profiles"}
}


def used_names(source: str) -> set[tuple[str, str]]:
    """(class or enumeration, member) of TensorRT; the class is "" for names of its module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Attribute) or node.attr in ("__init__", "__members__"):
            continue
        owner = node.value
        name = getattr(owner, "id", getattr(owner, "attr", None))
        if name == "trt":
            found.add(("", node.attr))
        elif isinstance(owner, ast.Attribute) and getattr(owner.value, "id", "") == "trt":
            found.add((owner.attr, node.attr))
        elif name in CLASS_OF and node.attr not in NOT_TENSORRT.get(name, ()):
            found.add((CLASS_OF[name], node.attr))
    return found


def of_rtx_alone(kind: str, name: str) -> bool:
    return name in RTX_ALONE.get(kind, ()) or (kind == "" and name in RTX_ALONE)


def missing(names: set[tuple[str, str]], version: str) -> set[str]:
    """Names that a version lacks; those of `RTX_ALONE` count for TensorRT-RTX only."""
    api = RECORD[version]
    if version != bindings.RTX:
        names = {name for name in names if not of_rtx_alone(*name)}
    known = {"__version__": (), **api["classes"], **api["enums"]}
    return {
        f"{kind}.{name}".removeprefix(".")
        for kind, name in names
        if (name not in known if kind == "" else name not in known.get(kind, (name,)))
    }


@pytest.fixture(scope="module")
def names():
    texts = [path.read_text() for path in MODULES]
    texts.append(inspect.getsource(engine_layers.network_types))
    return set().union(*map(used_names, texts))


@pytest.mark.parametrize("version", RECORD)
def test_names_that_the_code_uses_exist(names, version):
    assert len(names) > 60  # names are found at all
    assert missing(names, version) == set()


def test_names_of_rtx_alone_are_those():
    """They exist in TensorRT-RTX, and not in the oldest TensorRT."""
    oldest, rtx = ({**RECORD[v]["classes"], **RECORD[v]["enums"]} for v in ("10.3.0", bindings.RTX))
    for kind, members in RTX_ALONE.items():
        assert members <= set(rtx[kind])
        assert kind not in oldest or not members & set(oldest[kind])


@pytest.mark.parametrize("version", RECORD)
def test_the_model_of_tensorrt_has_no_names_of_its_own(version):
    """Classes of the model have the names and arguments of the real bindings."""
    api = RECORD[version]
    fake = make_tensorrt(World(version=version))
    own = {"load", "test"}  # private names within the models
    for name, kind in vars(fake).items():
        if name in api["enums"]:
            assert sorted(kind.__members__) == api["enums"][name]
            continue
        if not inspect.isclass(kind):
            continue
        for member, value in vars(kind).items():
            if member.startswith("_") or member in own:
                continue
            assert member in api["classes"][name], f"{name}.{member}"
            signature = api["classes"][name][member]
            if isinstance(value, types.FunctionType) and "*args" not in signature:
                wanted = re.findall(r"(?:^|\(|, )(\w+):", signature)
                assert list(inspect.signature(value).parameters) == wanted, signature


def test_names_of_libraries_agree():
    assert set(BUILDERS) == set(LIBRARIES) == set(BACKENDS.values()) < set(PROVIDERS)
