"""Render demonstrations by MuJoCo, and write their images beside true poses and events.

A file NAME.npz holds, of N demonstrations with T steps in all, of which S are rendered:

    frames_front, frames_wrist  [S, h, w, 3] uint8, RGB
    frame_steps                 [S] int64, step of each frame in its demonstration
    frame_lengths, lengths      [N] int64, frames and steps of each demonstration
    states, names               [T, d] float32 (rad, m), and the names of the columns
    poses, pose_names           [T, p] float32: true poses (m, quaternion, w first), NaN if absent
    rate                        steps per second
    events                      structured [E]: demonstration, step, kind, held, reference
    object_names                [O]
    points_front, points_wrist  [N, O, 2] float32: pixels (x, y) of the centre at step 0, or NaN
    pixels_front, pixels_wrist  [N, O] int64: pixels of the object that are visible at step 0
"""

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ..tasks.playback import below

OUT = Path("build/cameras")
WIDTH, HEIGHT = 320, 240
CAMERAS = ("front", "wrist")
TEXTS = [(name, "U16") for name in ("kind", "held", "reference")]
EVENT = np.dtype([("demonstration", "i8"), ("step", "i8"), *TEXTS])


@dataclass(eq=False)
class Demonstration:
    """A demonstration, and what MuJoCo needs to render it."""

    model: mujoco.MjModel
    positions: NDArray[np.float64]  # [T, nq]
    states: NDArray[np.float32]  # [T, d]
    poses: dict[str, NDArray[np.float32]]  # true pose [T, 7] of each object and tool; NaN if absent
    bodies: dict[str, str]  # name of an object -> its body in the model
    events: list[tuple[int, str, str, str]]  # step, kind, held, reference
    # "front" and "wrist" -> a camera of the model.
    cameras: dict[str, str] = field(default_factory=lambda: {name: name for name in CAMERAS})
    groups: tuple[int, ...] = (1,)  # of shapes that are visible: those of collisions are not
    # Places [nbody, 3] of the bodies in their parents (m), if they differ from the model's.
    body_places: NDArray[np.float64] | None = None


def write(
    path: Path,
    demonstrations: Sequence[Demonstration],
    names: Sequence[str],
    rate: float,
    every: int,
) -> Path:
    """Render each `every`-th step, and write the file. Frames are not kept in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    steps = [np.arange(0, len(demo.states), every) for demo in demonstrations]
    partial = path.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, array in _truths(demonstrations, names, rate, steps).items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)
        for camera in CAMERAS:
            shape = (sum(map(len, steps)), HEIGHT, WIDTH, 3)
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            frames = render(demonstrations, steps, camera)
            with file.open(f"frames_{camera}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                for frame in tqdm(frames, f"{path.stem}, {camera}", shape[0]):
                    member.write(frame.tobytes())
    return partial.replace(path)


def render(
    demonstrations: Sequence[Demonstration], steps: Sequence[NDArray[np.int64]], camera: str
) -> Iterator[NDArray[np.uint8]]:
    """Frames [HEIGHT, WIDTH, 3] of a camera at `steps` of each demonstration."""
    for scene, demo, chosen in zip(_scenes(demonstrations), demonstrations, steps, strict=True):
        for step in chosen:
            scene.show(demo, step)
            yield scene.image(demo.cameras[camera])


class Scene:
    """A model, and a renderer of it."""

    def __init__(self, model: mujoco.MjModel) -> None:
        # A frame takes 10 ms on a CPU; with MuJoCo's own quality 180 ms, almost all for shadows.
        quality = model.vis.quality
        quality.shadowsize, quality.offsamples = 512, 0
        quality.numslices, quality.numstacks, quality.numquads = 14, 6, 2
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, WIDTH)
        model.vis.global_.offheight = max(model.vis.global_.offheight, HEIGHT)
        self.model, self.data = model, mujoco.MjData(model)
        self.renderer = mujoco.Renderer(model, HEIGHT, WIDTH)
        self.option = mujoco.MjvOption()
        self.option.sitegroup[:] = 0

    def show(self, demo: Demonstration, step: int) -> None:
        """Set the scene as at a step of a demonstration."""
        if demo.body_places is not None:
            self.model.body_pos[:] = demo.body_places
        self.option.geomgroup[:] = 0
        self.option.geomgroup[list(demo.groups)] = 1
        self.data.qpos[:] = demo.positions[step]
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def image(self, camera: str) -> NDArray[np.uint8]:
        """What a camera sees, [HEIGHT, WIDTH, 3]."""
        self.renderer.update_scene(self.data, camera, self.option)
        return self.renderer.render()

    def point(self, body: str, camera: str) -> NDArray[np.float64]:
        """Pixel (x, y) of the centre of a body's visible shapes, NaN behind the camera."""
        seen = self.data.camera(camera)
        away = self._centre(body) - seen.xpos
        x, y, z = seen.xmat.reshape(3, 3).T @ away
        if z >= 0:
            return np.full(2, np.nan)
        fovy = np.radians(self.model.camera(camera).fovy[0])
        scale = HEIGHT / 2 / np.tan(fovy / 2)
        return np.array([WIDTH / 2 - scale * x / z, HEIGHT / 2 + scale * y / z])

    def pixels(self, bodies: Iterable[str], camera: str) -> list[int]:
        """Number of visible pixels of each body, including its descendants."""
        self.renderer.enable_segmentation_rendering()
        image = self.image(camera)
        self.renderer.disable_segmentation_rendering()
        geoms = image[..., 0][image[..., 1] == mujoco.mjtObj.mjOBJ_GEOM]
        owners = self.model.geom_bodyid[geoms]
        return [int(np.isin(owners, below(self.model, body)).sum()) for body in bodies]

    def _centre(self, body: str) -> NDArray[np.float64]:
        geoms = np.isin(self.model.geom_bodyid, below(self.model, body))
        shown = geoms & (self.option.geomgroup[self.model.geom_group] == 1)
        return self.data.geom_xpos[shown if shown.any() else geoms].mean(axis=0)


