from typing import Any

import numpy as np
from numpy.typing import NDArray

CODE: tuple[str, ...]
INTERFACE: int

def finish_calls() -> None: ...

class Engine:
    dim: int
    diagnostics: int
    missing_threads: str
    target: str
    threads: int
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
        diagnostics: NDArray[np.float32] | None = None,
    ) -> None: ...
    def canonicalise(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        projections_x: NDArray[np.float64] | None,
        projections_y: NDArray[np.float64] | None,
        score_table: NDArray[np.float64],
        canonical_x: NDArray[np.float32],
        canonical_y: NDArray[np.float32],
        correlations: NDArray[np.float64],
        rank_x: NDArray[np.int64],
        rank_y: NDArray[np.int64],
        saturated: NDArray[np.bool_],
    ) -> None: ...

class Estimating:
    seconds: dict[str, float]
    def __init__(
        self,
        engine: Engine,
        n_min: int,
        n_max: int,
        default_shifts: int,
        pairs: int,
        k: int,
        slices: int,
        sides: int,
        shifts: int,
        seed: int,
    ) -> None: ...
    def run(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        time_series: bool,
        resolution_x: NDArray[np.float64] | None,
        resolution_y: NDArray[np.float64] | None,
        redundant_x: tuple[int, ...] | None,
        redundant_y: tuple[int, ...] | None,
        pointwise: NDArray[np.float64],
        influence: NDArray[np.float64],
    ) -> dict[str, Any] | None: ...
