"""Renderings of demonstrations, with true poses and events, to evaluate objects from cameras."""

import os

# Read when mujoco is imported: rendering on a CPU, without a display (package libosmesa6).
os.environ.setdefault("MUJOCO_GL", "osmesa")
