"""Pretraining of models, their calibration, and estimates with gradients: all in torch."""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError(
        "infoatlas_train needs torch: pip install 'infoatlas-rt[train]'", name="torch"
    )
