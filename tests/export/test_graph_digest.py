"""Digests of a graph and of the code that is traced."""

from __future__ import annotations

import ast

import onnx
import pytest

import infoatlas_export.onnx as export
from infoatlas_export import graph_digest, state_graph
from infoatlas_rt.models import model_file

SOURCE = '''
"""A module."""

class Model:
    """One."""
    size: int = 3

    def forward(self, x: Tensor) -> Tensor:
        """Twice, and more."""
        return 2 * x + self.size  # nats
'''


def computed(source):
    return graph_digest.computed(ast.parse(source))


def test_comments_and_annotations_are_not_the_code():
    other = (
        "class Model:\n  size: float = 3\n  def forward(self, x):\n    return (2 * x) + self.size"
    )
    assert computed(SOURCE) == computed(other)


@pytest.mark.parametrize(
    ("old", "new"), [("+", "-"), ("2 *", "2.5 *"), ("= 3", "= 4"), ("2 * x", "x * 2")]
)
def test_what_is_computed_is_the_code(old, new):
    assert old in SOURCE and computed(SOURCE) != computed(SOURCE.replace(old, new))


def test_the_code_is_all_that_the_model_imports(monkeypatch):
    """A line more in any of these modules is other code; training's are not among them."""
    found, original = [], graph_digest.syntax

    def recorded(name):
        found.append(name)
        return original(name)

    monkeypatch.setattr(graph_digest, "syntax", recorded)
    wanted = graph_digest.code.__wrapped__()
    assert {name.removeprefix("infoatlas_train.model.") for name in found} == {
        "bias_correction", "critic", "hypernetwork", "infoatlas", "neighbour_features",
        "refinement", "infoatlas_export.onnx",
    }  # fmt: skip
    for changed in found:

        def with_a_line_more(name, changed=changed):
            tree = original(name)
            body = tree.body if name != "infoatlas_export.onnx" else _graph(tree).body
            body.extend(ast.parse("more = 1").body if name == changed else [])
            return tree

        monkeypatch.setattr(graph_digest, "syntax", with_a_line_more)
        assert graph_digest.code.__wrapped__() != wanted, changed


def _graph(tree):
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Graph")


def test_code_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(graph_digest, "TRACED", ("infoatlas_nowhere.onnx", "Graph"))
    with pytest.raises(RuntimeError, match="infoatlas_nowhere is not installed"):
        graph_digest.code.__wrapped__()


def test_graphs_that_no_export_has():
    proto = onnx.load_from_string(model_file.load("edge").bytes)
    proto.graph.node[5].input[0] = "nobody"
    with pytest.raises(ValueError, match="nothing computes nobody"):
        graph_digest.structure(proto)


def test_a_file_gets_its_graph(monkeypatch, tmp_path, capsys):
    """Where today's export of its checkpoint has the same; nothing else changes."""
    shipped = model_file.load("edge").bytes
    proto = onnx.load_from_string(shipped)
    traced = onnx.load_from_string(shipped)
    own = graph_digest.GRAPH, graph_digest.CODE
    kept = {p.key: p.value for p in proto.metadata_props if p.key not in own}
    onnx.helper.set_model_props(proto, kept)
    path = tmp_path / "older.onnx"
    path.write_bytes(export.sealed(proto))
    monkeypatch.setattr(state_graph, "load", lambda checkpoint: (checkpoint, {}))
    monkeypatch.setattr(state_graph, "to_onnx", lambda model, metadata: traced)
    state_graph.main(str(path), "edge.pt")
    assert "infoatlas.graph" in capsys.readouterr().out
    assert path.read_bytes() == shipped
    traced.graph.node[9].op_type = "Sub"
    with pytest.raises(SystemExit, match="another graph than today's export of edge"):
        state_graph.main(str(path), "edge.pt")
    assert path.read_bytes() == shipped


@pytest.mark.parametrize(
    "line",
    ["import infoatlas_train.model.critic", "from infoatlas_train.model import critic",
     "from . import critic", "from .critic import Critic"],
)  # fmt: skip
def test_imports_that_would_not_be_followed_are_refused(line):
    tree = ast.parse("import torch\nfrom infoatlas_train.model.critic import Critic\n" + line)
    with pytest.raises(ValueError, match="in line 3: write"):
        graph_digest.imported(tree, "infoatlas")
    followed = graph_digest.imported(ast.Module(tree.body[:2], []), "infoatlas")
    assert followed == ["infoatlas_train.model.critic"]
