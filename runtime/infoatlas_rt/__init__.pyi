# The public names, and where they are defined. `__init__.py` reads this list.

from .curves.ensemble_curve import MICurve as MICurve, mi_curve as mi_curve
from .curves.extrema import Extremum as Extremum, ExtremumDetector as ExtremumDetector
from .errors import (
    InfoAtlasError as InfoAtlasError,
    InputError as InputError,
    ModelError as ModelError,
    ProviderError as ProviderError,
)
from .estimation.cached import estimate as estimate
from .estimation.canonical import canonical_quaternion as canonical_quaternion
from .estimation.conditional import (
    conditional as conditional,
    transfer_entropy as transfer_entropy,
)
from .estimation.conditional_result import ConditionalEstimate as ConditionalEstimate
from .estimation.estimator import Estimator as Estimator
from .estimation.independence import (
    IndependenceResult as IndependenceResult,
    independence_test as independence_test,
)
from .estimation.result import Estimate as Estimate, WindowEstimate as WindowEstimate
from .estimation.screening import (
    lag_scan as lag_scan,
    mutual_info_scorer as mutual_info_scorer,
    pairwise as pairwise,
    rank_features as rank_features,
)
from .estimation.screening_results import (
    FeatureRanking as FeatureRanking,
    LagScan as LagScan,
    PairwiseInformation as PairwiseInformation,
)
from .files.load import load_trajectories as load_trajectories
from .inputs.trajectories import Trajectories as Trajectories
from .keystates.discovery import discover_keystates as discover_keystates
from .keystates.result import KeyStates as KeyStates
from .keystates.subtasks.poses import Pose as Pose, Position as Position
from .keystates.subtasks.result import Subtask as Subtask, Subtasks as Subtasks
from .live.subtasks import SubtaskState as SubtaskState
from .live.task import Task as Task
from .live.tracker import KeyStateTracker as KeyStateTracker
from .streams.coupling import CouplingDetector as CouplingDetector
from .streams.events import Event as Event
from .streams.online import OnlineEstimator as OnlineEstimator
from .vector.pooled_pairs import PooledPairs as PooledPairs
from .vector.tracker import VectorTracker as VectorTracker
from .vector.windows import VectorWindows as VectorWindows
from .vector.wrapper import KeyStateWrapper as KeyStateWrapper

__version__: str
