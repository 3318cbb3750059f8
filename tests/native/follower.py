"""The follower of libinfoatlas by ctypes, beside `KeyStateTracker`."""

from __future__ import annotations

import ctypes
import math
from ctypes import POINTER, byref, c_char_p, c_double, c_int64, c_size_t, c_void_p

import numpy as np

OK, NONE, INPUT_ERROR, FILE_ERROR = range(4)


class Event(ctypes.Structure):
    _fields_ = [
        ("keystate", c_int64), ("name", c_char_p), ("step", c_int64), ("detected_step", c_int64),
        ("stamp", c_double), ("detected_stamp", c_double), ("score", c_double),
        ("subtask", c_char_p),
    ]  # fmt: skip


class Subtask(ctypes.Structure):
    _fields_ = [
        ("index", c_int64), *((name, c_char_p) for name in ("name", "tool", "reference", "held")),
        *((name, c_double) for name in ("progress", "task_progress", "waiting", "seconds")),
        ("stalled", c_int64),
    ]  # fmt: skip


class Failed(Exception):
    """A status other than OK and NONE, with the message."""


class Library:
    """The functions of follower.h in a shared library."""

    def __init__(self, path):
        self._own = ctypes.CDLL(str(path))
        self._own.infoatlas_last_error.restype = c_char_p
        self._own.infoatlas_follower_step.restype = c_int64
        for name in ("task_columns", "task_keystates", "task_tools", "follower_memory"):
            getattr(self._own, f"infoatlas_{name}").restype = c_size_t

    def __getattr__(self, name):
        return getattr(self._own, f"infoatlas_{name}")

    def check(self, status):
        if status not in (OK, NONE):
            raise Failed(status, self.last_error().decode())
        return status == OK

    def load(self, path):
        task = c_void_p()
        self.check(self.task_load(str(path).encode(), byref(task)))
        return task


class Follower:
    """A follower of the library with the methods of `KeyStateTracker`."""

    def __init__(self, library, path, rate=None, follow_all=False):
        self.library, self._own = library, c_void_p()
        task = library.load(path)
        self.tools, self.keystates = library.task_tools(task), library.task_keystates(task)
        status = library.follower_create(task, c_double(rate or 0), follow_all, byref(self._own))
        library.task_free(task)
        library.check(status)

    def __del__(self):
        if self._own:
            self.library.follower_free(self._own)

    def push(self, state, stamp=None):
        state = np.ascontiguousarray(state, np.float64)
        found, count = POINTER(Event)(), c_size_t()
        values, stamp = state.ctypes.data_as(c_void_p), math.nan if stamp is None else stamp
        self.library.check(
            self.library.follower_push(
                self._own, values, c_size_t(state.size), c_double(stamp), byref(found),
                byref(count),
            )
        )  # fmt: skip
        return [
            {name: text(getattr(event, name)) for name, _ in Event._fields_}
            for event in found[: count.value]
        ]

    def subtask(self, tool):
        found = Subtask()
        known = self.library.follower_subtask(self._own, c_size_t(tool), byref(found))
        if not self.library.check(known):
            assert found.index == -1 and found.name == b""
            return None
        return {name: text(getattr(found, name)) for name, _ in Subtask._fields_}

    @property
    def subtasks(self):
        return [self.subtask(tool) for tool in range(self.tools)]

    @property
    def step(self):
        return self.library.follower_step(self._own)

    @property
    def followed(self):
        return [
            bool(self.library.follower_follows(self._own, c_size_t(k)))
            for k in range(self.keystates)
        ]

    def reset(self):
        self.library.follower_reset(self._own)


def text(value):
    return value.decode() if isinstance(value, bytes) else value
