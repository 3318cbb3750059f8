"""Random task files and streams, to compare followers."""

import json
import sys
from pathlib import Path

import numpy as np

SIZES = {
    "angle": 1, "quaternion": 4, "rotation_vector": 3, "euler": 3, "matrix": 9, "rotation_6d": 6,
}  # fmt: skip
TURNS = 2 * np.pi, 360.0, 4096.0


def task(rng):
    """Values of a task file with groups of several kinds, up to three tools, any rate."""
    kinds = rng.permutation(list(SIZES))[: rng.integers(0, 4)].tolist()
    plain = int(rng.integers(2, 9))
    width = plain + sum(SIZES[kind] for kind in kinds)
    columns = iter(rng.permutation(width).tolist())
    groups = [
        {"kind": kind, "columns": [next(columns) for _ in range(SIZES[kind])],
         "turn": float(rng.choice(TURNS))}
        for kind in kinds
    ]  # fmt: skip
    axes = [(g, a) for g, kind in enumerate(kinds) for a in range(1 if kind == "angle" else 3)]
    parts = rng.permutation([*axes, *((-1, c) for c in columns)])
    parts = parts[: rng.integers(1, len(parts) + 1)]
    keystates, stride = int(rng.integers(0, 5)), int(rng.integers(1, 6))
    frequency = rng.uniform(12, 30)
    rate = None if rng.random() < 0.4 else float(stride * frequency)
    subtasks = None if rng.random() < 0.2 else _subtasks(rng, width, len(parts))
    detectors = {
        "coordinates": {"width": width, "groups": groups, "parts": parts.tolist()},
        "timing": {"stride": stride, "rate": rate, "frequency": frequency},
        **_detectors(rng, len(parts), keystates, subtasks),
    }
    return {
        "format": 8,
        "keystates": [f"state {k} \u00e9" for k in range(keystates)],
        "columns": [] if rng.random() < 0.5 else [f"column {c}" for c in range(width)],
        "detectors": detectors,
        "subtasks": subtasks,
        "outcome": _outcome(rng, len(parts), subtasks),
    }


def _detectors(rng, p, count, subtasks):
    q = int(rng.integers(1, p + 1))
    windows = rng.integers(1, 9, (rng.integers(1, 3), 2)).tolist()
    features = {
        "columns": np.sort(rng.permutation(p)[:q]).tolist(), "windows": windows,
        "scale": _positive(rng, q, 0.1), "rest": _positive(rng, q, 1e-4),
        **{name: rng.standard_normal(q).tolist() for name in ("centre", "gain", "weight")},
        "clip": _about(rng, 3), "fewest": int(rng.integers(0, 4)),
    }  # fmt: skip
    threshold = [_or_none(rng, rng.uniform(0, 1)) for _ in range(count)]
    first = int(rng.integers(2, 20))
    size = q * (3 * len(windows) + 1)
    stream = {"stamps_kept": int(rng.integers(first, 200)), "stamps_for_rate": first}
    stream |= {"usual": [0.5, _about(rng, 1.5)], "same": [0.8, _about(rng, 1.25)]}
    stream["averaged"] = _about(rng, 0.75)
    return {
        "features": features,
        "stream": stream,
        "coefficients": (rng.standard_normal((count, size)) / size**0.5).tolist(),
        "offset": rng.uniform(0, 0.5, count).tolist(),
        "threshold": threshold,
        "once": (rng.random(count) < 0.4).tolist(),
        "earliest": rng.integers(0, 3, (count, len(subtasks["tools"]) if subtasks else 0)).tolist(),
        "recall": [_or_none(rng, rng.uniform(0.4, 1)) for _ in range(count)],
        "delay": [_or_none(rng, 0.3) for _ in range(count)],
        "false_reports": [_or_none(rng, rng.uniform(0, 0.7)) for _ in range(count)],
        "followed": [limit is not None and rng.random() < 0.7 for limit in threshold],
        "gap": int(rng.integers(1, 12)),
        "rise": 1e-9,
    }


def _subtasks(rng, width, p):
    tools = [f"tool {t}" for t in range(rng.integers(1, 4))]
    own = [*tools, *rng.choice(tools, rng.integers(0, 6))]
    parts = [
        {"name": f"part {i}", "tool": str(tool), "reference": "world", "held": ""}
        for i, tool in enumerate(own)
    ]
    models = [
        _tool(rng, width, p, [i for i, part in enumerate(parts) if part["tool"] == tool])
        for tool in tools
    ]
    return {"parts": parts, "tools": models, "stalled": _about(rng, 3)}


