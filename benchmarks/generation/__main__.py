"""Data generated from ten demonstrations, cut into sub-tasks in several ways; and policies.

    .venv-dev/bin/python -m benchmarks.generation              # -> benchmarks/results/generation.*

It runs what is missing in its folder, and writes the page. The simulator has an environment of its
own (`--simulator`); data are exchanged as files in the folder. All stages together need hours on
two cores.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infoatlas_rt import Estimator

from .. import report
from ..policies.simulator import folder as folder_of, options, run
from . import page, picture, policies
from .arms import ARMS
from .plan import PLAN, QUICK
from .run import jobs
from .tasks import TASKS


def make(plan: dict[str, Any], folder: Path, simulator: Path, processes: int) -> None:
    """Make what the page needs and the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    given = folder / "plan.json"
    given.write_text(json.dumps(plan), encoding="utf-8")
    run(simulator, *(("generation.run", folder, given, n, processes) for n in range(processes)))
    for task in plan["policy_tasks"]:
        if not (folder / "real" / f"{task}.npz").exists():
            run(simulator, ("policies.demos", task, plan["real"], folder / "real"))
    run(simulator, ("generation.policies", folder, given))


def results(
    folder: Path, plan: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Rows of figures, the runs that they come from, and the parts of the plan without a run."""
    runs = _read(folder / "runs")
    # The order of the plan, not of completion.
    order = {name: i for i, name in enumerate([*TASKS, *ARMS])}
    asked = {*plan["tasks"], *plan["arms"]}
    runs = [run for run in runs if {run["task"], run["arm"]} <= asked]
    runs.sort(key=lambda run: (order[run["task"]], order[run["arm"]], run["set"]))
    arms = {name: i for i, name in enumerate(plan["policy_arms"])}
    learned = [run for run in _read(folder / "policies") if run["arm"] in arms]
    learned.sort(key=lambda run: (order.get(run["task"], 0), arms[run["arm"]], run["seed"]))
    rows = [*page.generation(runs), *page.policies(learned)]
    missing = []
    for what, names in (
        ("runs", {job.name for job in jobs(plan)}),
        ("policies", {policies.name(*job) for job in policies.jobs(plan)}),
    ):
        left = names - {path.stem for path in (folder / what).glob("*.json")}
        missing += [f"{len(left)} of {len(names)} {what}"] if left else []
    return rows, [*runs, *learned], missing


def _read(folder: Path) -> list[Any]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = options("generation", __doc__, "PickCube, 5 attempts, 50 steps")
    parser.add_argument(
        "--processes", type=int, default=2, help="processes that generate (%(default)s)"
    )
    chosen = parser.parse_args(arguments)
    plan = QUICK if chosen.quick else PLAN
    folder = folder_of("generation", chosen)
    if not chosen.page:
        make(plan, folder, chosen.simulator, chosen.processes)
    rows, runs, missing = results(folder, plan)
    about = report.provenance(chosen.command, Estimator(model=chosen.model))
    about["units"] = "shares of attempts or episodes, nats, seconds"
    text = page.text(about, plan, rows, missing)
    values = [*rows, *({"study": "runs", **_short(run)} for run in runs)]
    report.save(chosen.out, "generation", about, values, text, picture.picture(rows))


def _short(run: dict[str, Any]) -> dict[str, Any]:
    """A run with its outcomes as digits."""
    outcomes = [name for name in ("successes", "unseen") if name in run]
    return run | {name: "".join(str(int(done)) for done in run[name]) for name in outcomes}


if __name__ == "__main__":
    main()
