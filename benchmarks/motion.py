"""Segmentation of rigid bodies by the mutual information of point trajectories.

    python -m benchmarks.motion              # -> benchmarks/results/motion.*

Modelled on the InfoAtlas paper (Fig. 5), on simulated bodies. Each body has a reference point. A
score of its trajectory with that of every other point should be higher for points of the same body:
the result is the area under the precision-recall curve.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from infoatlas_rt import Estimator

from . import report
from .measure import OURS, Series, grid, mean, pick, timed
from .peers import Score
from .peers.classical import gaussian_copula, ksg
from .report import number
from .tasks import Array
from .tasks.scenes import FRAMES, POINTS, SCENES, Recording, camera, record

# Standard deviation of the tracker's error, in units of the view (m, pixels).
VIEWS = {"positions (3-D)": 0.002, "image (2-D)": 0.5}


def velocity(x: Array, y: Array) -> float:
    """Correlation of the velocity vectors."""
    u, v = np.diff(x, axis=0), np.diff(y, axis=0)
    u, v = u - u.mean(0), v - v.mean(0)
    return float((u * v).sum() / np.sqrt((u * u).sum() * (v * v).sum()))


def constancy(x: Array, y: Array) -> float:
    """Constancy of the distance, the definition of a rigid body; it needs positions."""
    return -float(np.linalg.norm(x - y, axis=1).std())


PEERS: dict[str, Score] = {
    "Gaussian copula": gaussian_copula,
    "KSG (k=5)": ksg,
    "velocity correlation": velocity,
    "distance constancy": constancy,
}


def seen(recording: Recording, view: str, seed: int) -> Array:
    """Tracks with the tracker's error [points, frames, 2 or 3]."""
    tracks = camera(recording.tracks) if "2-D" in view else recording.tracks
    rng = np.random.default_rng(seed)
    return tracks + VIEWS[view] * rng.standard_normal(tracks.shape)


def references(recording: Recording) -> list[int]:
    """The first point of each body."""
    return [int(np.flatnonzero(recording.bodies == b)[0]) for b in np.unique(recording.bodies)]


def measure(estimator: Estimator, recordings: Sequence[Recording]) -> list[dict[str, Any]]:
    """A row for each scene, view and score; recordings of the same scene are pooled."""
    scores: dict[str, Score] = {
        OURS: lambda x, y: estimator.estimate(x, y, time_series=True).mi,
        **PEERS,
    }
    areas: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    jobs = product(enumerate(recordings), VIEWS)
    for (seed, recording), view in report.tracked("motion", jobs):
        tracks = seen(recording, view, seed)
        for reference in references(recording):
            found: Series = {}
            for track in np.delete(tracks, reference, axis=0):
                timed(scores, tracks[reference], track, found)
            same = np.delete(recording.bodies, reference) == recording.bodies[reference]
            for (name,), own in found.items():
                values, seconds = np.array(own).T
                area = float(average_precision_score(same, values))
                areas.setdefault((recording.scene, view, name), []).append((area, seconds.mean()))
    return [
        {
            "scene": scene,
            "view": view,
            "score": name,
            "auc_pr": float(own[:, 0].mean()),
            "spread": float(own[:, 0].std(ddof=1)),
            "seconds": float(np.median(own[:, 1])),
            "references": tuple(own[:, 0].tolist()),
        }
        for (scene, view, name), pairs in areas.items()
        for own in [np.array(pairs)]
    ]


def page(about: dict[str, Any], rows: list[dict[str, Any]], recordings: list[Recording]) -> str:
    """All results as Markdown."""
    frames = recordings[0].tracks.shape[1]
    each = len(recordings) // len(SCENES)
    chance = {r.scene: (np.bincount(r.bodies)[1] - 1) / (len(r.bodies) - 1) for r in recordings}
    parts = [
        "# Rigid bodies from motion trajectories",
        f"There are {each} recordings of {frames} frames of each of three scenes in MuJoCo: bodies "
        "that drift and collide, bodies in a shaken tray, and two arms. In the tray one motion "
        "drives all bodies; in the arms neighbouring links move together. Points on each body are "
        "tracked as positions with an error of 2 mm, and in the image of a fixed camera with an "
        "error of half a pixel.",
        "For a reference point on each body, a score has to rank the points of the same body above "
        "all others. AUC-PR is the area under the precision-recall curve, mean over bodies and "
        "recordings ± standard deviation. The number of bodies is not given. Successive frames "
        "are dependent, so the scores are not estimates of a mutual information; only their order "
        "is used.",
        "Distance constancy is the definition of a rigid body; no other score uses it. It needs "
        "positions, because distances in an image change with the view.",
        report.byline(about, nats=False),
        "## AUC-PR",
    ]
    for view in VIEWS:
        areas = grid(
            pick(rows, view=view),
            ["score"],
            "scene",
            lambda own: f"{number(own[0]['auc_pr'])} ± {number(own[0]['spread'], 2)}",
            last={
                "mean": lambda own: number(mean(own, "auc_pr")),
                "time of a pair": lambda own: report.duration(mean(own, "seconds")),
            },
        )
        cells = [*chance.values(), np.mean([*chance.values()])]
        parts.append(
            f"Tracks as {view}:\n\n{areas}\n| chance | {' | '.join(map(number, cells))} |  |"
        )
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(
        __spec__.name, __doc__, "one recording of each scene, 100 frames, 2 points on each body"
    )
    chosen = parser.parse_args(arguments)
    repeats, frames, points = 2, FRAMES, POINTS
    if chosen.quick:
        repeats, frames, points = 1, 100, 2
    estimator = Estimator(chosen.model, provider="auto")
    about = report.provenance(chosen.command, estimator)
    recordings = [record(s, frames, points, seed) for seed in range(repeats) for s in SCENES]
    rows = measure(estimator, recordings)
    report.save(chosen.out, "motion", about, rows, page(about, rows, recordings))


if __name__ == "__main__":
    main()
