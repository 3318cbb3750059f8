"""A ring buffer for the newest steps, in constant memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .copies import Stateful


class Ring(Stateful):
    """Values of the newest steps; step t is stored in slot t % length.

    It is indexed by a step, or by an array of steps, and then along the other axes: `ring[steps,
    rows]`. The slots are `values` [length, *shape]. Those that have not been written are `fill`.
    """

    def __init__(
        self, length: int, *shape: int, fill: float | bool = 0.0, dtype: Any = np.float64
    ) -> None:
        self.values: NDArray[Any] = np.full((length, *shape), fill, dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Any:
        return self.values[self._slots(at)]

    def __setitem__(self, at: Any, values: Any) -> None:
        self.values[self._slots(at)] = values

    def _slots(self, at: Any) -> Any:
        if isinstance(at, tuple):
            return (at[0] % len(self.values), *at[1:])
        return at % len(self.values)
