"""infoatlas-rt: mutual information at control-loop rate.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .coupling import CouplingDetector, CouplingEvent
    from .data_files import load_trajectories
    from .discovery import discover_keystates
    from .ensemble_curve import MICurve, mi_curve
    from .errors import InfoAtlasError, InputError, ModelError, OutputError, ProviderError
    from .estimator import Estimator, estimate
    from .explanation import CoordinateChange, GroupChange, Information
    from .extrema import KeyState, KeyStateDetector, find
    from .independence import TestResult, independence_test
    from .keystates import KeyStates
    from .lagged_pairs import Pairs, PooledPairs, ensemble_pairs
    from .lerobot_files import read_lerobot
    from .maniskill import KeyStateWrapper
    from .maniskill_files import read_maniskill
    from .preprocess import canonical_quaternion
    from .result import Estimate, WindowEstimate
    from .sliding_window import OnlineEstimator
    from .tracker import KeyStateEvent, KeyStateTracker
    from .trajectories import Trajectories
    from .vector_tracker import VectorTracker
    from .vector_windows import VectorWindows
    from .written_critic import Critic

__version__ = "0.1.0"
__all__ = [
    "CoordinateChange",
    "CouplingDetector",
    "CouplingEvent",
    "Critic",
    "Estimate",
    "Estimator",
    "GroupChange",
    "InfoAtlasError",
    "Information",
    "InputError",
    "KeyState",
    "KeyStateDetector",
    "KeyStateEvent",
    "KeyStateTracker",
    "KeyStateWrapper",
    "KeyStates",
    "MICurve",
    "ModelError",
    "OnlineEstimator",
    "OutputError",
    "Pairs",
    "PooledPairs",
    "ProviderError",
    "TestResult",
    "Trajectories",
    "VectorTracker",
    "VectorWindows",
    "WindowEstimate",
    "canonical_quaternion",
    "discover_keystates",
    "ensemble_pairs",
    "estimate",
    "find",
    "independence_test",
    "load_trajectories",
    "mi_curve",
    "read_lerobot",
    "read_maniskill",
]

_MODULES = {  # of each public name
    "coupling": ("CouplingDetector", "CouplingEvent"),
    "data_files": ("load_trajectories",),
    "discovery": ("discover_keystates",),
    "ensemble_curve": ("MICurve", "mi_curve"),
    "errors": ("InfoAtlasError", "InputError", "ModelError", "OutputError", "ProviderError"),
    "estimator": ("Estimator", "estimate"),
    "explanation": ("CoordinateChange", "GroupChange", "Information"),
    "extrema": ("KeyState", "KeyStateDetector", "find"),
    "independence": ("TestResult", "independence_test"),
    "keystates": ("KeyStates",),
    "lagged_pairs": ("Pairs", "PooledPairs", "ensemble_pairs"),
    "lerobot_files": ("read_lerobot",),
    "maniskill": ("KeyStateWrapper",),
    "maniskill_files": ("read_maniskill",),
    "preprocess": ("canonical_quaternion",),
    "result": ("Estimate", "WindowEstimate"),
    "sliding_window": ("OnlineEstimator",),
    "tracker": ("KeyStateEvent", "KeyStateTracker"),
    "trajectories": ("Trajectories",),
    "vector_tracker": ("VectorTracker",),
    "vector_windows": ("VectorWindows",),
    "written_critic": ("Critic",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
