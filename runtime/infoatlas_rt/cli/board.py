"""Reads what a board measures: the GPU's name and memory, and energy.

There are two sources: NVML for discrete GPUs (package nvidia-ml-py), and the INA3221 power monitor
of Jetson modules, whose values are files in Linux. Without either, all values are None.
"""

import threading
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any

INA3221 = Path("/sys/bus/i2c/drivers/ina3221")
INPUT_RAIL = "VDD_IN"  # of the entire module; AGX modules report only parts
PERIOD = 0.02  # seconds between measurements of a rail, which its driver averages over


class Board:
    """The first GPU, or the module that contains it; its name is None without NVML."""

    def __init__(self, rails: Path = INA3221) -> None:
        self._nvml, self._handle = _nvml()
        self.name: str | None = None
        if self._handle is not None:
            self.name = str(self._nvml.nvmlDeviceGetName(self._handle))
        self._rails = find_rails(rails)

    def memory_mb(self) -> float | None:
        """GPU memory in use by all processes, MB; None if not available."""
        if self._handle is None:
            return None
        try:
            return float(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used) / 2**20
        except self._nvml.NVMLError:  # a GPU that shares the host's memory
            return None

    def energy(self) -> "Energy":
        """A context manager that measures energy."""
        return Energy(self)

    def joules(self) -> float | None:
        """The GPU's energy counter, J; None if it has none."""
        if self._handle is None:
            return None
        try:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3
        except self._nvml.NVMLError:  # before Volta
            return None

    def watts(self) -> float | None:
        """Present power of a Jetson's rails, W; None on other boards."""
        if not self._rails:
            return None
        try:
            return sum(int(v.read_text()) * int(a.read_text()) for v, a in self._rails) / 1e6
        except (OSError, ValueError):
            return None


class Energy:
    """Energy between entering and leaving, in `joules`; None if the board does not report it.

    A counter is read twice. The power of a rail is read every 20 ms by a thread, and integrated.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._start: float | None = None
        self.joules: float | None = None

    def __enter__(self) -> "Energy":
        self._start = self._board.joules()
        if self._start is None and self._board.watts() is not None:
            self._thread = threading.Thread(target=self._sum, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end = self._board.joules()
        if self._start is not None and end is not None:
            self.joules = end - self._start
        if self._thread is not None:
            self._stop.set()
            self._thread.join()

    def _sum(self) -> None:
        total, last = 0.0, perf_counter()
        while True:
            over = self._stop.wait(PERIOD)
            power, now = self._board.watts(), perf_counter()
            if power is None:
                return
            total, last = total + power * (now - last), now
            if over:
                self.joules = total
                return


def find_rails(folder: Path) -> list[tuple[Path, Path]]:
    """Files of voltage (mV) and current (mA) of a Jetson's input, or of its parts; or no files."""
    rails = {}
    for label in sorted(folder.glob("*/hwmon/hwmon*/in*_label")):
        number = label.name[len("in") : -len("_label")]
        voltage = label.with_name(f"in{number}_input")
        current = label.with_name(f"curr{number}_input")
        if voltage.is_file() and current.is_file():
            rails[label.read_text().strip()] = voltage, current
    return [rails[INPUT_RAIL]] if INPUT_RAIL in rails else list(rails.values())


def _nvml() -> tuple[Any, Any]:
    """The module and the handle of the first GPU, or (None, None)."""
    try:
        import pynvml
    except ImportError:
        return None, None
    try:
        pynvml.nvmlInit()
        return pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
    except pynvml.NVMLError:  # no driver, or no GPU
        return None, None
