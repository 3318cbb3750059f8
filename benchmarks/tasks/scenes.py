"""Simulated rigid bodies and points on them, as tracked in a video.

Three scenes in MuJoCo. `drifting`: free bodies without gravity, each pushed by forces of its own.
`tray`: bodies in a tray that is shaken, so one motion drives them all. `arms`: two arms of three
links and a hand, where neighbours move together.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

FRAMES, RATE = 600, 30  # 20 s of video
STEP = 1 / 600  # s of the physics, a divisor of a frame
WARM_UP = 2 * RATE  # frames that are left out at the start
POINTS = 12  # on each body

OPTIONS = f'<option timestep="{STEP:.8f}" integrator="implicitfast"/>'
SHAPES = (
    '<geom type="box" size=".12 .08 .05"/>',
    '<geom type="ellipsoid" size=".13 .09 .06"/>',
    '<geom type="cylinder" size=".07 .11"/>',
    '<geom type="capsule" size=".05 .10"/>',
    '<geom type="box" size=".14 .04 .04"/><geom type="box" size=".04 .04 .10" pos="-.10 0 .10"/>',
    '<geom type="box" size=".09 .09 .09"/>',
)


@dataclass(frozen=True)
class Recording:
    """Points followed through a video."""

    scene: str
    tracks: NDArray[np.float64]  # [points, frames, 3], m, in the frame of the world
    bodies: NDArray[np.int64]  # [points], the body of each


def walls(half: float, height: float) -> str:
    """Five sides of an open box around the origin, as geoms of a body."""
    return "".join(
        f'<geom type="box" pos="{x} {y} {z}" size="{a} {b} {c}"/>'
        for x, y, z, a, b, c in (
            (0, 0, 0, half, half, 0.02),
            (half, 0, height, 0.02, half, height),
            (-half, 0, height, 0.02, half, height),
            (0, half, height, half, 0.02, height),
            (0, -half, height, half, 0.02, height),
        )
    )


def free_bodies(height: float) -> str:
    return "".join(
        f'<body name="free{i}" pos="{0.3 * (i % 3 - 1)} {0.3 * (i // 3) - 0.15} {height}">'
        f"<freejoint/>{shape}</body>"
        for i, shape in enumerate(SHAPES)
    )


def drifting() -> str:
    # Planes face inwards; viscous air slows the bodies.
    planes = "".join(
        f'<geom type="plane" size="2 2 .1" pos="{x} {y} {z}" zaxis="{-x} {-y} {-z}"/>'
        for x, y, z in np.vstack([np.eye(3), -np.eye(3)]) * 0.7
    )
    return f"""<mujoco>{OPTIONS.replace("/>", ' gravity="0 0 0" density="40" viscosity=".05"/>')}
      <worldbody>{planes}{free_bodies(0.0)}</worldbody></mujoco>"""


def tray() -> str:
    servo = 'kp="4000" kv="200"'
    return f"""<mujoco>{OPTIONS}
      <worldbody>
        <body name="tray">
          <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
          <joint name="roll" type="hinge" axis="1 0 0"/>
          <joint name="pitch" type="hinge" axis="0 1 0"/>
          {walls(0.55, 0.25)}
        </body>
        {free_bodies(0.25)}
      </worldbody>
      <actuator>
        <position joint="x" {servo}/><position joint="y" {servo}/>
        <position joint="roll" {servo}/><position joint="pitch" {servo}/>
      </actuator></mujoco>"""


def arms() -> str:
    def arm(name: str, x: float) -> str:
        text = ""
        for i, length in reversed(list(enumerate((0.30, 0.26, 0.20, 0.10)))):
            axis = "1 0 0" if i % 2 else "0 1 0"
            # A hinge across, and one along the link, as wrists have.
            joints = (
                f'<joint name="{name}{i}a" axis="{axis}" range="-70 70" damping=".4"/>'
                f'<joint name="{name}{i}b" axis="0 0 1" range="-90 90" damping=".4"/>'
            )
            shape = (
                f'<geom type="capsule" fromto="0 0 .03 0 0 {length - 0.03}" size=".035"/>'
                if i < 3
                else '<geom type="box" size=".09 .03 .05" pos="0 0 .06"/>'
            )
            above = 0 if i == 0 else (0.30, 0.26, 0.20)[i - 1]
            place = f"{x} 0 0" if i == 0 else f"0 0 {above}"
            text = f'<body name="{name}{i}" pos="{place}">{joints}{shape}{text}</body>'
        return text

    servos = "".join(
        f'<position joint="{name}{i}{j}" kp="20" kv="1"/>'
        for name in "pq"
        for i in range(4)
        for j in "ab"
    )
    return f"""<mujoco>{OPTIONS}<compiler angle="degree" autolimits="true"/>
      <default><geom contype="0" conaffinity="0"/></default>
      <worldbody>{arm("p", -0.4)}{arm("q", 0.4)}</worldbody>
      <actuator>{servos}</actuator></mujoco>"""


SCENES = {"drifting": drifting, "tray": tray, "arms": arms}
# Of the servos' targets (m or rad), and of forces (N) and torques (N m) on free bodies.
SWING = {"tray": (0.25, 0.25, 0.35, 0.35), "arms": (0.7,) * 16}
PUSH, TWIST = 6.0, 0.25


def record(scene: str, frames: int = FRAMES, points: int = POINTS, seed: int = 0) -> Recording:
    """Simulate a scene with random, smooth drives, and follow points on its bodies.

    The scene is "drifting", "tray" or "arms"; the number of points is that on each body.
    """
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(SCENES[scene]())
    data = mujoco.MjData(model)
    local, bodies = surface(model, points, rng)
    pushed = np.arange(1, model.nbody) if scene == "drifting" else np.arange(0)
    drive = smooth_noise((frames + WARM_UP, model.nu + 6 * len(pushed)), rng)
    swing = np.array(SWING.get(scene, ()))
    tracks = np.empty((frames, len(local), 3))
    substeps = round(1 / (RATE * STEP))
    for frame in range(frames + WARM_UP):
        data.ctrl[:] = swing * drive[frame, : model.nu]
        force = drive[frame, model.nu :].reshape(len(pushed), 6)
        # Light bodies are pushed less, so that all bodies have similar speeds.
        scale = model.body_mass[pushed, None] / 3
        data.xfrc_applied[pushed] = scale * force * [PUSH] * np.repeat([1, TWIST / PUSH], 3)
        for _ in range(substeps):
            mujoco.mj_step(model, data)
        if frame >= WARM_UP:
            rotation = data.xmat.reshape(-1, 3, 3)[bodies]
            tracks[frame - WARM_UP] = data.xpos[bodies] + np.einsum("pij,pj->pi", rotation, local)
    return Recording(scene, tracks.swapaxes(0, 1), bodies)


def smooth_noise(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
    """Unit-variance noise [frames, drives] without frequencies above about 1 Hz."""
    frames, drives = shape
    frequency = np.fft.rfftfreq(frames, 1 / RATE)
    spectrum = rng.standard_normal((2, len(frequency), drives))
    low = np.exp(-((frequency / 0.6) ** 2))[:, None]
    signal = np.fft.irfft((spectrum[0] + 1j * spectrum[1]) * low, n=frames, axis=0)
    return (signal - signal.mean(0)) / signal.std(0)


def surface(
    model: mujoco.MjModel, points: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points on the geoms of each body, in its own frame: [bodies * points, 3], and the bodies."""
    local, bodies = [], []
    for body in range(1, model.nbody):
        first, count = model.body_geomadr[body], model.body_geomnum[body]
        for _ in range(points):
            geom = first + rng.integers(count)
            rotation = np.empty(9)
            mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
            point = on_shape(model.geom_type[geom], model.geom_size[geom], rng)
            local.append(model.geom_pos[geom] + rotation.reshape(3, 3) @ point)
            bodies.append(body)
    return np.array(local), np.array(bodies)


def on_shape(kind: int, size: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """A point on the surface of a geom, in its frame; of tubes, on the side."""
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        point = rng.uniform(-1, 1, 3)
        point[rng.integers(3)] = rng.choice([-1, 1])
        return point * size
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        point = rng.standard_normal(3)
        return point / np.linalg.norm(point) * size
    angle = rng.uniform(0, 2 * np.pi)  # capsule or cylinder: radius, half-length
    return np.array(
        [size[0] * np.cos(angle), size[0] * np.sin(angle), size[1] * rng.uniform(-1, 1)]
    )


def camera(tracks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a camera sees the points, 640 x 480 pixels: [points, frames, 2], y downwards."""
    eye, target = np.array([1.6, -2.2, 1.5]), np.array([0, 0, 0.15])
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    seen = (tracks - eye) @ np.stack([right, down, forward], axis=1)
    return 640 * seen[..., :2] / seen[..., 2:] + [320, 240]
