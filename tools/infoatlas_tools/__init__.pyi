# The public names, and where they are defined. `infoatlas_rt.lazy` reads this list.

from .analysis.conditional import (
    conditional_mutual_information as conditional_mutual_information,
    transfer_entropy as transfer_entropy,
)
from .analysis.independence import independence_test as independence_test
from .analysis.screening import (
    lag_scan as lag_scan,
    pairwise_mutual_information as pairwise_mutual_information,
    rank_features as rank_features,
)
from .analysis.selector import InformationSelector as InformationSelector
from .annotations.annotate import annotate as annotate
from .curves.ensemble_curve import mi_curve as mi_curve
from .files.load import load_trajectories as load_trajectories
from .keystates.discovery import discover_keystates as discover_keystates
from .keystates.key_states import KeyStates as KeyStates
from .keystates.subtasks.poses import Pose as Pose, Position as Position
from .keystates.subtasks.subtask_results import Subtasks as Subtasks
from .trajectories import Trajectories as Trajectories
