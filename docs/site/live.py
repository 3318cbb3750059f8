"""An episode of the README's recordings followed live, as a moving picture.

python docs/site/live.py docs/live.gif
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

from infoatlas_rt import KeyStateTracker
from infoatlas_tools import annotate, load_trajectories
from infoatlas_tools.plots.keystate_plots import COLOURS

ROOT = Path(__file__).parents[2]
PICTURES_PER_SECOND, WIDTH = 5, 240  # with these, the file is below a megabyte


def main(target: str) -> None:
    """Fit a tracker to the 20 episodes, and draw how it follows the first."""
    recordings = load_trajectories(ROOT / "examples/data/stack", camera="front")
    rate, length = recordings.rate, int(recordings.lengths[0])
    found = annotate(recordings, object_names={1: "green", 2: "red"})
    tracker = KeyStateTracker(found.keystates.follow(found.subtasks))
    times, progress, colours, texts = [], [], [], []
    events: list[tuple[int, float, str]] = []
    for step, state in enumerate(recordings.states[:length]):
        for event in tracker.push(state, step / rate):
            events.append((step, event.stamp, tracker.task.keystates[event.keystate]))
        at = tracker.subtask
        times.append(step / rate)
        progress.append(at.task_progress if at else float("nan"))
        colours.append(COLOURS[at.index] if at else "0.5")
        texts.append(at.name if at else "")
    steps = range(0, length, round(rate / PICTURES_PER_SECOND))
    images = recordings.camera.read(0, steps, WIDTH)

    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.6), dpi=80, layout="constrained")
    left.axis("off")
    picture = left.imshow(images[0])
    right.set(xlim=(0, length / rate), ylim=(0, 1), xlabel="time (s)", ylabel="progress")
    right.spines[["top", "right"]].set_visible(False)

    def draw(number: int) -> None:
        end = steps[number]
        picture.set_data(images[number])
        right.set_title(texts[end], color=colours[end], loc="left", fontweight="bold")
        for drawn in (*right.collections, *right.lines, *right.texts):
            drawn.remove()
        right.scatter(times[: end + 1], progress[: end + 1], 6, colours[: end + 1])
        for reported, stamp, name in events:
            if reported <= end:
                right.axvline(stamp, color="0.4", linestyle="--")
                right.text(stamp, 0.03, f" {name}", color="0.3")

    moving = FuncAnimation(figure, draw, len(steps))
    moving.save(target, PillowWriter(PICTURES_PER_SECOND))


if __name__ == "__main__":
    main(*sys.argv[1:])
