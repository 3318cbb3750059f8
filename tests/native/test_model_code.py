"""The engine accepts files of the code that it implements, and refuses others with a reason."""

import numpy as np
import onnx
import pytest

import infoatlas_native
import inputs
from infoatlas_export import model_code
from infoatlas_native import Engine
from infoatlas_rt import Estimator
from infoatlas_rt.errors import ProviderError
from infoatlas_rt.models import model_file
from infoatlas_rt.models.onnx_content import CHECKSUM, checksum
from refusals import fails


def test_the_engine_follows_the_code_of_the_model():
    assert infoatlas_native.CODE[0] == model_code.code(), (
        "the code of the model has changed: let the stages of runtime/native/src follow it, run "
        "make test-native, and put its digest first into IMPLEMENTED of model_code.cpp"
    )


def test_shipped_models_state_their_code(name):
    assert model_file.load(name).metadata["code"] in infoatlas_native.CODE


@pytest.mark.parametrize(
    ("code", "reason"),
    [("0" * 64, "infoatlas.code is 000000000000"), (None, "does not state which graph it has")],
    ids=["other", "none"],
)
def test_files_of_other_code_are_refused(code, reason, tmp_path, caplog):
    """`auto` evaluates the graph in the file with ONNX Runtime."""
    proto = onnx.load_from_string(inputs.content("edge"))
    entries = {p.key: p.value for p in proto.metadata_props if p.key != model_code.CODE}
    entries = {key: entries[key] for key in entries if key != CHECKSUM}
    entries |= {model_code.CODE: code} if code else {}
    onnx.helper.set_model_props(proto, entries)
    own = checksum(proto.SerializeToString(deterministic=True))
    onnx.helper.set_model_props(proto, entries | {CHECKSUM: own})
    path = tmp_path / "other.onnx"
    path.write_bytes(proto.SerializeToString(deterministic=True))
    with pytest.raises(ProviderError, match=rf"{reason}.*use provider='cpu'"):
        Estimator(path, provider="native", threads=1)
    estimator = Estimator(path, provider="auto", threads=1)
    assert estimator.backend.provider == "cpu" and reason in caplog.text
    x = np.random.default_rng(0).standard_normal((60, 2))
    assert np.isfinite(estimator.estimate(x, x).mi)


def test_a_second_graph_is_refused():
    """Readers of protocol buffers merge two graphs, so weights would come from both."""
    twice = inputs.content("edge") + b"\x3a\x00"  # field 7, empty
    fails(RuntimeError, "has 2 graphs", Engine, twice)
