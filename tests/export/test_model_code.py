"""The digest of the code of the model, and model files that get a new graph."""

import ast
import hashlib
import json
import types

import numpy as np
import onnx
import pytest

from infoatlas_export import model_code, regraph
from infoatlas_rt.models import model_file
from refusals import fails, refuses

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
    return model_code.computed(ast.parse(source))


def test_comments_and_annotations_are_not_the_code():
    other = (
        "class Model:\n  size: float = 3\n  def forward(self, x):\n    return (2 * x) + self.size"
    )
    assert computed(SOURCE) == computed(other)


@pytest.mark.parametrize(
    ("old", "new"), [("+", "-"), ("2 *", "2.5 *"), ("= 3", "= 4"), ("2 * x", "x * 2")]
)
def test_only_computing_code_is_in_the_digest(old, new):
    assert old in SOURCE and computed(SOURCE) != computed(SOURCE.replace(old, new))


def test_the_code_is_all_that_the_model_imports(monkeypatch):
    """A new line in one of these modules changes the digest; training modules do not count."""
    found, original = [], model_code.syntax

    def recorded(name):
        found.append(name)
        return original(name)

    monkeypatch.setattr(model_code, "syntax", recorded)
    wanted = model_code.code.__wrapped__()
    assert {name.removeprefix("infoatlas_train.model.") for name in found} == {
        "bias_correction", "critic", "hypernetwork", "infoatlas", "neighbour_features",
        "refinement", "infoatlas_export.onnx",
    }  # fmt: skip
    for changed in found:

        def with_a_line_more(name, changed=changed):
            tree = original(name)
            body = next((n for n in tree.body if getattr(n, "name", "") == "Graph"), tree).body
            body.extend(ast.parse("more = 1").body if name == changed else [])
            return tree

        monkeypatch.setattr(model_code, "syntax", with_a_line_more)
        assert model_code.code.__wrapped__() != wanted, changed


def test_code_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(model_code, "TRACED", ("infoatlas_nowhere.onnx", "Graph"))
    fails(RuntimeError, "infoatlas_nowhere is not installed", model_code.code.__wrapped__)


@pytest.fixture
def other_graph(monkeypatch):
    """The current export of edge with one more node, and weights of another machine."""
    traced = onnx.load_from_string(model_file.load("edge").bytes)
    node = next(n for n in traced.graph.node if "mi" in n.output)
    node.output[list(node.output).index("mi")] = "before"
    traced.graph.node.append(onnx.helper.make_node("Identity", ["before"], ["mi"], name="same"))
    bias = next(w for w in traced.graph.initializer if w.name.endswith("merged_out_bias"))
    values = onnx.numpy_helper.to_array(bias) + np.float32(1e-3)
    bias.CopyFrom(onnx.numpy_helper.from_array(values, bias.name))
    config = types.SimpleNamespace(config=types.SimpleNamespace(dim=5))
    monkeypatch.setattr(regraph, "load", lambda checkpoint: (config, {}))
    monkeypatch.setattr(regraph, "to_onnx", lambda model, metadata: traced)
    return traced


def manifest(path, made):
    text = json.dumps({"stages": {"calibrate": {"outputs": {"model.onnx": made}}}})
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gets_todays_graph_with_its_own_weights(other_graph, tmp_path, capsys):
    path, shipped = tmp_path / "older.onnx", model_file.load("edge").bytes
    path.write_bytes(shipped)
    before = hashlib.sha256(shipped).hexdigest()
    record = manifest(tmp_path / "manifest.json", before)
    regraph.main(str(path), "edge.pt", str(record))
    made = hashlib.sha256(path.read_bytes()).hexdigest()
    assert made in capsys.readouterr().out
    assert json.loads(record.read_text())["regraphed"] == {"from": before, "to": made}
    found = onnx.load_from_string(path.read_bytes())
    assert found.graph.node[-1].op_type == "Identity"
    had = {w.name: w for w in onnx.load_from_string(shipped).graph.initializer}
    assert all(w == had[w.name] for w in found.graph.initializer)
    regraph.main(str(path), "edge.pt", str(record))  # again, after the next change of the form
    assert json.loads(record.read_text())["regraphed"]["to"] == made


@pytest.mark.parametrize(
    ("change", "message"),
    [("value", "values differ by up to"), ("weight", "other weights"), ("file", "is not the file")],
)
def test_a_graph_that_is_not_the_same_is_refused(other_graph, tmp_path, change, message):
    path, shipped = tmp_path / "older.onnx", model_file.load("edge").bytes
    path.write_bytes(shipped)
    made = "0" * 64 if change == "file" else hashlib.sha256(shipped).hexdigest()
    record = manifest(tmp_path / "manifest.json", made)
    if change == "value":
        other_graph.graph.node[-1].op_type = "Neg"
    if change == "weight":
        weights = (w for w in other_graph.graph.initializer if w.name.startswith("gap."))
        next(weights).name = "gap.another"
    refuses(message, regraph.main, str(path), "edge.pt", str(record))
    assert path.read_bytes() == shipped


@pytest.mark.parametrize(
    "line",
    ["import infoatlas_train.model.critic", "from infoatlas_train.model import critic",
     "from . import critic", "from .critic import Critic"],
)  # fmt: skip
def test_imports_that_would_not_be_followed_are_refused(line):
    tree = ast.parse("import torch\nfrom infoatlas_train.model.critic import Critic\n" + line)
    fails(ValueError, "in line 3: write", model_code.imported, tree, "infoatlas")
    followed = model_code.imported(ast.Module(tree.body[:2], []), "infoatlas")
    assert followed == ["infoatlas_train.model.critic"]
