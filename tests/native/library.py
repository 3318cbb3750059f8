"""libinfoatlas by ctypes: the structures and functions of infoatlas.h."""

import ctypes
from pathlib import Path

import numpy as np

PREFIX = Path(__file__).parents[2] / "build/native/prefix"  # make build/native/ready
I64, F64, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.POINTER
INPUT_ERROR, FILE_ERROR = 2, 3


class Sized(ctypes.Structure):
    """A structure that begins with its size."""

    _fields_ = (("struct_size", ctypes.c_size_t),)

    def __init__(self, **values) -> None:
        super().__init__(**{"struct_size": ctypes.sizeof(self)} | values)


class Settings(Sized):
    _fields_ = (
        *((name, I64) for name in ("threads", "k", "slices")), ("sides", ctypes.c_int),
        ("shifts", I64), ("seed", ctypes.c_uint64),
    )  # fmt: skip


class GivenSamples(Sized):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "y")),
        ("n", I64),
        *((name, ctypes.c_void_p) for name in ("resolution_x", "resolution_y")),
        ("time_series", ctypes.c_int),
    )


class WindowSettings(Sized):
    _fields_ = (
        *((name, I64) for name in ("d", "other", "steps", "lag", "history")),
        ("increments", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("resolution", "resolution_other")),
    )


class Estimate(Sized):
    _fields_ = (
        *(("mi", F64), ("stderr", F64), ("noise", F64), ("predicted_error", F64)),
        *((name, F64) for name in ("gaussian", "beyond_gaussian", "rank_noise")),
        *((name, F64) for name in ("effective_samples", "rank_x", "rank_y")),
        *((name, I64) for name in ("samples", "slices", "k", "constant_x", "constant_y")),
        *((name, I64) for name in ("redundant_x", "redundant_y")),
        *((name, ctypes.c_int) for name in ("saturated", "degenerate", "clipped")),
        ("autocorrelated", ctypes.c_int),
        *((name, POINTER(F64)) for name in ("per_slice", "pointwise", "influence")),
    )


class Library:
    """The functions of a libinfoatlas.so; a status other than OK raises RuntimeError."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.infoatlas_last_error.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        status = getattr(self._library, f"infoatlas_{name}")(*arguments)
        if status > 1:
            raise RuntimeError(status, self._library.infoatlas_last_error().decode())
        return status

    def load(self, path):
        model = ctypes.c_void_p()
        self.call("model_load", str(path).encode(), ctypes.byref(model))
        return model

    def estimator(self, model, n, dx, dy, **settings):
        found = ctypes.c_void_p()
        given = ctypes.byref(Settings(**settings))
        self.call("estimator_new", model, I64(n), I64(dx), I64(dy), given, ctypes.byref(found))
        return found

    def window(self, model, settings=None, **window):
        found = ctypes.c_void_p()
        given = [ctypes.byref(WindowSettings(**window)), ctypes.byref(Settings(**(settings or {})))]
        self.call("window_new", model, *given, ctypes.byref(found))
        return found

    def push(self, window, state, other=None):
        """The estimate after a state, or the reason why there is none."""
        arrays = [
            None if values is None else np.ascontiguousarray(values, np.float64)
            for values in (state, other)
        ]
        pointers = [None if own is None else ctypes.c_void_p(own.ctypes.data) for own in arrays]
        found, reason = Estimate(), ctypes.c_char_p()
        if self.call("window_push", window, *pointers) or self.call(
            "window_run", window, ctypes.byref(found)
        ):
            self.call("window_reason", window, ctypes.byref(reason))
            return reason.value.decode()
        return fields(found)

    def free(self, kind, handle):
        getattr(self._library, f"infoatlas_{kind}_free")(handle)

    def run(self, estimator, x, y, *, time_series=False, resolution_x=None, resolution_y=None):
        arrays = [
            None if values is None else np.ascontiguousarray(values, np.float64)
            for values in (x, y, resolution_x, resolution_y)
        ]
        x, y, *resolutions = (None if values is None else values.ctypes.data for values in arrays)
        resolution_x, resolution_y = resolutions
        samples = GivenSamples(
            x=x, y=y, n=len(arrays[0]), resolution_x=resolution_x, resolution_y=resolution_y,
            time_series=time_series,
        )  # fmt: skip
        found = Estimate()
        self.call("estimator_run", estimator, ctypes.byref(samples), ctypes.byref(found))
        return fields(found)


def fields(found: Estimate) -> dict:
    """Numbers and arrays of a structure, as in Python's `Estimate`."""
    sizes = {"per_slice": found.slices, "pointwise": found.samples, "influence": found.samples}
    return {
        name: np.ctypeslib.as_array(value, (sizes[name],)).copy() if name in sizes else value
        for name, _ in Estimate._fields_
        for value in [getattr(found, name)]
    }
