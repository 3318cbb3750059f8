"""The shipped models in both engines."""

from functools import cache

import pytest

import infoatlas_native
import inputs
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.models import model_file

MODELS = ("edge", "base", "wide")


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def backends(name):
    """Backends of ONNX Runtime and of the native engine."""
    return _backends(name)


@cache
def _backends(name):
    file = model_file.load(name)
    return make_backend(file, "cpu", 2), make_backend(file, "native", 2)


@pytest.fixture
def engine():
    return infoatlas_native.Engine(inputs.content("edge"), threads=2)
