"""Commands as a user runs them, and what they must print."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Users have neither paths of the checkout nor settings of its Makefile.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "INFOATLAS_ENGINE", "VIRTUAL_ENV")
}
QUIET = ("--quiet", "--disable-pip-version-check", "--no-compile")


def run(*command: str | Path, where: Path, code: int = 0, **environment: str) -> str:
    """Output of a command, including standard error; SystemExit if it ends with another code."""
    print("$", *command, flush=True)
    done = subprocess.run(
        list(map(str, command)), cwd=where, env={**ENVIRONMENT, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != code:
        raise SystemExit(f"{done.stdout}\nended with {done.returncode} instead of {code}")
    return done.stdout


def expect(text: str, *parts: str) -> None:
    """Exit unless a text contains all parts."""
    for part in parts:
        if part not in text:
            raise SystemExit(f"{text}\ndoes not say {part!r}")


def check_tree() -> None:
    """SystemExit if the checkout has changes or files that are not committed."""
    changed = run("git", "status", "--porcelain", where=ROOT)
    if changed:
        raise SystemExit(f"{changed}commit or remove these: the sdist would contain them")
