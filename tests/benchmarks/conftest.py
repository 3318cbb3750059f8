"""The benchmarks are scripts that import each other; the tests find them in the same way."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for folder in (ROOT / "benchmarks/accuracy", ROOT / "benchmarks/applications", ROOT):
    sys.path.insert(0, str(folder))
