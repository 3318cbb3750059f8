"""Model files: their content, and refusals of invalid ones."""

import hashlib
import json
import os
import shutil

import numpy as np
import pytest

from infoatlas_rt.errors import ModelError
from infoatlas_rt.models import model_file, onnx_content
from refusals import fails

METADATA = {
    "name": "small", "version": "3", "format": "2", "dim": "4", "n_min": "32", "n_max": "2000",
    "shifts": "8", "pairs": "16000", "padding": "zeros", "readout": "solved", "preprocess": "1",
    "steps": "120", "datasets": "7680", "seed": "11", "git_revision": "abc",
    "accuracy": '{"bmi": {"1000": 0.1}}', "licence": "Apache-2.0",
}  # fmt: skip


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number, content):
    """One field of a protocol-buffer message: a number, a string or an embedded message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_file(metadata, inputs=model_file.INPUTS, outputs=model_file.OUTPUTS):
    """An ONNX file with an empty graph, written field by field (numbers from onnx.proto).

    Its checksum is right, unless the metadata has no entries of this project.
    """
    graph = field(2, "graph")
    graph += b"".join(field(11, field(1, name) + field(2, b"")) for name in inputs)
    graph += b"".join(field(12, field(1, name)) for name in outputs)
    content = field(1, 9) + field(2, "a test") + field(8, field(1, "") + field(2, 20))
    content += field(7, graph)
    for key, value in metadata.items():
        content += field(14, field(1, key) + field(2, value))
    if any(key.startswith("infoatlas.") for key in metadata):
        checksum = onnx_content.checksum(content)
        content += field(14, field(1, onnx_content.CHECKSUM) + field(2, checksum))
    return content


def infoatlas(**changes):
    keys = {**METADATA, **changes}
    return {f"infoatlas.{key}": value for key, value in keys.items() if value is not None}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "model.onnx"
        path.write_bytes(content)
        return path

    return write


def test_reads_everything(write):
    content = onnx_file({"other.tool": "ignored", **infoatlas()})
    model = model_file.load(write(content))
    assert (model.name, model.version, model.dim) == ("small", "3", 4)
    assert (model.n_min, model.n_max) == (32, 2000)
    assert (model.steps, model.datasets, model.seed) == (120, 7680, 11)
    assert (model.readout, model.padding, model.preprocess) == ("solved", "zeros", "1")
    assert (model.git_revision, model.licence) == ("abc", "Apache-2.0")
    assert model.accuracy == {"bmi": {"1000": 0.1}} and model.bytes == content
    assert model.sha256 == hashlib.sha256(content).hexdigest()


CALIBRATION = {
    kind: dict.fromkeys(("noise", "spread", "ceiling", "few", "predicted", "beyond"), 1.5)
    for kind in ("whole", "sliced")
}


def test_calibration_is_read_where_there_is_one(write):
    assert model_file.load(write(onnx_file(infoatlas()))).calibration == {}
    content = onnx_file(infoatlas(calibration=json.dumps({**CALIBRATION, "seed": 3})))
    assert model_file.load(write(content)).calibration == CALIBRATION


def test_shift_count(write):
    model = model_file.load(write(onnx_file(infoatlas())))
    assert [model.shift_count(n) for n in (10, 100, 500, 5000, 10**7)] == [9, 99, 32, 8, 8]
    assert [model.shift_count(100, slices) for slices in (2, 10, 40)] == [80, 16, 8]


def test_readout_agrees_with_onnxruntime():
    onnxruntime = pytest.importorskip("onnxruntime")
    model = model_file.load("edge")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.bytes, options, providers=["CPUExecutionProvider"])
    metadata, inputs, outputs = onnx_content.describe(model.bytes)
    assert metadata == session.get_modelmeta().custom_metadata_map
    assert inputs == [i.name for i in session.get_inputs()]
    assert outputs == [o.name for o in session.get_outputs()]


def test_what_is_no_file_is_refused_and_the_shipped_models_are_named(tmp_path):
    for path in (tmp_path / "none.onnx", "none", tmp_path):
        fails(ModelError, r"no model .*shipped model: .*edge", model_file.load, path)
    for model in (None, 3, ["edge"], "~nobody-has-this-name/model.onnx", "a\0b", "/dev/zero"):
        fails(ModelError, r"shipped model: .*edge", model_file.load, model)
    os.mkfifo(tmp_path / "model.onnx")
    fails(ModelError, "not a regular file", model_file.load, tmp_path / "model.onnx")


def flipped(content, seed, count):
    """Copies of a file, each with another flipped bit."""
    rng = np.random.default_rng(seed)
    places, bits = rng.integers(0, len(content), count), rng.integers(0, 8, count)
    for at, bit in zip(places, bits, strict=True):
        changed = bytearray(content)
        changed[at] ^= 1 << bit
        yield bytes(changed)


def test_every_flipped_bit_of_a_shipped_model_is_found(tmp_path, monkeypatch):
    for name in model_file.available():
        shutil.copy(model_file.MODELS / f"{name}.onnx", tmp_path)
    shutil.copy(model_file.MODELS / model_file.CHECKSUMS, tmp_path)
    monkeypatch.setattr(model_file, "MODELS", tmp_path)
    content = (tmp_path / "edge.onnx").read_bytes()
    for changed in flipped(content, 0, 30):
        (tmp_path / "edge.onnx").write_bytes(changed)
        fails(ModelError, "not the file that was shipped", model_file.load, "edge")
    (tmp_path / "edge.onnx").write_bytes(content)
    assert model_file.load("edge").bytes == content
    (tmp_path / model_file.CHECKSUMS).unlink()
    fails(ModelError, "cannot be checked", model_file.load, "edge")


def test_a_file_without_checksum_is_refused(write):
    content = onnx_file(infoatlas())
    last = len(field(14, field(1, onnx_content.CHECKSUM) + field(2, "0" * 64)))
    fails(ModelError, r"has no checksum.*export", model_file.load, write(content[:-last]))


def test_every_truncation_of_a_file_is_refused(write):
    content = onnx_file(infoatlas(), inputs=("x",), outputs=())
    for end in range(len(content)):
        with pytest.raises(ModelError):
            model_file.load(write(content[:end]))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        b"PK\x03\x04" + bytes(100),
        b"<!DOCTYPE html><html></html>",
        bytes(1000),
        b"\xff" * 1000,
        field(7, 5),  # a graph that is a number
        field(7, b"") + field(14, field(1, "key without value")),
        field(7, b"") + field(14, field(1, b"\xff\xfe") + field(2, "not text")),
    ],
)
def test_foreign_file(write, content):
    with pytest.raises(ModelError, match=r"truncated or not an ONNX file.*copy it again"):
        model_file.load(write(content))


def test_lfs_pointer(write):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    fails(ModelError, "git lfs pull", model_file.load, write(pointer))


def test_onnx_without_our_metadata(write):
    for metadata in ({}, {"author": "someone"}):
        with pytest.raises(ModelError, match=r"without infoatlas metadata.*export"):
            model_file.load(write(onnx_file(metadata)))


@pytest.mark.parametrize("key", METADATA)
def test_every_key_is_needed(write, key):
    with pytest.raises(ModelError, match=rf"infoatlas\.{key}"):
        model_file.load(write(onnx_file(infoatlas(**{key: None}))))


UNREADABLE = {
    "format": ["1"], "preprocess": ["0"], "padding": ["noise"], "seed": ["-1"], "steps": ["None"],
    "name": ["edge\nI = 5 nats"], "version": ["1" * 201], "dim": ["four", "1" * 5000, "100000"],
    "n_min": [""], "n_max": ["1e3", "1" + "0" * 30], "shifts": ["[[256]]", "10000000"],
    "pairs": ["many", "-1"],
    "accuracy": ["[1, 2]", "null", '{"a": ' * 100_000, '{"bmi": NaN}', '{"bmi": 1e999}',
                 '{"bmi": [1, {"1000": -Infinity}]}'],
    "calibration": [
        "none", "[1]", "[" * 100_000, json.dumps({"whole": CALIBRATION["whole"]}),
        json.dumps({**CALIBRATION, "sliced": {"noise": 1}}),
        *(json.dumps(CALIBRATION).replace("1.5", bad) for bad in ("-1", "NaN", "1e300")),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in UNREADABLE.items() for value in values]
)
def test_unreadable_values_are_named(write, key, value):
    with pytest.raises(ModelError, match=rf"infoatlas\.{key} "):
        model_file.load(write(onnx_file(infoatlas(**{key: value}))))


@pytest.mark.parametrize(
    "changes", [{"dim": "0"}, {"n_min": "1"}, {"n_min": "5000"}, {"shifts": "3"}]
)
def test_impossible_limits(write, changes):
    with pytest.raises(ModelError, match="limits that cannot be"):
        model_file.load(write(onnx_file(infoatlas(**changes))))


@pytest.mark.parametrize(
    "names", [{"inputs": ("x", "y")}, {"inputs": ("x", "y", "shifts")}, {"outputs": ("mi",)}]
)
def test_another_interface(write, names):
    with pytest.raises(ModelError, match=r"instead of \['x', 'y', 'shifts', 'sequence'\]"):
        model_file.load(write(onnx_file(infoatlas(), **names)))
