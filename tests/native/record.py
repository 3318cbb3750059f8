"""Write inputs and the engine's outputs on this machine, to compare with another processor.

    python tests/native/record.py MODEL FILE

tests/native/program.cpp reads the file. It contains the number of cases, and for each case the
sizes B, n and M, the inputs and the outputs, in C order and the byte order of this machine.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.models import model_file
from inputs import canonical

SIZES = (32, 24, 5), (33, 1, 32), (100, 12, 5), (257, 3, 62), (1000, 1, 16)  # n, slices, shifts


def main(model: str, target: str) -> None:
    backend = make_backend(model_file.load(model), "native", 2)
    dim = model_file.load(model).dim
    with open(target, "wb") as file:
        file.write(np.int64(len(SIZES)).tobytes())
        for n, slices, shifts in SIZES:
            given = canonical(dim, n, slices, shifts)
            file.write(np.array([slices, n, len(given[2])], np.int64).tobytes())
            for values in (*given, *backend.run(*given)):
                file.write(np.ascontiguousarray(values).tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
