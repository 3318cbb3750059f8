"""Pretraining and calibration of models, and differentiable estimates, in torch."""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError(
        "infoatlas_train needs torch: pip install 'infoatlas-rt[train]'", name="torch"
    )
