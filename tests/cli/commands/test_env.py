"""`toolmend env`: each shell gets every value as it is. What is set, and with which proxy: tests/e2e/test_background.py."""

import json
import os
import shutil
import subprocess

import pytest

from toolmend.cli import main
from toolmend.cli.commands.env import SHELLS
from toolmend.cli.launcher.environment import BEFORE, NAMES

VALUES = ["plain", "two words", "it's", 'a "b"', "$HOME `id` $(id)", "back\\slash\\", "line\nline", "a;b|c&d*?!#~", "%\u2018x\u2019 日本", "-n", "\\'"]

PRINTS = {
    "bash": ["bash", "-c", '{}\nprintf %s "$NAME"'],
    "zsh": ["zsh", "-f", "-c", '{}\nprintf %s "$NAME"'],
    "fish": ["fish", "--no-config", "-c", '{}\nprintf %s "$NAME"'],
    "powershell": ["pwsh", "-NoProfile", "-Command", "{}\n[Console]::Write($env:NAME)"],
}
SPELLED = {
    "fish": {"it's": r"'it\'s'", "back\\slash\\": r"'back\\slash\\'", "$HOME `id` $(id)": "'$HOME `id` $(id)'"},
    "powershell": {"it's": "'it''s'", "%\u2018x\u2019 日本": "'%\u2018\u2018x\u2019\u2019 日本'", "back\\slash\\": "'back\\slash\\'"},
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_value_arrives_as_it_is(shell: str, value: str) -> None:
    quote, put, _ = SHELLS[shell]
    if value in SPELLED.get(shell, {}):
        assert quote(value) == SPELLED[shell][value]
    program, *words = PRINTS[shell]
    if not (found := shutil.which(program)):
        pytest.skip(f"there is no {program}")
    line = [found, *(word.format(put.format("NAME", quote(value))) if "{}" in word else word for word in words)]
    assert subprocess.run(line, capture_output=True, check=True).stdout.decode() == value


@pytest.mark.parametrize(
    ("named", "first"),
    [
        ("/bin/bash", "unset HTTPS_PROXY"),
        ("/usr/bin/zsh", "unset HTTPS_PROXY"),
        ("/usr/bin/fish", "set -e HTTPS_PROXY"),
        ("/opt/pwsh", "Remove-Item Env:HTTPS_PROXY -ErrorAction SilentlyContinue"),
        ("/bin/dash", "unset HTTPS_PROXY"),
        ("", "unset HTTPS_PROXY"),
    ],
)
def test_the_shell_is_the_users(named: str, first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHELL", named)
    assert main(["env", "--unset"]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[0], err) == (first, "")


def test_what_was_before_is_put_back(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(BEFORE, json.dumps({"HTTPS_PROXY": "http://it's:3128"}))
    assert main(["env", "--unset", "--shell", "bash"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == """export HTTPS_PROXY='http://it'"'"'s:3128'"""
    assert lines[1:] == [f"unset {name}" for name in (*NAMES, BEFORE) if name != "HTTPS_PROXY"]
    assert BEFORE in os.environ


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "--shell", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish', 'powershell'" in capsys.readouterr().err
