"""A critic that is kept, for the local information of new pairs, one at a time.

For each sample, the hypernetwork writes (generates) a critic, which is evaluated on that sample.
Here the critic is kept: slices, ranks (as a table), whitening, rotation and weights are frozen, and
new pairs pass through the same maps. A critic of demonstrations yields the local information of
each new state of a robot with its past, at the rate of the sensors.

This critic has no neighbour features. With them it overfits the trajectories that it was written
from, and its values on new ones are far too low. Without them the values on both are nearly equal,
with or without groups (trajectories).

Evaluation needs NumPy alone; writing needs ONNX Runtime.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends.onnxruntime import load_onnxruntime
from ..errors import InputError, ModelError
from ..inputs.checks import as_groups, as_samples
from ..models import onnx_content
from ..models.model_file import MODELS, ModelFile
from . import slicing
from .canonical import rotate, score_table, standardise, whiten
from .shuffling import shuffle

Floats = NDArray[np.float64]

FOLDER = MODELS / "critics"
FORMAT = "critic-1"
PARAMETERS = (
    "z", "x1", "x2", "x3", "y1", "y2", "y3", "bias", "mix",
    "readout", "share", "size_x", "size_y", "log_z", "mi",
)  # fmt: skip
MOST = 1500  # pairs that a critic is generated from; a random subset if there are more


class Weights(NamedTuple):
    """Parameters of the critics of S slices, as the graph writes them; D inputs a side."""

    z: NDArray[Any]  # [S, D] Fisher z of the anchor's correlations
    x1: NDArray[Any]  # [S, 2D+2, H] layers of each side; the last row of two of them is the bias
    x2: NDArray[Any]
    x3: NDArray[Any]
    y1: NDArray[Any]
    y2: NDArray[Any]
    y3: NDArray[Any]
    bias: NDArray[Any]  # [S, 1, F]
    mix: NDArray[Any]  # [S, F+1, F]
    readout: NDArray[Any]  # [S, F]
    share: NDArray[Any]  # [S] factor of the critic's values
    size_x: NDArray[Any]  # [S] mean square of the sample
    size_y: NDArray[Any]
    log_z: NDArray[Any]  # [S] log of the mean density ratio over the product pairs
    mi: NDArray[Any]  # [S] nats, the bound on the sample

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> Floats:
        """Local information of canonical pairs x, y [S, q, D]: [S, q], nats."""
        sx = _side((self.x1, self.x2, self.x3), x, self.size_x) + self.bias
        h = _gelu(sx + _side((self.y1, self.y2, self.y3), y, self.size_y))
        psi = h + _gelu(_affine(h, self.mix))
        rest = 2 / (np.exp(2 * self.z) + 1)[:, None]  # 1 - rho, exact near rho = 1
        rho, variance = 1 - rest, rest * (2 - rest)
        anchor = (
            -0.5 * np.log(variance)
            - rho / (2 * variance) * (x - y) ** 2
            + rho / (2 * (1 + rho)) * (x * x + y * y)
        ).sum(axis=-1)
        value = anchor + (psi @ self.readout[..., None])[..., 0]
        return np.asarray(self.share[:, None] * value - self.log_z[:, None], np.float64)


@dataclass(frozen=True, eq=False)
class Side:
    """The frozen maps of one side.

    Attributes
    ----------
    shift, scale : [d] float64
        Parameters of the standardisation; scale 0 for constant coordinates.
    projections : [S, d, k] float64, or None
        None if the side is not sliced.
    sorted : [S, k, n] float64
        Values of the sample, ascending: the table from which ranks are computed.
    centre : [S, k, 1] float64
        Mean of the sample's scores.
    transform : [S, D, k] float64
        Whitening and rotation.
    """

    shift: Floats
    scale: Floats
    projections: Floats | None
    sorted: Floats
    centre: Floats
    transform: Floats

    def __call__(self, samples: Floats) -> NDArray[np.float32]:
        """Samples [q, d] in canonical form [S, q, D]."""
        slices = _slices((samples - self.shift) * self.scale, self.projections)
        scores = _ranked(self.sorted, slices) - self.centre
        return np.swapaxes(self.transform @ scores, 1, 2).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Critic:
    """A written critic.

    Attributes
    ----------
    x, y : Side
        Frozen maps of each side: standardisation, projections, ranks, whitening and rotation.
    weights : Weights
        Parameters of the critics of S slices, as the model wrote them.
    model : str
        Name and version of the model that wrote it.
    """

    x: Side
    y: Side
    weights: Weights
    model: str

    @property
    def mi(self) -> float:
        """The bound on the sample of the critic, nats, without bias correction."""
        return float(self.weights.mi.mean())

    def pointwise(self, x: Any, y: Any) -> Floats:
        """Local information of new pairs.

        Parameters
        ----------
        x, y : array-like [q] or [q, d]
            Pairs, with the coordinates that the critic was written for.

        Returns
        -------
        [q] float64
            Nats, mean over slices. Values outside of the range of the sample get the extreme ranks.

        Raises
        ------
        InputError
            The pairs cannot be used, or have another number of coordinates than the critic.
        """
        x, y = as_samples(x, "x"), as_samples(y, "y")
        if len(x) != len(y):
            raise InputError(f"x has {len(x)} samples and y has {len(y)}: pass pairs")
        for name, samples, side in (("x", x, self.x), ("y", y, self.y)):
            if samples.shape[1] != len(side.shift):
                raise InputError(
                    f"{name} has {samples.shape[1]} coordinates, and this critic was written for "
                    f"{len(side.shift)}: pass the same ones"
                )
        return np.asarray(self.weights(self.x(x), self.y(y)).mean(axis=0), np.float64)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the critic to an .npz file.

        Parameters
        ----------
        path : path
            File to write; a file that exists is replaced.
        """
        arrays = {f"weights.{name}": values for name, values in self.weights._asdict().items()}
        for name, side in (("x", self.x), ("y", self.y)):
            for part in fields(side):
                values = getattr(side, part.name)
                if values is not None:
                    arrays[f"{name}.{part.name}"] = values
        with open(path, "wb") as file:
            np.savez_compressed(file, model=np.array(self.model), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Critic:
        """Read a critic.

        Parameters
        ----------
        path : path
            File that `save` wrote.

        Returns
        -------
        Critic

        Raises
        ------
        InputError
            The file is missing, damaged or of another kind.
        """
        if not os.path.exists(path):
            raise InputError(f"{os.fspath(path)} does not exist: check the path")
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            unsliced = {"x.projections": None, "y.projections": None}
            named: dict[str, Any] = unsliced | arrays
            x, y = (Side(*(named[f"{name}.{part.name}"] for part in fields(Side))) for name in "xy")
            weights = Weights(*(arrays[f"weights.{name}"] for name in Weights._fields))
            return cls(x, y, weights, str(arrays["model"]))
        except (OSError, ValueError, KeyError, EOFError, AttributeError) as error:
            raise InputError(
                f"{path} is no critic that was saved ({error!r}): write and save it again"
            ) from error


def write_critic(
    x: Any,
    y: Any,
    groups: Any,
    model: ModelFile,
    *,
    k: int | None,
    slices: int | None,
    sides: str,
    shifts: int | None,
    seed: int,
) -> Critic:
    """Write a critic.

    Parameters
    ----------
    x, y : array-like [n] or [n, d]
        Paired samples; of more than `MOST` pairs a random subset is used.
    groups : array-like [n] of int, or None
        Trajectory of each sample.
    model : ModelFile
        The model, which needs a graph that writes critics.
    k, slices, sides, shifts, seed
        The settings of an `Estimator`.

    Returns
    -------
    Critic

    Raises
    ------
    InputError
        The samples cannot be used, do not fit the settings, or a side is constant.
    ModelError
        The model has no graph that writes critics.
    """
    x, y = as_samples(x, "x"), as_samples(y, "y")
    if not len(x) == len(y) >= model.n_min:
        raise InputError(
            f"x has {len(x)} samples and y has {len(y)}: pass pairs, at least {model.n_min}"
        )
    labels = None if groups is None else as_groups(groups, len(x))
    if len(x) > MOST:
        rows = np.sort(np.random.default_rng(seed).permutation(len(x))[:MOST])
        x, y = x[rows], y[rows]
        labels = None if labels is None else np.unique(labels[rows], return_inverse=True)[1]
    for name, samples in (("x", x), ("y", y)):
        if (samples == samples[0]).all():
            raise InputError(
                f"{name} is constant, so there is no information: pass samples that vary"
            )
    plan = slicing.plan(
        x.shape[1], y.shape[1], model.dim, k=k, slices=slices, sides=sides, seed=seed
    )
    shifts = shifts or model.shift_count(len(x), plan.slices)
    order, _, offsets = shuffle(len(x), shifts, seed, labels)
    frozen, whitened = [], []
    for samples, projections in ((x[order], plan.x), (y[order], plan.y)):
        shift, scale = _standard(samples)
        sliced = _slices((samples - shift) * scale, projections)
        shape = plan.slices, len(samples), sliced.shape[1]
        whitened.append(whiten(np.broadcast_to(np.swapaxes(sliced, 1, 2), shape)))
        table = np.sort(sliced, axis=-1)
        centre = _ranked(table, sliced).mean(axis=-1, keepdims=True)
        frozen.append((shift, scale, projections, table, centre))
    transform, _ = rotate(whitened[0], whitened[1], model.dim)
    side_x, side_y = Side(*frozen[0], transform.x), Side(*frozen[1], transform.y)
    inputs = {
        "x": np.ascontiguousarray(side_x(x[order])),
        "y": np.ascontiguousarray(side_y(y[order])),
        "shifts": offsets,
    }
    written = Weights(*_session(model.name).run(PARAMETERS, inputs))
    if not all(np.isfinite(values).all() for values in written):
        raise ModelError("the critic has values that are not finite: please report")
    return Critic(side_x, side_y, written, f"{model.name} {model.version}")


def start_session(content: bytes) -> Any:
    """An ONNX Runtime session on the CPU, which is fast enough for a critic that is made once."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _session(model: str) -> Any:
    """The graph that writes critics as this model does; ModelError if none was shipped."""
    path = FOLDER / f"{model}.onnx"
    try:
        content = path.read_bytes()
    except OSError as error:
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.onnx")))
        raise ModelError(
            f"model {model} has no graph that writes critics to keep ({path}): use model={known!r}"
        ) from error
    session = start_session(content)
    metadata = session.get_modelmeta().custom_metadata_map
    if metadata.get("infoatlas.format") != FORMAT or (
        metadata.get(onnx_content.CHECKSUM) != onnx_content.checksum(content)
    ):
        raise ModelError(f"{path} is not the file that was shipped: install infoatlas-rt again")
    return session


def _standard(samples: Floats) -> tuple[Floats, Floats]:
    """The map of `standardise` for samples [n, d], as a shift and a scale [d]."""
    standard = standardise(samples)
    low, high = samples.argmin(axis=0), samples.argmax(axis=0)
    column = np.arange(samples.shape[1])
    span = samples[high, column] - samples[low, column]
    scale = (standard[high, column] - standard[low, column]) / np.where(span > 0, span, 1.0)
    shift = samples[low, column] - standard[low, column] / np.where(scale > 0, scale, 1.0)
    return shift, scale


def _slices(samples: Floats, projections: Floats | None) -> Floats:
    """Slices of standardised samples [q, d], samples last: [S, k, q]; S = 1 if not sliced."""
    if projections is None:
        return np.ascontiguousarray(samples.T)[None]
    return np.swapaxes(slicing.project(samples, projections), 1, 2)


def _ranked(table: Floats, values: Floats) -> Floats:
    """Normal scores of values [S, k, q] by their ranks in a table [S, k, n], average among ties."""
    n = table.shape[-1]
    twice = np.empty(values.shape, np.int64)
    for at in np.ndindex(table.shape[:2]):
        below = np.searchsorted(table[at], values[at], side="left")
        twice[at] = below + np.searchsorted(table[at], values[at], side="right")
    return score_table(n)[np.clip(twice - 1, 0, 2 * n - 2)]


def _side(layers: tuple[NDArray[Any], ...], x: NDArray[Any], size: NDArray[Any]) -> NDArray[Any]:
    """The network of one side: [S, q, D] -> [S, q, F]; size [S] as in `Weights`."""
    norm = np.log1p((x * x).sum(axis=-1, keepdims=True)) - np.log1p(size)[:, None, None]
    inputs = np.concatenate([x, norm, norm * x], axis=-1)
    first, second, last = layers
    u = _gelu(_affine(inputs, first))
    u = u + _gelu(_affine(u, second))
    return np.asarray(np.concatenate([u, inputs], axis=-1) @ last)


def _affine(x: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
    """x [S, q, i] times weight [S, i+1, o], whose last row is the bias."""
    return np.asarray(x @ weight[:, :-1] + weight[:, -1:])


def _gelu(x: NDArray[Any]) -> NDArray[Any]:
    """x Phi(x); the error function to 1.5e-7 (Abramowitz and Stegun, 7.1.26)."""
    size = np.abs(x) * np.sqrt(np.float32(0.5))
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = 1.061405429
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = np.float32(coefficient) + t * series
    tail = 0.5 * t * series * np.exp(-size * size)  # Phi(-|x|)
    return np.asarray(x * np.where(x < 0, tail, 1 - tail))
