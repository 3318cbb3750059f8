"""Task files: frozen dataclasses and arrays as JSON."""

import json
import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

T = TypeVar("T")

TASK_FORMAT = 8  # grows with each change of the file's fields


def write(path: str | os.PathLike[str], task: Any) -> None:
    """Write a dataclass; InputError if the file cannot be written."""
    try:
        text = json.dumps({"format": TASK_FORMAT, **plain(task)}, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be written ({error}): check the path") from error


def read(path: str | os.PathLike[str], make: Callable[[dict[str, Any]], T]) -> T:
    """What `make` makes from the values of a file of `write`.

    InputError if the file is missing, damaged or of another format.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        if values["format"] != TASK_FORMAT:
            raise ValueError(f"format {values['format']}, and this version reads {TASK_FORMAT}")
        return make(values)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError,
        OverflowError,
    ) as error:  # fmt: skip
        raise InputError(
            f"{path} is no task file ({type(error).__name__}: {error}): make one with "
            "`infoatlas-rt keystates DATA --save FILE.json`"
        ) from error


def plain(value: Any) -> Any:
    """Values of JSON for dataclasses, arrays and tuples; null stands for NaN and infinity."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def floats(
    values: dict[str, Any], name: str, *shape: int, positive: bool = False, gaps: bool = False
) -> NDArray[np.float64]:
    """An array of a file; with `gaps`, null becomes NaN. ValueError if it does not fit."""
    array = np.asarray(values[name], np.float64)
    if array.size != np.prod(shape):
        raise ValueError(f"{name} has shape {array.shape}, and needs {shape}")
    if not (gaps or np.isfinite(array).all()) or (positive and not (array > 0).all()):
        raise ValueError(f"{name} is not finite{', or not above 0' if positive else ''}")
    return array.reshape(shape)


def number(values: dict[str, Any], name: str) -> float:
    """A number of a file, finite and above 0; ValueError if it is not."""
    return float(floats(values, name, positive=True))


def integer(values: dict[str, Any], name: str, least: int) -> int:
    """An integer of a file, at least `least`; ValueError if it is not."""
    found = int(values[name])
    if found < least:
        raise ValueError(f"{name} is {found}, and is at least {least}")
    return found


def flags(values: dict[str, Any], name: str, count: int) -> NDArray[np.bool_]:
    """Truth values of a file [count]; ValueError if there are more or fewer."""
    array = np.asarray(values[name], bool)
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape}, and needs ({count},)")
    return array


def indices(values: dict[str, Any], name: str, count: int, least: int = 0) -> NDArray[np.int64]:
    """Indices of a file, below `count`; ValueError if they are not."""
    array = np.asarray(values[name], np.int64)
    if not ((array >= least) & (array < count)).all():
        raise ValueError(f"{name} are {array.tolist()}, of {count}")
    return array
