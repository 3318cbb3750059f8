"""Progress where stderr is no terminal."""

from infoatlas_rt.cli import console


def test_a_log_has_a_line_of_progress_in_ten_seconds(monkeypatch, capsys):
    now = iter([0.0, 4.0, 11.0, 11.0, 19.0, 40.0, 40.0])
    monkeypatch.setattr(console, "monotonic", lambda: next(now))
    with console.progress("bag") as advance:
        for share in (0.1, 0.2, 0.3, 0.9):
            advance(share)
    assert capsys.readouterr() == ("", "bag: 20%\nbag: 90%\n")
