"""`toolmend config`: what holds and who says so; a file that is right, and each that is wrong."""

import json
from pathlib import Path

import pytest

from toolmend.cli import main
from toolmend.cli.commands.config import DEFAULTS
from toolmend.config.option_names import KEYS, VARIABLES
from toolmend.config.precedence import alone
from toolmend.config.settings import Settings, checked, parse


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def say(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(["config", *args]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_the_defaults_are_those_of_the_settings(place: Path) -> None:
    given = {key: value for key, value in DEFAULTS.items() if value != "none"}
    assert {*DEFAULTS, "flows"} == set(KEYS)
    assert parse(given | {"flows": "x"}) == parse({"flows": "x"})
    assert checked(alone({})) == Settings(flows=place / "data" / "toolmend" / "flows")


def test_origins(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "toolmend.toml").write_text('\npolicy = "first"\n[[provider]]\nname = "mine"\nmodels = ["my-*"]\n')
    monkeypatch.setenv("TOOLMEND_KEEP", "7d")
    rows = [line.split("\t") for line in say(capsys, "show", "--origin").splitlines()]
    assert rows[0] == ["setting", "value", "origin"]
    told = {row[0]: row[1:] for row in rows}
    assert told["policy"] == ["first", "toolmend.toml:2"]
    assert told["keep"] == ["7d", "variable TOOLMEND_KEEP"]
    assert told["dialects"] == ["auto", "default"]
    assert told["flows"] == [str(place / "data/toolmend/flows"), "default"]
    assert told["provider mine"] == ["my-*", "toolmend.toml"]
    assert [row.split("\t")[:1] for row in say(capsys, "show").splitlines()] == [row[:1] for row in rows]


def test_as_json(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("A_KEY", "sk-secret-0123456789")
    file = place / "own.toml"
    file.write_text('[[route]]\nfrom = "https://a.invalid/v1/messages"\nto = "https://b.example/v1/messages"\nkey = "env:A_KEY"\n')
    text = say(capsys, "show", "--json", "--config", str(file))
    document = json.loads(text)
    assert (document["version"], document["files"]) == (1, [str(file)])
    assert document["settings"]["route 1"] == {"value": "https://a.invalid/v1/messages → https://b.example/v1/messages", "origin": f"{file}:1"}
    assert document["settings"]["max_calls"] == {"value": "8", "origin": "default"}
    assert "sk-secret" not in text


RIGHT = {
    "nothing": ("", [], "no file: neither ./toolmend.toml nor {}/config/toolmend/config.toml, and the variables are valid\n"),
    "found": ('policy = "first"', [], "toolmend.toml: valid\n"),
    "named": ('hosts = ["a.example"]', ["toolmend.toml"], "toolmend.toml: valid\n"),
    "none is wanted": ("hosts = 1", ["off"], "files are switched off, and the variables are valid\n"),
}


@pytest.mark.parametrize(("text", "args", "said"), RIGHT.values(), ids=RIGHT)
def test_a_file_that_is_right(text: str, args: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if text:
        (place / "toolmend.toml").write_text(text)
    assert say(capsys, "check", *args) == said.format(place)
    assert json.loads(say(capsys, "check", "--json", *args))["right"] is True


TO_B = '[[route]]\nfrom = "https://{}.invalid/v1/messages"\nto = "https://b.example/v1/messages"\n'
WRONG = {
    # the file, and the beginning of the error behind its name
    "a key": ("\nkep = 1\n", ":2: kep is not a setting (did you mean keep?), write one of: hosts, "),
    "a table": ("[settings]\na = 1\n", ":1: settings is not a setting, write one of: "),
    "in a provider": ('[[provider]]\nname = "a"\nmodels = ["a"]\ndialect = ["glm"]\n', ":4: dialect is not a field of a provider (did you mean dialects?), "),
    "in the second": ('[[provider]]\nname = "a"\nmodels = ["a"]\n[[provider]]\nname = "b"\nmodel = ["b"]\n', ":6: model is not a field of a provider (did you mean models?), "),
    "in a route": ('[[route]]\nfrm = "https://a.invalid/v1/messages"\n', ":2: frm is not a field of a route (did you mean from?), "),
    "in the second route": (
        TO_B.format("a") + TO_B.format("c") + 'usemodel = "x"\n',
        ":7: usemodel is not a field of a route (did you mean use_model?), ",
    ),
    "a value": ('policy = "last"\n', ":1: policy: no such policy: 'last'"),
    "no TOML": ("a = \n", ":1:5: it is not TOML, correct it: Invalid value\n"),
}


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_a_file_that_is_wrong(text: str, sentence: str, as_json: bool, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "own.toml").write_text(text)
    assert say(capsys, "check", "own.toml", *["--json"] * as_json, code=4).startswith(f"error: own.toml{sentence}")
    assert say(capsys, "show", "--config", "own.toml", code=4).startswith(f"error: own.toml{sentence}")


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["--help"], ["show", "--help"], ["check", "--help"]):
        assert "Examples:" in say(capsys, *args)
