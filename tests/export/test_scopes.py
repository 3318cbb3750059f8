"""Names of nodes: the places in the model that they come from."""

import onnx
import pytest
import torch

from infoatlas_export import scopes

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
        ("", [""], scopes.SHAPES),  # nodes of the tracer
        ('File "/b/infoatlas_export/onnx.py", line 1, in export', [""], scopes.SHAPES),
    ],
)
def test_scopes(trace, modules, expected):
    scoped = repr(["", *modules, "exp_1"])
    notes = {"pkg.torch.onnx.stack_trace": trace, "pkg.torch.onnx.name_scopes": scoped}
    assert scopes.scope(notes) == expected


def test_every_node_of_a_graph_has_a_name_of_its_own(exported):
    graph = onnx.load(exported / "tiny.onnx").graph
    names = [node.name for node in graph.node]
    assert len(set(names)) == len(names)
    of = {name.rsplit("/", 1)[0] for name in names}
    assert {
        "hypernetwork/joint_reading/attention",
        "critic/solve_readout/inverse/block_inverse",
        "critic/refined/critic/side/affine",
        "critic/donsker_varadhan",
        "bias_correction/diagnostics/persistence",
        "bias_correction/missing/first",
    } <= of
    # Almost all nodes have a scope.
    assert sum(name.startswith(scopes.SHAPES) for name in names) < 0.03 * len(names)


def test_the_tracer_is_left_as_it_was():
    before = torch.fx.proxy.TracerBase._filter_traceback_frames
    try:
        with scopes.recorded():
            assert torch.fx.proxy.TracerBase._filter_traceback_frames is not before
            raise KeyError
    except KeyError:
        pass
    assert torch.fx.proxy.TracerBase._filter_traceback_frames is before
