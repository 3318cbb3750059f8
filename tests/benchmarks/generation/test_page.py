"""The plan of the generation benchmark, the data of its policies, and its page."""

import json

import numpy as np
import pytest

from benchmarks.generation import __main__ as command, page, picture, policies, run, sources
from benchmarks.generation.arms import ARMS, FIVE, FLAGS, FOUND, SUBTASKS, slug
from benchmarks.generation.plan import PLAIN, PLAN, QUICK, REAL, TEN

from .made import demos

ABOUT = {"date": "2026-11-25", "command": "this", "machine": {"cpu": "a CPU"}}


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_jobs(plan):
    jobs = list(run.jobs(plan))
    assert len({job.name for job in jobs}) == len(jobs)
    assert {job.arm for job in jobs} == set(plan["arms"]) <= set(ARMS)
    made = [job for job in jobs if job.set == 0 and job.variant == PLAIN]
    assert jobs[: len(made)] == made and jobs[0].task in plan["policy_tasks"]
    for task, arm, _ in policies.jobs(plan):
        assert arm in (TEN, REAL) or run.Job(task, arm, 0, PLAIN) in made
    assert [job[2] for job in policies.jobs(plan)] == sorted(job[2] for job in policies.jobs(plan))


def test_training_data_of_policies(tmp_path):
    real, more = demos(12), demos(3, seed=1)
    assert policies.data(tmp_path, "pick", TEN, 10) is None
    sources.write(real, tmp_path / "real" / "pick.npz")
    assert len(policies.data(tmp_path, "pick", REAL, 10).lengths) == 12
    assert len(policies.data(tmp_path, "pick", TEN, 10).lengths) == 10
    assert policies.data(tmp_path, "pick", SUBTASKS, 10) is None
    path = tmp_path / "data" / f"pick-{slug(SUBTASKS)}.npz"
    sources.write(more, path)
    both = policies.data(tmp_path, "pick", SUBTASKS, 10)
    assert both.lengths.tolist() == [*real.lengths[:10], *more.lengths]
    assert len(both.states) == len(both.actions) == both.lengths.sum()
    sources.write(sources.replace(more, names=more.names[::-1]), path)
    with pytest.raises(ValueError, match="columns"):
        policies.data(tmp_path, "pick", SUBTASKS, 10)


def write(folder, rates, learned):
    rng = np.random.default_rng(0)

    def outcomes(rate, number):
        return (rng.permutation(number) < round(rate * number)).tolist()

    for name in ("runs", "policies"):
        (folder / name).mkdir()
    for arm, rate in rates.items():
        for number in range(3):
            for task in ("pick", "stack"):
                row = {"task": task, "arm": arm, "set": number, "variant": PLAIN, "right": True,
                       "successes": outcomes(rate, 100), "seconds": 9.0}  # fmt: skip
                job = run.Job(task, arm, number, PLAIN)
                (folder / "runs" / f"{job.name}.json").write_text(json.dumps(row))
    for arm, rate in learned.items():
        for seed in range(3):
            row = {"task": "pick", "arm": arm, "seed": seed, "unseen": outcomes(rate, 100),
                   "demonstrations": 300}  # fmt: skip
            (folder / "policies" / f"pick-{slug(arm)}-{seed}.json").write_text(json.dumps(row))


def test_page(tmp_path):
    write(
        tmp_path,
        {SUBTASKS: 0.95, FOUND: 0.8, FLAGS: 0.97, FIVE: 0.6},
        {TEN: 0.02, SUBTASKS: 0.6, FIVE: 0.58, REAL: 0.45},
    )
    rows, runs, missing = command.results(tmp_path, PLAN)
    text = page.text(ABOUT, PLAN, rows, missing)
    assert len(runs) == 4 * 3 * 2 + 4 * 3
    assert "| sub-tasks | 95 (92 to 97); 95, 95, 95 |" in text
    assert missing == ["138 of 162 runs", "48 of 60 policies"]
    assert "nan" not in text and "None" not in text
    figure = picture.picture(rows)
    assert len(figure.axes) == 2
