"""configuration.py: settings that are wrong, switch off what is expected, or lack a key, each with the command that mends it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from toolmend.cli.doctor.configuration import keys, settings
from toolmend.cli.doctor.finding import Finding, Machine

ROUTE = '[[route]]\nfrom = "https://a.example/v1/messages"\nto = "https://b.example/v1/messages"\n'


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("A_KEY", raising=False)


def machine(folder: Path, text: str) -> Machine:
    file = folder / "toolmend.toml"
    file.write_text(text)
    file.chmod(0o600)
    folder.chmod(0o700)
    return Machine({}, folder, None, file)


def only(found: Iterator[Finding]) -> Finding:
    (one,) = found
    return one


@pytest.mark.parametrize(
    ("text", "state", "words", "do"),
    [
        ("", "ok", "the settings are ", ""),
        (f"{ROUTE}key = 'file:key'\n", "fault", "", ""),
        ("mode = 'observe'", "warning", "mode is observe", "toolmend config show"),
        ("dialects = 'off'", "warning", "dialects is off", "toolmend config show"),
        ("flows = 'off'", "warning", "flows is off", "toolmend config show"),
        ("dialects = 'kimi'", "fault", "", "toolmend config check "),
        ("not TOML", "fault", "", "toolmend config check "),
        (f"{ROUTE}key = 'env:A_KEY'\n", "fault", "the variable A_KEY is not set", "export A_KEY=…"),
    ],
)
def test_settings(tmp_path: Path, text: str, state: str, words: str, do: str) -> None:
    found = only(settings(machine(tmp_path, text)))
    assert (found.state, words in found.text, found.try_.startswith(do)) == (state, True, True)


def test_no_file_are_the_defaults(tmp_path: Path) -> None:
    found = only(settings(Machine({}, tmp_path, None)))
    assert (found.state, "no file, the defaults" in found.text) == ("ok", True)


def test_routes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-0123456789")
    found = only(settings(machine(tmp_path, f"{ROUTE}key = 'env:A_KEY'\n")))
    assert found.text.endswith(", 1 route)")


def test_a_file_that_others_can_write(tmp_path: Path) -> None:
    given = machine(tmp_path, "")
    assert given.config
    given.config.chmod(0o666)
    found = only(settings(given))
    assert found.state == "warning"
    assert str(given.config) in found.text
    assert found.try_.startswith("chmod ")


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("", "ok", "no route needs a key"),
        (f"{ROUTE}key = 'env:A_KEY'\n", "ok", ": env:A_KEY"),
        (ROUTE, "warning", "b.example has no key"),
        (ROUTE.replace("b.example", "a.example"), "ok", "no route needs a key"),
    ],
)
def test_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, state: str, words: str) -> None:
    monkeypatch.setenv("A_KEY", "sk-0123456789")
    found = only(keys(machine(tmp_path, text)))
    assert found.state == state
    assert words in found.text
    assert "sk-0123456789" not in found.text + found.try_


def test_wrong_settings_are_no_matter_of_keys(tmp_path: Path) -> None:
    assert [*keys(machine(tmp_path, "not TOML"))] == []
