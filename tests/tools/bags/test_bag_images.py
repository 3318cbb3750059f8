"""Cameras of ROS bags: raw and compressed images beside the states."""

from __future__ import annotations

import sys
from pathlib import Path

from rosbags.typesys import get_types_from_msg  # noqa: F401

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "examples"))

RAW, PACKED = "/top/image_raw", "/top/image_raw/compressed"
STEP, FRAME = 50_000_000, 33_000_000  # ns between states, and between images
LENGTHS = (30, 22)
