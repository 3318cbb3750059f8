"""Short runs of the examples."""

import re
from pathlib import Path

import gymnasium
from mani_skill.vector.wrappers.gymnasium import ManiSkillVectorEnv

from infoatlas_rt import VectorTracker
from infoatlas_tools import discover_keystates, load_trajectories
from infoatlas_tools.generation import headless

PAGE = Path(__file__).parents[2] / "docs" / "maniskill.md"


def test_wrap(demonstrations, example, capsys):
    example("wrap.py", demonstrations, "--envs", "2", "--steps", "50")
    out = capsys.readouterr().out
    assert "step 49: key states [" in out and "mean return with the bonus" in out


def test_page(demonstrations, tmp_path, monkeypatch):
    """The code of the page runs with one environment, the number that a CPU simulates."""
    found = discover_keystates(load_trajectories(demonstrations), count=2)
    found.save(tmp_path / "task.json")
    monkeypatch.chdir(tmp_path)
    make = gymnasium.make
    monkeypatch.setattr(
        gymnasium, "make", lambda *a, **named: make(*a, **named, **headless.OPTIONS)
    )
    wrapper, loop = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    values = {"gymnasium": gymnasium, "ManiSkillVectorEnv": ManiSkillVectorEnv, "actions": None}
    exec(wrapper.replace("16", "1"), values)
    assert values["info"]["key_state"].tolist() == [-1]
    assert values["info"]["mutual_information"].isnan().all()
    values |= {"tracker": VectorTracker(1, found), "action": None}
    exec(loop, values)
    assert values["reward"].shape == (1,)
    values["envs"].close()
