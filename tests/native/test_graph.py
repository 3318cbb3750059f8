"""The engine accepts the graph that it implements, and refuses any other with a reason."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import crafted

import infoatlas_native
import inputs
from infoatlas_export import graph_digest
from infoatlas_native import Engine
from infoatlas_rt import Estimator

GIVEN = inputs.canonical(5, 60, 3, 8)


def test_the_engine_follows_the_code_of_the_model():
    assert infoatlas_native.CODE[0] == graph_digest.code(), (
        "the code of the model has changed: let the stages of runtime/native/src follow it, run "
        "make test-native, and put its digest first into IMPLEMENTED of graph_digest.cpp"
    )


def test_shipped_models_state_their_graph(name):
    proto = onnx.load_from_string(inputs.content(name))
    assert crafted.entries(proto)["infoatlas.graph"] == graph_digest.structure(proto)
    assert crafted.entries(proto)["infoatlas.code"] in infoatlas_native.CODE


@pytest.mark.parametrize("change", crafted.CHANGES)
def test_sealed_files_with_another_graph_are_refused(change, tmp_path):
    for number in range(3):
        rng = np.random.default_rng([number, 39])
        assert crafted.craft(rng, tmp_path, change) == "refused"


def test_names_and_order_are_not_the_graph(tmp_path):
    assert crafted.craft(np.random.default_rng(0), tmp_path, crafted.same) == "ok"
    proto = onnx.load_from_string(inputs.content("edge"))
    crafted.same(np.random.default_rng(1), proto)
    found = Engine(proto.SerializeToString()).run(*GIVEN)
    for value, wanted in zip(found, Engine(inputs.content("edge")).run(*GIVEN), strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_other_weights_are_the_same_graph():
    proto = onnx.load_from_string(inputs.content("edge"))
    bias = next(w for w in proto.graph.initializer if w.name == "hypernetwork.f_x.0.bias")
    values = onnx.numpy_helper.to_array(bias) + np.float32(0.1)
    bias.CopyFrom(onnx.numpy_helper.from_array(values, bias.name))
    changed = Engine(proto.SerializeToString()).run(*GIVEN)
    assert (changed[0] != Engine(inputs.content("edge")).run(*GIVEN)[0]).any()


def test_a_second_graph_is_refused():
    """Readers of protocol buffers merge two graphs, so weights would come from both."""
    twice = inputs.content("edge") + b"\x3a\x00"  # field 7, empty
    with pytest.raises(RuntimeError, match="no export has: two graphs"):
        Engine(twice)


def test_auto_takes_onnxruntime_for_another_graph(tmp_path, caplog):
    """The estimate is that of the graph in the file."""
    proto = onnx.load_from_string(inputs.content("edge"))
    crafted.swapped_outputs(np.random.default_rng(2), proto)
    path = tmp_path / "swapped.onnx"
    path.write_bytes(crafted.sealed(proto))
    estimator = Estimator(path, provider="auto", threads=1)
    assert estimator.backend.provider == "cpu"
    assert "passes over 'native'" in caplog.text and "changed after its export" in caplog.text
    x = np.random.default_rng(0).standard_normal((60, 2))
    assert np.isfinite(estimator.estimate(x, x).mi)


@pytest.mark.parametrize("seed", range(30))
def test_damaged_graphs_are_harmless(seed):
    """Flipped bits in the nodes of a file without a checksum."""
    rng = np.random.default_rng(seed)
    damaged = bytearray(inputs.content("edge"))
    first = damaged.index(b"MatMul")
    for _ in range(rng.integers(1, 4)):
        damaged[first + rng.integers(100_000)] ^= 1 << rng.integers(8)
    try:
        found = Engine(bytes(damaged)).run(*GIVEN)
    except RuntimeError as error:
        assert len(str(error)) > 20
    else:  # a name, or a declared shape
        for value, wanted in zip(found, Engine(inputs.content("edge")).run(*GIVEN), strict=True):
            np.testing.assert_array_equal(value, wanted)
