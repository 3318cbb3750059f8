"""Break features on purpose, one at a time, and check that a test fails for each.

    python tests/mutations.py [NUMBER ...]

The sources are copied, the copy is changed, and the tests of the feature run on it. If the tests
pass, the mutation survives: a test is missing, and the exit status is 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("runtime", "train", "export", "tools")
RT, TRAIN, EXPORT = "runtime/infoatlas_rt", "train/infoatlas_train", "export/infoatlas_export"

# (description of the fault, file, text, replacement (of the first occurrence), tests, selection)
MUTATIONS = [
    ("projections are not orthonormal", f"{RT}/estimation/slicing.py",
     "q, r = np.linalg.qr(matrices)", "q, r = matrices, np.linalg.qr(matrices)[1]",
     "runtime/estimation/test_slicing.py", ""),
    ("ties get different ranks", f"{RT}/estimation/canonical.py",
     "twice = left + right - 2 * (position - position % n)", "twice = 2 * (position % n)",
     "runtime/estimation/test_canonical.py", ""),
    ("pairs enter the graph unshuffled", f"{RT}/estimation/shuffling.py",
     "order = rng.permutation(n)", "order = np.arange(n)",
     "runtime/estimation/test_estimator.py", "shuffled"),
    ("product pairs within a group", f"{RT}/estimation/shuffling.py",
     "replace=False) + largest", "replace=False) + 1",
     "runtime/estimation/test_estimator_groups.py", "product_pair"),
    ("autocorrelation does not widen the error", f"{RT}/estimation/uncertainty.py",
     "return max(total, 0.0)", "return variance",
     "runtime/estimation/test_estimator.py", "long_run or series"),
    ("a refused state leaves no hole", f"{RT}/streams/sliding_window.py",
     "self._pairs.lost()  # the step that it belonged to", "pass",
     "runtime/streams/test_sliding_window.py", ""),
    ("two topics pair at any distance", f"{RT}/messages/sync.py",
     "if apart > self.tolerance:", "if apart > 1e9:",
     "runtime/messages/test_sync.py", ""),
    ("a changed model file is accepted", f"{RT}/models/model_file.py",
     "metadata.get(CHECKSUM) != checksum(content)", "CHECKSUM not in metadata",
     "runtime/models/test_model_file.py", ""),
    ("saturation is not flagged", f"{RT}/estimation/forward.py",
     "saturated=saturated", "saturated=False",
     "runtime/inputs/test_checks.py", "x_is_y or shared"),
    ("the p-value leaves the given pairing out", f"{RT}/estimation/independence.py",
     "np.mean(statistic >= statistic[0])", "np.mean(statistic > statistic[0])",
     "runtime/estimation/test_independence.py", "p_value"),
    ("the sides keep what z explains", f"{RT}/estimation/conditioning.py",
     "left = centred - basis @ (basis.T @ centred)", "left = centred",
     "runtime/estimation/test_conditional.py", "common_cause"),
    ("any hump is an extremum", f"{RT}/curves/extremum_search.py",
     "return self._errors(sign, high, low) > self.z", "return True",
     "runtime/curves/test_extrema.py", ""),
    ("key states are reported at every maximum", f"{RT}/live/filter.py",
     "(middle > own.threshold)", "(middle > -9.0)",
     "runtime/live/test_tracker.py", ""),
    ("influence counts a sample as x alone", f"{TRAIN}/model/critic.py",
     "+ 2 - as_x - as_y", "+ 2 - as_x - as_x",
     "train/model/test_infoatlas.py", "influence"),
    ("a graph that differs is exported", f"{EXPORT}/onnx.py",
     "if not worst <= TOLERANCE:", "if worst != worst:",
     "export/test_onnx.py", "differs"),
]  # fmt: skip


def survives(file: str, text: str, other: str, tests: str, which: str) -> bool:
    """Whether the tests pass with the replaced text."""
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            shutil.copytree(ROOT / package, Path(folder, package))
        content = (ROOT / file).read_text(encoding="utf-8")
        if text not in content:
            sys.exit(f"{file} has no {text!r} any more: state the mutation anew")
        Path(folder, file).write_text(content.replace(text, other, 1), encoding="utf-8")
        paths = os.pathsep.join(str(Path(folder, package)) for package in PACKAGES)
        command = [sys.executable, "-m", "pytest", "-x", "-q", f"tests/{tests}"]
        done = subprocess.run(
            [*command, *(["-k", which] if which else [])],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    print(f"  {failed[0] if failed else done.stdout[-300:]}")
    if done.returncode > 1:
        sys.exit(f"the tests could not run: {done.stdout}{done.stderr}")
    return done.returncode == 0


if __name__ == "__main__":
    chosen = [int(number) for number in sys.argv[1:]] or range(1, len(MUTATIONS) + 1)
    survivors = []
    for number in chosen:
        name, *mutation = MUTATIONS[number - 1]
        print(f"{number}. {name} ({mutation[0]})", flush=True)
        if survives(*mutation):
            survivors.append(name)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} detected", *survivors, sep="\n  missed: "
    )
    sys.exit(bool(survivors))
