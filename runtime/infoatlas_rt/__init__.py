"""infoatlas-rt: mutual information at control-loop rate.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .coupling import CouplingDetector, CouplingEvent
    from .data import load_trajectories
    from .errors import InfoAtlasError, InputError, ModelError, ProviderError
    from .estimator import Estimator, estimate
    from .extrema import KeyStateDetector
    from .independence import TestResult, independence_test
    from .keystates import KeyStates, discover_keystates
    from .online import OnlineEstimator
    from .pairs import PooledPairs
    from .preprocess import canonical_quaternion
    from .result import Estimate
    from .tracker import KeyStateTracker
    from .written import Critic

__version__ = "0.1.0"
__all__ = [
    "CouplingDetector",
    "CouplingEvent",
    "Critic",
    "Estimate",
    "Estimator",
    "InfoAtlasError",
    "InputError",
    "KeyStateDetector",
    "KeyStateTracker",
    "KeyStates",
    "ModelError",
    "OnlineEstimator",
    "PooledPairs",
    "ProviderError",
    "TestResult",
    "canonical_quaternion",
    "discover_keystates",
    "estimate",
    "independence_test",
    "load_trajectories",
]

_HOME = {
    "KeyStates": "keystates",
    "discover_keystates": "keystates",
    "KeyStateTracker": "tracker",
    "load_trajectories": "data",
    "CouplingDetector": "coupling",
    "CouplingEvent": "coupling",
    "Critic": "written",
    "Estimate": "result",
    "Estimator": "estimator",
    "estimate": "estimator",
    "TestResult": "independence",
    "independence_test": "independence",
    "KeyStateDetector": "extrema",
    "OnlineEstimator": "online",
    "PooledPairs": "pairs",
    "canonical_quaternion": "preprocess",
    "InfoAtlasError": "errors",
    "InputError": "errors",
    "ModelError": "errors",
    "ProviderError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
