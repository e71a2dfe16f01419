"""`toolmend show`: at a terminal, as JSON, and as a page (what the page does in a browser: tests/browser)."""

import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, request, stream
from tests.support.terminals import at_terminal
from tests.support.upstream_answers import Asked, Text, asked, speak
from toolmend.cli import main

KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
CALL = [KIMI[:12], KIMI[12:40], KIMI[40:] + '{"city": "Os', 'lo"}', "<|tool_call_end|><|tool_calls_section_end|>"]
EVIL = "</script><script>alert(1)</script><!-- <script> ]]> <img src=x onerror=alert(2)> {{7*7}} {% x %} \u2028 \x1b]0;boo\x07 [red]x[/] \u202e"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TOOLMEND_FLOWS", "TOOLMEND_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "flows"
    keep(root / "mended", in_events(stream(["Let me.", *CALL], finish="stop")), every=300.0)
    return root


def say(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(["show", *args]) == code
    out, err = capsys.readouterr()
    assert not err or code
    return out if not code else err


def test_at_a_terminal(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = say(capsys, "mended", "--flows", str(root)).splitlines()
    told = "\n".join(" ".join(line.split()) for line in lines)
    assert max(map(len, lines)) <= 110
    for expected in (
        "agent Claude Code",
        "request POST openrouter.ai/api/v1/chat/completions (chat)",
        "tools 2: get_weather, task",
        "What is the weather in Beijing?",
        'call get_weather functions.get_weather:0\n{"city": "Oslo"}',
        "finish tool_calls input 10 output 5",
        "kimi_k2, at event 5",
        "first byte 812 ms first token 1.11 s all 2.70 s longest gap 300 ms 10 chunks",
        "3 600 ms text “<|tool_calls” held, until event 5 kimi_k2",
        "8 2.10 s finish stop finish tool_calls finish_reason",
        "… 1 unchanged event",
    ):
        assert expected in told
    assert "authorization" not in told


def test_all_of_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = [{"role": "user", "content": f"turn {n}\n" + "line\n" * 20} for n in range(10)]
    keep(root / "long", in_events(stream(["a"] * 100)), request(messages=many))
    short, whole = (say(capsys, "long", "--flows", str(root), *more) for more in ((), ("--all",)))
    assert "… 4 turns before these" in short
    assert "turn 3\n" not in short
    assert "… 104 unchanged events" in short
    assert "… 16 lines more" in short
    assert all(f"turn {n}" in whole for n in range(10))
    assert whole.count("text “a”") == 100
    assert len(re.findall(r"(?m)^ +line *$", whole)) == 200
    assert "authorization" in whole


def test_many_differences(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(root / "calls", in_events(stream([KIMI, '{"a": "', *(f"{n:03}" for n in range(100)), '"}', "<|tool_call_end|>"])))
    out = say(capsys, "calls", "--flows", str(root))
    assert "events more; --all shows them" in out
    assert "“058”" not in out


def test_another_api(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = in_events(speak("chat", [Text("Hi"), Asked("c1", "get_weather", "{}")], "tool_calls"))
    folder = keep(root / "other", body, asked("messages", ("get_weather", {})), client_api="messages", route="kimi")
    (folder / "upstream_request.json").write_text('{"model": "k3"}')
    assert "(chat for messages)" in say(capsys, "other", "--flows", str(root))
    document = json.loads(say(capsys, "other", "--flows", str(root), "--json"))
    assert document["forwarded"]["fields"] == {"model": '"k3"'}
    assert (document["format"], document["api"], document["client_api"], document["route"]) == (1, "chat", "messages", "kimi")


def test_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(say(capsys, str(root / "mended"), "--json"))
    assert document["format"] == 1
    assert document["events"][2] == {
        "n": 3,
        "ms": 600.0,
        "kind": "held",
        "says": "text “<|tool_calls”",
        "gives": "",
        "raw": in_events(stream(["Let me.", *CALL]))[2].decode(),
        "sent": "",
        "rules": [],
        "by": ["kimi_k2", 5],
        "until": 5,
    }


def evil(root: Path) -> Path:
    messages = [{"role": "user", "name": EVIL, "content": EVIL}]
    more: dict[str, Any] = dict.fromkeys(("model", "host", "path", "provider"), EVIL)
    ask = {**WEATHER, "messages": messages, EVIL: EVIL}
    return keep(root / "evil", in_events(stream([EVIL, "a"])), ask, **more, request_headers=[["x", EVIL]], notes=[EVIL])


def test_a_terminal_obeys_nothing_of_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil(root)
    out = say(capsys, "evil", "--flows", str(root), "--all")
    assert not set(out) & {"\x1b", "\x07", "\u202e", "\u2028"}
    assert "[red]x[/]" in out


def test_color_at_a_terminal_alone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in say(capsys, "mended", "--flows", str(root))
    assert b"\x1b[" in terminal(root)
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal(root, NO_COLOR="1"))
    assert b"held, until event 5" in plain


def terminal(root: Path, **variables: str) -> bytes:
    return at_terminal("show", "last", "--flows", str(root), width=110, **variables)


# the page


class Markup(HTMLParser):
    """The tags of a page, and what its JSON block says."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.texts[self._open] = self.texts.get(self._open, "") + data


def test_the_page_holds_what_was_recorded_as_data(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = evil(root)
    page = Markup(say(capsys, str(folder), "--html", "-"))
    document = json.loads(say(capsys, str(folder), "--json"))
    assert json.loads(page.texts["data"]) == document
    assert EVIL in document["request"]["turns"][0]["parts"][0]["text"]
    clean = Markup(say(capsys, str(root / "mended"), "--html", "-"))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in clean.tags]  # nothing of it became a tag


def test_the_page_refers_to_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = say(capsys, "last", "--flows", str(root), "--html", "-")
    found = Markup(page)
    assert not [attrs for _, attrs in found.tags if {"src", "href", "style", "onclick", "onload", "action"} & set(attrs)]
    assert "url(" not in page
    assert "http://" not in page.replace(found.texts["data"], "")
    assert "https://" not in page.replace(found.texts["data"], "")
    (policy,) = [attrs["content"] or "" for _, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_where_the_page_goes(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = say(capsys, "last", "--flows", str(root), "--html", "-")
    (tmp_path / "pages").mkdir()
    for wanted, written in (([], "mended.html"), (["a b.html"], "a b.html"), (["pages"], "pages/mended.html"), (["a b.html"], "a b.html")):
        assert say(capsys, "last", "--flows", str(root), "--html", *wanted) == f"{written}\n"
        assert (tmp_path / written).read_text() == page
        assert stat.S_IMODE((tmp_path / written).stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a b.html", "flows", "mended.html", "pages"]


def test_what_goes_wrong(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = say(capsys, "last", "--flows", str(root), "--html", "nowhere/x.html", code=3)
    assert told.startswith("error: nowhere/x.html cannot be written: No such file or directory\ntry: ")
    assert say(capsys, code=2) == "error: no recording is named\ntry: toolmend show last\n"
    assert say(capsys, "--html", "last", code=2).endswith("\ntry: toolmend show last --html\n")
    assert "no such recording: 'nothing'" in say(capsys, "nothing", "--flows", str(root), code=2)
    (root / "mended" / "upstream_request.json").write_text("{")
    assert say(capsys, "mended", "--flows", str(root), code=3).startswith("error: this recording cannot be shown: ")
    (root / "mended" / "upstream.sse").unlink()
    assert say(capsys, "mended", "--flows", str(root), code=3).endswith("try: toolmend flows\n")
