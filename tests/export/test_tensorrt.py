"""Builds of engines with a model of TensorRT: calls, files and failures."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from command_line import answer, complaint
from fake_gpu import install
from infoatlas_export.onnx import sealed
from infoatlas_export.targets import NAMED_PROFILES, make_profiles
from infoatlas_export.tensorrt import build
from infoatlas_rt.cli.main import main
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import read
from refusals import fails, refuses

RANGES = "slices=1:2:3,samples=32:40:50"


@pytest.fixture
def world(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return install(monkeypatch)


def half(path):
    """A graph with an FP16 product: the output `mi` times one."""
    proto = onnx.load_from_string(model_file.load("edge").bytes)
    node = next(node for node in proto.graph.node if "mi" in node.output)
    node.output[list(node.output).index("mi")] = "mi32"
    one = np.ones((1, 1), np.float16)
    for name, values in {"one": one, "column": np.array([-1, 1]), "row": np.array([-1])}.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    for operator, inputs, output, settings in (
        ("Cast", ["mi32"], "mi16", {"to": onnx.TensorProto.FLOAT16}),
        ("Reshape", ["mi16", "column"], "mi_column", {}),
        ("MatMul", ["mi_column", "one"], "product", {}),
        ("Reshape", ["product", "row"], "mi_row", {}),
        ("Cast", ["mi_row"], "mi", {"to": onnx.TensorProto.FLOAT}),
    ):
        made = onnx.helper.make_node(operator, inputs, [output], name=f"to_{output}", **settings)
        proto.graph.node.append(made)
    path.write_bytes(sealed(proto))
    return path


def test_settings_of_the_builder(world):
    build("edge", profiles=["control"], workspace=2**29)
    from tensorrt import BuilderFlag, MemoryPoolType, ProfilingVerbosity

    settings = world.settings
    assert settings["pools"] == {MemoryPoolType.WORKSPACE: 2**29}
    assert settings["cleared"] == [BuilderFlag.TF32]
    assert settings["verbosity"] == ProfilingVerbosity.DETAILED
    first, second = settings["profiles"]
    side = [[5, 32, 5], [40, 100, 5], [64, 256, 5]]
    assert first["x"] == [[1, 32, 5], [1, 100, 5], [4, 512, 5]]
    assert second == {
        "x": side, "y": side, "shifts": [[4], [5], [56]], "sequence": [[32], [100], [256]]
    }  # fmt: skip
    assert world.stack == []


def test_the_description(world):
    built = build("edge", "a.engine", profiles=["control", "batch"])
    path, reason = built.path, built.reason
    found, source = read(path, path.read_bytes()), model_file.load("edge")
    assert reason == "there was none"
    assert (found.model, found.model_sha256) == ("edge", source.sha256)
    assert (found.library, found.version) == ("tensorrt", "10.3.0")
    assert (found.gpu, found.compute_capabilities) == ("Orin", ("8.7",))
    assert built.layers > 1000 and built.seconds > 0
    assert found.memory == tuple(
        16 * p.slices[2] * p.samples[2] * p.shifts[2] for p in found.profiles
    )
    assert (found.precision, found.tf32, found.workspace) == ("fp32", False, None)
    assert found.metadata == source.metadata
    assert {"fp32", "int64"} <= set(found.tensors) and "fp16" not in found.tensors
    # Two of the profiles are equal.
    assert [profile.name for profile in found.profiles] == ["control"] * 2 + ["batch"] * 4


def test_an_engine_that_fits_is_kept_and_another_one_is_built_anew(world, monkeypatch, tmp_path):
    path = build("edge", profiles=[RANGES]).path
    before = path.read_bytes()
    assert build("edge", profiles=[RANGES]).reason == ""
    assert world.counts["build"] == 1

    reasons = []
    for change in ({}, {"version": "11.4.0.106"}, {"gpu": "H800"}, {"capability": (9, 0)}):
        install(monkeypatch, **change)
        if not change:
            reasons.append(build("edge", profiles=["slices=1:2:4,samples=32:40:50"]).reason)
            reasons.append(build("edge", profiles=[RANGES], workspace=2**20).reason)
            path.write_bytes(before[:-1])
        reasons.append(build("edge", profiles=[RANGES]).reason)
    assert "profiles are slices=1:2:3" in reasons[0] and "wanted" in reasons[0]
    assert "profiles" in reasons[1] and "SHA-256" in reasons[2]
    assert "version is '10.3.0', and '11.4.0.106'" in reasons[3]
    assert "version" in reasons[4] and "gpu is 'H800'" in reasons[5]
    assert json.loads((tmp_path / "edge.engine.json").read_text())["compute_capabilities"] == [
        "9.0"
    ]


def test_precision_is_the_graphs_own(world, tmp_path):
    found = read(build(half(tmp_path / "half.onnx"), profiles=[RANGES]).path)
    assert found.precision == "fp16" and found.tensors["fp16"] > 3
    assert found.model == str(tmp_path / "half.onnx")


def test_an_engine_that_lost_its_precision_is_refused(world, tmp_path):
    world.inspector = ""
    with pytest.raises(ModelError, match=r"no FP16 tensor, and its nodes \(to_product\) are FP16"):
        build(half(tmp_path / "half.onnx"), profiles=[RANGES])
    assert not (tmp_path / "half.engine").exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"build_error": "out of memory"}, r"cannot build.*out of memory.*narrower --profile"),
        ({"gpus": 0}, r"no CUDA-capable device"),
        ({"version": "10.2.1"}, r"10\.2\.1 is too old: 10\.3"),
    ],
)
def test_failures_say_what_to_do_and_leave_nothing(monkeypatch, tmp_path, setting, message):
    monkeypatch.chdir(tmp_path)
    world = install(monkeypatch, **setting)
    fails((ModelError, ProviderError), message, build, "edge", profiles=[RANGES])
    assert list(tmp_path.iterdir()) == [] and world.stack == []


def test_the_timing_cache_is_kept_unless_it_is_foreign(world, tmp_path, caplog):
    cache = tmp_path / "times"
    build("edge", "a.engine", profiles=[RANGES], timing_cache=cache)
    assert world.settings["cache"] == b"" and cache.read_bytes() == b"+build"
    cache.write_bytes(b"Orin")
    build("edge", "b.engine", profiles=[RANGES], timing_cache=cache)
    assert world.settings["cache"] == b"Orin" and cache.read_bytes() == b"Orin+build"
    cache.write_bytes(b"H800")
    with caplog.at_level(logging.WARNING):
        build("edge", "c.engine", profiles=[RANGES], timing_cache=cache)
    assert world.settings["cache"] == b"" and "belongs to another GPU" in caplog.text


@pytest.mark.parametrize("model", ["edge", "base", "wide"])
@pytest.mark.parametrize("name", NAMED_PROFILES)
def test_profiles_hold_every_number_of_shifts_that_the_estimator_chooses(model, name):
    source = model_file.load(model)
    for profile in make_profiles([name], source):
        s, n, m = profile.slices, profile.samples, profile.shifts
        for slices in (s[0], s[1], s[2]):
            for samples in range(max(n[0], source.n_min), n[2] + 1):
                assert m[0] <= source.shift_count(samples, slices) <= m[2]
        assert m[0] <= m[1] <= m[2]


def test_named_profiles_have_their_sizes():
    profiles = make_profiles(["batch"], model_file.load("edge"))
    assert max(profile.slices[2] for profile in profiles) == 1024
    assert max(profile.samples[2] for profile in profiles) == 5000
    both = make_profiles(["control", "batch"], model_file.load("edge"))
    assert len(both) == len(profiles) and both[2:] == profiles[2:]  # each once


def test_ranges_given():
    source = model_file.load("edge")
    (profile,) = make_profiles(["samples=100,slices=40"], source)
    assert (profile.slices, profile.samples) == ((40,) * 3, (100,) * 3)
    assert profile.shifts == source.shift_range((40,) * 3, (100,) * 3) == (4, 5, 5)
    (profile,) = make_profiles([f"{RANGES},shifts=4:8:16"], source)
    assert profile.shifts == (4, 8, 16)


@pytest.mark.parametrize(
    "text",
    ["", "fast", "slices=1:2:3", "slices=3:2:1,samples=32", "slices=1:2,samples=32",
     "slices=0,samples=32", "slices=1,samples=32,width=3",
     "slices=1,slices=2,samples=32", "slices=x,samples=32"],
)  # fmt: skip
def test_ranges_that_cannot_be(text):
    refuses(r"control, batch.*slices=1:40:64", make_profiles, [text], model_file.load("edge"))


def test_a_profile_that_tensorrt_would_refuse_after_minutes_is_refused_at_once(world):
    with pytest.raises(InputError, match=r"tensor .* of \d+ elements.*2147483647.*divided"):
        build("edge", profiles=["slices=1:40:1024,samples=32:100:5000"])
    assert world.counts["build"] == 0


def test_the_command(world, capsys, tmp_path):
    assert main(["build", "edge", "--profile", RANGES, "--workspace", "512MiB"]) == 0
    out = capsys.readouterr()
    assert "edge.engine" in out.out and "slices 1..3" in out.out and "there was none" in out.err
    assert world.settings["pools"].popitem()[1] == 2**29
    assert main(["build", "edge", "--profile", RANGES, "--workspace", "512MiB"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert answer(capsys, "info", "--model", "edge.engine")["engine"]["gpu"] == "Orin"
    assert "is an engine already" in complaint(capsys, "build", "edge.engine", "--out", "b.engine")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--workspace", "much"], 2, "512MiB"),
        (["--workspace", "0"], 2, "from 1 to"),
        (["--out", "edge.plan"], 2, "end in .engine"),
    ],
)
def test_wrong_arguments(world, capsys, arguments, code, message):
    assert main(["build", "edge", *arguments]) == code
    assert message in capsys.readouterr().err


def test_without_tensorrt(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    assert main(["build", "edge"]) == 3
    assert "TensorRT cannot be imported" in capsys.readouterr().err


def test_it_needs_neither_torch_nor_onnx_nor_tensorrt():
    code = (
        "import sys; names = ('torch', 'onnx', 'onnxruntime', 'tensorrt', 'tensorrt_rtx');"
        "sys.modules.update(dict.fromkeys(names));"
        "import infoatlas_export.build_cli, infoatlas_export.tensorrt"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_engine_that_cannot_be_written_leaves_nothing(world, monkeypatch, tmp_path):
    def replace(self, target):
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", replace)
    refuses("no space left", build, "edge", profiles=[RANGES])
    assert list(tmp_path.iterdir()) == []
