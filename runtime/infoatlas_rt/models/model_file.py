"""A model file: an .onnx file with metadata, checked before it is used.

A file whose content has changed since it was written is refused, because an engine would accept
changed weights without an error. A shipped file is checked against `models/SHA256SUMS`, any other
file against the checksum in its own metadata, which `infoatlas-rt export` writes.
"""

import builtins
import hashlib
import json
import os
import stat
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ModelError
from . import engine_file
from .onnx_content import CHECKSUM, checksum, describe

MODELS = Path(__file__).parent
CHECKSUMS = "SHA256SUMS"  # in MODELS; `sha256sum *.onnx` writes it, and `sha256sum -c` checks it
GRAPH_FORMAT = "2"  # interface of the graph: names, shapes and meaning of inputs and outputs
PREPROCESS = "1"  # version of `estimation/canonical.py` that a model was trained with
INPUTS = ("x", "y", "shifts", "sequence")
OUTPUTS = ("mi", "pointwise", "influence", "spread")
PREFIX = "infoatlas."  # prefix of the metadata keys
TEXTS = "name", "version", "readout", "padding", "preprocess", "git_revision", "licence"
# Numbers in the metadata, with their upper bounds by memory and time.
LARGEST_NUMBERS = {
    "dim": 1000, "n_min": 10**6, "n_max": 10**9, "shifts": 10**6, "pairs": 10**9,
    "steps": 10**15, "datasets": 10**15, "seed": 2**64,
}  # fmt: skip
LEAST_SHIFTS = 4  # minimum number of cyclic shifts that the graph accepts

# Constants of the standard error (`estimation/standard_error.py`), a set for each kind of estimate.
# Two factors multiply sampling noise ("noise") and model error ("spread"). Rank noise is multiplied
# by nats of error per unit ("ceiling"). For small samples, the result is multiplied by 1 + few /
# sqrt(n). The model error has powers of the predicted error ("predicted") and of the information
# beyond Gaussian dependence ("beyond"). The next model format will replace the names `whole` and
# `spread` by "unsliced" and "predicted error", as in prose.
ESTIMATE_KINDS = ("whole", "sliced")
POWERS = ("predicted", "beyond")
CONSTANTS = ("noise", "spread", "ceiling", "few", *POWERS)
LARGEST_CONSTANT = 1000.0  # nats or a factor, far above any fitted one: a damaged file has more
LARGEST_POWER = 4.0  # the same for exponents
LARGEST_FILE = 2**31  # bytes, the limit of protocol buffers
LONGEST_TEXT = 200  # characters of a name, a version, a licence, ...


