"""What works on recordings: key states, sub-tasks, annotations, tests, curves, bags and files.

A robot loads `infoatlas_rt` alone. `__init__.pyi` lists the public names.
"""

from infoatlas_rt.lazy import public

__getattr__, __dir__, __all__ = public(__name__, __file__)
