"""Paths in lines of text: on one line, without what steers a terminal, and read back as they were."""

import subprocess
from pathlib import Path

import pytest

from toolmend.cli import main
from toolmend.cli.error_hints import shell_line
from toolmend.cli.proxies import recordings_of
from toolmend.config.data_folder import from_one_line, on_one_line

ODD = ["/home/me\nyou", "/a\x1b[31m", "/a\tb", '"/a"', '"', "/bücher\n", "/a\u202eb", "/a\udcff", "/a'\\b\n'$(x)", "/a\r"]
PLAIN = ["/home/me/flows", "/home/a b", "C:\\flows", "/bücher", "", "s3://bucket/prefix"]


@pytest.mark.parametrize("path", ODD)
def test_an_odd_path_is_quoted(path: str) -> None:
    line = on_one_line(Path(path))
    assert line.isprintable()
    assert line.startswith('"')
    assert from_one_line(line) == path
    assert recordings_of(f"toolmend: listens to x; dialects: auto; recordings in {line}\nmore") == path


@pytest.mark.parametrize("path", PLAIN)
def test_another_stays(path: str) -> None:
    assert on_one_line(path) == from_one_line(path) == path


@pytest.mark.parametrize("line", ['"', '"a', '["a"]', '""x', "3"])
def test_what_somebody_else_wrote_stays(line: str) -> None:
    assert from_one_line(line) == line


@pytest.mark.parametrize("command", ["flows", "flows --flows {}", "show last", "show {}", "verify {}", "promote {} a/b", "routes {}", "config check {}"])
def test_what_a_user_named_steers_no_terminal(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = str(tmp_path / "a\nb\x1b]0;x\x07\u202e")
    monkeypatch.setenv("HOME", odd)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    main([odd if word == "{}" else word for word in command.split()])
    lines = "".join(capsys.readouterr()).splitlines()
    assert lines
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("b") for line in lines)


@pytest.mark.parametrize("word", [*ODD, *PLAIN])
def test_a_command_can_be_pasted(word: str) -> None:
    line = shell_line("printf", "%s", word)
    assert line.isprintable()
    said = subprocess.run(["/bin/bash", "-c", line], capture_output=True, check=True).stdout
    assert said == word.encode(errors="surrogateescape")
