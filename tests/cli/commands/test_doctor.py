"""`toolmend doctor`: what it prints, and its exit code. What it finds is in cli/doctor/test_doctor.py."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolmend import __version__
from toolmend.cli import main
from toolmend.cli.commands import doctor
from toolmend.cli.doctor import Finding

OK = Finding("ok", "all is \x1b[31mthere", check="python")
WARNING = Finding("warning", "it may be better", "toolmend ca path", check="ca")
FAULT = Finding("fault", "it does not work", "chmod 600 key", check="ca key")


def examined(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> list[Any]:
    asked: list[Any] = []

    def examine(machine: Any) -> Sequence[Finding]:
        asked.append(machine)
        return findings

    monkeypatch.setattr(doctor, "examine", examine)
    return asked


@pytest.mark.parametrize(
    ("findings", "code", "summary"),
    [
        ([OK], 0, "1 findings: no problems\n"),
        ([OK, WARNING], 0, "2 findings: 1 warning\n"),
        ([FAULT, OK, WARNING, WARNING], 5, "4 findings: 1 fault, 2 warnings\n"),
    ],
)
def test_exit_code(
    findings: list[Finding], code: int, summary: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examined(monkeypatch, *findings)
    assert main(["doctor"]) == code
    assert capsys.readouterr().err == summary
    assert main(["doctor", "--json"]) == code
    assert capsys.readouterr().err == ""


def test_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    examined(monkeypatch, OK, FAULT)
    main(["doctor"])
    assert capsys.readouterr().out == (
        "ok      python          all is \\x1b[31mthere\nfault   ca key          it does not work\n                        try: chmod 600 key\n"
    )


@pytest.mark.parametrize(("variables", "coloured"), [({"FORCE_COLOR": "1"}, True), ({}, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)])
def test_colours(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    examined(monkeypatch, FAULT)
    main(["doctor"])
    assert ("\x1b[1;31m" in capsys.readouterr().out) == coloured


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    examined(monkeypatch, OK, FAULT)
    main(["doctor", "--json"])
    assert json.loads(capsys.readouterr().out) == {
        "version": 1,
        "toolmend": __version__,
        "faults": 1,
        "warnings": 0,
        "findings": [
            {"check": "python", "state": "ok", "text": "all is \x1b[31mthere", "try": None},
            {"check": "ca key", "state": "fault", "text": "it does not work", "try": "chmod 600 key"},
        ],
    }


def test_which_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = examined(monkeypatch, OK)
    main(["doctor", "--config", str(tmp_path / "toolmend.toml")])
    assert asked[0].config == tmp_path / "toolmend.toml"
    assert asked[0].confdir == Path.home() / ".mitmproxy"
