"""Progress where stderr is no terminal."""

import time

from infoatlas_rt.cli import console


def test_a_log_has_lines_of_progress_also_while_one_step_lasts(monkeypatch, capsys):
    monkeypatch.setattr(console, "LOGGED", 0.2)
    with console.progress("bag") as advance:
        advance(0.2)
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and set(lines) == {"bag: 20%"}
