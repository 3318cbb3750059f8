"""infoatlas-rt: mutual information at control-loop rate.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curves.ensemble_curve import MICurve, mi_curve
    from .curves.extrema import KeyState, KeyStateDetector, find
    from .curves.lagged_pairs import Pairs, PooledPairs, ensemble_pairs
    from .errors import InfoAtlasError, InputError, ModelError, OutputError, ProviderError
    from .estimation.canonical import canonical_quaternion
    from .estimation.critic import Critic
    from .estimation.estimator import Estimator, estimate
    from .estimation.independence import TestResult, independence_test
    from .estimation.result import Estimate, WindowEstimate
    from .files.lerobot import read_lerobot
    from .files.load import load_trajectories
    from .files.maniskill import read_maniskill
    from .inputs.trajectories import Trajectories
    from .keystates.discovery import discover_keystates
    from .keystates.explanation import CoordinateChange, GroupChange, Information
    from .keystates.result import KeyStates
    from .keystates.tracker import KeyStateEvent, KeyStateTracker
    from .streams.coupling import CouplingDetector, CouplingEvent
    from .streams.sliding_window import OnlineEstimator
    from .vector.tracker import VectorTracker
    from .vector.windows import VectorWindows
    from .vector.wrapper import KeyStateWrapper

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
    "streams.coupling": ("CouplingDetector", "CouplingEvent"),
    "files.load": ("load_trajectories",),
    "keystates.discovery": ("discover_keystates",),
    "curves.ensemble_curve": ("MICurve", "mi_curve"),
    "errors": ("InfoAtlasError", "InputError", "ModelError", "OutputError", "ProviderError"),
    "estimation.estimator": ("Estimator", "estimate"),
    "keystates.explanation": ("CoordinateChange", "GroupChange", "Information"),
    "curves.extrema": ("KeyState", "KeyStateDetector", "find"),
    "estimation.independence": ("TestResult", "independence_test"),
    "keystates.result": ("KeyStates",),
    "curves.lagged_pairs": ("Pairs", "PooledPairs", "ensemble_pairs"),
    "files.lerobot": ("read_lerobot",),
    "vector.wrapper": ("KeyStateWrapper",),
    "files.maniskill": ("read_maniskill",),
    "estimation.canonical": ("canonical_quaternion",),
    "estimation.result": ("Estimate", "WindowEstimate"),
    "streams.sliding_window": ("OnlineEstimator",),
    "keystates.tracker": ("KeyStateEvent", "KeyStateTracker"),
    "inputs.trajectories": ("Trajectories",),
    "vector.tracker": ("VectorTracker",),
    "vector.windows": ("VectorWindows",),
    "estimation.critic": ("Critic",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
