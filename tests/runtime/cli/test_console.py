"""Progress where stderr is no terminal."""

from infoatlas_rt.cli import console


def test_a_log_has_a_line_of_progress_in_ten_seconds(monkeypatch, capsys):
    now = iter([0.0, 4.0, 11.0, 11.0, 19.0, 40.0, 40.0])
    monkeypatch.setattr(console, "monotonic", lambda: next(now))
    with console.progress("bag") as advance:
        for share in (0.1, 0.2, 0.3, 0.9):
            advance(share)
    assert capsys.readouterr() == ("", "bag: 20%\nbag: 90%\n")


def test_a_file_of_json_is_confirmed(tmp_path, capsys):
    assert not console.write_json(None, {"a": 1}) and capsys.readouterr().out == ""
    assert not console.write_json(str(tmp_path / "a.json"), {"a": 1})
    assert capsys.readouterr().out == f"JSON: {tmp_path / 'a.json'}\n"
    assert (tmp_path / "a.json").read_text() == '{\n "a": 1\n}\n'
    assert console.write_json("-", {"a": 1}) and capsys.readouterr().out == '{\n "a": 1\n}\n'
