"""Engines by the real builder of TensorRT-RTX, which needs no GPU."""

import json

import onnx
import pytest

pytest.importorskip("tensorrt_rtx_bindings", reason="the extra tensorrt-rtx is not installed")

from infoatlas_export import fp16
from infoatlas_export.onnx import sealed
from infoatlas_export.tensorrt import build
from infoatlas_rt.cli.main import main
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import NAMED, read

FIXED = "slices=40,samples=100"
SMALL = "slices=2,samples=64"
THREE = ("8.0", "8.9", "12.0")
RTX = {"library": "tensorrt-rtx"}


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """The FP16 graphs, not compared with FP32, which takes a minute."""
    folder = tmp_path_factory.mktemp("half")

    def made(model):
        path = folder / f"{model}.onnx"
        if not path.exists():
            proto = onnx.load_from_string(model_file.load(model).bytes)
            path.write_bytes(sealed(fp16.mixed(proto, fp16.chosen(proto.graph))))
        return path

    return made


@pytest.mark.parametrize(
    ("model", "precision", "profile", "capabilities"),
    [
        *(("edge", p, profile, THREE) for p in ("fp32", "fp16") for profile in (*NAMED, FIXED)),
        *(("edge", "fp32", SMALL, (capability,)) for capability in THREE),
        ("base", "fp32", FIXED, ("8.9",)),
        ("wide", "fp16", FIXED, ("8.9",)),
    ],
)
def test_shipped_models_build(half, tmp_path, caplog, model, precision, profile, capabilities):
    """Axes stay dynamic, and types are those of the network: `build` refuses all else."""
    file = half(model) if precision == "fp16" else model
    built = build(
        file, tmp_path / "a.engine", profiles=[profile], compute_capabilities=capabilities, **RTX
    )
    found = read(built.path, built.path.read_bytes())
    assert (found.library, found.gpu, found.compute_capabilities) == (
        "tensorrt-rtx",
        "",
        capabilities,
    )
    assert found.precision == precision and ("fp16" in found.tensors) == (precision == "fp16")
    assert len(found.memory) == len(found.profiles) == len(NAMED.get(profile, [0]))
    limit = {"control": 3.5e9, "batch": 9.1e9}.get(profile, 2e8)  # docs/tensorrt.md
    assert 1e6 < max(found.memory) < limit
    assert built.layers > 3000 and built.seconds > 0
    assert [record.message for record in caplog.records] == []  # no warnings


def with_vector(content):
    """The graph of earlier files: a vector times a batch of matrices."""
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


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("slices=1:40:64,samples=32:100:128", r"mi.*\[1\]"),  # builds, for one slice alone
        (FIXED, r"Reshaping \[40,1,62\] to \[1,62\]"),
    ],
)
def test_an_engine_that_lost_its_slices_is_refused(tmp_path, profile, message):
    path = tmp_path / "vector.onnx"
    path.write_bytes(with_vector(model_file.load("edge").bytes))
    with pytest.raises(ModelError, match=message):
        build(path, tmp_path / "a.engine", profiles=[profile], **RTX)
    assert not list(tmp_path.glob("a.engine*"))


def unknown_operator(proto):
    node = next(n for n in proto.graph.node if "mi" in n.output)
    node.output[list(node.output).index("mi")] = "before"
    det = onnx.helper.make_node("Unique", ["before"], ["mi"], name="at_the_end")
    proto.graph.node.append(det)


def missing_input(proto):
    proto.graph.node[100].input[0] = "of_no_node"


@pytest.mark.parametrize(
    ("change", "message"),
    [(unknown_operator, r"Unique.*at_the_end"), (missing_input, r"input was not registered")],
)
def test_a_graph_that_the_parser_refuses(tmp_path, change, message):
    proto = onnx.load_from_string(model_file.load("edge").bytes)
    change(proto)
    path = tmp_path / "changed.onnx"
    path.write_bytes(sealed(proto))
    with pytest.raises(ModelError, match=f"TensorRT-RTX.*cannot read.*{message}"):
        build(path, tmp_path / "a.engine", profiles=[SMALL], **RTX)
    assert not list(tmp_path.glob("a.engine*"))


def test_an_engine_allocates_nothing_while_it_runs(tmp_path):
    """Else the largest tensors of this range would not count: 7.4 GB."""
    wide = "slices=1:40:64,samples=32:100:512"
    built = build("edge", tmp_path / "a.engine", profiles=[wide], **RTX)
    assert max(read(built.path).memory) > 2e10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compute_capabilities": ["7.5"]}, "7.5: it has no FP32 matrix products on Turing"),
        ({"compute_capabilities": ["8.7"]}, "no compute capability '8.7'.*8.9.*Jetson"),
        ({"compute_capabilities": ["8.9"], "library": "tensorrt"}, "leave it out, or pass"),
        ({"timing_cache": "times"}, "times no kernels"),
    ],
)
def test_what_cannot_be_built_for(options, message):
    with pytest.raises(InputError, match=message):
        build("edge", profiles=[SMALL], **{**RTX, **options})


def test_a_workspace_that_is_too_small(tmp_path):
    with pytest.raises(ModelError, match=r"in a workspace of 1048576 bytes.*leave out --workspace"):
        build("edge", tmp_path / "a.engine", profiles=[FIXED], workspace=2**20, **RTX)


def test_ctrl_c_cancels_the_real_builder(tmp_path):
    def interrupt(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build("edge", tmp_path / "a.engine", profiles=[SMALL], progress=interrupt, **RTX)
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["build", "edge", "--backend", "rtx", "--profile", SMALL]
    assert main([*command, "--compute-capability", "8.9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["engine"]["compute_capabilities"] == ["8.9"] and found["layers"] > 3000
    assert found["bytes"] == (tmp_path / "edge.engine").stat().st_size
    assert main([*command, "--compute-capability", "8.9"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert main(command) == 0
    out = capsys.readouterr()
    assert "compute capabilities is 8.9, and 8.0, 8.6, 8.9, 12.0, 12.1 is wanted" in out.err
    assert "working memory" in out.out and "fp32" in out.out
    assert main(["info", "--model", "edge.engine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["engine"]["library"] == "tensorrt-rtx"
    assert main(["info", "--model", "edge.engine"]) == 0
    shown = capsys.readouterr().out
    assert "any GPU, compute capability 8.0, 8.6, 8.9" in shown and "tensorrt-rtx 1." in shown


def test_precision_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(fp16, "parity", lambda *_: [{"mi": 0.0}])  # a minute
    path = tmp_path / "a.engine"
    first = build("edge", path, profiles=[SMALL], precision="fp16", **RTX)
    found = read(path)
    assert (found.model, found.precision) == ("edge", "fp16") and "fp16" in found.tensors
    assert found.model_sha256 == model_file.load("edge").sha256 and first.reason
    assert build("edge", path, profiles=[SMALL], precision="fp16", **RTX).reason == ""
    assert "precision is 'fp16'" in build("edge", path, profiles=[SMALL], **RTX).reason


def test_fp32_of_an_fp16_file(half, tmp_path):
    with pytest.raises(InputError, match="is FP16: pass the FP32 file"):
        build(half("edge"), tmp_path / "a.engine", precision="fp32", **RTX)


def test_fp16_without_onnx(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "infoatlas_export.fp16", None)
    monkeypatch.delattr("infoatlas_export.fp16")
    with pytest.raises(ProviderError, match=r"infoatlas-rt\[export\].*edge-fp16.onnx"):
        build("edge", tmp_path / "a.engine", precision="fp16", **RTX)
