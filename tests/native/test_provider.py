"""provider="native" if the package is installed: chosen by auto, in copies, and by the command."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from command_line import answer, printed
from infoatlas_rt import Estimator
from infoatlas_rt.backends import choice, native
from infoatlas_rt.errors import ProviderError
from infoatlas_rt.models import model_file

X, Y = np.random.default_rng(0).standard_normal((2, 60, 3))


def test_the_page(capsys):
    """The code block of docs/native.md."""
    page = Path(__file__).parents[2] / "docs" / "native.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == "native\n"


def test_copies_have_the_same_bits():
    estimator = Estimator(provider="native", threads=1)
    wanted = estimator.estimate(X, Y)
    for other in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert (other.backend.provider, other.backend.threads) == ("native", 1)
        np.testing.assert_array_equal(other.estimate(X, Y).pointwise, wanted.pointwise)


def test_the_package_has_the_interface_that_the_runtime_calls():
    import infoatlas_native

    assert infoatlas_native.INTERFACE == native.INTERFACE


def test_a_model_that_it_does_not_take(monkeypatch, caplog):
    """The error suggests another provider, which auto uses."""
    file = model_file.load("edge")
    other = file.bytes.replace(b"hypernetwork.", b"hypernetwerk.")
    changed = copy.copy(file)
    object.__setattr__(changed, "bytes", other)
    with pytest.raises(ProviderError, match=r"does not take .*edge\.onnx: .*provider='cpu'"):
        choice.make_backend(changed, "native")
    assert choice.make_backend(changed, "auto").provider == "cpu"
    assert "passes over 'native'" in caplog.text


def test_info_and_bench(capsys):
    found = answer(capsys, "info")["providers"]
    assert found["auto"] == "native" and found["native"].startswith("the C++ engine")
    quick = ["bench", "--k", "1", "--slices", "2", "--dims", "3", "3", "--duration", "0.05"]
    assert "Model edge on native, " in printed(capsys, *quick)
    found = answer(capsys, *quick, "--provider", "native")
    assert [report["provider"] for report in found["reports"]] == ["native", "cpu"]
    assert found["native_over_cpu"]["total"]["median"] > 0
    assert "infoatlas-rt" in found["reports"][0]["versions"]
