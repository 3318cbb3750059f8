"""Pretraining and calibration of models, and differentiable estimates, in torch."""

import sys

COMMAND = sys.argv[:1] == ["-m"]  # python -m infoatlas_train.build imports this package first
try:
    import torch  # noqa: F401
except KeyboardInterrupt:
    if not COMMAND:
        raise
    print("interrupted", file=sys.stderr)
    sys.exit(130)
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    text = "infoatlas_train needs torch: pip install 'infoatlas-rt[train]', in a clone '.[train]'"
    if not COMMAND:
        raise ModuleNotFoundError(text, name="torch") from None
    print(text, file=sys.stderr)
    sys.exit(2)
