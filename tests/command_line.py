"""Calls of the command infoatlas-rt in this process."""

import json

from infoatlas_rt.cli import main


def printed(capsys, *arguments) -> str:
    """What a command prints that succeeds."""
    assert main.main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def answer(capsys, *arguments) -> dict:
    """The JSON that a command prints."""
    return json.loads(printed(capsys, *arguments, "--json"))


def complaint(capsys, *arguments) -> str:
    """The error of a command that refuses its arguments."""
    assert main.main([*map(str, arguments)]) == 2
    return capsys.readouterr().err