def _outcome(rng, p, subtasks):
    tools = subtasks["tools"] if subtasks else []
    pairs = sum(len(tool["model"]["pairs"]) for tool in tools)
    grippers = []
    for n in rng.integers(0, 4, rng.integers(3)).tolist():
        columns = rng.integers(0, p, 2).tolist()
        grippers.append({
            "name": "hand", "columns": columns, "weights": rng.standard_normal(2).tolist(),
            "zero": 0.1, "change": 0.5, "jitter": 0.05, "settle": int(rng.integers(1, 4)),
            "usual": ["30 to 36%"] * n, "part": [0] * n,
            "least": rng.normal(-1, 1, n).tolist(), "early": rng.random(n).tolist(),
            "pair": rng.integers(-1, pairs, n).tolist(), "slip": _positive(rng, n, 3),
        })  # fmt: skip
    return {
        "near": 5.0, "wait": int(rng.integers(0, 3)) if tools else 0, "reason": "few", "about": "",
        "false_done": None if rng.random() < 0.5 else 0.1, "found": 0.9, "grippers": grippers,
    }  # fmt: skip


def _tool(rng, width, p, parts):
    bins = rng.integers(1, 9, len(parts))
    m, q, count = int(rng.integers(0, 4)), int(rng.integers(1, 7)), int(bins.sum())
    model = {
        "parts": parts, "bins": bins.tolist(),
        "pairs": rng.integers(0, width, (m, 6)).tolist(), "back": int(rng.integers(1, 7)),
        "centre": rng.standard_normal(p).tolist(),
        "scale": _positive(rng, p, 1), "rms": _positive(rng, p, 0.3),
        "centre_between": rng.standard_normal(5 * m).tolist(),
        "scale_between": _positive(rng, 5 * m, 1),
        "projection": (rng.standard_normal((2 * p + 5 * m, q)) / p**0.5).tolist(),
        "offset": rng.standard_normal(q).tolist(), "end": rng.standard_normal(q).tolist(),
        "means": (2 * rng.standard_normal((count, q))).tolist(),
        "before": np.linspace(0, 1, len(parts) + 1).tolist(),
        "start": rng.dirichlet(np.ones(count)).tolist(),
        "moves": rng.integers(0, count, (3 * count, 2)).tolist(),
        "probabilities": rng.uniform(0.01, 0.9, 3 * count).tolist(),
        "anywhere": _about(rng, 1e-6), "temper": _about(rng, 0.15),
        "certain": rng.uniform(0.3, 1), "near": _about(rng, 0.5), "cap": _about(rng, 8),
        "clip": _about(rng, 6), "resolution": _about(rng, 0.002),
    }  # fmt: skip
    return {
        "model": model, "right": [_or_none(rng, rng.uniform(0.6, 1)) for _ in parts],
        "error": [_or_none(rng, 0.1) for _ in parts], "usual": _positive(rng, len(parts), 10),
        "limit": _or_none(rng, rng.uniform(0.5, 5)),
        "followed": (rng.random(len(parts)) < 0.7).tolist(),
    }  # fmt: skip


def _positive(rng, count, size):
    return (size * np.exp(rng.standard_normal(count))).tolist()


def _about(rng, value):
    return float(value * np.exp(0.2 * rng.standard_normal()))


def _or_none(rng, value):
    return None if rng.random() < 0.2 else float(value)


def stream(rng, task, length):
    """States [length, d]: random walks with pauses, turns, and rotations that are missing."""
    own = task["detectors"]["coordinates"]
    move = (rng.random(length) < 0.7)[:, None]
    states = np.cumsum(0.1 * move * rng.standard_normal((length, own["width"])), axis=0)
    for group in own["groups"]:
        size, turn = len(group["columns"]), group["turn"]
        walk = rng.standard_normal(size) + np.cumsum(
            0.2 * move * rng.standard_normal((length, size)), axis=0
        )
        states[:, group["columns"]] = _measured(rng, group["kind"], walk, turn)
    return states


def _measured(rng, kind, walk, turn):
    length = len(walk)
    lost = rng.random(length) < 0.02
    if kind in ("angle", "rotation_vector", "euler"):
        values = np.mod(walk, 2 * np.pi) * turn / (2 * np.pi)
        values[lost] = -9999 * turn
        return values
    q = walk[:, :4] / np.linalg.norm(walk[:, :4], axis=1, keepdims=True)
    if kind == "quaternion":
        q *= np.where(rng.random(length) < 0.1, -1, 1)[:, None]
        q[lost] = 0
        return q
    w, v = q[:, :1, None], q[:, 1:]
    cross = np.cross(np.eye(3)[None], v[:, None])  # rows: e_i x v
    matrices = (w**2 - (v**2).sum(axis=1)[:, None, None]) * np.eye(3)
    matrices = matrices + 2 * v[:, :, None] * v[:, None] - 2 * w * cross
    matrices[lost] = 0
    if kind == "matrix":
        return matrices.reshape(length, 9)
    return matrices[:, :, :2].transpose(0, 2, 1).reshape(length, 6)


def main(folder):
    """Write ten task files, the seeds of fuzz_task.cpp."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for seed in range(10):
        values = json.dumps(task(np.random.default_rng(seed)))
        (Path(folder) / f"task{seed}.json").write_text(values)


if __name__ == "__main__":
    main(sys.argv[1])
