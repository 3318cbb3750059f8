"""What the README and the examples show runs as it is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page):
    """Python code blocks of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme():
    discover, estimate = blocks("README.md")
    text = run("-c", discover)
    assert "5 key states of 100 trajectories" in text and "key state 1 at step" in text
    mi, stderr = map(float, run("-c", estimate).split())
    assert abs(mi - 1.99) < 1.645 * stderr


def test_key_states_page():
    (code,) = blocks("docs/key-states.md")
    path = ROOT / "task.json"
    try:
        assert "0 made" in run("-c", code)
    finally:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["keystates.py", "online.py"])
def test_examples(name):
    assert len(run(f"examples/{name}").splitlines()) > 1


def test_links_of_the_documentation():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130
