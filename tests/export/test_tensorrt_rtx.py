"""Engines from the real builder of TensorRT-RTX, which needs no GPU."""

import dataclasses
import re
import shutil
import sys

import onnx
import pytest

pytest.importorskip("tensorrt_rtx_bindings", reason="the extra tensorrt-rtx is not installed")

from command_line import answer, printed
from infoatlas_export import engine_layers, fp16, tensorrt
from infoatlas_export.engine_builder import BUILDING, make
from infoatlas_export.onnx import sealed
from infoatlas_export.targets import make_profiles
from infoatlas_export.tensorrt import build
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import EngineFile, read
from refusals import refuses

FIXED = "slices=40,samples=100"
RANGE = "slices=1:40:64,samples=32:100:512"
RTX = {"library": "tensorrt-rtx"}
ONE = {**RTX, "compute_capabilities": ["8.9"]}  # builds faster


def with_vector(content):
    """A graph of earlier files, with a vector times a batch of matrices."""
    proto = onnx.load_from_string(content)
    made = {name: node for node in proto.graph.node for name in node.output}
    product = next(
        node
        for node in proto.graph.node
        if node.name.endswith("solve_readout/MatMul_1") and node.op_type == "MatMul"
    )
    row = made[product.input[0]]
    first = next(n for n in proto.graph.node if product.output[0] in n.input)
    assert (row.op_type, first.op_type) == ("Unsqueeze", "Gather")
    product.input[0], product.output[0] = row.input[0], first.output[0]
    proto.graph.node.remove(first)
    onnx.checker.check_model(proto, full_check=True)
    return sealed(proto)


def test_an_engine_that_lost_its_slices_is_refused(tmp_path):
    path = tmp_path / "vector.onnx"
    path.write_bytes(with_vector(model_file.load("edge").bytes))
    with pytest.raises(ModelError, match=r"Reshaping \[40,1,62\] to \[1,62\]"):
        build(path, tmp_path / "a.engine", profiles=[FIXED], **RTX)
    assert not list(tmp_path.glob("a.engine*"))


def test_a_workspace_that_is_too_small(tmp_path):
    with pytest.raises(ModelError, match=r"in a workspace of 1048576 bytes.*leave out --workspace"):
        build("edge", tmp_path / "a.engine", profiles=[FIXED], workspace=2**20, **ONE)