@dataclass(frozen=True)
class ModelFile:
    """A checked model file."""

    path: Path
    name: str
    version: str
    dim: int  # D, largest width of an unsliced side
    n_min: int  # sample sizes of pretraining: fewer samples are refused,
    n_max: int  # and more are estimated in parts
    shifts: int  # minimum number of cyclic shifts
    pairs: int  # target number of product pairs over all slices; more shifts narrow small samples
    readout: str
    padding: str
    preprocess: str
    steps: int  # of the optimiser
    datasets: int  # seen in pretraining
    seed: int  # of the pretraining data
    git_revision: str
    licence: str
    accuracy: dict[str, Any] = field(hash=False)  # scores on the benchmark
    # One set of `CONSTANTS` for each of `ESTIMATE_KINDS`; empty if the file has none.
    calibration: dict[str, dict[str, float]] = field(hash=False)
    sha256: str
    bytes: builtins.bytes = field(repr=False)  # checked; backends do not read the file again
    metadata: dict[str, str] = field(repr=False, hash=False)  # source of the fields above
    engine: engine_file.EngineFile | None = field(default=None, hash=False)  # of an .engine file

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe fields, without the content and its metadata."""
        left_out = ("bytes", "metadata", "engine")
        found = {key: value for key, value in vars(self).items() if key not in left_out}
        found["path"] = str(self.path)
        if self.engine is not None:
            found["engine"] = asdict(self.engine)
            del found["engine"]["metadata"]
        return found

    def shift_count(self, n: int, slices: int = 1) -> int:
        """Return the default number M of cyclic shifts for n samples, at most n-1."""
        return min(n - 1, max(self.shifts, self.pairs // (n * slices)))

    def shift_range(
        self, slices: tuple[int, int, int], samples: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        """Return the (smallest, optimal, largest) shift counts of such ranges of S and n."""
        counts = [self.shift_count(n, slices[0]) for n in range(samples[0], samples[2] + 1)]
        optimal = self.shift_count(samples[1], slices[1])
        return min(LEAST_SHIFTS, optimal), optimal, max(counts)


def available() -> list[str]:
    """Names of the shipped models."""
    return sorted(path.stem for path in MODELS.glob("*.onnx"))


def load(model: str | os.PathLike[str] = "edge") -> ModelFile:
    """Read and check the file of a model: the name of a shipped one, or the path of an .onnx file.

    It may be a TensorRT .engine file that `infoatlas-rt build` wrote, too. ModelError if the file
    is missing, truncated, changed since it was written, not ONNX, not a model of this project, or
    made for another version.
    """
    if not isinstance(model, str | os.PathLike):
        raise ModelError(f"model is {model!r}, but has to be a name or a path: {_choices()}")
    shipped = str(model) in available()
    try:
        path = MODELS / f"{model}.onnx" if shipped else Path(model).expanduser()
        content = _content(path)
    except (OSError, RuntimeError, ValueError) as error:  # also: unknown ~user, NUL in a path
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"no model {str(model)!r} ({reason}): {_choices()}") from error
    except MemoryError as error:
        raise ModelError(
            f"{model} does not fit into memory: free some, or use a smaller model"
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if path.suffix == engine_file.SUFFIX:
        return _load_engine(path, content, digest)
    if shipped and digest != _read_checksums().get(path.name):
        raise ModelError(
            f"{path} is not the file that was shipped (its SHA-256 is {digest}, and "
            f"{CHECKSUMS} beside it has another one): install infoatlas-rt again"
        )
    try:
        metadata, inputs, outputs = describe(content)
    except ValueError as error:
        raise ModelError(_not_onnx(path, content)) from error
    keys = {k.removeprefix(PREFIX): v for k, v in metadata.items() if k.startswith(PREFIX)}
    if not keys:
        raise ModelError(
            f"{path} is an ONNX file without infoatlas metadata, which describes its inputs: "
            "export a checkpoint with 'infoatlas-rt export', or use a shipped model"
        )
    _check_versions(path, keys)
    if set(inputs) != set(INPUTS) or set(outputs) != set(OUTPUTS):
        raise ModelError(
            f"{path} has inputs {inputs} and outputs {outputs} instead of {list(INPUTS)} and "
            f"{list(OUTPUTS)}: export the checkpoint again with 'infoatlas-rt export'"
        )
    if not shipped and metadata.get(CHECKSUM) != checksum(content):
        problem = "has changed since it was written" if CHECKSUM in metadata else "has no checksum"
        raise ModelError(
            f"{path} {problem} ({CHECKSUM} in its metadata): copy it again, or export the "
            "checkpoint again with 'infoatlas-rt export'"
        )
    return _describe(path, content, digest, keys)


def check_constants(values: Any) -> dict[str, dict[str, float]]:
    """Convert calibration constants, {kind: {constant: number}}, to numbers.

    ValueError, TypeError or KeyError if one is missing, is not a number, or is out of range.
    """
    found = {
        kind: {name: float(values[kind][name]) for name in CONSTANTS} for kind in ESTIMATE_KINDS
    }
    for constants in found.values():
        for name, value in constants.items():
            least = -LARGEST_CONSTANT if name == "few" else 0.0
            most = LARGEST_POWER if name in POWERS else LARGEST_CONSTANT
            if not least <= value <= most:  # (also for NaN)
                raise ValueError(
                    f"`{name}` is {value:g}, but constants have to be at most "
                    f"{LARGEST_CONSTANT:.0f}, powers at most {LARGEST_POWER:.0f}, and all but "
                    "`few` not negative"
                )
    return found


def _check_versions(path: Path, keys: dict[str, str]) -> None:
    """Raise ModelError for metadata of another version of infoatlas-rt."""
    for key, known in (("format", GRAPH_FORMAT), ("preprocess", PREPROCESS), ("padding", "zeros")):
        if keys.get(key) != known:
            raise ModelError(
                f"{path} has infoatlas.{key} {keys.get(key)!r}, and this version of infoatlas-rt "
                f"reads {known!r}: export the model again, or install the version it was made for"
            )


def _load_engine(path: Path, content: bytes, digest: str) -> ModelFile:
    """A TensorRT engine; ModelError if its model has changed. The backend checks the machine."""
    engine = engine_file.read(path, content)
    _check_versions(path, engine.metadata)
    try:
        if engine.model in available():
            now = _read_checksums().get(f"{engine.model}.onnx")
        else:
            now = hashlib.sha256(Path(engine.model).read_bytes()).hexdigest()
    except OSError:  # the .onnx file need not be on the robot
        now = None
    if now not in (None, engine.model_sha256):
        raise ModelError(
            f"{path} was built from another file than {engine.model} is now (SHA-256 "
            f"{engine.model_sha256[:12]}, and now {str(now)[:12]}): {engine_file.REBUILD}"
        )
    return replace(_describe(path, content, digest, engine.metadata), engine=engine)


def _content(path: Path) -> bytes:
    """The content of a regular file that is not too large."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    if status.st_size >= LARGEST_FILE:
        raise ValueError(f"{status.st_size} bytes are more than an ONNX file can have")
    return path.read_bytes()


