"""`Event`, the record of a detection in a running stream."""

from dataclasses import dataclass

KEY_STATE, COUPLED, DECOUPLED = "key state", "coupled", "decoupled"


@dataclass(frozen=True)
class Event:
    """A detection in a running stream, some steps after the step to which it is dated.

    Attributes
    ----------
    kind : {"key state", "coupled", "decoupled"}
        A key state of demonstrations (`KeyStateTracker`), or two groups of coordinates that begin
        or stop to move together (`CouplingDetector`).
    step, detected_step : int
        Step to which the event is dated, and step of the detection. Step 0 is the first one of the
        episode, or of the window since its last reset.
    stamp, detected_stamp : float or None
        Stamps of those steps, seconds; the steps themselves or None where no stamps are given.
    keystate : int or None
        For a key state: its number, from 0 (column of `KeyStates.steps`).
    score : float or None
        For a key state: similarity of the motion to that of the demonstrations there, 0 to 1.
    subtask : str or None
        For a key state: name of the sub-task at the detection, if known.
    value, stderr : float or None
        For a coupling: mutual information of the motions at the detection, and its calibrated
        standard error, nats. It is still high if a coupling ends because one side rests.
    z : float or None
        For a coupling: `value` in units of its noise of samples and slices.
    resolution : (float, float) or None
        For a coupling: smallest motion within a step that is resolved, in the units of the states.
        For each group, it is that of its coarsest coordinate, as given or as estimated at the
        detection.
    """

    kind: str
    step: int
    stamp: float | None
    detected_step: int
    detected_stamp: float | None
    keystate: int | None = None
    score: float | None = None
    value: float | None = None
    stderr: float | None = None
    z: float | None = None
    subtask: str | None = None
    resolution: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, float | str | list[float]]:
        """Fields of this kind of event as JSON-safe values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if value is not None
        }