def test_an_exception_of_progress_cancels_the_real_builder(tmp_path):
    def interrupt(share):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build("edge", tmp_path / "a.engine", profiles=[RANGE], progress=interrupt, **ONE)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An engine for a range, and what the builder returned; one thread builds at a time."""
    path, shares, returned = tmp_path_factory.mktemp("engine") / "a.engine", [], []

    def follow(share):
        assert share == 1 or BUILDING.locked()
        shares.append(share)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensorrt, "make", lambda *given: returned.append(make(*given)) or returned[0])
        found = build("edge", path, profiles=[RANGE], progress=follow, **RTX)
    assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)
    return found, returned[0]


@pytest.fixture
def ranged(built):
    return built[0]


@pytest.fixture
def made(built):
    return built[1]


def test_an_engine_allocates_nothing_while_it_runs(ranged):
    """Otherwise the largest tensors of this range, 7.4 GB, would not count."""
    assert max(ranged.engine.memory) > 2e10


def test_an_engine_that_fits_is_kept(ranged):
    for profiles in ([RANGE], ["samples=32:100:512,slices=1:40:64"]):
        for capabilities in ((), ("8.9",), ("12.0", "8.0")):
            asked = {"profiles": profiles, "compute_capabilities": capabilities}
            found = build("edge", ranged.path, **asked, **RTX)
            assert (found.reason, found.engine, found.layers) == ("", ranged.engine, None)


NOT_COMPARED = {"model", "memory", "metadata", "tensors", "engine_sha256"}


def test_all_that_an_engine_was_built_for_is_compared(ranged, monkeypatch):
    seen = {}

    def fitting(path, wanted):
        seen.update(wanted)
        return ranged.engine, ""

    monkeypatch.setattr(tensorrt, "fitting", fitting)
    build("edge", ranged.path, profiles=[RANGE], **RTX)
    fields = {field.name for field in dataclasses.fields(EngineFile)}
    assert set(seen) == fields - NOT_COMPARED
    monkeypatch.undo()
    assert tensorrt.fitting(ranged.path, seen) == (ranged.engine, "")
    for name in seen:
        other = {"profiles": (), "compute_capabilities": ("9.0",), "workspace": 5, "tf32": True}
        found, reason = tensorrt.fitting(ranged.path, seen | {name: other.get(name, "another")})
        assert found is None and name.split("_")[0] in reason and "wanted" in reason


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        ("scratch", lambda reports: (1, 1), "2 profiles instead of 1"),
        ("parse", lambda text: [], "layers are not described"),
        ("dimensions", lambda text: {}, r"mi has dimensions \[\] instead of \[-1\]"),
        ("changed_types", lambda *_: ["a layer is FP16"], "a layer is FP16"),
        ("types", {"a": {"fp16"}}, "has FP16 tensors, and the engine"),
    ],
)
def test_another_model_is_refused(made, monkeypatch, tmp_path, function, value, message):
    if function == "types":
        made = dataclasses.replace(made, types=value)
    else:
        monkeypatch.setattr(engine_layers, function, value)
    monkeypatch.setattr(tensorrt, "make", lambda *_: made)
    with pytest.raises(ModelError, match=f"is not the model: .*{message}"):
        build("edge", tmp_path / "a.engine", profiles=[RANGE], **RTX)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compute_capabilities": ["7.5"]}, "7.5: it has no FP32 matrix products on Turing"),
        ({"compute_capabilities": ["8.7"]}, "no compute capability '8.7'.*8.9.*Jetson"),
        ({"compute_capabilities": ["8.9"], "library": "tensorrt"}, "leave it out, or pass"),
        ({"timing_cache": "times"}, "times no kernels"),
        ({"library": "rtx"}, "library is 'rtx': pass one of tensorrt, tensorrt-rtx"),
        ({"precision": "bf16"}, "precision is 'bf16'"),
        ({"workspace": 2**70}, "workspace is 1180591620717411303424"),
        ({"workspace": 1.5}, "workspace is 1.5"),
        ({"profiles": [None]}, "profile is None"),
        ({"profiles": ["slices=99999999999999999999,samples=32"]}, "profile is 'slices=9999"),
        ({"profiles": ["slices=2,samples=20"]}, "up to 20 samples, and edge needs 32 or more"),
        ({"profiles": ["slices=2,samples=32,shifts=32"]}, "32 to 32 shifts.*4 to 31"),
        ({"profiles": ["slices=2,samples=32,shifts=1:5:9"]}, "1 to 9 shifts"),
        ({"out": "missing/a.engine"}, "cannot be written.*folder is missing"),
        ({"out": "a\0.engine"}, "cannot be written"),
    ],
)
def test_refusals_before_the_build(monkeypatch, tmp_path, options, message):
    monkeypatch.chdir(tmp_path)
    refuses(message, build, "edge", **{**RTX, **options})


def test_profiles_whose_sizes_vary_come_first():
    source = model_file.load("edge")
    names = ["slices=1,samples=64", "slices=9,samples=64", "slices=1:2:3,samples=64", "control"]
    found = make_profiles([*names, "samples=64,slices=1"], source)
    assert [profile.slices[::2] for profile in found] == [(1, 4), (5, 64), (1, 3), (9, 9), (1, 1)]


def test_the_rules_of_fp16_are_a_part_of_the_engine(ranged, monkeypatch):
    seen = []

    def fitting(path, wanted):
        seen.append(wanted["graph_sha256"])
        return ranged.engine, ""

    monkeypatch.setattr(tensorrt, "fitting", fitting)
    narrower = fp16.converted(model_file.load("edge").bytes, fp16.SCOPES[1:])
    build("edge", ranged.path, profiles=[RANGE], precision="fp16", **RTX)
    monkeypatch.setattr(fp16, "converted", lambda content: narrower)
    build("edge", ranged.path, profiles=[RANGE], precision="fp16", **RTX)
    assert len(set(seen)) == 2


def test_the_command(ranged, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ranged.path.parent.iterdir():
        shutil.copy(file, tmp_path / file.name.replace("a.engine", "edge.engine"))
    command = ["build", "edge", "--backend", "rtx", "--profile", RANGE]
    found = answer(capsys, *command, "--compute-capability", "8.9")
    assert "8.9" in found["engine"]["compute_capabilities"] and found["layers"] is None
    assert found["bytes"] == (tmp_path / "edge.engine").stat().st_size
    assert "nothing to do" in printed(capsys, *command)
    shown = printed(capsys, "info", "--model", "edge.engine")
    assert "any GPU, compute capability 8.0, 8.6, 8.9" in shown and "tensorrt-rtx 1." in shown


def test_precision_is_asked_for(tmp_path, monkeypatch, caplog):
    """`make engines` builds all models in all profiles; it needs an hour."""
    monkeypatch.setattr(fp16, "parity", lambda *_: [{"mi": 0.0}])  # saves a minute
    path, capabilities = tmp_path / "a.engine", ("8.9", "12.0")
    asked = {"compute_capabilities": capabilities, "precision": "fp16", "profiles": [FIXED]}
    made = build("edge", path, **asked, **RTX)
    content = path.read_bytes()
    found = read(path, content)
    assert (found.model, found.precision, found.library, found.gpu) == (
        "edge", "fp16", "tensorrt-rtx", ""
    )  # fmt: skip
    assert "fp16" in found.tensors and found.compute_capabilities == capabilities
    assert found.model_sha256 == model_file.load("edge").sha256 and made.reason
    assert len(found.memory) == 1 and 1e6 < found.memory[0] < 2e8
    assert made.layers > 3000 and made.seconds > 0
    assert b"tf32=0" in content and b"tf32=1" not in content
    targets = set(re.findall(rb"\bsm(\d+)\b", content))
    assert targets == {capability.replace(".", "").encode() for capability in capabilities}
    assert [record.message for record in caplog.records] == []  # no warnings
    assert build("edge", path, **asked, **RTX).reason == ""


def test_fp32_of_an_fp16_file(tmp_path):
    path = tmp_path / "half.onnx"
    path.write_bytes(fp16.converted(model_file.load("edge").bytes))
    with pytest.raises(InputError, match="is FP16: pass the FP32 file"):
        build(path, tmp_path / "a.engine", precision="fp32", **RTX)


def test_fp16_without_onnx(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "infoatlas_export.fp16", None)
    monkeypatch.delattr("infoatlas_export.fp16")
    with pytest.raises(ProviderError, match=r"infoatlas-rt\[export\].*edge-fp16.onnx"):
        build("edge", tmp_path / "a.engine", precision="fp16", **RTX)
