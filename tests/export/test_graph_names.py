"""Names of nodes and weights: places in the model, and its parameters."""

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from infoatlas_export import graph_names
from infoatlas_train.model.hypernetwork import Attention, Hypernetwork
from infoatlas_train.pretrain import load
from refusals import fails

KERNEL = """File "/a/infoatlas_train/model/infoatlas.py", line 9, in forward
    e = self.critic(x)
  File "/a/infoatlas_train/model/infoatlas.py", line 5, in critic
    near = kernels.inside(x)
  File "/a/infoatlas_train/model/neighbour_features.py", line 5, in inside
    kx = [gaussian(x) for x in y]
  File "/a/infoatlas_train/model/neighbour_features.py", line 5, in <listcomp>
    kx = [gaussian(x) for x in y]
  File "/a/infoatlas_train/model/neighbour_features.py", line 3, in gaussian
    return torch.exp(x)"""
MODULE = KERNEL + '\n  File "/b/torch/nn/modules/linear.py", line 1, in forward\n'
CRITIC = KERNEL.replace("neighbour_features.py", "critic.py").replace("inside", "solve_readout")


@pytest.mark.parametrize(
    ("trace", "modules", "expected"),
    [
        (KERNEL, ["model"], "critic/neighbour_features/inside/gaussian"),
        (CRITIC, ["model"], "critic/solve_readout/gaussian"),  # a file is named once
        (
            MODULE,
            ["model", "model.gap", "model.gap.missing.first"],
            "bias_correction/missing/first",
        ),
        ("", [""], graph_names.SHAPES),  # nodes of the tracer
        ('File "/b/infoatlas_export/onnx.py", line 1, in export', [""], graph_names.SHAPES),
    ],
)
def test_scopes(trace, modules, expected):
    scoped = repr(["", *modules, "exp_1"])
    notes = {"pkg.torch.onnx.stack_trace": trace, "pkg.torch.onnx.name_scopes": scoped}
    assert graph_names.scope(notes) == expected


def test_every_node_of_a_graph_has_a_name_of_its_own(exported):
    graph = onnx.load(exported / "tiny.onnx").graph
    names = [node.name for node in graph.node]
    assert len(set(names)) == len(names)
    of = {name.rsplit("/", 1)[0] for name in names}
    assert {
        "hypernetwork/joint_reading/attention", "critic/solve_readout/inverse/block_inverse",
        "critic/refined/critic/side/affine", "critic/donsker_varadhan",
        "bias_correction/diagnostics/persistence", "bias_correction/missing/first",
    } <= of  # fmt: skip
    # Almost all nodes have a scope.
    assert sum(name.startswith(graph_names.SHAPES) for name in names) < 0.03 * len(names)


def test_the_tracer_is_left_as_it_was():
    before = torch.fx.proxy.TracerBase._filter_traceback_frames
    try:
        with graph_names.recorded():
            assert torch.fx.proxy.TracerBase._filter_traceback_frames is not before
            raise KeyError
    except KeyError:
        pass
    assert torch.fx.proxy.TracerBase._filter_traceback_frames is before


def test_every_parameter_is_there_under_its_name(exported):
    graph = onnx.load(exported / "tiny.onnx").graph
    found = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    model, _ = load(exported / "tiny.pt")
    merged = {"query.weight", "query.bias", "out.weight", "out.bias", "kv.weight", "kv.bias"}
    merged |= {"f_x.2.weight", "f_x.2.bias", "f_y.2.weight", "f_y.2.bias"}
    for name, values in model.state_dict().items():
        if any(name.endswith(part) for part in merged):
            continue
        there = found[name] if name in found else found[name + graph_names.TRANSPOSED].T
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
                there = found[f"{scope}merged_{name}{graph_names.TRANSPOSED}"].T
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
    fails(ValueError, "one name", graph_names.name_weights, graph)
