"""What settings are checked with. Every sentence about a wrong host stands in config/test_settings.py."""

import pytest

from toolmend.config.checks import SettingsError, host_globs, suggestion, words


@pytest.mark.parametrize(
    ("word", "hint"),
    [("herms", " (did you mean hermes?)"), ("GLM", " (did you mean glm?)"), ("zzz", ""), ("", "")],
)
def test_suggestion(word: str, hint: str) -> None:
    assert suggestion(word, ("glm", "hermes")) == hint


@pytest.mark.parametrize(("text", "found"), [("", []), (" , ,", []), ("a,b  c\n,d", ["a", "b", "c", "d"])])
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_host_globs() -> None:
    assert host_globs("here", "A.example, *.b.example:80 a.example") == ("a.example", "*.b.example:80")
    with pytest.raises(SettingsError, match=r"^here: 'https://a.example' is a URL or a path, .*: a\.example$"):
        host_globs("here", "https://a.example")


def test_what_is_wrong_is_told_without_a_key() -> None:
    """It goes to a log: a key in the place of another setting, the password of a URL."""
    with pytest.raises(SettingsError, match=r"^here: 'https://me:\[REDACTED\]@a.example' is a URL or a path, .*: a\.example$"):
        host_globs("here", "https://me:hunter2@a.example")
    assert str(SettingsError(f"mode: no such mode: 'sk-{'Ab9' * 9}'")) == "mode: no such mode: '[REDACTED]'"
    assert str(SettingsError("there is no //a: b@c")) == "there is no //a: b@c"
