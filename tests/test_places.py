"""A test file stands in the folder of the code that it tests, and its name begins with the code's.

`tests/tools/a/test_b.py` and `tests/tools/a/test_b_more.py` are of the module or folder `a/b` of
the tools, or of the folder `a` as one if that is its name.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {
    "runtime": ROOT / "runtime" / "infoatlas_rt",
    "tools": ROOT / "tools" / "infoatlas_tools",
    "train": ROOT / "train" / "infoatlas_train",
    "export": ROOT / "export" / "infoatlas_export",
}
# Tests of what several folders do together.
EVERYWHERE = {
    "runtime/test_copies.py",  # all that can be pushed to
    "runtime/live/test_streams.py",  # the cases of tests/streams
    "runtime/models/test_accuracy.py",  # the shipped models
    "runtime/models/test_golden.py",
    "tools/test_api.py",  # public names of both packages
    "tools/test_docstrings.py",
    "tools/test_executors.py",  # all functions with `executor`
    "tools/files/test_remedies.py",  # what messages advise, also for bags
    "train/test_gpu_arrays.py",  # arrays of the runtime that only torch provides
}


@pytest.mark.parametrize("part", SOURCES)
def test_a_test_stands_beside_what_it_tests(part):
    astray = []
    for test in (ROOT / "tests" / part).rglob("test_*.py"):
        place = test.relative_to(ROOT / "tests" / part).parent
        code = [place.name, *(path.stem for path in (SOURCES[part] / place).glob("*"))]
        name = test.stem.removeprefix("test_") + "_"
        if not any(own and name.startswith(f"{own}_") for own in code):
            astray.append(test.relative_to(ROOT / "tests").as_posix())
    assert set(astray) == {test for test in EVERYWHERE if test.startswith(part)}
