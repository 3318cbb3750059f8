"""Prepare the ROS 2 wheels of a virtual environment for building messages.

The CMake files of the wheels contain include folders of the machine on which they were made. This
script replaces them by those of the environment. Run it after the installation, with the Python of
the environment.
"""

import re
import sys
import sysconfig
from pathlib import Path

import numpy

FOLDERS = {
    r"[^\";]*/cp3\d+-cp3\d+/include/python3\.\d+": sysconfig.get_path("include"),
    r"[^\";]*/cp3\d+-cp3\d+/lib/python3\.\d+/site-packages/numpy/_core/include": (
        numpy.get_include()
    ),
}

changed = 0
for file in Path(sys.prefix, "share").glob("**/*.cmake"):
    text = file.read_text(encoding="utf-8")
    new = text
    for pattern, folder in FOLDERS.items():
        new = re.sub(pattern, folder, new)
    if new != text:
        file.write_text(new, encoding="utf-8")
        changed += 1
print(f"{changed} CMake files now name this environment's include folders")
