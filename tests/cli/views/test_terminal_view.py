"""terminal_view.py: a document at a terminal: what is useful first, and nothing that steers the terminal."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import CALL, view
from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, stream
from toolmend.cli.views.terminal_view import print_view

EVIL = "\x1b]0;boo\x07 [red]x[/red] \u202e"


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def printed(capsys: pytest.CaptureFixture[str], document: dict[str, Any], *, whole: bool = False) -> str:
    print_view(document, whole=whole)
    return " ".join(capsys.readouterr().out.split())


def test_a_mended_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, view(keep(tmp_path / "r", in_events(stream(["Let me. ", *CALL], finish="stop")))))
    for words in ("POST openrouter.ai/api/v1/chat/completions", "get_weather", '{"city": "Oslo"}', "kimi_k2", "Let me."):
        assert words in shown


def test_nothing_steers_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {**WEATHER, "messages": [{"role": "user", "content": EVIL}]}
    shown = printed(capsys, view(keep(tmp_path / "r", in_events(stream([EVIL])), asked)), whole=True)
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "[red]x[/red]" in shown


def test_all_of_a_long_text_only_if_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"line {at}\n" for at in range(200)]
    document = view(keep(tmp_path / "r", in_events(stream(lines)), WEATHER))
    short, long = printed(capsys, document), printed(capsys, document, whole=True)
    assert "line 199" in long
    assert "line 100" not in short
    assert len(short) < len(long) / 3
