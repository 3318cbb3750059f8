"""Disturb the frames of rendered demonstrations, as real cameras do.

    disturbance = Disturbance("noise", demonstrations=60, seed=0)
    frames = disturbance.frames(7, frames)  # of demonstration 7
    points = disturbance.points(7, points)  # true pixels, which move with the camera

Values are those of a demonstration of 320 x 240 pixels; shifts scale with the width.
"""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

WIDTH = 320  # pixels, to which shifts refer
NOISE = 15.0  # levels of 255, standard deviation of each pixel and channel
GAIN, BALANCE, FLICKER = 0.12, 0.06, 0.05  # largest relative change
SHAKE, KEPT = 1.5, 0.7  # pixels, standard deviation, and correlation of consecutive frames
MOVED, TURNED = 10.0, 1.0  # pixels and degrees, largest, of a camera between demonstrations
ONCE, SHARE = (18.0, -12.0), 0.4  # pixels that a camera moves, before the last demonstrations

Frames = NDArray[np.uint8]


class Disturbance:
    """A disturbance by name.

    none; noise: of the sensor; gain, balance (of the colours): of a demonstration; flicker, shake:
    of a frame; moved: the camera, between demonstrations; moved_once: the camera, before the last
    40% of the demonstrations; grey; all: all except grey and moved_once.
    """

    def __init__(self, name: str, demonstrations: int, seed: int = 0) -> None:
        if name not in NAMES:
            raise ValueError(f"no disturbance {name}: there are {', '.join(NAMES)}")
        self.name, self.demonstrations, self.seed = name, demonstrations, seed

    def frames(self, demonstration: int, frames: Frames) -> Frames:
        """Frames [T, h, w, 3] of a demonstration, disturbed."""
        for part in self._parts():
            random = self._random(demonstration, part)
            if part.startswith("moved"):
                frames = _warp(frames, [self._camera(demonstration, part)] * len(frames))
            else:
                frames = CHANGES[part](frames, random)
        return frames

    def points(self, demonstration: int, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """True pixels [..., 2] (x, y) in a picture 320 wide, after the camera moved."""
        points = np.asarray(points, np.float64)
        for part in self._parts():
            if part.startswith("moved"):
                move = self._camera(demonstration, part)
                points = points @ move[:, :2].T + move[:, 2]
        return points

    def _parts(self) -> list[str]:
        if self.name == "all":
            return ["moved", *(part for part in CHANGES if part != "grey")]
        return [] if self.name == "none" else [self.name]

    def _random(self, demonstration: int, part: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, demonstration, NAMES.index(part)])

    def _camera(self, demonstration: int, part: str) -> NDArray[np.float64]:
        """Affine map [2, 3] of a picture 320 wide."""
        if part == "moved_once":
            late = demonstration >= (1 - SHARE) * self.demonstrations
            return np.array([[1, 0, ONCE[0] * late], [0, 1, ONCE[1] * late]], np.float64)
        random = self._random(demonstration, part)
        turn = cv2.getRotationMatrix2D(
            (WIDTH / 2, WIDTH * 3 / 8), random.uniform(-TURNED, TURNED), 1
        )
        turn[:, 2] += random.uniform(-MOVED, MOVED, 2)
        return np.asarray(turn, np.float64)


def _scaled(frames: Frames, factors: NDArray[np.floating]) -> Frames:
    """Frames times factors, which broadcast to [T, h, w, 3]."""
    return np.clip(np.rint(frames * factors.astype(np.float32)), 0, 255).astype(np.uint8)


def _warp(frames: Frames, moves: list[NDArray[np.float64]]) -> Frames:
    """Frames, each moved by an affine map of pictures 320 wide."""
    height, width = frames.shape[1:3]
    scale = np.array([1, 1, width / WIDTH])
    return np.array(
        [
            cv2.warpAffine(frame, move * scale, (width, height), borderMode=cv2.BORDER_REPLICATE)
            for frame, move in zip(frames, moves, strict=True)
        ],
        np.uint8,
    ).reshape(frames.shape)


def _noise(frames: Frames, random: np.random.Generator) -> Frames:
    noisy = frames + NOISE * random.standard_normal(frames.shape, np.float32)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def _shake(frames: Frames, random: np.random.Generator) -> Frames:
    shift, moves = random.normal(0, SHAKE, 2), []
    for _ in frames:
        shift = KEPT * shift + random.normal(0, SHAKE * np.sqrt(1 - KEPT**2), 2)
        moves.append(np.column_stack([np.eye(2), shift]))
    return _warp(frames, moves)


def _grey(frames: Frames, random: np.random.Generator) -> Frames:
    grey = np.rint(frames @ np.array([0.299, 0.587, 0.114], np.float32)).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=-1)


CHANGES: dict[str, Callable[[Frames, np.random.Generator], Frames]] = {
    "shake": _shake,
    "gain": lambda frames, random: _scaled(frames, 1 + random.uniform(-GAIN, GAIN, 1)),
    "balance": lambda frames, random: _scaled(frames, 1 + random.uniform(-BALANCE, BALANCE, 3)),
    "flicker": lambda frames, random: _scaled(
        frames, 1 + random.uniform(-FLICKER, FLICKER, (len(frames), 1, 1, 1))
    ),
    "noise": _noise,
    "grey": _grey,
}
NAMES = ("none", *CHANGES, "moved", "moved_once", "all")
