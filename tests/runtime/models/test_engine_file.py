"""Engines and their descriptions: mismatches are refused."""

import functools
import json

import pytest

from fake_gpu import install
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import description, read
from refusals import fails

pytest.importorskip("onnx")
build = pytest.importorskip("infoatlas_export.tensorrt").build


@pytest.fixture
def engine(monkeypatch, tmp_path):
    install(monkeypatch)
    (tmp_path / "own.onnx").write_bytes(rewritten("edge", name="own"))
    return build(tmp_path / "own.onnx", tmp_path / "own.engine").path


@functools.cache
def rewritten(model, **metadata):
    import onnx

    proto = onnx.load_from_string(model_file.load(model).bytes)
    known = {p.key: p.value for p in proto.metadata_props}
    del proto.metadata_props[:]
    known |= {f"infoatlas.{key}": value for key, value in metadata.items()}
    onnx.helper.set_model_props(proto, known)
    found = model_file.checksum(proto.SerializeToString(deterministic=True))
    onnx.helper.set_model_props(proto, known | {model_file.CHECKSUM: found})
    return proto.SerializeToString(deterministic=True)


def test_an_engine_carries_its_models_metadata(engine):
    found, source = model_file.load(engine), model_file.load(engine.with_name("own.onnx"))
    for name in ("name", "version", "dim", "n_min", "n_max", "shifts", "pairs", "accuracy",
                 "calibration", "metadata"):  # fmt: skip
        assert getattr(found, name) == getattr(source, name)
    assert found.engine is not None and source.engine is None and found.bytes == engine.read_bytes()


def test_an_engine_without_its_model_is_fine_and_with_another_one_is_not(engine):
    source = engine.with_name("own.onnx")
    source.write_bytes(rewritten("edge", name="newer"))
    with pytest.raises(ModelError, match=r"another file than .*own\.onnx is now.*build it again"):
        model_file.load(engine)
    source.unlink()
    assert model_file.load(engine).name == "own"


def change(**values):
    def work(text):
        return json.dumps({**json.loads(text), **values})

    return work


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:100], "no usable description"),
        (lambda text: "[]", "no usable description"),
        (change(format="1"), "another version.*build it again.*both files"),
        (change(format="3"), "another version"),
        (change(gpu=3), "gpu is 3"),
        (change(library="tensorrt-lite"), "library is 'tensorrt-lite'"),
        (change(workspace="1GiB"), "workspace is '1GiB'"),
        (change(workspace=True), "workspace is True"),
        (change(memory=3), "not iterable"),
        (change(memory=[]), r"memory is \[\] for . profiles"),
        (change(memory=[1.5]), r"memory is \[1.5\] for . profiles"),
        (change(profiles=[]), "no profiles"),
        (change(profiles=[{"name": "a", "slices": [3, 2, 1]}]), "profile with slices"),
        (change(metadata={"dim": 5}), "no text"),
        (change(surprise=1), "surprise"),
        (change(engine_sha256="0" * 64), "another SHA-256"),
        (change(metadata={"format": "1"}), "infoatlas.format"),
    ],
)
def test_a_damaged_description_is_refused(engine, damage, message):
    file = description(engine)
    file.write_text(damage(file.read_text()))
    fails(ModelError, message, model_file.load, engine)


def test_a_missing_description_and_a_damaged_engine_are_refused(engine):
    engine.write_bytes(engine.read_bytes()[:-1] + b"?")
    fails(ModelError, r"own\.engine\.json describes", model_file.load, engine)
    description(engine).unlink()
    fails(ModelError, r"No such file.*build it again.*copy both", model_file.load, engine)


def test_a_limit_of_the_workspace_is_kept(engine):
    file = description(engine)
    file.write_text(change(workspace=2**30)(file.read_text()))
    assert read(engine).workspace == 2**30
