# The public names, and where they are defined. `lazy.py` reads this list.

from .errors import InfoAtlasError as InfoAtlasError, InputError as InputError
from .estimation.cached import estimate as estimate
from .estimation.estimator import Estimator as Estimator
from .estimation.result import Estimate as Estimate
from .live.task import Task as Task
from .live.tracker import KeyStateTracker as KeyStateTracker
from .streams.coupling import CouplingDetector as CouplingDetector
from .streams.events import Event as Event
from .streams.extrema import ExtremumDetector as ExtremumDetector
from .streams.online import OnlineEstimator as OnlineEstimator
from .vector.pooled_pairs import PooledPairs as PooledPairs
from .vector.tracker import VectorTracker as VectorTracker
from .vector.windows import VectorWindows as VectorWindows
from .vector.wrapper import KeyStateWrapper as KeyStateWrapper

__version__: str
