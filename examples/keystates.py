"""Key states of 100 recorded demonstrations, and a tracker that detects them in the next one.

The first command finds and draws the key states, too. In a checkout, the second one compares them
with the simulator's flags:

    infoatlas-rt keystates examples/data/pickcube.npz --plot keystates.png --save task.json
    python -m benchmarks.keystates.flags examples/data/pickcube.npz --rate 20
"""

from pathlib import Path

from infoatlas_rt import KeyStateTracker
from infoatlas_tools import discover_keystates, load_trajectories

trajectories = load_trajectories(Path(__file__).parent / "data" / "pickcube.npz")
*demonstrations, unseen = trajectories.split()

found = discover_keystates(demonstrations[:15], count=3)
print(found)

tracker = KeyStateTracker(found)
for state in unseen:
    for event in tracker.push(state):
        print(
            f"unseen episode, step {event.detected_step}: key state {event.keystate + 1} "
            f"at step {event.step}, score {event.score:.2f}"
        )