def _read_checksums() -> dict[str, str]:
    """SHA-256 of the shipped files, by file name."""
    try:
        lines = (MODELS / CHECKSUMS).read_text(encoding="ascii").split("\n")
        return {name: digest for digest, name in (line.split() for line in lines if line)}
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read {MODELS / CHECKSUMS} ({error}), so the shipped models cannot be "
            "checked: install infoatlas-rt again"
        ) from error


def _choices() -> str:
    return (
        "pass the path of an .onnx file, or the name of a shipped model: "
        f"{', '.join(available()) or 'none found'}"
    )


def _describe(path: Path, content: bytes, digest: str, keys: dict[str, str]) -> ModelFile:
    """Convert the strings of the metadata to a `ModelFile`."""
    key = ""

    def value(name: str) -> str:
        nonlocal key
        key = name
        return keys[name]

    def text(name: str) -> str:
        found = value(name)
        if len(found) > LONGEST_TEXT or not found.isprintable():
            raise ValueError(f"not a text of at most {LONGEST_TEXT} printable characters")
        return found

    def number(name: str) -> int:
        found = int(value(name))
        if not 0 <= found <= LARGEST_NUMBERS[name]:
            raise ValueError(f"not between 0 and {LARGEST_NUMBERS[name]}")
        return found

    try:
        single: dict[str, Any] = {name: text(name) for name in TEXTS}
        single |= {name: number(name) for name in LARGEST_NUMBERS}
        found = ModelFile(
            path=path,
            **single,
            accuracy=_accuracy(value("accuracy")),
            calibration=_calibration(value("calibration")) if "calibration" in keys else {},
            sha256=digest,
            bytes=content,
            metadata=keys,
        )
    except KeyError as error:
        raise ModelError(
            f"{path} lacks infoatlas.{key} in its metadata: "
            "export the checkpoint again with 'infoatlas-rt export'"
        ) from error
    except (ValueError, TypeError, RecursionError) as error:
        shown = keys[key] if len(keys[key]) <= LONGEST_TEXT else keys[key][:LONGEST_TEXT] + "..."
        raise ModelError(
            f"{path} has infoatlas.{key} {shown!r} in its metadata, which cannot be read "
            f"({error}): export the checkpoint again with 'infoatlas-rt export'"
        ) from error
    if not (found.shifts >= LEAST_SHIFTS and found.dim >= 1 and 2 <= found.n_min <= found.n_max):
        raise ModelError(
            f"{path} has limits that cannot be: dim={found.dim}, n_min={found.n_min}, "
            f"n_max={found.n_max}, shifts={found.shifts}: export the checkpoint again"
        )
    return found


def _accuracy(text: str) -> dict[str, Any]:
    """Nested dictionaries of finite numbers and texts."""
    found = dict(json.loads(text))
    json.dumps(found, allow_nan=False)
    return found


def _calibration(text: str) -> dict[str, dict[str, float]]:
    try:
        return check_constants(json.loads(text))
    except (KeyError, IndexError) as error:  # a key within the value, not of the metadata
        raise ValueError(f"{error} is missing") from error


def _not_onnx(path: Path, content: bytes) -> str:
    if content.startswith(b"version https://git-lfs"):
        return f"{path} is a Git LFS pointer, not the model itself: run 'git lfs pull'"
    return (
        f"{path} ({len(content)} bytes) is truncated or not an ONNX file: "
        f"copy it again, or use a shipped model: {', '.join(available()) or 'none found'}"
    )
