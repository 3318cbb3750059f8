"""Files are read in one way where a program has set a locale with a decimal comma."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import random_tasks
from library import PREFIX

LIBRARY = PREFIX / "lib/libinfoatlas.so"
PROGRAM = """
import locale, sys
import numpy as np
from follower import Follower
from infoatlas_rt.models.model_file import MODELS
from library import Library

locale.setlocale(locale.LC_ALL, sys.argv[1])
path, task = sys.argv[2:]
x, y = np.random.default_rng(0).standard_normal((2, 100, 2))
library = Library(path)
estimator = library.estimator(library.load(MODELS / "edge.onnx"), 100, 2, 2, threads=1)
found = library.run(estimator, x, x + y)
follower = Follower(library, task, follow_all=True)
states = np.random.default_rng(0).standard_normal((60, follower.about.columns))
print(found["mi"], found["stderr"], [follower.push(s) for s in states], follower.subtask_states)
"""


def test_a_decimal_comma_changes_nothing(library, tmp_path):
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"])
    if made.returncode > 1:  # 1: with warnings
        pytest.skip("localedef has no definition of de_DE")
    (tmp_path / "task.json").write_text(json.dumps(random_tasks.task(np.random.default_rng(3))))
    paths = [str(path) for path in sys.path]
    environment = {**os.environ, "LOCPATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(paths)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM, name, LIBRARY, tmp_path / "task.json"],
            env=environment, check=True, capture_output=True, text=True,
        ).stdout
        for name in ("C", "de_DE.UTF-8")
    )  # fmt: skip
    assert first == second and "score" in first
