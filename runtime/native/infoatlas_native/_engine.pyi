import numpy as np
from numpy.typing import NDArray

INTERFACE: int

class Engine:
    dim: int
    target: str
    def __init__(self, content: bytes, threads: int) -> None: ...
    def run(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        shifts: NDArray[np.int64],
        sequence: NDArray[np.int64],
        mi: NDArray[np.float32],
        pointwise: NDArray[np.float32],
        influence: NDArray[np.float32],
        spread: NDArray[np.float32],
    ) -> None: ...
