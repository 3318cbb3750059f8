"""The page of one file shows some unusual episodes, with their first and last frames."""

from types import SimpleNamespace as Has

import numpy as np
from matplotlib.figure import Figure

from infoatlas_tools.plots import report


def test_some_unusual_episodes_have_frames(monkeypatch, tmp_path):
    read, episodes = [], tuple(map(str, range(20)))

    def frames(episode, steps, width):
        read.append((episode, steps))
        return [np.full((4, 6, 3), 90, np.uint8)] * len(steps)

    monkeypatch.setattr(report, "annotation_figure", lambda *_, **options: Figure((1, 1)))
    camera = Has(camera=Has(read=frames))
    annotations = Has(
        episodes=episodes, subtasks=Has(seen=None), keystates=Has(trajectories=camera),
        kept=lambda episode: slice(3, 10 + episode),
    )  # fmt: skip
    page, unusual = tmp_path / "a.html", dict.fromkeys(episodes[2:], "idle < 9%")
    report.write_report(str(page), "a & b", "a table\n  1 &\n  2\nend", annotations, [0], unusual)
    text = page.read_text(encoding="utf-8")
    assert "<pre>a table\n<span>  1 &amp;\n  2\n</span>end</pre>" in text
    assert "<h1>a &amp; b</h1>" in text and "<p>idle &lt; 9%</p>" in text
    assert read == [(episode, [3, 9 + episode]) for episode in range(2, 17)]
    assert text.count("image/jpeg") == 30 and text.count("image/png") == 16
    assert "3 more unusual episodes are not shown" in text
