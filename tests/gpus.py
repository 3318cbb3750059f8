"""Marker `gpu` for tests that need a GPU, which are skipped without one (make gpu)."""

import shutil
import subprocess
from pathlib import Path

import pytest


def missing() -> str:
    """Why there is no GPU; "" if there is one."""
    if Path("/dev/nvhost-gpu").exists() or Path("/dev/nvgpu").exists():  # a Jetson
        return ""
    if shutil.which("nvidia-smi") is None:
        return "no GPU: there is no nvidia-smi, and this is no Jetson"
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return "" if "GPU 0" in done.stdout else f"no GPU: nvidia-smi prints {done.stdout[:80]!r}"


needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(bool(missing()), reason=missing())]
