"""infoatlas-rt: mutual information at control-loop rate.

This package is what a robot runs; `infoatlas_tools` works on recordings. `__init__.pyi` lists the
public names.
"""

from .lazy import public

__version__ = "0.3.0"
__getattr__, __dir__, __all__ = public(__name__, __file__)
