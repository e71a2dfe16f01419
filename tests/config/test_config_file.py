"""config_file.py: keys of a file as options would have them, each with its line, and the sentence for each wrong file."""

from pathlib import Path

import pytest

from toolmend.config.checks import SettingsError
from toolmend.config.config_file import MOST, PARTS, ConfigFile, read
from toolmend.config.config_places import ConfigPlace


def parsed(folder: Path, text: str, *, trusted: bool = True, named: str = "") -> ConfigFile:
    file = folder / "toolmend.toml"
    file.write_text(text)
    return read(ConfigPlace(file, named, trusted))


@pytest.mark.parametrize(
    ("line", "key", "text"),
    [
        ('hosts = ["a.example", "b.example"]', "hosts", "a.example b.example"),
        ("hosts = []", "hosts", ""),
        ('off = ["finish_reason"]', "off", "finish_reason"),
        ('dialects = "kimi_k2"', "dialects", "kimi_k2"),
        ('dialects = ["kimi_k2", "glm"]', "dialects", "kimi_k2 glm"),
        ("max_calls = 3", "max_calls", "3"),
        ('flows = "off"', "flows", "off"),
        ('flows = "s3://bucket/x"', "flows", "s3://bucket/x"),
        ('flows = "here"', "flows", "{folder}/here"),
        ('keep = "1GB"', "keep", "1GB"),
    ],
)
def test_a_key_is_given_as_an_option(tmp_path: Path, line: str, key: str, text: str) -> None:
    given = parsed(tmp_path, f"# a comment\n{line}\n").given
    assert given.keys() == {key}
    assert given[key].text == text.format(folder=tmp_path)
    assert given[key].origin == f"{tmp_path}/toolmend.toml:2"
    assert given[key].where == f"{tmp_path}/toolmend.toml:2: {key}"


def test_tables_are_parsed(tmp_path: Path) -> None:
    text = '[[route]]\nfrom = "https://a.example/v1/messages"\nto = "https://b.example/v1/messages"\n'
    file = parsed(tmp_path, text)
    assert (len(file.routes), file.providers, file.own, file.given) == (1, (), (), {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hosts = [", ":1:10: it is not TOML, correct it: "),
        ("\nhosts = 1", ":2: hosts: 1 is not understood, write hosts = "),
        ("dialects = []", ":1: dialects: [] is not understood, write dialects = "),
        ("max_calls = true", ":1: max_calls: True is not understood, write max_calls = "),
        ('max_calls = "3"', ":1: max_calls: '3' is not understood, write max_calls = "),
        ("host = []", ":1: host is not a setting (did you mean hosts?)"),
        ('"\\u001b[2J" = 1', ":1: '\\x1b[2J' is not a setting, "),
        (".".join(["a"] * (PARTS + 1)) + " = 1", f":1: a key has more than {PARTS} parts, correct it"),
        ("a = 0x" + "f" * 20, ": a number has more digits than can be read, correct it"),
        ("a = " + "[" * 3000 + "]" * 3000, ": its values are nested too deeply, correct it"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parsed(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path}/toolmend.toml{sentence}")


def test_a_file_that_only_lies_there_sets_what_is_harmless(tmp_path: Path) -> None:
    assert parsed(tmp_path, 'dialects = "off"', trusted=False).given["dialects"].text == "off"
    for text in ('flows = "/x"', '[[route]]\nfrom = "https://a.example/v1/messages"\nto = "https://b.example/v1/messages"'):
        with pytest.raises(SettingsError, match="is not taken from a file that only lies in the working directory"):
            parsed(tmp_path, text, trusted=False)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    def error(path: Path, named: str = "") -> str:
        with pytest.raises(SettingsError) as raised:
            read(ConfigPlace(path, named, trusted=True))
        return str(raised.value)

    assert error(tmp_path / "none.toml", "toolmend_config").startswith("toolmend_config: no such file: ")
    assert "it is not a file" in error(tmp_path)
    assert "cannot be read (Is a directory)" in error(tmp_path, "toolmend_config")
    file = tmp_path / "large.toml"
    file.write_bytes(b"#" * (MOST + 1))
    assert f"is longer than {MOST} bytes" in error(file)
    file.write_bytes(b"# \xff\n")
    assert "is not UTF-8" in error(file)