def _scenes(demonstrations: Iterable[Demonstration]) -> Iterator[Scene]:
    """A scene for each demonstration; one for those in a row that share their model."""
    scene: Scene | None = None
    for demo in demonstrations:
        if scene is None or scene.model is not demo.model:
            if scene is not None:
                scene.renderer.close()
            scene = Scene(demo.model)
        yield scene
    if scene is not None:
        scene.renderer.close()


def _truths(
    demonstrations: Sequence[Demonstration],
    names: Sequence[str],
    rate: float,
    steps: Sequence[NDArray[np.int64]],
) -> Mapping[str, NDArray[Any]]:
    """All arrays of a file except the frames."""
    every_name = list(dict.fromkeys(name for demo in demonstrations for name in demo.poses))
    objects = list(dict.fromkeys(name for demo in demonstrations for name in demo.bodies))
    events, poses = [], []
    shape = len(demonstrations), len(objects)
    points = {camera: np.full((*shape, 2), np.nan, np.float32) for camera in CAMERAS}
    pixels = {camera: np.zeros(shape, np.int64) for camera in CAMERAS}
    scenes = zip(_scenes(demonstrations), demonstrations, strict=True)
    for number, (scene, demo) in enumerate(scenes):
        events += [(number, *event) for event in demo.events]
        absent = np.full((len(demo.states), 7), np.nan, np.float32)
        poses.append(np.concatenate([demo.poses.get(name, absent) for name in every_name], axis=1))
        there = [o for o in objects if o in demo.bodies and np.isfinite(demo.poses[o][0, 0])]
        columns = [objects.index(name) for name in there]
        bodies = [demo.bodies[name] for name in there]
        scene.show(demo, 0)
        for camera in CAMERAS:
            seen = demo.cameras[camera]
            points[camera][number, columns] = [scene.point(body, seen) for body in bodies]
            pixels[camera][number, columns] = scene.pixels(bodies, seen)
    return {
        "states": np.concatenate([demo.states for demo in demonstrations]),
        "names": np.array(names),
        "lengths": np.array([len(demo.states) for demo in demonstrations], np.int64),
        "rate": np.array(float(rate)),
        "frame_steps": np.concatenate(steps),
        "frame_lengths": np.array([len(chosen) for chosen in steps], np.int64),
        "poses": np.concatenate(poses).astype(np.float32),
        "pose_names": np.array(
            [f"{n}.{axis}" for n in every_name for axis in ("x", "y", "z", "qw", "qx", "qy", "qz")]
        ),
        "events": np.array(events, EVENT),
        "object_names": np.array(objects),
        **{f"points_{camera}": points[camera] for camera in CAMERAS},
        **{f"pixels_{camera}": pixels[camera] for camera in CAMERAS},
    }
