"""Names of weights: an engine that does not use the graph finds all parameters by name."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from infoatlas_export import weights
from infoatlas_train.model.hypernetwork import Attention, Hypernetwork
from infoatlas_train.pretrain import load


def test_every_parameter_is_there_under_its_name(exported):
    graph = onnx.load(exported / "tiny.onnx").graph
    found = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    model, _ = load(exported / "tiny.pt")
    merged = {"query.weight", "query.bias", "out.weight", "out.bias", "kv.weight", "kv.bias"}
    merged |= {"f_x.2.weight", "f_x.2.bias", "f_y.2.weight", "f_y.2.bias"}
    for name, values in model.state_dict().items():
        if any(name.endswith(part) for part in merged):
            continue
        there = found[name] if name in found else found[name + weights.TRANSPOSED].T
        np.testing.assert_array_equal(there, values.numpy(), err_msg=name)


def test_merged_weights_of_attention(exported):
    graph = onnx.load(exported / "tiny.onnx").graph
    found = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    hypernetwork = load(exported / "tiny.pt")[0].hypernetwork
    assert isinstance(hypernetwork, Hypernetwork)
    hypernetwork.fix()
    count = 0
    for scope, part in hypernetwork.named_modules():
        if isinstance(part, Attention):
            query, query_bias, out, out_bias = (v.detach().numpy() for v in part.fixed)
            scope = f"hypernetwork.{scope}."
            for name, values in (("query", query), ("out", out)):
                there = found[f"{scope}merged_{name}{weights.TRANSPOSED}"].T
                np.testing.assert_array_equal(there, values)
            for name, values in (("query", query_bias), ("out", out_bias)):
                np.testing.assert_array_equal(found[f"{scope}merged_{name}_bias"], values)
            count += 1
    assert count == 8


def test_names_are_given_once():
    node = onnx.helper.make_node
    constant = onnx.helper.make_tensor
    nodes = [
        node("MatMul", ["x", name], [name + "y"], name=f"hypernetwork/f_x/0/MatMul{suffix}")
        for name, suffix in (("a", ""), ("b", "_1"))
    ]
    two = [constant(name, onnx.TensorProto.FLOAT, [1, 1], [1.0]) for name in "ab"]
    graph = onnx.helper.make_graph(nodes, "g", [], [], two)
    with pytest.raises(ValueError, match="one name"):
        weights.name_weights(graph)
