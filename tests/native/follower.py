"""The follower of libinfoatlas by ctypes, beside `KeyStateTracker`."""

import math
from ctypes import POINTER, byref, c_char_p, c_double, c_int64, c_uint8, c_void_p

import numpy as np

from infoatlas_rt.live.outcome import STATES
from library import Sized


class Event(Sized):
    _fields_ = (
        ("keystate", c_int64), ("name", c_char_p), ("step", c_int64), ("detected_step", c_int64),
        ("stamp", c_double), ("detected_stamp", c_double), ("score", c_double),
        ("subtask", c_char_p),
    )  # fmt: skip


class Subtask(Sized):
    _fields_ = (
        ("index", c_int64), *((name, c_char_p) for name in ("name", "tool", "reference", "held")),
        *((name, c_double) for name in ("progress", "task_progress", "waiting", "seconds")),
        ("stalled", c_int64),
    )  # fmt: skip


class Outcome(Sized):
    _fields_ = (
        ("state", c_int64), ("since", c_int64), ("reason", c_char_p),
        ("false_done", c_double), ("found", c_double),
    )  # fmt: skip


class TaskInfo(Sized):
    _fields_ = (
        *((name, c_int64) for name in ("columns", "keystates", "tools")),
        *((name, POINTER(c_char_p)) for name in ("column_names", "keystate_names")),
    )


class FollowerInfo(Sized):
    _fields_ = (("step", c_int64), ("bytes", c_int64), ("followed", POINTER(c_uint8)))


def load(library, path):
    """A task of a library; RuntimeError if it is refused."""
    task = c_void_p()
    library.call("task_load", str(path).encode(), byref(task))
    return task


class Follower:
    """A follower of the library with the methods of `KeyStateTracker`."""

    def __init__(self, library, path, rate=None, follow_all=False):
        self.library, self._own, self.about = library, c_void_p(), TaskInfo()
        task = load(library, path)
        try:
            library.call("task_describe", task, byref(self.about))
            names = self.about.column_names
            self.columns = [names[i] for i in range(self.about.columns)] if names else []
            library.call("follower_new", task, c_double(rate or 0), follow_all, byref(self._own))
        finally:
            library.free("task", task)

    def __del__(self):
        self.library.free("follower", self._own)

    def push(self, state, stamp=None):
        state = np.ascontiguousarray(state, np.float64)
        count, events = c_int64(), []
        values, stamp = state.ctypes.data_as(c_void_p), math.nan if stamp is None else stamp
        size, to = c_int64(state.size), byref(count)
        self.library.call("follower_push", self._own, values, size, c_double(stamp), to)
        for index in range(count.value):
            event = Event()
            self.library.call("follower_event", self._own, c_int64(index), byref(event))
            events.append(fields(event))
        return events

    def subtask(self, tool):
        found = Subtask()
        if self.library.call("follower_subtask", self._own, c_int64(tool), byref(found)):
            assert found.index == -1 and found.name == b""
            return None
        return fields(found)

    @property
    def subtask_states(self):
        return [self.subtask(tool) for tool in range(self.about.tools)]

    @property
    def outcome(self):
        found = Outcome()
        self.library.call("follower_outcome", self._own, byref(found))
        return fields(found) | {"state": STATES[found.state]}

    @property
    def info(self):
        found = FollowerInfo()
        self.library.call("follower_describe", self._own, byref(found))
        return found

    @property
    def step(self):
        return self.info.step

    @property
    def followed(self):
        return list(map(bool, self.info.followed[: self.about.keystates]))

    def reset(self):
        self.library.call("follower_reset", self._own)


def fields(structure):
    """Fields by name, with text decoded."""
    values = {name: getattr(structure, name) for name, _ in structure._fields_}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()}
