"""Renderings of demonstrations, with true poses and events, to evaluate objects from cameras."""

import os
from ctypes.util import find_library

if find_library("OSMesa"):  # read when mujoco is imported: it renders without a GPU and a display
    os.environ.setdefault("MUJOCO_GL", "osmesa")
